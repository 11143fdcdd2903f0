//! One row of a list, out of a session file.

use forkwood_core::{Block, Body, Content, EntryKind, Role, Severity, Text};

use super::file::{LONG, SessionFile, Trouble};
use super::index::NONE;
use crate::disk::read_from;
use crate::{Result, RowState, SessionRow, StorageError};

/// How much of the first line of the user is shown.
const FIRST_LINE_CHARS: usize = 200;
/// How much is read of a long record.
const PART: u64 = 16 * 1024;

/// Reads what a list shows. Bodies are read of a handful of entries only. Where one of them is
/// damaged, all is counted anew.
pub(super) fn row(file: &mut SessionFile) -> Result<SessionRow> {
    file.reading(row_of)
}

fn row_of(file: &SessionFile) -> std::result::Result<SessionRow, Trouble> {
    let counts = file.index.counts;
    let first_user = match counts.first_user {
        Some(at) => first_line(file, at)?,
        None => None,
    };
    let last_activity = match counts.newest {
        Some((time, at)) if is_long(file, at) => time,
        Some((time, at)) => file.dialect.said_at(&file.stored(at)?.entry).or(time),
        None => None,
    };
    let model = model(file)?;
    let info = file.info().clone();
    let damage = file.findings().iter().filter(|f| f.severity == Severity::Error).count() as u64;
    let pinned = info
        .metadata
        .as_ref()
        .and_then(|metadata| metadata.as_object().map(|o| o.get("pinned") == Some("true")))
        .unwrap_or(false);
    let facts = file.facts()?;
    Ok(SessionRow {
        id: facts.id,
        shown_id: facts.shown_id,
        dialect: facts.dialect,
        path: Some(file.path.clone()),
        state: if damage > 0 {
            RowState::Damaged
        } else if counts.messages == 0 {
            RowState::Empty
        } else {
            RowState::Good
        },
        created: info.created_at,
        last_activity,
        entries: u64::from(file.index.len()),
        messages: counts.messages,
        user_messages: counts.user,
        assistant_messages: counts.assistant,
        title: info.title.filter(|title| !title.is_empty()),
        first_user,
        model,
        cwd: info.cwd,
        size: file.meta.len,
        forked_from: facts.forked_from,
        agent_type: info.agent_type,
        parent_session: info.parent_session_id,
        damage,
        pinned,
    })
}

/// Whether a record is too long to be read for a list.
fn is_long(file: &SessionFile, at: u32) -> bool {
    u64::from(file.index.rec(at).len) > LONG
}

/// The first line of a message. Of a long one only the start is read.
fn first_line(file: &SessionFile, at: u32) -> std::result::Result<Option<String>, Trouble> {
    if is_long(file, at) {
        let start = part(file, at, true)?;
        return Ok(["\"content\":\"", "\"text\":\""]
            .iter()
            .find_map(|key| string_after(&start, key))
            .map(|text| shown_line(&text)));
    }
    let stored = file.stored(at)?;
    let Body::Message(body) = &stored.entry.body else { return Ok(None) };
    let text: Option<&Text> = match &body.message.content {
        Content::Text(text) => Some(text),
        Content::Blocks(blocks) => blocks.iter().find_map(|block| match block {
            Block::Text { text, .. } => Some(text),
            _ => None,
        }),
    };
    Ok(text.map(shown_line))
}

fn shown_line(text: &Text) -> String {
    let text = text.to_string_lossy();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(FIRST_LINE_CHARS).collect()
}

/// The start or the end of a long record.
fn part(file: &SessionFile, at: u32, start: bool) -> Result<Vec<u8>> {
    let rec = file.index.rec(at);
    let take = u64::from(rec.len).min(PART);
    let offset = if start { rec.offset } else { rec.offset + u64::from(rec.len) - take };
    read_from(file.file.as_ref(), offset, take)
        .map_err(|error| StorageError::io(&file.path, "read", error))
}

/// The JSON string that follows a key in a part of a record, or as much of it as is there.
fn string_after(bytes: &[u8], key: &str) -> Option<Text> {
    let from = memchr::memmem::find(bytes, key.as_bytes())? + key.len();
    let mut end = from;
    let mut whole = from;
    while end < bytes.len() && bytes[end] != b'"' && end - from < 4 * FIRST_LINE_CHARS {
        let len = match (bytes[end], bytes.get(end + 1)) {
            (b'\\', Some(b'u')) => 6,
            (b'\\', _) => 2,
            (byte, _) if byte >= 0xf0 => 4,
            (byte, _) if byte >= 0xe0 => 3,
            (byte, _) if byte >= 0xc0 => 2,
            _ => 1,
        };
        end += len;
        if end <= bytes.len() {
            whole = end;
        }
    }
    let text = String::from_utf8_lossy(&bytes[from..whole]);
    forkwood_core::json::text_of(&format!("\"{text}\""))
}

/// The model that answers where `main` stands.
fn model(file: &SessionFile) -> std::result::Result<Option<Text>, Trouble> {
    let leaf = file.index.lanes()[0].leaf;
    let mut next = (leaf != NONE).then_some(leaf);
    let mut steps = 0;
    while let Some(at) = next
        && steps <= file.index.len()
    {
        let rec = file.index.rec(at);
        let speaks = rec.kind == EntryKind::Message
            && file.index.role(at) == Some(Role::Assistant)
            && file.dialect.rules().model_from_messages;
        if speaks || rec.kind == EntryKind::ModelChange || rec.kind == EntryKind::Compaction {
            let body = match is_long(file, at) {
                true => match string_after(&part(file, at, false)?, "\"model\":\"") {
                    Some(model) => return Ok(Some(model)),
                    None => Body::Unknown { tag: Text::default() },
                },
                false => file.stored(at)?.entry.body,
            };
            let model = match body {
                Body::Message(body) => body.message.model,
                Body::ModelChange { model, .. } => Some(model),
                Body::Compaction(compaction) => compaction.state.and_then(|state| state.model),
                _ => None,
            };
            if model.is_some() {
                return Ok(model);
            }
        }
        next = file.index.parent(at);
        steps += 1;
    }
    Ok(None)
}
