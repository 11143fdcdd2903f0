//! One row of a list, out of a session file.

use forkwood_core::{Block, Body, Content, EntryKind, Role, Severity, Text};

use super::file::{SessionFile, Trouble};
use super::index::NONE;
use crate::{Result, RowState, SessionRow};

/// How much of the first line of the user is shown.
const FIRST_LINE_CHARS: usize = 200;

/// Reads what a list shows. Bodies are read of a handful of entries only.
pub(super) fn row(file: &mut SessionFile) -> Result<SessionRow> {
    let counts = file.index.counts;
    let first_user = match counts.first_user {
        Some(at) => file.reading(|file| first_line(file, at))?,
        None => None,
    };
    let last_activity = match counts.newest {
        Some((time, at)) => {
            file.reading(|file| Ok(file.dialect.said_at(&file.stored(at)?.entry)))?.or(time)
        }
        None => None,
    };
    let model = file.reading(model)?;
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

/// The first line of a message. Where it is the long text of one block, only its start is read.
fn first_line(file: &SessionFile, at: u32) -> std::result::Result<Option<String>, Trouble> {
    let stored = file.stored(at)?;
    let Body::Message(body) = &stored.entry.body else { return Ok(None) };
    let text: Option<&Text> = match &body.message.content {
        Content::Text(text) => Some(text),
        Content::Blocks(blocks) => blocks.iter().find_map(|block| match block {
            Block::Text { text, .. } => Some(text),
            _ => None,
        }),
    };
    let Some(text) = text else { return Ok(None) };
    let text = text.to_string_lossy();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    Ok(Some(line.chars().take(FIRST_LINE_CHARS).collect()))
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
            let model = match file.stored(at)?.entry.body {
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
