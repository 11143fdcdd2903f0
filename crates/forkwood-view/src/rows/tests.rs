use std::fmt::Write;

use forkwood_core::{EntryId, Lane};

use super::{MAX_LEVELS, Marks, Node, Row, Style, rows};

/// Nodes from `id<parent` words; `id` alone is a root.
fn nodes(links: &str) -> Vec<Node> {
    links
        .split_whitespace()
        .map(|link| {
            let (id, parent) = link.split_once('<').map_or((link, None), |(i, p)| (i, Some(p)));
            Node {
                id: id.into(),
                parent_id: parent.map(EntryId::from),
                tag: "message".into(),
                role: None,
                lane: Lane::main(),
                text: String::new(),
            }
        })
        .collect()
}

fn drawn(rows: &[Row], style: Style) -> String {
    let mut out = String::new();
    for row in rows {
        writeln!(out, "{}{} {}", row.gutter, row.sign(style), row.id).unwrap();
    }
    out
}

fn ascii(links: &str, leaf: &str) -> String {
    let marks = Marks { leaf: Some(leaf.into()), ..Marks::default() };
    drawn(&rows(nodes(links), &marks, Style::Ascii), Style::Ascii)
}

#[test]
fn draws_trees() {
    let check = |links: &str, leaf: &str, expect: &str| {
        let drawn = ascii(links, leaf);
        assert_eq!(drawn.trim_end(), expect.trim_matches('\n'), "{links}\n{drawn}");
    };
    check("", "x", "");
    // A chain stays flat.
    check("a b<a c<b", "b", "\n* a\n@ b\no c\n");
    // Children of a fork are indented, and what follows them stays at their level.
    check("a b<a c<b d<c e<b f<e g<e", "f", "\n* a\n* b\n|-o c\n| o d\n`-* e\n  |-@ f\n  `-o g\n");
    // The order is that of the log, also among children of one parent.
    check("a c<a b<a", "b", "\n* a\n|-o c\n`-@ b\n");
    // Several roots fork from nothing.
    check("a b<a x y<x", "y", "\n|-o a\n| o b\n`-* x\n  @ y\n");
    // A parent that comes later in the log, or never.
    check("b<a a c<gone", "b", "\n|-* a\n| @ b\n`-o c\n");
    // A ring is cut at its first node; nothing is lost.
    check("r a<c b<a c<b", "c", "\n|-o r\n`-* a\n  * b\n  @ c\n");
    check("t<c a<c b<a c<b", "t", "\n* a\n* b\n* c\n@ t\n");
    check("s<s", "s", "\n@ s\n");
}

#[test]
fn box_drawing_is_the_same_picture() {
    let marks = Marks { leaf: Some("b".into()), ..Marks::default() };
    let drawn = drawn(&rows(nodes("a b<a c<a"), &marks, Style::Unicode), Style::Unicode);
    assert_eq!(drawn, "\u{25cf} a\n\u{251c}\u{2500}\u{25c9} b\n\u{2514}\u{2500}\u{25cb} c\n");
}

#[test]
fn rows_tell_depth_indentation_and_marks() {
    let marks = Marks {
        labels: [("b".into(), "good".into())].into(),
        leaf: Some("d".into()),
        lanes: vec![(Lane::main(), "d".into()), (Lane::new("try").unwrap(), "c".into())],
    };
    let rows = rows(nodes("a b<a c<b d<b e<d"), &marks, Style::Ascii);
    let facts: Vec<_> = rows
        .iter()
        .map(|r| (r.id.as_str(), r.depth, r.indent, r.children, r.fork_point, r.active, r.leaf))
        .collect();
    assert_eq!(
        facts,
        [
            ("a", 0, 0, 1, false, true, false),
            ("b", 1, 0, 2, true, true, false),
            ("c", 2, 1, 0, false, false, false),
            ("d", 2, 1, 1, false, true, true),
            ("e", 3, 1, 0, false, false, false),
        ]
    );
    assert_eq!(rows[1].label, Some("good".into()));
    assert_eq!(rows[2].lanes, [Lane::new("try").unwrap()]);
}

#[test]
fn json_has_the_fields_that_are_documented() {
    let rows = rows(nodes("a"), &Marks::default(), Style::Ascii);
    assert_eq!(
        serde_json::to_string(&rows[0]).unwrap(),
        r#"{"id":"a","parentId":null,"type":"message","role":null,"depth":0,"indent":0,"label":null,"lanes":[],"children":0,"forkPoint":false,"active":false,"leaf":false,"text":""}"#
    );
}

#[test]
fn deep_trees_are_linear() {
    // A fork at every step: without a limit the gutters alone would be quadratic.
    let mut links = String::from("n0");
    for i in 1..30_000 {
        write!(links, " n{i}<n{} x{i}<n{}", i - 1, i - 1).unwrap();
    }
    let marks = Marks { leaf: Some("n29999".into()), ..Marks::default() };
    let rows = rows(nodes(&links), &marks, Style::Ascii);
    assert_eq!(rows.len(), 59_999);
    let deepest = rows.iter().max_by_key(|row| row.indent).unwrap();
    assert_eq!(deepest.indent, 29_999);
    assert!(
        deepest.gutter.starts_with(&format!("+{} ", 29_999 - MAX_LEVELS)),
        "{}",
        deepest.gutter
    );
    assert!(rows.iter().all(|row| row.gutter.len() < 80));
}
