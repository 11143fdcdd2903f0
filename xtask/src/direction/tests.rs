use super::*;

fn one(name: &str, rest: &str) -> Vec<String> {
    let path = format!("crates/{name}/Cargo.toml");
    let text = format!("[package]\nname = \"{name}\"\n{rest}");
    check(&Tree::of(&[(&path, &text)])).iter().map(ToString::to_string).collect()
}

fn on(name: &str, dependency: &str) -> Vec<String> {
    one(name, &format!("[dependencies]\n{dependency}.workspace = true\n"))
}

#[test]
fn allows_the_arrows_and_what_lies_below_them() {
    for (name, dependency) in [
        ("forkwood-storage", "forkwood-core"),
        ("forkwood", "forkwood-core"),
        ("forkwood-formats", "forkwood-storage"),
        ("forkwood-agent", "forkwood-context"),
        ("forkwood-view", "forkwood-core"),
        ("forkwood-cli", "forkwood-view"),
        ("forkwood-server", "forkwood-core"),
        ("forkwood-conformance", "forkwood-storage"),
        ("forkwood-core", "serde"),
    ] {
        assert_eq!(on(name, dependency), [""; 0], "{name} -> {dependency}");
    }
}

#[test]
fn refuses_up_sideways_and_programs() {
    for (name, dependency) in [
        ("forkwood-core", "forkwood-storage"),
        ("forkwood-storage", "forkwood"),
        ("forkwood-view", "forkwood-storage"),
        ("forkwood-context", "forkwood"),
        ("forkwood-formats", "forkwood-search"),
        ("forkwood", "forkwood-conformance"),
        ("forkwood-tui", "forkwood-cli"),
        ("forkwood-server", "forkwood-tui"),
        ("forkwood-core", "forkwood-core"),
    ] {
        let expected = format!(
            "crates/{name}/Cargo.toml:4: `{name}` may not depend on `{dependency}`: \
             arrows go down only (ARCHITECTURE.md)"
        );
        assert_eq!(on(name, dependency), [expected]);
    }
}

#[test]
fn looks_through_renames_and_leaves_tests_free() {
    let renamed = "[build-dependencies]\nx = { package = \"forkwood\", path = \"../forkwood\" }\n";
    assert_eq!(one("forkwood-core", renamed).len(), 1);
    let tests = "[dev-dependencies]\nforkwood-conformance.workspace = true\n";
    assert_eq!(one("forkwood-storage", tests), [""; 0]);
}

#[test]
fn a_new_crate_must_be_drawn_first() {
    let found = one("forkwood-new", "");
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("not in the picture"), "{found:?}");
    let both = Tree::of(&[
        ("crates/new/Cargo.toml", "[package]\nname = \"new\"\n"),
        (
            "crates/core/Cargo.toml",
            "[package]\nname = \"forkwood-core\"\n[dependencies]\nnew.workspace = true\n",
        ),
    ]);
    assert_eq!(check(&both).len(), 2);
}

#[test]
fn every_arrow_ends_at_a_crate_of_the_picture() {
    for (name, to) in ARROWS {
        assert!(!below(name).unwrap().contains(name), "{name} stands in a ring");
        for end in *to {
            assert!(below(end).is_some(), "{name} -> {end}");
        }
    }
}
