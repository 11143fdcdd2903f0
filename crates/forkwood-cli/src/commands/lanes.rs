//! `forkwood lanes`

use forkwood::Lane;
use forkwood::core::json::{ObjectWriter, join_array};

use crate::commands::show::lane;
use crate::ctx::Ctx;
use crate::error::{Outcome, Result};
use crate::style::{self, paint};
use crate::{entries, json, target, tree};

/// What to do with the lanes; nothing lists them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,

    /// Make a lane
    #[arg(long, value_name = "LANE", value_parser = lane, conflicts_with = "to")]
    create: Option<Lane>,

    /// Where the new lane stands, instead of where the session stands
    #[arg(long, value_name = "ENTRY", requires = "create")]
    at: Option<String>,

    /// Move a lane
    #[arg(long = "move", value_name = "LANE", value_parser = lane)]
    #[arg(conflicts_with = "create", requires = "to")]
    moved: Option<Lane>,

    /// Where to
    #[arg(long, value_name = "ENTRY", requires = "moved")]
    to: Option<String>,

    /// Move to before the latest compaction too
    #[arg(long, requires = "moved")]
    past_compaction: bool,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let mut session = target::open(ctx, &args.session).await?;
    if let Some(lane) = args.create {
        let at = entries::resolve_or_leaf(&session, args.at.as_deref()).await?;
        let at = at.ok_or_else(|| {
            crate::error::CliError::new(
                forkwood::ErrorKind::Invalid,
                "the session has no entry for a lane to stand at",
            )
        })?;
        session.create_lane(lane.clone(), &at).await?;
        ctx.out.done(format!("lane {lane} stands at {at}"));
    }
    if let (Some(lane), Some(to)) = (args.moved, args.to) {
        let to = entries::resolve(&session, &to).await?;
        match args.past_compaction {
            true => session.move_lane_past_compaction(&lane, &to).await?,
            false => session.move_lane(&lane, &to).await?,
        }
        ctx.out.done(format!("lane {lane} stands at {to}"));
    }
    let lanes = session.facts().lanes.clone();
    if ctx.json() {
        let rows = lanes.iter().map(|state| {
            let mut out = ObjectWriter::new();
            out.str("lane", state.lane.as_str()).raw("leaf", &json::id(state.leaf.as_ref()));
            out.finish()
        });
        let mut out = json::object();
        out.text("session", &session.facts().shown_id).raw("lanes", &join_array(rows));
        ctx.out.json(out.finish())?;
        return Ok(Outcome::Done);
    }
    let leaves: Vec<_> = lanes.iter().filter_map(|state| state.leaf.clone()).collect();
    let lines = tree::summaries(&session, &leaves, 60).await?;
    let short = entries::short(&session).await?;
    let width = lanes.iter().map(|state| state.lane.as_str().len()).max().unwrap_or(0);
    for state in &lanes {
        let name = format!("{:width$}", state.lane.as_str());
        let line = match &state.leaf {
            Some(leaf) => {
                let text = lines.get(leaf).map_or("", String::as_str);
                format!("{}  {text}", paint(style::ID, short.of(leaf)))
            }
            None => "before the first entry".to_owned(),
        };
        ctx.out.line(format!("{}  {line}", paint(style::LANE, name)))?;
    }
    Ok(Outcome::Done)
}
