use std::sync::Arc;

use super::SessionTree;
use crate::{EntryId, Message, Sequential};

fn branched() -> SessionTree {
    let mut tree = SessionTree::new(Arc::new(Sequential::new("e")));
    let question = tree.add_entry(Message::user("q"), None).unwrap();
    tree.add_entry(Message::assistant("a"), None).unwrap();
    tree.rewind(&question).unwrap();
    tree.add_entry(Message::assistant("b"), None).unwrap();
    tree
}

fn ids(entries: &[&crate::Entry]) -> Vec<String> {
    entries.iter().map(|entry| entry.id.to_string()).collect()
}

#[test]
fn the_first_entry_is_root_and_current() {
    let mut tree = SessionTree::new(Arc::new(Sequential::new("e")));
    assert_eq!((tree.current_id(), tree.root_id()), (None, None));
    assert!(tree.current_path().is_empty());
    let id = tree.add_entry(Message::user("q"), None).unwrap();
    assert_eq!((tree.current_id(), tree.root_id()), (Some(&id), Some(&id)));
}

#[test]
fn a_rewind_keeps_the_old_branch_and_the_next_entry_grows_a_new_one() {
    let tree = branched();
    assert_eq!(ids(&tree.current_path()), ["e1", "e3"]);
    assert_eq!(ids(&tree.path_to(&"e2".into()).unwrap()), ["e1", "e2"]);
    assert_eq!(ids(&tree.children(&"e1".into())), ["e2", "e3"]);
    assert_eq!(tree.state().unwrap().messages().len(), 2);
}

#[test]
fn an_explicit_parent_moves_there() {
    let mut tree = branched();
    tree.add_entry(Message::user("more"), Some(&"e2".into())).unwrap();
    assert_eq!(ids(&tree.current_path()), ["e1", "e2", "e4"]);
}

#[test]
fn unknown_entries_are_refused_and_change_nothing() {
    let mut tree = branched();
    let ghost = EntryId::new("ghost");
    assert!(tree.rewind(&ghost).is_err());
    assert!(tree.add_entry(Message::user("x"), Some(&ghost)).is_err());
    assert!(tree.path_to(&ghost).is_err());
    assert_eq!(tree.current_id().unwrap().as_str(), "e3");
    assert_eq!(tree.entries().len(), 3);
}

#[test]
fn jsonl_round_trips_with_the_pointer() {
    let mut tree = branched();
    tree.rewind(&"e2".into()).unwrap();
    let again = SessionTree::from_jsonl(&tree.to_jsonl(), Arc::new(Sequential::new("f"))).unwrap();
    assert_eq!(again.entries(), tree.entries());
    assert_eq!(again.current_id(), tree.current_id());
    assert_eq!(again.root_id(), tree.root_id());
    assert_eq!(again.to_jsonl(), tree.to_jsonl());
}

#[test]
fn damaged_jsonl_names_the_line() {
    let read = |text: &str| SessionTree::from_jsonl(text, Arc::new(Sequential::new("e")));
    let error = read("{\"id\":\"a\",\"type\":\"leaf\"}\n\nnope\n").unwrap_err().to_string();
    assert!(error.contains("line 3"), "{error}");
    let orphan =
        r#"{"id":"a","parentId":"gone","type":"message","message":{"role":"user","content":"x"}}"#;
    assert_eq!(read(orphan).unwrap_err().kind(), "missing_parent");
    let twice =
        r#"{"id":"a","parentId":null,"type":"message","message":{"role":"user","content":"x"}}"#;
    assert_eq!(read(&format!("{twice}\n{twice}")).unwrap_err().kind(), "duplicate");
}
