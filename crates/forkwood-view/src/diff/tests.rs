use forkwood_core::EntryId;

use super::paths;

fn ids(names: &str) -> Vec<EntryId> {
    names.split_whitespace().map(EntryId::from).collect()
}

#[test]
fn finds_where_paths_part() {
    let check = |left: &str, right: &str, last: Option<&str>, tails: (&str, &str)| {
        let (left, right) = (ids(left), ids(right));
        let diff = paths(&left, &right);
        assert_eq!(diff.last_common.map(EntryId::as_str), last);
        assert_eq!((diff.left, diff.right), (&ids(tails.0)[..], &ids(tails.1)[..]));
        assert_eq!(diff.common, left.len() - diff.left.len());
    };
    check("a b c", "a b d e", Some("b"), ("c", "d e"));
    check("a b", "a b", Some("b"), ("", ""));
    check("a b", "a b c", Some("b"), ("", "c"));
    check("a", "b", None, ("a", "b"));
    check("", "a", None, ("", "a"));
}
