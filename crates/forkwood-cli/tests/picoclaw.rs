//! PicoClaw's folders on the command line: written in place, and migrated.

#![allow(clippy::unwrap_used)]

mod common;

use std::process::Stdio;

use common::Sandbox;
use insta::assert_snapshot;
use serde_json::Value;

const FOLDER: &str = "home/.picoclaw/workspace/sessions";
const PATH: &str = "home/.picoclaw/workspace/sessions/tg_1.jsonl";
const LINE: &str = r#"{"role":"user","content":"one","created_at":"2026-01-01T00:00:00.5Z"}"#;
const META: &str = r#"{"key":"tg:1","summary":"so far","skip":0,"count":1,"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","aliases":["old:1"]}"#;

fn with_one() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.put(&format!("{FOLDER}/tg_1.jsonl"), format!("{LINE}\n").as_bytes());
    sandbox.put(&format!("{FOLDER}/tg_1.meta.json"), META.as_bytes());
    sandbox
}

fn read(sandbox: &Sandbox, name: &str) -> String {
    std::fs::read_to_string(sandbox.path(&format!("{FOLDER}/{name}"))).unwrap()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn messages_are_added_as_picoclaw_would_add_them() {
    let sandbox = with_one();
    let id = sandbox.ok(&["append", PATH, "two <b>"]);
    let call = r#"{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"look","arguments":{"at":1}}]}}
{"type":"message","message":{"role":"tool","toolCallId":"c1","toolName":"look","content":"seen"}}"#;
    let run = sandbox.run_with(&["append", PATH, "--entry", "-", "--json"], call);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let added = json(&run.stdout);
    assert_eq!(added["entries"].as_array().unwrap().len(), 2);
    // The ids are those that every other command shows.
    let context = json(&sandbox.ok(&["context", PATH, "--json"]));
    let ids: Vec<&str> =
        context["entryIds"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    assert_eq!(ids[ids.len() - 3], id.trim());
    assert_eq!(ids[ids.len() - 1], added["entries"][1]["id"].as_str().unwrap());
    let lines = read(&sandbox, "tg_1.jsonl");
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!((lines.len(), lines[0]), (4, LINE));
    // As Go writes JSON.
    assert!(
        lines[1].starts_with(r#"{"role":"user","content":"two \u003cb\u003e","created_at":""#),
        "{}",
        lines[1]
    );
    let call = json(lines[2]);
    assert_eq!(call["tool_calls"][0]["function"]["arguments"], r#"{"at":1}"#);
    assert_eq!(json(lines[3])["tool_call_id"], "c1");
    let meta = json(&read(&sandbox, "tg_1.meta.json"));
    assert_eq!(
        (&meta["key"], &meta["count"], &meta["skip"]),
        (&"tg:1".into(), &4.into(), &0.into())
    );
    assert_eq!((&meta["summary"], &meta["aliases"][0]), (&"so far".into(), &"old:1".into()));
    assert!(sandbox.run(&["check", PATH]).code == 0);
}

#[test]
fn what_its_files_cannot_hold_is_refused_with_the_reason() {
    let sandbox = with_one();
    let before = read(&sandbox, "tg_1.jsonl");
    assert_snapshot!(sandbox.shown(&["append", PATH, "--entry", r#"{"type":"model_change","model":"m"}"#]), @r"
    --- stderr
    error: PicoClaw's files hold messages only, and no entry `model_change`
    hint: `forkwood import` makes a session of it that holds every entry
    --- exit 1
    ");
    assert_snapshot!(sandbox.shown(&["append", PATH, "x", "--parent", "main"]), @r"
    --- stderr
    error: --parent: a conversation of PicoClaw is one list of messages without ids or branches
    hint: `forkwood import` makes a session of it that has them
    --- exit 1
    ");
    assert_snapshot!(sandbox.shown(&["append", PATH, "x", "--on-conflict", "branch"]), @r"
    --- stderr
    error: --on-conflict: a conversation of PicoClaw is one list of messages without ids or branches
    hint: `forkwood import` makes a session of it that has them
    --- exit 1
    ");
    assert_snapshot!(sandbox.shown(&["label", PATH, "main", "here"]), @r"
    --- stderr
    error: [DIR]/home/.picoclaw/workspace/sessions/tg_1.jsonl: is read-only: it is a conversation of PicoClaw, whose files hold messages and nothing else: `forkwood append` adds one; for all the rest `forkwood import` or `fork` makes a session of Forkwood's of it
    hint: `forkwood fork` copies it into a session that can be written; --store names a store elsewhere, where this one cannot be
    --- exit 1
    ");
    // All of a batch, or none of it.
    let batch = r#"{"type":"message","message":{"role":"user","content":"two"}}
{"type":"custom","namespace":"n","data":{}}"#;
    assert_eq!(sandbox.run_with(&["append", PATH, "--entry", "-"], batch).code, 1);
    let long = "x".repeat(10_485_760);
    let run = sandbox.run_with(&["append", PATH, "--json"], &long);
    assert!(run.stderr.contains("too_large"), "{}", &run.stderr[..200]);
    assert_eq!(read(&sandbox, "tg_1.jsonl"), before);
    sandbox.put(&format!("{FOLDER}/old.json"), OLDER.as_bytes());
    let older = format!("{FOLDER}/old.json");
    assert_snapshot!(sandbox.shown(&["append", &older, "x"]), @r"
    --- stderr
    error: [DIR]/home/.picoclaw/workspace/sessions/old.json: PicoClaw writes no such file any more
    hint: `forkwood migrate` makes the newer files of it, as PicoClaw does
    --- exit 1
    ");
}

#[test]
fn several_programs_lose_nothing_of_each_other() {
    let sandbox = with_one();
    let children: Vec<_> = (0..4)
        .map(|n| {
            let script =
                format!("for i in 1 2 3 4 5; do \"$0\" append \"$1\" \"{n}.$i\" || exit 1; done");
            std::process::Command::new("sh")
                .args(["-c", &script, env!("CARGO_BIN_EXE_forkwood")])
                .arg(sandbox.path(PATH))
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let lines = read(&sandbox, "tg_1.jsonl");
    let said: Vec<String> =
        lines.lines().map(|line| json(line)["content"].as_str().unwrap().to_owned()).collect();
    assert_eq!(said.len(), 21);
    for n in 0..4 {
        let own: Vec<&String> =
            said.iter().filter(|text| text.starts_with(&format!("{n}."))).collect();
        let expected: Vec<String> = (1..=5).map(|i| format!("{n}.{i}")).collect();
        assert_eq!(own, expected.iter().collect::<Vec<_>>());
    }
    assert_eq!(json(&read(&sandbox, "tg_1.meta.json"))["count"], 21);
}

const OLDER: &str = r#"{
  "key": "tg:9",
  "messages": [{ "role": "user", "content": "hi" }],
  "summary": "short",
  "created": "2026-01-01T00:00:00Z",
  "updated": "2026-01-01T00:00:00Z"
}"#;

#[test]
fn older_files_are_migrated() {
    let sandbox = Sandbox::new();
    sandbox.put(&format!("{FOLDER}/tg_9.json"), OLDER.as_bytes());
    sandbox.put(&format!("{FOLDER}/broken.json"), b"{nope");
    let other = "home/.picoclaw/workspace-ops/sessions";
    sandbox.put(&format!("{other}/k.json"), OLDER.replace("tg:9", "k").as_bytes());
    let run = sandbox.run(&["migrate", "--from", "picoclaw", "--json"]);
    assert_eq!(run.code, 1, "one could not be read: {}", run.stderr);
    let told: Vec<Value> = run.stdout.lines().map(json).collect();
    assert_eq!(told.len(), 3);
    assert_eq!(told.iter().filter(|one| one["outcome"] == "migrated").count(), 2);
    let done = told.iter().find(|one| one["sessionKey"] == "tg:9").unwrap();
    assert_eq!(done["messages"], 1);
    assert!(done["kept"].as_str().unwrap().ends_with("tg_9.json.migrated"));
    assert_eq!(read(&sandbox, "tg_9.json.migrated"), OLDER);
    assert_eq!(json(&read(&sandbox, "tg_9.meta.json"))["summary"], "short");
    assert!(sandbox.ok(&["show", &format!("{FOLDER}/tg_9.jsonl")]).contains("hi"));
    // Again, of one folder: what is done is done, what is broken is told again.
    let run = sandbox.run(&["migrate", FOLDER]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("skipped") && run.stdout.contains("broken.json"), "{}", run.stdout);
    assert_snapshot!(sandbox.shown(&["migrate", other]), @r"
    --- stderr
    note: there is no older file of PicoClaw's to migrate
    ");
    assert_snapshot!(sandbox.shown(&["migrate"]), @r"
    --- stderr
    error: say what to migrate: a folder, or --from picoclaw
    --- exit 2
    ");
    assert_snapshot!(sandbox.shown(&["migrate", "--from", "pi"]), @r"
    --- stderr
    error: pi: only PicoClaw's older files are migrated
    hint: files of Pi are brought to its newest version when they are first written to
    --- exit 1
    ");
    assert_snapshot!(sandbox.shown(&["migrate", "nowhere"]), @r"
    --- stderr
    error: [DIR]/nowhere: there is no such folder
    --- exit 1
    ");
}
