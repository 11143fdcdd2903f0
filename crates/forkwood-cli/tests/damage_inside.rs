//! Damage inside a record, which only reading the record tells.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Sandbox, data};
use serde_json::Value;

/// Ids of the tree's rows, and its leaf.
fn tree(sandbox: &Sandbox) -> (Vec<String>, Value) {
    let tree: Value = serde_json::from_str(&sandbox.ok(&["tree", "./s.jsonl", "--json"])).unwrap();
    let rows = tree["rows"].as_array().unwrap().iter();
    (rows.map(|row| row["id"].as_str().unwrap().to_owned()).collect(), tree["leaf"].clone())
}

#[test]
fn a_tree_shows_what_can_be_read_and_nothing_else() {
    let text = String::from_utf8(data("native.jsonl")).unwrap();
    let count = text.lines().count();
    for at in 1..count {
        // It starts and ends like a record.
        let lines = text.lines().enumerate().map(|(n, line)| match n == at {
            true => line.replacen(r#""timestamp":"#, r#""timestamp":1 2"#, 1),
            false => line.to_owned(),
        });
        let damaged: String = lines.map(|line| line + "\n").collect();
        let sandbox = Sandbox::new();
        sandbox.put("s.jsonl", damaged.as_bytes());
        let quick = tree(&sandbox);
        let found = sandbox.run(&["check", "./s.jsonl", "--json"]);
        assert_eq!(found.code, 1, "line {}", at + 1);
        // With one more damaged line at its end it is read whole from the start.
        sandbox.put("s.jsonl", format!("{damaged}damage\n").as_bytes());
        assert_eq!(tree(&sandbox), quick, "line {}", at + 1);
        let resume: Value =
            serde_json::from_str(&sandbox.ok(&["resume", "./s.jsonl", "--json"])).unwrap();
        assert_eq!(resume["leaf"], quick.1, "line {}", at + 1);
    }
}
