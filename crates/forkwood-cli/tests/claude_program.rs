//! Files for Claude Code, with its own program and the session functions of its SDK as judges.
//! `scripts/test.sh` installs both (interop/python) and sets `FORKWOOD_INTEROP`, under which what
//! is missing is a failure; without it these tests do nothing. Nothing is sent to a model: the
//! program has no account here, and no way to the network.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::Sandbox;
use serde_json::{Value, json};

/// A workspace, and the folder of Claude Code's own.
struct Desk {
    sandbox: Sandbox,
}

fn tools() -> PathBuf {
    let tools = std::env::var_os("FORKWOOD_TOOLS").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache/forkwood-tools"),
        PathBuf::from,
    );
    let folder = tools.join("claude");
    assert!(folder.join("claude_agent_sdk").exists(), "{}: run scripts/test.sh", folder.display());
    folder
}

fn wanted() -> bool {
    std::env::var_os("FORKWOOD_INTEROP").is_some()
}

impl Desk {
    fn new() -> Desk {
        let sandbox = Sandbox::new();
        std::fs::create_dir_all(sandbox.path("home/.claude/projects")).unwrap();
        std::fs::create_dir_all(sandbox.path(".forkwood")).unwrap();
        Desk { sandbox }
    }

    /// The folder as programs see it, links resolved.
    fn folder(&self) -> PathBuf {
        self.sandbox.path("").canonicalize().unwrap()
    }

    fn ok(&self, args: &[&str]) -> String {
        self.sandbox.ok(args)
    }

    /// Writes a session where Claude Code looks for it; gives its id there.
    fn export(&self, session: &str) -> String {
        let report = self.ok(&[
            "export",
            session,
            "--to",
            "claude",
            "--all-branches",
            "--json",
            "-o",
            "home/.claude/projects",
        ]);
        let report: Value = serde_json::from_str(&report).unwrap();
        let path = PathBuf::from(report["paths"][0].as_str().unwrap());
        path.file_stem().unwrap().to_str().unwrap().to_owned()
    }

    fn file(&self, id: &str) -> String {
        let projects = self.sandbox.path("home/.claude/projects");
        let mut folders = std::fs::read_dir(projects).unwrap().map(|entry| entry.unwrap().path());
        let path = folders.find_map(|folder| {
            Some(folder.join(format!("{id}.jsonl"))).filter(|path| path.exists())
        });
        path.unwrap().to_str().unwrap().to_owned()
    }

    fn program(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(self.folder())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.sandbox.path("home"))
            .env("CLAUDE_CONFIG_DIR", self.sandbox.path("home/.claude"))
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            // Nobody listens there.
            .env("HTTP_PROXY", "http://127.0.0.1:9")
            .env("HTTPS_PROXY", "http://127.0.0.1:9")
            .env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
            .stdin(std::process::Stdio::null());
        command
    }

    fn sdk(&self, args: &[&str]) -> Value {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/python/claude.py");
        let mut command = self.program(Path::new("python3"), &[script.to_str().unwrap()]);
        command.args(args).env("PYTHONPATH", tools()).env("PYTHONDONTWRITEBYTECODE", "1");
        let output = command.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {error}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// What Claude Code says when it is to go on with a session.
    fn resume(&self, id: &str, prompt: &str) -> String {
        let claude = tools().join("claude_agent_sdk/_bundled/claude");
        let output = self.program(&claude, &["-p", "--resume", id, prompt]).output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    /// Role and words of the context that Forkwood sees in a file.
    fn context(&self, file: &str) -> Vec<(String, String)> {
        let context: Value = serde_json::from_str(&self.ok(&["context", file, "--json"])).unwrap();
        let messages = context["messages"].as_array().unwrap();
        messages
            .iter()
            .map(|message| (message["role"].as_str().unwrap().to_owned(), words(message)))
            .collect()
    }
}

/// The texts of a message, and the ids of its calls and results.
fn words(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let word = |block: &Value| {
                ["text", "tool_use_id", "id", "content"]
                    .iter()
                    .find_map(|key| block[*key].as_str().map(str::to_owned))
            };
            blocks.iter().filter_map(word).collect::<Vec<_>>().join("|")
        }
        _ => String::new(),
    }
}

/// A conversation with calls, a branch, a label and a title.
fn session(desk: &Desk) -> String {
    let id = desk.ok(&["new", "--title", "Plans"]);
    desk.ok(&["append", &id, "What is the plan?"]);
    let call = json!({"type": "message", "message": {
        "role": "assistant", "model": "claude-x", "provider": "anthropic",
        "content": [{"type": "text", "text": "I look."},
            {"type": "toolCall", "id": "toolu_1", "name": "read", "arguments": {"path": "a"}},
            {"type": "toolCall", "id": "toolu_2", "name": "read", "arguments": {"path": "b"}}],
    }});
    let result = |call: &str| {
        json!({"type": "message", "message": {
            "role": "tool", "toolCallId": call, "content": format!("read by {call}"),
        }})
    };
    let entries = format!("{call}\n{}\n{}\n", result("toolu_1"), result("toolu_2"));
    let run = desk.sandbox.run_with(&["append", &id, "--entry", "-"], &entries);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let asked = desk.ok(&["append", &id, "And then?"]);
    desk.ok(&["append", &id, "--role", "assistant", "Left alone."]);
    desk.ok(&["rewind", &id, &asked]);
    desk.ok(&["append", &id, "--role", "assistant", "Plan B."]);
    id
}

#[test]
fn the_sdk_lists_reads_renames_and_forks_what_is_exported() {
    if !wanted() {
        return;
    }
    let desk = Desk::new();
    let id = desk.export(&session(&desk));
    let list = desk.sdk(&["list", desk.folder().to_str().unwrap()]);
    assert_eq!(list[0]["id"], id.as_str(), "{list}");
    assert_eq!(list[0]["title"], "Plans");
    assert_eq!(list[0]["first"], "What is the plan?");
    let file = desk.file(&id);
    let ours: Vec<String> = desk
        .context(&file)
        .into_iter()
        .filter(|(role, _)| role != "tool")
        .map(|(_, words)| words)
        .collect();
    let theirs = desk.sdk(&["messages", &id]);
    let said: Vec<&Value> = theirs.as_array().unwrap().iter().collect();
    let results: Vec<String> = said
        .iter()
        .map(|message| words(&message["message"]))
        .filter(|words| words.starts_with("toolu_"))
        .collect();
    assert_eq!(results, ["toolu_1", "toolu_2"], "{theirs}");
    let theirs: Vec<String> = said
        .iter()
        .map(|message| words(&message["message"]))
        .filter(|words| !words.starts_with("toolu_"))
        .collect();
    assert_eq!(theirs, ours);
    assert_eq!(theirs.last().unwrap(), "Plan B.");
    desk.sdk(&["rename", &id, "Other plans"]);
    assert!(desk.ok(&["list", "--from", "claude"]).contains("Other plans"));
    let fork = desk.sdk(&["fork", &id]);
    let fork = desk.file(fork.as_str().unwrap());
    assert_eq!(desk.context(&fork), desk.context(&file));
}

#[test]
fn the_sdk_reads_on_from_a_compaction() {
    if !wanted() {
        return;
    }
    let desk = Desk::new();
    let session = session(&desk);
    let compaction = json!({"type": "compaction", "summary": "All that was.",
        "retainedTail": [{"role": "user", "content": "kept"}]});
    let run =
        desk.sandbox.run_with(&["append", &session, "--entry", "-"], &format!("{compaction}\n"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    desk.ok(&["append", &session, "Go on."]);
    let id = desk.export(&session);
    let theirs = desk.sdk(&["messages", &id]);
    let said: Vec<String> =
        theirs.as_array().unwrap().iter().map(|message| words(&message["message"])).collect();
    let tail: Vec<&str> = said.iter().rev().take(2).map(String::as_str).collect();
    assert_eq!(tail, ["Go on.", "kept"], "{said:?}");
    assert!(!said.contains(&"What is the plan?".to_owned()), "{said:?}");
}

#[test]
fn claude_code_itself_resumes_what_is_exported() {
    if !wanted() {
        return;
    }
    let desk = Desk::new();
    let id = desk.export(&session(&desk));
    let unknown = desk.resume("11111111-1111-4111-8111-111111111111", "hi");
    assert!(unknown.contains("No conversation found"), "{unknown}");
    let before = desk.context(&desk.file(&id));
    let known = desk.resume(&id, "And what now?");
    assert!(!known.contains("No conversation found"), "{known}");
    // It wrote what it was told behind what it found.
    let after = desk.context(&desk.file(&id));
    assert_eq!(after[..before.len()], before[..], "{known}");
    let more: Vec<&str> = after[before.len()..].iter().map(|(_, words)| words.as_str()).collect();
    assert!(more.contains(&"And what now?"), "{more:?}: {known}");
}
