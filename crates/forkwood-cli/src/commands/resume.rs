//! `forkwood resume`

use forkwood::storage::jsonl::NATIVE;
use forkwood::{Entry, Role, Session};
use forkwood_view::sanitise::{self, Layout};
use forkwood_view::summary;
use forkwood_view::width::cut;

use crate::commands::context::{model, model_name, settings};
use crate::commands::show::{heading, tell_diagnostics};
use crate::ctx::Ctx;
use crate::error::{Outcome, Result};
use crate::style::{self, paint};
use crate::{entries, foreign, json, target};

/// Which session.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
}

/// Entries that are shown of the end.
const LAST: usize = 4;

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let session = target::open(ctx, &args.session).await?;
    let leaf = session.leaf().cloned();
    let context = session.context().await?;
    let settings = settings(&session, &context, leaf.as_ref()).await?;
    let messages = context.messages().len();
    // The messages are read once more as entries: not both at once in memory.
    drop(context);
    let read = match &leaf {
        Some(leaf) => session.context_path(leaf).await?.entries,
        None => Vec::new(),
    };
    let path: Vec<&Entry> = read.iter().map(|stored| &stored.entry).collect();
    let unanswered = path
        .iter()
        .rev()
        .find_map(|entry| entry.message())
        .is_some_and(|message| matches!(message.role, Role::User | Role::Tool));
    let pi = foreign::is_pi(&session) && foreign::pi_stands_here(&session).await?;
    let next = next(&session, &args.session, pi);
    if ctx.json() {
        let last = path.iter().rev().find_map(|entry| entry.message());
        let mut out = json::object();
        out.text("session", &session.facts().shown_id)
            .raw("path", &json::path(session.facts().path.as_deref()))
            .str("dialect", session.facts().dialect)
            .raw("title", &json::text(session.title()))
            .raw("leaf", &json::id(leaf.as_ref()))
            .raw("model", &model(&settings))
            .raw("thinkingLevel", &json::text(settings.thinking_level.as_ref()))
            .raw("messages", &messages.to_string())
            .raw("unanswered", json::boolean(unanswered))
            .raw("last", &json::string(last.map(|last| summary::message(last, 200)).as_deref()))
            .raw("readOnly", &json::string(session.facts().read_only.as_deref()))
            .raw("next", &json::strings(next.iter().map(String::as_str)));
        ctx.out.json(out.finish())?;
        return Ok(Outcome::Done);
    }
    people(ctx, &session, &path, &model_name(&settings), messages).await?;
    if unanswered {
        ctx.out.line("The last message waits for an answer.")?;
    }
    if let Some(why) = &session.facts().read_only {
        ctx.out.line(format!("Read-only: {}", sanitise::line(why)))?;
    }
    ctx.out.line("To go on:")?;
    for command in &next {
        ctx.out.line(format!("    {}", sanitise::line(command)))?;
    }
    ctx.out.flush()?;
    tell_diagnostics(ctx, &session).await;
    Ok(Outcome::Done)
}

async fn people(
    ctx: &mut Ctx,
    session: &Session,
    path: &[&Entry],
    model: &str,
    messages: usize,
) -> Result {
    heading(ctx, session)?;
    let short = entries::short(session).await?;
    let leaf = session.leaf().map_or_else(|| "none".to_owned(), |leaf| short.of(leaf));
    let mut facts = vec![("leaf", leaf), ("model", model.to_owned())];
    facts.push(("messages", messages.to_string()));
    if let Some(cwd) = &session.facts().info.cwd {
        facts.push(("folder", sanitise::text(cwd, Layout::Line).into_owned()));
    }
    for (name, value) in facts {
        ctx.out.line(format!("{}  {value}", paint(style::DIM, format!("{name:<8}"))))?;
    }
    ctx.out.line("")?;
    for entry in &path[path.len().saturating_sub(LAST)..] {
        let line = summary::entry(entry, ctx.out.columns().max(40) - 12);
        ctx.out.line(format!("{}  {}", paint(style::ID, short.of(&entry.id)), cut(&line, 200)))?;
    }
    ctx.out.line("")
}

/// The commands that go on from here; `pi`: whether Pi would go on at the same entry.
fn next(session: &Session, query: &str, pi: bool) -> Vec<String> {
    let facts = session.facts();
    let mut next = Vec::new();
    // A session of another tool is found again by its path, wherever the next command runs.
    let path = facts
        .path
        .as_ref()
        .filter(|_| facts.dialect != NATIVE)
        .map(|path| path.display().to_string());
    let query = path.as_deref().unwrap_or(query);
    let fork = format!("forkwood fork {}", word(query));
    if facts.read_only.is_some() {
        return vec![fork];
    }
    next.push(format!("forkwood append {} \"...\"", word(query)));
    if pi && let Some(path) = &facts.path {
        next.push(format!("pi --session {}", word(&path.to_string_lossy())));
    }
    next
}

/// A word for a shell.
pub(crate) fn word(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/._-+:@%".contains(&b);
    if !text.is_empty() && text.bytes().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
