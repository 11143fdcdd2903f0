//! Lists, ids, the trash, pruning, sub-agents.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::PathBuf;

use common::{DAY, Place, START, context, file, text, turn};
use forkwood::blocking::{Session, SessionStore};
use forkwood::{
    CreateOptions, ErrorKind, Json, Message, Page, PruneOptions, PruneReport, RowState, SessionId,
    Sort, Timestamp,
};

fn named(id: &str) -> CreateOptions {
    CreateOptions { id: Some(SessionId::new(id).unwrap()), ..CreateOptions::default() }
}

fn ids(store: &SessionStore, page: Page) -> Vec<String> {
    store.list(page).unwrap().rows.iter().map(|row| row.id.to_string()).collect()
}

#[test]
fn the_order_of_a_list() {
    let place = Place::new();
    let mut sessions: Vec<Session> = ["a", "b", "c"]
        .iter()
        .map(|id| {
            place.clock.advance(DAY);
            place.store.create(named(id)).unwrap()
        })
        .collect();
    place.clock.advance(DAY);
    turn(&mut sessions[1], 1);
    place.clock.advance(DAY);
    turn(&mut sessions[0], 1);
    assert_eq!(ids(&place.store, Page::default()), ["a", "b", "c"]);
    let created = Page { sort: Sort::Created, ..Page::default() };
    assert_eq!(ids(&place.store, created), ["c", "b", "a"]);
    let page = |skip, limit| Page { skip, limit, ..Page::default() };
    assert_eq!(ids(&place.store, page(0, 2)), ["a", "b"]);
    assert_eq!(ids(&place.store, page(2, 2)), ["c"]);
    assert!(ids(&place.store, page(3, 2)).is_empty());
    assert_eq!(place.store.list(page(1, 1)).unwrap().total, 3);
}

#[test]
fn a_row_tells_what_is_in_a_session() {
    let place = Place::new();
    let options = CreateOptions {
        title: Some("first title".into()),
        cwd: Some("/proj".into()),
        ..CreateOptions::default()
    };
    let mut session = place.store.create(options).unwrap();
    session.append(Message::user("\n\n  what is this?  \nmore")).unwrap();
    session.append(Message::assistant("a file").by_model("m", None)).unwrap();
    session.append(Message::tool("c", "r")).unwrap();
    session.rename("second title").unwrap();
    let row = place.again().list(Page::default()).unwrap().rows.remove(0);
    assert_eq!(row.title.unwrap(), "second title");
    assert_eq!(row.first_user.unwrap(), "what is this?");
    assert_eq!((row.messages, row.user_messages, row.assistant_messages), (3, 1, 1));
    assert_eq!((row.entries, row.state, row.damage), (5, RowState::Good, 0));
    assert_eq!((row.model.unwrap(), row.cwd.unwrap()), ("m".into(), "/proj".into()));
    assert_eq!(row.path, Some(file(&session)));
    assert_eq!(row.size, std::fs::metadata(file(&session)).unwrap().len());
    session.rename("").unwrap();
    assert_eq!(session.title(), None);
    assert_eq!(place.store.list(Page::default()).unwrap().rows.remove(0).title, None);
}

#[test]
fn ids_and_prefixes() {
    let place = Place::new();
    for id in ["20270115-080000-abcd0001", "20270115-080000-abcd0001-x", "20270116-080000-0feed000"]
    {
        place.store.create(named(id)).unwrap();
    }
    let opens = |query: &str| place.store.open(query).map(|session| session.id().to_string());
    assert_eq!(opens("20270115-080000-abcd0001").unwrap(), "20270115-080000-abcd0001");
    assert_eq!(opens("20270116").unwrap(), "20270116-080000-0feed000");
    assert_eq!(opens("20270116-").unwrap(), "20270116-080000-0feed000");
    assert_eq!(opens("0fee").unwrap(), "20270116-080000-0feed000");
    assert_eq!(opens("x").unwrap(), "20270115-080000-abcd0001-x");
    for (query, kind) in [
        ("20270115", ErrorKind::Ambiguous),
        ("2027", ErrorKind::Ambiguous),
        ("feed", ErrorKind::NotFound),
        ("20270117", ErrorKind::NotFound),
        ("", ErrorKind::Invalid),
        ("-", ErrorKind::Invalid),
        ("..", ErrorKind::Invalid),
        ("../sessions/x", ErrorKind::Invalid),
        ("a/b", ErrorKind::Invalid),
    ] {
        assert_eq!(opens(query).unwrap_err().kind(), kind, "{query:?}");
        assert_eq!(place.store.resolve(query).unwrap_err().kind(), kind, "{query:?}");
        assert_eq!(place.store.delete(query).unwrap_err().kind(), kind, "{query:?}");
    }
    assert_eq!(place.store.list(Page::default()).unwrap().total, 3);
}

#[test]
fn delete_restore_and_purge() {
    let place = Place::new();
    let mut session = place.store.create(named("one")).unwrap();
    turn(&mut session, 1);
    let content = text(&file(&session));
    let trashed = place.store.delete("one").unwrap();
    assert_eq!(text(trashed.path.as_ref().unwrap()), content);
    assert_eq!(place.store.trashed().unwrap(), [trashed]);
    let log = text(&place.root().join("trash/deletions.log"));
    assert!(log.contains("\"delete\"") && log.contains("\"one\""), "{log}");
    // Its place can be taken meanwhile.
    place.store.create(named("one")).unwrap();
    assert_eq!(place.store.restore("one").unwrap_err().kind(), ErrorKind::Exists);
    place.clock.advance(DAY);
    place.store.delete("one").unwrap();
    assert_eq!(place.store.trashed().unwrap().len(), 2);
    // The newest comes back first, then the other one can.
    place.store.restore("one").unwrap();
    assert!(context(&place.store.open("one").unwrap()).is_empty());
    place.store.delete("one").unwrap();
    assert_eq!(place.store.purge("one").unwrap().len(), 1);
    let back = place.store.restore("on").unwrap();
    assert_eq!(text(&file(&back)), content);
    assert!(place.store.trashed().unwrap().is_empty());
    assert_eq!(place.store.restore("one").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(place.store.purge("one").unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn purging_by_age() {
    let place = Place::new();
    for id in ["old", "new"] {
        place.store.create(named(id)).unwrap();
        place.store.delete(id).unwrap();
        place.clock.advance(10 * DAY);
    }
    let before = Timestamp::from_micros(START.as_micros() + 5 * DAY);
    let gone = place.store.purge_before(before).unwrap();
    assert_eq!(gone.iter().map(|gone| gone.id.as_str()).collect::<Vec<_>>(), ["old"]);
    assert_eq!(place.store.trashed().unwrap().len(), 1);
}

fn at(days: i64) -> PruneOptions {
    PruneOptions { before: Timestamp::from_micros(START.as_micros() + days * DAY), dry_run: false }
}

fn told(report: &PruneReport) -> (Vec<&str>, Vec<(&str, &'static str)>, usize) {
    let mut removed: Vec<&str> = report.removed.iter().map(|row| row.id.as_str()).collect();
    removed.sort_unstable();
    let mut skipped: Vec<(&str, &'static str)> =
        report.skipped.iter().map(|(row, why)| (row.id.as_str(), *why)).collect();
    skipped.sort_unstable();
    (removed, skipped, report.kept)
}

#[test]
fn prune_takes_old_sessions_only() {
    let place = Place::new();
    let make = |id: &str| {
        let mut session = place.store.create(named(id)).unwrap();
        turn(&mut session, 1);
        session
    };
    make("old");
    make("older-renamed");
    let pinned = Json::parse(r#"{"pinned":true}"#).unwrap();
    make("pinned").set_metadata(pinned).unwrap();
    place.store.create(named("empty")).unwrap();
    let damaged = file(&make("damaged"));
    std::fs::write(&damaged, format!("{}{{oops\n", text(&damaged))).unwrap();
    let mut open = make("open");
    place.clock.advance(20 * DAY);
    make("young");
    // Neither a new title nor the time of the file makes a session young.
    place.store.open("older-renamed").unwrap().rename("still old").unwrap();
    let touched = std::fs::File::options().append(true).open(place.sessions().join("old.jsonl"));
    touched.unwrap().set_modified(std::time::SystemTime::now()).unwrap();

    let old = ["old", "older-renamed"];
    let skipped =
        [("damaged", "damaged"), ("empty", "empty"), ("open", "open"), ("pinned", "pinned")];
    let dry = PruneOptions { dry_run: true, ..at(10) };
    let report = place.store.prune(dry).unwrap();
    assert_eq!(told(&report), (old.to_vec(), skipped.to_vec(), 1));
    assert_eq!(place.store.list(Page::default()).unwrap().total, 7, "a dry run removes nothing");
    let report = place.store.prune(at(10)).unwrap();
    assert_eq!(told(&report), (old.to_vec(), skipped.to_vec(), 1));
    assert_eq!(place.store.list(Page::default()).unwrap().total, 5);
    assert_eq!(place.store.trashed().unwrap().len(), 2);
    assert_eq!(text(&place.root().join("trash/deletions.log")).lines().count(), 2);
    open.append(Message::user("still here")).unwrap();
    // They can be brought back.
    assert_eq!(context(&place.store.restore("old").unwrap()).len(), 2);
    drop(open);
}

#[test]
fn prune_leaves_what_another_process_writes_to() {
    let place = Place::new();
    let mut session = place.store.create(named("theirs")).unwrap();
    let writer = place.again();
    let mut other = writer.open("theirs").unwrap();
    turn(&mut other, 1);
    session.reload().unwrap();
    drop(session);
    place.clock.advance(20 * DAY);
    let report = place.store.prune(at(10)).unwrap();
    assert_eq!(told(&report), (vec![], vec![("theirs", "open")], 0));
    drop(other);
    drop(writer);
    let report = place.store.prune(at(10)).unwrap();
    assert_eq!(told(&report), (vec!["theirs"], vec![], 0));
}

#[test]
fn prune_leaves_the_session_of_a_sub_agent_at_work() {
    let place = Place::new();
    let mut parent = place.store.create(named("parent")).unwrap();
    turn(&mut parent, 1);
    let child = place.store.create_subagent(&parent, "t1", "reviewer", CreateOptions::default());
    drop(parent);
    place.clock.advance(20 * DAY);
    assert_eq!(told(&place.store.prune(at(10)).unwrap()).1, [("parent", "open")]);
    drop(child);
    assert_eq!(told(&place.store.prune(at(10)).unwrap()).0, ["parent"]);
}

#[test]
fn sub_agents_lie_under_their_parent() {
    let place = Place::new();
    let mut parent = place.store.create(named("parent")).unwrap();
    turn(&mut parent, 1);
    let make = |task: &str| {
        place.store.create_subagent(&parent, task, "reviewer", CreateOptions::default())
    };
    let mut first = make("task_1").unwrap();
    turn(&mut first, 2);
    // The same task once more overwrites nothing.
    let second = make("task_1").unwrap();
    assert_ne!(file(&first), file(&second));
    assert_eq!(file(&first), place.sessions().join("parent/subagents/agent-task_1.jsonl"));
    assert_eq!(context(&first).len(), 2);
    let info = &first.facts().info;
    assert_eq!(info.agent_type.as_ref().unwrap(), "reviewer");
    assert_eq!(info.spawn_depth, Some(1));
    assert_eq!(info.parent_session_id.as_ref().unwrap(), "parent");
    assert_eq!(ids(&place.store, Page::default()), ["parent"], "it is no session of its own");
    let rows = place.store.subagents(parent.id()).unwrap().rows;
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row.parent_session == Some("parent".into())));
    assert_eq!(context(&parent), ["user:q1", "assistant:a1"], "the parent is not touched");
    // It opens by its id, and may spawn in turn.
    let again = place.again().open(first.id().as_str()).unwrap();
    let deeper = place.again().create_subagent(&again, "t", "coder", CreateOptions::default());
    assert_eq!(deeper.unwrap().facts().info.spawn_depth, Some(2));
    for task in ["", "../x", "a/b", "."] {
        assert_eq!(make(task).unwrap_err().kind(), ErrorKind::Invalid, "{task:?}");
    }
    // It goes with its parent, and comes back with it.
    let path: PathBuf = file(&first);
    let id = first.id().to_string();
    drop((first, second, again));
    place.store.delete("parent").unwrap();
    assert!(!path.exists());
    assert_eq!(place.again().open(&id).unwrap_err().kind(), ErrorKind::NotFound);
    place.store.restore("parent").unwrap();
    assert_eq!(context(&place.again().open(&id).unwrap()).len(), 2);
}

#[test]
fn a_sub_agent_of_another_store_is_refused() {
    let (place, other) = (Place::new(), Place::new());
    let parent = other.create();
    let error = place.store.create_subagent(&parent, "t", "x", CreateOptions::default());
    assert_eq!(error.unwrap_err().kind(), ErrorKind::NotFound);
    assert!(place.names("sessions").is_empty());
}

#[test]
fn a_root_that_is_a_file_is_refused() {
    let place = Place::new();
    let root = place.root().join("file");
    std::fs::write(&root, "x").unwrap();
    assert_eq!(SessionStore::open_root(&root).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn a_workspace_is_found_from_below() {
    let top = tempfile::tempdir().unwrap();
    let top = top.path().canonicalize().unwrap();
    let deep = top.join("src/deep");
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::create_dir(top.join(".git")).unwrap();
    let store = SessionStore::open_workspace(&forkwood::workspace::find(&deep)).unwrap();
    let session = store.create(CreateOptions::default()).unwrap();
    assert!(file(&session).starts_with(top.join(".forkwood/sessions")));
    // From now on the store itself marks the workspace, from anywhere in it.
    std::fs::create_dir(deep.join(".git")).unwrap();
    assert_eq!(forkwood::workspace::find(&deep), top);
}

#[test]
fn a_dry_run_sees_the_writers_that_a_prune_would_see() {
    let place = Place::new();
    let mut held = place.store.create(named("held")).unwrap();
    held.append(Message::user("x")).unwrap();
    let mut idle = place.store.create(named("idle")).unwrap();
    idle.append(Message::user("x")).unwrap();
    // Its writer has gone, and its file is no longer open.
    drop(idle);
    let other = place.again();
    place.clock.advance(20 * DAY);
    let names = place.names("sessions");
    let dry = other.prune(PruneOptions { dry_run: true, ..at(10) }).unwrap();
    assert_eq!(place.names("sessions"), names);
    let real = other.prune(at(10)).unwrap();
    assert_eq!(told(&dry), told(&real));
    assert!(told(&dry).1.contains(&("held", "open")), "{dry:?}");
    drop(held);
}
