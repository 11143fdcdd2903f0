//! `forkwood watch`

use forkwood::core::entry::codec;
use forkwood::{Cursor, ErrorKind, Watch, WatchEvent};
use forkwood_view::summary;

use crate::ctx::Ctx;
use crate::error::{CliError, Outcome, Result};
use crate::style::{self, paint};
use crate::{json, target};

/// What to follow.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,

    /// From this cursor on, as an earlier watch told it; `start`: from the beginning. Else only
    /// what is new from now on
    #[arg(long, value_name = "CURSOR")]
    since: Option<String>,

    /// Tell what is there, and stop
    #[arg(long)]
    once: bool,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let session = target::open(ctx, &args.session).await?;
    let from = match args.since.as_deref() {
        None => None,
        Some("start") => Some(Cursor::start(session.facts().generation.clone())),
        Some(text) => Some(Cursor::parse(text).ok_or_else(|| {
            CliError::usage(format!("{text:?} is not a cursor: it looks like generation.seq.id"))
        })?),
    };
    let mut watch = session.watch(from).await?;
    loop {
        let event = match args.once {
            true => watch.poll_event()?,
            false => Some(watch.next_event().await?),
        };
        let Some(event) = event else { break };
        tell(ctx, watch.as_ref(), &event)?;
        ctx.out.flush()?;
        if event == WatchEvent::Gone {
            return Err(CliError::new(ErrorKind::Gone, "the session was deleted"));
        }
    }
    let cursor = watch.cursor().to_string();
    if ctx.json() {
        let mut out = json::object();
        out.str("event", "end").str("cursor", &cursor);
        ctx.out.json(out.finish())?;
    }
    ctx.out.done(format!("cursor {cursor}"));
    Ok(Outcome::Done)
}

fn tell(ctx: &mut Ctx, watch: &dyn Watch, event: &WatchEvent) -> Result {
    let cursor = watch.cursor().to_string();
    if ctx.json() {
        let mut out = json::object();
        let name = match event {
            WatchEvent::Entry(_) => "entry",
            WatchEvent::Damage(_) => "damage",
            WatchEvent::Reset => "reset",
            WatchEvent::Gone => "gone",
        };
        out.str("event", name).str("cursor", &cursor);
        match event {
            WatchEvent::Entry(stored) => {
                out.raw("entry", &codec::encode(&stored.entry));
            }
            WatchEvent::Damage(found) => {
                let found = json::diagnostics(std::slice::from_ref(found));
                out.raw("diagnostic", &found[1..found.len() - 1]);
            }
            WatchEvent::Reset | WatchEvent::Gone => {}
        }
        return ctx.out.json(out.finish());
    }
    match event {
        WatchEvent::Entry(stored) => {
            let id = forkwood_view::sanitise::line(stored.entry.id.as_str()).into_owned();
            let room = ctx.out.columns().saturating_sub(id.len() + 2).max(40);
            let line = summary::entry(&stored.entry, room);
            ctx.out.line(format!("{}  {line}", paint(style::ID, id)))
        }
        WatchEvent::Damage(found) => {
            ctx.out.note(&found.message);
            Ok(())
        }
        WatchEvent::Reset => ctx.out.line("(the log was rewritten; it starts again)"),
        WatchEvent::Gone => Ok(()),
    }
}
