use forkwood_core::entry::{Compaction, Operation};
use forkwood_core::message::Message;
use forkwood_core::{Block, Body, Content, Entry, Json, Lane, Role, Timestamp};
use forkwood_storage::jsonl::{Dialect, LineContext, Moves, ParentName, RecordHead};
use std::sync::Arc;

use super::MyPiAgentFormat;
use crate::tests::ask;

const INFO: &str =
    r#"{"id":"i0","timestamp":10.0,"type":"session_info","createdAt":1.0,"metadata":{}}"#;

fn dialect(lines: &[&str]) -> Arc<dyn Dialect> {
    ask(&MyPiAgentFormat, lines).unwrap().dialect
}

fn at() -> LineContext<'static> {
    LineContext { line: 2, ordinal: 1, line_of: &|_| None }
}

fn head<'l>(dialect: &dyn Dialect, line: &'l str) -> RecordHead<'l> {
    let mut out = Vec::new();
    dialect.heads(line.as_bytes(), &at(), false, &mut out).unwrap();
    out.remove(0)
}

fn entry(body: impl Into<Body>) -> Entry {
    Entry {
        id: "e".into(),
        parent_id: Some("p".into()),
        timestamp: Some(Timestamp::from_micros(1_500_000)),
        lane: Lane::main(),
        more: 0,
        body: body.into(),
        extra: Vec::new(),
    }
}

fn write(body: impl Into<Body>) -> Result<String, String> {
    let line = dialect(&[INFO]).encode(&entry(body)).map_err(|error| error.to_string())?;
    Ok(line.unwrap())
}

#[test]
fn writes_nine_types_and_no_more() {
    let base = r#"{"id":"e","parentId":"p","timestamp":1.5"#;
    let mut asked = Message::new(
        Role::Assistant,
        Content::Blocks(vec![
            Block::text("hm"),
            Block::tool_call("c", "t", Json::parse(r#"{"x":"\""}"#).unwrap()),
        ]),
    );
    asked.model = Some("m".into());
    assert_eq!(
        write(asked).unwrap(),
        format!(
            r#"{base},"type":"message","message":{{"role":"assistant","content":"hm","metadata":{{"tool_calls":[{{"id":"c","type":"function","function":{{"name":"t","arguments":"{{\"x\":\"\\\"\"}}"}}}}],"model":"m"}}}}}}"#
        )
    );
    assert_eq!(
        write(Message::tool("c", "703")).unwrap(),
        format!(
            r#"{base},"type":"message","message":{{"role":"tool","content":"703","metadata":{{"tool_call_id":"c"}}}}}}"#
        )
    );
    let lone = forkwood_core::json::text_of(r#""a\ud83d""#).unwrap();
    assert!(write(Message::user(lone)).unwrap().contains("\"a\u{fffd}\""));
    assert_eq!(
        write(Body::Label { label: None, target_id: None }).unwrap(),
        format!(r#"{base},"type":"label","label":""}}"#)
    );
    let compaction = Compaction {
        summary: "s".into(),
        replaces_entry_ids: vec!["x".into()],
        first_kept_entry_id: Some("k".into()),
        details: Some(Json::parse(r#"{"covered_count":1}"#).unwrap()),
        ..Compaction::default()
    };
    assert_eq!(
        write(compaction.clone()).unwrap(),
        format!(
            r#"{base},"type":"compaction","summary":"s","replacesEntryIds":["x"],"metadata":{{"covered_count":1,"first_kept_entry_id":"k"}}}}"#
        )
    );
    let keeps = Compaction { replaces_entry_ids: vec![], ..compaction.clone() };
    assert!(write(keeps).unwrap_err().contains("firstKeptEntryId"));
    let tail = Compaction { retained_tail: Some(vec![]), ..compaction };
    assert!(write(tail).unwrap_err().contains("retainedTail"));
    assert!(write(Body::Leaf { leaf_id: None }).unwrap_err().contains("pointer"));
}

#[test]
fn other_types_are_custom_ones_and_come_back() {
    let dialect = dialect(&[INFO]);
    for body in [
        Body::Operation(Operation {
            operation_id: "o".into(),
            phase: "started".into(),
            kind: "run".into(),
            outcome: None,
            data: None,
        }),
        Body::ActiveToolsChange { active_tool_names: vec!["a".into()] },
        Body::CustomMessage {
            namespace: "n".into(),
            content: Content::Text("c".into()),
            display: false,
        },
        Body::ContextEdit { target_id: "p".into(), replacement: None },
    ] {
        let line = dialect.encode(&entry(body.clone())).unwrap().unwrap();
        assert!(line.contains(r#""type":"custom","namespace":"forkwood."#), "{line}");
        let decoded = dialect.decode(line.as_bytes(), &at()).unwrap();
        assert_eq!(decoded.entry.body, body);
        assert_eq!(decoded.notes, []);
    }
    let unknown = Entry {
        extra: vec![("k".into(), Json::parse("1").unwrap())],
        ..entry(Body::Unknown { tag: "later".into() })
    };
    let line = dialect.encode(&unknown).unwrap().unwrap();
    assert!(line.ends_with(r#""namespace":"forkwood.later","data":{"k":1}}"#), "{line}");
}

#[test]
fn pointers_move_in_every_spelling() {
    let nine = dialect(&[INFO]);
    for key in ["leafId", "leaf_id", "targetId"] {
        let line =
            format!(r#"{{"id":"l","parentId":"b","timestamp":2,"type":"leaf","{key}":"a"}}"#);
        let head = head(&*nine, &line);
        assert!(head.sidecar);
        assert_eq!(head.moves, Moves::To(Some("a".into())), "{key}");
        let decoded = nine.decode(line.as_bytes(), &at()).unwrap();
        assert_eq!(decoded.entry.body, Body::Leaf { leaf_id: Some("a".into()) });
        assert_eq!((decoded.entry.extra.len(), decoded.notes.len()), (0, 0), "{key}");
    }
    let label = r#"{"id":"l","parentId":"b","timestamp":2,"type":"label","label":"x"}"#;
    assert_eq!(head(&*nine, label).moves, Moves::ToSelf);
    let tau = r#"{"id":"l","parent_id":"b","timestamp":2,"type":"leaf","entry_id":null}"#;
    let tau_dialect = dialect(&[INFO, tau]);
    assert_eq!(tau_dialect.name(), "tau");
    assert_eq!(head(&*tau_dialect, tau).moves, Moves::To(None));
}

#[test]
fn what_a_facade_wrote_moves_nothing() {
    let info = INFO.replace("{}", r#"{"current_id":null,"root_id":null}"#);
    let facade = dialect(&[&info]);
    let line = |at: &str| {
        format!(
            r#"{{"id":"m","timestamp":{at},"type":"message","message":{{"role":"user","content":""}}}}"#
        )
    };
    assert_eq!(head(&*facade, &line("10.0")).moves, Moves::Nothing);
    assert_eq!(head(&*facade, &line("10.5")).moves, Moves::ToSelf);
    assert_eq!(head(&*facade, &line("10.5")).parent, ParentName::Root);
    assert_eq!(head(&*dialect(&[INFO]), &line("1.0")).moves, Moves::ToSelf);
}

#[test]
fn a_tool_message_names_its_call() {
    let line = r#"{"id":"m","timestamp":1,"type":"message","message":{"role":"tool","content":"x","metadata":{"tool_call_id":"c","is_error":true}}}"#;
    let decoded = dialect(&[INFO]).decode(line.as_bytes(), &at()).unwrap();
    let message = decoded.entry.message().unwrap();
    assert_eq!(
        (message.tool_call_id.as_ref().unwrap(), message.is_error),
        (&"c".into(), Some(true))
    );
    assert_eq!(message.metadata.as_ref().unwrap().get(), r#"{"tool_call_id":"c","is_error":true}"#);
}

#[test]
fn a_header_file_is_never_written() {
    let header = r#"{"id": "h", "created_at": "2026-11-30T06:40:36.857580", "current_id": "a", "compaction_floor": "b"}"#;
    let found = ask(&MyPiAgentFormat, &[header]).unwrap();
    assert_eq!(found.header.leaf, Some("a".into()));
    assert_eq!(found.header.floor, forkwood_storage::FloorRule::Strict(Some("b".into())));
    assert!(found.header.read_only.unwrap().contains("fork"));
    assert!(found.dialect.encode(&entry(Message::user("x"))).is_err());
    let compaction = r#"{"id":"c","parent_id":"a","timestamp":"2026-11-30T06:40:36","type":"compaction","role":"system","content":"S","metadata":{"covered_count":2},"x":1}"#;
    let decoded = found.dialect.decode(compaction.as_bytes(), &at()).unwrap();
    let Body::Compaction(read) = decoded.entry.body else { panic!() };
    assert_eq!((read.summary, read.details.unwrap().get()), ("S".into(), r#"{"covered_count":2}"#));
    assert_eq!((decoded.entry.extra.len(), decoded.notes.len()), (1, 1));
    assert_eq!(head(&*found.dialect, compaction).moves, Moves::Nothing);
    assert!(head(&*found.dialect, header).header);
}
