//! Telling Claude Code's files from others.

use std::sync::Arc;

use forkwood_core::Text;
use forkwood_core::entry::SessionInfo;
use forkwood_core::json::Object;
use forkwood_storage::FloorRule;
use forkwood_storage::jsonl::{FileStart, Header, Recognised};

use super::METADATA;
use super::decode::time_of;
use super::dialect::{ClaudeCode, READ_ONLY};
use super::place::{agent_of, is_uuid};
use crate::fields::Out;

pub(crate) fn recognise(start: &FileStart<'_>) -> Option<Recognised> {
    let texts: Vec<_> = start.lines.iter().map(|(_, l)| String::from_utf8_lossy(l)).collect();
    let objects: Vec<Object<'_>> =
        texts.iter().filter_map(|text| Object::parse(text).ok()).collect();
    let cut = start.lines.iter().any(|(_, line)| starts_like_one(line));
    if !cut && !objects.iter().any(is_one) {
        return None;
    }
    Some(Recognised { header: header(start, &objects), dialect: Arc::new(ClaudeCode) })
}

/// A line that was cut because it is long: the program writes the parent first.
fn starts_like_one(line: &[u8]) -> bool {
    line.starts_with(b"{\"parentUuid\":")
}

/// Whether a line is plainly one of this program.
fn is_one(object: &Object<'_>) -> bool {
    let string = |key: &str| object.text(key).is_some();
    let Some(tag) = object.text("type") else { return false };
    match tag.as_str().unwrap_or_default() {
        "summary" => string("summary") && string("leafUuid"),
        "file-history-snapshot" => string("messageId") && object.get("snapshot").is_some(),
        "custom-title" => string("customTitle") && string("sessionId"),
        "ai-title" => string("aiTitle") && string("sessionId"),
        "queue-operation" => string("operation") && string("sessionId"),
        "permission-mode" => string("permissionMode") && string("sessionId"),
        "last-prompt" | "mode" | "tag" | "agent-name" | "worktree-state" => {
            string("sessionId") && object.get("id").is_none()
        }
        "user" | "assistant" | "system" | "attachment" | "progress" => {
            string("uuid") && string("sessionId") && object.get("parentUuid").is_some()
        }
        _ => false,
    }
}

fn header(start: &FileStart<'_>, objects: &[Object<'_>]) -> Header {
    let stem = start.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let first = |key: &str| objects.iter().find_map(|object| object.text(key));
    let in_lines = first("sessionId");
    let agent = agent_of(&stem);
    let session_id = match (&agent, is_uuid(&stem), &in_lines) {
        (Some(_), ..) | (None, true, _) => Text::from(stem.as_str()),
        (None, false, Some(id)) => id.clone(),
        (None, false, None) => Text::default(),
    };
    // A copy of another session says so in each line, or bears that one's id.
    let named = objects
        .iter()
        .find_map(|object| Object::parse(object.get("forkedFrom")?).ok()?.text("sessionId"));
    let copied = in_lines.clone().filter(|id| agent.is_none() && *id != session_id);
    let mut own = Out::default();
    for key in ["version", "gitBranch"] {
        if let Some(value) = first(key).filter(|value| !value.is_empty()) {
            own.text(key, &value);
        }
    }
    if let Some(agent) = &agent {
        own.str("agentId", agent);
    }
    let mut metadata = Out::default();
    if !own.is_empty() {
        metadata.raw(METADATA, &own.finish());
    }
    Header {
        session_id,
        info: SessionInfo {
            cwd: first("cwd"),
            created_at: objects.iter().find_map(time_of),
            metadata: (!metadata.is_empty()).then(|| metadata.into_json()),
            parent_session_id: in_lines.filter(|_| agent.is_some()),
            spawn_depth: agent.is_some().then_some(1),
            ..SessionInfo::default()
        },
        forked_from: named.or(copied),
        floor: FloorRule::None,
        read_only: Some(READ_ONLY.into()),
        ..Header::default()
    }
}
