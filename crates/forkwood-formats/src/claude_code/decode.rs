//! Claude Code's lines as entries.

use forkwood_core::entry::{Compaction, SessionInfo};
use forkwood_core::json::Object;
use forkwood_core::{Body, DiagnosticKind, Entry, EntryId, Json, Lane, Text, Timestamp};
use forkwood_storage::jsonl::{Decoded, LineFault};

use super::line::{Kind, Line};
use super::parts::{blocks, part_id, parts};
use super::{NAME, message};
use crate::fields::parse_object;

/// Looks at a line.
///
/// # Errors
/// A [`LineFault`] where it is no object or has no type.
pub(crate) fn line_of(text: &str) -> Result<Line<'_>, LineFault> {
    Line::of(parse_object(text)?).ok_or_else(|| LineFault::WrongShape("has no string type".into()))
}

/// When a line was written.
pub(crate) fn time_of(object: &Object<'_>) -> Option<Timestamp> {
    object.get("timestamp").and_then(crate::time::parse_pi)
}

/// Reads a whole line, or one part of it that starts at `part`.
///
/// # Errors
/// Those of [`line_of`].
pub(crate) fn entry(text: &str, number: u64, part: Option<usize>) -> Result<Decoded, LineFault> {
    let line = line_of(text)?;
    let mut notes = Vec::new();
    let timestamp = time_of(&line.object);
    let lane = line.lane().and_then(|name| Lane::new(&name).ok()).unwrap_or_default();
    let mut id = line.id(number);
    let mut parent = super::dialect::parent_of(&line);
    let body = match line.kind {
        Kind::User => {
            let all = parts(text, &line.object);
            let at = all.as_ref().and_then(|all| {
                let start = part?;
                all.iter().position(|one| one.span.start == start)
            });
            match (all, at) {
                (Some(all), Some(at)) => {
                    if at > 0 {
                        parent = Some(part_id(&id, at - 1, all.len()));
                    }
                    id = part_id(&id, at, all.len());
                    let span = &all[at].span;
                    let blocks = blocks(&line.object).unwrap_or_default();
                    let start = text.as_ptr() as usize;
                    let inside = |block: &&str| {
                        span.contains(&(block.as_ptr() as usize).saturating_sub(start))
                    };
                    let blocks: Vec<&str> = blocks.into_iter().filter(inside).collect();
                    let last = at + 1 == all.len();
                    Body::Message(message::decode(line, Some(&blocks), last))
                }
                _ => Body::Message(message::decode(line, None, true)),
            }
        }
        Kind::Assistant => Body::Message(message::decode(line, None, true)),
        Kind::Shown => Body::Message(message::shown(&line, text)),
        Kind::Boundary => Body::Compaction(boundary(&line, text, &id)),
        Kind::Title => {
            let title = line.object.text("customTitle");
            Body::SessionInfo(SessionInfo { title, ..SessionInfo::default() })
        }
        Kind::OnPath { known } | Kind::Beside { known } => {
            if !known {
                notes.push((DiagnosticKind::UnknownType, format!("line: type {}", line.tag)));
            }
            let namespace = Text::concat([&format!("{NAME}.").into(), &line.tag]);
            Body::Custom { namespace, data: record(text), aside: line.is_beside() }
        }
    };
    let entry = Entry {
        id: EntryId::from(id),
        parent_id: parent.map(EntryId::from),
        timestamp,
        lane,
        more: 0,
        body,
        extra: Vec::new(),
    };
    Ok(Decoded { entry, notes })
}

fn record(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|_| Json::empty_object())
}

/// Where the context was compacted. Nothing before it is kept, and the summary is a message of
/// its own behind it.
fn boundary(line: &Line<'_>, text: &str, id: &str) -> Compaction {
    let metadata = line.object.get("compactMetadata").and_then(|raw| Object::parse(raw).ok());
    let tokens = |key: &str| {
        let metadata = metadata.as_ref()?;
        metadata.get(key).and_then(crate::fields::whole_number)
    };
    Compaction {
        first_kept_entry_id: Some(EntryId::from(id)),
        tokens_before: tokens("preTokens"),
        tokens_after: tokens("postTokens"),
        details: Some(record(text)),
        ..Compaction::default()
    }
}
