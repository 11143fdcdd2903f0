//! Databases that the OpenAI Agents SDK wrote, with what the SDK itself reads of them.

use forkwood::{Body, Entry, EntryId, Session};
use forkwood_formats::import::Outcome;
use forkwood_formats::openai_agents::{NAME, encode};
use rusqlite::Connection;
use serde_json::Value;

use crate::world::{copied, fixture, made, open, outcomes, store, take};

fn expected(file: &str) -> Value {
    let text = std::fs::read_to_string(fixture("openai-agents/expected.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()[file].take()
}

/// The items that the entries of a path came from.
fn items(path: &[Entry]) -> Vec<Value> {
    let mut items = Vec::new();
    for entry in path {
        let Body::Message(body) = &entry.body else { continue };
        let texts = match &body.foreign {
            Some(foreign) => {
                assert_eq!(foreign.format, NAME);
                vec![foreign.raw.clone()]
            }
            None => encode(&body.message),
        };
        items.extend(texts.iter().map(|json| serde_json::from_str::<Value>(json.get()).unwrap()));
    }
    items
}

fn current(session: &Session) -> Vec<Value> {
    items(&pollster::block_on(session.current_path()).unwrap())
}

#[test]
fn a_session_holds_what_the_sdk_reads() {
    let (folder, path) = copied("openai-agents/plain.db");
    let store = store();
    let reports = take(&store, &path);
    assert_eq!(outcomes(&reports), [Outcome::New; 2]);
    assert!(reports.iter().all(|report| report.findings.is_empty()), "{reports:?}");
    let expected = expected("plain.db");
    for report in &reports {
        let source = report.source_id.as_ref().unwrap().to_string_lossy().into_owned();
        let session = open(&store, report.session.as_ref().unwrap().as_str());
        assert_eq!(Value::from(current(&session)), expected[&source]["main"], "{source}");
    }
    let talk = open(&store, "talk");
    let state = pollster::block_on(talk.context()).unwrap();
    assert_eq!(state.messages()[1].content.tool_calls().count(), 0, "a thought");
    assert_eq!(state.messages()[2].content.tool_calls().next().unwrap().1, &"weather");
    assert_eq!(state.messages()[3].tool_call_id, Some("call_1".into()));
    assert_eq!(outcomes(&take(&store, folder.path())), [Outcome::Unchanged; 2]);
}

#[test]
fn branches_are_one_tree() {
    let (_folder, path) = copied("openai-agents/advanced.db");
    let store = store();
    let reports = take(&store, &path);
    assert_eq!(outcomes(&reports), [Outcome::New]);
    assert!(reports[0].findings.is_empty(), "{reports:?}");
    let session = open(&store, "tree");
    let expected = expected("advanced.db");
    assert_eq!(Value::from(current(&session)), expected["tree"]["main"]);
    let labels = pollster::block_on(session.labels()).unwrap();
    assert_eq!(labels.len(), 2);
    let mut messages = 0;
    for (tip, branch) in labels {
        let path = pollster::block_on(session.path_to(&tip)).unwrap();
        assert_eq!(Value::from(items(&path)), expected["tree"][&branch.to_string()], "{branch}");
    }
    for head in pollster::block_on(session.heads()).unwrap() {
        messages += usize::from(head.kind == forkwood::EntryKind::Message);
    }
    // What branches share is there once.
    assert_eq!(messages, 9);
    let usage = pollster::block_on(session.get(&EntryId::from("usage-1"))).unwrap();
    let Body::Custom { data, aside: true, .. } = &usage.entry.body else { panic!("{usage:?}") };
    assert!(data.get().contains(r#""input_tokens":30"#), "{data:?}");
    assert!(data.get().contains(r#""lastEntryId":"message-4""#), "{data:?}");
}

#[test]
fn what_a_program_adds_and_takes_back_is_followed() {
    let (_folder, path) = copied("openai-agents/plain.db");
    let store = store();
    take(&store, &path);
    let database = Connection::open(&path).unwrap();
    let add = |text: &str| {
        let sql = "INSERT INTO agent_messages (session_id, message_data) VALUES ('talk', ?1)";
        let item = format!(r#"{{"content": "{text}", "role": "user"}}"#);
        database.execute(sql, [item]).unwrap();
    };
    add("more");
    assert!(outcomes(&take(&store, &path)).contains(&Outcome::Continued));
    let last = "DELETE FROM agent_messages WHERE id=(SELECT MAX(id) FROM agent_messages)";
    database.execute(last, ()).unwrap();
    add("instead");
    assert!(outcomes(&take(&store, &path)).contains(&Outcome::Branched));
    let session = open(&store, "talk");
    let now = current(&session);
    assert_eq!((now.len(), &now[8]["content"]), (9, &Value::from("instead")));
    let all = pollster::block_on(session.entries()).unwrap();
    assert!(
        all.iter()
            .any(|stored| stored.entry.message().is_some_and(|m| { m.content.text() == "more" }))
    );
}

#[test]
fn damage_is_told_and_the_rest_is_read() {
    let sql = r#"
        PRAGMA foreign_keys=OFF;
        CREATE TABLE s (session_id TEXT PRIMARY KEY, created_at, updated_at);
        CREATE TABLE m (id INTEGER PRIMARY KEY, session_id TEXT REFERENCES s (session_id),
            message_data TEXT, created_at);
        CREATE TABLE message_structure (id INTEGER PRIMARY KEY, session_id, message_id
            REFERENCES m (id), branch_id, message_type, sequence_number, user_turn_number);
        INSERT INTO m VALUES (1, '../x', '{"role":"user","content":"one"}', '2026-01-01 00:00:00'),
            (2, '../x', '{bad', NULL), (3, '../x', CAST(X'80' AS TEXT), 'never'),
            (4, '../x', '[1]', 5), (5, '../x', '{"role":"user","content":"lost"}', NULL),
            (6, '../x', '{"role":"user","content":"two"}', NULL), (7, NULL, NULL, NULL);
        INSERT INTO message_structure VALUES (1, '../x', 6, 'odd', '', 1, 1), (2, '../x', 1, 'odd', '', 2, 1),
            (3, '../x', 1, 'main', '', 3, 1), (4, '../x', 2, 'main', '', 4, 1),
            (5, '../x', 3, 'main', '', 5, 1), (6, '../x', 4, 'main', '', 6, 1),
            (7, '../x', 6, 'main', '', 7, 1), (8, '../x', 99, 'main', '', 0, 1);
    "#;
    let (_folder, path) = made("x.sqlite3", sql);
    let store = store();
    let reports = take(&store, &path);
    assert_eq!(reports.len(), 1, "{reports:?}");
    let kinds: Vec<&str> = reports[0].findings.iter().map(|found| found.kind.as_str()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "bad-json").count(), 2, "{kinds:?}");
    assert!(kinds.contains(&"unknown-target"), "{kinds:?}");
    let session = open(&store, reports[0].session.as_ref().unwrap().as_str());
    let texts: Vec<String> = pollster::block_on(session.entries())
        .unwrap()
        .iter()
        .filter_map(|stored| Some(stored.entry.message()?.content.text().to_string()))
        .collect();
    assert!(texts.contains(&"one".into()) && texts.contains(&"two".into()), "{texts:?}");
}
