//! Telling rollouts from other files.

use std::sync::Arc;

use forkwood_core::entry::SessionInfo;
use forkwood_core::json::Object;
use forkwood_core::{Diagnostic, DiagnosticKind, Text};
use forkwood_storage::FloorRule;
use forkwood_storage::jsonl::{FileStart, Header, Recognised};

use super::NAME;
use super::dialect::{Codex, READ_ONLY};
use super::line::is_old_header;
use super::place::id_in_name;
use crate::fields::{Out, whole_number};
use crate::time::parse_pi;

/// Types of lines that no other program writes with a payload.
const OWN: &[&str] =
    &["session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"];

pub(crate) fn recognise(start: &FileStart<'_>) -> Option<Recognised> {
    let texts: Vec<_> = start.lines.iter().map(|(_, l)| String::from_utf8_lossy(l)).collect();
    let objects: Vec<Object<'_>> =
        texts.iter().filter_map(|text| Object::parse(text).ok()).collect();
    let stem = start.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let id = id_in_name(&stem);
    let first = Object::parse(texts.first()?).ok();
    let header = match &first {
        Some(line) if is_own(line) && line.text("type").is_some_and(|t| t == "session_meta") => {
            header(&Object::parse(line.get("payload")?).ok()?, line)
        }
        // Others have such a header too; the name, or a line behind it, tells.
        Some(line) if is_old_header(line) && (id.is_some() || objects.iter().any(is_item)) => {
            header(line, line)
        }
        _ if objects.iter().any(is_own) => {
            let mut header = header(&Object::default(), &Object::default());
            header.session_id = id.map(Text::from).unwrap_or_default();
            let message = "the first line does not say what the session is; its lines can be read";
            let finding = Diagnostic::new(DiagnosticKind::NoHeader, message);
            header.diagnostics.push(finding.at(start.lines[0].0, 0));
            header
        }
        _ => return None,
    };
    Some(Recognised { header, dialect: Arc::new(Codex) })
}

fn is_own(line: &Object<'_>) -> bool {
    line.text("type").is_some_and(|tag| tag.as_str().is_some_and(|tag| OWN.contains(&tag)))
        && line.get("payload").is_some_and(|raw| Object::parse(raw).is_ok())
}

/// Whether a line is a bare item, as the first versions wrote them.
fn is_item(line: &Object<'_>) -> bool {
    line.text("record_type").is_some()
        || line.text("type").is_some_and(|tag| super::item::is_shown(&tag))
}

fn header(meta: &Object<'_>, line: &Object<'_>) -> Header {
    let object = |key: &str| meta.get(key).and_then(|raw| Object::parse(raw).ok());
    // A sub-agent says which thread spawned it.
    let spawned = object("source")
        .and_then(|source| Object::parse(source.get("subagent")?).ok())
        .and_then(|agent| Object::parse(agent.get("thread_spawn")?).ok())
        .unwrap_or_default();
    let text = |key: &str| meta.text(key).or_else(|| spawned.text(key));
    let mut own = Out::default();
    for (key, value) in meta.iter() {
        // Instructions are long, and no news of the session.
        let kept =
            ["cli_version", "originator", "source", "git", "model_provider", "agent_nickname"];
        if kept.iter().any(|kept| *key == *kept) && value.get() != "null" {
            own.field(key, value.get());
        }
    }
    let mut metadata = Out::default();
    if !own.is_empty() {
        metadata.raw(NAME, &own.finish());
    }
    Header {
        session_id: meta.text("id").unwrap_or_default(),
        info: SessionInfo {
            cwd: meta.text("cwd"),
            created_at: meta.get("timestamp").or_else(|| line.get("timestamp")).and_then(parse_pi),
            metadata: (!metadata.is_empty()).then(|| metadata.into_json()),
            parent_session_id: text("parent_thread_id"),
            agent_type: text("agent_role"),
            spawn_depth: spawned.get("depth").and_then(whole_number),
            ..SessionInfo::default()
        },
        forked_from: meta.text("forked_from_id"),
        floor: FloorRule::None,
        read_only: Some(READ_ONLY.into()),
        ..Header::default()
    }
}
