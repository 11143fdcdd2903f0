//! `forkwood append`

use clap::ValueEnum;
use forkwood::core::json::{ObjectWriter, join_array};
use forkwood::storage::jsonl::IdStyle;
use forkwood::storage::{Append, AppendedEntry, Expect, UuidV7};
use forkwood::{
    AppendOptions, Appended, Body, Draft, EntryId, ErrorKind, IdSource, Lane, Message, OnConflict,
    Role, Session,
};

use crate::commands::show::lane;
use crate::ctx::Ctx;
use crate::entries;
use crate::error::{CliError, Outcome, Result};
use crate::{input, json, target};

mod parse;
mod picoclaw;

/// What to append.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,

    /// The text of a message; `-`, or nothing, reads it from stdin
    #[arg(value_name = "TEXT", conflicts_with = "entry")]
    text: Option<String>,

    /// Who says it
    #[arg(long, value_name = "ROLE", default_value = "user", conflicts_with = "entry")]
    role: Speaker,

    /// An entry as JSON: its type and fields. `-` reads entries from stdin, one a line; all of
    /// them are written, or none
    #[arg(long, value_name = "JSON")]
    entry: Option<String>,

    /// Hang it from this entry, instead of from where the session stands
    #[arg(long, value_name = "ENTRY")]
    parent: Option<String>,

    /// The lane to write to; one that is not there yet is made
    #[arg(long, value_name = "LANE", value_parser = lane)]
    lane: Option<Lane>,

    /// What to do when another writer was first
    #[arg(long, value_name = "WHAT", default_value = "fail")]
    on_conflict: WhatThen,

    /// Write only if the lane stands at this entry; `any`: wherever it stands; `none`: only if
    /// it does not exist yet
    #[arg(long, value_name = "ENTRY")]
    expect: Option<String>,

    /// The id of the entry, so that a retry is the same write
    #[arg(long, value_name = "ID")]
    id: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Speaker {
    User,
    Assistant,
    System,
    Developer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WhatThen {
    /// Refuse, and write nothing
    Fail,
    /// Write to a new lane
    Branch,
}

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    // What is to be written is looked at first: a mistake in it must not touch anything.
    let mut batch = content(&args)?;
    if let Some(id) = &args.id {
        batch.name_first(id)?;
    }
    let mut session = target::open(ctx, &args.session).await?;
    if picoclaw::is_one(&session) {
        return picoclaw::run(ctx, &args, &session, batch).await;
    }
    let parent = match args.parent.as_deref().or(batch.parent.as_ref().map(EntryId::as_str)) {
        Some(parent) => Some(entries::resolve(&session, parent).await?),
        None => None,
    };
    let new_lane = match args.lane {
        Some(lane) if session.facts().lanes.iter().any(|state| state.lane == lane) => {
            session.use_lane(lane).await?;
            None
        }
        other => other,
    };
    let on_conflict = match args.on_conflict {
        WhatThen::Fail => OnConflict::Fail,
        WhatThen::Branch => OnConflict::Branch,
    };
    let expect = match args.expect.as_deref() {
        Some("any") => Some(Expect::Any),
        Some("none") => Some(Expect::NoLane),
        Some(entry) => Some(Expect::At(entries::resolve(&session, entry).await?)),
        None => None,
    };
    let appended = match (expect, new_lane) {
        (None | Some(Expect::Any), None) => {
            let any = args.expect.is_some();
            let options = AppendOptions {
                parent,
                any,
                ids: batch.ids,
                on_conflict: Some(on_conflict),
                ..AppendOptions::default()
            };
            session.append_batch(batch.bodies, options).await?
        }
        (expect, new_lane) => {
            let lane = new_lane.clone().unwrap_or_else(|| session.lane().clone());
            let parent = match (new_lane, parent) {
                // A new lane starts where the session stands.
                (Some(_), None) => session.leaf().cloned(),
                (_, parent) => parent,
            };
            let expect = expect.unwrap_or(Expect::NoLane);
            let write = Write { lane, parent, expect, on_conflict };
            raw(&session, write, batch.bodies, &batch.ids).await?
        }
    };
    tell(ctx, &session, &appended)
}

/// What the arguments, or stdin, say.
fn content(args: &Args) -> Result<parse::Batch> {
    match args.entry.as_deref() {
        Some("-") => return parse::lines(&input::all()?),
        Some(json) => return parse::lines(json),
        None => {}
    }
    let text = match args.text.as_deref() {
        Some("-") => from_stdin()?,
        Some(text) => text.to_owned(),
        None if input::is_piped() => from_stdin()?,
        None => {
            return Err(CliError::usage("there is nothing to append")
                .hint("give a TEXT, pipe one in, or use --entry JSON"));
        }
    };
    if text.is_empty() {
        return Err(CliError::usage("there is nothing to append: the text is empty")
            .hint("give a TEXT, pipe one in, or use --entry JSON"));
    }
    let role = match args.role {
        Speaker::User => Role::User,
        Speaker::Assistant => Role::Assistant,
        Speaker::System => Role::System,
        Speaker::Developer => Role::Developer,
    };
    let message = Message { role, ..Message::user(text) };
    Ok(parse::Batch { bodies: vec![Body::from(message)], ..parse::Batch::default() })
}

/// The line end that `echo` adds is no part of what is said.
fn from_stdin() -> Result<String> {
    let mut text = input::all()?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

/// A write that says more than the session's handle can.
struct Write {
    lane: Lane,
    parent: Option<EntryId>,
    expect: Expect,
    on_conflict: OnConflict,
}

/// Writes with an expectation of the caller.
async fn raw(
    session: &Session,
    write: Write,
    bodies: Vec<Body>,
    ids: &[EntryId],
) -> Result<Appended> {
    let mut drafts = Vec::new();
    let move_first = match (&write.parent, &write.expect) {
        (Some(parent), Expect::At(leaf)) => parent != leaf,
        (Some(_), _) => true,
        (None, _) => false,
    };
    if move_first {
        let body = Body::Leaf { leaf_id: write.parent };
        drafts.push(Draft::new(fresh(session), body));
    }
    let leading = drafts.len();
    for (at, body) in bodies.into_iter().enumerate() {
        let id = ids.get(at).cloned().unwrap_or_else(|| fresh(session));
        drafts.push(Draft::new(id, body));
    }
    session.prepare(&mut drafts).await?;
    let append = Append {
        lane: write.lane,
        expect: write.expect,
        on_conflict: write.on_conflict,
        ..Append::any(drafts)
    };
    let mut appended = session.storage().append(session.id(), append).await?;
    appended.entries.drain(..leading.min(appended.entries.len()));
    Ok(appended)
}

/// An id in the style of the session's format.
fn fresh(session: &Session) -> EntryId {
    let id = UuidV7.next_id();
    match session.facts().ids {
        IdStyle::Uuid => id,
        IdStyle::Hex8 => EntryId::new(id.tail()),
    }
}

fn tell(ctx: &mut Ctx, session: &Session, appended: &Appended) -> Result<Outcome> {
    if ctx.json() {
        let rows = appended.entries.iter().map(|AppendedEntry { id, parent_id, seq }| {
            let mut out = ObjectWriter::new();
            out.raw("id", &json::id(Some(id)))
                .raw("parentId", &json::id(parent_id.as_ref()))
                .raw("seq", &seq.to_string());
            out.finish()
        });
        let mut out = json::object();
        out.text("session", &session.facts().shown_id)
            .raw("entries", &join_array(rows))
            .str("lane", appended.lane.as_str())
            .raw("leaf", &json::id(appended.leaf.as_ref()))
            .raw("repeated", json::boolean(appended.repeated));
        ctx.out.json(out.finish())?;
    } else {
        for entry in &appended.entries {
            ctx.out.line(forkwood_view::sanitise::line(entry.id.as_str()))?;
        }
    }
    if appended.repeated {
        ctx.out.note("it was there already, from an earlier try");
    }
    if !appended.lane.is_main() {
        ctx.out.note(format!("written to lane {}", appended.lane));
    }
    if appended.entries.is_empty() {
        return Err(CliError::new(ErrorKind::Invalid, "there was nothing to append"));
    }
    Ok(Outcome::Done)
}
