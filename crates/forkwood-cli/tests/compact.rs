//! `forkwood compact`: by a model, and with a summary that is there already.

#![allow(clippy::unwrap_used)]

mod common;
#[cfg(feature = "agent")]
mod llm;

use common::{Run, Sandbox};
use serde_json::Value;

const NEW: &str = "20010910-000000-11111111";
const PI: &str = "pi/pi.jsonl";

/// A session with four messages, the last ones long.
fn talk(sandbox: &Sandbox) -> Vec<String> {
    sandbox.ok(&["new", "--id", NEW]);
    let said = [("user", "Which plan?"), ("assistant", "Plan A."), ("user", "Why?")];
    let mut ids: Vec<String> = said
        .iter()
        .map(|(role, text)| sandbox.ok(&["append", NEW, text, "--role", role]))
        .collect();
    ids.push(sandbox.ok(&["append", NEW, &"word ".repeat(400), "--role", "assistant"]));
    ids
}

fn json(run: &Run) -> Value {
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

fn refused(run: &Run, kind: &str) -> Value {
    assert_ne!(run.code, 0, "{}", run.stdout);
    let error: Value = serde_json::from_str(run.stderr.trim()).unwrap();
    assert_eq!(error["kind"], kind, "{error}");
    assert!(error["hint"].is_string(), "{error}");
    error
}

fn context(sandbox: &Sandbox, id: &str) -> Value {
    serde_json::from_str(&sandbox.ok(&["context", id, "--json"])).unwrap()
}

fn text(context: &Value, at: usize) -> String {
    context["messages"][at]["content"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_ready_summary_needs_no_model() {
    let sandbox = Sandbox::new();
    talk(&sandbox);
    sandbox.put("summary.txt", b"They chose plan A.\n");
    let told = json(&sandbox.run(&["compact", NEW, "--summary-file", "summary.txt", "--json"]));
    assert_eq!(told["summary"], "They chose plan A.");
    assert!(told["firstKeptEntryId"].is_null());
    assert!(told["tokensBefore"].as_u64() > told["tokensAfter"].as_u64(), "{told}");
    let context = context(&sandbox, NEW);
    assert_eq!(text(&context, 0), "Previous conversation summary:\nThey chose plan A.");
    assert_eq!(context["messages"].as_array().unwrap().len(), 1);
    // Nothing of the log went.
    let shown: Value = serde_json::from_str(&sandbox.ok(&["show", NEW, "--json"])).unwrap();
    assert_eq!(shown["entries"].as_array().unwrap().len(), 6);
    let entry = &shown["entries"][5];
    assert_eq!(entry["type"], "compaction");
    assert!(entry["state"].is_object());
}

#[test]
fn the_end_is_kept_and_the_next_summary_replaces_the_first() {
    let sandbox = Sandbox::new();
    let ids = talk(&sandbox);
    let keep = ["compact", NEW, "--keep-recent-tokens", "200", "--summary-file", "-", "--json"];
    let first = json(&sandbox.run_with(&keep, "First."));
    assert_eq!(first["firstKeptEntryId"], ids[3].as_str(), "{first}");
    let context_now = context(&sandbox, NEW);
    assert_eq!(context_now["entryIds"], serde_json::json!([first["entry"], ids[3]]));
    sandbox.ok(&["append", NEW, "And now?"]);
    sandbox.ok(&["append", NEW, "Go.", "--role", "assistant"]);
    let second =
        json(&sandbox.run_with(&["compact", NEW, "--summary-file", "-", "--json"], "Second."));
    assert_eq!(second["replacesEntryIds"], serde_json::json!([first["entry"]]));
    let context = context(&sandbox, NEW);
    assert_eq!(context["entryIds"], serde_json::json!([second["entry"]]));
}

#[test]
fn what_cannot_be_done_writes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["new", "--id", NEW]);
    let ready = ["compact", NEW, "--summary-file", "-", "--json"];
    let before = sandbox.files();
    refused(&sandbox.run_with(&ready, "Of nothing."), "nothing_to_compact");
    assert_eq!(sandbox.files(), before);
    sandbox.ok(&["append", NEW, "Hello"]);
    let before = sandbox.files();
    refused(&sandbox.run_with(&ready, " \n"), "empty_summary");
    assert_eq!(sandbox.files(), before);
    json(&sandbox.run_with(&ready, "Said hello."));
    let before = sandbox.files();
    refused(&sandbox.run_with(&ready, "Again."), "nothing_to_compact");
    assert_eq!(sandbox.files(), before);
}

#[test]
fn files_of_pi_are_compacted_in_place() {
    let sandbox = Sandbox::with_samples();
    let before = std::fs::read_to_string(sandbox.path(PI)).unwrap();
    let keep = ["compact", PI, "--keep-recent-tokens", "1", "--summary-file", "-", "--json"];
    let told = json(&sandbox.run_with(&keep, "They greeted."));
    let after = std::fs::read_to_string(sandbox.path(PI)).unwrap();
    let line: Value = serde_json::from_str(after.strip_prefix(&before).unwrap()).unwrap();
    assert_eq!(line["type"], "compaction");
    assert_eq!(line["summary"], "They greeted.");
    assert_eq!(line["firstKeptEntryId"], "aa000002");
    assert!(line["tokensBefore"].is_number(), "{line}");
    assert_eq!(line["id"], told["entry"]);
    assert!(sandbox.ok(&["context", PI]).contains("They greeted."));
}

#[cfg(feature = "agent")]
mod by_a_model {
    use super::*;
    use crate::llm::{Reply, Server};

    fn run(sandbox: &Sandbox, server: &Server, more: &[&str]) -> Run {
        let mut command = sandbox.command();
        command.env("OPENAI_API_KEY", "k").args(["compact", NEW, "--json"]).args(more);
        let url = format!("{}/v1", server.url);
        let output = command
            .args(["--provider", "openai", "--model", "m", "--base-url", &url])
            .output()
            .unwrap();
        Run {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code().unwrap(),
        }
    }

    #[test]
    fn sums_up_the_delta_with_the_summary_before_it() {
        let sandbox = Sandbox::new();
        talk(&sandbox);
        let server = Server::start([Reply::openai(&["<summary>", "One.</summary>"])]);
        let first = json(&run(&sandbox, &server, &["--instructions", "Only the plans."]));
        assert_eq!(first["summary"], "One.");
        assert_eq!(first["usage"]["input"], 11, "{first}");
        let prompt = server.requests()[0].body.to_string();
        assert!(prompt.contains("Only the plans.") && prompt.contains("Which plan?"), "{prompt}");
        sandbox.ok(&["append", NEW, "And now?"]);
        let server = Server::start([Reply::openai(&["Two."])]);
        let second = json(&run(&sandbox, &server, &[]));
        assert_eq!(second["replacesEntryIds"][0], first["entry"]);
        let prompt = server.requests()[0].body.to_string();
        assert!(prompt.contains("One.") && !prompt.contains("Which plan?"), "{prompt}");
    }

    #[test]
    fn a_model_that_fails_or_says_nothing_leaves_the_file_as_it_was() {
        let sandbox = Sandbox::new();
        talk(&sandbox);
        let before = sandbox.files();
        let server = Server::start([Reply::openai(&[" "])]);
        refused(&run(&sandbox, &server, &[]), "empty_summary");
        let server = Server::start([Reply::status(401, "bad key", "invalid_api_key")]);
        let told = refused(&run(&sandbox, &server, &[]), "summary_failed");
        assert!(told["message"].as_str().unwrap().contains("bad key"), "{told}");
        assert_eq!(sandbox.files(), before);
    }

    #[test]
    fn works_with_the_scripted_provider_and_asks_for_a_model_where_there_is_none() {
        let sandbox = Sandbox::new();
        talk(&sandbox);
        let none = sandbox.run(&["compact", NEW, "--json"]);
        assert_eq!(none.code, 2);
        refused(&none, "usage");
        json(&sandbox.run(&["compact", NEW, "--provider", "scripted", "--json"]));
    }
}
