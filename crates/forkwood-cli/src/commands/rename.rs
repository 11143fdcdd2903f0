//! `forkwood rename`

use forkwood::Text;

use crate::ctx::Ctx;
use crate::error::{Outcome, Result};
use crate::{json, target};

/// The new title.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,

    /// The title; an empty one takes it away
    #[arg(value_name = "TITLE")]
    title: String,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let mut session = target::open(ctx, &args.session).await?;
    let id = session.rename(args.title.as_str()).await?;
    let title = Text::from(args.title);
    if ctx.json() {
        let mut out = json::object();
        out.text("session", &session.facts().shown_id).str("id", id.as_str()).text("title", &title);
        ctx.out.json(out.finish())?;
    }
    match title.is_empty() {
        true => ctx.out.done("the session has no title any more"),
        false => ctx.out.done(format!("the session is called {title:?}")),
    }
    Ok(Outcome::Done)
}
