//! `forkwood stats`

use clap::ValueEnum;
use forkwood::core::json::ObjectWriter;
use forkwood::{Text, Timestamp};
use forkwood_formats::stats::{About, By, Kin, Row, Stats, Sum, families};
use forkwood_view::sanitise;
use forkwood_view::width::{cut, pad};

use crate::ctx::Ctx;
use crate::error::{Outcome, Result};
use crate::every::{self, Known, Opener, Source};
use crate::{json, time};

/// What to count.
///
/// History that a fork shares with its source, or an import with a session where it lies, is
/// counted once. Money is counted where the program that asked the model wrote it down.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only these sessions
    #[arg(value_name = "SESSION")]
    sessions: Vec<String>,

    /// What a row stands for
    #[arg(long, value_name = "WHAT", default_value = "session")]
    by: What,

    /// Those of the workspace's store and those of other tools
    #[arg(long, conflicts_with_all = ["dir", "from", "sessions"])]
    all: bool,

    /// Only what was said from this day or time on, in UTC: 2026-06-15 or 2026-06-15T08:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Only what was said before this day or time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,

    /// At most so many rows; the total is of all
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Sessions, most tokens first
    Session,
    /// Days in UTC, newest first
    Day,
    /// Models, most tokens first
    Model,
    /// Working folders, most tokens first
    Workspace,
    /// Tools, most calls first
    Tool,
}

impl What {
    fn name(self) -> &'static str {
        match self {
            What::Session => "session",
            What::Day => "day",
            What::Model => "model",
            What::Workspace => "workspace",
            What::Tool => "tool",
        }
    }
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let by = match args.by {
        What::Session => By::Session,
        What::Day => By::Day,
        What::Model => By::Model,
        What::Workspace => By::Workspace,
        What::Tool => By::Tool,
    };
    let moment = |text: &Option<String>| text.as_deref().map(time::parse_day).transpose();
    let (since, until) = (moment(&args.since)?, moment(&args.until)?);
    let found = every::find(ctx, &args.sessions, args.all).await?;
    for problem in &found.problems {
        ctx.out.note(format!("{}: {}: {}", problem.path.display(), problem.kind, problem.message));
    }
    if found.sources.is_empty() && args.sessions.is_empty() {
        ctx.out.note(format!("no sessions in {}", found.places.join(" and ")));
    }
    let mut stats = Stats::new(by, since, until);
    let unreadable = count(&mut stats, &found.sources).await?;
    let (rows, all) = stats.finish();
    let shown = rows.iter().take(args.limit.unwrap_or(usize::MAX));
    if ctx.json() {
        for row in shown {
            ctx.out.json(as_json(args.by, row))?;
        }
        let mut out = json::object();
        out.str("by", "all");
        sums(&mut out, &all);
        ctx.out.json(out.finish())?;
    } else {
        people(ctx, args.by, shown, &all)?;
    }
    ctx.out.flush()?;
    for message in &unreadable {
        ctx.out.note(message);
    }
    Ok(if unreadable.is_empty() { Outcome::Done } else { Outcome::Found })
}

/// Reads all sources, family by family, the oldest first. Gives what could not be read.
async fn count(stats: &mut Stats, sources: &[Source]) -> Result<Vec<String>> {
    let mut opener = Opener::default();
    let mut unreadable = Vec::new();
    let mut kin = Vec::with_capacity(sources.len());
    let mut created = Vec::with_capacity(sources.len());
    let mut places = Vec::with_capacity(sources.len());
    for (source, place) in sources.iter().zip(0..) {
        match opener.open(source).await {
            Ok(reader) => {
                let (of, at) = relations(&reader.known());
                kin.push(of);
                created.push(at);
                places.push(place);
            }
            Err(error) => unreadable.push(error.message),
        }
    }
    for mut family in families(&kin) {
        family.sort_by_key(|at| created[*at]);
        stats.start_family();
        for at in family {
            if let Err(error) = feed(stats, &mut opener, &sources[places[at]]).await {
                unreadable.push(error.message);
            }
        }
    }
    Ok(unreadable)
}

async fn feed(stats: &mut Stats, opener: &mut Opener, source: &Source) -> Result {
    let mut reader = opener.open(source).await?;
    let (id, info, dialect) = match reader.known() {
        Known::Stored(facts) => (facts.shown_id, facts.info, facts.dialect),
        Known::Foreign(about) => (about.source_id, about.info, about.dialect),
    };
    let dialect = match forkwood_formats::import::Origin::of_metadata(info.metadata.as_ref()) {
        Some(origin) => origin.dialect,
        None => dialect.to_owned(),
    };
    stats.start_session(About {
        id: id.to_string_lossy().into_owned(),
        title: info.title.filter(|title| !title.is_empty()),
        workspace: info.cwd,
        dialect,
    });
    loop {
        let entries = reader.next().await?;
        if entries.is_empty() {
            return Ok(());
        }
        entries.iter().for_each(|stored| stats.add(&stored.entry));
    }
}

fn relations(known: &Known) -> (Kin, Option<Timestamp>) {
    match known {
        Known::Stored(facts) => (Kin::of(facts), facts.info.created_at),
        Known::Foreign(about) => {
            let mut names = vec![about.source_id.to_string_lossy().into_owned()];
            names.extend(about.id.iter().map(|id| id.as_str().to_owned()));
            names.extend(about.forked_from.iter().map(|id| id.to_string_lossy().into_owned()));
            (Kin::named(names), about.info.created_at)
        }
    }
}

fn as_json(by: What, row: &Row) -> String {
    let mut out = json::object();
    out.str("by", by.name()).raw("key", &json::string(row.key.as_deref()));
    if by == What::Session {
        out.raw("title", &json::text(row.title.as_ref()));
    }
    out.raw("last", &json::time(row.last));
    sums(&mut out, &row.sum);
    out.finish()
}

fn sums(out: &mut ObjectWriter, sum: &Sum) {
    let spent = &sum.spent;
    for (key, number) in [
        ("sessions", sum.sessions),
        ("userMessages", sum.user_messages),
        ("assistantMessages", sum.assistant_messages),
        ("requests", sum.requests),
        ("input", spent.input),
        ("output", spent.output),
        ("cacheRead", spent.cache_read),
        ("cacheWrite", spent.cache_write),
        ("reasoning", spent.reasoning),
        ("totalTokens", spent.total),
        ("toolCalls", sum.tool_calls),
        ("toolErrors", sum.tool_errors),
    ] {
        out.raw(key, &number.to_string());
    }
    let cost = spent.cost.map(|cost| serde_json::Value::from(cost).to_string());
    out.raw("cost", cost.as_deref().unwrap_or("null"));
}

/// How wide the names of rows may be.
const NAME: usize = 44;

fn people<'r>(ctx: &mut Ctx, by: What, rows: impl Iterator<Item = &'r Row>, all: &Sum) -> Result {
    ctx.out.page();
    if by == What::Tool {
        ctx.out.line(format!("{} {:>9} {:>9}", pad("tool", NAME), "calls", "failed"))?;
        let line = |name: &str, sum: &Sum| {
            format!("{} {:>9} {:>9}", pad(name, NAME), sum.tool_calls, sum.tool_errors)
        };
        for row in rows {
            ctx.out.line(line(&name(row), &row.sum))?;
        }
        return ctx.out.line(line("all", all));
    }
    ctx.out.line(format!(
        "{} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6} {:>10}",
        pad(by.name(), NAME),
        "requests",
        "input",
        "output",
        "cached",
        "into",
        "total",
        "tools",
        "cost"
    ))?;
    let line = |name: &str, sum: &Sum| {
        let spent = &sum.spent;
        let cost = spent.cost.map_or_else(|| "-".to_owned(), |cost| format!("{cost:.4}"));
        format!(
            "{} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6} {cost:>10}",
            pad(name, NAME),
            sum.requests,
            short(spent.input),
            short(spent.output),
            short(spent.cache_read),
            short(spent.cache_write),
            short(spent.total),
            sum.tool_calls,
        )
    };
    for row in rows {
        ctx.out.line(line(&name(row), &row.sum))?;
    }
    let sessions = if all.sessions == 1 { "session" } else { "sessions" };
    ctx.out.line(line(&format!("all ({} {sessions})", all.sessions), all))
}

fn name(row: &Row) -> String {
    let key = row.key.as_deref().unwrap_or("(unknown)");
    let whole = match row.title.as_ref().map(Text::to_string_lossy) {
        Some(title) => format!("{key} {title}"),
        None => key.to_owned(),
    };
    cut(&sanitise::line(&whole), NAME).into_owned()
}

/// A number in five characters or so: `12.3k`.
fn short(number: u64) -> String {
    let scaled = |by: u64, unit: &str| format!("{:.1}{unit}", number as f64 / by as f64);
    match number {
        0..10_000 => number.to_string(),
        10_000..10_000_000 => scaled(1_000, "k"),
        10_000_000..10_000_000_000 => scaled(1_000_000, "M"),
        _ => scaled(1_000_000_000, "G"),
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn numbers_stay_short() {
        for (number, expected) in [
            (0, "0"),
            (9_999, "9999"),
            (12_345, "12.3k"),
            (45_600_000, "45.6M"),
            (u64::MAX, "18446744073.7G"),
        ] {
            assert_eq!(short(number), expected);
        }
    }
}
