use super::{cut, pad, width};

#[test]
fn cuts_by_columns() {
    let check = |input: &str, columns: usize, expect: &str| {
        let shown = cut(input, columns);
        assert_eq!(shown, expect, "{input:?} to {columns}");
        assert!(width(&shown) <= columns, "{shown:?}");
    };
    check("plain", 5, "plain");
    check("plain text", 8, "plain...");
    check("plain", 2, "..");
    check("plain", 0, "");
    check("", 0, "");
    check("\u{65b9}\u{6848}\u{65b9}\u{6848}", 8, "\u{65b9}\u{6848}\u{65b9}\u{6848}");
    check("\u{65b9}\u{6848}\u{65b9}\u{6848}", 7, "\u{65b9}\u{6848}...");
    check("\u{65b9}\u{6848}\u{65b9}\u{6848}", 6, "\u{65b9}...");
}

#[test]
fn pads_by_columns() {
    assert_eq!(pad("\u{65b9}", 4), "\u{65b9}  ");
    assert_eq!(pad("long", 2), "long");
}
