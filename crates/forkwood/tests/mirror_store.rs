//! The behaviours of my-pi-agent's store tests, in the sense that Forkwood gives them.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Place, context, file, text, turn};
use forkwood::blocking::SessionStore;
use forkwood::{Body, CreateOptions, EntryId, ErrorKind, ForkOptions, Message};

fn named(id: &str) -> CreateOptions {
    CreateOptions { id: Some(forkwood::SessionId::new(id).unwrap()), ..CreateOptions::default() }
}

// Mirrors: create, list, open, open by prefix, delete.
#[test]
fn create_list_open_prefix_delete() {
    let place = Place::new();
    let session = place.create();
    let id = session.id().to_string();
    let rows = place.store.list(Default::default()).unwrap().rows;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].id.as_str(), id);
    assert_eq!(place.store.open(&id).unwrap().id(), session.id());
    assert_eq!(place.store.open(&id[..18]).unwrap().id(), session.id());
    place.store.delete(&id).unwrap();
    assert!(place.store.list(Default::default()).unwrap().rows.is_empty());
    assert_eq!(place.store.open(&id).unwrap_err().kind(), ErrorKind::NotFound);
}

// Mirrors: a session is on disk as soon as it is made, with its header only.
#[test]
fn a_new_session_is_its_header() {
    let place = Place::new();
    let session = place.create();
    let content = text(&file(&session));
    assert_eq!(content.lines().count(), 1);
    assert!(content.contains("\"type\":\"session_info\"") && content.contains("\"version\":1"));
    let row = place.store.list(Default::default()).unwrap().rows.remove(0);
    assert_eq!((row.entries, row.messages), (1, 0));
}

// Mirrors: an ambiguous prefix lists the candidates.
#[test]
fn an_ambiguous_prefix_lists_candidates() {
    let place = Place::new();
    for id in ["20270115-080000-aaaa0001", "20270115-080000-aaaa0002", "20270115-080000-bbbb0003"] {
        place.store.create(named(id)).unwrap();
    }
    let error = place.store.open("20270115-080000-aaaa").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Ambiguous);
    let shown = error.to_string();
    assert!(shown.contains("aaaa0001") && shown.contains("aaaa0002"), "{shown}");
    assert!(!shown.contains("bbbb"), "{shown}");
    assert_eq!(place.store.open("bbbb").unwrap().id().as_str(), "20270115-080000-bbbb0003");
}

// Mirrors: a corrupt file is passed over.
#[test]
fn a_corrupt_file_hides_no_other() {
    let place = Place::new();
    let session = place.create();
    std::fs::write(place.sessions().join("broken.jsonl"), b"\xff\xfe{{{").unwrap();
    std::fs::write(place.sessions().join("list.jsonl"), "[]\n").unwrap();
    let listing = place.store.list(Default::default()).unwrap();
    assert_eq!(listing.rows.len(), 1);
    assert_eq!(listing.problems.len(), 2);
    assert_eq!(place.store.open(session.id().as_str()).unwrap().id(), session.id());
}

// Mirrors: a fork holds the path to the entry, and nothing of other branches.
#[test]
fn a_fork_holds_the_path() {
    let place = Place::new();
    let mut session = place.create();
    let (question, answer) = turn(&mut session, 1);
    session.rewind(&question).unwrap();
    session.append(Message::assistant("other")).unwrap();
    // Not only messages are copied: this made the reference fail.
    session.append(Body::ModelChange { model: "m".into(), provider: None }).unwrap();
    let fork = place.store.fork(&session, Some(&answer), ForkOptions::default()).unwrap();
    assert_eq!(context(&fork), ["user:q1", "assistant:a1"]);
    let fork = place.store.fork(&session, None, ForkOptions::default()).unwrap();
    assert_eq!(context(&fork), ["user:q1", "assistant:other"]);
    assert_eq!(fork.context().unwrap().model().unwrap(), "m");
}

// Mirrors: a fork and its source do not know each other.
#[test]
fn a_fork_is_independent() {
    let place = Place::new();
    let mut session = place.create();
    turn(&mut session, 1);
    let before = text(&file(&session));
    let mut fork = place.store.fork(&session, None, ForkOptions::default()).unwrap();
    turn(&mut fork, 2);
    assert_eq!(text(&file(&session)), before);
    turn(&mut session, 3);
    assert_eq!(context(&fork), ["user:q1", "assistant:a1", "user:q2", "assistant:a2"]);
    place.store.delete(session.id().as_str()).unwrap();
    assert_eq!(context(&fork).len(), 4);
}

// Mirrors: a fork at an unknown entry is refused, and makes nothing.
#[test]
fn a_fork_at_an_unknown_entry_makes_nothing() {
    let place = Place::new();
    let session = place.create();
    let ghost = EntryId::new("ghost");
    let error = place.store.fork(&session, Some(&ghost), ForkOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(place.names("sessions").len(), 1);
}

// Mirrors: workspaces do not see each other's sessions.
#[test]
fn workspaces_are_isolated() {
    let top = tempfile::tempdir().unwrap();
    let store = |name: &str| {
        let folder = top.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        SessionStore::open_workspace(&folder).unwrap()
    };
    let (a, b) = (store("a"), store("b"));
    let session = a.create(CreateOptions::default()).unwrap();
    assert_eq!(session.facts().info.cwd.as_ref().unwrap(), &top.path().join("a").to_str().unwrap());
    assert!(file(&session).starts_with(top.path().join("a/.forkwood/sessions")));
    assert!(b.list(Default::default()).unwrap().rows.is_empty());
    assert_eq!(b.open(session.id().as_str()).unwrap_err().kind(), ErrorKind::NotFound);
}

// Mirrors: an absolute root is taken as it is.
#[test]
fn an_absolute_root_is_taken_as_it_is() {
    let top = tempfile::tempdir().unwrap();
    let root = top.path().join("elsewhere/store");
    let store = SessionStore::open_root(&root).unwrap();
    assert!(!root.exists(), "nothing is made before the first session");
    assert!(store.list(Default::default()).unwrap().rows.is_empty());
    assert!(!root.exists(), "listing makes nothing");
    let session = store.create(CreateOptions::default()).unwrap();
    assert!(file(&session).starts_with(root.join("sessions")));
}
