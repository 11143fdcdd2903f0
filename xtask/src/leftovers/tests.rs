use super::*;

#[test]
fn finds_each_kind() {
    let text = [
        concat!("to", "do!()"),
        "fine",
        concat!("  unimpl", "emented!(\"later\")"),
        concat!("let x = d", "bg!(y);"),
        concat!("#[ign", "ore = \"slow\"]"),
    ]
    .join("\n");
    let found = check(&Tree::of(&[("a.rs", &text)]));
    let lines: Vec<usize> = found.iter().map(|v| v.line).collect();
    assert_eq!(lines, [1, 3, 4, 5]);
}

#[test]
fn passes_longer_names_and_other_files() {
    let longer = concat!("my_to", "do!(x)");
    let plain = concat!("to", "do!(x)");
    assert!(check(&Tree::of(&[("a.rs", longer), ("a.md", plain)])).is_empty());
}
