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
