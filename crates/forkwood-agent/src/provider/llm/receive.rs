//! An answer of `genai`, as events.

use std::collections::VecDeque;

use forkwood::Json;
use futures_util::{Stream, StreamExt, stream};
use genai::chat::{
    ChatStreamEvent, ContentPart, StopReason as Stopped, StreamEnd, Usage as Tokens,
};
use serde_json::Value;

use super::super::{
    Event, EventStream, ProviderError, ProviderErrorKind, StopReason, ToolCall, Usage,
};
use super::{Service, fail};

/// The events of an answer.
pub(super) fn events(
    service: Service,
    answer: impl Stream<Item = genai::Result<ChatStreamEvent>> + Send + Unpin + 'static,
) -> EventStream {
    let state = Receiving { service, answer, ready: VecDeque::new(), thinks: false, over: false };
    Box::pin(stream::unfold(state, |mut state| async move {
        let event = state.next().await?;
        Some((event, state))
    }))
}

/// The field in which services of the chat protocol show what their models think, and want it
/// back: kept in place of a signature.
const FIELD: &str = "reasoning_content";

struct Receiving<S> {
    service: Service,
    answer: S,
    ready: VecDeque<Result<Event, ProviderError>>,
    /// Whether thinking came in that has no end yet.
    thinks: bool,
    over: bool,
}

impl<S: Stream<Item = genai::Result<ChatStreamEvent>> + Unpin> Receiving<S> {
    async fn next(&mut self) -> Option<Result<Event, ProviderError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.over {
                return None;
            }
            match self.answer.next().await? {
                Ok(event) => self.take(event),
                Err(error) => {
                    self.over = true;
                    self.ready.push_back(Err(fail::convert(&error)));
                }
            }
        }
    }

    fn take(&mut self, event: ChatStreamEvent) {
        let has_field = matches!(self.service, Service::OpenAi | Service::DeepSeek);
        match event {
            ChatStreamEvent::ReasoningChunk(_) => self.thinks = has_field,
            ChatStreamEvent::Chunk(_) | ChatStreamEvent::End(_) if self.thinks => {
                self.thinks = false;
                self.ready.push_back(Ok(Event::ThinkingEnd(Some(FIELD.to_owned()))));
            }
            _ => {}
        }
        self.ready.extend(translate(self.service, event));
    }
}

fn translate(service: Service, event: ChatStreamEvent) -> Vec<Result<Event, ProviderError>> {
    match event {
        ChatStreamEvent::Chunk(chunk) => vec![Ok(Event::Text(chunk.content))],
        ChatStreamEvent::ReasoningChunk(chunk) => vec![Ok(Event::Thinking(chunk.content))],
        // With others the signature belongs to a call, and comes with it at the end.
        ChatStreamEvent::ThoughtSignatureChunk(chunk) if service == Service::Anthropic => {
            vec![Ok(Event::ThinkingEnd(Some(chunk.content)))]
        }
        ChatStreamEvent::End(end) => finish(service, end),
        _ => Vec::new(),
    }
}

fn finish(service: Service, end: StreamEnd) -> Vec<Result<Event, ProviderError>> {
    let mut events = Vec::new();
    let mut calls = 0;
    for part in end.captured_content.into_iter().flatten() {
        match part {
            ContentPart::ToolCall(call) => {
                calls += 1;
                events.push(Ok(Event::ToolCall(ToolCall {
                    id: call.call_id,
                    name: call.fn_name,
                    arguments: arguments(call.fn_arguments),
                    signatures: match service {
                        // Its signatures stand with the thinking.
                        Service::Anthropic => Vec::new(),
                        _ => call.thought_signatures.unwrap_or_default(),
                    },
                })));
            }
            ContentPart::Custom(custom) => {
                if custom.typ() == Some("redacted_thinking")
                    && let Some(data) = custom.data.get("data").and_then(Value::as_str)
                {
                    events.push(Ok(Event::ThinkingEnd(Some(data.to_owned()))));
                }
            }
            _ => {}
        }
    }
    if let Some(tokens) = end.captured_usage {
        events.push(Ok(Event::Usage(usage(&tokens))));
    }
    let stop = match end.captured_stop_reason {
        // Gemini's stream ends so where the connection broke.
        None if service == Service::Gemini => {
            return vec![Err(ProviderError::cut_off())];
        }
        Some(Stopped::MaxTokens(_)) => StopReason::Length,
        Some(Stopped::ContentFilter(_)) => StopReason::Refused,
        Some(Stopped::Other(reason)) if reason == "error" => {
            let what = "the service ended the answer with an error";
            return vec![Err(ProviderError::new(ProviderErrorKind::Server, what))];
        }
        _ if calls > 0 => StopReason::ToolUse,
        _ => StopReason::Stop,
    };
    events.push(Ok(Event::Stop(stop)));
    events
}

/// The arguments as an object. What is none, such as an object that was cut off, is kept in one.
fn arguments(value: Value) -> Json {
    let value = match value {
        Value::String(text) if text.trim().is_empty() => Value::Null,
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        value => value,
    };
    let object = match value {
        Value::Object(_) => value,
        Value::Null => Value::Object(serde_json::Map::new()),
        other => serde_json::json!({ "unparsed": other }),
    };
    Json::from_value(&object).unwrap_or_else(|_| Json::empty_object())
}

fn usage(tokens: &Tokens) -> Usage {
    let count = |n: Option<i32>| u64::try_from(n.unwrap_or(0)).unwrap_or(0);
    let details = tokens.prompt_tokens_details.as_ref();
    let cache_read = count(details.and_then(|details| details.cached_tokens));
    let cache_write = count(details.and_then(|details| details.cache_creation_tokens));
    let prompt = count(tokens.prompt_tokens);
    let output = count(tokens.completion_tokens);
    let thought = tokens.completion_tokens_details.as_ref();
    let total = count(tokens.total_tokens);
    Usage {
        input: prompt.saturating_sub(cache_read).saturating_sub(cache_write),
        output,
        cache_read,
        cache_write,
        reasoning: count(thought.and_then(|details| details.reasoning_tokens)),
        total_tokens: if total > 0 { total } else { prompt + output },
    }
}
