//! Compactions, their floor, and the settings that they record.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Place, context, session, turn, write_raw};
use forkwood::blocking::Session;
use forkwood::{
    AppendOptions, Body, Compaction, CompactionState, EntryId, ErrorKind, Lane, Message,
};

fn from(first: &EntryId) -> Compaction {
    Compaction {
        summary: "S".into(),
        first_kept_entry_id: Some(first.clone()),
        ..Compaction::default()
    }
}

fn stored(session: &Session, id: &EntryId) -> Compaction {
    match session.get(id).unwrap().entry.body {
        Body::Compaction(compaction) => compaction,
        other => panic!("no compaction: {other:?}"),
    }
}

#[test]
fn one_that_says_nothing_of_what_it_keeps_keeps_nothing() {
    let mut session = session();
    turn(&mut session, 1);
    let id = session.add_compaction(Compaction { summary: "S".into(), ..Default::default() });
    let id = id.unwrap();
    assert_eq!(stored(&session, &id).first_kept_entry_id, Some(id));
    assert_eq!(context(&session), ["user:Previous conversation summary:\nS"]);
    // With an empty summary it is a truncation.
    session.add_compaction(Compaction::default()).unwrap();
    assert!(context(&session).is_empty());
    assert_eq!(session.full_history().unwrap().len(), 2);
}

#[test]
fn what_it_keeps_from_must_be_on_the_path() {
    let mut session = session();
    let (question, old) = turn(&mut session, 1);
    session.rewind(&question).unwrap();
    session.append(Message::assistant("new")).unwrap();
    let before = session.entries().unwrap();
    for first in [&old, &"ghost".into()] {
        let error = session.add_compaction(from(first)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(first.as_str()), "{error}");
    }
    assert_eq!(session.entries().unwrap(), before);
    session.add_compaction(from(&question)).unwrap();
}

#[test]
fn the_settings_there_are_recorded() {
    let mut session = session();
    session.append(Body::ModelChange { model: "m1".into(), provider: Some("p1".into()) }).unwrap();
    session.append(Body::ThinkingLevelChange { thinking_level: "low".into() }).unwrap();
    let names = vec!["read".into(), "bash".into()];
    session.append(Body::ActiveToolsChange { active_tool_names: names.clone() }).unwrap();
    session.append(Message::assistant("x").by_model("m2", None)).unwrap();
    let id = session.add_compaction(Compaction::default()).unwrap();
    let expected = CompactionState {
        model: Some("m2".into()),
        provider: Some("p1".into()),
        thinking_level: Some("low".into()),
        active_tool_names: Some(names),
    };
    assert_eq!(stored(&session, &id).state, Some(expected));
    turn(&mut session, 1);
    let leaf = session.leaf().cloned().unwrap();
    let full = session.state_at(&leaf).unwrap();
    assert_eq!(session.context().unwrap().settings(), Some(full.settings()));
    // A second one hands on what the first recorded.
    let second = session.add_compaction(Compaction::default()).unwrap();
    assert_eq!(stored(&session, &second).state, stored(&session, &id).state);
}

#[test]
fn a_later_one_can_name_an_earlier_one() {
    let mut session = session();
    turn(&mut session, 1);
    let (kept, _) = turn(&mut session, 2);
    let first = session.add_compaction(from(&kept)).unwrap();
    let (third, _) = turn(&mut session, 3);
    let in_place = Compaction {
        summary: "T".into(),
        replaces_entry_ids: vec![first, kept],
        ..Compaction::default()
    };
    session.add_compaction(in_place).unwrap();
    let summary = "user:Previous conversation summary:\nT";
    assert_eq!(context(&session), [summary, "assistant:a2", "user:q3", "assistant:a3"]);
    // With a retained tail, the tail goes with the summary it belongs to.
    let tail = Compaction {
        summary: "U".into(),
        retained_tail: Some(vec![Message::user("t1"), Message::user("t2")]),
        ..Compaction::default()
    };
    let tail = session.add_compaction(tail).unwrap();
    turn(&mut session, 4);
    assert_eq!(context(&session)[1..3], ["user:t1", "user:t2"]);
    let in_place = Compaction {
        summary: "V".into(),
        replaces_entry_ids: vec![third, tail],
        ..Compaction::default()
    };
    session.add_compaction(in_place).unwrap();
    let summary = "user:Previous conversation summary:\nV";
    assert_eq!(context(&session), [summary, "user:q4", "assistant:a4"]);
}

#[test]
fn unknown_comes_before_the_floor() {
    let mut session = session();
    let (question, _) = turn(&mut session, 1);
    session.add_compaction(Compaction::default()).unwrap();
    let error = session.rewind(&"ghost".into()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let error = session.rewind_past_compaction(&"ghost".into()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let error = session.rewind(&question).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BeforeFloor);
    let floor = session.compaction_floor().unwrap().unwrap();
    let shown = error.to_string();
    assert!(shown.contains(question.as_str()) && shown.contains(floor.as_str()), "{shown}");
}

#[test]
fn moving_a_lane_knows_its_floor() {
    let mut session = session();
    let (question, answer) = turn(&mut session, 1);
    let side = Lane::new("side").unwrap();
    // The floor is that of the lane which moves: this one has none, and main has.
    session.create_lane(side.clone(), &answer).unwrap();
    let compaction = session.add_compaction(Compaction::default()).unwrap();
    session.move_lane(&side, &question).unwrap();
    let mut from_side = session.clone();
    from_side.use_lane(side).unwrap();
    let error = from_side.move_lane(&Lane::main(), &question).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BeforeFloor);
    let error = session.move_lane(&Lane::main(), &question).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BeforeFloor);
    assert_eq!(session.current_leaf().unwrap(), Some(compaction));
    session.move_lane(&Lane::main(), &answer).unwrap();
    session.move_lane_past_compaction(&Lane::main(), &question).unwrap();
    assert_eq!(context(&session), ["user:q1"]);
    // Making a lane knows no floor.
    session.add_compaction(Compaction::default()).unwrap();
    let root = session.path_ids(&question).unwrap()[0].clone();
    session.create_lane(Lane::new("early").unwrap(), &root).unwrap();
}

#[test]
fn the_floor_can_be_passed_on_purpose() {
    let mut session = session();
    let (question, _) = turn(&mut session, 1);
    let compaction = session.add_compaction(Compaction::default()).unwrap();
    session.rewind_past_compaction(&question).unwrap();
    assert_eq!(context(&session), ["user:q1"]);
    assert_eq!(session.compaction_floor().unwrap(), None);
    turn(&mut session, 2);
    session.rewind(&question).unwrap();
    // And back.
    session.rewind(&compaction).unwrap();
    assert!(context(&session).is_empty());
}

#[test]
fn a_compaction_of_an_abandoned_branch_guards_nothing() {
    let mut session = session();
    let (question, _) = turn(&mut session, 1);
    turn(&mut session, 2);
    session.add_compaction(Compaction::default()).unwrap();
    session.rewind_past_compaction(&question).unwrap();
    let (next, _) = turn(&mut session, 3);
    assert_eq!(session.latest_compaction().unwrap(), None);
    session.rewind(&next).unwrap();
    session.rewind(&question).unwrap();
}

#[test]
fn the_latest_of_two_guards() {
    let mut session = session();
    let (first, _) = turn(&mut session, 1);
    session.add_compaction(Compaction::default()).unwrap();
    let (second, answer) = turn(&mut session, 2);
    session.add_compaction(Compaction::default()).unwrap();
    turn(&mut session, 3);
    for before in [&first, &second] {
        assert_eq!(session.rewind(before).unwrap_err().kind(), ErrorKind::BeforeFloor);
    }
    session.rewind(&answer).unwrap();
    // From there the first one guards.
    session.rewind(&second).unwrap();
    assert_eq!(session.rewind(&first).unwrap_err().kind(), ErrorKind::BeforeFloor);
}

#[test]
fn siblings_and_other_branches_are_free() {
    let mut session = session();
    let (question, old) = turn(&mut session, 1);
    session.rewind(&question).unwrap();
    session.append(Message::assistant("new")).unwrap();
    session.add_compaction(Compaction::default()).unwrap();
    session.rewind(&old).unwrap();
    assert_eq!(context(&session), ["user:q1", "assistant:a1"]);
}

#[test]
fn an_explicit_parent_and_a_lane_know_no_floor() {
    let mut session = session();
    let (question, _) = turn(&mut session, 1);
    session.add_compaction(Compaction::default()).unwrap();
    let lane = forkwood::Lane::new("old").unwrap();
    session.create_lane(lane, &question).unwrap();
    let options = AppendOptions { parent: Some(question), ..AppendOptions::default() };
    session.append_batch(vec![Message::assistant("again").into()], options).unwrap();
    assert_eq!(context(&session), ["user:q1", "assistant:again"]);
}

#[test]
fn an_edit_reaches_back_only() {
    let mut session = session();
    let options = |id: &str| AppendOptions { ids: vec![id.into()], ..AppendOptions::default() };
    let edit = Body::ContextEdit { target_id: "later".into(), replacement: None };
    write_raw(&mut session, "edit", edit.clone());
    session.append_batch(vec![Message::user("x").into()], options("later")).unwrap();
    assert_eq!(context(&session), ["user:x"]);
    session.append(edit).unwrap();
    assert!(context(&session).is_empty());
    assert_eq!(session.full_history().unwrap().len(), 1);
}

#[test]
fn a_compaction_survives_the_machine() {
    let place = Place::new();
    let mut session = place.create();
    let (_, answer) = turn(&mut session, 1);
    session.add_compaction(from(&answer)).unwrap();
    let again = place.again().open(session.id().as_str()).unwrap();
    assert_eq!(context(&again), context(&session));
    assert_eq!(again.compaction_floor().unwrap(), Some(answer));
}
