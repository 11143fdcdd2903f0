use super::*;

const RELATIVE: &str = "see ../shared/cases\n";
const ABSOLUTE: &str = "ok\nsee /work/shared\n";

#[test]
fn finds_both_spellings_in_any_kind_of_file() {
    let found = check(&Tree::of(&[("README.md", ABSOLUTE), ("src/a.rs", RELATIVE)]));
    let places: Vec<(&str, usize)> = found.iter().map(|v| (v.path.as_str(), v.line)).collect();
    assert_eq!(places, [("README.md", 2), ("src/a.rs", 1)]);
}

#[test]
fn lets_tests_and_scripts_look() {
    let tree = Tree::of(&[
        ("crates/a/src/fold/tests.rs", RELATIVE),
        ("crates/a/tests/cases/pi.rs", RELATIVE),
        ("scripts/test.sh", ABSOLUTE),
        (".ci/run", ABSOLUTE),
    ]);
    assert!(check(&tree).is_empty());
}

#[test]
fn a_name_that_only_looks_like_a_test_is_no_excuse() {
    let tree = Tree::of(&[("src/contests.rs", RELATIVE), ("docs/scripts/a.md", RELATIVE)]);
    assert_eq!(check(&tree).len(), 2);
}
