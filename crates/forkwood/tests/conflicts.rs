//! Two writers on one session: nothing is lost, nothing is hidden.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Place, context, file, path_ids, said, text, turn};
use forkwood::blocking::Session;
use forkwood::{
    AppendOptions, Body, EntryId, ErrorKind, Json, Lane, Message, OnConflict, Severity,
};

/// A session with one turn, seen by two handles as two processes would.
fn two(place: &Place) -> (Session, Session) {
    let mut first = place.create();
    turn(&mut first, 1);
    let second = place.again().open(first.id().as_str()).unwrap();
    (first, second)
}

#[test]
fn the_second_writer_is_refused_and_nothing_changes() {
    let place = Place::new();
    let (mut first, mut second) = two(&place);
    let seen = second.leaf().cloned();
    let theirs = first.append(Message::user("first")).unwrap();
    let before = text(&file(&first));
    let error = second.append(Message::user("second")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let shown = error.to_string();
    assert!(shown.contains(theirs.as_str()) && shown.contains("main"), "{shown}");
    assert_eq!(text(&file(&first)), before);
    assert_eq!(second.leaf(), seen.as_ref());
    // It stays refused until the handle has looked.
    assert!(second.append(Message::user("second")).is_err());
    second.reload().unwrap();
    second.append(Message::user("second")).unwrap();
    assert_eq!(context(&first)[2..], ["user:first", "user:second"]);
}

#[test]
fn every_kind_of_write_meets_the_conflict() {
    let place = Place::new();
    let (mut first, mut second) = two(&place);
    let question = path_ids(&first)[1].clone();
    let theirs = first.append(Message::user("first")).unwrap();
    let before = text(&file(&first));
    let conflict = |result: forkwood::Result<()>| {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Conflict);
    };
    conflict(second.rewind(&question));
    conflict(second.rewind(&theirs));
    conflict(second.rewind_past_compaction(&question));
    conflict(second.add_compaction(Default::default()).map(drop));
    let parent = |parent: &EntryId| AppendOptions {
        parent: Some(parent.clone()),
        ..AppendOptions::default()
    };
    let body = || vec![Message::user("x").into()];
    conflict(second.append_batch(body(), parent(&question)).map(drop));
    conflict(second.append_batch(body(), parent(&second.leaf().cloned().unwrap())).map(drop));
    assert_eq!(text(&file(&first)), before);
}

#[test]
fn labels_titles_and_asides_meet_none_and_hide_none() {
    let place = Place::new();
    let (mut first, mut second) = two(&place);
    let question = path_ids(&first)[1].clone();
    first.append(Message::user("first")).unwrap();
    second.label(&question, Some("mark".into())).unwrap();
    second.rename("title").unwrap();
    second.set_metadata(Json::parse(r#"{"pinned":true}"#).unwrap()).unwrap();
    let data = Json::empty_object();
    second.append(Body::Custom { namespace: "n".into(), data, aside: true }).unwrap();
    second.create_lane(Lane::new("side").unwrap(), &question).unwrap();
    second.move_lane(&Lane::new("side").unwrap(), &second.leaf().cloned().unwrap()).unwrap();
    second.vacuum(false).unwrap();
    second.repair().unwrap();
    let error = second.append(Message::user("second")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "none of these made it see the other's entry");
    assert_eq!(context(&first).last().unwrap(), "user:first");
    assert_eq!(second.title().unwrap(), "title");
}

#[test]
fn a_conflict_can_go_to_a_branch() {
    let place = Place::new();
    let (mut first, mut second) = two(&place);
    first.append(Message::user("first")).unwrap();
    second.set_on_conflict(OnConflict::Branch);
    let id = second.append(Message::user("second")).unwrap();
    assert_eq!(second.lane().as_str(), format!("main-{}", id.tail()));
    assert_eq!(context(&second), ["user:q1", "assistant:a1", "user:second"]);
    assert_eq!(context(&first), ["user:q1", "assistant:a1", "user:first"]);
    // From now on it writes there without any conflict.
    second.append(Message::assistant("on")).unwrap();
    first.append(Message::assistant("and")).unwrap();
    assert_eq!(first.branches().unwrap().len(), 2);
    let again = place.again().open(first.id().as_str()).unwrap();
    assert_eq!(context(&again), ["user:q1", "assistant:a1", "user:first", "assistant:and"]);
    let mut lane = again.clone();
    lane.use_lane(second.lane().clone()).unwrap();
    assert_eq!(context(&lane), context(&second));
}

#[test]
fn a_branch_for_one_write_only() {
    let place = Place::new();
    let (mut first, mut second) = two(&place);
    first.append(Message::user("first")).unwrap();
    let options =
        AppendOptions { on_conflict: Some(OnConflict::Branch), ..AppendOptions::default() };
    let done = second.append_batch(vec![Message::user("second").into()], options).unwrap();
    assert_eq!(&done.lane, second.lane());
    assert_eq!(done.leaf.as_ref(), second.leaf());
    let third = first.append(Message::user("third"));
    third.unwrap();
    second.use_lane(Lane::main()).unwrap();
    first.append(Message::user("fourth")).unwrap();
    assert_eq!(second.append(Message::user("x")).unwrap_err().kind(), ErrorKind::Conflict);
}

#[test]
fn writing_wherever_the_lane_stands() {
    let place = Place::new();
    let (mut first, mut second) = two(&place);
    let theirs = first.append(Message::user("first")).unwrap();
    let any = || AppendOptions { any: true, ..AppendOptions::default() };
    let done = second.append_batch(vec![Message::user("second").into()], any()).unwrap();
    assert_eq!(done.entries[0].parent_id, Some(theirs));
    assert_eq!(context(&first)[2..], ["user:first", "user:second"]);
    // What it passed over is still not seen.
    assert_eq!(second.append(Message::user("x")).unwrap_err().kind(), ErrorKind::Conflict);
}

#[test]
fn a_retry_with_the_same_ids_is_one_write() {
    let place = Place::new();
    let (mut first, mut second) = two(&place);
    let question = path_ids(&first)[1].clone();
    let options = |parent: Option<&EntryId>| AppendOptions {
        ids: vec!["id-1".into(), "id-2".into()],
        parent: parent.cloned(),
        ..AppendOptions::default()
    };
    let bodies = || vec![Message::user("1").into(), Message::user("2").into()];
    let done = first.append_batch(bodies(), options(Some(&question))).unwrap();
    let before = text(&file(&first));
    // By the same handle, by one that has not seen it, and by one that has.
    let mut third = place.again().open(first.id().as_str()).unwrap();
    for session in [&mut first, &mut second, &mut third] {
        let again = session.append_batch(bodies(), options(Some(&question))).unwrap();
        assert!(again.repeated);
        assert_eq!(again.entries, done.entries);
        assert_eq!(session.leaf().unwrap().as_str(), "id-2");
    }
    assert_eq!(text(&file(&first)), before);
    // Another text under the same id is refused.
    let other = vec![Message::user("1").into(), Message::user("other").into()];
    let error = first.append_batch(other, options(None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exists);
    // After others went on, a retry does not make a handle that saw them lose its place.
    third.append(Message::user("3")).unwrap();
    assert!(third.append_batch(bodies(), options(Some(&question))).unwrap().repeated);
    third.append(Message::user("4")).unwrap();
    assert_eq!(context(&third)[1..], ["user:1", "user:2", "user:3", "user:4"]);
}

#[test]
fn ids_that_are_taken_are_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let counting = || {
        let ids = std::sync::Arc::new(forkwood::Sequential::new("e"));
        let store = forkwood::SessionStore::open_root(folder.path()).unwrap().with_ids(ids);
        forkwood::blocking::SessionStore::from(store)
    };
    let mut first = counting().create(Default::default()).unwrap();
    for _ in 0..120 {
        first.append(Message::user("same")).unwrap();
    }
    // A source that counts from the start again gives ids that are there, of entries that say
    // the very same: still each append is an entry.
    let mut second = counting().open(first.id().as_str()).unwrap();
    second.append(Message::user("same")).unwrap();
    let compaction = second.add_compaction(Default::default()).unwrap();
    second.append_batch(vec![Message::user("same").into(); 2], Default::default()).unwrap();
    assert_eq!(second.full_history().unwrap().len(), 123);
    assert_eq!(said(second.context().unwrap().messages()), ["user:same", "user:same"]);
    let Body::Compaction(stored) = second.get(&compaction).unwrap().entry.body else {
        panic!("not a compaction")
    };
    assert_eq!(stored.first_kept_entry_id, Some(compaction), "it still keeps nothing");
}

#[test]
fn a_handle_survives_a_reset_by_another() {
    let place = Place::new();
    let (mut first, mut second) = two(&place);
    let lane = Lane::new("side").unwrap();
    let leaf = second.leaf().cloned().unwrap();
    second.create_lane(lane.clone(), &leaf).unwrap();
    second.use_lane(lane).unwrap();
    first.reset().unwrap();
    assert!(context(&second).is_empty());
    assert!(second.current_path().unwrap().is_empty(), "its lane went");
    assert_eq!(second.append(Message::user("x")).unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(second.add_compaction(Default::default()).unwrap_err().kind(), ErrorKind::Conflict);
    second.use_lane(Lane::main()).unwrap();
    second.append(Message::user("x")).unwrap();
    assert_eq!(context(&first), ["user:x"]);
    assert!(first.check().unwrap().iter().all(|found| found.severity != Severity::Error));
}

#[test]
fn a_deleted_session_is_gone_for_whoever_holds_it() {
    let place = Place::new();
    let (first, mut second) = two(&place);
    place.store.delete(first.id().as_str()).unwrap();
    let kinds = [ErrorKind::Gone, ErrorKind::NotFound];
    assert!(kinds.contains(&second.append(Message::user("x")).unwrap_err().kind()));
    assert!(kinds.contains(&second.context().unwrap_err().kind()));
    assert!(kinds.contains(&second.reload().unwrap_err().kind()));
    assert!(place.names("sessions").is_empty());
    place.store.restore(first.id().as_str()).unwrap();
    second.append(Message::user("back")).unwrap();
    assert_eq!(context(&second).len(), 3);
}
