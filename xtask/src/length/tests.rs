use super::*;

#[test]
fn allows_500_lines_and_no_more() {
    let fits = "x\n".repeat(500);
    let long = "x\n".repeat(501);
    let tree = Tree::of(&[("a.rs", &fits), ("b.rs", &long), ("c.sh", &long)]);
    let found = check(&tree);
    let places: Vec<&str> = found.iter().map(|v| v.path.as_str()).collect();
    assert_eq!(places, ["b.rs", "c.sh"]);
    assert_eq!(
        found[0].to_string(),
        "b.rs:501: 501 lines, at most 500 are allowed: split the file"
    );
}

#[test]
fn leaves_text_and_data_alone() {
    let long = "x\n".repeat(900);
    assert!(check(&Tree::of(&[("a.md", &long), ("Cargo.lock", &long)])).is_empty());
}
