//! Files that lost their header get it back: as it was where it can be read, else with what the
//! name, the folder and the entries still say.

#![allow(clippy::unwrap_used)]

mod common;

use common::Sandbox;
use serde_json::Value;

const NATIVE: &str = ".forkwood/sessions/20010909-014640-0a0b0c0d.jsonl";
const PI: &str = "sessions/--home-me-app--/2026-01-02T03-04-05-006Z_s1.jsonl";
const MINE: &str = "mine/session.jsonl";

/// Two entries of Pi, behind their header.
const PI_LINES: &str = concat!(
    r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:05.006Z","cwd":"/home/me/app","parentSession":"/p.jsonl"}"#,
    "\n",
    r#"{"type":"message","id":"aaaaaaa1","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"q","timestamp":1}}"#,
    "\n",
    r#"{"type":"message","id":"aaaaaaa2","parentId":"aaaaaaa1","timestamp":"2026-01-02T03:04:07.000Z","message":{"role":"user","content":"r","timestamp":1}}"#,
    "\n",
);

/// The same of my-pi-agent.
const MINE_LINES: &str = concat!(
    r#"{"id":"i0","timestamp":1788000000.0,"type":"session_info","cwd":"/p","title":"demo","createdAt":1788000000.0,"metadata":{}}"#,
    "\n",
    r#"{"id":"m1","parentId":"i0","timestamp":1788000001.0,"type":"message","message":{"role":"user","content":"q"}}"#,
    "\n",
    r#"{"id":"m2","parentId":"m1","timestamp":1788000002.0,"type":"message","message":{"role":"assistant","content":"a"}}"#,
    "\n",
);

fn read(sandbox: &Sandbox, file: &str) -> String {
    std::fs::read_to_string(sandbox.path(file)).unwrap()
}

fn messages(sandbox: &Sandbox, file: &str) -> Value {
    let context: Value = serde_json::from_str(&sandbox.ok(&["context", file, "--json"])).unwrap();
    context["messages"].clone()
}

/// The three files, whole.
fn files() -> [(&'static str, String); 3] {
    let sandbox = Sandbox::new();
    sandbox.ok(&["new", "--id", "20010909-014640-0a0b0c0d", "--title", "demo"]);
    sandbox.ok(&["append", "20010909-014640-0a0b0c0d", "q"]);
    sandbox.ok(&["append", "20010909-014640-0a0b0c0d", "r"]);
    let native = read(&sandbox, NATIVE);
    [(NATIVE, native), (PI, PI_LINES.to_owned()), (MINE, MINE_LINES.to_owned())]
}

#[test]
fn a_header_behind_a_fragment_is_taken_as_it_is() {
    for (file, whole) in files() {
        let sandbox = Sandbox::new();
        sandbox.put(file, whole.as_bytes());
        let said = messages(&sandbox, file);
        let damaged = format!("{{\"id\":\"x\",{whole}");
        sandbox.put(file, damaged.as_bytes());
        let found = sandbox.run(&["check", file, "--json"]);
        assert!(found.code == 1 && found.stdout.contains("no-header"), "{file}: {}", found.stdout);
        let refused = sandbox.run(&["append", file, "x", "--json"]);
        assert!(refused.stderr.contains("read_only"), "{file}: {}", refused.stderr);
        let repaired = sandbox.run(&["check", file, "--repair"]);
        assert_eq!(repaired.code, 0, "{file}: {} {}", repaired.stdout, repaired.stderr);
        assert_eq!(read(&sandbox, file), whole, "{file}");
        assert_eq!(messages(&sandbox, file), said);
        let damaged = damaged.as_bytes().escape_ascii().to_string();
        let kept = sandbox.files().into_iter().any(|(_, text)| text == damaged);
        assert!(kept, "{file}: the damaged file is not kept");
    }
}

#[test]
fn a_header_that_is_lost_is_made_of_what_is_known() {
    for (file, whole) in files() {
        let sandbox = Sandbox::new();
        sandbox.put(file, whole.as_bytes());
        let said = messages(&sandbox, file);
        let (_, rest) = whole.split_once('\n').unwrap();
        sandbox.put(file, format!("{{{{ lost\n{rest}").as_bytes());
        let repaired = sandbox.run(&["check", file, "--repair"]);
        assert_eq!(repaired.code, 0, "{file}: {} {}", repaired.stdout, repaired.stderr);
        assert_eq!(messages(&sandbox, file), said, "{file}");
        let text = read(&sandbox, file);
        let (header, entries) = text.split_once('\n').unwrap();
        assert_eq!(entries, rest, "{file}");
        let header: Value = serde_json::from_str(header).unwrap();
        match file {
            PI => {
                assert_eq!(header["cwd"], "/home/me/app");
                assert_eq!(header["id"], "s1");
                assert_eq!(header["timestamp"], "2026-01-02T03:04:05.006Z");
            }
            MINE => assert_eq!(header["id"], "i0"),
            _ => assert_eq!(header["sessionId"], "20010909-014640-0a0b0c0d"),
        }
        assert_eq!(sandbox.run(&["check", file]).code, 0, "{file}");
        sandbox.ok(&["append", file, "and on"]);
    }
}

/// Ids in files of version 1 hang on lines: whatever moves lines must not change them.
#[test]
fn what_is_read_of_a_damaged_line_survives_a_migration() {
    for name in ["18-v1-before-migration", "19-v2-before-migration"] {
        let file = format!("{}/../../fixtures/pi/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let nuls = "\0".repeat(300);
        let glued = |at: usize, before: &str, end: &str| {
            let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            lines[at] = format!("{before}{}", lines[at]);
            lines.join("\n") + end
        };
        for (what, damaged) in [
            ("NUL bytes before a record", glued(3, &nuls, "\n")),
            ("NUL bytes between", glued(3, &format!("{nuls}\n"), "\n")),
            ("a fragment before a record", glued(2, r#"{"type":"mess"#, "\n")),
            ("no line end", glued(2, r#"{"type":"mess"#, "")),
        ] {
            for command in [
                vec!["append", "./s.jsonl", "more"],
                vec!["check", "./s.jsonl", "--repair"],
                vec!["vacuum", "./s.jsonl"],
            ] {
                let sandbox = Sandbox::new();
                sandbox.put("s.jsonl", damaged.as_bytes());
                let before = tree(&sandbox);
                sandbox.run(&command);
                let after = tree(&sandbox);
                assert_eq!(after[..before.len()], before, "{name}: {what}: {command:?}");
                let grown = usize::from(command[0] == "append");
                assert_eq!(after.len(), before.len() + grown, "{name}: {what}: {command:?}");
            }
        }
    }
}

/// Id and parent of every row.
fn tree(sandbox: &Sandbox) -> Vec<(String, String)> {
    let tree = sandbox.ok(&["tree", "./s.jsonl", "--json"]);
    let tree: serde_json::Value = serde_json::from_str(&tree).unwrap();
    let rows = tree["rows"].as_array().unwrap().iter();
    rows.map(|row| (row["id"].to_string(), row["parentId"].to_string())).collect()
}

/// The format and the lanes are those of the header, wherever on its line it stands.
#[test]
fn a_header_behind_a_fragment_tells_the_format() {
    let text = String::from_utf8(common::data("native.jsonl")).unwrap();
    let sandbox = Sandbox::new();
    sandbox.put("s.jsonl", text.as_bytes());
    let wanted = (tree(&sandbox), sandbox.ok(&["lanes", "./s.jsonl", "--json"]));
    let nuls = "\0".repeat(300);
    for fragment in [r#"{"id":"r0","par"#, &nuls] {
        sandbox.put("s.jsonl", format!("{fragment}{text}").as_bytes());
        assert_eq!((tree(&sandbox), sandbox.ok(&["lanes", "./s.jsonl", "--json"])), wanted);
        let refused = sandbox.run(&["append", "./s.jsonl", "x", "--json"]);
        assert!(refused.stderr.contains("read_only"), "{}", refused.stderr);
        let repaired = sandbox.run(&["check", "./s.jsonl", "--repair", "--json"]);
        assert_eq!(repaired.code, 0, "{} {}", repaired.stdout, repaired.stderr);
        assert!(repaired.stdout.contains("\"repaired\""), "{}", repaired.stdout);
        assert_eq!((tree(&sandbox), sandbox.ok(&["lanes", "./s.jsonl", "--json"])), wanted);
    }
}
