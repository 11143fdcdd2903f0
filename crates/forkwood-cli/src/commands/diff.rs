//! `forkwood diff`

use forkwood::EntryId;
use forkwood::core::json::{ObjectWriter, join_array};
use forkwood_view::diff;

use crate::ctx::Ctx;
use crate::entries::Short;
use crate::error::{Outcome, Result};
use crate::style::{self, paint};
use crate::{entries, json, target, tree};

/// What to compare.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,

    /// One entry
    #[arg(value_name = "A")]
    a: String,

    /// The other
    #[arg(value_name = "B")]
    b: String,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let session = target::open(ctx, &args.session).await?;
    let a = entries::resolve(&session, &args.a).await?;
    let b = entries::resolve(&session, &args.b).await?;
    let left = session.path_ids(&a).await?;
    let right = session.path_ids(&b).await?;
    let diff = diff::paths(&left, &right);
    let tails: Vec<EntryId> = diff.left.iter().chain(diff.right).cloned().collect();
    let lines = tree::summaries(&session, &tails, 200).await?;
    let text = |id: &EntryId| lines.get(id).map_or("", String::as_str);
    if ctx.json() {
        let tail = |ids: &[EntryId]| {
            join_array(ids.iter().map(|id| {
                let mut out = ObjectWriter::new();
                out.raw("id", &json::id(Some(id))).str("text", text(id));
                out.finish()
            }))
        };
        let mut out = json::object();
        out.text("session", &session.facts().shown_id)
            .raw("a", &json::id(left.last()))
            .raw("b", &json::id(right.last()))
            .raw("common", &diff.common.to_string())
            .raw("lastCommon", &json::id(diff.last_common))
            .raw("onlyA", &tail(diff.left))
            .raw("onlyB", &tail(diff.right));
        ctx.out.json(out.finish())?;
        return Ok(Outcome::Done);
    }
    let short: Short = entries::short(&session).await?;
    ctx.out.page();
    let common = match diff.last_common {
        Some(last) => format!("{} in common, up to {}", diff.common, short.of(last)),
        None => "nothing in common".to_owned(),
    };
    ctx.out.line(common)?;
    for (sign, ids) in [("<", diff.left), (">", diff.right)] {
        let style = if sign == "<" { style::BAD } else { style::LEAF };
        for id in ids {
            let line =
                forkwood_view::width::cut(text(id), ctx.out.columns().max(40) - 14).into_owned();
            ctx.out.line(format!(
                "{} {}  {line}",
                paint(style, sign),
                paint(style::ID, short.of(id))
            ))?;
        }
    }
    Ok(Outcome::Done)
}
