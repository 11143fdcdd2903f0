//! Watching a session through the facade, and the calls that wait.

#![allow(clippy::unwrap_used)]

mod common;

use std::time::Duration;

use common::{Place, turn};
use forkwood::blocking::Session;
use forkwood::{Cursor, EntryId, ErrorKind, Message, Watch, WatchEvent};

const PATIENCE: Duration = Duration::from_secs(10);

fn next(watch: &mut Box<dyn Watch>) -> WatchEvent {
    Session::next_event(watch.as_mut(), PATIENCE).unwrap().unwrap()
}

fn entry(watch: &mut Box<dyn Watch>) -> EntryId {
    match next(watch) {
        WatchEvent::Entry(stored) => stored.entry.id,
        other => panic!("no entry: {other:?}"),
    }
}

#[test]
fn new_entries_are_told_in_order_whoever_wrote_them() {
    let place = Place::new();
    let mut session = place.create();
    turn(&mut session, 1);
    let mut watch = session.watch(None).unwrap();
    assert_eq!(watch.poll_event().unwrap(), None, "from now on");
    let (a, b) = turn(&mut session, 2);
    let mut other = place.again().open(session.id().as_str()).unwrap();
    let c = other.append(Message::user("other")).unwrap();
    let label = other.label(&a, Some("x".into())).unwrap();
    assert_eq!([entry(&mut watch), entry(&mut watch)], [a, b]);
    assert_eq!([entry(&mut watch), entry(&mut watch)], [c, label]);
    assert_eq!(watch.poll_event().unwrap(), None);
    let nothing = Session::next_event(watch.as_mut(), Duration::ZERO).unwrap();
    assert_eq!(nothing, None);
}

#[test]
fn a_cursor_goes_on_where_it_was() {
    let place = Place::new();
    let mut session = place.create();
    let (_, first) = turn(&mut session, 1);
    let cursor = session.cursor().unwrap();
    assert_eq!(cursor.id, first.as_str());
    let (a, b) = turn(&mut session, 2);
    // As text, over a restart.
    let cursor = Cursor::parse(&cursor.to_string()).unwrap();
    let again = place.again().open(session.id().as_str()).unwrap();
    let mut watch = again.watch(Some(cursor)).unwrap();
    assert_eq!([entry(&mut watch), entry(&mut watch)], [a, b.clone()]);
    assert_eq!(watch.cursor(), session.cursor().unwrap());
    let start = Cursor::start(session.facts().generation.clone());
    let mut all = again.watch(Some(start)).unwrap();
    for _ in 0..4 {
        entry(&mut all);
    }
    assert_eq!(entry(&mut all), b);
    let error = again.watch(Some(Cursor::start(""))).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[test]
fn a_reset_and_a_deletion_are_told() {
    let place = Place::new();
    let mut session = place.create();
    turn(&mut session, 1);
    let mut watch = session.watch(None).unwrap();
    session.reset().unwrap();
    assert_eq!(next(&mut watch), WatchEvent::Reset);
    assert_eq!(Some(entry(&mut watch)), session.leaf().cloned());
    place.store.delete(session.id().as_str()).unwrap();
    assert_eq!(next(&mut watch), WatchEvent::Gone);
    assert_eq!(next(&mut watch), WatchEvent::Gone, "nothing follows");
}

#[test]
fn a_watcher_waits_for_another_thread() {
    let place = Place::new();
    let session = place.create();
    let mut watch = session.watch(None).unwrap();
    let mut writer = place.again().open(session.id().as_str()).unwrap();
    let id = std::thread::scope(|scope| {
        let written = scope.spawn(move || writer.append(Message::user("late")).unwrap());
        let told = entry(&mut watch);
        assert_eq!(told, written.join().unwrap());
        told
    });
    assert!(session.get(&id).is_ok());
}

#[test]
fn the_async_session_is_the_same() {
    let place = Place::new();
    let session = place.create();
    let mut inner = session.into_inner();
    pollster::block_on(async {
        inner.append(Message::user("async")).await.unwrap();
        let mut watch = inner.watch(None).await.unwrap();
        inner.append(Message::assistant("too")).await.unwrap();
        assert!(matches!(watch.next_event().await.unwrap(), WatchEvent::Entry(_)));
    });
    let back = Session::from(inner);
    assert_eq!(common::context(&back), ["user:async", "assistant:too"]);
}
