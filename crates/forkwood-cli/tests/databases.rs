//! Sessions that other tools keep in databases, by every command.

#![cfg(feature = "sqlite")]
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::Sandbox;

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name);
    std::fs::read(path).unwrap()
}

#[test]
fn sessions_of_the_openai_agents_sdk() {
    let sandbox = Sandbox::new();
    sandbox.put("their/plain.db", &fixture("openai-agents/plain.db"));
    sandbox.put("their/advanced.db", &fixture("openai-agents/advanced.db"));
    let before = sandbox.files();
    let list = sandbox.ok(&["list", "--dir", "their", "--json"]);
    assert_eq!(list.lines().count(), 3, "{list}");
    assert!(list.contains(r#""dialect":"openai-agents-advanced""#), "{list}");
    let several = sandbox.run(&["show", "their/plain.db"]);
    assert_eq!(several.code, 1);
    assert!(several.stderr.contains("holds 2 sessions"), "{}", several.stderr);
    assert!(sandbox.ok(&["show", "--dir", "their", "talk"]).contains("It is sunny."));
    assert!(sandbox.ok(&["show", "--dir", "their", "user 42"]).contains("three"));
    let tree = sandbox.ok(&["tree", "their/advanced.db"]);
    assert!(tree.contains("second, otherwise") && tree.contains("other"), "{tree}");
    let stats = sandbox.ok(&["stats", "--dir", "their", "--json"]);
    let all = stats.lines().last().unwrap();
    assert!(all.contains(r#""requests":2,"input":20,"output":7,"cacheRead":10"#), "{all}");
    let appended = sandbox.run(&["append", "their/advanced.db", "no"]);
    assert_eq!(appended.code, 1);
    assert_eq!(sandbox.files(), before, "reading wrote");
    let import = sandbox.ok(&["import", "their", "--json"]);
    assert_eq!(import.matches(r#""outcome":"new""#).count(), 3, "{import}");
    let again = sandbox.ok(&["import", "--from", "openai-agents", "their", "--json"]);
    assert_eq!(again.matches(r#""outcome":"unchanged""#).count(), 3, "{again}");
    assert!(sandbox.ok(&["context", "tree", "--json"]).contains("answer four"));
}

#[test]
fn sessions_of_opencode() {
    let sandbox = Sandbox::new();
    let folder = "home/.local/share/opencode";
    sandbox.put(&format!("{folder}/opencode.db"), &fixture("opencode/opencode.db"));
    // What lies beside it is not looked through.
    sandbox.put(&format!("{folder}/snapshot/x/a.jsonl"), b"no session\n");
    let before = sandbox.files();
    let list = sandbox.ok(&["list", "--from", "opencode", "--json"]);
    assert!(list.contains("Weather in Paris"), "{list}");
    let show = sandbox.ok(&["show", "--from", "opencode", "ses_0000000000001"]);
    assert!(show.contains("It is sunny."), "{show}");
    let stats = sandbox.ok(&["stats", "--from", "opencode", "--json"]);
    let all = stats.lines().last().unwrap();
    assert!(all.contains(r#""requests":4"#) && all.contains(r#""cost":0.5235"#), "{all}");
    assert_eq!(sandbox.files(), before, "reading wrote");
    let import = sandbox.ok(&["import", "--all", "--json"]);
    assert_eq!(import.matches(r#""outcome":"new""#).count(), 2, "{import}");
    assert!(!import.contains("unknown"), "{import}");
    let again = sandbox.ok(&["import", "--from", "opencode", "--json"]);
    assert_eq!(again.matches(r#""outcome":"unchanged""#).count(), 2, "{again}");
}

#[test]
fn sessions_of_gemini_cli() {
    let sandbox = Sandbox::new();
    let lines = concat!(
        r#"{"sessionId":"g-1","projectHash":"p","startTime":"2026-03-01T09:00:00.000Z","kind":"main"}"#,
        "\n",
        r#"{"id":"u1","timestamp":"2026-03-01T09:00:01.000Z","type":"user","content":"weather?"}"#,
        "\n",
        r#"{"id":"g1","timestamp":"2026-03-01T09:00:02.000Z","type":"gemini","content":"Sunny.","model":"gemini-x"}"#,
        "\n",
    );
    let file = "home/.gemini/tmp/p/chats/session-2026-03-01T09-00-g-1.jsonl";
    sandbox.put(file, lines.as_bytes());
    assert!(sandbox.ok(&["list", "--from", "gemini", "--json"]).contains(r#""dialect":"gemini""#));
    assert!(sandbox.ok(&["context", file, "--json"]).contains("Sunny."));
    assert!(sandbox.ok(&["show", "--from", "gemini", "g-1"]).contains("weather?"));
    assert!(sandbox.ok(&["import", "--from", "gemini"]).contains("new"));
    assert!(sandbox.ok(&["show", "g-1"]).contains("Sunny."));
}

#[test]
fn sessions_of_goose() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("home/.local/share/goose/sessions");
    std::fs::create_dir_all(&path).unwrap();
    let sql = r#"
        CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, working_dir TEXT, created_at);
        CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id, role, content_json, created_timestamp);
        INSERT INTO sessions VALUES ('20260301_1', 'Weather', '/w', '2026-03-01 09:00:00');
        INSERT INTO messages VALUES (1, '20260301_1', 'user', '[{"type":"text","text":"weather?"}]', 1772355600);
    "#;
    let database = rusqlite::Connection::open(path.join("sessions.db")).unwrap();
    database.execute_batch(sql).unwrap();
    drop(database);
    let list = sandbox.ok(&["list", "--from", "goose", "--json"]);
    assert!(list.contains(r#""title":"Weather""#) && list.contains(r#""cwd":"/w""#), "{list}");
    assert!(sandbox.ok(&["import", "--from", "goose", "--json"]).contains(r#""outcome":"new""#));
    assert!(sandbox.ok(&["show", "20260301_1"]).contains("weather?"));
}
