//! Files of Pi: building them, and the rules for what is written into them.

use std::collections::HashSet;

use super::json::Json;
use super::{Desk, Run};

/// A file of Pi, line by line.
#[derive(Clone, Debug, Default)]
pub(crate) struct PiFile {
    pub(crate) lines: Vec<String>,
}

/// The session id of files made here.
pub(crate) const ID: &str = "01940000-0000-7000-8000-00000000f00d";

impl PiFile {
    /// With a header.
    pub(crate) fn new() -> PiFile {
        PiFile::with_header(&format!(
            r#"{{"type":"session","version":3,"id":"{ID}","timestamp":"2026-05-01T09:00:00.000Z","cwd":"/proj/demo"}}"#
        ))
    }

    pub(crate) fn with_header(line: &str) -> PiFile {
        PiFile { lines: vec![line.to_owned()] }
    }

    pub(crate) fn line(mut self, line: impl Into<String>) -> PiFile {
        self.lines.push(line.into());
        self
    }

    /// An entry with these further fields.
    pub(crate) fn entry(self, kind: &str, id: &str, parent: &str, fields: &str) -> PiFile {
        let second = self.lines.len() % 60;
        let parent = if parent.is_empty() { "null".into() } else { format!("\"{parent}\"") };
        let comma = if fields.is_empty() { "" } else { "," };
        self.line(format!(
            r#"{{"type":"{kind}","id":"{id}","parentId":{parent},"timestamp":"2026-05-01T09:00:{second:02}.000Z"{comma}{fields}}}"#
        ))
    }

    pub(crate) fn message(self, id: &str, parent: &str, message: &str) -> PiFile {
        self.entry("message", id, parent, &format!(r#""message":{message}"#))
    }

    pub(crate) fn user(self, id: &str, parent: &str, text: &str) -> PiFile {
        let second = self.lines.len();
        let message = format!(
            r#"{{"role":"user","content":"{text}","timestamp":{}}}"#,
            1_777_626_000_000 + second as u64 * 1000
        );
        self.message(id, parent, &message)
    }

    pub(crate) fn assistant(self, id: &str, parent: &str, text: &str) -> PiFile {
        let second = self.lines.len();
        let message = format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}],{REST},"timestamp":{}}}"#,
            1_777_626_000_000 + second as u64 * 1000
        );
        self.message(id, parent, &message)
    }

    pub(crate) fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// A user and an assistant, twice: `00000001` to `00000004`.
    pub(crate) fn talk() -> PiFile {
        PiFile::new()
            .user("00000001", "", "q1")
            .assistant("00000002", "00000001", "a1")
            .user("00000003", "00000002", "q2")
            .assistant("00000004", "00000003", "a2")
    }
}

impl From<PiFile> for Vec<u8> {
    fn from(file: PiFile) -> Vec<u8> {
        file.text().into_bytes()
    }
}

/// What every answer of a model has.
pub(crate) const REST: &str = r#""api":"demo-api","provider":"demo","model":"demo-model-1","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop""#;

impl Desk {
    /// The context of a file as Pi would build it.
    pub(crate) fn pi_context(&self, session: &str) -> Json {
        self.read(&["context", session, "--shape", "pi", "--json"])
    }

    /// The texts of the messages of a context, each with its role.
    pub(crate) fn said(&self, session: &str) -> Vec<String> {
        said(&self.pi_context(session))
    }

    /// Appends a message and gives its id.
    pub(crate) fn append(&self, session: &str, text: &str) -> String {
        self.run(&["append", session, text]).ok().to_owned()
    }

    /// Appends a message and looks that it is there afterwards, on its own line, and that the
    /// context is the old one with it.
    pub(crate) fn append_reads_back(&self, name: &str) -> Run {
        let session = format!("./{name}");
        let before = self.pi_context(&session);
        let old = self.bytes(name);
        let run = self.run(&["append", &session, "after recovery"]);
        let id = run.ok().to_owned();
        let new = self.bytes(name);
        plain_lines(&old, &new, 1);
        let after = self.pi_context(&session);
        assert_eq!(after.get("leaf").text(), id);
        let mut messages = before.get("messages").list().to_vec();
        let last = after.get("messages").list().last().unwrap().clone();
        assert_eq!(last.get("content").text(), "after recovery");
        messages.push(last);
        assert_eq!(after.get("messages"), &Json::List(messages));
        run
    }
}

/// Role and text of each message.
pub(crate) fn said(context: &Json) -> Vec<String> {
    let text = |message: &Json| match message.get("content") {
        Json::Text(text) => text.to_string_lossy().into_owned(),
        Json::List(blocks) => blocks.iter().map(|block| block.get("text").text()).collect(),
        _ => message.get("summary").text(),
    };
    let messages = context.get("messages").list();
    messages.iter().map(|one| format!("{} {}", one.get("role").text(), text(one))).collect()
}

/// Checks what was appended to a file of Pi: the old bytes are untouched, and each new line is
/// what both 0.73.1 and 1.6.0 take. Gives the new lines.
pub(crate) fn plain_lines(old: &[u8], new: &[u8], count: usize) -> Vec<Json> {
    assert!(new.starts_with(old), "the old bytes changed");
    assert_eq!(new.last(), Some(&b'\n'));
    let mut ids = ids_of(old);
    let added = String::from_utf8(new[old.len()..].to_vec()).unwrap();
    let added = match old.last() {
        Some(b'\n') | None => added.as_str(),
        _ => added.strip_prefix('\n').expect("a line end before the new line"),
    };
    let lines: Vec<Json> = added.lines().map(|line| Json::parse(line).expect(line)).collect();
    assert_eq!(lines.len(), count, "{added}");
    for line in &lines {
        plain_line(line, &ids);
        ids.insert(line.get("id").text());
    }
    lines
}

/// Ids of the lines that are JSON, and of whole records behind a fragment.
fn ids_of(bytes: &[u8]) -> HashSet<String> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut ids = HashSet::new();
    for line in text.split('\n') {
        let starts = line.match_indices("{\"type\"").map(|(at, _)| at);
        for start in starts {
            if let Some(json) = Json::parse(line[start..].trim_matches('\0')) {
                ids.insert(json.get("id").text());
                break;
            }
        }
    }
    ids
}

fn plain_line(line: &Json, ids: &HashSet<String>) {
    let shown = line.stringify();
    let id = line.get("id").text();
    assert!(id.len() == 8 && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')), "{shown}");
    assert!(!ids.contains(&id), "the id is taken: {shown}");
    assert!(line.has("parentId"), "{shown}");
    if let Some(parent) = line.get("parentId").as_text() {
        assert!(ids.contains(&parent), "no such parent: {shown}");
    }
    let at = line.get("timestamp").text();
    assert!(at.len() == 24 && at.ends_with('Z') && at.as_bytes()[10] == b'T', "{shown}");
    assert!(at.parse::<jiff::Timestamp>().is_ok(), "{shown}");
    let kind = line.get("type").text();
    let known = [
        "message",
        "model_change",
        "thinking_level_change",
        "compaction",
        "branch_summary",
        "custom",
        "custom_message",
        "label",
        "session_info",
        "usage",
        "context_edit",
    ];
    assert!(known.contains(&kind.as_str()), "{shown}");
    assert!(!line.has("retainedTail"), "{shown}");
    if kind != "message" {
        return;
    }
    let message = line.get("message");
    let written = message.get("timestamp").as_number().unwrap_or_else(|| panic!("{shown}"));
    assert!(written > 1.6e12 && written.fract() == 0.0, "{shown}");
    match message.get("role").text().as_str() {
        "user" => assert!(message.has("content"), "{shown}"),
        "assistant" => {
            for field in ["content", "api", "provider", "model", "usage", "stopReason"] {
                assert!(!message.get(field).is_null(), "{field}: {shown}");
            }
            let Json::List(_) = message.get("content") else { panic!("{shown}") };
            for field in ["input", "output", "cacheRead", "cacheWrite", "totalTokens", "cost"] {
                assert!(!message.get("usage").get(field).is_null(), "usage.{field}: {shown}");
            }
        }
        "toolResult" => {
            for field in ["toolCallId", "toolName", "content", "isError"] {
                assert!(!message.get(field).is_null(), "{field}: {shown}");
            }
            let Json::List(_) = message.get("content") else { panic!("{shown}") };
        }
        other => panic!("role {other}: {shown}"),
    }
}
