use super::*;
use crate::tree::File;

#[test]
fn names_the_column_and_the_escape() {
    let tree = Tree::of(&[("a.rs", "fn f() {}\nlet x = \"\u{e9}\u{4e2d}\";\n")]);
    let found = check(&tree);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].to_string(), "a.rs:2: column 10: not ASCII, write \\u{e9}");
}

#[test]
fn asks_only_rust_source_that_is_not_excused() {
    let tree = Tree::of(&[
        ("README.md", "\u{e9}"),
        ("crates/forkwood/examples/s07.rs", "\u{4e2d}"),
        ("crates/forkwood/src/lib.rs", "plain"),
    ]);
    assert!(check(&tree).is_empty());
}

#[test]
fn reports_bytes_that_are_no_text() {
    let bytes = vec![b'a', b'\n', 0xff];
    let tree = Tree::new(vec![File { path: "a.rs".to_owned(), bytes }]);
    assert_eq!(check(&tree)[0].to_string(), "a.rs:2: not UTF-8");
}
