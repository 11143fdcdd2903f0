//! Ctrl-C while `forkwood chat` waits for an answer.

#![cfg(all(unix, feature = "agent"))]
#![allow(clippy::unwrap_used)]

mod common;
mod llm;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use common::Sandbox;
use llm::{Reply, Server, Step};
use serde_json::Value;

struct Talk {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    sandbox: Sandbox,
}

impl Talk {
    fn start(sandbox: Sandbox, server: &Server, more: &[&str]) -> Talk {
        let url = format!("{}/v1", server.url);
        let mut child = Command::new(assert_cmd::cargo::cargo_bin("forkwood"))
            .current_dir(sandbox.path(""))
            .args(["chat", "--json", "--provider", "openai", "--model", "m", "--base-url", &url])
            .args(more)
            .env_remove("FORKWOOD_DIR")
            .env("HOME", sandbox.path("home"))
            .env("OPENAI_API_KEY", "k")
            .env("NO_PROXY", "127.0.0.1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Talk { child, stdin, stdout, sandbox }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").unwrap();
    }

    /// Reads up to an event of a kind.
    fn until(&mut self, kind: &str) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "no {kind}");
            let event: Value = serde_json::from_str(&line).unwrap();
            if event["event"] == kind {
                return event;
            }
        }
    }

    fn interrupt(&self) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    }

    /// Ends the input, and gives the exit code.
    fn end(mut self) -> (i32, Sandbox) {
        drop(self.stdin);
        (self.child.wait().unwrap().code().unwrap(), self.sandbox)
    }
}

fn said(sandbox: &Sandbox) -> Vec<(String, String)> {
    let id = sandbox.ok(&["list", "--json"]);
    let id: Value = serde_json::from_str(&id).unwrap();
    let context = sandbox.ok(&["context", id["id"].as_str().unwrap(), "--json"]);
    let context: Value = serde_json::from_str(&context).unwrap();
    let messages = context["messages"].as_array().unwrap();
    let plain = |value: &Value| value.as_str().unwrap_or("...").to_owned();
    messages.iter().map(|one| (plain(&one["role"]), plain(&one["content"]))).collect()
}

fn pair(role: &str, text: &str) -> (String, String) {
    (role.to_owned(), text.to_owned())
}

#[test]
fn the_answer_stops_and_the_next_turn_works() {
    let hang = Reply::openai_then(&["Once upon "], Step::Hang);
    let server = Server::start([Reply::openai(&["Hello."]), hang, Reply::openai(&["Sure."])]);
    let mut talk = Talk::start(Sandbox::new(), &server, &[]);
    talk.say("hi");
    talk.until("end");
    talk.say("tell me a story");
    talk.until("text");
    let began = Instant::now();
    talk.interrupt();
    assert_eq!(talk.until("end")["stop"], "cancelled");
    assert!(began.elapsed() < Duration::from_secs(10), "at once, not when the server ends");
    talk.say("something else");
    assert_eq!(talk.until("end")["text"], "Sure.");
    let (code, sandbox) = talk.end();
    assert_eq!(code, 0);
    // What was said stays; half a sentence of the model does not.
    let expect = [
        pair("user", "hi"),
        pair("assistant", "Hello."),
        pair("user", "tell me a story"),
        pair("user", "something else"),
        pair("assistant", "Sure."),
    ];
    assert_eq!(said(&sandbox), expect);
}

#[test]
fn what_a_tool_did_before_is_kept() {
    let sandbox = Sandbox::new();
    sandbox.put("notes.txt", b"Buy milk.\n");
    let call = Reply::openai_call("c1", "read", r#"{"path":"notes.txt"}"#);
    let hang = Reply::openai_then(&["It says "], Step::Hang);
    let server = Server::start([call, hang]);
    let mut talk = Talk::start(sandbox, &server, &["--tools", "read"]);
    talk.say("what?");
    talk.until("tool_result");
    talk.until("text");
    talk.interrupt();
    assert_eq!(talk.until("end")["stop"], "cancelled");
    let (code, sandbox) = talk.end();
    assert_eq!(code, 130, "the last answer was stopped");
    let roles: Vec<String> = said(&sandbox).into_iter().map(|(role, _)| role).collect();
    assert_eq!(roles, ["user", "assistant", "tool"]);
}

#[test]
fn a_branch_stays_where_its_summary_is_stopped() {
    let hang = Reply::openai_then(&["They "], Step::Hang);
    let server = Server::start([Reply::openai(&["One."]), Reply::openai(&["Two."]), hang]);
    let mut talk = Talk::start(Sandbox::new(), &server, &[]);
    talk.say("first");
    let first = talk.until("end")["leaf"].as_str().unwrap().to_owned();
    talk.say("second");
    talk.until("end");
    talk.say(&format!("/rewind {first} --summary"));
    while server.requests().len() < 3 {
        std::thread::sleep(Duration::from_millis(20));
    }
    talk.interrupt();
    assert_eq!(talk.until("error")["kind"], "interrupted");
    let (code, sandbox) = talk.end();
    assert_eq!(code, 130);
    assert_eq!(said(&sandbox).len(), 4);
}

#[test]
fn at_rest_it_ends_the_program() {
    let server = Server::start([Reply::openai(&["Hello."])]);
    let mut talk = Talk::start(Sandbox::new(), &server, &[]);
    talk.say("hi");
    talk.until("end");
    talk.interrupt();
    let code = talk.child.wait().unwrap().code();
    assert_eq!(code, Some(130));
    assert_eq!(said(&talk.sandbox).len(), 2);
}

#[test]
fn a_second_chat_waits_for_nobody_and_breaks_nothing() {
    let hang = Reply::openai_then(&["Once upon "], Step::Hang);
    let server = Server::start([hang, Reply::openai(&["Sure."])]);
    let mut talk = Talk::start(Sandbox::new(), &server, &[]);
    talk.say("tell me a story");
    let id = talk.until("session")["session"].as_str().unwrap().to_owned();
    talk.until("text");
    for line in ["hello?\n", "/resume\n", "/compact\n"] {
        let run = talk.sandbox.run_with(&["chat", &id, "--provider", "scripted"], line);
        assert_eq!(run.code, 1, "{line}: {}", run.stdout);
        assert!(run.stderr.contains("an agent is at work in session"), "{line}: {}", run.stderr);
        assert!(run.stderr.contains("forkwood fork"), "{line}: {}", run.stderr);
    }
    // Elsewhere it can go on.
    let run = talk.sandbox.run_with(&["chat", &id, "--provider", "scripted"], "/fork\nhello?\n");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("You said: hello?"), "{}", run.stdout);
    talk.interrupt();
    assert_eq!(talk.until("end")["stop"], "cancelled");
    talk.say("something else");
    assert_eq!(talk.until("end")["text"], "Sure.");
    let sandbox = talk.end().1;
    let context: Value = serde_json::from_str(&sandbox.ok(&["context", &id, "--json"])).unwrap();
    assert_eq!(context["messages"].as_array().unwrap().len(), 3);
}

/// A call that runs would lose its result to the summary.
#[test]
fn nobody_compacts_under_an_agent_at_work() {
    let sandbox = Sandbox::new();
    let server = Server::start([Reply::openai(&["One."]), Reply::openai_then(&[], Step::Hang)]);
    let mut talk = Talk::start(sandbox, &server, &[]);
    talk.say("one");
    let session = talk.until("session")["session"].as_str().unwrap().to_owned();
    talk.until("end");
    talk.say("two");
    talk.until("turn");
    talk.sandbox.put("summary.txt", b"They spoke.");
    let compact = ["compact", &session, "--summary-file", "summary.txt", "--json"];
    let refused = talk.sandbox.run(&compact);
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    assert!(refused.stderr.contains(r#""kind":"locked""#), "{}", refused.stderr);
    talk.interrupt();
    talk.until("end");
    assert_eq!(talk.sandbox.run(&compact).code, 0);
}
