//! Pi's files against what Pi itself says of them.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use forkwood_core::json::{self, Object};
use forkwood_core::{Body, Entry, Json, Text};
use forkwood_formats::pi::shape::pi_context;

mod common;
use common::{Session, beside, canonical, files, open, sha16};

fn strings(json: &str) -> Vec<String> {
    let items = json::elements(json).unwrap();
    items.into_iter().map(|v| json::text_of(v.get()).unwrap().to_string()).collect()
}

fn text_or_null(object: &Object<'_>, key: &str) -> Option<Text> {
    object.text(key)
}

/// Model and thinking level at the end of a path, as Pi's expectations have them.
fn check_settings(
    name: &str,
    session: &Session,
    path: &[forkwood_storage::Stored],
    said: &Object<'_>,
) {
    let state = session.state(path);
    let settings = state.settings();
    let model = said.get("model").and_then(|raw| Object::parse(raw).ok());
    let expected = model.map(|model| (model.text("provider"), model.text("modelId")));
    let actual = settings.model.clone().map(|model| (settings.provider.clone(), Some(model)));
    assert_eq!(actual, expected, "{name}: model");
    assert_eq!(settings.thinking_level, said.text("thinkingLevel"), "{name}: thinking level");
    if let Some(tools) = said.get("activeToolNames").filter(|raw| *raw != "null") {
        let tools: Vec<String> = strings(tools);
        let names = settings.active_tool_names.clone().unwrap_or_default();
        assert_eq!(names.iter().map(Text::to_string).collect::<Vec<_>>(), tools, "{name}: tools");
    }
}

fn check_messages(
    name: &str,
    session: &Session,
    path: &[forkwood_storage::Stored],
    said: &Object<'_>,
) {
    let context = pi_context(path, &session.dialect.rules());
    if let Some(digests) = said.get("digests") {
        let digests = json::elements(digests).unwrap();
        assert_eq!(context.len(), digests.len(), "{name}: messages");
        for (message, digest) in context.iter().zip(digests) {
            let digest = Object::parse(digest.get()).unwrap();
            let json = &message.json;
            assert_eq!(
                json.encode_utf16().count().to_string(),
                digest.get("len").unwrap(),
                "{name}: {json}"
            );
            assert_eq!(sha16(json), digest.text("sha256").unwrap().to_string(), "{name}: {json}");
        }
    }
    if let Some(messages) = said.get("messages") {
        let expected: Vec<String> =
            json::elements(messages).unwrap().into_iter().map(|m| canonical(m.get())).collect();
        let actual: Vec<String> = context.iter().map(|m| canonical(&m.json)).collect();
        assert_eq!(actual, expected, "{name}");
    }
}

/// An expectation of the coding agent. Returns whether ids are random in it.
fn check_agent(path: &Path, session: &Session, expected: &str) {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let said = Object::parse(expected).unwrap();
    let random_ids = session.dialect.name() == "pi-v1";
    let leaf = session.leaf();
    let branch = session.path(leaf.as_deref());
    assert_eq!(session.stored.len().to_string(), said.get("entryCount").unwrap(), "{name}");
    assert_eq!(session.header.session_id.to_json(), said.get("sessionId").unwrap(), "{name}");
    assert_eq!(session.title(), text_or_null(&said, "sessionName"), "{name}: name");
    let expected_branch = strings(said.get("branch").unwrap());
    if random_ids {
        assert_eq!(branch.len(), expected_branch.len(), "{name}: branch");
    } else {
        assert_eq!(leaf, said.text("leafId").map(|t| t.to_string()), "{name}: leaf");
        assert_eq!(session.ids(&branch), expected_branch, "{name}: branch");
        let labels = Object::parse(said.get("labels").unwrap()).unwrap();
        let mut wanted: Vec<(String, Text)> = labels
            .iter()
            .map(|(key, value)| (key.to_string(), json::text_of(value.get()).unwrap()))
            .collect();
        let mut actual: Vec<(String, Text)> = session.labels().into_iter().collect();
        wanted.sort();
        actual.sort();
        assert_eq!(actual, wanted, "{name}: labels");
    }
    let context = Object::parse(said.get("context").unwrap()).unwrap();
    check_settings(&name, session, &branch, &context);
    check_messages(&name, session, &branch, &context);
    let by_leaf = said.get("contextByLeaf").and_then(|raw| Object::parse(raw).ok());
    for (leaf, expected) in by_leaf.iter().flat_map(|object| object.iter()) {
        if random_ids {
            break;
        }
        let said = Object::parse(expected.get()).unwrap();
        let at = session.path(Some(&leaf.to_string()));
        check_settings(&format!("{name} at {leaf}"), session, &at, &said);
        let context = pi_context(&at, &session.dialect.rules());
        assert_eq!(context.len().to_string(), said.get("n").unwrap(), "{name} at {leaf}");
        let all: Vec<&str> = context.iter().map(|m| m.json.as_str()).collect();
        let sha = said.text("sha256").unwrap().to_string();
        assert_eq!(sha16(&format!("[{}]", all.join(","))), sha, "{name} at {leaf}");
    }
}

#[test]
fn reads_what_the_coding_agent_reads() {
    let mut checked = 0;
    for path in files(&["pi"]) {
        let Some(expected) = beside(&path, ".expected-1.6.0.json") else { continue };
        if beside(&path, ".expected-harness.json").is_some() {
            continue;
        }
        let session = open(&path).unwrap_or_else(|| panic!("{}", path.display()));
        assert_eq!(session.faults, [], "{}", path.display());
        check_agent(&path, &session, &expected);
        checked += 1;
    }
    assert!(checked >= 15, "{checked}");
}

#[test]
fn reads_what_the_harness_reads() {
    let mut checked = 0;
    for path in files(&["pi"]) {
        let Some(expected) = beside(&path, ".expected-harness.json") else { continue };
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let session = open(&path).unwrap();
        let said = Object::parse(&expected).unwrap();
        if session.dialect.name() == "pi-harness-v4" {
            check_log(&name, &session, &said);
            checked += 1;
            continue;
        }
        let marked = name.starts_with("H01");
        assert_eq!(session.dialect.name(), if marked { "pi-harness-v3" } else { "pi-v3" });
        assert_eq!(session.header.read_only.is_some(), marked);
        let branch = session.path(session.leaf().as_deref());
        assert_eq!(session.leaf(), said.text("leafId").map(|t| t.to_string()), "{name}");
        assert_eq!(session.ids(&branch), strings(said.get("branch").unwrap()), "{name}");
        assert_eq!(session.title(), said.text("sessionName"), "{name}");
        let context = Object::parse(said.get("context").unwrap()).unwrap();
        check_settings(&name, &session, &branch, &context);
        check_messages(&name, &session, &branch, &context);
        let labels = Object::parse(said.get("labels").unwrap()).unwrap();
        assert_eq!(labels.iter().count(), session.labels().len(), "{name}");
        checked += 1;
    }
    assert!(checked >= 3, "{checked}");
}

fn check_log(name: &str, session: &Session, said: &Object<'_>) {
    assert!(session.header.read_only.is_some());
    assert_eq!(session.title(), said.text("name"), "{name}");
    let branches = Object::parse(said.get("branches").unwrap()).unwrap();
    for (lane, branch) in branches.iter() {
        let branch = Object::parse(branch.get()).unwrap();
        let tip = session.lanes[&lane.to_string()].clone();
        assert_eq!(tip, branch.text("tip").map(|t| t.to_string()), "{name}: {lane}");
        let path = session.path(tip.as_deref());
        let wanted: Vec<String> = json::elements(branch.get("path").unwrap())
            .unwrap()
            .into_iter()
            .map(|row| {
                let row = json::elements(row.get()).unwrap();
                json::text_of(row[0].get()).unwrap().to_string()
            })
            .collect();
        assert_eq!(session.ids(&path), wanted, "{name}: {lane}");
        let context = pi_context(&path, &session.dialect.rules());
        let wanted: Vec<String> = json::elements(branch.get("context").unwrap())
            .unwrap()
            .into_iter()
            .map(|m| canonical(m.get()))
            .collect();
        let actual: Vec<String> = context.iter().map(|m| canonical(&m.json)).collect();
        assert_eq!(actual, wanted, "{name}: {lane}");
    }
    assert_eq!(session.labels().len(), 1);
}

/// A line of a file of version 1 as Pi's migration leaves it, ids replaced by positions.
fn by_position(text: &str) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    for line in &lines {
        ids.push(Object::parse(line).unwrap().text("id").unwrap().to_string());
    }
    let place = |raw: &str| match json::text_of(raw) {
        Some(id) => format!("#{}", ids.iter().position(|i| *i == id.to_string()).unwrap()),
        None => raw.to_owned(),
    };
    lines
        .iter()
        .enumerate()
        .map(|(at, line)| {
            let object = Object::parse(line).unwrap();
            let fields: Vec<String> = object
                .iter()
                .map(|(key, value)| match key.as_str().unwrap() {
                    "id" | "parentId" | "firstKeptEntryId" if at > 0 => {
                        format!("{key}={}", place(value.get()))
                    }
                    _ => format!("{key}={}", value.get()),
                })
                .collect();
            fields.join(" ")
        })
        .collect()
}

#[test]
fn migrates_as_pi_does() {
    let mut checked = 0;
    for path in files(&["pi"]) {
        let Some(wanted) = beside(&path, ".expected-1.6.0.migrated.jsonl") else { continue };
        let session = open(&path).unwrap();
        assert!(session.dialect.needs_migration());
        let lookup = |ordinal: u64| session.line_of.get(ordinal as usize).copied();
        let mut migrated = String::new();
        let lines = session.lines.iter().filter(|(_, line)| !line.trim().is_empty());
        for (ordinal, (number, line)) in lines.enumerate() {
            let context = forkwood_storage::jsonl::LineContext {
                line: *number,
                ordinal: ordinal as u64,
                line_of: &lookup,
            };
            migrated += &session.dialect.migrate(line.as_bytes(), &context).unwrap().unwrap();
            migrated.push('\n');
        }
        if session.dialect.name() == "pi-v2" {
            assert_eq!(migrated, wanted);
        }
        assert_eq!(by_position(&migrated), by_position(&wanted), "{}", path.display());
        // The same ids as before, and the same context.
        let again = common::read(&path, migrated.as_bytes()).unwrap();
        assert_eq!(again.dialect.name(), "pi-v3");
        let ids = |s: &Session| s.stored.iter().map(|s| s.entry.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&again), ids(&session));
        let context = |s: &Session| pi_context(&s.path(s.leaf().as_deref()), &s.dialect.rules());
        assert_eq!(context(&again), context(&session));
        checked += 1;
    }
    assert!(checked >= 2, "{checked}");
}

/// What Pi's own conversion for a model gives, where it is one text, is what the native shape
/// says of the same message.
#[test]
fn the_native_shape_says_what_pi_sends() {
    for path in files(&["pi"]) {
        let Some(expected) = beside(&path, ".expected-1.6.0.json") else { continue };
        let said = Object::parse(&expected).unwrap();
        let llm = Object::parse(said.get("llm").unwrap()).unwrap();
        let session = open(&path).unwrap();
        if beside(&path, ".expected-harness.json").is_some() {
            continue;
        }
        let state = session.state(&session.path(session.leaf().as_deref()));
        let name = path.display();
        let Some(messages) = llm.get("messages").and_then(json::elements) else {
            let count = llm.get("count").unwrap();
            assert_eq!(state.messages().len().to_string(), count, "{name}");
            continue;
        };
        assert_eq!(state.messages().len(), messages.len(), "{name}");
        for (message, sent) in state.messages().iter().zip(messages) {
            let sent = Object::parse(sent.get()).unwrap();
            let mut reader = forkwood_core::entry::codec::Reader::lossless();
            let sent = forkwood_core::message::decode(
                &format!("{{\"role\":\"user\",\"content\":{}}}", sent.get("content").unwrap()),
                &mut reader,
            );
            let sent = sent.unwrap().content.text();
            let compacted = message.content.text().to_string().starts_with("Previous conversation");
            if !compacted {
                assert_eq!(message.content.text(), sent, "{name}");
            }
        }
    }
}

/// A line that Forkwood writes says what the line that it read says.
#[test]
fn writes_back_what_it_read() {
    let mut checked = 0;
    for path in files(&["pi", "pi/bad"]) {
        let Some(session) = open(&path) else { continue };
        if session.dialect.name() != "pi-v3" {
            continue;
        }
        for stored in &session.stored {
            let Some(line) = session.dialect.encode(&stored.entry).unwrap() else { continue };
            let again = session.dialect.decode(line.as_bytes(), &context_of(1)).unwrap().entry;
            assert_eq!(same(&again), same(&stored.entry), "{}: {line}", path.display());
            let raw = String::from_utf8_lossy(stored.raw.as_deref().unwrap()).into_owned();
            if is_complete(&stored.entry) && !path.to_string_lossy().contains("/bad/") {
                assert_eq!(canonical(&line), canonical(&raw), "{}", path.display());
                checked += 1;
            }
        }
    }
    assert!(checked > 100, "{checked}");
}

/// An entry without what may be spelled otherwise.
fn same(entry: &Entry) -> Entry {
    let mut entry = Entry { extra: Vec::new(), timestamp: None, ..entry.clone() };
    if let Body::Message(body) = &mut entry.body {
        let metadata = body.message.metadata.as_ref();
        body.message.metadata = metadata.map(|m| Json::parse(&canonical(m.get())).unwrap());
    }
    entry
}

/// Whether an entry says everything that Pi asks for, so that nothing is added on writing.
fn is_complete(entry: &Entry) -> bool {
    match &entry.body {
        Body::Custom { data, .. } => data.get() != "{}",
        Body::Label { label, .. } => label.is_some(),
        Body::ActiveToolsChange { .. } | Body::Leaf { .. } => false,
        Body::SessionInfo(info) => info.title.as_ref().is_some_and(|title| !title.is_empty()),
        _ => true,
    }
}

fn context_of(line: u64) -> forkwood_storage::jsonl::LineContext<'static> {
    forkwood_storage::jsonl::LineContext { line, ordinal: line, line_of: &|_| None }
}
