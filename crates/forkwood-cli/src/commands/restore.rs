//! `forkwood restore`

use crate::ctx::Ctx;
use crate::error::{Outcome, Result};
use crate::place::Place;
use crate::{json, target};

/// What to bring back.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The id of the session, or a unique prefix
    #[arg(value_name = "ID")]
    id: String,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    target::check_query(&args.id)?;
    let store = Place::of(ctx)?.open(ctx, true, true)?;
    let session = store.restore(&args.id).await?;
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
