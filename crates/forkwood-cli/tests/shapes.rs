//! `forkwood context --shape`: messages as providers take them.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::HashMap;

use common::Sandbox;
use insta::assert_snapshot;
use serde_json::Value;
use serde_json::value::RawValue;

const ID: &str = "20010909-014640-0a0b0c0d";
const SHAPES: [&str; 3] = ["openai-chat", "openai-responses", "anthropic"];

fn shaped(sandbox: &Sandbox, session: &str, shape: &str) -> Value {
    let json = sandbox.ok(&["context", session, "--shape", shape, "--json"]);
    serde_json::from_str(&json).unwrap()
}

/// One message a line, as it is printed.
fn messages(sandbox: &Sandbox, session: &str, shape: &str) -> String {
    let json = sandbox.ok(&["context", session, "--shape", shape, "--json"]);
    let fields: HashMap<String, Box<RawValue>> = serde_json::from_str(&json).unwrap();
    let list: Vec<Box<RawValue>> = serde_json::from_str(fields["messages"].get()).unwrap();
    let lines: Vec<&str> = list.iter().map(|message| message.get()).collect();
    let ascii = |c: char| match c.is_ascii() {
        true => c.to_string(),
        false => format!("\\u{:04x}", u32::from(c)),
    };
    lines.join("\n").chars().map(ascii).collect()
}

#[test]
fn the_messages_of_each_provider() {
    let sandbox = Sandbox::with_samples();
    assert_snapshot!(messages(&sandbox, ID, "openai-chat"), @r##"
    {"role":"user","content":"Which plan?\nBe short."}
    {"role":"assistant","content":"I look.","tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"path\":\"plans.md\"}"}}]}
    {"role":"tool","tool_call_id":"c1","content":"\u001b[31mA\u001b[0m and B\u202e"}
    {"role":"assistant","content":"Plan B, rather."}
    {"role":"user","content":[{"type":"text","text":"Good \ufffd"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAAAAAA"}}]}
    "##);
    assert_snapshot!(messages(&sandbox, ID, "openai-responses"), @r##"
    {"type":"message","role":"user","content":[{"type":"input_text","text":"Which plan?\nBe short."}]}
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]}
    {"type":"function_call","call_id":"c1","name":"read","arguments":"{\"path\":\"plans.md\"}"}
    {"type":"function_call_output","call_id":"c1","output":"\u001b[31mA\u001b[0m and B\u202e"}
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Plan B, rather."}]}
    {"type":"message","role":"user","content":[{"type":"input_text","text":"Good \ufffd"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,AAAAAAAA"}]}
    "##);
    assert_snapshot!(messages(&sandbox, ID, "anthropic"), @r##"
    {"role":"user","content":[{"type":"text","text":"Which plan?\nBe short."}]}
    {"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"c1","name":"read","input":{"path":"plans.md"}}]}
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"\u001b[31mA\u001b[0m and B\u202e"}]}
    {"role":"assistant","content":[{"type":"text","text":"Plan B, rather."}]}
    {"role":"user","content":[{"type":"text","text":"Good \ufffd"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAAAAAA"}}]}
    "##);
}

#[test]
fn all_else_is_as_in_the_native_shape() {
    let sandbox = Sandbox::with_samples();
    let around = |shape: &str| {
        let json = sandbox.ok(&["context", ID, "--shape", shape, "--json"]);
        let (before, rest) = json.split_once(",\"messages\":[").unwrap();
        let (_, after) = rest.rsplit_once("],\"entryIds\":").unwrap();
        (before.to_owned(), after.to_owned())
    };
    for shape in SHAPES {
        assert_eq!(around(shape), around("native"), "{shape}");
    }
}

#[test]
fn calls_without_results_are_answered_whatever_the_switches() {
    let sandbox = Sandbox::new();
    let id = sandbox.ok(&["new"]);
    sandbox.ok(&["append", &id, "Look"]);
    let call = r#"{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a"}}]}}"#;
    sandbox.ok(&["append", &id, "--entry", call]);
    let orphan = r#"{"type":"message","message":{"role":"tool","content":"?","toolCallId":"c9","toolName":"read"}}"#;
    sandbox.ok(&["append", &id, "--entry", orphan]);
    for shape in SHAPES {
        let paired = shaped(&sandbox, &id, shape);
        let text = paired["messages"].to_string();
        assert!(text.contains("interrupted") && !text.contains("c9"), "{shape}: {text}");
        let kinds: Vec<&str> = paired["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .map(|found| found["kind"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["unanswered-tool-call", "orphan-tool-result"], "{shape}");
        let raw = sandbox.ok(&["context", &id, "--shape", shape, "--json", "--raw"]);
        assert_eq!(serde_json::from_str::<Value>(&raw).unwrap(), paired, "{shape}");
    }
}

#[test]
fn an_empty_session_has_a_request_all_the_same() {
    let sandbox = Sandbox::new();
    let id = sandbox.ok(&["new"]);
    assert_eq!(shaped(&sandbox, &id, "openai-chat")["messages"], serde_json::json!([]));
    assert_eq!(shaped(&sandbox, &id, "openai-responses")["messages"], serde_json::json!([]));
    // Anthropic takes no empty list.
    assert_eq!(shaped(&sandbox, &id, "anthropic")["messages"][0]["role"], "user");
}

#[test]
fn a_session_of_pi_in_every_shape() {
    let sandbox = Sandbox::with_samples();
    for shape in SHAPES {
        let value = shaped(&sandbox, "pi/pi.jsonl", shape);
        assert!(!value["messages"].as_array().unwrap().is_empty(), "{shape}");
    }
}

#[test]
fn calls_that_my_pi_agent_keeps_in_metadata_are_sent_with_their_results() {
    let sandbox = Sandbox::new();
    let file = include_bytes!("../../../fixtures/my-pi-agent/new/new-01-linear-tools.jsonl");
    sandbox.put("t.jsonl", file);
    assert_snapshot!(messages(&sandbox, "./t.jsonl", "openai-chat"), @r##"
    {"role":"user","content":"37*19=?"}
    {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"multiply","arguments":"{\"a\":37,\"b\":19}"}}]}
    {"role":"tool","tool_call_id":"c1","content":"703"}
    {"role":"assistant","content":"703"}
    "##);
    let fork = sandbox.ok(&["fork", "./t.jsonl"]);
    for shape in SHAPES {
        let sent = messages(&sandbox, "./t.jsonl", shape);
        assert!(sent.contains("multiply"), "{shape}: {sent}");
        assert_eq!(sent, messages(&sandbox, fork.trim(), shape), "{shape}: a copy says the same");
    }
}
