//! The behaviours of my-pi-agent's modular tree tests, in the sense that Forkwood gives them.

#![allow(clippy::unwrap_used)]

use forkwood::core::entry::codec::{Reader, decode, decode_strict, encode};
use forkwood::core::tree::{TreeError, entries_by_id, lowest_common_ancestor, path_to_entry};
use forkwood::{Body, Entry, EntryId, EntryKind};

fn read(json: &str) -> Entry {
    decode(json, &mut Reader::lossless()).unwrap()
}

fn message(id: &str, parent: Option<&str>) -> Entry {
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
    read(&format!(
        r#"{{"id":"{id}","parentId":{parent},"type":"message","message":{{"role":"user","content":"{id}"}}}}"#
    ))
}

fn tree(words: &[(&str, Option<&str>)]) -> Vec<Entry> {
    words.iter().map(|(id, parent)| message(id, *parent)).collect()
}

fn path(entries: &[Entry], leaf: &str) -> Result<Vec<String>, TreeError> {
    let by_id = entries_by_id(entries)?;
    let path = path_to_entry(&by_id, &leaf.into())?;
    Ok(path.iter().map(|entry| entry.id.to_string()).collect())
}

// Mirrors: base fields have defaults, unknown fields are refused, names are camelCase.
#[test]
fn base_fields() {
    let entry = read(r#"{"id":"a","type":"leaf","leafId":"b"}"#);
    assert_eq!((entry.parent_id.clone(), entry.timestamp, entry.more), (None, None, 0));
    assert!(entry.lane.is_main());
    let refused = decode_strict(r#"{"type":"leaf","leafId":"b","colour":1}"#).unwrap_err();
    assert!(refused.to_string().contains("colour"));
    assert!(encode(&entry).contains("\"leafId\":\"b\""));
}

// Mirrors: the nine types can be made.
#[test]
fn the_nine_types() {
    for (fields, kind) in [
        (r#""type":"session_info","title":"t""#, EntryKind::SessionInfo),
        (r#""type":"message","message":{"role":"user","content":"x"}"#, EntryKind::Message),
        (r#""type":"model_change","model":"m""#, EntryKind::ModelChange),
        (r#""type":"thinking_level_change","thinkingLevel":"low""#, EntryKind::ThinkingLevelChange),
        (r#""type":"compaction","summary":"s""#, EntryKind::Compaction),
        (r#""type":"branch_summary","summary":"s""#, EntryKind::BranchSummary),
        (r#""type":"label","label":"l""#, EntryKind::Label),
        (r#""type":"leaf","leafId":"a""#, EntryKind::Leaf),
        (r#""type":"custom","namespace":"n""#, EntryKind::Custom),
    ] {
        let entry = read(&format!(r#"{{"id":"a",{fields}}}"#));
        assert_eq!(entry.kind(), kind);
        assert_eq!(read(&encode(&entry)), entry);
    }
}

// Mirrors: a record is read as the type that its tag names.
#[test]
fn the_tag_decides_the_type() {
    let same = r#""id":"a","summary":"s","label":"l","namespace":"n""#;
    let kind = |tag: &str| read(&format!(r#"{{"type":"{tag}",{same}}}"#)).kind();
    assert_eq!(kind("compaction"), EntryKind::Compaction);
    assert_eq!(kind("branchSummary"), EntryKind::BranchSummary);
    assert_eq!(kind("label"), EntryKind::Label);
    assert_eq!(kind("custom"), EntryKind::Custom);
}

// Mirrors: a bad tag is refused. Where a file is read it is kept instead.
#[test]
fn a_bad_tag() {
    let line = r#"{"id":"a","parentId":null,"type":"wish","x":1}"#;
    assert!(decode_strict(line).unwrap_err().to_string().contains("wish"));
    assert_eq!(encode(&read(line)), line);
}

// Mirrors: extra fields are refused, inside a message too.
#[test]
fn extra_fields_are_refused() {
    for (line, named) in [
        (r#"{"type":"label","label":"l","x1":1}"#, "x1"),
        (r#"{"type":"message","message":{"role":"user","content":"x","x2":1}}"#, "x2"),
        (r#"{"type":"compaction","summary":"s","state":{"x3":1}}"#, "x3"),
    ] {
        assert!(decode_strict(line).unwrap_err().to_string().contains(named), "{line}");
    }
}

// Mirrors: entries are indexed by id.
#[test]
fn entries_are_indexed() {
    let entries = tree(&[("a", None), ("b", Some("a"))]);
    let by_id = entries_by_id(&entries).unwrap();
    assert_eq!(by_id.len(), 2);
    assert_eq!(by_id[&EntryId::new("b")], &entries[1]);
}

// Mirrors: a repeated id is refused.
#[test]
fn a_repeated_id_is_refused() {
    let error = entries_by_id(&tree(&[("a", None), ("a", None)])).unwrap_err();
    assert_eq!(error.to_string(), "Duplicate entry id: a");
}

// Mirrors: a linear path.
#[test]
fn a_linear_path() {
    let entries = tree(&[("a", None), ("b", Some("a")), ("c", Some("b"))]);
    assert_eq!(path(&entries, "c").unwrap(), ["a", "b", "c"]);
}

// Mirrors: a path through a branching tree.
#[test]
fn a_path_through_branches() {
    let entries = tree(&[("a", None), ("b", Some("a")), ("c", Some("a")), ("d", Some("c"))]);
    assert_eq!(path(&entries, "d").unwrap(), ["a", "c", "d"]);
    assert_eq!(path(&entries, "b").unwrap(), ["a", "b"]);
}

// Mirrors: an unknown leaf.
#[test]
fn an_unknown_leaf() {
    let error = path(&tree(&[("a", None)]), "x").unwrap_err();
    assert_eq!(error.to_string(), "Entry x not found");
}

// Mirrors: a missing parent.
#[test]
fn a_missing_parent() {
    let error = path(&tree(&[("b", Some("gone"))]), "b").unwrap_err();
    assert_eq!(error.to_string(), "Missing parent entry: gone");
}

// Mirrors: an entry that is its own parent.
#[test]
fn a_ring_of_one() {
    let error = path(&tree(&[("a", Some("a"))]), "a").unwrap_err();
    assert_eq!(error.to_string(), "Cycle detected at entry a");
}

// Mirrors: a ring of several.
#[test]
fn a_ring_of_several() {
    let entries = tree(&[("a", Some("c")), ("b", Some("a")), ("c", Some("b")), ("d", Some("c"))]);
    let error = path(&entries, "d").unwrap_err();
    assert_eq!(error.to_string(), "Cycle detected at entry c");
}

// Mirrors: the lowest common ancestor of siblings, of an entry and its ancestor, and the root.
#[test]
fn lowest_common_ancestors() {
    let entries = tree(&[("r", None), ("a", Some("r")), ("b", Some("r")), ("c", Some("b"))]);
    let by_id = entries_by_id(&entries).unwrap();
    let common = |a: &str, b: &str| {
        lowest_common_ancestor(&by_id, &a.into(), &b.into()).unwrap().unwrap().id.to_string()
    };
    assert_eq!(common("a", "c"), "r");
    assert_eq!(common("b", "c"), "b");
    assert_eq!(common("r", "c"), "r");
    assert_eq!(common("c", "c"), "c");
}

// An entry gives its message only where it is one.
#[test]
fn only_messages_have_a_message() {
    assert!(message("a", None).message().is_some());
    let label = read(r#"{"id":"a","type":"label","label":"l"}"#);
    assert!(label.message().is_none());
    assert!(matches!(label.body, Body::Label { .. }));
}
