//! `forkwood prune`

use forkwood::core::json::{ObjectWriter, join_array};
use forkwood::{PruneOptions, SessionRow};

use crate::ctx::Ctx;
use crate::error::{Outcome, Result};
use crate::place::Place;
use crate::style::{self, paint};
use crate::{json, time};

/// What to prune. Damaged, empty, open and pinned sessions stay.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Sessions whose newest message is older than this: 30d, 12h
    #[arg(long, value_name = "AGE", value_parser = time::parse_age)]
    older_than: i64,

    /// Tell what would go, and leave it
    #[arg(long)]
    dry_run: bool,

    /// The time to count from, instead of now
    #[arg(long, value_name = "TIME")]
    now: Option<String>,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let now = match &args.now {
        Some(text) => time::parse(text)?,
        None => time::now(),
    };
    let store = Place::of(ctx)?.open(ctx, true, true)?;
    let before = time::before(now, args.older_than);
    let report = store.prune(PruneOptions { before, dry_run: args.dry_run }).await?;
    if ctx.json() {
        let skipped = report.skipped.iter().map(|(row, why)| {
            let mut out = ObjectWriter::new();
            out.str("session", row.id.as_str()).str("why", why);
            out.finish()
        });
        let mut out = json::object();
        out.raw("dryRun", json::boolean(args.dry_run))
            .raw("before", &json::time(Some(before)))
            .raw("removed", &json::strings(report.removed.iter().map(|row| row.id.as_str())))
            .raw("skipped", &join_array(skipped))
            .raw("kept", &report.kept.to_string());
        ctx.out.json(out.finish())?;
        return Ok(Outcome::Done);
    }
    for row in &report.removed {
        ctx.out.line(line(row))?;
    }
    ctx.out.flush()?;
    for (row, why) in &report.skipped {
        ctx.out.note(format!("{} stays: {why}", row.id));
    }
    let verb = if args.dry_run { "would go to the trash" } else { "moved to the trash" };
    ctx.out.done(format!("{} {verb}", report.removed.len()));
    Ok(Outcome::Done)
}

fn line(row: &SessionRow) -> String {
    format!("{}  {}", paint(style::ID, &row.id), time::short(row.last_activity))
}
