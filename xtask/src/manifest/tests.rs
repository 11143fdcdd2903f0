use super::*;

fn parse(text: &str) -> Result<Manifest, Violation> {
    let tree = Tree::of(&[("crates/a/Cargo.toml", text)]);
    Manifest::parse(Manifest::files(&tree).next().unwrap())
}

#[test]
fn reads_every_place_where_a_dependency_stands() {
    let manifest = parse(
        "[package]\nname = \"a\"\n[dependencies]\nb.workspace = true\n\
         c = { package = \"d\", version = \"1\" }\n[build-dependencies]\ne = \"1\"\n\
         [target.'cfg(unix)'.dependencies]\nf = \"1\"\n[dependencies.g]\nversion = \"1\"\n\
         [dev-dependencies]\nz = \"1\"\n",
    )
    .unwrap();
    let mut found: Vec<(&str, usize)> =
        manifest.dependencies.iter().map(|d| (d.package.as_str(), d.line)).collect();
    found.sort_unstable();
    assert_eq!(found, [("b", 4), ("d", 5), ("e", 7), ("f", 9), ("g", 10)]);
    assert_eq!((manifest.name.as_str(), manifest.folder()), ("a", "crates/a"));
}

#[test]
fn reports_the_line_of_a_syntax_error() {
    let violation = parse("[package]\nname = \n").unwrap_err();
    assert_eq!((violation.path.as_str(), violation.line), ("crates/a/Cargo.toml", 2));
}

#[test]
fn takes_the_manifests_of_crates_only() {
    let tree = Tree::of(&[
        ("Cargo.toml", ""),
        ("crates/a/Cargo.toml", ""),
        ("crates/a/tests/x/Cargo.toml", ""),
        ("bindings/python/Cargo.toml", ""),
        ("fuzz/Cargo.toml", ""),
        ("xtask/Cargo.toml", ""),
    ]);
    let paths: Vec<&str> = Manifest::files(&tree).map(|f| f.path.as_str()).collect();
    assert_eq!(paths, ["bindings/python/Cargo.toml", "crates/a/Cargo.toml", "xtask/Cargo.toml"]);
}
