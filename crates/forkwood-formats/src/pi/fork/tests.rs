use forkwood_core::entry::Compaction;
use forkwood_core::fold::render;
use forkwood_core::{Body, Entry, EntryId, FoldRules, Message, Timestamp};
use forkwood_storage::Stored;

use super::{NewFork, new_fork_file};
use crate::pi::RULES;
use crate::pi::tests::{HEADER, decode, dialect, line, message, native, stored};

#[test]
fn a_fork_keeps_bytes_and_moves_labels_to_the_end() {
    let dialect = dialect(&[HEADER]);
    let lines = [
        message("u", "", r#"{ "role":"user","content":"\ud83d" }"#),
        line("l1", "u", "label", r#""targetId":"u","label":"one""#),
        message("a", "l1", r#"{"role":"assistant","content":[]}"#),
        line("c", "a", "compaction", r#""summary":"s","firstKeptEntryId":"l1","tokensBefore":1"#),
        line("l2", "c", "label", r#""targetId":"u","label":"two""#),
    ];
    let path: Vec<Stored> = lines.iter().map(|line| stored(line, &*dialect)).collect();
    let labels: Vec<Stored> = [1, 4].map(|at| path[at].clone()).into();
    let fork = NewFork {
        session_id: "new",
        created: Timestamp::from_millis(1_768_467_600_000),
        cwd: "/w",
        parent_session: Some("/s/old.jsonl"),
    };
    let text = new_fork_file(&fork, &path, &labels, &RULES).unwrap();
    let out: Vec<&str> = text.lines().collect();
    assert_eq!(
        out[0],
        r#"{"type":"session","version":3,"id":"new","timestamp":"2026-01-15T09:00:00.000Z","cwd":"/w","parentSession":"/s/old.jsonl"}"#
    );
    assert_eq!(out[1], lines[0]);
    assert_eq!(out[2], lines[2].replace("\"l1\"", "\"u\""));
    assert_eq!(out[3], lines[3].replace("\"l1\"", "\"a\""));
    assert!(
        out[4].contains(r#""targetId":"u","label":"two""#) && out[4].contains(r#""parentId":"c""#)
    );
    assert_eq!(out.len(), 5);
}

#[test]
fn a_native_path_becomes_a_file_of_pi() {
    let long = "0192f3a4b5c67d8e9fa0b1c2d3e4f506";
    let info = forkwood_core::entry::SessionInfo { version: Some(1), ..Default::default() };
    let path = [
        native("root", None, info),
        native(long, Some("root"), Message::user("q")),
        native(
            "x2",
            Some(long),
            Compaction {
                summary: "s".into(),
                first_kept_entry_id: Some(long.into()),
                ..Compaction::default()
            },
        ),
    ];
    let label = Body::Label { label: Some("mark".into()), target_id: Some(long.into()) };
    let fork = NewFork {
        session_id: "new",
        created: Timestamp::default(),
        cwd: "/w",
        parent_session: None,
    };
    let labels = [native("l", Some("x2"), label)];
    let text = new_fork_file(&fork, &path, &labels, &FoldRules::NATIVE).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4);
    let entries: Vec<Entry> = lines[1..].iter().map(|line| decode(line)).collect();
    assert!(entries.iter().all(|entry| entry.id.as_str().len() <= 8));
    assert_eq!(entries[0].parent_id, None);
    assert_eq!(entries[1].parent_id.as_ref(), Some(&entries[0].id));
    let Body::Compaction(compaction) = &entries[1].body else { panic!() };
    assert_eq!(compaction.first_kept_entry_id.as_ref(), Some(&entries[0].id));
    assert!(
        matches!(&entries[2].body, Body::Label { target_id: Some(t), .. } if *t == entries[0].id)
    );
    assert_eq!(text, new_fork_file(&fork, &path, &labels, &FoldRules::NATIVE).unwrap());
}

/// The context of a path, and of the file of Pi that it becomes.
fn both_contexts(path: &[Stored]) -> Option<(Vec<String>, Vec<String>)> {
    let rules = FoldRules::NATIVE;
    let fork = NewFork {
        session_id: "new",
        created: Timestamp::default(),
        cwd: "/w",
        parent_session: None,
    };
    let text = new_fork_file(&fork, path, &[], &rules).ok()?;
    let dialect = dialect(&[HEADER]);
    let copy: Vec<Stored> = text.lines().skip(1).map(|line| stored(line, &*dialect)).collect();
    let said = |path: &[Stored], rules: &FoldRules| {
        let entries: Vec<Entry> = path.iter().map(|stored| stored.entry.clone()).collect();
        let items = forkwood_core::fold::select(&entries, rules);
        let messages = items.iter().filter_map(render);
        messages.map(|message| message.content.text().to_string()).collect::<Vec<_>>()
    };
    Some((said(path, &rules), said(&copy, &RULES)))
}

#[test]
fn a_compaction_keeps_its_meaning_in_a_file_of_pi() {
    let replaces = |ids: &[&str]| Compaction {
        summary: "s".into(),
        replaces_entry_ids: ids.iter().map(|id| EntryId::from(*id)).collect(),
        ..Compaction::default()
    };
    let talk = |last: Body| {
        vec![
            native("1", None, Message::user("one")),
            native("2", Some("1"), Message::assistant("two")),
            native("3", Some("2"), Message::user("three")),
            native("c", Some("3"), last),
            native("4", Some("c"), Message::assistant("four")),
        ]
    };
    for ids in [&["1", "2"][..], &["2", "1"], &["1", "2", "3"]] {
        let (own, copy) = both_contexts(&talk(replaces(ids).into())).unwrap();
        assert_eq!(own, copy, "{ids:?}");
    }
    // In the middle, or nothing: Pi would drop what comes before it.
    for ids in [&["2"][..], &["1", "3"], &[]] {
        assert_eq!(both_contexts(&talk(replaces(ids).into())), None, "{ids:?}");
    }
    let tail = Compaction {
        summary: "s".into(),
        retained_tail: Some(vec![Message::user("kept"), Message::assistant("so")]),
        ..Compaction::default()
    };
    let (own, copy) = both_contexts(&talk(tail.into())).unwrap();
    assert_eq!((own.len(), &own), (4, &copy));
}

#[test]
fn a_fork_of_a_harness_file_is_a_plain_one() {
    let lines = [
        message("u", "", r#"{"role":"user","content":"q"}"#),
        line("t", "u", "active_tools_change", r#""activeToolNames":["read"]"#),
        line(
            "c",
            "t",
            "compaction",
            r#""summary":"s","retainedTail":[{"role":"user","content":"kept","timestamp":1}],"tokensBefore":1"#,
        ),
    ];
    let header = HEADER.replace("\"cwd\"", "\"metadata\":{},\"cwd\"");
    let harness = dialect(&[&header]);
    let path: Vec<Stored> = lines.iter().map(|line| stored(line, &*harness)).collect();
    let fork = NewFork {
        session_id: "new",
        created: Timestamp::default(),
        cwd: "/w",
        parent_session: None,
    };
    let text = new_fork_file(&fork, &path, &[], &harness.rules()).unwrap();
    let out: Vec<&str> = text.lines().collect();
    assert_eq!(dialect(&out).name(), "pi-v3");
    assert_eq!(out[1], lines[0]);
    assert_eq!(
        decode(out[2]).body,
        Body::ActiveToolsChange { active_tool_names: vec!["read".into()] }
    );
    assert!(out[2].contains("forkwood.active_tools_change"));
    assert!(out[3].contains(r#""firstKeptEntryId":"c""#) && !out[3].contains("retainedTail"));
    assert!(out[4].ends_with(r#""message":{"role":"user","content":"kept","timestamp":1}}"#));
    assert_eq!(out.len(), 5);
}
