//! Telling Pi's files from others, and from each other.

use std::path::Path;
use std::sync::Arc;

use forkwood_core::entry::SessionInfo;
use forkwood_core::json::{self, JsonKind, Object};
use forkwood_core::{Diagnostic, DiagnosticKind, EntryKind};
use forkwood_storage::FloorRule;
use forkwood_storage::jsonl::quick::Quick;
use forkwood_storage::jsonl::{FileStart, Header, Recognised};
use memchr::memmem;

use super::Flavour;
use super::decode::kind_of;
use super::dialect::PiDialect;
use super::v4;
use crate::time::parse_pi;

const HARNESS: &str = "it belongs to Pi's agent harness, which keeps its own position in it; \
                       fork it into a new session to go on from here";
const NO_HEADER: &str =
    "its header line is damaged or missing; `forkwood check --repair` writes a new one";

pub(crate) fn recognise(start: &FileStart<'_>) -> Option<Recognised> {
    let (number, first) = *start.lines.first()?;
    let text = String::from_utf8_lossy(first);
    if let Ok(object) = Object::parse(&text) {
        if let Some(found) = v4::recognise(&object, number) {
            return Some(found);
        }
        if object.text("type").is_some_and(|tag| tag == "session") {
            return with_header(&object, number, start);
        }
    }
    // Something was glued to the header: the reader takes the records of that line one by one.
    if let Some(object) = glued(&text)
        && object.text("type").is_some_and(|tag| tag == "session")
        && object.text("id").is_some()
    {
        return with_header(&object, number, start);
    }
    headless(number, start)
}

/// The whole object at the start of a line that holds more.
fn glued(text: &str) -> Option<Object<'_>> {
    let ends = text.match_indices('}').take(16);
    ends.into_iter().find_map(|(at, _)| Object::parse(&text[..=at]).ok())
}

/// A file whose first line is a header, though maybe not a good one.
fn with_header(object: &Object<'_>, number: u64, start: &FileStart<'_>) -> Option<Recognised> {
    let rest = &start.lines[1..];
    // A my-pi-agent header of its first days says `session` as well, and when in another field.
    let has = |key: &str| object.get(key).is_some();
    if !(has("timestamp") || has("version") || has("cwd"))
        || (has("created_at") && !has("timestamp"))
    {
        return None;
    }
    let version = version_of(object);
    let mut flavour = match version {
        v if v < 2.0 => Flavour::V1,
        v if v < 3.0 => Flavour::V2,
        _ => flavour_of(object, rest),
    };
    let id = object.text("id");
    let mut header = Header {
        session_id: id.clone().unwrap_or_default(),
        info: SessionInfo {
            cwd: object.text("cwd"),
            created_at: object.get("timestamp").and_then(parse_pi),
            metadata: object
                .get("metadata")
                .filter(|raw| json::kind_of(raw) == JsonKind::Object)
                .and_then(|raw| forkwood_core::Json::parse(raw).ok()),
            ..SessionInfo::default()
        },
        forked_from: object.text("parentSession").or_else(|| object.text("branchedFrom")),
        floor: FloorRule::None,
        ..Header::default()
    };
    let note = |kind, message: String| Diagnostic::new(kind, message).at(number, 0);
    if id.is_none() {
        if !plausible(rest) {
            return None;
        }
        header.read_only = Some(NO_HEADER.into());
        let message = "the header has no string id; the entries after it can be read".into();
        header.diagnostics.push(note(DiagnosticKind::NoHeader, message));
    }
    if version > 3.0 {
        header.newer_version = Some(version.to_string());
        let message = format!("version {version} is newer than 3; the file is read-only here");
        header.diagnostics.push(note(DiagnosticKind::FutureVersion, message));
    } else if version >= 3.0 && without_ids(rest) {
        // Pi's own fork of an old file copies its entries as they are under a new header.
        flavour = Flavour::V1;
    }
    match flavour {
        Flavour::Harness => header.read_only = Some(HARNESS.into()),
        Flavour::V1 | Flavour::V2 => {
            let old = if flavour == Flavour::V1 { 1 } else { 2 };
            let message = format!("version {old}; the first append rewrites the file as version 3");
            header.diagnostics.push(note(DiagnosticKind::OldVersion, message));
        }
        _ => {}
    }
    Some(found(header, flavour))
}

fn found(header: Header, flavour: Flavour) -> Recognised {
    let session_id = header.session_id.to_string_escaped().into_owned();
    Recognised { header, dialect: Arc::new(PiDialect { flavour, session_id }) }
}

/// The version as Pi's comparisons see it.
fn version_of(header: &Object<'_>) -> f64 {
    match header.get("version") {
        None | Some("null") => 1.0,
        Some(raw) => raw.trim_matches('"').parse().unwrap_or(3.0),
    }
}

/// Who writes a file of version 3. Entries of 1.x settle that it is the coding agent; header
/// metadata, or what only the harness writes, that it is the harness.
fn flavour_of(header: &Object<'_>, rest: &[(u64, &[u8])]) -> Flavour {
    let in_header =
        header.get("metadata").is_some_and(|raw| json::kind_of(raw) == JsonKind::Object);
    let contains =
        |needle: &[u8]| rest.iter().any(|(_, line)| memmem::find(line, needle).is_some());
    let suspect = in_header
        || contains(b"\"leaf\"")
        || contains(b"\"active_tools_change\"")
        || contains(b"\"retainedTail\"");
    if !suspect {
        return Flavour::Plain;
    }
    let mut harness = in_header;
    for (_, line) in rest {
        match mark(line) {
            Some(Flavour::Agent) => return Flavour::Agent,
            Some(_) => harness = true,
            None => {}
        }
    }
    if harness { Flavour::Harness } else { Flavour::Plain }
}

/// What one line tells of its writer.
fn mark(line: &[u8]) -> Option<Flavour> {
    let text = String::from_utf8_lossy(line);
    let Ok(object) = Object::parse(&text) else {
        // A line that the window cuts.
        let found = Quick::parse(line)?;
        return (kind_of(found.kind) == EntryKind::Message && found.role == Some("system"))
            .then_some(Flavour::Agent);
    };
    let tag = object.text("type")?;
    match kind_of(tag.as_str()?) {
        EntryKind::Usage | EntryKind::ContextEdit => Some(Flavour::Agent),
        EntryKind::Message => {
            let message = Object::parse(object.get("message")?).ok()?;
            message.text("role").is_some_and(|role| role == "system").then_some(Flavour::Agent)
        }
        EntryKind::Compaction if object.get("systemMessage").is_some() => Some(Flavour::Agent),
        EntryKind::Compaction => object.get("retainedTail").map(|_| Flavour::Harness),
        EntryKind::Leaf | EntryKind::ActiveToolsChange => Some(Flavour::Harness),
        _ => None,
    }
}

/// Whether entries follow and none of them has an id.
fn without_ids(rest: &[(u64, &[u8])]) -> bool {
    let likes: Vec<Like> = rest.iter().map(|(_, line)| like(line)).collect();
    likes.contains(&Like::WithoutId) && !likes.contains(&Like::WithId)
}

/// Whether what follows a bad header are Pi's entries, for the most part. Nothing is fine too.
fn plausible(rest: &[(u64, &[u8])]) -> bool {
    let good = rest.iter().filter(|(_, line)| like(line) != Like::No).count();
    good * 2 >= rest.len()
}

/// A file whose first line is no header: Pi's if its other lines plainly are.
fn headless(number: u64, start: &FileStart<'_>) -> Option<Recognised> {
    let first = start.lines.first().map_or(Like::No, |(_, line)| like(line));
    let rest = if first == Like::No { &start.lines[1..] } else { start.lines };
    if rest.is_empty() || !plausible(rest) {
        return None;
    }
    let flavour =
        if without_ids(rest) { Flavour::V1 } else { flavour_of(&Object::default(), rest) };
    let message = "the header line cannot be read; the entries after it can";
    let header = Header {
        floor: FloorRule::None,
        read_only: Some(NO_HEADER.into()),
        diagnostics: vec![Diagnostic::new(DiagnosticKind::NoHeader, message).at(number, 0)],
        info: SessionInfo { created_at: time_of_name(start.path), ..SessionInfo::default() },
        ..Header::default()
    };
    Some(found(header, flavour))
}

/// The time in the name of a file, `2026-11-30T07-10-04-186Z_<id>.jsonl`.
fn time_of_name(path: &Path) -> Option<forkwood_core::Timestamp> {
    let stamp = path.file_name()?.to_str()?.split_once('_')?.0;
    let (day, clock) = stamp.split_once('T')?;
    let clock: Vec<&str> = clock.strip_suffix('Z')?.split('-').collect();
    let [hour, minute, second, millis] = clock[..] else { return None };
    crate::time::parse_iso(&format!("{day}T{hour}:{minute}:{second}.{millis}Z"))
}

/// How much a line is like an entry of Pi.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Like {
    No,
    WithId,
    WithoutId,
}

fn like(line: &[u8]) -> Like {
    let text = String::from_utf8_lossy(line);
    let Ok(object) = Object::parse(&text) else {
        let quick = Quick::parse(line).filter(|found| {
            kind_of(found.kind) != EntryKind::Unknown
                && found.timestamp.is_some_and(|json| json.starts_with('"'))
        });
        return if quick.is_some() { Like::WithId } else { Like::No };
    };
    let kind = object
        .text("type")
        .map_or(EntryKind::Unknown, |tag| kind_of(tag.as_str().unwrap_or_default()));
    let is_time = |raw: &str| json::kind_of(raw) == JsonKind::String && parse_pi(raw).is_some();
    if kind == EntryKind::Unknown || !object.get("timestamp").is_some_and(is_time) {
        return Like::No;
    }
    let has_message =
        || object.get("message").is_some_and(|raw| json::kind_of(raw) == JsonKind::Object);
    if kind == EntryKind::Message && !has_message() {
        return Like::No;
    }
    match object.get("id") {
        Some(raw) if json::kind_of(raw) == JsonKind::String => Like::WithId,
        Some(_) => Like::No,
        // What version 1 had, and hardly anything else has.
        None if matches!(
            kind,
            EntryKind::Message | EntryKind::ModelChange | EntryKind::ThinkingLevelChange
        ) =>
        {
            Like::WithoutId
        }
        None => Like::No,
    }
}
