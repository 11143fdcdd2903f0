//! Codex's lines as entries.

use forkwood_core::entry::{Compaction, MessageBody, SessionInfo};
use forkwood_core::json::{self, Object};
use forkwood_core::{Body, DiagnosticKind, Entry, EntryId, Json, Lane, Text, Timestamp};
use forkwood_storage::jsonl::{Decoded, LineFault};

use super::line::{Kind, Line, Setting, settings};
use super::{NAME, item};
use crate::fields::{Out, parse_object};

/// Looks at a line.
///
/// # Errors
/// A [`LineFault`] where it is no line of a rollout.
pub(crate) fn line_of(text: &str) -> Result<Line<'_>, LineFault> {
    match Line::of(text) {
        Some(line) => Ok(line),
        None => parse_object(text)
            .and_then(|_| Err(LineFault::WrongShape("has no type and payload".into()))),
    }
}

/// When a line was written.
pub(crate) fn time_of(object: &Object<'_>) -> Option<Timestamp> {
    object.get("timestamp").and_then(crate::time::parse_pi)
}

/// The id of the entry of a line.
pub(crate) fn id(number: u64) -> String {
    format!("line-{number}")
}

/// The id of the entry of a setting.
pub(crate) fn setting_id(number: u64, setting: &Setting) -> String {
    format!("line-{number}.{}", if setting.model { "model" } else { "effort" })
}

/// Reads a whole line, or the setting in it that starts at `part`.
///
/// # Errors
/// Those of [`line_of`].
pub(crate) fn entry(text: &str, number: u64, part: Option<usize>) -> Result<Decoded, LineFault> {
    let line = line_of(text)?;
    let mut notes = Vec::new();
    let timestamp = time_of(&line.object);
    let setting = part.and_then(|start| {
        settings(text, &line).into_iter().find(|setting| setting.span.start == start)
    });
    let (id, body) = match setting {
        Some(setting) => {
            let id = setting_id(number, &setting);
            let Setting { model, value, .. } = setting;
            let body = match model {
                true => Body::ModelChange { model: value, provider: None },
                false => Body::ThinkingLevelChange { thinking_level: value },
            };
            (id, body)
        }
        None => (id(number), body(&line, text, number, &mut notes)),
    };
    let entry = Entry {
        id: EntryId::from(id),
        parent_id: None,
        timestamp,
        lane: Lane::main(),
        more: 0,
        body,
        extra: Vec::new(),
    };
    Ok(Decoded { entry, notes })
}

fn body(
    line: &Line<'_>,
    text: &str,
    number: u64,
    notes: &mut Vec<(DiagnosticKind, String)>,
) -> Body {
    match line.kind {
        Kind::Item => {
            let raw = match line.wrapped {
                true => line.object.get("payload").unwrap_or("null"),
                false => text,
            };
            Body::Message(MessageBody { message: item::decode_any(raw), foreign: None })
        }
        Kind::Compacted => Body::Compaction(compacted(&line.payload, number)),
        Kind::Named => {
            let title = line.payload.text("thread_name");
            Body::SessionInfo(SessionInfo { title, ..SessionInfo::default() })
        }
        Kind::Meta | Kind::Turn | Kind::RolledBack => custom(line, text),
        Kind::Other { known } => {
            if !known {
                notes.push((DiagnosticKind::UnknownType, format!("line: type {}", line.tag)));
            }
            custom(line, text)
        }
    }
}

fn custom(line: &Line<'_>, text: &str) -> Body {
    let namespace = Text::concat([&format!("{NAME}.").into(), &line.tag]);
    let data = Json::parse(text).unwrap_or_else(|_| Json::empty_object());
    Body::Custom { namespace, data, aside: line.is_beside() }
}

/// Where the context was compacted: what replaced it, where the line says so, else its summary.
fn compacted(payload: &Object<'_>, number: u64) -> Compaction {
    let history = payload.get("replacement_history").and_then(json::elements);
    let taken = if history.is_some() { "replacement_history" } else { "message" };
    let mut details = Out::default();
    details.rest(
        payload.iter().filter(|(key, _)| **key != taken).map(|(key, value)| (key, value.get())),
    );
    let details = (!details.is_empty()).then(|| details.into_json());
    if let Some(history) = history {
        let tail = history.into_iter().map(|raw| item::decode_any(unwrapped(raw.get()))).collect();
        return Compaction { retained_tail: Some(tail), details, ..Compaction::default() };
    }
    Compaction {
        summary: payload.text("message").unwrap_or_default(),
        first_kept_entry_id: Some(EntryId::from(id(number))),
        details,
        ..Compaction::default()
    }
}

/// An item of a replacement history, out of the envelope that some versions put around it.
fn unwrapped(raw: &str) -> &str {
    let inner = Object::parse(raw).ok().filter(|object| object.get("type").is_none());
    inner.and_then(|object| object.get("item")).unwrap_or(raw)
}
