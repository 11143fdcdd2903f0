//! Forks: new ids everywhere, the same context, the source untouched.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::HashMap;

use common::{DAY, Place, context, file, path_ids, text, turn};
use forkwood::blocking::Session;
use forkwood::{
    Body, Compaction, CreateOptions, EntryId, ErrorKind, ForkOptions, Json, Message, SessionId,
};

fn fork(place: &Place, source: &Session) -> Session {
    place.store.fork(source, None, ForkOptions::default()).unwrap()
}

/// Old ids to new ones, along both paths.
fn map(source: &Session, fork: &Session) -> HashMap<EntryId, EntryId> {
    path_ids(source).into_iter().zip(path_ids(fork)).collect()
}

fn body(session: &Session, id: &EntryId) -> Body {
    session.get(id).unwrap().entry.body
}

#[test]
fn ids_are_new_wherever_an_entry_is_named() {
    let place = Place::new();
    let mut source = place.create();
    let (question, answer) = turn(&mut source, 1);
    let summary =
        Body::BranchSummary { summary: "b".into(), from_id: Some(answer.clone()), details: None };
    let summary = source.append(summary).unwrap();
    let edit = Body::ContextEdit {
        target_id: question.clone(),
        replacement: Some(Message::user("e").content),
    };
    let edit = source.append(edit).unwrap();
    let in_place = Compaction {
        summary: "in place".into(),
        replaces_entry_ids: vec![answer.clone(), summary.clone()],
        ..Compaction::default()
    };
    let in_place = source.add_compaction(in_place).unwrap();
    let elsewhere = source.append(Message::user("elsewhere")).unwrap();
    source.rewind(&in_place).unwrap();
    let boundary = Compaction {
        summary: "from".into(),
        first_kept_entry_id: Some(question.clone()),
        replaces_entry_ids: vec![in_place.clone(), elsewhere.clone()],
        ..Compaction::default()
    };
    let boundary = source.add_compaction(boundary).unwrap();
    let nothing = source.add_compaction(Compaction::default()).unwrap();
    let label = source.label(&question, Some("mark".into())).unwrap();

    let copy = fork(&place, &source);
    let new = map(&source, &copy);
    let Body::BranchSummary { from_id, .. } = body(&copy, &new[&summary]) else { panic!() };
    assert_eq!(from_id.as_ref(), Some(&new[&answer]));
    let Body::ContextEdit { target_id, .. } = body(&copy, &new[&edit]) else { panic!() };
    assert_eq!(target_id, new[&question]);
    let Body::Compaction(copied) = body(&copy, &new[&in_place]) else { panic!() };
    assert_eq!(copied.replaces_entry_ids, [new[&answer].clone(), new[&summary].clone()]);
    let Body::Compaction(copied) = body(&copy, &new[&boundary]) else { panic!() };
    assert_eq!(copied.first_kept_entry_id.as_ref(), Some(&new[&question]));
    assert_eq!(copied.replaces_entry_ids, [new[&in_place].clone()]);
    let Body::Compaction(copied) = body(&copy, &new[&nothing]) else { panic!() };
    assert_eq!(copied.first_kept_entry_id.as_ref(), Some(&new[&nothing]));
    assert_eq!(copy.labels().unwrap().keys().collect::<Vec<_>>(), [&new[&question]]);
    // No id of the source stands anywhere in the file but in `forkedFrom`.
    let lines = text(&file(&copy));
    let (header, rest) = lines.split_once('\n').unwrap();
    for id in new.keys().chain([&label, &elsewhere]) {
        assert!(!rest.contains(id.as_str()), "{id}");
    }
    assert!(header.contains("\"forkedFrom\""));
}

#[test]
fn a_compaction_that_keeps_all_keeps_all_in_the_fork() {
    let place = Place::new();
    let mut source = place.create();
    turn(&mut source, 1);
    let root = path_ids(&source)[0].clone();
    let all = Compaction {
        summary: "S".into(),
        first_kept_entry_id: Some(root),
        ..Compaction::default()
    };
    source.add_compaction(all).unwrap();
    assert_eq!(context(&source).len(), 3);
    assert_eq!(context(&fork(&place, &source)), context(&source));
}

#[test]
fn asides_stay_where_they_were() {
    let place = Place::new();
    let mut source = place.create();
    let aside = |n: u32| Body::Custom {
        namespace: "ext".into(),
        data: Json::parse(&format!(r#"{{"n":{n}}}"#)).unwrap(),
        aside: true,
    };
    source.append(aside(0)).unwrap();
    let (question, answer) = turn(&mut source, 1);
    source.append(aside(1)).unwrap();
    turn(&mut source, 2);
    source.rewind(&question).unwrap();
    source.append(aside(2)).unwrap();
    source.rewind(&answer).unwrap();
    let copy = fork(&place, &source);
    let ids = path_ids(&copy);
    let asides: Vec<(String, Option<EntryId>)> = copy
        .entries()
        .unwrap()
        .into_iter()
        .filter_map(|stored| match stored.entry.body {
            Body::Custom { data, .. } => Some((data.get().to_owned(), stored.entry.parent_id)),
            _ => None,
        })
        .collect();
    let expected = [(0, &ids[0]), (2, &ids[1]), (1, &ids[2])]
        .map(|(n, id)| (format!(r#"{{"n":{n}}}"#), Some(id.clone())));
    assert_eq!(asides, expected);
    assert_eq!(copy.leaf(), Some(&ids[2]), "an aside moves nothing");
}

#[test]
fn times_title_and_origin() {
    let place = Place::new();
    let mut source = place.create();
    let (question, answer) = turn(&mut source, 1);
    place.clock.advance(DAY);
    let mut other = place.again().open(source.id().as_str()).unwrap();
    other.rename("named by another").unwrap();
    place.clock.advance(DAY);
    let copy = place.store.fork(&source, Some(&question), ForkOptions::default()).unwrap();
    assert_eq!(copy.title().unwrap(), "named by another");
    let times = |session: &Session, id: &EntryId| session.get(id).unwrap().entry.timestamp;
    assert_eq!(times(&copy, copy.leaf().unwrap()), times(&source, &question));
    let from = copy.facts().info.forked_from.clone().unwrap();
    assert_eq!((from.session_id.as_str(), &from.entry_id), (Some(source.id().as_str()), &question));
    assert_ne!(copy.facts().info.created_at, source.facts().info.created_at);
    let row = place.store.list(Default::default()).unwrap().rows;
    let row = row.iter().find(|row| row.id == *copy.id()).unwrap();
    assert_eq!(row.forked_from.as_ref().unwrap(), source.id().as_str());
    let options =
        ForkOptions { id: Some(SessionId::new("chosen").unwrap()), title: Some("mine".into()) };
    let named = place.store.fork(&source, Some(&answer), options.clone()).unwrap();
    assert_eq!((named.id().as_str(), named.title().unwrap().as_str()), ("chosen", Some("mine")));
    let error = place.store.fork(&source, None, options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exists);
}

#[test]
fn a_fork_of_a_fork_from_a_branch() {
    let place = Place::new();
    let mut source = place.create();
    let (question, old) = turn(&mut source, 1);
    source.rewind(&question).unwrap();
    turn(&mut source, 2);
    let before = text(&file(&source));
    let mut first = place.store.fork(&source, Some(&old), ForkOptions::default()).unwrap();
    turn(&mut first, 3);
    let second = fork(&place, &first);
    assert_eq!(context(&second), ["user:q1", "assistant:a1", "user:q3", "assistant:a3"]);
    let from = second.facts().info.forked_from.clone().unwrap();
    assert_eq!(from.session_id, first.id().as_str());
    assert_eq!(text(&file(&source)), before);
}

#[test]
fn forks_between_stores_and_of_single_files() {
    let (place, other) = (Place::new(), Place::new());
    let mut source = place.create();
    turn(&mut source, 1);
    let copy = other.store.fork(&source, None, ForkOptions::default()).unwrap();
    assert_eq!(context(&copy), context(&source));
    assert!(file(&copy).starts_with(other.root()));
    let single = forkwood::blocking::SessionStore::open_file(&file(&source), &[]).unwrap();
    let copy = other.store.fork(&single, None, ForkOptions::default()).unwrap();
    assert_eq!(context(&copy), context(&source));
    drop(place);
    assert_eq!(context(&copy).len(), 2);
}

#[test]
fn a_fork_of_a_new_session_is_a_new_session() {
    let place = Place::new();
    let source = place.create();
    let mut copy = fork(&place, &source);
    assert!(context(&copy).is_empty());
    assert_eq!(text(&file(&copy)).lines().count(), 1);
    turn(&mut copy, 1);
    assert_eq!(context(&copy).len(), 2);
}

#[test]
fn a_fork_at_a_sidecar_is_one_at_its_ancestor() {
    let place = Place::new();
    let mut source = place.create();
    let (question, answer) = turn(&mut source, 1);
    let label = source.label(&question, Some("x".into())).unwrap();
    let copy = place.store.fork(&source, Some(&label), ForkOptions::default()).unwrap();
    assert_eq!(context(&copy).len(), 2, "the label was written at the answer");
    assert_eq!(copy.facts().info.forked_from.as_ref().unwrap().entry_id, answer);
}

#[test]
fn a_batch_can_be_forked_in_its_middle() {
    let place = Place::new();
    let mut source = place.create();
    let bodies = (0..3).map(|n| Message::user(format!("{n}")).into()).collect();
    let done = source.append_batch(bodies, Default::default()).unwrap();
    let middle = &done.entries[1].id;
    let copy = place.store.fork(&source, Some(middle), ForkOptions::default()).unwrap();
    let again = place.again().open(copy.id().as_str()).unwrap();
    assert_eq!(context(&again), ["user:0", "user:1"]);
    assert!(!text(&file(&copy)).contains("\"more\""), "what was half of a batch is none");
}

#[test]
fn metadata_does_not_come_along() {
    let place = Place::new();
    let metadata = Some(Json::parse(r#"{"pinned":true}"#).unwrap());
    let source =
        place.store.create(CreateOptions { metadata, ..CreateOptions::default() }).unwrap();
    assert_eq!(fork(&place, &source).facts().info.metadata, None);
}
