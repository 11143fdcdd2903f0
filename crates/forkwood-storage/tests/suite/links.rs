//! Damage to links between entries, and other spellings of them.

use forkwood_core::{DiagnosticKind, EntryId};
use forkwood_storage::disk::SimDisk;
use forkwood_storage::jsonl::JsonlStorage;
use forkwood_storage::{PathStop, Rewrite, SessionStorage};

use crate::common::*;

const NAME: &str = "20260101-000000-00000001";

fn entry(id: &str, parent: &str, rest: &str) -> String {
    format!(r#"{{"id":"{id}","parentId":"{parent}","timestamp":2.0,{rest}}}"#)
}

fn says(id: &str, parent: &str) -> String {
    entry(id, parent, &format!(r#""type":"message","message":{{"role":"user","content":"{id}"}}"#))
}

fn in_lane(id: &str, parent: &str, lane: &str) -> String {
    let rest = r#""message":{"role":"user","content":"x"}"#;
    entry(id, parent, &format!(r#""type":"message","lane":"{lane}",{rest}"#))
}

fn disk(lines: &[String]) -> SimDisk {
    let header = format!(
        r#"{{"id":"root","parentId":null,"timestamp":1.0,"type":"session_info","sessionId":"{NAME}","version":1}}"#
    );
    let disk = SimDisk::new();
    let bytes = format!("{header}\n{}\n", lines.join("\n"));
    disk.put(&sim_path(&sid(NAME)), bytes.as_bytes());
    disk
}

/// The path to an entry, by a storage that read nothing else before, and after a full check.
fn path_to(storage: &dyn SessionStorage, to: &str) -> String {
    let path = path(storage, &sid(NAME), &EntryId::from(to));
    path.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn both(lines: &[String], to: &str) -> String {
    let disk = disk(lines);
    let quick = path_to(&on(&disk), to);
    let full = on(&disk);
    run(full.check(&sid(NAME))).unwrap();
    assert_eq!(path_to(&full, to), quick);
    quick
}

fn checked(lines: &[String]) -> Vec<DiagnosticKind> {
    kinds(&run(on(&disk(lines)).check(&sid(NAME))).unwrap())
}

#[test]
fn a_repeated_id_is_noted_or_keeps_both() {
    let lines = [says("a", "root"), says("b", "a"), says("a", "root")];
    assert_eq!(checked(&lines), [DiagnosticKind::DuplicateIdentical]);
    assert_eq!(both(&lines, "b"), "root a b");
    let changed = says("a", "root").replace("\"content\":\"a\"", "\"content\":\"other\"");
    let lines = [says("a", "root"), says("b", "a"), changed, says("c", "a")];
    assert_eq!(checked(&lines), [DiagnosticKind::DuplicateConflict]);
    assert_eq!(both(&lines, "b"), "root a@2 b");
    assert_eq!(both(&lines, "c"), "root a c");
    let storage = on(&disk(&lines));
    let found = run(storage.get(&sid(NAME), &["a".into(), "a@2".into(), "a@4".into()])).unwrap();
    let text = |at: usize| found[at].as_ref().unwrap().entry.message().unwrap().content.text();
    assert_eq!((text(0), text(1)), ("other".into(), "a".into()));
    assert!(found[2].is_none());
    // After a vacuum both are entries like any other.
    run(storage.rewrite(&sid(NAME), Rewrite::Vacuum { prune_branches: false })).unwrap();
    assert_eq!(run(storage.check(&sid(NAME))).unwrap(), []);
    assert_eq!(path_to(&storage, "b"), "root a@2 b");
    assert_eq!(path_to(&storage, "c"), "root a c");
}

#[test]
fn what_hangs_from_an_earlier_entry_of_a_repeated_id_stays_there() {
    let changed = says("a", "root").replace("\"content\":\"a\"", "\"content\":\"other\"");
    let lines = [says("a", "root"), changed, says("b", "a"), says("c", "a@2"), says("d", "a@3")];
    assert_eq!(both(&lines, "c"), "root a@2 c");
    assert_eq!(checked(&lines), [DiagnosticKind::DuplicateConflict, DiagnosticKind::MissingParent]);
    // One line number further there is none.
    assert_eq!(both(&lines, "d"), "root a@2 c d");
}

#[test]
fn rings_are_cut_at_their_first_entry() {
    let ring = [says("x", "root"), says("a", "c"), says("b", "a"), says("c", "b"), says("d", "c")];
    assert_eq!(both(&ring, "d"), "root x a b c d");
    assert!(checked(&ring).contains(&DiagnosticKind::Cycle));
    let own = [says("x", "root"), says("a", "a"), says("b", "a")];
    assert_eq!(both(&own, "b"), "root x a b");
    let storage = on(&disk(&ring));
    append(&storage, &sid(NAME), vec![user(1, "on")]);
    assert_eq!(path_to(&storage, id(1).as_str()), format!("root x a b c d {}", id(1)));
}

#[test]
fn a_missing_parent_is_bridged_within_its_lane() {
    let lines = [
        says("a", "root"),
        in_lane("s", "a", "side"),
        says("b", "a"),
        in_lane("t", "gone", "side"),
        says("c", "gone"),
        in_lane("u", "lost", "other"),
    ];
    assert_eq!(both(&lines, "t"), "root a s t");
    assert_eq!(both(&lines, "c"), "root a b c");
    assert_eq!(both(&lines, "u"), "u");
    let found = checked(&lines);
    assert_eq!(found.iter().filter(|kind| **kind == DiagnosticKind::MissingParent).count(), 3);
    let options = options(&clock()).with_disk(std::sync::Arc::new(disk(&lines)));
    let owner = JsonlStorage::store(ROOT.as_ref(), options.with_bridges(false)).unwrap();
    assert_eq!(path_to(&owner, "c"), "c");
    assert_eq!(path_to(&owner, "b"), "root a b");
    // A vacuum writes down what was settled, and the second one has nothing to do.
    let storage = on(&disk(&lines));
    let vacuum = Rewrite::Vacuum { prune_branches: false };
    assert!(!run(storage.rewrite(&sid(NAME), vacuum)).unwrap().actions.is_empty());
    assert!(run(storage.rewrite(&sid(NAME), vacuum)).unwrap().actions.is_empty());
    assert_eq!(path_to(&storage, "c"), "root a b c");
}

#[test]
fn sidecars_are_no_parents_and_parents_may_come_later() {
    let label = entry("l", "a", r#""type":"label","label":"x","targetId":"a""#);
    let later = entry("m", "l", r#""type":"label","label":"y","targetId":"a""#);
    let lines = [says("a", "root"), label, later, says("b", "m"), says("d", "e"), says("e", "b")];
    assert_eq!(both(&lines, "b"), "root a b");
    assert_eq!(both(&lines, "d"), "root a b e d");
    assert_eq!(both(&lines, "m"), "root a");
    assert_eq!(checked(&lines), []);
    let leaf = entry("p", "b", r#""type":"leaf","leafId":"a""#);
    let lines = [says("a", "root"), says("b", "a"), leaf, says("c", "p")];
    assert_eq!(both(&lines, "c"), "root a b c");
}

#[test]
fn pointers_to_nothing_move_nothing() {
    let lost = entry("p", "b", r#""type":"leaf","leafId":"nowhere""#);
    let early = entry("q", "b", r#""type":"leaf","leafId":"later""#);
    let lines = [says("a", "root"), says("b", "a"), lost, early];
    let storage = on(&disk(&lines));
    assert_eq!(leaf_of(&storage, &sid(NAME), "main"), Some("b".into()));
    assert_eq!(checked(&lines), [DiagnosticKind::UnknownTarget; 2]);
    let lines = [says("a", "root"), in_lane("s", "root", "side"), in_lane("t", "a", "UPPER CASE")];
    let storage = on(&disk(&lines));
    assert_eq!(leaf_of(&storage, &sid(NAME), "side"), Some("s".into()));
    assert_eq!(leaf_of(&storage, &sid(NAME), "main"), Some("t".into()));
}

#[test]
fn the_last_of_a_repeated_key_wins_and_keys_may_come_in_any_order() {
    let message = r#""message":{"role":"user","content":"x"}"#;
    let base = format!(r#""type":"message","timestamp":2.0,{message}"#);
    for line in [
        format!(r#"{{{message},"timestamp":2.0,"parentId":"a","type":"message","id":"b"}}"#),
        format!(r#"{{"id":"b",{base},"parentId":"a"}}"#),
        format!(r#"{{"id":"x","parentId":"root",{base},"id":"b","parentId":"a"}}"#),
        format!(r#"{{"id":"x","id":"b","parentId":"root","parentId":"a",{base}}}"#),
        format!(r#"{{"id":"b","parent_id":"root",{base},"parentId":"a"}}"#),
        format!(r#"{{"id":"b","parent_id":"a",{base}}}"#),
        format!(r#"{{"id":"b","parentId":"root",{base},"parentId":"a"}}"#),
        format!(r#" {{ "id" : "\u0062" , "parentId" : "\u0061" , {base} }} "#),
    ] {
        let lines = [says("a", "root"), line.clone()];
        let storage = on(&disk(&lines));
        let leaf = leaf_of(&storage, &sid(NAME), "main").unwrap();
        assert_eq!(leaf.as_str(), "b", "{line}");
        assert_eq!(both(&lines, "b"), "root a b", "{line}");
    }
    let last = format!(r#"{{"id":"b","parentId":"a",{base},"lane":"side"}}"#);
    let storage = on(&disk(&[says("a", "root"), last]));
    assert_eq!(leaf_of(&storage, &sid(NAME), "side"), Some("b".into()));
    assert_eq!(leaf_of(&storage, &sid(NAME), "main"), Some("a".into()));
    let twice = format!(r#"{{"id":"b","parentId":"a","lane":"one",{base},"lane":"two"}}"#);
    let storage = on(&disk(&[says("a", "root"), twice]));
    assert_eq!(leaf_of(&storage, &sid(NAME), "two"), Some("b".into()));
}

#[test]
fn both_spellings_lone_surrogates_and_unknown_types_stay_as_they_are() {
    let lines = [
        entry("a", "root", r#""type":"modelChange","model":"m\ud83d","provider":"p""#),
        entry(
            "b",
            "a",
            r#""type":"thinking_level_change","thinking_level":"x","thinkingLevel":"low""#,
        ),
        entry(
            "c",
            "b",
            r#""type":"from_the_future","n":123456789012345678901234567890,"s":"\ude00""#,
        ),
        entry("d\\ud83d", "c", r#""type":"message","message":{"role":"user","content":"\ud83d"}"#),
        entry("e", "d\\ud83d", r#""type":"compaction","summary":"s","retainedTail":[7]"#),
    ];
    let storage = on(&disk(&lines));
    let leaf = leaf_of(&storage, &sid(NAME), "main").unwrap();
    assert_eq!(path(&storage, &sid(NAME), &leaf).len(), 6);
    for stop in [PathStop::Root, PathStop::Context] {
        run(storage.path(&sid(NAME), &leaf, stop)).unwrap();
    }
    let found = run(storage.check(&sid(NAME))).unwrap();
    assert!(found.iter().all(|finding| !finding.is_damage()), "{found:?}");
    assert!(kinds(&found).contains(&DiagnosticKind::BothSpellings));
    let stored = run(storage.read(&sid(NAME), 0, 10)).unwrap().entries;
    for (stored, line) in stored[1..].iter().zip(&lines) {
        assert_eq!(stored.raw.as_deref(), Some(line.as_bytes()));
    }
}

#[test]
fn a_newer_version_is_read_and_not_written() {
    let disk = disk(&[says("a", "root")]);
    let path = sim_path(&sid(NAME));
    let text = String::from_utf8(disk.bytes(&path).unwrap()).unwrap();
    let newer = text.replace("\"version\":1", "\"version\":2");
    disk.put(&path, newer.as_bytes());
    let storage = on(&disk);
    assert_eq!(path_to(&storage, "a"), "root a");
    let s = sid(NAME);
    assert_eq!(kind(run(storage.append(&s, write(vec![user(1, "x")])))), "newer_version");
    for rewrite in [Rewrite::Reset, Rewrite::Repair, Rewrite::Vacuum { prune_branches: false }] {
        assert_eq!(kind(run(storage.rewrite(&s, rewrite))), "newer_version");
    }
    assert!(run(storage.facts(&s)).unwrap().read_only.is_some());
    assert_eq!(disk.bytes(&path).unwrap(), newer.as_bytes());
}

#[test]
fn depth_and_length_have_no_limit() {
    let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    let long = "x".repeat(8 * 1024 * 1024);
    let lines = [
        entry("a", "root", &format!(r#""type":"custom","namespace":"n","data":{}"#, deep(31_000))),
        entry(
            "b",
            "a",
            &format!(r#""type":"message","message":{{"role":"user","content":{}}}"#, deep(31_000)),
        ),
        entry(
            "c",
            "b",
            &format!(r#""type":"message","message":{{"role":"user","content":"{long}"}}"#),
        ),
        says("d", "c"),
    ];
    assert_eq!(both(&lines, "d"), "root a b c d");
    let disk = disk(&lines);
    let storage = on(&disk);
    let row = run(storage.list(Default::default())).unwrap().rows.remove(0);
    assert_eq!((row.messages, row.damage), (3, 0));
    append(&storage, &sid(NAME), vec![user(1, "on")]);
    assert_eq!(ids(&on(&disk), &sid(NAME)).len(), 6);
    assert_eq!(
        run(on(&disk).check(&sid(NAME))).unwrap().iter().filter(|f| f.is_damage()).count(),
        0
    );
}

#[test]
fn many_lanes_and_long_chains_cost_no_more_than_their_length() {
    let count = 60_000;
    let lines: Vec<String> =
        (0..count).map(|n| in_lane(&format!("e{n}"), "root", &format!("l{n}"))).collect();
    let disk = disk(&lines);
    let storage = on(&disk);
    assert_eq!(lanes(&storage, &sid(NAME)).len(), count + 1);
    append(&storage, &sid(NAME), vec![user(1, "on")]);
}
