//! `forkwood chat` against a server that speaks the streaming protocols.

#![cfg(feature = "agent")]
#![allow(clippy::unwrap_used)]

mod common;
mod llm;

use std::time::{Duration, Instant};

use common::{Run, Sandbox};
use llm::{Reply, Server, Step};
use serde_json::Value;

fn talk(sandbox: &Sandbox, server: &Server, provider: &str, more: &[&str], lines: &str) -> Run {
    let url = match provider {
        "anthropic" => server.url.clone(),
        _ => format!("{}/v1", server.url),
    };
    let mut command = sandbox.command();
    command
        .args(["chat", "--json", "--provider", provider, "--model", "m", "--base-url", &url])
        .args(more)
        .env("OPENAI_API_KEY", "key-of-openai")
        .env("ANTHROPIC_API_KEY", "key-of-anthropic")
        .env("NO_PROXY", "127.0.0.1")
        .write_stdin(lines);
    let output = command.output().unwrap();
    Run {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code().unwrap(),
    }
}

fn events(run: &Run) -> Vec<Value> {
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn the(run: &Run, kind: &str) -> Value {
    let found = events(run).into_iter().rfind(|event| event["event"] == kind);
    found.unwrap_or_else(|| panic!("no {kind}: {}{}", run.stdout, run.stderr))
}

fn count(run: &Run, kind: &str) -> usize {
    events(run).iter().filter(|event| event["event"] == kind).count()
}

fn id(run: &Run) -> String {
    the(run, "session")["session"].as_str().unwrap().to_owned()
}

/// Role and content of what a model would see.
fn context(sandbox: &Sandbox, run: &Run) -> Vec<(String, Value)> {
    let context: Value =
        serde_json::from_str(&sandbox.ok(&["context", &id(run), "--json"])).unwrap();
    let messages = context["messages"].as_array().unwrap().clone();
    messages
        .into_iter()
        .map(|message| (message["role"].as_str().unwrap().to_owned(), message["content"].clone()))
        .collect()
}

fn error_kind(run: &Run) -> Value {
    let error: Value = serde_json::from_str(run.stderr.lines().last().unwrap()).unwrap();
    error["kind"].clone()
}

#[test]
fn an_answer_of_openai() {
    let sandbox = Sandbox::new();
    let server = Server::start([Reply::openai(&["Hel", "lo"]), Reply::openai(&["Bye"])]);
    let run = talk(&sandbox, &server, "openai", &[], "hi\nand now?\n");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(count(&run, "text"), 3, "streamed: {}", run.stdout);
    assert_eq!(the(&run, "end")["usage"]["input"], 11);
    let roles: Vec<(String, Value)> = context(&sandbox, &run);
    assert_eq!(roles[1], ("assistant".to_owned(), "Hello".into()));
    let requests = server.requests();
    assert_eq!(requests[0].path, "/v1/chat/completions");
    assert!(requests[0].headers.contains("key-of-openai"), "{}", requests[0].headers);
    let sent = requests[1].body["messages"].as_array().unwrap();
    assert_eq!(sent.len(), 4, "instructions, question, answer, question: {sent:?}");
}

#[test]
fn an_answer_of_anthropic() {
    let sandbox = Sandbox::new();
    let server = Server::start([Reply::anthropic(&["Hel", "lo"])]);
    let run = talk(&sandbox, &server, "anthropic", &[], "hi\n");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(the(&run, "end")["text"], "Hello");
    assert_eq!(server.requests()[0].path, "/v1/messages");
    assert!(server.requests()[0].headers.contains("key-of-anthropic"));
}

#[test]
fn a_round_with_a_tool() {
    let arguments = r#"{"path":"notes.txt"}"#;
    let cases = [
        ("openai", Reply::openai_call("c1", "read", arguments), Reply::openai(&["Milk."])),
        ("anthropic", Reply::anthropic_call("c1", "read", arguments), Reply::anthropic(&["Milk."])),
    ];
    for (provider, call, answer) in cases {
        let sandbox = Sandbox::new();
        sandbox.put("notes.txt", b"Buy milk.\n");
        let server = Server::start([call, answer]);
        let run = talk(&sandbox, &server, provider, &["--tools", "read"], "what?\n");
        assert_eq!(run.code, 0, "{provider}: {}", run.stderr);
        assert_eq!(the(&run, "tool")["arguments"]["path"], "notes.txt");
        assert_eq!(the(&run, "tool_result")["isError"], false);
        assert_eq!(the(&run, "end")["text"], "Milk.");
        let roles: Vec<String> =
            context(&sandbox, &run).into_iter().map(|(role, _)| role).collect();
        assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
        let requests = server.requests();
        assert_eq!(requests[0].body["tools"].as_array().unwrap().len(), 1);
        assert!(requests[1].body.to_string().contains("Buy milk."), "{provider}");
    }
}

#[test]
fn too_many_requests_are_waited_for() {
    let sandbox = Sandbox::new();
    let busy = Reply::status(429, "slow down", "rate_limit_exceeded").header("retry-after", "1");
    let server = Server::start([busy, Reply::openai(&["Now."])]);
    let began = Instant::now();
    let run = talk(&sandbox, &server, "openai", &[], "hi\n");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert_eq!(the(&run, "retry")["kind"], "rate_limit");
    assert_eq!(the(&run, "end")["text"], "Now.");
    assert_eq!(context(&sandbox, &run).len(), 2);
}

#[test]
fn a_wrong_key_ends_it_and_what_was_said_is_kept() {
    let sandbox = Sandbox::new();
    let server = Server::start([
        Reply::status(401, "Incorrect API key", "invalid_api_key"),
        Reply::openai(&["Better."]),
    ]);
    let run = talk(&sandbox, &server, "openai", &[], "hi\nnever sent\n");
    assert_eq!(run.code, 1);
    assert_eq!(error_kind(&run), "auth");
    assert!(run.stderr.contains("Incorrect API key"), "{}", run.stderr);
    assert_eq!(the(&run, "error")["kind"], "auth");
    assert_eq!(server.requests().len(), 1, "not tried again, and a pipe ends at an error");
    assert_eq!(context(&sandbox, &run), [("user".to_owned(), "hi".into())]);
    // The message still waits for its answer.
    let session = id(&run);
    let again = talk(&sandbox, &server, "openai", &[&session], "/resume\n");
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(context(&sandbox, &again)[1], ("assistant".to_owned(), "Better.".into()));
}

#[test]
fn a_slow_stream_is_shown_as_it_comes() {
    let sandbox = Sandbox::new();
    let slow = Reply::openai_slow(&["one ", "two ", "three"], Duration::from_millis(200));
    let server = Server::start([slow]);
    let run = talk(&sandbox, &server, "openai", &[], "hi\n");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(count(&run, "text"), 3);
    assert_eq!(the(&run, "end")["text"], "one two three");
}

#[test]
fn a_connection_that_breaks_off() {
    let sandbox = Sandbox::new();
    let cut = || Reply::openai_then(&["Half an "], Step::Cut);
    let server = Server::start([cut(), Reply::openai(&["Whole."]), cut(), cut()]);
    let run = talk(&sandbox, &server, "openai", &["--retries", "1"], "hi\n");
    assert_eq!(run.code, 0, "tried again: {}", run.stderr);
    assert_eq!(the(&run, "retry")["kind"], "transport");
    assert_eq!(context(&sandbox, &run)[1], ("assistant".to_owned(), "Whole.".into()));
    // Where it does not get better: the message is kept, half an answer is not.
    let session = id(&run);
    let more = [session.as_str(), "--retries", "1"];
    let run = talk(&sandbox, &server, "openai", &more, "more\n");
    assert_eq!(run.code, 1);
    assert_eq!(error_kind(&run), "transport");
    assert!(run.stderr.contains("/resume"), "{}", run.stderr);
    let kept = context(&sandbox, &run);
    assert_eq!(kept.len(), 3);
    assert_eq!(kept[2], ("user".to_owned(), "more".into()));
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn an_overflow_leads_to_one_compaction_and_one_retry() {
    let overflow = || {
        let words = "This model's maximum context length is 8192 tokens.";
        Reply::status(400, words, "context_length_exceeded")
    };
    let sandbox = Sandbox::new();
    let server = Server::start([
        Reply::openai(&["First."]),
        overflow(),
        Reply::openai(&["They said hi."]),
        Reply::openai(&["Second."]),
    ]);
    let run = talk(&sandbox, &server, "openai", &[], "hi\nand?\n");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(count(&run, "compacted"), 1);
    assert_eq!(the(&run, "end")["text"], "Second.");
    let kept = context(&sandbox, &run);
    assert!(kept[0].1.to_string().contains("They said hi."), "{kept:?}");
    let tree = sandbox.ok(&["tree", &id(&run), "--json"]);
    assert_eq!(tree.matches("\"type\":\"compaction\"").count(), 1);
    // One that stays is told, after one compaction.
    let server = Server::start([overflow(), Reply::openai(&["Short."]), overflow()]);
    let session = id(&run);
    let run = talk(&sandbox, &server, "openai", &[&session], "more\n");
    assert_eq!(run.code, 1);
    assert_eq!(error_kind(&run), "overflow");
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn escapes_in_an_answer_come_out_harmless() {
    let sandbox = Sandbox::new();
    let server = Server::start([Reply::openai(&["\u{1b}", "]0;title\u{7}\r", "\nnext\u{9b}2J"])]);
    let url = format!("{}/v1", server.url);
    let mut command = sandbox.command();
    let output = command
        .args(["chat", "--provider", "local", "--model", "m", "--base-url", &url])
        .env_remove("OPENAI_API_KEY")
        .env("NO_PROXY", "127.0.0.1")
        .write_stdin("hi\n")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(shown, "^[]0;title^G\nnext<U+009B>2J\n");
}
