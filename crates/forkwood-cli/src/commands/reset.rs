//! `forkwood reset`

use forkwood::Session;
use forkwood::storage::Rewritten;

use crate::ctx::Ctx;
use crate::error::{Outcome, Result};
use crate::{json, target};

/// Which session.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let mut session = target::open(ctx, &args.session).await?;
    let done = session.reset().await?;
    print(ctx, &session, &done, "the session was empty already")
}

/// Tells what a rewrite did.
pub(crate) fn print(
    ctx: &mut Ctx,
    session: &Session,
    done: &Rewritten,
    nothing: &str,
) -> Result<Outcome> {
    if ctx.json() {
        let mut out = json::object();
        out.text("session", &session.facts().shown_id)
            .raw("actions", &json::strings(done.actions.iter().map(String::as_str)))
            .raw("entriesBefore", &done.entries.0.to_string())
            .raw("entriesAfter", &done.entries.1.to_string())
            .raw("bytesBefore", &done.bytes.0.to_string())
            .raw("bytesAfter", &done.bytes.1.to_string())
            .raw("backup", &json::path(done.backup.as_deref()));
        ctx.out.json(out.finish())?;
    } else {
        tell_rewritten(ctx, done, nothing);
    }
    Ok(Outcome::Done)
}

/// The same for people, on stderr.
pub(crate) fn tell_rewritten(ctx: &mut Ctx, done: &Rewritten, nothing: &str) {
    for action in &done.actions {
        ctx.out.done(action);
    }
    if done.actions.is_empty() {
        ctx.out.done(nothing);
    }
    if let Some(backup) = &done.backup {
        ctx.out.done(format!("the old log is kept as {}", backup.display()));
    }
}
