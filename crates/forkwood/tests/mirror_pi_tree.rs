//! What Pi's tests of the tree say, for native sessions (pi.md, section 5, tree-traversal).

#![allow(clippy::unwrap_used)]

mod common;

use common::{Place, context, file, path_ids, session, text, turn};
use forkwood::blocking::Session;
use forkwood::{Body, Compaction, EntryId, EntryKind, ErrorKind, ForkOptions, Json, Message};

fn parent(session: &Session, id: &EntryId) -> EntryId {
    session.get(id).unwrap().entry.parent_id.unwrap()
}

fn say(session: &mut Session, text: &str) -> EntryId {
    session.append(Message::user(text)).unwrap()
}

// Mirrors: entries hang from one another in a chain.
#[test]
fn a_chain_of_parents() {
    let mut session = session();
    let root = session.leaf().cloned().unwrap();
    let (a, b) = turn(&mut session, 1);
    let c = say(&mut session, "c");
    assert_eq!((parent(&session, &a), parent(&session, &b)), (root, a));
    assert_eq!(parent(&session, &c), b);
}

// Mirrors: changes of thinking level and model, compactions, custom entries and custom messages
// stand in the tree, and what follows hangs from them. Five of Pi's tests.
#[test]
fn other_entries_stand_in_the_tree() {
    let custom = Body::Custom { namespace: "n".into(), data: Json::empty_object(), aside: false };
    let message = Body::CustomMessage {
        namespace: "n".into(),
        content: Message::user("x").content,
        display: true,
    };
    for body in [
        Body::ThinkingLevelChange { thinking_level: "low".into() },
        Body::ModelChange { model: "m".into(), provider: None },
        Compaction { summary: "s".into(), ..Compaction::default() }.into(),
        custom,
        message,
    ] {
        let mut session = session();
        let (_, answer) = turn(&mut session, 1);
        let kind = body.kind();
        let id = session.append(body).unwrap();
        let next = say(&mut session, "next");
        assert_eq!(
            (parent(&session, &id), parent(&session, &next)),
            (answer, id.clone()),
            "{kind:?}"
        );
        assert_eq!(session.get(&id).unwrap().entry.kind(), kind);
    }
}

// Mirrors: the leaf goes on with each append.
#[test]
fn the_leaf_goes_on() {
    let mut session = session();
    for n in 0..5 {
        let id = say(&mut session, &n.to_string());
        assert_eq!(session.leaf(), Some(&id));
        assert_eq!(session.current_leaf().unwrap(), Some(id));
    }
}

// Mirrors getBranch: of a new session only the header.
#[test]
fn the_path_of_a_new_session() {
    let session = session();
    let path = session.current_path().unwrap();
    assert_eq!((path.len(), path[0].kind()), (1, EntryKind::SessionInfo));
}

// Mirrors getBranch: of one entry.
#[test]
fn the_path_of_one_entry() {
    let mut session = session();
    let id = say(&mut session, "x");
    assert_eq!(path_ids(&session)[1..], [id]);
}

// Mirrors getBranch: the whole path from the leaf.
#[test]
fn the_whole_path() {
    let mut session = session();
    let ids: Vec<EntryId> = (0..4).map(|n| say(&mut session, &n.to_string())).collect();
    assert_eq!(path_ids(&session)[1..], ids);
}

// Mirrors getBranch: the path from any entry.
#[test]
fn the_path_from_any_entry() {
    let mut session = session();
    let ids: Vec<EntryId> = (0..4).map(|n| say(&mut session, &n.to_string())).collect();
    assert_eq!(session.path_ids(&ids[1]).unwrap()[1..], ids[..2]);
    let path = session.path_to(&ids[1]).unwrap();
    assert_eq!(path.last().unwrap().id, ids[1]);
}

// Mirrors getTree: empty.
#[test]
fn the_tree_of_a_new_session() {
    let session = session();
    let roots = session.children(None).unwrap();
    assert_eq!(roots, [session.leaf().cloned().unwrap()]);
    assert!(session.children(Some(&roots[0])).unwrap().is_empty());
    assert_eq!(session.branches().unwrap().len(), 1);
}

// Mirrors getTree: linear.
#[test]
fn a_linear_tree() {
    let mut session = session();
    let (a, b) = turn(&mut session, 1);
    assert_eq!(session.children(Some(&a)).unwrap(), std::slice::from_ref(&b));
    let branches = session.branches().unwrap();
    assert_eq!((branches.len(), &branches[0].tip), (1, &b));
    assert_eq!((branches[0].fork_point.clone(), branches[0].depth, branches[0].own), (None, 3, 3));
    assert!(branches[0].current);
}

// Mirrors getTree: with a branch.
#[test]
fn a_tree_with_a_branch() {
    let mut session = session();
    let (a, b) = turn(&mut session, 1);
    session.rewind(&a).unwrap();
    let c = say(&mut session, "c");
    assert_eq!(session.children(Some(&a)).unwrap(), [b.clone(), c.clone()]);
    let branches = session.branches().unwrap();
    assert_eq!(branches.iter().map(|branch| branch.tip.clone()).collect::<Vec<_>>(), [b, c]);
    assert_eq!(branches.iter().map(|branch| branch.current).collect::<Vec<_>>(), [false, true]);
}

// Mirrors getTree: three siblings, in the order in which they were written.
#[test]
fn three_siblings() {
    let mut session = session();
    let a = say(&mut session, "a");
    let mut siblings = Vec::new();
    for n in 0..3 {
        session.rewind(&a).unwrap();
        siblings.push(say(&mut session, &n.to_string()));
    }
    assert_eq!(session.children(Some(&a)).unwrap(), siblings);
    assert_eq!(session.branches().unwrap().len(), 3);
}

// Mirrors getTree: deep branches.
#[test]
fn branches_of_branches() {
    let mut session = session();
    let (a, b) = turn(&mut session, 1);
    let (c, d) = turn(&mut session, 2);
    session.rewind(&c).unwrap();
    let e = say(&mut session, "e");
    session.rewind(&a).unwrap();
    let f = say(&mut session, "f");
    let branches = session.branches().unwrap();
    let of = |tip: &EntryId| branches.iter().find(|branch| branch.tip == *tip).unwrap();
    assert_eq!(of(&d).fork_point, Some(c.clone()));
    assert_eq!(of(&e).fork_point, Some(c));
    assert_eq!((of(&f).fork_point.clone(), of(&f).own), (Some(a), 1));
    assert_eq!(session.children(Some(&b)).unwrap().len(), 1);
}

// Mirrors branch: it moves the leaf.
#[test]
fn rewind_moves_the_leaf() {
    let mut session = session();
    let (a, _) = turn(&mut session, 1);
    session.rewind(&a).unwrap();
    assert_eq!(session.leaf(), Some(&a));
    assert_eq!(context(&session), ["user:q1"]);
}

// Mirrors branch: an unknown entry is refused.
#[test]
fn rewind_to_an_unknown_entry_is_refused() {
    let mut session = session();
    let error = session.rewind(&"ghost".into()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

// Mirrors branch: new entries are children of where it went.
#[test]
fn what_follows_a_rewind_hangs_there() {
    let mut session = session();
    let (a, b) = turn(&mut session, 1);
    session.rewind(&a).unwrap();
    let c = say(&mut session, "c");
    assert_eq!((parent(&session, &c), parent(&session, &b)), (a.clone(), a));
}

// Mirrors branchWithSummary: the summary stands where it went, and the next entry behind it.
#[test]
fn a_branch_with_a_summary() {
    let mut session = session();
    let (a, b) = turn(&mut session, 1);
    session.rewind(&a).unwrap();
    let summary = Body::BranchSummary {
        summary: "what b said".into(),
        from_id: Some(b.clone()),
        details: None,
    };
    let summary = session.append(summary).unwrap();
    let next = say(&mut session, "next");
    assert_eq!((parent(&session, &summary), parent(&session, &next)), (a, summary.clone()));
    let Body::BranchSummary { from_id, .. } = session.get(&summary).unwrap().entry.body else {
        panic!("not a branch summary")
    };
    assert_eq!(from_id, Some(b));
}

// Mirrors branchWithSummary: an unknown entry is refused, and nothing is written.
#[test]
fn a_branch_from_an_unknown_entry_writes_nothing() {
    let mut session = session();
    turn(&mut session, 1);
    let before = session.entries().unwrap();
    let options = forkwood::AppendOptions {
        parent: Some("ghost".into()),
        ..forkwood::AppendOptions::default()
    };
    let body = Body::BranchSummary { summary: "s".into(), from_id: None, details: None };
    let error = session.append_batch(vec![body], options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(session.entries().unwrap(), before);
}

// Mirrors: the entry at the leaf, and entries by id. Four of Pi's tests.
#[test]
fn entries_are_looked_up() {
    let mut session = session();
    let root = session.leaf().cloned().unwrap();
    assert_eq!(session.get(&root).unwrap().entry.kind(), EntryKind::SessionInfo);
    let (a, b) = turn(&mut session, 1);
    let text =
        |id: &EntryId| session.get(id).unwrap().entry.message().unwrap().content.text().to_string();
    assert_eq!((text(&a), text(&b)), ("q1".into(), "a1".into()));
    assert_eq!(session.leaf(), Some(&b));
    let error = session.get(&"ghost".into()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

// Mirrors: the context is that of the branch alone.
#[test]
fn the_context_is_of_the_branch_alone() {
    let mut session = session();
    let (a, _) = turn(&mut session, 1);
    turn(&mut session, 2);
    session.rewind(&a).unwrap();
    say(&mut session, "other");
    assert_eq!(context(&session), ["user:q1", "user:other"]);
}

// Mirrors createBranchedSession: an unknown entry is refused.
#[test]
fn a_fork_at_an_unknown_entry_is_refused() {
    let place = Place::new();
    let session = place.create();
    let error =
        place.store.fork(&session, Some(&"ghost".into()), ForkOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

// Mirrors createBranchedSession: in memory.
#[test]
fn a_fork_in_memory() {
    let store = common::memory();
    let mut session = store.create(forkwood::CreateOptions::default()).unwrap();
    let (a, _) = turn(&mut session, 1);
    let fork = store.fork(&session, Some(&a), ForkOptions::default()).unwrap();
    assert_ne!(fork.id(), session.id());
    assert_eq!(context(&fork), ["user:q1"]);
    assert_eq!(store.list(Default::default()).unwrap().rows.len(), 2);
}

// Mirrors createBranchedSession: it takes the path out of a branching tree.
#[test]
fn a_fork_takes_one_path_out_of_a_tree() {
    let place = Place::new();
    let mut session = place.create();
    let (a, old) = turn(&mut session, 1);
    session.rewind(&a).unwrap();
    turn(&mut session, 2);
    let fork = place.store.fork(&session, Some(&old), ForkOptions::default()).unwrap();
    assert_eq!(context(&fork), ["user:q1", "assistant:a1"]);
    assert_eq!(fork.branches().unwrap().len(), 1);
    assert_eq!(fork.entries().unwrap().len(), 3);
}

// Mirrors createBranchedSession: forked at the first user message, and gone on with, nothing is
// written twice.
#[test]
fn a_fork_at_the_first_message_holds_nothing_twice() {
    let place = Place::new();
    let mut session = place.create();
    let (a, _) = turn(&mut session, 1);
    let mut fork = place.store.fork(&session, Some(&a), ForkOptions::default()).unwrap();
    assert_eq!(text(&file(&fork)).lines().count(), 2, "it is on disk at once");
    fork.append(Message::assistant("other")).unwrap();
    let again = place.again().open(fork.id().as_str()).unwrap();
    assert_eq!(context(&again), ["user:q1", "assistant:other"]);
    assert_eq!(text(&file(&fork)).lines().count(), 3);
}

// Mirrors: usage entries survive a reload, and say nothing to a model.
#[test]
fn usage_survives_a_reload() {
    let place = Place::new();
    let mut session = place.create();
    turn(&mut session, 1);
    let usage = Body::Usage {
        kind: "summary".into(),
        provider: "p".into(),
        model: "other".into(),
        usage: Json::parse(r#"{"input":7,"cost":{"total":0.10}}"#).unwrap(),
    };
    let id = session.append(usage.clone()).unwrap();
    let again = place.again().open(session.id().as_str()).unwrap();
    assert_eq!(again.get(&id).unwrap().entry.body, usage);
    assert_eq!(context(&again).len(), 2);
    assert_eq!(again.context().unwrap().model(), None);
}
