//! `forkwood show`

use forkwood::core::entry::codec;
use forkwood::{Lane, Session, Text};
use forkwood_view::sanitise::{self, Layout};
use forkwood_view::transcript::{self, Limits};

use crate::ctx::Ctx;
use crate::error::{Outcome, Result};
use crate::render::{self, Beside};
use crate::style::{self, paint};
use crate::{entries, json, target};

/// What to show.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,

    /// The path to this entry, instead of to where the session stands
    #[arg(long, value_name = "ENTRY")]
    at: Option<String>,

    /// The lane to look at
    #[arg(long, value_name = "LANE", value_parser = lane)]
    lane: Option<Lane>,

    /// Long texts whole
    #[arg(long)]
    full: bool,

    /// The view of the file's owner: no bridges over damage
    #[arg(long)]
    no_bridge: bool,
}

/// Reads the name of a lane.
pub(crate) fn lane(name: &str) -> std::result::Result<Lane, String> {
    Lane::new(name).map_err(|error| error.to_string())
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let session =
        target::open_lane(ctx, &args.session, !args.no_bridge, args.lane.as_ref()).await?;
    let at = entries::resolve_or_leaf(&session, args.at.as_deref()).await?;
    let path = match &at {
        Some(at) => session.path_to(at).await?,
        None => Vec::new(),
    };
    if ctx.json() {
        let mut head = json::object();
        head.text("session", &session.facts().shown_id)
            .raw("leaf", &json::id(path.last().map(|entry| &entry.id)));
        // A path may be most of the memory there is: its entries are written one by one.
        let head = head.finish();
        ctx.out.piece(head.strip_suffix('}').unwrap_or(&head))?;
        ctx.out.piece(",\"entries\":[")?;
        for (at, entry) in path.iter().enumerate() {
            if at > 0 {
                ctx.out.piece(",")?;
            }
            ctx.out.piece(&codec::encode(entry))?;
        }
        ctx.out.json("]}")?;
        return Ok(Outcome::Done);
    }
    ctx.out.page();
    heading(ctx, &session)?;
    let limits = if args.full { Limits::NONE } else { Limits::default() };
    let short = entries::short(&session).await?;
    let labels = session.labels().await?;
    let mut shown = 0;
    for entry in &path {
        let Some(block) = transcript::block(entry, limits) else { continue };
        let label = labels.get(&entry.id).map(Text::to_string_lossy);
        let beside =
            Beside { id: &short.of(&entry.id), at: entry.timestamp, label: label.as_deref() };
        render::block(&mut ctx.out, &block, beside)?;
        shown += 1;
    }
    ctx.out.flush()?;
    if shown == 0 {
        ctx.out.note("nothing was said yet");
    }
    tell_diagnostics(ctx, &session).await;
    Ok(Outcome::Done)
}

/// The line that names a session.
pub(crate) fn heading(ctx: &mut Ctx, session: &Session) -> Result {
    let facts = session.facts();
    let id = sanitise::text(&facts.shown_id, Layout::Line);
    let mut line = format!("session {}", paint(style::ID, id));
    if let Some(title) = session.title() {
        line.push_str(&format!("  {}", paint(style::BOLD, sanitise::text(title, Layout::Line))));
    }
    ctx.out.line(line)?;
    ctx.out.line("")
}

/// Tells how much damage reading met, so that nobody takes a part for the whole.
pub(crate) async fn tell_diagnostics(ctx: &mut Ctx, session: &Session) {
    let Ok(found) = session.diagnostics().await else { return };
    let damage = found.iter().filter(|found| found.is_damage()).count();
    if damage > 0 {
        ctx.out.note(format!(
            "the file is damaged ({damage} {}); `forkwood check` tells where",
            if damage == 1 { "finding" } else { "findings" }
        ));
    }
}
