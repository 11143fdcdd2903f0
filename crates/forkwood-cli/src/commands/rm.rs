//! `forkwood rm`

use crate::ctx::Ctx;
use crate::error::{Outcome, Result};
use crate::{json, target};

/// What to remove.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The sessions
    #[arg(value_name = "SESSION", required = true)]
    sessions: Vec<String>,

    /// Tell what would go, and leave it
    #[arg(long)]
    dry_run: bool,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    // All of them are found before the first one goes: a slip in one name removes nothing.
    let mut found = Vec::new();
    for query in &args.sessions {
        found.push(target::find(ctx, query, true).await?);
    }
    for (store, id) in found {
        let trashed = match args.dry_run {
            true => None,
            false => Some(store.storage().delete(&id, false).await?),
        };
        let path = trashed.as_ref().and_then(|trashed| trashed.path.clone());
        if ctx.json() {
            let mut out = json::object();
            out.str("session", id.as_str())
                .raw("removed", json::boolean(trashed.is_some()))
                .raw("trash", &json::path(path.as_deref()));
            ctx.out.json(out.finish())?;
        } else {
            ctx.out.line(id.as_str())?;
        }
        match trashed {
            Some(_) => {
                ctx.out.done(format!("moved to the trash; `forkwood restore {id}` brings it back"))
            }
            None => ctx.out.done("would go to the trash"),
        }
    }
    Ok(Outcome::Done)
}
