//! `forkwood fork`

use clap::ValueEnum;
use forkwood::ForkOptions;

use crate::ctx::Ctx;
use crate::error::{CliError, Outcome, Result};
use crate::{entries, foreign, json, place, target};

/// What to copy.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,

    /// The entry to fork at, instead of where the session stands
    #[arg(value_name = "ENTRY", conflicts_with = "at")]
    entry: Option<String>,

    /// The same as ENTRY
    #[arg(long, value_name = "ENTRY")]
    at: Option<String>,

    /// The title of the new session, instead of that of the old one
    #[arg(long)]
    title: Option<String>,

    /// The id of the new session
    #[arg(long)]
    id: Option<String>,

    /// What to write
    #[arg(long, value_name = "FORMAT", default_value = "native")]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A session of Forkwood, in the store
    Native,
    /// A file of Pi, beside the file of the source
    Pi,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let id = args.id.as_deref().map(target::new_id).transpose()?;
    let source = target::open(ctx, &args.session).await?;
    let query = args.entry.as_deref().or(args.at.as_deref());
    let at = entries::resolve_or_leaf(&source, query).await?;
    let (id, path) = match args.format {
        Format::Native => {
            let options = ForkOptions { id, title: args.title.map(Into::into) };
            let fork = place::own_store(ctx)?.fork(&source, at.as_ref(), options).await?;
            (fork.id().to_string(), fork.facts().path.clone())
        }
        Format::Pi if id.is_some() || args.title.is_some() => {
            return Err(CliError::usage("--format pi takes neither --id nor --title"));
        }
        Format::Pi => {
            let at = at.ok_or_else(|| {
                CliError::new(forkwood::ErrorKind::Invalid, "the session has no entry to fork at")
            })?;
            let (id, path) = foreign::fork_pi(&source, &at).await?;
            (id, Some(path))
        }
    };
    if ctx.json() {
        let mut out = json::object();
        out.str("session", &id).raw("path", &json::path(path.as_deref()));
        ctx.out.json(out.finish())?;
    } else {
        ctx.out.line(&id)?;
    }
    if args.format == Format::Pi
        && let Some(path) = path
    {
        ctx.out.done(format!("written to {}", path.display()));
    }
    Ok(Outcome::Done)
}
