//! `forkwood list`

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use forkwood::core::json::ObjectWriter;
use forkwood::storage::RowState;
use forkwood::{ErrorKind, Page, Problem, SessionRow, Sort, workspace};
use forkwood_view::sanitise::{self, Layout};
use forkwood_view::width::{cut, pad};

use crate::ctx::Ctx;
use crate::error::{Outcome, Result};
use crate::place::Place;
use crate::style::{self, paint};
use crate::{foreign, ids, json, target, time};

/// What to list.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// With --dir: the folders below it too, which is the default
    #[arg(long, short, conflicts_with = "flat")]
    recursive: bool,

    /// With --dir: only the folder itself
    #[arg(long)]
    flat: bool,

    /// Those of the workspace's store and those of other tools
    #[arg(long, conflicts_with_all = ["dir", "from"])]
    all: bool,

    /// Only sessions whose own working folder is this one
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,

    /// The order
    #[arg(long, value_name = "BY", default_value = "activity")]
    sort: Order,

    /// At most so many
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,

    /// The sessions of sub-agents of this one
    #[arg(long, value_name = "SESSION")]
    subagents: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Order {
    /// Newest user or assistant message first
    Activity,
    /// Newest creation first
    Created,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let sort = match args.sort {
        Order::Activity => Sort::Activity,
        Order::Created => Sort::Created,
    };
    let mut rows: Vec<SessionRow> = Vec::new();
    let mut problems: Vec<Problem> = Vec::new();
    let mut places = Vec::new();
    // Rows from several sources are put in order together.
    let mut again = false;
    if let Some(parent) = &args.subagents {
        let (store, id) = target::find(ctx, parent, true).await?;
        let page = Page { parent: Some(id), sort, ..Page::default() };
        let listing = store.list(page).await?;
        rows = listing.rows;
        problems = listing.problems;
    } else {
        places.push(Place::of(ctx)?);
        if args.all {
            for tool in forkwood_formats::import::tools() {
                for folder in foreign::places(ctx, tool.as_ref()) {
                    places.push(Place::Tool(tool.name(), folder));
                }
            }
        }
    }
    for place in &places {
        let listing = match place.open(ctx, args.recursive || !args.flat, true) {
            Ok(store) => store.list(Page { sort, ..Page::default() }).await?,
            // Who does not use that tool has no such folder, and no sessions of it.
            Err(error) if error.kind == ErrorKind::NotFound.as_str() && is_tool(place) => continue,
            Err(error) => return Err(error),
        };
        rows.extend(listing.rows);
        problems.extend(listing.problems);
        if let Place::Folder(folder) | Place::Tool(_, folder) = place {
            let recursive = args.recursive || !args.flat || is_tool(place);
            let (more, bad) = foreign::rows(folder, recursive).await?;
            problems
                .retain(|problem| !more.iter().any(|row| row.path.as_ref() == Some(&problem.path)));
            problems.extend(bad);
            again |= !more.is_empty();
            rows.extend(more);
        }
    }
    if again || places.len() > 1 {
        let newest = |row: &SessionRow| match sort {
            Sort::Activity => row.last_activity.or(row.created),
            Sort::Created => row.created,
        };
        rows.sort_by_key(|row| std::cmp::Reverse(newest(row)));
    }
    if let Some(cwd) = &args.cwd {
        let wanted = ctx.absolute(cwd);
        rows.retain(|row| belongs(row, cwd, &wanted));
    }
    if ctx.json() {
        for row in rows.iter().take(args.limit.unwrap_or(usize::MAX)) {
            ctx.out.json(as_json(row))?;
        }
    } else {
        people(ctx, &rows, args.limit)?;
    }
    ctx.out.flush()?;
    for problem in &problems {
        let path = problem.path.display().to_string();
        let told = problem.message.strip_prefix(&path).unwrap_or(&problem.message);
        let told = told.trim_start_matches([':', ' ']);
        ctx.out.note(format!("{path}: {}: {told}", problem.kind));
    }
    if rows.is_empty() && problems.is_empty() && args.subagents.is_none() {
        let shown: Vec<String> = places.iter().map(Place::shown).collect();
        ctx.out.note(format!("no sessions in {}", shown.join(" and ")));
    }
    Ok(Outcome::Done)
}

fn is_tool(place: &Place) -> bool {
    matches!(place, Place::Tool(..))
}

/// Whether a session belongs to a folder. Its own word counts, not where its file lies.
fn belongs(row: &SessionRow, given: &Path, wanted: &Path) -> bool {
    let Some(cwd) = row.cwd.as_ref().and_then(|cwd| cwd.as_str()) else { return false };
    let own = Path::new(cwd);
    // A relative folder is relative to a place that nobody knows any more.
    own == given || (own.is_absolute() && workspace::same_folder(own, wanted))
}

fn people(ctx: &mut Ctx, rows: &[SessionRow], limit: Option<usize>) -> Result {
    ctx.out.page();
    let names: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    let unique = ids::unique_tails(&names);
    let rows = &rows[..rows.len().min(limit.unwrap_or(usize::MAX))];
    let id_width = rows.iter().map(|row| row.id.as_str().len()).max().unwrap_or(0);
    for (row, unique) in rows.iter().zip(unique) {
        let id = row.id.as_str();
        let fill = " ".repeat(id_width - id.len());
        let when = time::short(row.last_activity.or(row.created));
        let tail = facts(row);
        let used = id_width + 2 + 16 + 2 + 5 + 2;
        let room =
            ctx.out.columns().saturating_sub(used + tail.len() + usize::from(!tail.is_empty()) * 2);
        let title = cut(&title(row), room.max(20)).into_owned();
        let line = format!(
            "{}{fill}  {}  {:>5}  {}",
            ids::painted(id, unique),
            paint(style::DIM, pad(&when, 16)),
            row.messages,
            if row.title.is_some() { paint(style::BOLD, &title) } else { title.clone() },
        );
        let line = match tail.is_empty() {
            true => line,
            false => format!("{line}  {}", paint(style::WARN, format!("[{tail}]"))),
        };
        ctx.out.line(line.trim_end())?;
    }
    Ok(())
}

fn title(row: &SessionRow) -> String {
    match (&row.title, &row.first_user) {
        (Some(title), _) => sanitise::text(title, Layout::Line).into_owned(),
        (None, Some(first)) => sanitise::line(first).into_owned(),
        (None, None) => "(no message yet)".to_owned(),
    }
}

/// What is out of the ordinary about a session.
fn facts(row: &SessionRow) -> String {
    let mut facts = Vec::new();
    if row.dialect != "native" {
        facts.push(row.dialect.to_owned());
    }
    if row.state == RowState::Damaged {
        facts.push("damaged".to_owned());
    }
    if row.pinned {
        facts.push("pinned".to_owned());
    }
    if row.forked_from.is_some() {
        facts.push("fork".to_owned());
    }
    if let Some(agent) = &row.agent_type {
        facts.push(format!("agent {}", sanitise::text(agent, Layout::Line)));
    }
    facts.join(", ")
}

fn as_json(row: &SessionRow) -> String {
    let state = match row.state {
        RowState::Good => "good",
        RowState::Empty => "empty",
        RowState::Damaged => "damaged",
    };
    let mut out = ObjectWriter::new();
    out.raw("schema", "1")
        .str("id", row.id.as_str())
        .raw("path", &json::path(row.path.as_deref()))
        .str("dialect", row.dialect)
        .raw("created", &json::time(row.created))
        .raw("lastActivity", &json::time(row.last_activity))
        .raw("entries", &row.entries.to_string())
        .raw("messages", &row.messages.to_string())
        .raw("userMessages", &row.user_messages.to_string())
        .raw("assistantMessages", &row.assistant_messages.to_string())
        .raw("title", &json::text(row.title.as_ref()))
        .raw("firstUser", &json::string(row.first_user.as_deref()))
        .raw("model", &json::text(row.model.as_ref()))
        .raw("cwd", &json::text(row.cwd.as_ref()))
        .raw("size", &row.size.to_string())
        .raw("forkedFrom", &json::text(row.forked_from.as_ref()))
        .raw("agentType", &json::text(row.agent_type.as_ref()))
        .raw("parentSession", &json::text(row.parent_session.as_ref()))
        .raw("damage", &row.damage.to_string())
        .str("state", state)
        .raw("pinned", json::boolean(row.pinned));
    out.finish()
}
