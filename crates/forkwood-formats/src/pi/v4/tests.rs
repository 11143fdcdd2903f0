use forkwood_core::fold::render;
use forkwood_core::{Body, Entry, EntryKind, Lane};
use forkwood_storage::Stored;
use forkwood_storage::jsonl::{LineFault, Moves};

use crate::pi::HARNESS_RULES;
use crate::pi::shape::pi_context;
use crate::pi::tests::{at, found};

#[test]
fn reads_a_transaction_log() {
    let header = r#"{"v":4,"kind":"header","id":"s","storageVersion":1,"createdAt":1796022740464,"cwd":"/w"}"#;
    let found = found(&[header]);
    assert!(found.header.read_only.is_some());
    assert_eq!(found.header.info.created_at.unwrap().as_millis(), 1_796_022_740_464);
    let log = found.dialect;
    let entry = r#"{"kind":"entry","id":"e1","parentId":null,"type":"message","message":{"role":"assistant","content":[],"stopReason":"error"},"seq":2,"timestamp":5}"#;
    let tip = r#"{"kind":"value","op":"set","seq":3,"namespace":"pi.branch.tip","key":"Side Branch","value":"e1"}"#;
    let usage = r#"{"kind":"usage","id":"u","usage":{},"adjustment":true,"seq":4}"#;
    let label = r#"{"kind":"value","op":"delete","seq":6,"namespace":"pi.entry.label","key":"e1"}"#;
    let line = format!("[ {entry} ,{tip},{usage},{label}]");
    let mut heads = Vec::new();
    log.heads(line.as_bytes(), &at(2), false, &mut heads).unwrap();
    let parts: Vec<&str> = heads.iter().map(|head| &line[head.span.clone()]).collect();
    assert_eq!(parts, [entry, tip, usage, label]);
    assert_eq!((&*heads[0].id, &heads[0].moves, heads[0].sidecar), ("e1", &Moves::Nothing, false));
    let lane = heads[1].lane.as_deref().unwrap();
    assert!(lane.starts_with("side-branch-") && Lane::new(lane).is_ok(), "{lane}");
    assert_eq!(heads[1].moves, Moves::To(Some("e1".into())));
    assert_eq!((&*heads[1].id, heads[1].kind), ("value-3", EntryKind::Leaf));
    assert_eq!((heads[2].kind, heads[2].sidecar), (EntryKind::Custom, true));
    let decoded: Vec<Entry> = parts
        .iter()
        .map(|part| log.decode(part.as_bytes(), &at(2)).unwrap())
        .map(|decoded| {
            assert_eq!(decoded.notes, []);
            decoded.entry
        })
        .collect();
    // An answer that failed is in no context of this dialect.
    let path = [Stored {
        entry: decoded[0].clone(),
        seq: 0,
        line: None,
        offset: None,
        raw: Some(entry.as_bytes().into()),
    }];
    assert_eq!(pi_context(&path, &HARNESS_RULES), []);
    let items = forkwood_core::fold::select(&decoded[..1], &HARNESS_RULES);
    assert_eq!(render(&items[0]), None);
    assert!(
        matches!(&decoded[3].body, Body::Label { label: None, target_id: Some(t) } if t.as_str() == "e1")
    );
    let mut none = Vec::new();
    let bad = log.heads(b"[{\"kind\":\"entry\"}]", &at(2), false, &mut none);
    assert!(matches!(bad, Err(LineFault::WrongShape(_))) && none.is_empty());
}
