//! The behaviours of my-pi-agent's session tests, in the sense that Forkwood gives them.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Place, context, file, path_ids, said, session, text, turn};
use forkwood::{
    Body, Compaction, CreateOptions, EntryId, EntryKind, ErrorKind, Json, Message, Role,
};

// Mirrors: the first entry is root and current.
#[test]
fn the_header_is_root_and_the_first_entry_current() {
    let mut session = session();
    let root = session.leaf().cloned().unwrap();
    assert_eq!(session.current_path().unwrap()[0].kind(), EntryKind::SessionInfo);
    let first = session.append(Message::user("q")).unwrap();
    assert_eq!(session.leaf(), Some(&first));
    assert_eq!(session.get(&first).unwrap().entry.parent_id, Some(root.clone()));
    assert_eq!(session.children(None).unwrap(), [root]);
}

// Mirrors: the path is in order.
#[test]
fn the_path_is_in_order() {
    let mut session = session();
    let root = session.leaf().cloned().unwrap();
    let (a, b) = turn(&mut session, 1);
    let (c, d) = turn(&mut session, 2);
    assert_eq!(path_ids(&session), [root, a, b, c, d]);
}

// Mirrors: rewind keeps the old branch, and the next entry hangs from where it went.
#[test]
fn rewind_keeps_the_old_branch() {
    let mut session = session();
    let (question, old) = turn(&mut session, 1);
    session.rewind(&question).unwrap();
    let new = session.append(Message::assistant("other")).unwrap();
    assert_eq!(session.get(&new).unwrap().entry.parent_id, Some(question.clone()));
    assert_eq!(session.children(Some(&question)).unwrap(), [old.clone(), new]);
    assert_eq!(context(&session), ["user:q1", "assistant:other"]);
    assert_eq!(said(session.state_at(&old).unwrap().messages()), ["user:q1", "assistant:a1"]);
}

// Mirrors: rewind to an unknown entry is refused.
#[test]
fn rewind_to_an_unknown_entry_is_not_found() {
    let mut session = session();
    turn(&mut session, 1);
    let before = session.leaf().cloned();
    let error = session.rewind(&EntryId::new("ghost")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("ghost"));
    assert_eq!(session.leaf(), before.as_ref());
}

// Mirrors: save and load round trip.
#[test]
fn another_process_opens_the_same_session() {
    let place = Place::new();
    let mut session = place.create();
    let (question, _) = turn(&mut session, 1);
    session.rewind(&question).unwrap();
    let again = place.again().open(session.id().as_str()).unwrap();
    assert_eq!(again.entries().unwrap(), session.entries().unwrap());
    assert_eq!(again.leaf(), Some(&question));
    assert_eq!(again.id(), session.id());
}

// Mirrors: metadata round trip.
#[test]
fn metadata_of_a_message_round_trips() {
    let place = Place::new();
    let mut session = place.create();
    let metadata = Json::parse(r#"{"tool_calls":[{"id":"c","n":1e400}],"z":null}"#).unwrap();
    let message = Message { metadata: Some(metadata), ..Message::assistant("calls") };
    session.append(message.clone()).unwrap();
    let again = place.again().open(session.id().as_str()).unwrap();
    assert_eq!(again.full_history().unwrap(), [message]);
}

// Mirrors: what an interrupted save left behind does no harm.
#[test]
fn leftovers_of_an_interrupted_rewrite_do_no_harm() {
    let place = Place::new();
    let mut session = place.create();
    turn(&mut session, 1);
    let path = file(&session);
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    std::fs::write(path.with_file_name(format!(".{name}.abc.fwtmp")), "half a li").unwrap();
    std::fs::write(path.with_file_name(format!(".{name}.xyz.tmp")), "of another").unwrap();
    let mut again = place.again().open(session.id().as_str()).unwrap();
    assert_eq!(context(&again), ["user:q1", "assistant:a1"]);
    turn(&mut again, 2);
    assert_eq!(place.store.list(Default::default()).unwrap().rows.len(), 1);
}

// Mirrors: where replacing the file fails, the old one stays whole. Here the
// place where the old log would be kept cannot be made.
#[cfg(unix)]
#[test]
fn a_rewrite_that_fails_leaves_the_log_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let mut session = place.create();
    turn(&mut session, 1);
    let before = text(&file(&session));
    std::fs::write(place.root().join("trash"), "no folder").unwrap();
    assert!(session.reset().is_err());
    assert_eq!(text(&file(&session)), before);
    assert_eq!(context(&session), ["user:q1", "assistant:a1"]);
    let mode = std::fs::metadata(file(&session)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

// Mirrors: a torn tail.
#[test]
fn a_torn_tail_is_left_out_and_cut_before_the_next_append() {
    let place = Place::new();
    let mut session = place.create();
    turn(&mut session, 1);
    let whole = text(&file(&session));
    std::fs::write(file(&session), format!("{whole}{{\"id\":\"x\",\"type\":\"mess")).unwrap();
    let mut again = place.again().open(session.id().as_str()).unwrap();
    assert_eq!(context(&again), ["user:q1", "assistant:a1"]);
    turn(&mut again, 2);
    let third = place.again().open(session.id().as_str()).unwrap();
    assert_eq!(context(&third), ["user:q1", "assistant:a1", "user:q2", "assistant:a2"]);
    assert!(text(&file(&session)).starts_with(&whole));
}

// Mirrors: an agent's file holds user, assistant, tool, assistant in this order.
#[test]
fn a_run_with_a_tool_is_in_order() {
    let place = Place::new();
    let mut session = place.create();
    session.append(Message::user("what?")).unwrap();
    session.append(Message::assistant("I look")).unwrap();
    session.append(Message::tool("c1", "found")).unwrap();
    session.append(Message::assistant("this")).unwrap();
    let roles: Vec<String> = text(&file(&session))
        .lines()
        .skip(1)
        .map(|line| Json::parse(line).unwrap())
        .map(|json| {
            let message = Json::parse(json.as_object().unwrap().get("message").unwrap()).unwrap();
            message.as_object().unwrap().text("role").unwrap().to_string()
        })
        .collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
}

// Mirrors: a second agent sees the history.
#[test]
fn a_second_handle_sees_what_the_first_wrote() {
    let place = Place::new();
    let mut first = place.create();
    let mut second = place.again().open(first.id().as_str()).unwrap();
    turn(&mut first, 1);
    assert_eq!(context(&second), ["user:q1", "assistant:a1"]);
    second.reload().unwrap();
    turn(&mut second, 2);
    assert_eq!(context(&first).len(), 4);
}

// Mirrors: rewind and run grows a branch.
#[test]
fn rewind_and_run_grows_a_branch() {
    let mut session = session();
    let (_, answer) = turn(&mut session, 1);
    turn(&mut session, 2);
    session.rewind(&answer).unwrap();
    turn(&mut session, 3);
    assert_eq!(context(&session), ["user:q1", "assistant:a1", "user:q3", "assistant:a3"]);
    let branches = session.branches().unwrap();
    assert_eq!(branches.len(), 2);
    assert!(branches.iter().all(|branch| branch.fork_point.as_ref() == Some(&answer)));
}

// Mirrors: reset leaves the header only.
#[test]
fn reset_leaves_the_header_only() {
    let place = Place::new();
    let mut session = place.create();
    turn(&mut session, 1);
    let old = text(&file(&session));
    let done = session.reset().unwrap();
    assert_eq!(text(&file(&session)).lines().count(), 1);
    assert_eq!(text(&done.backup.unwrap()), old);
    assert!(context(&session).is_empty());
    turn(&mut session, 2);
    assert_eq!(context(&session), ["user:q2", "assistant:a2"]);
}

// Mirrors: on resume a new system prompt wins. The session stores none of its own, so that
// whoever resumes brings one.
#[test]
fn no_system_prompt_is_stored() {
    let place = Place::new();
    let mut session = place.create();
    turn(&mut session, 1);
    let again = place.again().open(session.id().as_str()).unwrap();
    assert!(again.context().unwrap().messages().iter().all(|m| m.role != Role::System));
    assert!(!text(&file(&session)).contains("\"system\""));
}

// Mirrors: the same agent looks again after a rewind.
#[test]
fn the_context_follows_a_rewind() {
    let mut session = session();
    let (question, _) = turn(&mut session, 1);
    assert_eq!(context(&session).len(), 2);
    session.rewind(&question).unwrap();
    assert_eq!(context(&session), ["user:q1"]);
}

// Mirrors: a file without a proper header does not open, and stays as it is.
#[test]
fn a_file_without_a_header_is_refused_and_left_alone() {
    let place = Place::new();
    place.create();
    for (name, content) in [
        ("wrong-a.jsonl", "{\"cwd\":\"/x\"}\n"),
        ("wrong-b.jsonl", "[1,2]\n"),
        ("wrong-c.jsonl", ""),
        ("wrong-d.jsonl", "not json\n"),
        ("wrong-e.jsonl", "{\"type\":\"session_info\",\"id\":\"i\",\"parentId\":null}\n"),
    ] {
        std::fs::write(place.sessions().join(name), content).unwrap();
        let id = name.trim_end_matches(".jsonl");
        let error = place.store.open(id).unwrap_err();
        let kinds = [ErrorKind::NotFound, ErrorKind::Damaged, ErrorKind::Unsupported];
        assert!(kinds.contains(&error.kind()), "{name}: {error}");
        assert_eq!(text(&place.sessions().join(name)), content);
    }
    let listing = place.store.list(Default::default()).unwrap();
    assert_eq!((listing.rows.len(), listing.problems.len()), (1, 5));
}

// Mirrors: the default of `type` is omitted. Forkwood always writes the type and omits options
// that are absent.
#[test]
fn absent_options_are_left_out() {
    let place = Place::new();
    let mut session = place.create();
    session.append(Message::user("q")).unwrap();
    session.append(Body::ModelChange { model: "m".into(), provider: None }).unwrap();
    let lines = text(&file(&session));
    for absent in ["provider", "lane", "more", "isError", "usage", "foreign", "null,\"t"] {
        let found = lines.lines().skip(1).any(|line| line.contains(&format!("\"{absent}\"")));
        assert!(!found, "{absent}");
    }
    assert!(lines.lines().all(|line| line.contains("\"type\":\"")));
}

// Mirrors: a summary cache keeps its floor over a restart. Forkwood's compaction stands on the
// path, and its floor is its parent.
#[test]
fn a_compaction_keeps_its_floor_over_a_restart() {
    let place = Place::new();
    let mut session = place.create();
    let (_, answer) = turn(&mut session, 1);
    let summary = Compaction { summary: "s".into(), ..Compaction::default() };
    let id = session.add_compaction(summary).unwrap();
    assert_eq!(session.leaf(), Some(&id));
    let again = place.again().open(session.id().as_str()).unwrap();
    assert_eq!(again.compaction_floor().unwrap(), Some(answer));
    assert_eq!(again.latest_compaction().unwrap().unwrap().entry.id, id);
    assert_eq!(context(&again), ["user:Previous conversation summary:\ns"]);
}

// Mirrors: the full history holds messages only, and all of them.
#[test]
fn the_full_history_ignores_compactions_and_other_entries() {
    let mut session = session();
    turn(&mut session, 1);
    session.append(Body::ThinkingLevelChange { thinking_level: "low".into() }).unwrap();
    session.add_compaction(Compaction { summary: "s".into(), ..Compaction::default() }).unwrap();
    turn(&mut session, 2);
    let history = said(&session.full_history().unwrap());
    assert_eq!(history, ["user:q1", "assistant:a1", "user:q2", "assistant:a2"]);
    assert_eq!(context(&session).len(), 3);
}

// Mirrors: the guard blocks what lies before the floor and allows the floor.
#[test]
fn the_guard_blocks_what_lies_before_the_floor() {
    let mut session = session();
    let (question, answer) = turn(&mut session, 1);
    let summary = Compaction { summary: "s".into(), ..Compaction::default() };
    let compaction = session.add_compaction(summary).unwrap();
    let (after, _) = turn(&mut session, 2);
    assert_eq!(session.rewind(&question).unwrap_err().kind(), ErrorKind::BeforeFloor);
    session.rewind(&after).unwrap();
    session.rewind(&compaction).unwrap();
    session.rewind(&answer).unwrap();
    assert_eq!(context(&session), ["user:q1", "assistant:a1"]);
}

// Mirrors: reset frees the guard.
#[test]
fn reset_frees_the_guard() {
    let mut session = session();
    turn(&mut session, 1);
    session.add_compaction(Compaction { summary: "s".into(), ..Compaction::default() }).unwrap();
    session.reset().unwrap();
    assert_eq!(session.compaction_floor().unwrap(), None);
    let (question, _) = turn(&mut session, 2);
    session.rewind(&question).unwrap();
    assert_eq!(session.leaf(), Some(&question));
}

// The metadata of the session itself, beside that of its messages.
#[test]
fn metadata_of_the_session_round_trips() {
    let place = Place::new();
    let metadata = Json::parse(r#"{"channel":"x","n":1.50}"#).unwrap();
    let options = CreateOptions { metadata: Some(metadata.clone()), ..CreateOptions::default() };
    let session = place.store.create(options).unwrap();
    let again = place.again().open(session.id().as_str()).unwrap();
    assert_eq!(again.facts().info.metadata, Some(metadata));
}
