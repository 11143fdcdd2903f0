//! Fields in files of other programs that are called like fields of ours.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Sandbox, data};
use serde_json::{Value, json};

/// The sample of Pi with fields in each entry that mean something in our own format.
fn odd() -> Vec<u8> {
    let mut out = Vec::new();
    for (at, line) in String::from_utf8(data("pi.jsonl")).unwrap().lines().enumerate() {
        let mut entry: Value = serde_json::from_str(line).unwrap();
        let fields = entry.as_object_mut().unwrap();
        if at > 0 {
            for (key, value) in [
                ("more", json!(3)),
                ("lane", json!("try")),
                ("parent_id", json!("elsewhere")),
                ("model", json!("another")),
                ("foreign", json!({"format": "x", "raw": 1})),
                ("leafId", json!("nowhere")),
                ("replacesEntryIds", json!(["a"])),
                ("generation", json!("g")),
            ] {
                fields.entry(key).or_insert(value);
            }
        }
        out.extend_from_slice(entry.to_string().as_bytes());
        out.push(b'\n');
    }
    out
}

fn messages(sandbox: &Sandbox, session: &str) -> Value {
    let run = sandbox.ok(&["context", session, "--json"]);
    let context: Value = serde_json::from_str(&run).unwrap();
    json!([context["messages"], context["model"]])
}

#[test]
fn they_break_no_fork_no_import_and_no_export() {
    let sandbox = Sandbox::new();
    sandbox.put("pi/plain.jsonl", &data("pi.jsonl"));
    sandbox.put("odd/odd.jsonl", &odd());
    let plain = sandbox.ok(&["fork", "./pi/plain.jsonl"]);
    let wanted = messages(&sandbox, plain.trim());
    let forked = sandbox.ok(&["fork", "./odd/odd.jsonl"]).trim().to_owned();
    let run = sandbox.ok(&["import", "./odd/odd.jsonl", "--json"]);
    let row: Value = serde_json::from_str(run.lines().next().unwrap()).unwrap();
    let imported = row["session"].as_str().unwrap().to_owned();
    sandbox.ok(&["export", "./odd/odd.jsonl", "--to", "jsonl", "-o", "out.jsonl"]);
    for session in [forked.as_str(), &imported, "./out.jsonl"] {
        let run = sandbox.run(&["check", session, "--json"]);
        assert_eq!(run.code, 0, "{session}: {}", run.stdout);
        let found: Value = serde_json::from_str(&run.stdout).unwrap();
        for finding in found["diagnostics"].as_array().unwrap() {
            assert_ne!(finding["severity"], "warning", "{session}: {finding}");
        }
        assert_eq!(messages(&sandbox, session), wanted, "{session}");
        let path = sandbox.ok(&["path", session]);
        let text = std::fs::read_to_string(sandbox.path(path.trim())).unwrap();
        // They are still there, under a name of their own.
        assert!(text.contains("\"foreign.more\":3"), "{session}");
        assert!(text.contains("\"foreign.parent_id\":\"elsewhere\""), "{session}");
    }
}
