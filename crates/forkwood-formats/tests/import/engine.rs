//! Files that the JSONL engine reads: Pi's and my-pi-agent's.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use forkwood::{Body, EntryId, Message, Stored};
use forkwood_formats::import::{Origin, Outcome};
use pollster::block_on as run;

use crate::world::{World, context, context_of, entries};

fn fixtures(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(folder);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths
}

/// Parent links as they are when what stands beside the path is left out.
fn tree(entries: &[Stored]) -> Vec<(EntryId, Option<EntryId>, Option<i64>)> {
    let mut anchors: HashMap<EntryId, Option<EntryId>> = HashMap::new();
    let mut tree = Vec::new();
    for stored in entries {
        let entry = &stored.entry;
        let parent = entry.parent_id.as_ref();
        let parent = parent.and_then(|id| anchors.get(id).cloned().unwrap_or(Some(id.clone())));
        if entry.body.is_sidecar() {
            anchors.insert(entry.id.clone(), parent);
        } else {
            tree.push((entry.id.clone(), parent, entry.timestamp.map(|at| at.as_micros())));
        }
    }
    tree
}

#[test]
fn every_fixture_keeps_its_tree_and_its_context() {
    let folders = ["pi", "my-pi-agent/new", "my-pi-agent/old", "my-pi-agent/tau"];
    let mut taken = 0;
    for path in folders.iter().flat_map(|folder| fixtures(folder)) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let world = World::new();
        world.put(&name, std::fs::read(&path).unwrap());
        let Some(report) = world.import().pop() else { continue };
        if report.outcome != Outcome::New {
            assert!(report.error.is_some() || report.outcome == Outcome::Unknown, "{name}");
            continue;
        }
        taken += 1;
        let formats = forkwood_formats::formats();
        let source = run(forkwood::SessionStore::open_file(&path, &formats)).unwrap();
        let session = world.session();
        let (theirs, ours) = (entries(&source), entries(&session));
        assert_eq!(tree(&ours), tree(&theirs), "{name}");
        let known = |entries: &[Stored]| -> HashSet<EntryId> {
            let kept = entries.iter().filter(|stored| !stored.entry.body.is_sidecar());
            kept.map(|stored| stored.entry.id.clone()).collect()
        };
        assert_eq!(known(&ours), known(&theirs), "{name}");
        assert_eq!(session.facts().info.title, source.facts().info.title, "{name}");
        assert_eq!(run(session.labels()).unwrap(), run(source.labels()).unwrap(), "{name}");
        // What Pi's own fold does with kept system messages is Pi's; see docs/compat.md.
        if !theirs.iter().any(|stored| matches!(stored.entry.body, Body::BranchSummary { .. })) {
            assert_eq!(context(&session), context(&source), "{name}");
        }
        world.expect(Outcome::Unchanged);
        assert_eq!(entries(&world.session()).len(), ours.len(), "{name}");
    }
    assert!(taken > 40, "{taken}");
}

const HEADER: &str = r#"{"type":"session","version":3,"id":"s-1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#;

fn line(id: &str, parent: &str, text: &str) -> String {
    let parent = if parent.is_empty() { "null".into() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":"{text}","timestamp":1}}}}"#
    )
}

fn file(lines: &[String]) -> String {
    let mut text = format!("{HEADER}\n");
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    text
}

#[test]
fn a_grown_source_is_continued_and_an_unchanged_one_is_not_read() {
    let world = World::new();
    let mut lines = vec![line("00000001", "", "one"), line("00000002", "00000001", "two")];
    world.put("a.jsonl", file(&lines));
    let report = world.expect(Outcome::New);
    assert_eq!(report.session.unwrap().as_str(), "s-1");
    assert_eq!((report.read, report.added), (2, 2));
    assert_eq!(world.expect(Outcome::Unchanged).read, 0);
    lines.push(line("00000003", "00000002", "three"));
    world.put("a.jsonl", file(&lines));
    let report = world.expect(Outcome::Continued);
    assert_eq!((report.read, report.added), (3, 1));
    assert_eq!(context(&world.session()), ["user: one", "user: two", "user: three"]);
    // A branch in the source is one here.
    lines.push(line("00000004", "00000001", "other"));
    world.put("a.jsonl", file(&lines));
    world.expect(Outcome::Branched);
    assert_eq!(context(&world.session()), ["user: one", "user: other"]);
    let origin = Origin::of_metadata(world.session().facts().info.metadata.as_ref()).unwrap();
    assert_eq!((origin.format.as_str(), origin.entries), ("pi", 4));
    assert_eq!(origin.path, World::path("a.jsonl"));
}

#[test]
fn a_session_that_went_on_by_itself_keeps_its_lane() {
    let world = World::new();
    let mut lines = vec![line("00000001", "", "one")];
    world.put("a.jsonl", file(&lines));
    world.expect(Outcome::New);
    run(world.session().append(Message::user("ours"))).unwrap();
    lines.push(line("00000002", "00000001", "two"));
    world.put("a.jsonl", file(&lines));
    world.expect(Outcome::Branched);
    assert_eq!(context(&world.session()), ["user: one", "user: ours"]);
    assert_eq!(context_of(&mut world.session(), "import"), ["user: one", "user: two"]);
    lines.push(line("00000003", "00000002", "three"));
    world.put("a.jsonl", file(&lines));
    world.expect(Outcome::Continued);
    let on_lane = ["user: one", "user: two", "user: three"];
    assert_eq!(context_of(&mut world.session(), "import"), on_lane);
    assert_eq!(context(&world.session()), ["user: one", "user: ours"]);
    world.expect(Outcome::Unchanged);
}

#[test]
fn without_its_ledger_nothing_is_taken_twice() {
    let world = World::new();
    let lines = vec![line("00000001", "", "one"), line("00000002", "00000001", "two")];
    world.put("a.jsonl", file(&lines));
    world.expect(Outcome::New);
    let before = entries(&world.session()).len();
    world.disk.put(Path::new("/store/imports.jsonl"), b"{torn");
    assert_eq!(world.expect(Outcome::Unchanged).read, 2);
    assert_eq!(entries(&world.session()).len(), before);
}

#[test]
fn a_copy_is_the_same_session_and_another_of_its_id_is_not() {
    let world = World::new();
    let lines = vec![line("00000001", "", "one")];
    world.put("a.jsonl", file(&lines));
    world.put("b.jsonl", file(&lines));
    world.put("c.jsonl", file(&[line("0000000c", "", "another")]));
    let outcomes: Vec<Outcome> = world.import().iter().map(|report| report.outcome).collect();
    assert_eq!(outcomes, [Outcome::New, Outcome::Unchanged, Outcome::New]);
    assert_eq!(world.sessions().len(), 2);
    let outcomes: Vec<Outcome> = world.import().iter().map(|report| report.outcome).collect();
    assert_eq!(outcomes, [Outcome::Unchanged; 3]);
    assert_eq!(world.sessions().len(), 2);
}

#[test]
fn what_lies_in_the_trash_stays_there() {
    let world = World::new();
    world.put("a.jsonl", file(&[line("00000001", "", "one")]));
    world.expect(Outcome::New);
    run(world.store().delete("s-1")).unwrap();
    world.expect(Outcome::InTrash);
    assert!(world.sessions().is_empty());
    run(world.store().purge("s-1")).unwrap();
    world.expect(Outcome::New);
}

#[test]
fn unknown_fields_and_types_come_along_and_are_told() {
    let world = World::new();
    let odd = r#"{"type":"hologram","id":"00000002","parentId":"00000001","timestamp":"2026-01-01T00:00:01.000Z","beam":7}"#;
    let more = line("00000003", "00000002", "x").replace("\"type\"", "\"tint\":\"red\",\"type\"");
    world.put("a.jsonl", file(&[line("00000001", "", "one"), odd.into(), more]));
    let report = world.expect(Outcome::New);
    let kinds: Vec<&str> = report.findings.iter().map(|finding| finding.kind.as_str()).collect();
    assert!(kinds.contains(&"unknown-type") && kinds.contains(&"unknown-field"), "{kinds:?}");
    let kept = entries(&world.session());
    let extra = |id: &str| {
        let stored = kept.iter().find(|stored| stored.entry.id.as_str() == id).unwrap();
        let extra = stored.entry.extra.iter().map(|(key, value)| format!("{key}={}", value.get()));
        extra.collect::<Vec<_>>()
    };
    assert_eq!(extra("00000002"), ["beam=7"]);
    assert_eq!(extra("00000003"), ["tint=\"red\""]);
}

#[test]
fn a_sub_agent_finds_its_parent() {
    let world = World::new();
    let info = |id: &str, parent: &str| {
        let metadata = if parent.is_empty() {
            "{}".to_owned()
        } else {
            format!(r#"{{"agent_type":"explore","parent_session_id":"{parent}","spawn_depth":1}}"#)
        };
        format!(
            r#"{{"id":"{id}","timestamp":1.5,"type":"session_info","cwd":"/w","metadata":{metadata}}}"#
        )
    };
    let message = r#"{"id":"m1","parent_id":null,"timestamp":2.5,"type":"message","message":{"role":"user","content":"hi"}}"#;
    // The child is found first.
    world.put(
        "agent-7.jsonl",
        format!("{}\n{message}\n", info("child", "20260101-000000-aaaaaaaa")),
    );
    world.put("parent.jsonl", format!("{}\n{message}\n", info("20260101-000000-aaaaaaaa", "")));
    let reports = world.import();
    assert!(reports.iter().all(|report| report.outcome == Outcome::New), "{reports:?}");
    let parent = world.session();
    assert_eq!(parent.id().as_str(), "20260101-000000-aaaaaaaa");
    let below = run(world.store().subagents(parent.id())).unwrap();
    assert_eq!(below.rows.len(), 1);
    assert_eq!(below.rows[0].agent_type.as_ref().unwrap(), "explore");
    let outcomes: Vec<Outcome> = world.import().iter().map(|report| report.outcome).collect();
    assert_eq!(outcomes, [Outcome::Unchanged; 2]);
}
