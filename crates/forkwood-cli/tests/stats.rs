//! `forkwood stats`

#![allow(clippy::unwrap_used)]

mod common;

use common::Sandbox;
use serde_json::Value;

const PI: &str = concat!(
    r#"{"type":"session","version":3,"id":"s-1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#,
    "\n",
    r#"{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"hello","timestamp":1}}"#,
    "\n",
    r#"{"type":"message","id":"00000002","parentId":"00000001","timestamp":"2026-01-01T23:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"one"},{"type":"toolCall","id":"c1","name":"read","arguments":{}}],"api":"a","provider":"p","model":"m","usage":{"input":100,"output":10,"cacheRead":5,"cacheWrite":0,"totalTokens":115,"cost":{"total":0.25}},"stopReason":"toolUse","timestamp":2}}"#,
    "\n",
    r#"{"type":"message","id":"00000003","parentId":"00000002","timestamp":"2026-01-02T00:00:03.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"gone"}],"isError":true,"timestamp":3}}"#,
    "\n",
    r#"{"type":"message","id":"00000004","parentId":"00000003","timestamp":"2026-01-02T00:00:04.000Z","message":{"role":"assistant","content":[{"type":"text","text":"two"}],"api":"a","provider":"p","model":"n","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"total":0.5}},"stopReason":"stop","timestamp":4}}"#,
    "\n",
);

fn rows(sandbox: &Sandbox, args: &[&str]) -> Vec<Value> {
    let mut all = vec!["stats", "--json"];
    all.extend(args);
    sandbox.ok(&all).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Keys and the fields asked for, a line a row.
fn table(rows: &[Value], fields: &[&str]) -> Vec<String> {
    let line = |row: &Value| {
        let told: Vec<String> = fields.iter().map(|field| row[*field].to_string()).collect();
        format!("{} {}", row["key"].as_str().unwrap_or("all"), told.join(" "))
    };
    rows.iter().map(line).collect()
}

#[test]
fn what_a_session_used_by_every_measure() {
    let sandbox = Sandbox::new();
    sandbox.put("pi/a.jsonl", PI.as_bytes());
    let at = |by| rows(&sandbox, &["--dir", "pi", "--by", by]);
    let fields = ["requests", "input", "output", "cacheRead", "totalTokens", "cost"];
    assert_eq!(
        table(&at("day"), &fields),
        ["2026-01-02 1 1 1 0 2 0.5", "2026-01-01 1 100 10 5 115 0.25", "all 2 101 11 5 117 0.75"]
    );
    assert_eq!(table(&at("model"), &fields[..2]), ["p/m 1 100", "p/n 1 1", "all 2 101"]);
    assert_eq!(table(&at("workspace"), &["sessions", "input"]), ["/w 1 101", "all 1 101"]);
    assert_eq!(table(&at("tool"), &["toolCalls", "toolErrors"]), ["read 1 1", "all 1 1"]);
    let sessions = at("session");
    assert_eq!(table(&sessions, &["userMessages", "assistantMessages"]), ["s-1 1 2", "all 1 2"]);
    assert_eq!(sessions[0]["last"], "2026-01-02T00:00:04Z");
    let late = rows(&sandbox, &["--dir", "pi", "--since", "2026-01-02"]);
    assert_eq!(table(&late, &["input"]), ["s-1 1", "all 1"]);
    let early = rows(&sandbox, &["--dir", "pi", "--until", "2026-01-02T00:00:00Z"]);
    assert_eq!(table(&early, &["input"]), ["s-1 100", "all 100"]);
    assert_eq!(sandbox.run(&["stats", "--since", "monday"]).code, 2);
}

#[test]
fn forks_and_imports_count_once() {
    let sandbox = Sandbox::new();
    sandbox.put("home/.pi/agent/sessions/--w--/2026-01-01T00-00-00-000Z_s-1.jsonl", PI.as_bytes());
    sandbox.ok(&["import", "--from", "pi"]);
    let fork = sandbox.ok(&["fork", "s-1"]);
    let more = r#"{"type":"message","message":{"role":"assistant","content":"more","model":"m","provider":"p","usage":{"input":7,"output":1}}}"#;
    sandbox.ok(&["append", &fork, "--entry", more]);
    let all = |rows: Vec<Value>| rows.last().unwrap().clone();
    let here = all(rows(&sandbox, &[]));
    assert_eq!((&here["input"], &here["requests"]), (&Value::from(108), &Value::from(3)));
    assert_eq!((&here["sessions"], &here["userMessages"]), (&Value::from(2), &Value::from(1)));
    // The session of Pi, the one made of it, and the fork hold the same history.
    let everywhere = all(rows(&sandbox, &["--all"]));
    assert_eq!((&everywhere["input"], &everywhere["cost"]), (&here["input"], &here["cost"]));
    // Alone, the fork has all that it holds.
    assert_eq!(all(rows(&sandbox, &[&fork]))["input"], 108);
}

#[test]
fn sessions_of_tools_that_the_engine_does_not_open_count_too() {
    let sandbox = Sandbox::new();
    let line = r#"{"role":"user","content":"one","created_at":"2026-01-01T00:00:00.5Z"}"#;
    let meta =
        r#"{"key":"tg:1","summary":"","skip":0,"count":1,"created_at":"2026-01-01T00:00:00Z"}"#;
    let folder = "home/.picoclaw/workspace/sessions";
    sandbox.put(&format!("{folder}/tg_1.jsonl"), format!("{line}\n").as_bytes());
    sandbox.put(&format!("{folder}/tg_1.meta.json"), meta.as_bytes());
    let before = sandbox.files();
    let rows = rows(&sandbox, &["--from", "picoclaw"]);
    assert_eq!(table(&rows, &["userMessages"]), ["tg:1 1", "all 1"]);
    assert_eq!(sandbox.files(), before, "counting wrote");
}

#[test]
fn for_people() {
    let sandbox = Sandbox::new();
    sandbox.put("pi/a.jsonl", PI.as_bytes());
    let shown = sandbox.ok(&["stats", "--dir", "pi", "--by", "model"]);
    assert!(shown.starts_with("model") && shown.contains("0.2500"), "{shown}");
    assert!(shown.lines().last().unwrap().starts_with("all (1 session)"), "{shown}");
    let none = sandbox.run(&["stats"]);
    assert!(none.stderr.contains("no sessions"), "{}", none.stderr);
}
