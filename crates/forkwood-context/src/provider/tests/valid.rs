//! What the providers demand of a request, as far as their documents say.

use std::collections::HashSet;

use serde_json::Value;

use super::Api;

pub(super) fn check(api: Api, body: &Value) {
    match api {
        Api::OpenAiChat => chat(body),
        Api::OpenAiResponses => responses(body),
        Api::Anthropic => anthropic(body),
    }
}

fn texts(value: &Value) -> Vec<&str> {
    value["content"].as_array().unwrap().iter().filter_map(|part| part["text"].as_str()).collect()
}

fn name(value: &Value, most: usize) -> String {
    let text = value.as_str().unwrap();
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    assert!((1..=most).contains(&text.len()) && text.chars().all(fine), "{text}");
    text.to_owned()
}

fn chat(body: &Value) {
    let mut open: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for message in body["messages"].as_array().unwrap() {
        let role = message["role"].as_str().unwrap();
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap();
            assert_eq!(open.first().map(String::as_str), Some(id), "in order");
            open.remove(0);
            assert!(!message["content"].as_str().unwrap().is_empty());
            continue;
        }
        assert!(open.is_empty(), "{role} before every call is answered");
        match role {
            "assistant" => {
                let calls = message["tool_calls"].as_array();
                assert!(calls.is_some_and(|c| !c.is_empty()) || !message["content"].is_null());
                for call in calls.into_iter().flatten() {
                    let id = name(&call["id"], 40);
                    assert!(seen.insert(id.clone()), "{id} twice");
                    name(&call["function"]["name"], 64);
                    let arguments = call["function"]["arguments"].as_str().unwrap();
                    assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object());
                    open.push(id);
                }
            }
            "user" if message["content"].is_array() => {
                assert!(!message["content"].as_array().unwrap().is_empty());
            }
            "user" | "system" => assert!(!message["content"].as_str().unwrap().is_empty()),
            other => panic!("{other}"),
        }
    }
    assert!(open.is_empty());
}

fn responses(body: &Value) {
    let mut open: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    let mut reasoning = false;
    for item in body["input"].as_array().unwrap() {
        match item["type"].as_str().unwrap() {
            "function_call" => {
                let id = name(&item["call_id"], 64);
                assert!(seen.insert(id.clone()), "{id} twice");
                name(&item["name"], 64);
                let arguments = item["arguments"].as_str().unwrap();
                assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object());
                open.push(id);
                reasoning = false;
            }
            "function_call_output" => {
                assert!(!reasoning);
                assert_eq!(open.remove(0), item["call_id"].as_str().unwrap());
            }
            "message" => {
                if item["role"] == "assistant" {
                    reasoning = false;
                } else {
                    assert!(open.is_empty() && !reasoning);
                }
                assert!(!item["content"].as_array().unwrap().is_empty());
            }
            "reasoning" => {
                assert!(item["encrypted_content"].is_string());
                reasoning = true;
            }
            other => panic!("{other}"),
        }
    }
    assert!(open.is_empty() && !reasoning);
}

fn anthropic(body: &Value) {
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(messages[0]["role"], "user");
    let budget = body["thinking"]["budget_tokens"].as_u64();
    assert!(
        budget.is_none_or(|budget| budget >= 1024 && budget < body["max_tokens"].as_u64().unwrap())
    );
    let mut open: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for message in messages {
        let blocks = message["content"].as_array().unwrap();
        assert!(!blocks.is_empty());
        assert!(texts(message).iter().all(|text| !text.trim().is_empty()), "{message}");
        if !open.is_empty() {
            assert_eq!(message["role"], "user");
            let answered: Vec<&str> =
                blocks.iter().map(|block| block["tool_use_id"].as_str().unwrap()).collect();
            assert_eq!(answered, open, "all, in order, in the next message");
            for block in blocks {
                let empty = block["content"] == "" || block["content"] == serde_json::json!([]);
                assert!(!(block["is_error"] == true && empty), "{block}");
            }
            open.clear();
            continue;
        }
        assert!(blocks.iter().all(|block| block["type"] != "tool_result"));
        if message["role"] == "user" {
            continue;
        }
        assert_eq!(message["role"], "assistant");
        for block in blocks.iter().filter(|block| block["type"] == "tool_use") {
            let id = name(&block["id"], 64);
            assert!(seen.insert(id.clone()), "{id} twice");
            name(&block["name"], 128);
            assert!(block["input"].is_object());
            open.push(id);
        }
        let kinds: Vec<_> = blocks.iter().map(|block| block["type"].as_str().unwrap()).collect();
        assert!(kinds.iter().any(|kind| !kind.contains("thinking")));
    }
    assert!(open.is_empty());
}
