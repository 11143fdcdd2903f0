use super::*;

const GOOD: &str = "[package]\nname = \"a\"\ndescription = \"What it is.\"\n";

#[test]
fn accepts_a_crate_with_both() {
    let tree = Tree::of(&[("crates/a/Cargo.toml", GOOD), ("crates/a/README.md", "# a")]);
    assert!(check(&tree).is_empty());
}

#[test]
fn asks_for_a_readme_with_text() {
    let tree = Tree::of(&[
        ("crates/a/Cargo.toml", GOOD),
        ("crates/a/README.md", " \n"),
        ("crates/b/Cargo.toml", GOOD),
        ("crates/b/src/README.md", "elsewhere"),
    ]);
    let found: Vec<String> = check(&tree).iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "crates/a/README.md:1: empty: say what the crate is",
            "crates/b/README.md:1: missing: say what the crate is",
        ]
    );
}

#[test]
fn asks_for_a_description() {
    for manifest in ["[package]\nname = \"a\"\n", "[package]\ndescription = \" \"\n"] {
        let tree = Tree::of(&[("crates/a/Cargo.toml", manifest), ("crates/a/README.md", "a")]);
        let found = check(&tree);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].to_string(), "crates/a/Cargo.toml:1: [package] has no `description`");
    }
}
