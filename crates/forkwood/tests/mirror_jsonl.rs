//! The behaviours of my-pi-agent's JSONL tests, in the sense that Forkwood gives them. Those
//! about its own old files are tested with its format, in `forkwood-formats`.

#![allow(clippy::unwrap_used)]

mod common;

use std::process::Command;

use common::{Place, context, file, store_at, text, turn};
use forkwood::core::entry::codec::{Reader, decode, decode_strict, encode};
use forkwood::{
    AppendOptions, Body, Compaction, DiagnosticKind, ErrorKind, Json, Message, SessionInfo,
};

// Mirrors: round trip of each of the nine types, here through a file and all of Forkwood's.
#[test]
fn every_type_round_trips_through_a_file() {
    let place = Place::new();
    let mut session = place.create();
    let (question, _) = turn(&mut session, 1);
    let json = |text: &str| Json::parse(text).unwrap();
    let bodies = vec![
        SessionInfo { title: Some("t".into()), ..SessionInfo::default() }.into(),
        Message::tool("c", "r").into(),
        Body::ModelChange { model: "m".into(), provider: Some("p".into()) },
        Body::ThinkingLevelChange { thinking_level: "low".into() },
        Body::ActiveToolsChange { active_tool_names: vec!["read".into()] },
        Compaction {
            summary: "s".into(),
            replaces_entry_ids: vec![question.clone()],
            tokens_before: Some(9),
            details: Some(json(r#"{"readFiles":["a"]}"#)),
            ..Compaction::default()
        }
        .into(),
        Body::BranchSummary {
            summary: "b".into(),
            from_id: Some(question.clone()),
            details: Some(json("[1]")),
        },
        Body::Label { label: Some("l".into()), target_id: Some(question.clone()) },
        Body::Custom { namespace: "n".into(), data: json(r#"{"a":null}"#), aside: true },
        Body::CustomMessage {
            namespace: "n".into(),
            content: Message::user("x").content,
            display: false,
        },
        Body::ContextEdit { target_id: question, replacement: None },
        Body::Usage {
            kind: "k".into(),
            provider: "p".into(),
            model: "m".into(),
            usage: json(r#"{"input":1}"#),
        },
    ];
    for body in &bodies {
        session.append(body.clone()).unwrap();
    }
    let again = place.again().open(session.id().as_str()).unwrap();
    let read: Vec<Body> =
        again.entries().unwrap().into_iter().skip(3).map(|stored| stored.entry.body).collect();
    assert_eq!(read, bodies);
    assert!(again.check().unwrap().iter().all(|finding| !finding.is_damage()));
}

// Mirrors: both spellings of a field and of a type are read.
#[test]
fn both_spellings_are_read() {
    for line in [
        r#"{"id":"a","parent_id":"p","type":"thinkingLevelChange","thinking_level":"low"}"#,
        r#"{"id":"a","parentId":"p","type":"thinking_level_change","thinkingLevel":"low"}"#,
    ] {
        let entry = decode(line, &mut Reader::lossless()).unwrap();
        assert_eq!(entry.parent_id.as_ref().unwrap().as_str(), "p");
        assert!(matches!(entry.body, Body::ThinkingLevelChange { .. }));
        assert!(encode(&entry).contains("\"thinking_level_change\",\"thinkingLevel\":\"low\""));
    }
}

// Mirrors: a blank line, broken JSON and an array are no entries.
#[test]
fn what_is_no_entry_is_refused_or_named() {
    for line in ["", "  ", "{\"id\":", "[1]", "null", "3"] {
        assert!(decode(line, &mut Reader::lossless()).is_err(), "{line:?}");
        assert!(decode_strict(line).is_err(), "{line:?}");
    }
    // In a file blank lines are passed over, and the others are damage.
    let place = Place::new();
    let mut session = place.create();
    turn(&mut session, 1);
    let whole = text(&file(&session));
    std::fs::write(file(&session), format!("{whole}\n  \n[1]\n{{\"id\":\n")).unwrap();
    let again = place.again().open(session.id().as_str()).unwrap();
    assert_eq!(context(&again), ["user:q1", "assistant:a1"]);
    let lines: Vec<Option<u64>> = again
        .check()
        .unwrap()
        .into_iter()
        .filter(|finding| finding.is_damage())
        .map(|finding| finding.line)
        .collect();
    assert_eq!(lines, [Some(6), Some(7)]);
}

// Mirrors: an entry that does not fit its type is refused; in a file it is kept as it is.
#[test]
fn an_entry_that_does_not_fit_its_type() {
    let line = r#"{"id":"a","parentId":null,"type":"compaction","summary":7}"#;
    assert!(decode_strict(line).unwrap_err().to_string().contains("summary"));
    let mut reader = Reader::lossless();
    assert_eq!(encode(&decode(line, &mut reader).unwrap()), line);
    assert!(reader.into_notes().iter().any(|(kind, _)| *kind == DiagnosticKind::OddField));
}

// Mirrors: append and read.
#[test]
fn append_and_read() {
    let place = Place::new();
    let mut session = place.create();
    let (question, answer) = turn(&mut session, 1);
    let page = session.read(0, 100).unwrap();
    let ids: Vec<_> = page.entries.iter().skip(1).map(|stored| stored.entry.id.clone()).collect();
    assert_eq!(ids, [question, answer]);
    assert_eq!(page.next, None);
    let lines = text(&file(&session));
    for (stored, line) in page.entries.iter().zip(lines.lines()) {
        assert_eq!(stored.raw.as_deref(), Some(line.as_bytes()));
    }
}

// Mirrors: a batch, with one write. Forkwood's is all or nothing.
#[test]
fn a_batch_is_all_or_nothing() {
    let place = Place::new();
    let mut session = place.create();
    let bodies = vec![Message::user("1").into(), Message::user("2").into()];
    let done = session.append_batch(bodies, AppendOptions::default()).unwrap();
    assert_eq!(done.entries.len(), 2);
    assert_eq!(done.leaf.as_ref(), session.leaf());
    let before = text(&file(&session));
    let bad = vec![Message::user("3").into(), Body::Unknown { tag: "wish".into() }];
    let error = session.append_batch(bad, AppendOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(text(&file(&session)), before);
    assert_eq!(context(&session), ["user:1", "user:2"]);
    // Half of a batch at the end of a file is left out whole.
    std::fs::write(file(&session), &before.as_bytes()[..before.len() - 5]).unwrap();
    let again = place.again().open(session.id().as_str()).unwrap();
    assert!(context(&again).is_empty());
}

// Mirrors: a missing file.
#[test]
fn a_missing_file() {
    let place = Place::new();
    let mut session = place.create();
    turn(&mut session, 1);
    std::fs::remove_file(file(&session)).unwrap();
    let kinds = [ErrorKind::Gone, ErrorKind::NotFound];
    assert!(kinds.contains(&session.append(Message::user("x")).unwrap_err().kind()));
    assert!(kinds.contains(&session.context().unwrap_err().kind()));
    assert!(!file(&session).exists(), "a deleted session is not made again");
    assert_eq!(place.store.open(session.id().as_str()).unwrap_err().kind(), ErrorKind::NotFound);
}

// Mirrors: opening removes leftovers. Forkwood's opening writes nothing; they do no harm.
#[test]
fn opening_leaves_leftovers_alone() {
    let place = Place::new();
    let session = place.create();
    let name = file(&session).file_name().unwrap().to_string_lossy().into_owned();
    let leftover = place.sessions().join(format!(".{name}.0badcafe.fwtmp"));
    std::fs::write(&leftover, "half").unwrap();
    let again = place.again().open(session.id().as_str()).unwrap();
    assert!(again.context().unwrap().messages().is_empty());
    assert!(leftover.exists());
}

// Mirrors: appending removes leftovers of the same file, and nothing else.
#[test]
fn appending_removes_our_own_leftovers_only() {
    let place = Place::new();
    let mut session = place.create();
    let other = place.create();
    let names = [
        (format!(".{}.jsonl.0badcafe0bad.fwtmp", session.id()), false),
        (format!(".{}.jsonl.0badcafe0bad.fwtmp", other.id()), true),
        (format!("{}.tmp", session.id()), true),
        ("notes.tmp".to_owned(), true),
    ];
    for (name, _) in &names {
        std::fs::write(place.sessions().join(name), "x").unwrap();
    }
    turn(&mut session, 1);
    for (name, stays) in names {
        let there = place.sessions().join(&name).exists();
        // Whether a leftover goes now or later is the storage's affair; others must stay.
        assert!(there || !stays, "{name}");
    }
}

// Mirrors: a torn tail is left out, and the entries before it are there.
#[test]
fn a_torn_tail_at_any_byte() {
    let place = Place::new();
    let mut session = place.create();
    turn(&mut session, 1);
    let whole = text(&file(&session));
    let start = whole.trim_end().rfind('\n').unwrap() + 1;
    for cut in start..whole.len() {
        std::fs::write(file(&session), &whole.as_bytes()[..cut]).unwrap();
        let again = place.again().open(session.id().as_str()).unwrap();
        let shown = context(&again);
        // Without its LF alone, the line is whole.
        let expected = if cut + 1 == whole.len() { 2 } else { 1 };
        assert_eq!(shown.len(), expected, "cut at {cut}");
    }
}

// Mirrors: a broken line in the middle is an error that names the line. Forkwood reads around
// it and names it.
#[test]
fn a_broken_line_in_the_middle() {
    let place = Place::new();
    let mut session = place.create();
    turn(&mut session, 1);
    turn(&mut session, 2);
    let lines: Vec<String> = text(&file(&session)).lines().map(str::to_owned).collect();
    let broken = format!("{}\n{}\n{{oops\n{}\n{}\n", lines[0], lines[1], lines[3], lines[4]);
    std::fs::write(file(&session), broken).unwrap();
    let mut again = place.again().open(session.id().as_str()).unwrap();
    assert_eq!(context(&again), ["user:q1", "user:q2", "assistant:a2"]);
    let damage: Vec<_> =
        again.check().unwrap().into_iter().filter(|finding| finding.is_damage()).collect();
    assert!(damage.iter().any(|finding| finding.line == Some(3)), "{damage:?}");
    turn(&mut again, 3);
    assert_eq!(context(&again).len(), 5);
}

const CHILD: &str = "FORKWOOD_TEST_CHILD";

/// Not a test of its own: what the two processes below do.
#[test]
fn child_appends_five() {
    let Ok(work) = std::env::var(CHILD) else { return };
    let (root, id) = work.split_once('\n').unwrap();
    let clock = std::sync::Arc::new(forkwood::ManualClock::new(common::START));
    let mut session = store_at(root.as_ref(), &clock).open(id).unwrap();
    for n in 0..5 {
        let options = AppendOptions { any: true, ..AppendOptions::default() };
        let body = Message::user(format!("{} {n}", std::process::id())).into();
        session.append_batch(vec![body], options).unwrap();
    }
}

// Mirrors: two processes append five entries each; with the header there are eleven.
#[test]
fn two_processes_append_five_each() {
    let place = Place::new();
    let session = place.create();
    let work = format!("{}\n{}", place.root().display(), session.id());
    let children: Vec<_> = (0..2)
        .map(|_| {
            Command::new(std::env::current_exe().unwrap())
                .args(["child_appends_five", "--exact"])
                .env(CHILD, &work)
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(session.entries().unwrap().len(), 11);
    assert_eq!(context(&session).len(), 10, "one line, no branch");
    assert!(session.check().unwrap().iter().all(|finding| !finding.is_damage()));
}

// Mirrors: the package exports its storages.
#[test]
fn storages_are_exported() {
    use forkwood::storage::jsonl::JsonlStorage;
    use forkwood::storage::{MemoryStorage, SessionStorage, StorageError};
    fn is_storage<T: SessionStorage>() {}
    is_storage::<JsonlStorage>();
    is_storage::<MemoryStorage>();
    assert_eq!(StorageError::invalid("x").kind().as_str(), "invalid");
}
