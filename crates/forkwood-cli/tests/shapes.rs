//! `forkwood context --shape`: messages as providers take them.

#![allow(clippy::unwrap_used)]

mod common;

use common::Sandbox;
use insta::assert_snapshot;
use serde_json::Value;

const ID: &str = "20010909-014640-0a0b0c0d";
const SHAPES: [&str; 3] = ["openai-chat", "openai-responses", "anthropic"];

fn shaped(sandbox: &Sandbox, session: &str, shape: &str) -> Value {
    let json = sandbox.ok(&["context", session, "--shape", shape, "--json"]);
    serde_json::from_str(&json).unwrap()
}

/// One message a line.
fn messages(sandbox: &Sandbox, session: &str, shape: &str) -> String {
    let value = shaped(sandbox, session, shape);
    let lines: Vec<String> =
        value["messages"].as_array().unwrap().iter().map(Value::to_string).collect();
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
    {"content":"Which plan?\nBe short.","role":"user"}
    {"content":"I look.","role":"assistant","tool_calls":[{"function":{"arguments":"{\"path\":\"plans.md\"}","name":"read"},"id":"c1","type":"function"}]}
    {"content":"\u001b[31mA\u001b[0m and B\u202e","role":"tool","tool_call_id":"c1"}
    {"content":"Plan B, rather.","role":"assistant"}
    {"content":[{"text":"Good \ufffd","type":"text"},{"image_url":{"url":"data:image/png;base64,AAAAAAAA"},"type":"image_url"}],"role":"user"}
    "##);
    assert_snapshot!(messages(&sandbox, ID, "openai-responses"), @r##"
    {"content":[{"text":"Which plan?\nBe short.","type":"input_text"}],"role":"user","type":"message"}
    {"content":[{"text":"I look.","type":"output_text"}],"role":"assistant","type":"message"}
    {"arguments":"{\"path\":\"plans.md\"}","call_id":"c1","name":"read","type":"function_call"}
    {"call_id":"c1","output":"\u001b[31mA\u001b[0m and B\u202e","type":"function_call_output"}
    {"content":[{"text":"Plan B, rather.","type":"output_text"}],"role":"assistant","type":"message"}
    {"content":[{"text":"Good \ufffd","type":"input_text"},{"detail":"auto","image_url":"data:image/png;base64,AAAAAAAA","type":"input_image"}],"role":"user","type":"message"}
    "##);
    assert_snapshot!(messages(&sandbox, ID, "anthropic"), @r##"
    {"content":[{"text":"Which plan?\nBe short.","type":"text"}],"role":"user"}
    {"content":[{"text":"I look.","type":"text"},{"id":"c1","input":{"path":"plans.md"},"name":"read","type":"tool_use"}],"role":"assistant"}
    {"content":[{"content":"\u001b[31mA\u001b[0m and B\u202e","tool_use_id":"c1","type":"tool_result"}],"role":"user"}
    {"content":[{"text":"Plan B, rather.","type":"text"}],"role":"assistant"}
    {"content":[{"text":"Good \ufffd","type":"text"},{"source":{"data":"AAAAAAAA","media_type":"image/png","type":"base64"},"type":"image"}],"role":"user"}
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
