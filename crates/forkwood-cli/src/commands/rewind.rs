//! `forkwood rewind`

use forkwood::Lane;

use crate::commands::show::lane;
use crate::ctx::Ctx;
use crate::error::{Outcome, Result};
use crate::{entries, foreign, json, target};

/// Where to.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,

    /// The entry to stand at
    #[arg(value_name = "ENTRY")]
    entry: String,

    /// The lane to move
    #[arg(long, value_name = "LANE", value_parser = lane)]
    lane: Option<Lane>,

    /// Go to before the latest compaction too
    #[arg(long)]
    past_compaction: bool,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let mut session = target::open_lane(ctx, &args.session, true, args.lane.as_ref()).await?;
    let entry = entries::resolve(&session, &args.entry).await?;
    match args.past_compaction {
        true => session.rewind_past_compaction(&entry).await?,
        false => session.rewind(&entry).await?,
    }
    let leaf = session.current_leaf().await?;
    if ctx.json() {
        let mut out = json::object();
        out.text("session", &session.facts().shown_id)
            .str("lane", session.lane().as_str())
            .raw("leaf", &json::id(leaf.as_ref()));
        ctx.out.json(out.finish())?;
    } else if let Some(leaf) = &leaf {
        ctx.out.line(forkwood_view::sanitise::line(leaf.as_str()))?;
    }
    ctx.out.done("the next append grows a branch here");
    if !foreign::pi_stands_here(&session).await? {
        ctx.out.note(
            "Pi itself goes on at the last entry of the file, until something is appended here",
        );
    }
    Ok(Outcome::Done)
}
