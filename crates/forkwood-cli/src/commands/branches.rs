//! `forkwood branches`

use forkwood::core::json::{ObjectWriter, join_array};
use forkwood::{Branch, EntryId, Lane};
use forkwood_view::sanitise::{self, Layout};
use forkwood_view::width::cut;

use crate::ctx::Ctx;
use crate::error::{Outcome, Result};
use crate::style::{self, paint};
use crate::{entries, json, target, tree};

/// Whose branches.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let session = target::open(ctx, &args.session).await?;
    let branches = session.branches().await?;
    let tips: Vec<EntryId> = branches.iter().map(|branch| branch.tip.clone()).collect();
    let lines = tree::summaries(&session, &tips, 200).await?;
    let text = |branch: &Branch| lines.get(&branch.tip).cloned().unwrap_or_default();
    if ctx.json() {
        let rows = branches.iter().map(|branch| as_json(branch, &text(branch)));
        let mut out = json::object();
        out.text("session", &session.facts().shown_id)
            .raw("leaf", &json::id(session.leaf()))
            .raw("branches", &join_array(rows));
        ctx.out.json(out.finish())?;
        return Ok(Outcome::Done);
    }
    let short = entries::short(&session).await?;
    for branch in &branches {
        let sign = match branch.current {
            true => paint(style::LEAF, "*"),
            false => " ".to_owned(),
        };
        let entries = if branch.depth == 1 { "entry" } else { "entries" };
        let mut facts = format!("{} {entries}", branch.depth);
        if let Some(fork) = &branch.fork_point {
            facts.push_str(&format!(", {} after {}", branch.own, short.of(fork)));
        }
        let mut line = format!("{sign} {}  {facts}", paint(style::ID, short.of(&branch.tip)));
        if let Some(label) = &branch.label {
            let label = format!("[{}]", sanitise::text(label, Layout::Line));
            line.push_str(&format!("  {}", paint(style::LABEL, label)));
        }
        if !branch.lanes.is_empty() {
            line.push_str(&format!(
                "  {}",
                paint(style::LANE, format!("({})", names(&branch.lanes)))
            ));
        }
        line.push_str(&format!("  {}", cut(&text(branch), 60)));
        ctx.out.line(line)?;
    }
    Ok(Outcome::Done)
}

fn names(lanes: &[Lane]) -> String {
    lanes.iter().map(Lane::as_str).collect::<Vec<_>>().join(", ")
}

fn as_json(branch: &Branch, text: &str) -> String {
    let mut out = ObjectWriter::new();
    out.raw("tip", &json::id(Some(&branch.tip)))
        .raw("forkPoint", &json::id(branch.fork_point.as_ref()))
        .raw("entries", &branch.depth.to_string())
        .raw("own", &branch.own.to_string())
        .raw("lanes", &json::strings(branch.lanes.iter().map(Lane::as_str)))
        .raw("label", &json::text(branch.label.as_ref()))
        .raw("current", json::boolean(branch.current))
        .str("text", text);
    out.finish()
}
