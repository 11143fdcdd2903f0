//! Telling the files of my-pi-agent and Tau from others, and from each other.

use std::sync::Arc;

use forkwood_core::entry::SessionInfo;
use forkwood_core::json::{self, JsonKind, Object};
use forkwood_core::{Diagnostic, DiagnosticKind, EntryId, EntryKind, Json, Text, Timestamp};
use forkwood_storage::FloorRule;
use forkwood_storage::jsonl::{FileStart, Header, Recognised, either};

use super::header::HeaderFile;
use super::nine::NineTypes;
use crate::fields::Out;
use crate::time::parse_iso;

const HEADER_FILE: &str = "its program keeps the current entry in the header and writes the file \
                           whole at each step, over what others append; fork it into a new \
                           session to go on from here";
const NO_HEADER: &str = "its header line is damaged; `forkwood check --repair` writes a new one";
const TAU: &str = "it is a session of Tau; fork it into a new session to go on from here";

pub(crate) fn recognise(start: &FileStart<'_>) -> Option<Recognised> {
    let (_, first) = start.lines.first()?;
    let text = String::from_utf8_lossy(first);
    let Ok(object) = Object::parse(&text) else { return headless(start) };
    if is_header(&object) {
        return Some(header_file(&object));
    }
    nine_types(&object, start)
}

/// Whether a line is the header of a header file.
pub(crate) fn is_header(object: &Object<'_>) -> bool {
    let kind = object.text("type");
    let plain = kind.is_none() || kind.is_some_and(|tag| tag == "session");
    let string = |key: &str| object.get(key).is_some_and(|r| json::kind_of(r) == JsonKind::String);
    plain
        && object.get("role").is_none()
        && object.get("timestamp").is_none()
        && string("id")
        && string("created_at")
}

fn id_of(object: &Object<'_>, key: &str) -> Option<EntryId> {
    crate::fields::id_of(object, key).map(EntryId::from)
}

fn header_file(object: &Object<'_>) -> Recognised {
    let metadata = object.get("metadata").and_then(|raw| Object::parse(raw).ok());
    let created = object.text("created_at");
    let header = Header {
        session_id: object.text("id").unwrap_or_default(),
        info: SessionInfo {
            cwd: object.text("cwd"),
            created_at: created.as_ref().and_then(Text::as_str).and_then(parse_iso),
            ..info_of(metadata.unwrap_or_default())
        },
        leaf: id_of(object, "current_id"),
        floor: FloorRule::Strict(id_of(object, "compaction_floor")),
        read_only: Some(HEADER_FILE.into()),
        ..Header::default()
    };
    Recognised { header, dialect: Arc::new(HeaderFile) }
}

/// What a session's metadata says, without what is the program's own bookkeeping.
fn info_of(metadata: Object<'_>) -> SessionInfo {
    let mut own = Out::default();
    let bookkeeping = ["current_id", "root_id", "compaction_floor", "version"];
    own.rest(
        metadata
            .iter()
            .filter(|(key, _)| !bookkeeping.iter().any(|name| *key == name))
            .map(|(key, value)| (key, value.get())),
    );
    SessionInfo {
        agent_type: metadata.text("agent_type"),
        parent_session_id: metadata.text("parent_session_id"),
        spawn_depth: metadata.get("spawn_depth").and_then(crate::fields::whole_number),
        metadata: Some(own.into_json()),
        ..SessionInfo::default()
    }
}

fn nine_types(object: &Object<'_>, start: &FileStart<'_>) -> Option<Recognised> {
    let tag = object.text("type")?;
    let is_info = EntryKind::from_tag(tag.as_str()?) == EntryKind::SessionInfo;
    let native = either(object, "version", "version").is_some()
        && either(object, "sessionId", "session_id").is_some();
    let timestamp = object.get("timestamp");
    // Pi's entry of this type has a time in words.
    if !is_info || native || timestamp.is_some_and(|raw| seconds(raw).is_none()) {
        return None;
    }
    let session_id = object.text("id").filter(|id| !id.is_empty())?;
    let metadata = object.get("metadata").and_then(|raw| Object::parse(raw).ok());
    let metadata = metadata.unwrap_or_default();
    let tau = start.lines.iter().skip(1).any(|(_, line)| of_tau(line));
    let facade = metadata.get("current_id").is_some();
    let text = |camel: &str, snake: &str| either(object, camel, snake).and_then(json::text_of);
    let header = Header {
        session_id,
        leaf: id_of(&metadata, "current_id"),
        floor: FloorRule::Strict(id_of(&metadata, "compaction_floor")),
        info: SessionInfo {
            cwd: text("cwd", "cwd"),
            title: text("title", "title").or_else(|| text("name", "name")),
            created_at: either(object, "createdAt", "created_at").and_then(seconds),
            ..info_of(metadata)
        },
        read_only: tau.then(|| TAU.into()),
        ..Header::default()
    };
    let settled = timestamp.filter(|_| facade).and_then(seconds);
    Some(Recognised { header, dialect: Arc::new(NineTypes { facade, settled, tau }) })
}

/// A nine-type file whose first line is damaged: all lines after it are plainly entries of it. Tau's
/// are not: a new header would not say which of its versions wrote them.
fn headless(start: &FileStart<'_>) -> Option<Recognised> {
    let (number, _) = start.lines.first()?;
    let rest = start.lines.get(1..).filter(|rest| !rest.is_empty())?;
    let entry = |line: &[u8]| {
        let text = String::from_utf8_lossy(line);
        Object::parse(&text).is_ok_and(|object| {
            let tag = object.text("type").unwrap_or_default();
            let kind = EntryKind::from_tag(tag.as_str().unwrap_or_default());
            kind != EntryKind::Unknown
                && object.text("id").is_some_and(|id| !id.is_empty())
                && object.get("timestamp").and_then(seconds).is_some()
                && !["id", "parentId", "parent_id"].iter().any(|key| is_native_id(&object, key))
        })
    };
    if !rest.iter().all(|(_, line)| entry(line) && !of_tau(line)) {
        return None;
    }
    let message = "the header line cannot be read; the entries after it can";
    // The first entry hangs from the header, whose id is the session's.
    let (_, second) = rest.first()?;
    let second = String::from_utf8_lossy(second);
    let parent = Object::parse(&second)
        .ok()
        .and_then(|object| either(&object, "parentId", "parent_id").and_then(json::text_of));
    let header = Header {
        session_id: parent.unwrap_or_default(),
        floor: FloorRule::Strict(None),
        read_only: Some(NO_HEADER.into()),
        diagnostics: vec![Diagnostic::new(DiagnosticKind::NoHeader, message).at(*number, 0)],
        ..Header::default()
    };
    let dialect = NineTypes { facade: false, settled: None, tau: false };
    Some(Recognised { header, dialect: Arc::new(dialect) })
}

/// Whether a field holds an id of the native format's: a UUID of version 7 without dashes.
fn is_native_id(object: &Object<'_>, key: &str) -> bool {
    object.text(key).is_some_and(|id| {
        let id = id.as_str().unwrap_or_default().as_bytes();
        id.len() == 32 && id[12] == b'7' && id.iter().all(u8::is_ascii_hexdigit)
    })
}

/// Seconds since 1970, as a number or the digits of one.
pub(crate) fn seconds(raw: &str) -> Option<Timestamp> {
    match json::kind_of(raw) {
        JsonKind::Number => Timestamp::parse_seconds(raw),
        JsonKind::String => Timestamp::parse_seconds(json::text_of(raw)?.as_str()?),
        _ => None,
    }
}

/// Whether a line is written as only Tau does: a pointer that says `entry_id`, a message like
/// one of Pi.
fn of_tau(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line);
    let Ok(object) = Object::parse(&text) else { return false };
    let kind = object.text("type");
    let kind = EntryKind::from_tag(kind.as_ref().and_then(Text::as_str).unwrap_or_default());
    match kind {
        EntryKind::Leaf => object.get("entry_id").is_some(),
        EntryKind::BranchSummary => object.get("branch_root_id").is_some(),
        EntryKind::Message => {
            let message = object.get("message").and_then(|raw| Object::parse(raw).ok());
            message.is_some_and(|message| {
                message.text("role").is_some_and(|role| role == "toolResult")
                    || (message.get("timestamp").is_some_and(is_number)
                        && message.get("metadata").is_none())
            })
        }
        _ => false,
    }
}

fn is_number(raw: &str) -> bool {
    json::kind_of(raw) == JsonKind::Number && Json::parse(raw).is_ok()
}
