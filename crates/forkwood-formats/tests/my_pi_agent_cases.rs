//! The files of my-pi-agent and Tau against what those programs say of them.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use forkwood_core::json::{self, Object};
use forkwood_core::{Body, Content, Message};

mod common;
use common::{Session, beside, canonical, files, open};

/// Cases of which the program itself makes a fault, and what is right instead.
const DECIDED_OTHERWISE: &[(&str, Option<&str>)] = &[
    ("new-06-message-after-leaf", Some("m3")),
    ("new-07-leaf-on-path", Some("t1")),
    ("new-08-unknown-leaf", Some("m1")),
    ("new-10-missing-parent", Some("m3")),
    ("new-11-cycle", Some("c")),
    ("new-16-corrupt-middle", Some("m1")),
    ("new-22-append-after-torn", Some("m10")),
];

fn name_of(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

fn text_or_null(value: Option<&forkwood_core::Text>) -> String {
    value.map_or_else(|| "null".into(), forkwood_core::Text::to_json)
}

fn shown(message: &Message) -> String {
    let Content::Text(text) = &message.content else { panic!("{message:?}") };
    let role = message.role.as_text().to_json();
    let metadata = message.metadata.as_ref().map_or("null", |json| json.get());
    let content = text.to_json();
    canonical(&format!("{{\"role\":{role},\"content\":{content},\"metadata\":{metadata}}}"))
}

fn check_state(name: &str, session: &Session, leaf: Option<&str>, said: &str) {
    let said = Object::parse(said).unwrap();
    let path = session.path(leaf);
    let state = session.state(&path);
    let messages: Vec<String> = state.messages().iter().map(shown).collect();
    let expected: Vec<String> = json::elements(said.get("messages").unwrap())
        .unwrap()
        .into_iter()
        .map(|m| canonical(m.get()))
        .collect();
    assert_eq!(messages, expected, "{name}");
    let settings = state.settings();
    assert_eq!(text_or_null(settings.model.as_ref()), said.get("model").unwrap(), "{name}");
    assert_eq!(text_or_null(settings.provider.as_ref()), said.get("provider").unwrap(), "{name}");
    let level = text_or_null(settings.thinking_level.as_ref());
    assert_eq!(level, said.get("thinking_level").unwrap(), "{name}");
    assert_eq!(text_or_null(state.label()), said.get("label").unwrap(), "{name}");
}

#[test]
fn reads_nine_type_files() {
    let mut checked = 0;
    for path in files(&["my-pi-agent/new"]) {
        let name = name_of(&path);
        let expected = beside(&path, ".expected.json").unwrap();
        let said = Object::parse(&expected).unwrap();
        if name == "new-17-only-torn" {
            assert!(open(&path).is_none());
            continue;
        }
        let session = open(&path).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(session.dialect.name(), "my-pi-agent", "{name}");
        assert!(session.header.read_only.is_none(), "{name}");
        let strict = Object::parse(said.get("strict_99dedb7").unwrap()).unwrap();
        let otherwise = DECIDED_OTHERWISE.iter().find(|(case, _)| *case == name);
        if let Some((_, leaf)) = otherwise {
            assert_eq!(session.leaf().as_deref(), *leaf, "{name}");
        } else {
            let state = strict.get("state_default_leaf").unwrap();
            let active = Object::parse(state).unwrap().text("active_leaf_id");
            assert_eq!(session.leaf(), active.map(|id| id.to_string()), "{name}");
            check_state(&name, &session, session.leaf().as_deref(), state);
        }
        let by_leaf = strict.get("state_by_leaf").and_then(|raw| Object::parse(raw).ok());
        for (leaf, state) in by_leaf.iter().flat_map(|object| object.iter()) {
            let said = Object::parse(state.get()).unwrap();
            let leaf = leaf.to_string();
            if said.get("error").is_none() {
                check_state(&format!("{name} at {leaf}"), &session, Some(&leaf), state.get());
            }
        }
        checked += 1;
    }
    assert!(checked >= 16, "{checked}");
}

#[test]
fn reads_the_header_of_a_facade_file() {
    for path in files(&["my-pi-agent/new"]) {
        if name_of(&path) != "new-23-facade-compaction" {
            continue;
        }
        let session = open(&path).unwrap();
        let header = &session.header;
        assert_eq!(header.session_id, "20261130-064949-8892e8a6");
        assert_eq!(header.leaf.as_ref().unwrap().as_str(), "311e5bab");
        let floor = forkwood_storage::FloorRule::Strict(Some("e9c83733".into()));
        assert_eq!(header.floor, floor);
        assert_eq!(header.info.agent_type.as_ref().unwrap(), "reviewer");
        let metadata = header.info.metadata.as_ref().unwrap();
        assert_eq!(metadata.get(), r#"{"agent_type":"reviewer","parent_session_id":"p-1"}"#);
        let compaction = session.stored.iter().find_map(|stored| match &stored.entry.body {
            Body::Compaction(compaction) => Some(compaction),
            _ => None,
        });
        let details = compaction.unwrap().details.as_ref().unwrap().as_object().unwrap();
        assert_eq!(details.get("covered_count"), Some("1"));
        assert!(!compaction.unwrap().is_boundary());
        assert_eq!(session.notes, 0);
        // What is appended after the first line was written moves.
        let mut more = std::fs::read_to_string(&path).unwrap();
        more += "{\"id\":\"n1\",\"parentId\":\"311e5bab\",\"timestamp\":1796021399.5,\"type\":\
                 \"message\",\"message\":{\"role\":\"user\",\"content\":\"next\"}}\n";
        let session = common::read(&path, more.as_bytes()).unwrap();
        assert_eq!(session.leaf().as_deref(), Some("n1"));
    }
}

#[test]
fn reads_header_files() {
    let mut checked = 0;
    for path in files(&["my-pi-agent/old", "my-pi-agent/store"]) {
        let name = name_of(&path);
        let expected = beside(&path, ".expected.json").unwrap();
        let said = Object::parse(&expected).unwrap();
        if matches!(name.as_str(), "old-13-bad-header" | "corrupt") {
            assert!(open(&path).is_none(), "{name}");
            continue;
        }
        let session = open(&path).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(session.dialect.name(), "my-pi-agent-header");
        assert!(session.header.read_only.is_some());
        if said.get("load_ok") != Some("true") {
            assert!(!session.faults.is_empty(), "{name}");
            continue;
        }
        checked += 1;
        let quoted = |id: Option<String>| id.map_or("null".into(), |id| format!("\"{id}\""));
        assert_eq!(session.header.session_id.to_json(), said.get("id").unwrap(), "{name}");
        assert_eq!(quoted(session.leaf()), said.get("current_id").unwrap(), "{name}");
        assert!(session.header.info.created_at.is_some());
        let forkwood_storage::FloorRule::Strict(floor) = &session.header.floor else { panic!() };
        let floor = quoted(floor.as_ref().map(ToString::to_string));
        assert_eq!(floor, said.get("compaction_floor").unwrap(), "{name}");
        let ids: Vec<String> =
            session.stored.iter().map(|stored| format!("\"{}\"", stored.entry.id)).collect();
        let said_ids = canonical(said.get("entry_ids").unwrap());
        assert_eq!(format!("[{}]", ids.join(",")), said_ids, "{name}");
        let types = Object::parse(said.get("entry_types").unwrap()).unwrap();
        for stored in &session.stored {
            let said = types.text(stored.entry.id.as_str()).unwrap();
            assert_eq!(stored.entry.body.tag(), said, "{name}");
        }
        let path = session.path(session.leaf().as_deref());
        let on_path: Vec<String> =
            path.iter().map(|stored| format!("\"{}\"", stored.entry.id)).collect();
        let said_path = canonical(said.get("current_path_ids").unwrap());
        assert_eq!(format!("[{}]", on_path.join(",")), said_path, "{name}");
        let messages: Vec<String> = session.state(&path).messages().iter().map(shown).collect();
        let said_messages = canonical(said.get("current_path_messages").unwrap());
        assert_eq!(format!("[{}]", messages.join(",")), said_messages, "{name}");
    }
    assert!(checked >= 9, "{checked}");
}

#[test]
fn reads_taus_files_and_never_as_nine_type_ones() {
    let mut checked = 0;
    for path in files(&["my-pi-agent/tau"]) {
        let name = name_of(&path);
        let session = open(&path).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(session.dialect.name(), "tau", "{name}");
        assert!(session.header.read_only.is_some());
        let expected = beside(&path, ".expected.json").unwrap();
        let said = Object::parse(&expected).unwrap();
        if let Some(ids) = said.get("ids") {
            let read: Vec<String> =
                session.stored.iter().map(|stored| format!("\"{}\"", stored.entry.id)).collect();
            assert_eq!(format!("[{}]", read.join(",")), canonical(ids), "{name}");
        }
        let unknown = session.stored.iter().find(|s| matches!(s.entry.body, Body::Unknown { .. }));
        assert_eq!(unknown, None, "{name}");
        checked += 1;
    }
    assert!(checked >= 10, "{checked}");
}

/// What the strict reader keeps of a line is what Forkwood writes for it.
#[test]
fn writes_lines_as_the_program_does() {
    let mut checked = 0;
    for path in files(&["my-pi-agent/new"]) {
        let Some(session) = open(&path) else { continue };
        let expected = beside(&path, ".expected.json").unwrap();
        let said = Object::parse(&expected).unwrap();
        let strict = Object::parse(said.get("strict_99dedb7").unwrap()).unwrap();
        let read_all = Object::parse(strict.get("read_all").unwrap()).unwrap();
        let Some(lines) = read_all.get("canonical_lines").and_then(json::elements) else {
            continue;
        };
        for (stored, line) in session.stored.iter().zip(lines) {
            let line = json::text_of(line.get()).unwrap().to_string();
            if stored.entry.timestamp.is_none() {
                continue;
            }
            let written = session.dialect.encode(&stored.entry).unwrap().unwrap();
            assert_eq!(plain(&written), plain(&line), "{}", path.display());
            checked += 1;
        }
    }
    assert!(checked > 60, "{checked}");
}

/// A line with its times as they are kept here, to the microsecond.
fn plain(line: &str) -> String {
    let object = Object::parse(line).unwrap();
    let fields: Vec<String> = object
        .iter()
        .map(|(key, value)| match key.as_str().unwrap() {
            "timestamp" | "createdAt" => {
                let at = forkwood_core::Timestamp::parse_seconds(value.get()).unwrap();
                format!("{key}:{at}")
            }
            // Both spellings are read; one is written.
            "type" => {
                let tag = json::text_of(value.get()).unwrap().to_string();
                format!("type:{}", forkwood_core::EntryKind::from_tag(&tag).as_str())
            }
            _ => format!("{key}:{}", canonical(value.get())),
        })
        .collect();
    fields.join(" ")
}
