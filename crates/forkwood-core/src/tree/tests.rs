use super::{Node, TreeError, children, entries_by_id, lowest_common_ancestor, path_to_entry};
use crate::EntryId;

struct Plain(EntryId, Option<EntryId>);

impl Node for Plain {
    fn id(&self) -> &EntryId {
        &self.0
    }
    fn parent_id(&self) -> Option<&EntryId> {
        self.1.as_ref()
    }
}

/// Builds a tree from `"id<parent"` words; a word without `<` is a root.
fn tree(words: &str) -> Vec<Plain> {
    words
        .split_whitespace()
        .map(|word| match word.split_once('<') {
            Some((id, parent)) => Plain(id.into(), Some(parent.into())),
            None => Plain(word.into(), None),
        })
        .collect()
}

fn path(words: &str, leaf: &str) -> Result<String, TreeError> {
    let nodes = tree(words);
    let by_id = entries_by_id(&nodes)?;
    let path = path_to_entry(&by_id, &leaf.into())?;
    Ok(path.iter().map(|n| n.0.as_str()).collect::<Vec<_>>().join(" "))
}

fn ancestor(words: &str, a: &str, b: &str) -> Result<Option<String>, TreeError> {
    let nodes = tree(words);
    let by_id = entries_by_id(&nodes)?;
    Ok(lowest_common_ancestor(&by_id, &a.into(), &b.into())?.map(|n| n.0.to_string()))
}

#[test]
fn paths() {
    assert_eq!(path("a b<a c<b", "c").unwrap(), "a b c");
    assert_eq!(path("a b<a c<a d<c", "d").unwrap(), "a c d");
    assert_eq!(path("b<a a", "b").unwrap(), "a b");
}

#[test]
fn refusals_name_the_entry() {
    assert_eq!(path("a a", "a"), Err(TreeError::Duplicate("a".into())));
    assert_eq!(path("a", "x"), Err(TreeError::NotFound("x".into())));
    assert_eq!(path("a<a", "a"), Err(TreeError::Cycle("a".into())));
    assert_eq!(path("a<c b<a c<b", "c"), Err(TreeError::Cycle("c".into())));
    assert_eq!(path("b<gone", "b"), Err(TreeError::MissingParent("gone".into())));
    assert_eq!(TreeError::MissingParent("m2".into()).to_string(), "Missing parent entry: m2");
}

#[test]
fn common_ancestors() {
    let words = "r a<r b<a c<a d<b other";
    for (a, b, expected) in [
        ("b", "c", Some("a")),
        ("d", "c", Some("a")),
        ("a", "d", Some("a")),
        ("d", "d", Some("d")),
        ("r", "d", Some("r")),
        ("d", "other", None),
    ] {
        assert_eq!(ancestor(words, a, b).unwrap().as_deref(), expected, "{a} {b}");
    }
    assert!(ancestor(words, "a", "gone").is_err());
}

#[test]
fn children_stand_in_file_order() {
    let nodes = tree("r b<r a<r r2");
    let kids = children(&nodes);
    let under = |id: Option<&str>| -> Vec<String> {
        let id = id.map(EntryId::from);
        kids.get(&id.as_ref()).into_iter().flatten().map(|n| n.0.to_string()).collect()
    };
    assert_eq!(under(Some("r")), ["b", "a"]);
    assert_eq!(under(None), ["r", "r2"]);
}

#[test]
fn a_hundred_thousand_levels_are_a_walk() {
    let mut nodes = vec![Plain("0".into(), None)];
    for i in 1..100_000u32 {
        nodes.push(Plain(i.to_string().into(), Some((i - 1).to_string().into())));
    }
    let by_id = entries_by_id(&nodes).unwrap();
    assert_eq!(path_to_entry(&by_id, &"99999".into()).unwrap().len(), 100_000);
}
