//! `forkwood new`

use std::path::PathBuf;

use forkwood::{CreateOptions, Json};

use crate::ctx::Ctx;
use crate::error::{CliError, Outcome, Result};
use crate::{json, place, target};

/// How to make a session.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What people call it
    #[arg(long)]
    title: Option<String>,

    /// Its id, instead of one made from the time
    #[arg(long)]
    id: Option<String>,

    /// The working folder it belongs to, instead of the workspace
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,

    /// Free data to keep with it, a JSON object
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    if ctx.globals.dir.is_some() || ctx.globals.from.is_some() {
        return Err(CliError::usage(
            "new sessions are made in a store: use --store, not --dir or --from",
        ));
    }
    let id = args.id.as_deref().map(target::new_id).transpose()?;
    let metadata = match args.metadata {
        Some(text) => Some(
            Json::parse(&text)
                .map_err(|error| CliError::usage(format!("--metadata is not JSON: {error}")))?,
        ),
        None => None,
    };
    let cwd = args.cwd.map(|cwd| ctx.absolute(&cwd).to_string_lossy().into_owned().into());
    let title = args.title.map(Into::into);
    let store = place::own_store(ctx)?;
    let session = store.create(CreateOptions { id, title, cwd, metadata }).await?;
    if ctx.json() {
        let mut out = json::object();
        out.str("session", session.id().as_str())
            .raw("path", &json::path(session.facts().path.as_deref()));
        ctx.out.json(out.finish())?;
    } else {
        ctx.out.line(session.id().as_str())?;
    }
    Ok(Outcome::Done)
}
