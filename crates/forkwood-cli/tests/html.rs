//! `forkwood export --to html`, and the page in a real browser: Debian's Chromium, driven by
//! `interop/browser/page.mjs`. `scripts/test.sh` installs both and sets `FORKWOOD_INTEROP`, under
//! which a missing one is a failure; without it the browser's tests do nothing.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::Sandbox;
use serde_json::{Value, json};

/// Lines of a native session.
struct Log(Vec<Value>);

impl Log {
    fn new(title: &str) -> Log {
        Log(vec![json!({
            "id": "root", "parentId": null, "timestamp": 1_790_000_000, "type": "session_info",
            "sessionId": "20260921-140000-0a0b0c0d", "version": 1, "generation": "00000000000000aa",
            "title": title, "cwd": "/home/me/work",
        })])
    }

    fn add(&mut self, id: &str, parent: &str, kind: &str, rest: Value) -> &mut Log {
        let mut line = json!({
            "id": id, "parentId": parent, "type": kind,
            "timestamp": 1_790_000_000 + self.0.len() as i64,
        });
        line.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        self.0.push(line);
        self
    }

    fn say(&mut self, id: &str, parent: &str, role: &str, content: impl Into<Value>) -> &mut Log {
        let content: Value = content.into();
        self.add(id, parent, "message", json!({"message": {"role": role, "content": content}}))
    }

    fn page(&self, sandbox: &Sandbox) -> PathBuf {
        let lines: String = self.0.iter().map(|line| format!("{line}\n")).collect();
        sandbox.put("session.jsonl", lines.as_bytes());
        sandbox.ok(&["export", "session.jsonl", "--to", "html", "-o", "page.html"]);
        sandbox.path("page.html")
    }
}

fn plans() -> Log {
    let mut log = Log::new("Two plans");
    log.say("q", "root", "user", "which plan? **bold** and `code`")
        .add("o", "q", "message", json!({"message": {"role": "assistant", "model": "m-1", "content": [
            {"type": "thinking", "thinking": "let me see"},
            {"type": "text", "text": "| a | b |\n|---|---|\n| 1 | 2 |"},
            {"type": "toolCall", "id": "t1", "name": "read", "arguments": {"path": "a.txt"}},
        ]}}))
        .add("r", "o", "message", json!({"message": {"role": "tool", "toolCallId": "t1",
            "toolName": "read", "content": "line one\nline two", "isError": true}}))
        .say("a1", "r", "user", "plan A, then")
        .say("a2", "a1", "assistant", "this stands only on A")
        .add("lf", "a2", "leaf", json!({"leafId": "r"}))
        .say("b1", "r", "user", "plan B")
        .add("c", "b1", "compaction", json!({"summary": "what was said", "replacesEntryIds": [],
            "firstKeptEntryId": "b1", "tokensBefore": 12_345, "tokensAfter": 678,
            "state": {"model": null, "provider": null, "thinkingLevel": "off", "activeToolNames": []}}))
        .say("b2", "c", "assistant", "go on with plan B")
        .add("l", "b2", "label", json!({"targetId": "q", "label": "start"}));
    log
}

/// What a browser must not do, in every field that holds text.
const HOSTILE: &str = "</script><script>pwned=1</script><img src=x onerror=pwned=2>\
    <svg onload=pwned=3><iframe src=javascript:pwned=4></iframe>\
    <style>*{background:url(https://example.com/x)}</style>\n\n\
    [x](javascript:pwned=5) ![y](https://example.com/y.png) <a href=\"javascript:pwned=6\">z</a>\n\n\
    <meta http-equiv=refresh content=0;url=https://example.com><base href=https://example.com>\n\n\
    <form action=https://example.com><input autofocus onfocus=pwned=7></form>\u{202e}\u{1b}[2J";

fn hostile() -> Log {
    let mut log = Log::new(HOSTILE);
    log.0[0]["cwd"] = json!(HOSTILE);
    log.say(HOSTILE, "root", "user", HOSTILE)
        .add("b", HOSTILE, "message", json!({"message": {"role": "assistant", "model": HOSTILE,
            "content": [
                {"type": "thinking", "thinking": HOSTILE},
                {"type": "text", "text": HOSTILE},
                {"type": "toolCall", "id": HOSTILE, "name": HOSTILE, "arguments": {"a": HOSTILE}},
                {"type": "image", "mimeType": HOSTILE, "base64": "AAAA"},
                {"type": "image", "mimeType": "image/svg+xml", "base64": "PHN2Zy8+"},
            ]}}))
        .add("c", "b", "message", json!({"message": {"role": "tool", "toolCallId": HOSTILE,
            "toolName": HOSTILE, "content": HOSTILE}}))
        .say("d", "b", HOSTILE, HOSTILE)
        .add("e", "d", "custom_message", json!({"namespace": HOSTILE, "content": HOSTILE, "display": true}))
        .add("f", "e", "compaction", json!({"summary": HOSTILE, "replacesEntryIds": [],
            "firstKeptEntryId": "f",
            "state": {"model": HOSTILE, "provider": null, "thinkingLevel": "off", "activeToolNames": []}}))
        .add("g", "f", "model_change", json!({"model": HOSTILE, "provider": HOSTILE}))
        .add("h", "g", HOSTILE, json!({}))
        .add("i", "h", "label", json!({"targetId": "b", "label": HOSTILE}));
    log
}

fn large() -> Log {
    let mut log = Log::new("Ten thousand");
    let mut parent = "root".to_owned();
    for at in 0..10_000 {
        let id = format!("e{at}");
        let (role, text) = match at {
            5_000 => ("user", "the needle in the middle".to_owned()),
            _ if at % 2 == 0 => ("user", format!("question {at}")),
            _ => {
                ("assistant", format!("# Answer {at}\n\n- one\n- `two`\n\n{}", "words ".repeat(30)))
            }
        };
        log.say(&id, &parent, role, text);
        // Now and then a branch is left.
        if at % 100 == 99 {
            log.add(&format!("l{at}"), &id, "leaf", json!({"leafId": parent}));
        } else {
            parent = id;
        }
    }
    log
}

fn browse(workflow: &str, log: &Log) {
    if std::env::var_os("FORKWOOD_INTEROP").is_none() {
        return;
    }
    let sandbox = Sandbox::new();
    let page = log.page(&sandbox);
    let tools = std::env::var_os("FORKWOOD_TOOLS").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache/forkwood-tools"),
        PathBuf::from,
    );
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/browser/page.mjs");
    let mut node = Command::new("node");
    node.arg(script).arg(workflow).arg(page).env("FORKWOOD_BROWSER_MODULES", tools.join("browser"));
    // Screenshots, for eyes.
    node.args(std::env::var_os("FORKWOOD_SCREENSHOTS"));
    let output = node.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_reader_finds_their_way() {
    browse("reading", &plans());
}

#[test]
fn hostile_sessions_do_nothing_in_a_browser() {
    browse("hostile", &hostile());
}

#[test]
fn ten_thousand_entries_are_drawn_as_they_are_looked_at() {
    browse("large", &large());
}

#[test]
fn the_page_is_one_file_with_every_branch() {
    let sandbox = Sandbox::new();
    let page = std::fs::read_to_string(plans().page(&sandbox)).unwrap();
    for expected in [
        "<title>Two plans</title>",
        "only on A",
        "go on with plan B",
        "\"folder\",\"/home/me/work\"",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
    let path = sandbox.ok(&["export", "session.jsonl", "--to", "html", "--at", "b1"]);
    assert!(!path.contains("only on A") && path.contains("plan B"));
    // The same session gives the same page.
    let again = sandbox.ok(&["export", "session.jsonl", "--to", "html"]);
    assert_eq!(again.trim_end(), page.trim_end());
}
