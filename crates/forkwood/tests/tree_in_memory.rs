//! The tree in memory: its JSON lines round trip, whatever was done to it.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use forkwood::{Body, Entry, EntryId, Message, Sequential, SessionTree};
use proptest::prelude::*;

fn tree(prefix: &str) -> SessionTree {
    SessionTree::new(Arc::new(Sequential::new(prefix)))
}

fn read(text: &str) -> SessionTree {
    SessionTree::from_jsonl(text, Arc::new(Sequential::new("e"))).unwrap()
}

#[derive(Clone, Debug)]
enum Step {
    Say(String),
    SayAt(usize, String),
    Label(usize),
    Rewind(usize),
    Leaf(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let text = || prop::string::string_regex("(\\PC|\n|\u{1f600}|\"|\\\\){0,6}").unwrap();
    let step = prop_oneof![
        4 => text().prop_map(Step::Say),
        2 => (any::<usize>(), text()).prop_map(|(at, text)| Step::SayAt(at, text)),
        1 => any::<usize>().prop_map(Step::Label),
        2 => any::<usize>().prop_map(Step::Rewind),
        1 => any::<usize>().prop_map(Step::Leaf),
    ];
    prop::collection::vec(step, 0..24)
}

fn apply(tree: &mut SessionTree, step: &Step) {
    let pick = |tree: &SessionTree, at: usize| -> Option<EntryId> {
        let entries = tree.entries();
        (!entries.is_empty()).then(|| entries[at % entries.len()].id.clone())
    };
    match step {
        Step::Say(text) => {
            tree.add_entry(Message::user(text.clone()), None).unwrap();
        }
        Step::SayAt(at, text) => {
            let parent = pick(tree, *at);
            tree.add_entry(Message::assistant(text.clone()), parent.as_ref()).unwrap();
        }
        Step::Label(at) => {
            let Some(target) = pick(tree, *at) else { return };
            let label = Body::Label { label: Some("x".into()), target_id: Some(target) };
            tree.add_entry(label, None).unwrap();
        }
        Step::Rewind(at) => {
            let Some(target) = pick(tree, *at) else { return };
            tree.rewind(&target).unwrap();
        }
        Step::Leaf(at) => {
            let Some(target) = pick(tree, *at) else { return };
            tree.add_entry(Body::Leaf { leaf_id: Some(target) }, None).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lines_round_trip(before in steps(), after in steps()) {
        let mut tree = tree("e");
        before.iter().for_each(|step| apply(&mut tree, step));
        let text = tree.to_jsonl();
        let mut again = read(&text);
        prop_assert_eq!(again.entries(), tree.entries());
        prop_assert_eq!(again.current_id(), tree.current_id());
        prop_assert_eq!(again.root_id(), tree.root_id());
        prop_assert_eq!(again.to_jsonl(), text);
        // Both go on alike, though the source of ids of one starts anew.
        for step in &after {
            apply(&mut tree, step);
            apply(&mut again, step);
        }
        let ids = |entries: &[&Entry]| entries.iter().map(|e| e.id.clone()).collect::<Vec<_>>();
        prop_assert_eq!(ids(&again.current_path()), ids(&tree.current_path()));
        prop_assert_eq!(again.state().unwrap(), tree.state().unwrap());
        for entry in tree.current_path() {
            prop_assert!(entry.message().is_some(), "only what stands on the path");
        }
    }
}

#[test]
fn a_file_of_a_session_is_a_tree() {
    let folder = tempfile::tempdir().unwrap();
    let store = forkwood::blocking::SessionStore::open_root(folder.path()).unwrap();
    let mut session = store.create(Default::default()).unwrap();
    let question = session.append(Message::user("q")).unwrap();
    session.append(Message::assistant("a")).unwrap();
    session.create_lane(forkwood::Lane::new("side").unwrap(), &question).unwrap();
    let mut side = session.clone();
    side.use_lane(forkwood::Lane::new("side").unwrap()).unwrap();
    side.append(Message::assistant("b")).unwrap();
    let text = std::fs::read_to_string(session.facts().path.clone().unwrap()).unwrap();
    let tree = read(&text);
    assert_eq!(tree.current_id(), session.leaf(), "another lane moves main nowhere");
    let leaf = session.leaf().cloned().unwrap();
    assert_eq!(tree.state().unwrap(), session.state_at(&leaf).unwrap());
    session.rewind(&question).unwrap();
    let text = std::fs::read_to_string(session.facts().path.clone().unwrap()).unwrap();
    assert_eq!(read(&text).current_id(), Some(&question));
}

#[test]
fn damage_is_named() {
    let line = |id: &str, parent: &str| {
        format!(
            r#"{{"id":"{id}","parentId":{parent},"type":"message","message":{{"role":"user","content":"x"}}}}"#
        )
    };
    let kind = |lines: &[String]| {
        let ids = Arc::new(Sequential::new("e"));
        SessionTree::from_jsonl(&lines.join("\n"), ids).unwrap_err().kind()
    };
    assert_eq!(kind(&[line("a", "\"a\"")]), "cycle");
    assert_eq!(kind(&[line("r", "null"), line("a", "\"b\""), line("b", "\"a\"")]), "cycle");
    assert_eq!(kind(&[line("a", "\"gone\"")]), "missing_parent");
    assert_eq!(kind(&[line("a", "null"), line("a", "null")]), "duplicate");
    let leaf = r#"{"id":"l","parentId":"a","type":"leaf","leafId":"ghost"}"#.to_owned();
    assert_eq!(kind(&[line("a", "null"), leaf]), "not_found");
    assert_eq!(kind(&[line("a", "null"), "{".into()]), "invalid");
}

#[test]
fn children_may_stand_before_their_parents_and_long_chains_are_a_walk() {
    let mut lines: Vec<String> = (1..20_000)
        .map(|n| {
            format!(
                r#"{{"id":"{n}","parentId":"{}","type":"thinking_level_change","thinkingLevel":"x"}}"#,
                n - 1
            )
        })
        .collect();
    lines.push(
        r#"{"id":"0","parentId":null,"type":"thinking_level_change","thinkingLevel":"x"}"#.into(),
    );
    lines.reverse();
    let tree = read(&lines.join("\n"));
    assert_eq!(tree.path_to(&"19999".into()).unwrap().len(), 20_000);
    lines.reverse();
    assert_eq!(read(&lines.join("\n")).entries().len(), 20_000);
}
