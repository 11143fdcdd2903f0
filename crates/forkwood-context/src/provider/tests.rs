use forkwood_core::message::ImageSource;
use forkwood_core::{Block, Content, EntryId, Image, Json, Message, Role, Text};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Api, ProviderInput, RequestOptions};
use crate::{ToolSpec, View};

mod valid;

pub(super) fn lone(text: &str) -> Text {
    serde_json::from_str(&format!("\"{text}\\ud83d\"")).unwrap()
}

fn image(source: ImageSource, mime: &str) -> Block {
    Block::Image(Image { source, mime_type: mime.into(), extra: Vec::new() })
}

fn png() -> Block {
    image(ImageSource::Inline("iVBORw0KGgo=".into()), "image/png")
}

fn call(id: &str, name: &str, arguments: &str) -> Block {
    Block::tool_call(id, name, Json::parse(arguments).unwrap())
}

fn assistant(blocks: Vec<Block>) -> Message {
    Message::new(Role::Assistant, Content::Blocks(blocks)).by_model("m1", Some("p1".into()))
}

fn input(messages: Vec<Message>) -> ProviderInput {
    let ids = vec![EntryId::new("e"); messages.len()];
    ProviderInput {
        system: "You help.".into(),
        tools: vec![ToolSpec {
            name: "read".into(),
            description: "Reads.".into(),
            schema: Json::parse(r#"{"type":"object","properties":{}}"#).unwrap(),
        }],
        view: View::new(messages, ids),
        model: Some("m1".into()),
        provider: Some("p1".into()),
        thinking_level: None,
    }
}

fn body(input: &ProviderInput, api: Api) -> Value {
    serde_json::from_str(&input.body(api, &RequestOptions::default())).unwrap()
}

fn tool(id: &str, text: &str, is_error: bool) -> Message {
    let mut message = Message::tool(id, text);
    message.is_error = Some(is_error);
    message
}

/// A conversation with a bit of everything.
fn everything() -> Vec<Message> {
    let thinking = Block::Thinking {
        thinking: "hm".into(),
        signature: Some("c2ln".into()),
        extra: Vec::new(),
    };
    let mut shot = tool("b", "", false);
    shot.content = Content::Blocks(vec![Block::text("a shot"), png()]);
    vec![
        Message::new(Role::User, Content::Blocks(vec![Block::text(lone("look")), png()])),
        assistant(vec![
            thinking,
            Block::text("Reading."),
            call("a", "read", r#"{"path":"x\ud83d"}"#),
            call("b", "shot", "{}"),
        ]),
        tool("a", "no such file", true),
        shot,
        assistant(vec![Block::text("It is gone. ")]),
        Message::user("go on"),
    ]
}

#[test]
fn chat() {
    let got = body(&input(everything()), Api::OpenAiChat);
    let picture =
        json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}});
    assert_eq!(
        got,
        json!({
            "model": "m1", "stream": true, "stream_options": {"include_usage": true},
            "tools": [{"type": "function", "function": {
                "name": "read", "description": "Reads.",
                "parameters": {"type": "object", "properties": {}}}}],
            "messages": [
                {"role": "system", "content": "You help."},
                {"role": "user", "content": [{"type": "text", "text": "look\u{fffd}"}, picture]},
                {"role": "assistant", "content": "Reading.", "tool_calls": [
                    {"id": "a", "type": "function", "function":
                        {"name": "read", "arguments": "{\"path\":\"x\\ufffd\"}"}},
                    {"id": "b", "type": "function", "function": {"name": "shot", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "a", "content": "Error: no such file"},
                {"role": "tool", "tool_call_id": "b", "content": "a shot"},
                {"role": "user", "content": [
                    {"type": "text", "text": "Images of the tool results above:"}, picture]},
                {"role": "assistant", "content": "It is gone. "},
                {"role": "user", "content": "go on"}],
        })
    );
}

#[test]
fn anthropic() {
    let got = body(&input(everything()), Api::Anthropic);
    let picture = json!({"type": "image", "source":
        {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}});
    let text = |text: &str| json!({"type": "text", "text": text});
    assert_eq!(
        got,
        json!({
            "model": "m1", "stream": true, "max_tokens": 8192,
            "tools": [{"name": "read", "description": "Reads.",
                "input_schema": {"type": "object", "properties": {}}}],
            "system": [text("You help.")],
            "messages": [
                {"role": "user", "content": [text("look\u{fffd}"), picture]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                    text("Reading."),
                    {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x\u{fffd}"}},
                    {"type": "tool_use", "id": "b", "name": "shot", "input": {}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "no such file",
                        "is_error": true},
                    {"type": "tool_result", "tool_use_id": "b", "content": [text("a shot"), picture]}]},
                {"role": "assistant", "content": [text("It is gone.")]},
                {"role": "user", "content": [text("go on")]}],
        })
    );
}

#[test]
fn responses() {
    let mut messages = everything();
    let item = r#"{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"x"}"#;
    messages.push(assistant(vec![
        Block::Thinking { thinking: "t".into(), signature: Some(item.into()), extra: Vec::new() },
        Block::text("Done."),
    ]));
    let mut input = input(messages);
    input.thinking_level = Some("high".into());
    let got = body(&input, Api::OpenAiResponses);
    let picture = json!({"type": "input_image", "detail": "auto",
        "image_url": "data:image/png;base64,iVBORw0KGgo="});
    let said = |text: &str| {
        json!({"type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": text}]})
    };
    let given = |text: &str| json!({"type": "input_text", "text": text});
    assert_eq!(
        got,
        json!({
            "model": "m1", "store": false, "stream": true,
            "reasoning": {"effort": "high", "summary": "auto"},
            "include": ["reasoning.encrypted_content"],
            "instructions": "You help.",
            "tools": [{"type": "function", "name": "read", "description": "Reads.",
                "parameters": {"type": "object", "properties": {}}, "strict": false}],
            "input": [
                {"type": "message", "role": "user", "content": [given("look\u{fffd}"), picture]},
                said("Reading."),
                {"type": "function_call", "call_id": "a", "name": "read",
                    "arguments": "{\"path\":\"x\\ufffd\"}"},
                {"type": "function_call", "call_id": "b", "name": "shot", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "a", "output": "Error: no such file"},
                {"type": "function_call_output", "call_id": "b", "output": [given("a shot"), picture]},
                said("It is gone. "),
                {"type": "message", "role": "user", "content": [given("go on")]},
                serde_json::from_str::<Value>(item).unwrap(),
                said("Done.")],
        })
    );
}

#[test]
fn ids_that_come_again_are_told_apart() {
    let long = "call_".repeat(40);
    let mut messages = Vec::new();
    for id in ["call_0", "call_0", "call|with/odd letters", &long, &long, ""] {
        messages.push(assistant(vec![call(id, "read", "{}")]));
        messages.push(tool(id, "r", false));
    }
    for api in Api::ALL {
        valid::check(api, &body(&input(messages.clone()), api));
    }
    let got = body(&input(messages), Api::OpenAiChat);
    assert_eq!(got["messages"][1]["tool_calls"][0]["id"], "call_0");
    assert_eq!(got["messages"][3]["tool_calls"][0]["id"], "call_0_2");
    assert_eq!(got["messages"][4]["tool_call_id"], "call_0_2");
}

#[test]
fn thinking_after_a_switch() {
    let of = |model: &str, level: &str, end: usize| {
        let mut input = input(everything());
        input.view.messages.truncate(end);
        input.view.entry_ids.truncate(end);
        (input.model, input.thinking_level) = (Some(model.into()), Some(level.into()));
        body(&input, Api::Anthropic)
    };
    let kinds = |body: &Value| body["messages"][1]["content"][0]["type"].clone();
    // The model's own thinking stays, another's goes.
    assert_eq!(kinds(&of("m1", "low", 6)), "thinking");
    assert_eq!(kinds(&of("m2", "low", 6)), "text");
    let budget = |body: &Value| body["thinking"]["budget_tokens"].clone();
    assert_eq!(budget(&of("m1", "low", 4)), 4_096);
    assert_eq!(of("m1", "low", 4)["max_tokens"], 8_192 + 4_096);
    // While it works on tools, thinking that is gone cannot be gone on with.
    assert_eq!(budget(&of("m2", "low", 4)), Value::Null);
    assert_eq!(budget(&of("m2", "low", 6)), 4_096);
    assert_eq!(budget(&of("m1", "off", 6)), Value::Null);
}

/// Some programs keep each block of an answer as a message of its own.
#[test]
fn thinking_goes_with_the_answer_behind_it() {
    let thinking = |text: &str| Block::Thinking {
        thinking: text.into(),
        signature: Some("c2ln".into()),
        extra: Vec::new(),
    };
    let messages = vec![
        Message::user("go"),
        assistant(vec![thinking("hm")]),
        assistant(vec![thinking("ah")]),
        assistant(vec![Block::text("Done.")]),
        assistant(vec![thinking("to nothing")]),
        Message::user("more"),
    ];
    let body = body(&input(messages), Api::Anthropic);
    let said = &body["messages"][1]["content"];
    assert_eq!(said[0]["thinking"], "hm");
    assert_eq!(said[1]["thinking"], "ah");
    assert_eq!(said[2]["text"], "Done.");
    assert_eq!(body["messages"].as_array().unwrap().len(), 3);
}

#[test]
fn a_field_for_thinking_is_given_back() {
    let thought = Block::Thinking {
        thinking: "hm".into(),
        signature: Some("reasoning_content".into()),
        extra: Vec::new(),
    };
    let messages = vec![Message::user("q"), assistant(vec![thought, Block::text("a")])];
    let mut input = input(messages);
    let said = |input: &ProviderInput| body(input, Api::OpenAiChat)["messages"][2].clone();
    assert_eq!(said(&input)["reasoning_content"], "hm");
    input.model = Some("m2".into());
    assert_eq!(said(&input).get("reasoning_content"), None);
}

#[test]
fn odd_logs_give_valid_requests() {
    let blob = ImageSource::Blob { name: "sha256-ab".into(), bytes: 70_000 };
    let mut odd = vec![
        Message::new(Role::System, Content::Text("first rule".into())),
        assistant(vec![]),
        assistant(vec![call("x", "bad name!", "[1,2]"), call("y", "read", r#""{\"a\":1}""#)]),
        Message::user("between"),
        tool("y", "", true),
        tool("ghost", "dropped", false),
        Message::user("   "),
        Message::new(Role::User, Content::Blocks(vec![image(blob, "image/png")])),
        Message::new(
            Role::User,
            Content::Blocks(vec![image(ImageSource::Inline("AAAA".into()), "application/pdf")]),
        ),
        Message::new(Role::System, Content::Text("later rule".into())),
        Message::new(Role::Other("weird".into()), Content::Text("?".into())),
        assistant(vec![Block::text("  ")]),
    ];
    odd[0].content = Content::Text(lone("rule"));
    for api in Api::ALL {
        let got = body(&input(odd.clone()), api);
        valid::check(api, &got);
        let text = got.to_string();
        assert!(text.contains("sha256-ab: not here") && text.contains("application/pdf"));
        assert!(text.contains("later rule") && !text.contains("weird"));
        valid::check(api, &body(&input(vec![assistant(vec![Block::text("hi")])]), api));
    }
    let got = body(&input(odd), Api::Anthropic);
    assert_eq!(got["system"][0]["text"], "You help.\n\nrule\u{fffd}");
    let input = &got["messages"][1]["content"][0]["input"];
    assert_eq!(*input, json!({"arguments": [1, 2]}));
}

#[test]
fn the_cache_is_marked_where_it_is_wished() {
    let options = RequestOptions { cache: true, max_tokens: Some(100), ..Default::default() };
    let got: Value =
        serde_json::from_str(&input(everything()).body(Api::Anthropic, &options)).unwrap();
    assert_eq!(got["system"][0]["cache_control"], json!({"type": "ephemeral"}));
    let last = got["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["content"][0]["cache_control"], json!({"type": "ephemeral"}));
    assert_eq!(got.to_string().matches("cache_control").count(), 2);
    assert_eq!(got["max_tokens"], 100);
    let got: Value =
        serde_json::from_str(&input(everything()).body(Api::OpenAiChat, &options)).unwrap();
    assert_eq!(got["max_tokens"], 100);
}

#[test]
fn messages_alone_are_those_of_the_body() {
    let input = input(everything());
    for (api, key, front) in [
        (Api::OpenAiChat, "messages", 1),
        (Api::OpenAiResponses, "input", 0),
        (Api::Anthropic, "messages", 0),
    ] {
        let alone: Value = serde_json::from_str(&input.messages(api)).unwrap();
        assert_eq!(
            alone.as_array().unwrap()[..],
            body(&input, api)[key].as_array().unwrap()[front..]
        );
    }
}

/// A turn: a question, then steps that call tools, each answered or not, and an answer.
fn turn() -> impl Strategy<Value = Vec<Message>> {
    let text = prop::sample::select(vec!["plain", "", " ", "lone", "\u{1f600}\n\"\\"]);
    let result = (0..3_usize, any::<bool>(), prop::bool::weighted(0.8), any::<bool>());
    let step = prop::collection::vec(result, 1..4);
    (text, prop::collection::vec((step, 0..4_usize), 0..3), 0..4_usize).prop_map(
        |(text, steps, answer)| {
            let said = |text: &str| if text == "lone" { lone("x") } else { text.into() };
            let mut out = vec![Message::user(said(text))];
            for (calls, thought) in steps {
                let mut blocks = thoughts(thought);
                let mut results = Vec::new();
                for (id, picture, answered, failed) in calls {
                    // Ids come again, as with providers that count from nought each time.
                    let id = format!("call_{id}");
                    blocks.push(call(&id, "read", r#"{"path":"\ud83d\ude00\ud83d"}"#));
                    if answered {
                        let mut result = tool(&id, text, failed);
                        if picture {
                            result.content = Content::Blocks(vec![Block::text(said(text)), png()]);
                        }
                        results.push(result);
                    }
                }
                out.push(assistant(blocks));
                out.extend(results);
            }
            let mut blocks = thoughts(answer);
            blocks.push(Block::text(said(text)));
            out.push(assistant(blocks));
            out
        },
    )
}

fn thoughts(kind: usize) -> Vec<Block> {
    let item = r#"{"type":"reasoning","encrypted_content":"x\ud83d"}"#;
    let signature = [None, Some("c2ln"), Some(item), Some("reasoning_content")][kind];
    let signature = signature.map(Text::from);
    vec![Block::Thinking { thinking: lone("t"), signature, extra: Vec::new() }]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// What prompt caches go by.
    #[test]
    fn a_turn_changes_no_byte_before_it(
        turns in prop::collection::vec(turn(), 1..8),
        level in prop::sample::select(vec!["off", "low", "high"]),
        model in prop::sample::select(vec!["m1", "m2"]),
    ) {
        for api in Api::ALL {
            let mut before: Option<String> = None;
            for count in 1..=turns.len() {
                let mut messages = vec![Message::user("start")];
                messages.extend(turns[..count].iter().flatten().cloned());
                let mut input = input(messages);
                input.thinking_level = Some(level.into());
                input.model = Some(model.into());
                let body = input.body(api, &RequestOptions::default());
                valid::check(api, &serde_json::from_str(&body).unwrap());
                if let Some(before) = &before {
                    prop_assert!(body.starts_with(before.as_str()), "{api:?}");
                }
                // Up to the bracket that closes the messages.
                let key = if api == Api::OpenAiResponses { "\"input\":[" } else { "\"messages\":[" };
                prop_assert_eq!(body.matches(key).count(), 1);
                let all = input.messages(api);
                let end = body.rfind(&all[1..]).unwrap() + all.len() - 2;
                before = Some(body[..end].to_owned());
            }
        }
    }

    /// Whatever the log holds, in whatever order.
    #[test]
    fn any_log_gives_a_valid_request(
        turns in prop::collection::vec(turn(), 0..6).prop_map(|turns| turns.concat()),
        seed in any::<prop::sample::Index>(),
    ) {
        let mut messages = turns;
        if !messages.is_empty() {
            let at = seed.index(messages.len());
            messages.rotate_left(at);
            messages.remove(0);
        }
        messages.push(Message::user("end"));
        for api in Api::ALL {
            valid::check(api, &body(&input(messages.clone()), api));
        }
    }
}
