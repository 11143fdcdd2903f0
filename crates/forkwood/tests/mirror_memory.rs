//! The behaviours of my-pi-agent's state and memory storage tests, in the sense that Forkwood
//! gives them.

#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use common::{context, memory, said, session, turn};
use forkwood::blocking::SessionStore;
use forkwood::core::{FoldRules, TreeError};
use forkwood::storage::{MemoryStorage, NewSession};
use forkwood::{
    AppendOptions, Body, CreateOptions, Entry, EntryId, Lane, Message, SessionInfo, SessionState,
    SessionStorage, Settings,
};

fn entry(id: &str, parent: Option<&str>, body: impl Into<Body>) -> Entry {
    Entry {
        id: id.into(),
        parent_id: parent.map(EntryId::from),
        timestamp: None,
        lane: Lane::main(),
        more: 0,
        body: body.into(),
        extra: Vec::new(),
    }
}

/// `a` and `b` say `one` and `two`, then what is given follows, each hanging from the one before.
fn log(bodies: Vec<Body>) -> Vec<Entry> {
    let mut entries = vec![
        entry("a", None, Message::user("one")),
        entry("b", Some("a"), Message::assistant("two")),
    ];
    for (n, body) in bodies.into_iter().enumerate() {
        let parent = entries.last().unwrap().id.clone();
        entries.push(entry(&format!("k{n}"), Some(parent.as_str()), body));
    }
    entries
}

fn shows(bodies: Vec<Body>) -> Vec<String> {
    said(SessionState::from_entries(&log(bodies), None).unwrap().messages())
}

fn compaction(summary: &str, replaces: &[&str]) -> Body {
    Body::Compaction(forkwood::Compaction {
        summary: summary.into(),
        replaces_entry_ids: replaces.iter().map(|id| EntryId::from(*id)).collect(),
        ..Default::default()
    })
}

fn model(model: &str, provider: Option<&str>) -> Body {
    Body::ModelChange { model: model.into(), provider: provider.map(Into::into) }
}

fn summary(text: &str) -> String {
    format!("user:Previous conversation summary:\n{text}")
}

// Mirrors: the state has defaults and cannot be changed.
#[test]
fn a_state_starts_empty_and_is_a_value() {
    let state = SessionState::default();
    assert!(state.messages().is_empty() && state.entry_ids().is_empty());
    assert_eq!(state.settings(), &Settings::default());
    assert_eq!((state.label(), state.leaf_id()), (None, None));
    let mut session = session();
    let (question, _) = turn(&mut session, 1);
    let before = session.state_at(&question).unwrap();
    turn(&mut session, 2);
    assert_eq!(session.state_at(&question).unwrap(), before);
}

// Mirrors: no entries.
#[test]
fn no_entries_give_the_defaults() {
    assert_eq!(SessionState::from_entries(&[], None).unwrap(), SessionState::default());
}

// Mirrors: a fold in order.
#[test]
fn a_fold_in_order() {
    let entries = log(vec![
        model("m", Some("p")),
        Body::ThinkingLevelChange { thinking_level: "high".into() },
        Message::user("three").into(),
        Body::Label { label: Some("v1".into()), target_id: None },
    ]);
    let state = SessionState::from_entries(&entries, None).unwrap();
    assert_eq!(said(state.messages()), ["user:one", "assistant:two", "user:three"]);
    assert_eq!(state.entry_ids(), [EntryId::from("a"), "b".into(), "k2".into()]);
    assert_eq!(state.settings().model.as_ref().unwrap(), "m");
    assert_eq!(state.settings().provider.as_ref().unwrap(), "p");
    assert_eq!(state.settings().thinking_level.as_ref().unwrap(), "high");
    assert_eq!(state.label().unwrap(), "v1");
    assert_eq!(state.leaf_id().unwrap().as_str(), "k2", "a label is no place to stand");
}

// Mirrors: a model change without a provider keeps the provider.
#[test]
fn the_provider_is_kept() {
    let entries = log(vec![model("m1", Some("p")), model("m2", None)]);
    let settings = SessionState::from_entries(&entries, None).unwrap().settings().clone();
    assert_eq!((settings.model.unwrap(), settings.provider.unwrap()), ("m2".into(), "p".into()));
}

// Mirrors: custom entries and branch summaries are ignored. Forkwood tells a model of a branch
// that was left, but for my-pi-agent's files.
#[test]
fn custom_entries_are_ignored_and_branch_summaries_by_rule() {
    let entries = log(vec![
        Body::Custom { namespace: "n".into(), data: forkwood::Json::empty_object(), aside: false },
        Body::BranchSummary { summary: "went there".into(), from_id: None, details: None },
    ]);
    let native = SessionState::from_entries(&entries, None).unwrap();
    assert_eq!(native.messages().len(), 3);
    assert!(native.messages()[2].content.text().to_string().contains("went there"));
    let rules = FoldRules { branch_summaries: false, ..FoldRules::NATIVE };
    let theirs = SessionState::from_entries_with(&entries, None, &rules).unwrap();
    assert_eq!(said(theirs.messages()), ["user:one", "assistant:two"]);
}

// Mirrors: a compaction of the start.
#[test]
fn a_compaction_of_the_start() {
    let shown = shows(vec![compaction("S", &["a", "b"]), Message::user("three").into()]);
    assert_eq!(shown, [summary("S"), "user:three".into()]);
}

// Mirrors: a compaction that takes an earlier one in.
#[test]
fn a_compaction_takes_an_earlier_one_in() {
    let shown = shows(vec![
        compaction("S1", &["a"]),
        Message::user("three").into(),
        compaction("S2", &["k0", "b"]),
    ]);
    assert_eq!(shown, [summary("S2"), "user:three".into()]);
}

// Mirrors: the prefix of a summary stands once.
#[test]
fn the_prefix_stands_once() {
    let shown = shows(vec![compaction("Previous conversation summary:\nS", &["a", "b"])]);
    assert_eq!(shown, [summary("S")]);
}

// Mirrors: a compaction in the middle.
#[test]
fn a_compaction_in_the_middle() {
    let shown = shows(vec![Message::user("three").into(), compaction("S", &["b"])]);
    assert_eq!(shown, ["user:one".into(), summary("S"), "user:three".into()]);
}

// Mirrors: a compaction whose entries are not there goes to the end.
#[test]
fn a_compaction_of_what_is_not_there() {
    let shown = shows(vec![compaction("S", &["ghost"]), Message::user("three").into()]);
    assert_eq!(shown, ["user:one", "assistant:two", &summary("S"), "user:three"]);
}

// Mirrors: a compaction that replaces nothing goes to the end.
#[test]
fn a_compaction_of_nothing() {
    let shown = shows(vec![compaction("S", &[]), Message::user("three").into()]);
    assert_eq!(shown, ["user:one", "assistant:two", &summary("S"), "user:three"]);
}

// Mirrors: a single entry.
#[test]
fn a_single_entry() {
    let entries = [entry("a", None, Message::user("one"))];
    let state = SessionState::from_entries(&entries, None).unwrap();
    assert_eq!(
        (said(state.messages()), state.leaf_id().unwrap().as_str()),
        (vec!["user:one".into()], "a")
    );
}

// Mirrors: an explicit leaf.
#[test]
fn an_explicit_leaf() {
    let state = SessionState::from_entries(&log(vec![model("m", None)]), Some(&"a".into()));
    let state = state.unwrap();
    assert_eq!(said(state.messages()), ["user:one"]);
    assert_eq!(state.settings().model, None);
}

// Mirrors: without one, the last leaf entry decides. What is appended after it counts, too:
// the reference lost it.
#[test]
fn the_last_leaf_entry_decides() {
    let to = |id: &str| Body::Leaf { leaf_id: Some(id.into()) };
    assert_eq!(shows(vec![to("b"), to("a")]), ["user:one"]);
    let mut entries = log(vec![to("a")]);
    entries.push(entry("c", Some("a"), Message::assistant("other")));
    let state = SessionState::from_entries(&entries, None).unwrap();
    assert_eq!(said(state.messages()), ["user:one", "assistant:other"]);
    assert_eq!(state.leaf_id().unwrap().as_str(), "c");
}

// Mirrors: an unknown leaf is refused.
#[test]
fn an_unknown_leaf_is_refused() {
    let error = SessionState::from_entries(&log(vec![]), Some(&"ghost".into())).unwrap_err();
    assert_eq!(error, TreeError::NotFound("ghost".into()));
}

// Mirrors: the memory storage keeps the protocol of storages.
#[test]
fn the_memory_storage_is_a_storage() {
    let storage: Arc<dyn SessionStorage> = Arc::new(MemoryStorage::new().unwrap());
    assert!(!storage.capabilities().durable);
    let store = SessionStore::new(storage);
    let mut session = store.create(CreateOptions::default()).unwrap();
    turn(&mut session, 1);
    assert_eq!(context(&session), ["user:q1", "assistant:a1"]);
    assert_eq!(session.facts().path, None);
}

// Mirrors: what is read is a copy.
#[test]
fn what_is_read_is_a_copy() {
    let mut session = session();
    turn(&mut session, 1);
    let mut entries = session.entries().unwrap();
    let kept = entries.clone();
    entries.clear();
    assert_eq!(session.entries().unwrap(), kept);
}

// Mirrors: fifty writers at once.
#[test]
fn fifty_writers_at_once() {
    let store = memory();
    let session = store.create(CreateOptions::default()).unwrap();
    std::thread::scope(|scope| {
        for n in 0..50 {
            let mut session = session.clone();
            scope.spawn(move || {
                let options = AppendOptions { any: true, ..AppendOptions::default() };
                let body = Message::user(format!("{n}")).into();
                session.append_batch(vec![body], options).unwrap();
            });
        }
    });
    let mut said = context(&session);
    said.sort();
    let mut all: Vec<String> = (0..50).map(|n| format!("user:{n}")).collect();
    all.sort();
    assert_eq!(said, all, "one line of fifty, none lost");
    assert_eq!(session.branches().unwrap().len(), 1);
}

// Mirrors: a storage that starts with entries.
#[test]
fn a_session_can_start_with_entries() {
    let storage = Arc::new(MemoryStorage::new().unwrap());
    let new = NewSession {
        info: SessionInfo { title: Some("t".into()), ..SessionInfo::default() },
        entries: log(vec![]),
        ..NewSession::default()
    };
    let facts = pollster::block_on(storage.create(new)).unwrap();
    let session = SessionStore::new(storage).open(facts.id.as_str()).unwrap();
    assert_eq!(context(&session), ["user:one", "assistant:two"]);
    assert_eq!(session.leaf().unwrap().as_str(), "b");
    assert_eq!(session.title().unwrap(), "t");
}

// Mirrors: the package exports what a caller needs. One `use` of the facade is enough.
#[test]
fn the_facade_exports_what_a_caller_needs() {
    use forkwood::{
        Branch, Context, Cursor, Diagnostic, Durability, ErrorKind, ForkOptions, Page,
        PruneOptions, Session, SessionId, SessionTree, Sort, WatchEvent,
    };
    fn named<T>() -> &'static str {
        std::any::type_name::<T>()
    }
    let names = [
        named::<Session>(),
        named::<SessionTree>(),
        named::<forkwood::SessionStore>(),
        named::<Context>(),
        named::<Branch>(),
        named::<(Cursor, Diagnostic, Durability, ErrorKind)>(),
        named::<(ForkOptions, Page, PruneOptions, SessionId, Sort, WatchEvent)>(),
    ];
    assert!(names.iter().all(|name| name.contains("forkwood")));
}
