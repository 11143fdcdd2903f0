//! Real protocols, spoken by a server on the loopback.

use std::sync::Arc;
use std::time::Duration;

use forkwood::{Block, Message};
use forkwood_agent::{
    Agent, Event, LlmProvider, Provider, ProviderError, ProviderErrorKind, ProviderInput, Reach,
    Request, Retries, Service, StopReason, Usage,
};
use forkwood_context::View;
use futures_util::StreamExt;
use serde_json::json;

use crate::common::*;
use crate::server::{Answer, Server};

fn provider(service: Service, url: &str) -> LlmProvider {
    let reach = Reach {
        key: Some("k-123".to_owned()),
        base_url: Some(format!("{url}/v1")),
        idle: Duration::from_millis(400),
        ..Reach::default()
    };
    LlmProvider::new(service, reach).unwrap()
}

fn hello() -> Request {
    let view = View::new(vec![Message::user("hi")], Vec::new());
    let input = ProviderInput { model: Some("m-1".into()), view, ..ProviderInput::default() };
    Request { input, max_tokens: None }
}

async fn events(provider: &LlmProvider) -> Result<Vec<Event>, ProviderError> {
    let mut stream = provider.stream(hello()).await?;
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event?);
    }
    Ok(events)
}

async fn agent(service: Service, server: &Server) -> Agent {
    let count = Arc::default();
    Agent::builder()
        .provider(Arc::new(provider(service, &server.url)) as Arc<dyn Provider>)
        .model("m-1")
        .prompt("Be kind.")
        .tool(multiply(&count))
        .retries(Retries::at_once(2))
        .build()
        .await
        .unwrap()
}

const OPENAI_CALL: &[&str] = &[
    r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"let me "}}]}"#,
    r#"data: {"choices":[{"index":0,"delta":{"content":"see"}}]}"#,
    r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"multiply","arguments":""}}]}}]}"#,
    r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":37,"}}]}}]}"#,
    r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"b\":19}"}}]}}]}"#,
    r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    r#"data: {"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":60}}}"#,
    "data: [DONE]",
];

const OPENAI_TEXT: &[&str] = &[
    r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"703"}}]}"#,
    r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    "data: [DONE]",
];

#[tokio::test]
async fn openai_a_run_with_a_tool_over_an_answer_that_failed_first() {
    let server = Server::start(vec![
        Answer::new(503, r#"{"error":{"message":"try later","type":"server_error"}}"#),
        Answer::stream(OPENAI_CALL),
        Answer::stream(OPENAI_TEXT),
    ])
    .await;
    let mut agent = agent(Service::OpenAi, &server).await;
    let outcome = agent.run("37*19=?").await.unwrap();
    assert_eq!(outcome.text, "703");
    assert_eq!(
        seen(agent.session()).await,
        ["user: 37*19=?", "assistant: let me see[multiply c1]", "tool: 703", "assistant: 703"]
    );
    let usage =
        Usage { input: 40, output: 20, cache_read: 60, total_tokens: 120, ..Usage::default() };
    assert_eq!(outcome.usage, usage);
    let asked = server.asked();
    assert_eq!(asked.len(), 3);
    let last = &asked[2];
    assert_eq!(last.path, "/v1/chat/completions");
    assert!(last.head.contains("authorization: bearer k-123"));
    assert_eq!(last.body["model"], "m-1");
    assert_eq!(last.body["stream"], true);
    assert_eq!(last.body["tools"][0]["function"]["name"], "multiply");
    let messages = last.body["messages"].as_array().unwrap();
    let roles: Vec<_> = messages.iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool"]);
    assert_eq!(messages[2]["tool_calls"][0]["id"], "c1");
    assert_eq!(messages[3], json!({"role": "tool", "content": "703", "tool_call_id": "c1"}));
    // What was said before stands there byte for byte, for the cache.
    let earlier = asked[1].body["messages"].as_array().unwrap();
    assert_eq!(messages[..earlier.len()], earlier[..]);
}

const ANTHROPIC_CALL: &[&str] = &[
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"x\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":5,\"cache_creation_input_tokens\":3,\"output_tokens\":1}}}",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"c2ln\"}}",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"tu1\",\"name\":\"multiply\",\"input\":{}}}",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\": 37\"}}",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"}\"}}",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":7}}",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}",
];

const ANTHROPIC_TEXT: &[&str] = &[
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"x\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}}",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"I see\"}}",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":7}}",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}",
];

#[tokio::test]
async fn anthropic_thinking_goes_back_signed_and_a_failed_tool_as_an_error() {
    let server =
        Server::start(vec![Answer::stream(ANTHROPIC_CALL), Answer::stream(ANTHROPIC_TEXT)]).await;
    let mut agent = agent(Service::Anthropic, &server).await;
    let outcome = agent.run("37*19=?").await.unwrap();
    assert_eq!(outcome.text, "I see");
    let context = agent.session().context().await.unwrap();
    let blocks = context.messages()[1].content.to_blocks();
    assert!(matches!(&blocks[0], Block::Thinking { signature: Some(s), .. } if *s == *"c2ln"));
    let usage: Usage = context.messages()[1].usage.as_ref().unwrap().to().unwrap();
    assert_eq!((usage.input, usage.cache_read, usage.cache_write, usage.output), (10, 5, 3, 7));
    let asked = server.asked();
    assert_eq!(asked[1].path, "/v1/messages");
    assert!(asked[1].head.contains("x-api-key: k-123"));
    assert!(asked[1].body["system"].to_string().contains("Be kind."));
    assert_eq!(asked[1].body["tools"][0]["name"], "multiply");
    let messages = asked[1].body["messages"].as_array().unwrap();
    assert_eq!(
        messages[1]["content"][0],
        json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"})
    );
    assert_eq!(messages[1]["content"][1]["input"], json!({"a": 37}));
    let result = &messages[2]["content"][0];
    assert_eq!(result["tool_use_id"], "tu1");
    assert_eq!(result["is_error"], true);
    assert_eq!(result["cache_control"]["type"], "ephemeral");
}

#[tokio::test]
async fn deepseek_gemini_and_ollama_speak_too() {
    let server = Server::start(vec![Answer::stream(&[
        r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"hm"}}]}"#,
        r#"data: {"choices":[{"index":0,"delta":{"content":"yes"}}]}"#,
        r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#,
        "data: [DONE]",
    ])])
    .await;
    let told = events(&provider(Service::DeepSeek, &server.url)).await.unwrap();
    assert_eq!(
        told,
        [
            Event::Thinking("hm".into()),
            Event::ThinkingEnd(Some("reasoning_content".into())),
            Event::Text("yes".into()),
            Event::Stop(StopReason::Length),
        ]
    );
    let server = Server::start(vec![Answer::stream(&[
        r#"data: {"candidates":[{"content":{"role":"model","parts":[{"text":"yes"}]}}]}"#,
        r#"data: {"candidates":[{"content":{"role":"model","parts":[{"text":" it is"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":2,"totalTokenCount":6}}"#,
    ])])
    .await;
    let told = events(&provider(Service::Gemini, &server.url)).await.unwrap();
    assert_eq!(told[..2], [Event::Text("yes".into()), Event::Text(" it is".into())]);
    assert_eq!(told[2..], [Event::Usage(Usage::new(4, 2)), Event::Stop(StopReason::Stop)]);
    assert!(server.asked()[0].path.contains("m-1:streamGenerateContent"));
    let mut answer = Answer::stream(&[]);
    answer.headers = vec![("content-type", "application/x-ndjson")];
    answer.parts = vec![
        "{\"model\":\"m-1\",\"message\":{\"role\":\"assistant\",\"content\":\"yes\"},\"done\":false}\n".into(),
        "{\"model\":\"m-1\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":4,\"eval_count\":2}\n".into(),
    ];
    let server = Server::start(vec![answer]).await;
    let told = events(&provider(Service::Ollama, &server.url)).await.unwrap();
    assert_eq!(told[0], Event::Text("yes".into()));
    assert_eq!(told.last(), Some(&Event::Stop(StopReason::Stop)));
    assert!(server.asked()[0].path.ends_with("/api/chat"), "{}", server.asked()[0].path);
}

async fn failure(service: Service, answer: Answer) -> ProviderError {
    let server = Server::start(vec![answer]).await;
    events(&provider(service, &server.url)).await.unwrap_err()
}

#[tokio::test]
async fn errors_are_told_apart() {
    use ProviderErrorKind as Kind;
    let cases = [
        (
            Service::OpenAi,
            401,
            r#"{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}"#,
            Kind::Auth,
        ),
        (
            Service::OpenAi,
            400,
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}"#,
            Kind::Overflow,
        ),
        (Service::OpenAi, 413, "too large", Kind::Overflow),
        (
            Service::OpenAi,
            400,
            r#"{"error":{"message":"Request body too large for gpt-4o model.","code":"tokens_limit_reached"}}"#,
            Kind::Overflow,
        ),
        (
            Service::OpenAi,
            400,
            r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"code\":\"context_length_exceeded\"}}"}}}"#,
            Kind::Overflow,
        ),
        (Service::OpenAi, 400, r#"{"error":{"message":"bad tool"}}"#, Kind::Invalid),
        (Service::OpenAi, 404, "<html>no</html>", Kind::Invalid),
        (Service::OpenAi, 500, "", Kind::Server),
        (
            Service::Anthropic,
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}"#,
            Kind::Overflow,
        ),
        (
            Service::Anthropic,
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Kind::Server,
        ),
        (
            Service::Anthropic,
            403,
            r#"{"type":"error","error":{"type":"permission_error","message":"no"}}"#,
            Kind::Auth,
        ),
        (
            Service::Gemini,
            429,
            r#"{"error":{"code":429,"message":"Resource exhausted","status":"RESOURCE_EXHAUSTED"}}"#,
            Kind::RateLimit,
        ),
        (
            Service::Gemini,
            400,
            r#"{"error":{"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
            Kind::Overflow,
        ),
    ];
    for (service, status, body, kind) in cases {
        let error = failure(service, Answer::new(status, body)).await;
        assert_eq!(error.kind, kind, "{status} {body}: {error}");
        assert!(!error.message.contains("k-123"));
    }
    let mut answer =
        Answer::new(429, r#"{"error":{"message":"Rate limit reached","type":"tokens"}}"#);
    answer.headers.push(("retry-after", "7"));
    let error = failure(Service::OpenAi, answer).await;
    assert_eq!((error.kind, error.retry_after), (Kind::RateLimit, Some(Duration::from_secs(7))));
}

#[tokio::test]
async fn errors_in_the_stream_broken_and_silent_connections() {
    use ProviderErrorKind as Kind;
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}";
    let mut parts = ANTHROPIC_TEXT[..3].to_vec();
    parts.push(overloaded);
    let error = failure(Service::Anthropic, Answer::stream(&parts)).await;
    assert_eq!(error.kind, Kind::Server, "{error}");
    for service in [Service::OpenAi, Service::Anthropic] {
        let events = if service == Service::OpenAi { OPENAI_CALL } else { ANTHROPIC_CALL };
        for end in 1..events.len() - 2 {
            let broken = Answer { breaks: true, ..Answer::stream(&events[..end]) };
            assert_eq!(failure(service, broken).await.kind, Kind::Transport, "{service:?} {end}");
        }
        let stalled = Answer { stalls: true, ..Answer::stream(&events[..2]) };
        let error = failure(service, stalled).await;
        assert_eq!(error.kind, Kind::Transport, "{error}");
    }
    let nobody = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let error = events(&provider(Service::OpenAi, &nobody)).await.unwrap_err();
    assert_eq!(error.kind, Kind::Transport, "{error}");
}

#[tokio::test]
async fn a_stream_that_ends_early_without_an_error_is_asked_again() {
    let server =
        Server::start(vec![Answer::stream(&OPENAI_CALL[..3]), Answer::stream(OPENAI_TEXT)]).await;
    let mut agent = agent(Service::OpenAi, &server).await;
    assert_eq!(agent.run("37*19=?").await.unwrap().text, "703");
    assert_eq!(server.asked().len(), 2);
    assert_eq!(seen(agent.session()).await, ["user: 37*19=?", "assistant: 703"]);
}

#[tokio::test]
async fn what_another_provider_thought_and_signed_is_not_sent() {
    let store = memory();
    let server = Server::start(vec![Answer::stream(ANTHROPIC_CALL)]).await;
    let mut first = Agent::builder()
        .store(store.clone())
        .provider(Arc::new(provider(Service::Anthropic, &server.url)) as Arc<dyn Provider>)
        .model("m-1")
        .retries(Retries::NONE)
        .max_turns(1)
        .build()
        .await
        .unwrap();
    first.run("hi").await.unwrap();
    let other = Server::start(vec![Answer::stream(OPENAI_TEXT)]).await;
    let session = first.session().clone();
    let mut second = Agent::builder()
        .store(store)
        .session(session)
        .provider(Arc::new(provider(Service::OpenAi, &other.url)) as Arc<dyn Provider>)
        .build()
        .await
        .unwrap();
    second.set_model("m-2", Some("openai")).await.unwrap();
    second.run("and now").await.unwrap();
    let sent = other.asked()[0].body.to_string();
    assert!(!sent.contains("c2ln") && !sent.contains("hm"), "{sent}");
    assert!(sent.contains("tu1"));
}

#[test]
fn a_provider_is_refused_without_key_and_with_a_base_url_that_is_none() {
    let none = LlmProvider::new(Service::OpenAi, Reach::default()).unwrap_err();
    assert_eq!(none.kind, ProviderErrorKind::Auth);
    assert!(none.message.contains("OPENAI_API_KEY"));
    for url in ["not a url", "ftp://x", "/v1"] {
        let reach = Reach { base_url: Some(url.to_owned()), ..Reach::default() };
        let error = LlmProvider::new(Service::OpenAi, reach).unwrap_err();
        assert_eq!(error.kind, ProviderErrorKind::Invalid, "{url}");
    }
    let reach = Reach { key: Some("k-123".to_owned()), ..Reach::default() };
    assert!(!format!("{reach:?}").contains("k-123"));
    let made = LlmProvider::new(Service::Ollama, Reach::default()).unwrap();
    assert_eq!(made.name(), "ollama");
    for service in Service::ALL {
        assert_eq!(Service::from_name(service.as_str()), Some(*service));
    }
}

/// What no service takes: an id that comes again, ids and names with odd letters, arguments that
/// are no object, a result whose call stands nowhere.
#[tokio::test]
async fn images_and_blank_texts_that_a_service_would_refuse_are_not_sent() {
    let image = |mime: &str, data: &str| {
        Block::Image(forkwood::Image {
            source: forkwood::core::message::ImageSource::Inline(data.into()),
            mime_type: mime.into(),
            extra: Vec::new(),
        })
    };
    let blocks = vec![
        Block::text(" \n"),
        image("image/bmp", "AAAA"),
        image("image/png", "not base64!"),
        image("image/png", "AAAA"),
    ];
    let messages = vec![
        Message::new(forkwood::Role::User, forkwood::Content::Blocks(blocks)),
        Message::assistant("  "),
        Message::user("go"),
    ];
    for service in [Service::OpenAi, Service::Anthropic] {
        let server = Server::start(vec![Answer::new(400, "{}")]).await;
        let view = View::new(messages.clone(), Vec::new());
        let input = ProviderInput { model: Some("m-1".into()), view, ..ProviderInput::default() };
        let request = Request { input, max_tokens: None };
        if let Ok(mut stream) = provider(service, &server.url).stream(request).await {
            while stream.next().await.is_some_and(|event| event.is_ok()) {}
        }
        let body = server.asked()[0].body.clone();
        let sent = body["messages"].as_array().unwrap();
        let first = sent[0]["content"].as_array().unwrap();
        let pictures = first.iter().filter(|part| part["type"] != "text").count();
        assert_eq!((first.len(), pictures), (3, 1), "{service:?}: {body}");
        let text = body.to_string();
        assert!(text.contains("[image/bmp: cannot be shown]"), "{service:?}: {text}");
        assert!(!text.contains("not base64!"), "{service:?}: {text}");
        assert_eq!(sent.len(), 2, "{service:?}: what says nothing is no message: {text}");
    }
}

#[tokio::test]
async fn odd_calls_of_a_session_are_sent_as_services_take_them() {
    let call = |id: &str, name: &str, arguments: &str| {
        let arguments = forkwood::Json::parse(arguments).unwrap();
        let block = Block::tool_call(id, name, arguments);
        Message::new(forkwood::Role::Assistant, forkwood::Content::Blocks(vec![block]))
    };
    let messages = vec![
        Message::user("go"),
        call("call_0", "multiply", "{}"),
        Message::tool("call_0", "one"),
        call("call_0", "../../x y", r#""not an object""#),
        Message::tool("call_0", "two"),
        call("a b|c", &"n".repeat(99), r#""{\"a\": 1}""#),
        Message::tool("a b|c", "three"),
        Message::assistant("and a result of a call that only metadata tells"),
        Message::tool("nobody", "four"),
    ];
    let plain = |text: &str| {
        let fine = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        !text.is_empty() && text.len() <= 64 && text.chars().all(fine)
    };
    for service in [Service::OpenAi, Service::Anthropic] {
        let server = Server::start(vec![Answer::new(400, "{}")]).await;
        let view = View::new(messages.clone(), Vec::new());
        let input = ProviderInput { model: Some("m-1".into()), view, ..ProviderInput::default() };
        let request = Request { input, max_tokens: None };
        if let Ok(mut stream) = provider(service, &server.url).stream(request).await {
            while stream.next().await.is_some_and(|event| event.is_ok()) {}
        }
        let body = server.asked()[0].body.clone();
        let (mut calls, mut answers) = (Vec::new(), Vec::new());
        for message in body["messages"].as_array().unwrap() {
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                let text = call["function"]["arguments"].as_str().unwrap();
                let arguments: serde_json::Value = serde_json::from_str(text).unwrap();
                calls.push((call["id"].clone(), call["function"]["name"].clone(), arguments));
            }
            if message["role"] == "tool" {
                answers.push(message["tool_call_id"].clone());
            }
            for block in message["content"].as_array().into_iter().flatten() {
                match block["type"].as_str() {
                    Some("tool_use") => calls.push((
                        block["id"].clone(),
                        block["name"].clone(),
                        block["input"].clone(),
                    )),
                    Some("tool_result") => answers.push(block["tool_use_id"].clone()),
                    _ => {}
                }
            }
        }
        let ids: Vec<_> = calls.iter().map(|(id, _, _)| id.clone()).collect();
        assert_eq!(ids, answers, "{service:?}: {body}");
        let unique: std::collections::HashSet<String> =
            ids.iter().map(|id| id.as_str().unwrap().to_owned()).collect();
        assert_eq!(unique.len(), 3, "{service:?}: {body}");
        assert!(unique.iter().all(|id| plain(id)), "{body}");
        assert!(calls.iter().all(|(_, name, _)| plain(name.as_str().unwrap())), "{body}");
        assert!(calls.iter().all(|(_, _, arguments)| arguments.is_object()), "{body}");
        assert_eq!(calls[2].2, json!({"a": 1}));
    }
}
