//! A fork of a file of another program stands where the file stands at that entry: the same
//! messages, model, thinking level, tools and label.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use forkwood::blocking::{Session, SessionStore};
use forkwood::storage::MemoryStorage;
use forkwood::{EntryId, EntryKind, ForkOptions, Message, Settings, Text};

/// Every session file below the fixtures of a format.
fn files(format: &str) -> Vec<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(format);
    let mut folders = vec![fixtures];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for item in std::fs::read_dir(folder).unwrap() {
            let path = item.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ext| ext == "jsonl") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// What must be the same on both sides.
#[derive(Debug, PartialEq)]
struct Stands {
    messages: Vec<Message>,
    settings: Settings,
    label: Option<Text>,
}

fn stands(session: &Session, at: &EntryId) -> Stands {
    let state = session.state_at(at).unwrap();
    assert_eq!(session.settings(at).unwrap(), *state.settings(), "{at}");
    assert_eq!(session.label_at(at).unwrap().as_ref(), state.label(), "{at}");
    Stands {
        // With large images in them, and not in the store.
        messages: session.context_at(at).unwrap().messages().to_vec(),
        settings: state.settings().clone(),
        label: state.label().cloned(),
    }
}

/// Forks at every entry; gives how many forks there were.
fn check(path: &Path) -> usize {
    let Ok(source) = SessionStore::open_file(path, &forkwood_formats::formats()) else { return 0 };
    let store = SessionStore::new(Arc::new(MemoryStorage::new().unwrap()));
    let mut count = 0;
    for head in source.heads().unwrap() {
        if head.kind == EntryKind::SessionInfo && head.parent_id.is_none() {
            continue;
        }
        let fork = store.fork(&source, Some(&head.id), ForkOptions::default()).unwrap();
        let leaf = fork.current_leaf().unwrap().unwrap();
        let (expected, found) = (stands(&source, &head.id), stands(&fork, &leaf));
        assert_eq!(found, expected, "{} at {}", path.display(), head.id);
        assert!(fork.check().unwrap().iter().all(|finding| !finding.is_damage()));
        count += 1;
    }
    count
}

#[test]
fn a_fork_of_pi_stands_where_its_source_stands() {
    let forks: usize = files("pi").iter().map(|path| check(path)).sum();
    assert!(forks > 100, "{forks}");
}

#[test]
fn a_fork_of_my_pi_agent_stands_where_its_source_stands() {
    let forks: usize = files("my-pi-agent").iter().map(|path| check(path)).sum();
    assert!(forks > 100, "{forks}");
}

/// Writes a file of a few lines, and forks it everywhere.
fn check_lines(lines: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("2026-01-01T00-00-00-000Z_s1.jsonl");
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    assert!(check(&path) >= lines.len() - 1);
}

#[test]
fn labels_and_silent_summaries_of_my_pi_agent() {
    let header = r#"{"id":"i0","timestamp":1.0,"type":"session_info","cwd":"/p","createdAt":1.0,"metadata":{}}"#;
    check_lines(&[
        header,
        r#"{"id":"m1","parentId":"i0","timestamp":2.0,"type":"message","message":{"role":"user","content":"q1"}}"#,
        r#"{"id":"mc","parentId":"m1","timestamp":2.5,"type":"model_change","model":"set","provider":"p"}"#,
        r#"{"id":"m2","parentId":"mc","timestamp":3.0,"type":"message","message":{"role":"assistant","content":"a1","model":"named"}}"#,
        r#"{"id":"l1","parentId":"m2","timestamp":4.0,"type":"label","label":"late","targetId":"m2"}"#,
        // The last label on the path counts, and it points further back.
        r#"{"id":"l2","parentId":"l1","timestamp":5.0,"type":"label","label":"early","targetId":"m1"}"#,
        r#"{"id":"b1","parentId":"l2","timestamp":6.0,"type":"branch_summary","summary":"of a branch"}"#,
        r#"{"id":"m3","parentId":"b1","timestamp":7.0,"type":"message","message":{"role":"user","content":"q2"}}"#,
        r#"{"id":"c1","parentId":"m3","timestamp":8.0,"type":"compaction","summary":"s","replacesEntryIds":["b1","m3"]}"#,
        r#"{"id":"c2","parentId":"c1","timestamp":8.5,"type":"compaction","summary":"t","replacesEntryIds":["b1"]}"#,
        // It is cleared: no label is in force, whatever was marked before.
        r#"{"id":"l3","parentId":"c2","timestamp":9.0,"type":"label","label":"","targetId":"m1"}"#,
        r#"{"id":"m4","parentId":"l3","timestamp":10.0,"type":"message","message":{"role":"assistant","content":"a2"}}"#,
        r#"{"id":"l4","parentId":"m1","timestamp":11.0,"type":"label","label":"elsewhere","targetId":"m4"}"#,
    ]);
}

#[test]
fn labels_levels_and_system_messages_of_pi() {
    check_lines(&[
        r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#,
        r#"{"type":"message","id":"aaaaaaa1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"system","content":"be brief","timestamp":1}}"#,
        r#"{"type":"message","id":"aaaaaaa2","parentId":"aaaaaaa1","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":"q","timestamp":1}}"#,
        r#"{"type":"branch_summary","id":"aaaaaaa3","parentId":"aaaaaaa2","timestamp":"2026-01-01T00:00:03.000Z","fromId":"aaaaaaa2","summary":"b"}"#,
        r#"{"type":"compaction","id":"aaaaaaa4","parentId":"aaaaaaa3","timestamp":"2026-01-01T00:00:04.000Z","summary":"s","firstKeptEntryId":"aaaaaaa1","tokensBefore":9}"#,
        r#"{"type":"message","id":"aaaaaaa5","parentId":"aaaaaaa4","timestamp":"2026-01-01T00:00:05.000Z","message":{"role":"user","content":"r","timestamp":1}}"#,
        // On another branch, about an entry of this one.
        r#"{"type":"label","id":"aaaaaaa6","parentId":"aaaaaaa2","timestamp":"2026-01-01T00:00:06.000Z","targetId":"aaaaaaa5","label":"mark"}"#,
        r#"{"type":"thinking_level_change","id":"aaaaaaa7","parentId":"aaaaaaa5","timestamp":"2026-01-01T00:00:07.000Z","thinkingLevel":"high"}"#,
        // A compaction that keeps from a label, and one that keeps from nowhere.
        r#"{"type":"label","id":"aaaaaaa8","parentId":"aaaaaaa7","timestamp":"2026-01-01T00:00:08.000Z","targetId":"aaaaaaa2","label":"old"}"#,
        r#"{"type":"compaction","id":"aaaaaaa9","parentId":"aaaaaaa8","timestamp":"2026-01-01T00:00:09.000Z","summary":"s","firstKeptEntryId":"aaaaaaa8","tokensBefore":9}"#,
        r#"{"type":"compaction","id":"aaaaaa10","parentId":"aaaaaaa9","timestamp":"2026-01-01T00:00:09.000Z","summary":"s","firstKeptEntryId":"ghost","tokensBefore":9}"#,
    ]);
}
