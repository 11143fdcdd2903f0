//! What Pi's tests of the context say, for native sessions (pi.md, section 5, build-context).
//! Pi's own files are tested with its format, in `forkwood-formats`.

#![allow(clippy::unwrap_used)]

mod common;

use common::{context, path_ids, said, session, turn};
use forkwood::blocking::Session;
use forkwood::core::TreeError;
use forkwood::{
    Body, Compaction, CreateOptions, Entry, EntryId, ErrorKind, Lane, Message, Sequential,
    SessionState, SessionTree,
};

fn compact(session: &mut Session, summary: &str, first: &EntryId) -> EntryId {
    session
        .add_compaction(Compaction {
            summary: summary.into(),
            first_kept_entry_id: Some(first.clone()),
            ..Compaction::default()
        })
        .unwrap()
}

fn summary(text: &str) -> String {
    format!("user:Previous conversation summary:\n{text}")
}

// Mirrors: empty.
#[test]
fn an_empty_session_has_an_empty_context() {
    let session = session();
    let context = session.context().unwrap();
    assert!(context.messages().is_empty());
    assert_eq!((context.model(), context.leaf()), (None, session.leaf()));
}

// Mirrors: one user message.
#[test]
fn one_user_message() {
    let mut session = session();
    let id = session.append(Message::user("hi")).unwrap();
    assert_eq!(context(&session), ["user:hi"]);
    assert_eq!(session.context().unwrap().entry_ids(), [id]);
}

// Mirrors: a conversation.
#[test]
fn a_conversation() {
    let mut session = session();
    turn(&mut session, 1);
    turn(&mut session, 2);
    assert_eq!(context(&session), ["user:q1", "assistant:a1", "user:q2", "assistant:a2"]);
}

// Mirrors: the thinking level.
#[test]
fn the_thinking_level() {
    let mut session = session();
    turn(&mut session, 1);
    session.append(Body::ThinkingLevelChange { thinking_level: "high".into() }).unwrap();
    let context = session.context().unwrap();
    assert_eq!(context.settings().unwrap().thinking_level.as_ref().unwrap(), "high");
    assert_eq!(context.messages().len(), 2);
}

// Mirrors: the model comes from an assistant message.
#[test]
fn the_model_of_an_answer() {
    let mut session = session();
    session.append(Message::assistant("x").by_model("m", Some("p".into()))).unwrap();
    let context = session.context().unwrap();
    assert_eq!(context.model().unwrap(), "m");
    assert_eq!(context.settings().unwrap().provider.as_ref().unwrap(), "p");
}

// Mirrors: an assistant message overrides a model change before it, and the other way about.
#[test]
fn the_later_of_answer_and_change() {
    let mut session = session();
    let change = || Body::ModelChange { model: "set".into(), provider: Some("by hand".into()) };
    session.append(change()).unwrap();
    let answer = session.append(Message::assistant("x").by_model("m", Some("p".into()))).unwrap();
    assert_eq!(session.context().unwrap().model().unwrap(), "m");
    session.append(change()).unwrap();
    assert_eq!(session.context().unwrap().model().unwrap(), "set");
    assert_eq!(session.context_at(&answer).unwrap().model().unwrap(), "m");
}

// Mirrors: the summary stands before what is kept.
#[test]
fn the_summary_stands_before_what_is_kept() {
    let mut session = session();
    turn(&mut session, 1);
    let (kept, _) = turn(&mut session, 2);
    compact(&mut session, "S", &kept);
    turn(&mut session, 3);
    assert_eq!(
        context(&session),
        [&summary("S"), "user:q2", "assistant:a2", "user:q3", "assistant:a3"]
    );
}

// Mirrors: everything can be kept.
#[test]
fn everything_can_be_kept() {
    let mut session = session();
    let (first, _) = turn(&mut session, 1);
    turn(&mut session, 2);
    compact(&mut session, "nothing yet", &first);
    assert_eq!(
        context(&session),
        [&summary("nothing yet"), "user:q1", "assistant:a1", "user:q2", "assistant:a2"]
    );
}

// Mirrors: the latest of two compactions counts.
#[test]
fn the_latest_compaction_counts() {
    let mut session = session();
    let (first, _) = turn(&mut session, 1);
    compact(&mut session, "first", &first);
    let (second, _) = turn(&mut session, 2);
    compact(&mut session, "second", &second);
    turn(&mut session, 3);
    assert_eq!(
        context(&session),
        [&summary("second"), "user:q2", "assistant:a2", "user:q3", "assistant:a3"]
    );
}

// Mirrors: the leaf selects the branch.
#[test]
fn the_leaf_selects_the_branch() {
    let mut session = session();
    let (question, old) = turn(&mut session, 1);
    session.rewind(&question).unwrap();
    session.append(Message::assistant("new")).unwrap();
    let at = |id: &EntryId| said(session.context_at(id).unwrap().messages());
    assert_eq!(at(&old), ["user:q1", "assistant:a1"]);
    assert_eq!(at(session.leaf().unwrap()), ["user:q1", "assistant:new"]);
}

// Mirrors: a branch summary on the path is told.
#[test]
fn a_branch_summary_is_told() {
    let mut session = session();
    let (question, tip) = turn(&mut session, 1);
    session.rewind(&question).unwrap();
    let summary =
        Body::BranchSummary { summary: "tried A".into(), from_id: Some(tip), details: None };
    session.append(summary).unwrap();
    session.append(Message::user("now B")).unwrap();
    let shown = context(&session);
    assert_eq!((shown.len(), shown[0].as_str(), shown[2].as_str()), (3, "user:q1", "user:now B"));
    assert!(shown[1].starts_with("user:") && shown[1].contains("tried A"));
}

// Mirrors: a tree with branches and a compaction on one of them.
#[test]
fn a_compaction_counts_on_its_branch_only() {
    let mut session = session();
    let (question, answer) = turn(&mut session, 1);
    compact(&mut session, "S", &answer);
    turn(&mut session, 2);
    assert_eq!(context(&session)[0], summary("S"));
    session.rewind_past_compaction(&question).unwrap();
    session.append(Message::assistant("other")).unwrap();
    assert_eq!(context(&session), ["user:q1", "assistant:other"]);
    assert_eq!(session.latest_compaction().unwrap(), None);
}

// Mirrors: an unknown leaf. Pi falls back to the last entry; Forkwood says that it is not there.
#[test]
fn an_unknown_leaf_is_not_found() {
    let mut session = session();
    turn(&mut session, 1);
    let ghost = EntryId::new("ghost");
    assert_eq!(session.context_at(&ghost).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(session.state_at(&ghost).unwrap_err().kind(), ErrorKind::NotFound);
}

// Mirrors: an orphan. Pi shows it alone; Forkwood's fold is strict, and its reader settles such
// a link first and tells of it.
#[test]
fn an_orphan() {
    let orphan = Entry {
        id: "o".into(),
        parent_id: Some("gone".into()),
        timestamp: None,
        lane: Lane::main(),
        more: 0,
        body: Message::user("alone").into(),
        extra: Vec::new(),
    };
    let line = forkwood::core::entry::codec::encode(&orphan);
    assert_eq!(
        SessionState::from_entries(&[orphan], None).unwrap_err(),
        TreeError::MissingParent("gone".into())
    );
    let place = common::Place::new();
    let mut session = place.store.create(CreateOptions::default()).unwrap();
    turn(&mut session, 1);
    let file = common::file(&session);
    std::fs::write(&file, format!("{}{line}\n", common::text(&file))).unwrap();
    let again = place.again().open(session.id().as_str()).unwrap();
    assert_eq!(context(&again), ["user:q1", "assistant:a1", "user:alone"]);
    let found = again.check().unwrap();
    assert!(found.iter().any(|f| f.is_damage() && f.entry == Some("o".into())), "{found:?}");
}

// The same conversation without any storage.
#[test]
fn the_tree_in_memory_shows_the_same() {
    let mut session = session();
    let mut tree = SessionTree::new(std::sync::Arc::new(Sequential::new("e")));
    for n in 0..3 {
        let message = Message::user(format!("{n}"));
        session.append(message.clone()).unwrap();
        tree.add_entry(message, None).unwrap();
    }
    assert_eq!(tree.state().unwrap().messages(), session.context().unwrap().messages());
    assert_eq!(tree.current_path().len() + 1, path_ids(&session).len());
}
