//! Lanes, ids of entries, reset and vacuum.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Place, context, file, path_ids, session, text, turn};
use forkwood::{AppendOptions, Body, EntryId, ErrorKind, Lane, Message};

fn lane(name: &str) -> Lane {
    Lane::new(name).unwrap()
}

#[test]
fn lanes_stand_on_their_own() {
    let place = Place::new();
    let mut main = place.create();
    let (question, _) = turn(&mut main, 1);
    main.create_lane(lane("side"), &question).unwrap();
    assert!(main.lane().is_main(), "the handle stays where it is");
    let mut side = main.clone();
    side.use_lane(lane("side")).unwrap();
    assert_eq!(context(&side), ["user:q1"]);
    // The two write in turn, and meet no conflict.
    for n in 0..3 {
        main.append(Message::user(format!("m{n}"))).unwrap();
        side.append(Message::user(format!("s{n}"))).unwrap();
    }
    assert_eq!(context(&main)[2..], ["user:m0", "user:m1", "user:m2"]);
    assert_eq!(context(&side)[1..], ["user:s0", "user:s1", "user:s2"]);
    let again = place.again().open(main.id().as_str()).unwrap();
    assert_eq!(context(&again), context(&main));
    let lanes: Vec<String> =
        again.facts().lanes.iter().map(|state| state.lane.to_string()).collect();
    assert_eq!(lanes, ["main", "side"]);
}

#[test]
fn lanes_are_refused_by_name() {
    let mut session = session();
    let (question, answer) = turn(&mut session, 1);
    session.create_lane(lane("side"), &question).unwrap();
    let error = session.create_lane(lane("side"), &answer).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exists);
    assert!(error.to_string().contains("side"), "{error}");
    assert_eq!(session.create_lane(Lane::main(), &answer).unwrap_err().kind(), ErrorKind::Exists);
    let ghost = EntryId::new("ghost");
    assert_eq!(session.create_lane(lane("x"), &ghost).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(session.use_lane(lane("x")).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(session.move_lane(&lane("x"), &answer).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(session.move_lane(&lane("side"), &ghost).unwrap_err().kind(), ErrorKind::NotFound);
    assert!(session.lane().is_main());
    for name in ["", "Main", "-x", ".x", "a b", "a/b", "\u{e9}", &"x".repeat(65)] {
        assert!(Lane::new(name).is_err(), "{name:?}");
    }
    assert!(Lane::new(&"x".repeat(64)).is_ok());
}

#[test]
fn a_lane_is_moved_from_anywhere() {
    let mut session = session();
    let (question, answer) = turn(&mut session, 1);
    session.create_lane(lane("side"), &question).unwrap();
    session.move_lane(&lane("side"), &answer).unwrap();
    let mut side = session.clone();
    side.use_lane(lane("side")).unwrap();
    assert_eq!(side.leaf(), Some(&answer));
    session.move_lane(&Lane::main(), &question).unwrap();
    assert_eq!((session.leaf(), context(&session).len()), (Some(&question), 1));
    session.append(Message::assistant("other")).unwrap();
    assert_eq!(context(&side), ["user:q1", "assistant:a1"]);
}

#[test]
fn a_rewind_to_where_it_stands_writes_nothing() {
    let place = Place::new();
    let mut session = place.create();
    let (_, answer) = turn(&mut session, 1);
    let before = text(&file(&session));
    session.rewind(&answer).unwrap();
    let label = session.label(&answer, Some("x".into())).unwrap();
    let labelled = text(&file(&session));
    assert!(labelled.len() > before.len());
    // A label is no place to stand: its entry is.
    session.rewind(&label).unwrap();
    assert_eq!(session.leaf(), Some(&answer));
    assert_eq!(text(&file(&session)), labelled);
}

#[test]
fn an_explicit_parent() {
    let mut session = session();
    let (question, answer) = turn(&mut session, 1);
    let at = |parent: &EntryId| AppendOptions {
        parent: Some(parent.clone()),
        ..AppendOptions::default()
    };
    let done =
        session.append_batch(vec![Message::assistant("other").into()], at(&question)).unwrap();
    assert_eq!(done.entries.len(), 1, "the pointer move is none of the caller's entries");
    assert_eq!(done.entries[0].parent_id, Some(question));
    assert_eq!(context(&session), ["user:q1", "assistant:other"]);
    let done = session.append_batch(vec![Message::user("on").into()], at(&answer)).unwrap();
    assert_eq!(done.entries[0].parent_id, Some(answer));
    let error = session.append_batch(vec![Message::user("x").into()], at(&"ghost".into()));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn entries_are_resolved() {
    let mut session = session();
    let ids = ["abc1", "abc12", "abd3", "xabc1", "tail3x"];
    let options = AppendOptions {
        ids: ids.iter().map(|id| (*id).into()).collect(),
        ..AppendOptions::default()
    };
    let bodies = ids.iter().map(|id| Message::user(*id).into()).collect();
    session.append_batch(bodies, options).unwrap();
    let resolve = |query: &str| session.resolve_entry(query).map(|id| id.to_string());
    // Exact beats prefix, prefix beats suffix.
    for (query, id) in [
        ("abc1", "abc1"),
        ("abc12", "abc12"),
        ("abd", "abd3"),
        ("xa", "xabc1"),
        ("3x", "tail3x"),
        ("d3", "abd3"),
    ] {
        assert_eq!(resolve(query).unwrap(), id, "{query}");
    }
    let error = session.resolve_entry("ab").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Ambiguous);
    for candidate in ["abc1", "abc12", "abd3"] {
        assert!(error.to_string().contains(candidate), "{error}");
    }
    assert_eq!(session.resolve_entry("bc1").unwrap_err().kind(), ErrorKind::Ambiguous);
    assert_eq!(session.resolve_entry("nowhere").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(session.resolve_entry("").unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn reset_clears_all_but_the_header_and_keeps_the_old_log() {
    let place = Place::new();
    let mut session = place.create();
    let (question, answer) = turn(&mut session, 1);
    session.label(&question, Some("x".into())).unwrap();
    session.create_lane(lane("side"), &question).unwrap();
    session.add_compaction(Default::default()).unwrap();
    let old = text(&file(&session));
    let generation = session.facts().generation.clone();
    let done = session.reset().unwrap();
    assert_eq!(text(done.backup.as_ref().unwrap()), old);
    assert!(done.backup.unwrap().starts_with(place.root().join("trash")));
    assert_eq!((session.compaction_floor().unwrap(), session.labels().unwrap().len()), (None, 0));
    assert_eq!(session.facts().lanes.len(), 1);
    assert_ne!(session.facts().generation, generation);
    assert_eq!(session.rewind(&answer).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(path_ids(&session).len(), 1);
    turn(&mut session, 2);
    assert_eq!(context(&place.again().open(session.id().as_str()).unwrap()).len(), 2);
}

#[test]
fn vacuum_keeps_every_lane_label_and_branch() {
    let place = Place::new();
    let mut session = place.create();
    let (question, answer) = turn(&mut session, 1);
    session.create_lane(lane("side"), &answer).unwrap();
    for _ in 0..5 {
        session.rewind(&question).unwrap();
        session.rewind(&answer).unwrap();
    }
    session.rewind(&question).unwrap();
    session.append(Message::assistant("b")).unwrap();
    session.label(&answer, Some("mark".into())).unwrap();
    session.rewind(&question).unwrap();
    let before =
        (session.branches().unwrap(), session.labels().unwrap(), session.current_leaf().unwrap());
    let size = text(&file(&session)).len();
    let done = session.vacuum(false).unwrap();
    assert!(text(&file(&session)).len() < size);
    assert_eq!(text(&done.backup.unwrap()).len(), size);
    let again = place.again().open(session.id().as_str()).unwrap();
    let after = (again.branches().unwrap(), again.labels().unwrap(), again.current_leaf().unwrap());
    assert_eq!(after, before);
    assert!(session.vacuum(false).unwrap().actions.is_empty(), "a second time there is nothing");
    session.append(Message::user("on")).unwrap();
}

#[test]
fn vacuum_can_prune_branches_that_nothing_reaches() {
    let place = Place::new();
    let mut session = place.create();
    let (question, answer) = turn(&mut session, 1);
    let mut tips = vec![answer];
    for n in 0..4 {
        session.rewind(&question).unwrap();
        tips.push(session.append(Message::assistant(format!("b{n}"))).unwrap());
    }
    session.label(&tips[0], Some("kept".into())).unwrap();
    session.label(&tips[1], Some("not any more".into())).unwrap();
    session.label(&tips[1], None).unwrap();
    session.create_lane(lane("side"), &tips[2]).unwrap();
    session.vacuum(true).unwrap();
    let there: Vec<EntryId> =
        session.branches().unwrap().into_iter().map(|branch| branch.tip).collect();
    assert_eq!(there, [tips[0].clone(), tips[2].clone(), tips[4].clone()]);
    assert_eq!(session.labels().unwrap().len(), 1);
    assert_eq!(session.resolve_entry(tips[1].as_str()).unwrap_err().kind(), ErrorKind::NotFound);
    let damage: Vec<_> =
        session.check().unwrap().into_iter().filter(|found| found.is_damage()).collect();
    assert!(damage.is_empty(), "{damage:?}");
    session.append(Message::user("on")).unwrap();
    assert_eq!(context(&session), ["user:q1", "assistant:b3", "user:on"]);
}

#[test]
fn tool_calls_without_results_are_told() {
    let mut session = session();
    let call = |id: &str| {
        let block = forkwood::Block::tool_call(id, "read", forkwood::Json::empty_object());
        Message::new(forkwood::Role::Assistant, forkwood::Content::Blocks(vec![block]))
    };
    let open = session.append(call("open")).unwrap();
    session.append(call("done")).unwrap();
    session.append(Message::tool("done", "r")).unwrap();
    let orphan = session.append(Message::tool("nobody", "r")).unwrap();
    let data = forkwood::Json::empty_object();
    session.append(Body::Custom { namespace: "n".into(), data, aside: true }).unwrap();
    let found: Vec<(forkwood::DiagnosticKind, Option<EntryId>)> =
        session.check().unwrap().into_iter().map(|found| (found.kind, found.entry)).collect();
    assert_eq!(
        found,
        [
            (forkwood::DiagnosticKind::UnansweredToolCall, Some(open)),
            (forkwood::DiagnosticKind::OrphanToolResult, Some(orphan)),
        ]
    );
}
