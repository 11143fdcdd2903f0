//! Real sessions of Pi, gone on with in place: Pi must be able to open the result.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cases_common;

use cases_common::json::Json;
use cases_common::pi::plain_lines;
use cases_common::{Desk, name_of, session_files};

const CALL: &str = r#"{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"toolCall","id":"call_new","name":"bash","arguments":{"command":"ls"}}],"model":"demo-model-1","provider":"demo","stopReason":"toolUse"}}"#;
const RESULT: &str = r#"{"type":"message","message":{"role":"tool","toolCallId":"call_new","toolName":"bash","content":"a.txt","isError":false}}"#;
const ANSWER: &str = r#"{"type":"message","message":{"role":"assistant","content":"There is a.txt.","model":"demo-model-1","provider":"demo"}}"#;

/// A session in its file, and what Pi would send of it.
struct Session {
    desk: Desk,
    name: String,
    bytes: Vec<u8>,
    messages: Vec<Json>,
}

impl Session {
    fn open(path: &std::path::Path) -> Session {
        let name = name_of(path);
        let desk = Desk::new(&name);
        desk.copy(path);
        let context = desk.pi_context(&name);
        let messages = context.get("messages").list().to_vec();
        let bytes = desk.bytes(&name);
        Session { desk, name, bytes, messages }
    }

    /// Runs a writing command that adds one line, and one message where `says`. Gives the line.
    fn write(&mut self, args: &[&str], says: bool) -> Json {
        let all: Vec<&str> = args[..1]
            .iter()
            .copied()
            .chain([self.name.as_str()])
            .chain(args[1..].iter().copied())
            .collect();
        self.desk.run(&all).ok();
        let new = self.desk.bytes(&self.name);
        let line = plain_lines(&self.bytes, &new, 1).remove(0);
        self.bytes = new;
        let context = self.desk.pi_context(&self.name);
        let messages = context.get("messages").list().to_vec();
        if says {
            self.messages.push(line.get("message").clone());
        }
        assert_eq!(messages, self.messages, "{}: {args:?}", self.name);
        assert_eq!(context.get("leaf"), line.get("id"), "{}: {args:?}", self.name);
        line
    }
}

fn dialect(path: &std::path::Path) -> String {
    let desk = Desk::new("dialect");
    desk.copy(path);
    desk.list(&["--dir", "."]).0[0].get("dialect").text()
}

#[test]
fn going_on_in_files_of_the_coding_agent() {
    let mut checked = 0;
    for path in session_files("pi") {
        let kind = dialect(&path);
        if kind.starts_with("pi-harness") {
            continue;
        }
        let mut session = Session::open(&path);
        let name = session.name.clone();
        if kind != "pi-v3" {
            migrates(&mut session, &kind);
        }
        let before = session.desk.pi_context(&name).get("leaf").text();
        let hello = session.write(&["append", "hello"], true);
        assert_eq!(hello.get("message").get("role").text(), "user");
        assert_eq!(hello.get("message").get("content").text(), "hello");
        assert_eq!(hello.get("parentId").text(), before, "{name}");
        let hello = hello.get("id").text();
        let call = session.write(&["append", "--entry", CALL], true);
        let block = &call.get("message").get("content").list()[1];
        assert_eq!(block.get("arguments").get("command").text(), "ls");
        let result = session.write(&["append", "--entry", RESULT], true);
        assert_eq!(result.get("parentId"), call.get("id"));
        let label = session.write(&["label", &hello, "here"], false);
        assert_eq!(label.get("type").text(), "label");
        assert_eq!(label.get("targetId").text(), hello);
        let title = session.write(&["rename", "A new\nname"], false);
        assert_eq!(title.get("type").text(), "session_info");
        let (rows, _) = session.desk.list(&["--dir", "."]);
        assert_eq!(rows[0].get("title"), title.get("name"), "{name}");
        let tree = session.desk.read(&["tree", &name, "--json"]);
        let labelled = tree.get("rows").list().iter().find(|row| row.get("id").text() == hello);
        assert_eq!(labelled.unwrap().get("label").text(), "here", "{name}");
        rewinds(&mut session, &hello);
        checked += 1;
    }
    assert!(checked >= 15, "{checked}");
}

/// The first append to a file of an old version rewrites it and keeps the old file.
fn migrates(session: &mut Session, kind: &str) {
    let old = session.bytes.clone();
    let (name, desk) = (session.name.clone(), &session.desk);
    let id = desk.run(&["append", &name, "first"]).ok().to_owned();
    let baks: Vec<String> =
        desk.names().into_iter().filter(|name| name.ends_with(".bak")).collect();
    let [bak] = baks.as_slice() else { panic!("{name}: {baks:?}") };
    assert_eq!(desk.bytes(bak), old, "{name}: {kind}");
    session.bytes = desk.bytes(&name);
    let context = desk.pi_context(&name);
    let messages = context.get("messages").list();
    assert_eq!(messages[..messages.len() - 1], session.messages, "{name}");
    assert_eq!(context.get("leaf").text(), id);
    session.messages = messages.to_vec();
    // Every line is one of version 3 now.
    let text = String::from_utf8(session.bytes.clone()).unwrap();
    let mut ids = std::collections::HashSet::new();
    for (at, line) in text.lines().enumerate() {
        let line = Json::parse(line).unwrap();
        if at == 0 {
            assert_eq!(line.get("version").number(), 3, "{name}");
            continue;
        }
        if let Some(parent) = line.get("parentId").as_text() {
            assert!(ids.contains(&parent), "{name}: {parent}");
        }
        assert!(ids.insert(line.get("id").text()), "{name}");
    }
}

/// A pointer move that Pi has no line for: kept beside the file, and honoured.
fn rewinds(session: &mut Session, to: &str) {
    let (name, desk) = (session.name.clone(), &session.desk);
    desk.run(&["rewind", &name, to]).ok();
    assert_eq!(desk.bytes(&name), session.bytes, "{name}: rewind wrote to the file");
    assert!(desk.names().contains(&format!(".{name}.forkwood")), "{name}: {:?}", desk.names());
    let context = desk.pi_context(&name);
    assert_eq!(context.get("leaf").text(), to, "{name}");
    session.messages.truncate(session.messages.len() - 2);
    assert_eq!(context.get("messages").list(), session.messages, "{name}");
    assert_eq!(desk.read(&["tree", &name, "--json"]).get("leaf").text(), to, "{name}");
    let branch = session.write(&["append", "--entry", ANSWER], true);
    assert_eq!(branch.get("parentId").text(), to, "{name}");
    // Now the end of the file says it too.
    let leaf = branch.get("id").text();
    let next = session.write(&["append", "and on"], true);
    assert_eq!(next.get("parentId").text(), leaf, "{name}");
    let at = session.desk.run(&["branches", &session.name, "--json"]);
    assert!(at.stdout.contains(&next.get("id").text()), "{name}: {}", at.stdout);
}

#[test]
fn a_rewound_pointer_gives_way_to_what_pi_writes() {
    for path in session_files("pi") {
        if !name_of(&path).starts_with("02-") {
            continue;
        }
        let session = Session::open(&path);
        let (name, desk) = (session.name.as_str(), &session.desk);
        desk.run(&["rewind", name, "cf878cd0"]).ok();
        assert_eq!(desk.pi_context(name).get("leaf").text(), "cf878cd0");
        let mut bytes = session.bytes.clone();
        bytes.extend_from_slice(b"{\"type\":\"message\",\"id\":\"abcdef01\",\"parentId\":\"a97da2f8\",\"timestamp\":\"2026-01-15T10:00:00.000Z\",\"message\":{\"role\":\"user\",\"content\":\"pi\",\"timestamp\":1768471200000}}\n");
        std::fs::write(desk.file(name), &bytes).unwrap();
        assert_eq!(desk.pi_context(name).get("leaf").text(), "abcdef01");
        let id = desk.append(name, "ours");
        let new = desk.bytes(name);
        let line = plain_lines(&bytes, &new, 1).remove(0);
        assert_eq!(
            (line.get("id").text(), line.get("parentId").text()),
            (id, "abcdef01".to_owned())
        );
    }
}

#[test]
fn files_of_the_harness_are_only_read() {
    let mut checked = 0;
    for path in session_files("pi") {
        if !dialect(&path).starts_with("pi-harness") {
            continue;
        }
        let session = Session::open(&path);
        let (name, desk) = (session.name.as_str(), &session.desk);
        let context = desk.pi_context(name);
        let leaf = context.get("leaf").text();
        let root = context.get("path").texts().remove(0);
        for args in [
            vec!["append", name, "hello", "--json"],
            vec!["append", name, "--entry", CALL, "--json"],
            vec!["label", name, &leaf, "x", "--json"],
            vec!["rename", name, "x", "--json"],
            vec!["rewind", name, &root, "--json"],
        ] {
            assert_eq!(desk.run(&args).refused(), "read_only", "{name}: {args:?}");
        }
        assert_eq!(desk.bytes(name), session.bytes, "{name}");
        assert_eq!(desk.names(), [name], "{name}");
        // A fork can be gone on with, and holds the same messages.
        let fork = desk.run(&["fork", name]).ok().to_owned();
        let theirs = desk.context(name);
        let ours = desk.context(&fork);
        assert_eq!(ours.get("messages"), theirs.get("messages"), "{name}");
        desk.append(&fork, "on we go");
        checked += 1;
    }
    assert!(checked >= 2, "{checked}");
}

#[test]
fn forks_of_files_hold_the_same_context() {
    for path in session_files("pi") {
        let session = Session::open(&path);
        let (name, desk) = (session.name.as_str(), &session.desk);
        let fork = desk.run(&["fork", name]).ok().to_owned();
        let (ours, theirs) = (desk.context(&fork), desk.context(name));
        // The system message of a compaction has no place in a native one: it stays behind.
        let sent = |context: &Json| -> Vec<Json> {
            let all = context.get("messages").list().iter().cloned();
            all.filter(|message| message.get("role").text() != "system").collect()
        };
        assert_eq!(sent(&ours), sent(&theirs), "{name}");
        let lost = ours.get("messages").list().len() < theirs.get("messages").list().len();
        let held = String::from_utf8_lossy(&session.bytes).contains("\"systemMessage\"");
        assert!(!lost || held, "{name}");
        assert_eq!(ours.get("model"), theirs.get("model"), "{name}");
        // Where nobody set a level, Pi says "off".
        match theirs.get("thinkingLevel").text().as_str() {
            "off" => {}
            level => assert_eq!(ours.get("thinkingLevel").text(), level, "{name}"),
        }
        assert_eq!(desk.bytes(name), session.bytes, "{name}");
        let (found, damaged) = desk.check(&fork);
        assert!(!damaged, "{name}: {found:?}");
        desk.append(&fork, "on we go");
    }
}
