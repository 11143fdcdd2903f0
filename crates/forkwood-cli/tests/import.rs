//! `forkwood import`

mod common;

use common::Sandbox;

const PI: &str = concat!(
    r#"{"type":"session","version":3,"id":"s-1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#,
    "\n",
    r#"{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"hello","timestamp":1}}"#,
    "\n",
);

#[test]
fn a_folder_is_taken_once() {
    let sandbox = Sandbox::new();
    sandbox.put("their/a.jsonl", PI.as_bytes());
    sandbox.put("their/b.jsonl", b"no session\n");
    let first = sandbox.ok(&["import", "their", "--json"]);
    let lines: Vec<&str> = first.lines().collect();
    assert_eq!(lines.len(), 2, "{first}");
    assert!(lines[0].contains(r#""outcome":"unknown""#), "{first}");
    assert!(lines[1].contains(r#""outcome":"new""#) && lines[1].contains(r#""session":"s-1""#));
    assert!(lines[1].contains(r#""sourceId":"s-1""#) && lines[1].contains(r#""added":1"#));
    let again = sandbox.ok(&["import", "their", "--json"]);
    assert!(again.contains(r#""outcome":"unchanged""#), "{again}");
    assert!(sandbox.ok(&["show", "s-1"]).contains("hello"));
    assert_eq!(sandbox.ok(&["list", "--json"]).lines().count(), 1);
}

#[test]
fn what_to_import_must_be_said() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["import"]).code, 2);
    assert_eq!(sandbox.run(&["import", "nowhere"]).code, 1);
    assert_eq!(sandbox.run(&["import", "--dir", "x", "y"]).code, 2);
}

#[test]
fn all_tools_of_a_user_who_has_none() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.ok(&["import", "--all", "--json"]), "");
}

const LINES: &str = concat!(
    r#"{"role":"user","content":"one","created_at":"2026-01-01T00:00:00.5Z"}"#,
    "\n",
    r#"{"role":"assistant","content":"two","created_at":"2026-01-01T00:00:01Z"}"#,
    "\n{bad\n",
    r#"{"role":"user","content":"three","created_at":"2026-01-01T00:00:02Z"}"#,
    "\n",
);
const META: &str =
    r#"{"key":"tg:1","summary":"so far","skip":1,"count":4,"created_at":"2026-01-01T00:00:00Z"}"#;

fn picoclaw(sandbox: &Sandbox) {
    let folder = "home/.picoclaw/workspace/sessions";
    sandbox.put(&format!("{folder}/tg_1.jsonl"), LINES.as_bytes());
    sandbox.put(&format!("{folder}/tg_1.meta.json"), META.as_bytes());
}

#[test]
fn sessions_of_picoclaw_are_read_where_they_lie() {
    let sandbox = Sandbox::new();
    picoclaw(&sandbox);
    let before = sandbox.files();
    let path = "home/.picoclaw/workspace/sessions/tg_1.jsonl";
    let context = sandbox.ok(&["context", path, "--json"]);
    assert!(context.contains("so far") && context.contains("three"), "{context}");
    assert!(!context.contains(r#""one""#), "{context}");
    assert!(sandbox.ok(&["show", path]).contains("one"));
    let check = sandbox.run(&["check", path]);
    assert_eq!(check.code, 1);
    assert!(check.stdout.contains("bad-json line 3"), "{}", check.stdout);
    for place in [["--from", "picoclaw"], ["--dir", "home/.picoclaw"]] {
        let list = sandbox.ok(&["list", place[0], place[1], "--json"]);
        assert_eq!(list.lines().count(), 1, "{list}");
        assert!(list.contains(r#""dialect":"picoclaw""#) && list.contains("tg_1.jsonl"), "{list}");
    }
    assert_eq!(sandbox.files(), before, "reading wrote");
    let fork = sandbox.ok(&["fork", path]);
    assert!(sandbox.ok(&["context", &fork]).contains("three"));
    // Messages can be added (see `picoclaw.rs`); nothing else has a place there.
    let label = sandbox.run(&["label", path, "main", "here"]);
    assert_eq!(label.code, 1);
    assert!(label.stderr.contains("hold messages and nothing else"), "{}", label.stderr);
}

#[test]
fn sessions_of_picoclaw_are_imported_from_its_home() {
    let sandbox = Sandbox::new();
    picoclaw(&sandbox);
    let first = sandbox.run(&["import", "--from", "picoclaw", "--json"]);
    assert_eq!(first.code, 1, "a damaged line is told");
    assert!(first.stdout.contains(r#""outcome":"new""#), "{}", first.stdout);
    assert!(first.stdout.contains(r#""sourceId":"tg:1""#), "{}", first.stdout);
    let again = sandbox.ok(&["import", "--all", "--json"]);
    assert!(again.contains(r#""outcome":"unchanged""#), "{again}");
    let list = sandbox.ok(&["list", "--json"]);
    assert!(list.contains(r#""dialect":"native""#) && list.contains(r#""id":"key-"#), "{list}");
}
