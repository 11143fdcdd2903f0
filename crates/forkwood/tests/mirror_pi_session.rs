//! What Pi's tests of the session say, for native sessions (pi.md, section 5: labels,
//! save-entry, custom-session-id, session-info-modified).

#![allow(clippy::unwrap_used)]

mod common;

use common::{DAY, Place, START, context, path_ids, session, turn};
use forkwood::{
    Body, CreateOptions, EntryId, ErrorKind, ForkOptions, Json, Message, SessionId, Timestamp,
};

// Mirrors labels: set and get.
#[test]
fn a_label_is_set() {
    let mut session = session();
    let (question, _) = turn(&mut session, 1);
    assert!(session.labels().unwrap().is_empty());
    session.label(&question, Some("start".into())).unwrap();
    assert_eq!(session.labels().unwrap()[&question], "start");
}

// Mirrors labels: clear, with nothing and with an empty one.
#[test]
fn a_label_is_cleared() {
    let mut session = session();
    let (question, _) = turn(&mut session, 1);
    for nothing in [None, Some("".into())] {
        session.label(&question, Some("start".into())).unwrap();
        session.label(&question, nothing).unwrap();
        assert!(session.labels().unwrap().is_empty());
        assert_eq!(session.label_at(&question).unwrap(), None);
    }
}

// Mirrors labels: the last one wins.
#[test]
fn the_last_label_wins() {
    let mut session = session();
    let (question, _) = turn(&mut session, 1);
    for label in ["one", "two", "three"] {
        session.label(&question, Some(label.into())).unwrap();
    }
    assert_eq!(session.labels().unwrap()[&question], "three");
}

// Mirrors labels: they stand in the nodes of the tree.
#[test]
fn branches_show_their_labels() {
    let mut session = session();
    let (question, old) = turn(&mut session, 1);
    session.rewind(&question).unwrap();
    let new = session.append(Message::assistant("new")).unwrap();
    session.label(&old, Some("old one".into())).unwrap();
    let branches = session.branches().unwrap();
    let label =
        |tip: &EntryId| branches.iter().find(|branch| branch.tip == *tip).unwrap().label.clone();
    assert_eq!(label(&old).unwrap(), "old one");
    assert_eq!(label(&new), None);
}

// Mirrors labels: a fork keeps those of its path.
#[test]
fn a_fork_keeps_the_labels_of_its_path() {
    let place = Place::new();
    let mut session = place.create();
    let (question, answer) = turn(&mut session, 1);
    let root = path_ids(&session)[0].clone();
    session.label(&question, Some("q".into())).unwrap();
    session.label(&root, Some("top".into())).unwrap();
    turn(&mut session, 2);
    session.label(&answer, Some("a".into())).unwrap();
    let fork = place.store.fork(&session, Some(&answer), ForkOptions::default()).unwrap();
    let ids = path_ids(&fork);
    let labels = fork.labels().unwrap();
    assert_eq!((labels.len(), &labels[&ids[0]]), (3, &"top".into()));
    assert_eq!((&labels[&ids[1]], &labels[&ids[2]]), (&"q".into(), &"a".into()));
    assert_eq!(context(&fork), ["user:q1", "assistant:a1"], "no label cuts the path");
}

// Mirrors labels: a fork drops those off its path.
#[test]
fn a_fork_drops_labels_off_its_path() {
    let place = Place::new();
    let mut session = place.create();
    let (question, answer) = turn(&mut session, 1);
    session.label(&answer, Some("later".into())).unwrap();
    let fork = place.store.fork(&session, Some(&question), ForkOptions::default()).unwrap();
    assert!(fork.labels().unwrap().is_empty());
}

// Mirrors labels: they are not in the context.
#[test]
fn a_label_is_not_in_the_context() {
    let mut session = session();
    let (_, answer) = turn(&mut session, 1);
    let leaf = session.leaf().cloned();
    session.label(&answer, Some("here".into())).unwrap();
    assert_eq!(context(&session).len(), 2);
    assert_eq!(session.leaf(), leaf.as_ref(), "a label moves nothing");
}

// Mirrors labels: an unknown entry cannot be labelled.
#[test]
fn an_unknown_entry_cannot_be_labelled() {
    let mut session = session();
    let error = session.label(&EntryId::new("ghost"), Some("x".into())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

// Mirrors save-entry: custom entries are saved and stand in the tree.
#[test]
fn custom_entries_are_saved() {
    let place = Place::new();
    let mut session = place.create();
    session.append(Message::user("q")).unwrap();
    let data = Json::parse(r#"{"deep":{"list":[1,2.50,null]}}"#).unwrap();
    let custom = Body::Custom { namespace: "ext".into(), data: data.clone(), aside: false };
    let id = session.append(custom).unwrap();
    session.append(Message::assistant("a")).unwrap();
    let again = place.again().open(session.id().as_str()).unwrap();
    assert!(path_ids(&again).contains(&id));
    let Body::Custom { data: read, .. } = again.get(&id).unwrap().entry.body else {
        panic!("not a custom entry")
    };
    assert_eq!(read, data);
    assert_eq!(context(&again), ["user:q", "assistant:a"]);
}

fn with_id(id: &str) -> CreateOptions {
    CreateOptions { id: Some(SessionId::new(id).unwrap()), ..CreateOptions::default() }
}

// Mirrors custom-session-id: a given id is used.
#[test]
fn a_given_id_is_used() {
    let place = Place::new();
    let session = place.store.create(with_id("my.session_1")).unwrap();
    assert_eq!(session.id().as_str(), "my.session_1");
    assert_eq!(place.again().open("my.session_1").unwrap().id(), session.id());
}

// Mirrors custom-session-id: without one an id is made, of the time and 32 random bits.
#[test]
fn an_id_is_made() {
    let place = Place::new();
    let (a, b) = (place.create(), place.create());
    assert!(a.id().as_str().starts_with("20270115-080000-"));
    assert_eq!(a.id().as_str().len(), "20270115-080000-".len() + 8);
    assert_ne!(a.id(), b.id());
}

// Mirrors custom-session-id: an id that could be a path is refused.
#[test]
fn an_id_that_could_be_a_path_is_refused() {
    for id in ["", ".", "..", "../x", "a/b", "a\\b", "-x", "x-", "a..b", "NUL", "com1.x", "\u{e9}"]
    {
        assert!(SessionId::new(id).is_err(), "{id:?}");
        let place = Place::new();
        let kind = place.store.open(id).unwrap_err().kind();
        assert!([ErrorKind::Invalid, ErrorKind::NotFound].contains(&kind), "{id:?}: {kind:?}");
    }
}

// Mirrors custom-session-id: a taken id is refused, and the other session stays as it is.
#[test]
fn a_taken_id_is_refused() {
    let place = Place::new();
    let mut first = place.store.create(with_id("taken")).unwrap();
    turn(&mut first, 1);
    assert_eq!(place.store.create(with_id("taken")).unwrap_err().kind(), ErrorKind::Exists);
    assert_eq!(context(&place.again().open("taken").unwrap()).len(), 2);
}

// Mirrors session-info-modified: the time of the newest message counts, not that of the file.
#[test]
fn the_last_activity_is_that_of_a_message() {
    let place = Place::new();
    let mut session = place.create();
    place.clock.advance(DAY);
    let (question, _) = turn(&mut session, 1);
    place.clock.advance(DAY);
    session.rename("later").unwrap();
    session.label(&question, Some("later".into())).unwrap();
    session.append(Message::tool("c", "later")).unwrap();
    let row = place.store.list(Default::default()).unwrap().rows.remove(0);
    let day_one = Timestamp::from_micros(START.as_micros() + DAY);
    assert_eq!((row.created, row.last_activity), (Some(START), Some(day_one)));
}
