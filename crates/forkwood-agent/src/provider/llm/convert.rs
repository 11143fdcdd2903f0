//! A request, as `genai` takes it.

use std::collections::{HashMap, VecDeque};

use forkwood::{Block, Content, Json, Message, Role, Text};
use forkwood_context::thinking::{Target, survives};
use forkwood_context::{Api, CallIds, ProviderInput, says_nothing, sendable_image, wire_name};
use genai::chat::{
    CacheControl, ChatMessage, ChatRequest, ContentPart, CustomPart, MessageContent, Tool,
    ToolCall, ToolResponse,
};
use serde_json::{Value, json};

use super::super::Request;
use super::super::reply::SIGNATURES;
use super::Service;

pub(super) fn request(service: Service, provider: &str, request: &Request) -> ChatRequest {
    let input = &request.input;
    let mut messages: Vec<ChatMessage> = Vec::new();
    let mut ids = CallIds::default();
    // The ids of the calls that the results behind them answer, as they were sent.
    let mut open: VecDeque<String> = VecDeque::new();
    let mut rest = input.view.messages.as_slice();
    while let Some((message, after)) = rest.split_first() {
        if message.role == Role::Tool {
            // The results of one turn go together; what a tool shows comes behind them.
            let count = rest.iter().take_while(|message| message.role == Role::Tool).count();
            let (results, after) = rest.split_at(count);
            // A result whose call stands nowhere is one that every service refuses.
            let answered = results.iter().zip(open.drain(..));
            let answers: Vec<ContentPart> =
                answered.map(|(result, id)| tool_result(service, result, id)).collect();
            if !answers.is_empty() {
                messages.push(ChatMessage::tool(MessageContent::from_parts(answers)));
            }
            let shown: Vec<ContentPart> = results.iter().flat_map(images).collect();
            if !shown.is_empty() {
                messages.push(ChatMessage::user(MessageContent::from_parts(shown)));
            }
            rest = after;
            continue;
        }
        rest = after;
        let parts = match message.role {
            Role::Assistant => {
                let mut parts = assistant(service, provider, input, message);
                // Paired: behind an answer stand the results of its calls, in their order.
                open.clear();
                for part in &mut parts {
                    if let ContentPart::ToolCall(call) = part {
                        call.call_id = ids.next(&call.call_id.as_str().into());
                        open.push_back(call.call_id.clone());
                    }
                }
                parts
            }
            _ => plain(message),
        };
        // No service takes a message that says nothing.
        if parts.is_empty() {
            continue;
        }
        let content = MessageContent::from_parts(parts);
        messages.push(match message.role {
            Role::Assistant => ChatMessage::assistant(content),
            Role::System | Role::Developer => ChatMessage::system(content),
            _ => ChatMessage::user(content),
        });
    }
    if service == Service::Anthropic
        && let Some(last) = messages.pop()
    {
        // All up to here is in the cache the next time.
        messages.push(last.with_options(CacheControl::Ephemeral));
    }
    let mut chat = ChatRequest::new(messages);
    let system = text(&input.system);
    if !system.is_empty() {
        chat = chat.with_system(system);
    }
    if !input.tools.is_empty() {
        chat = chat.with_tools(input.tools.iter().map(|tool| {
            Tool::new(text(&tool.name))
                .with_description(text(&tool.description))
                .with_schema(value(&tool.schema))
        }));
    }
    chat
}

fn text(text: &Text) -> String {
    text.to_string_lossy().into_owned()
}

fn value(json: &Json) -> Value {
    json.to().unwrap_or(Value::Null)
}

/// Arguments of a call: an object, as every service demands. Some programs keep them as the JSON
/// text of one, and foreign sessions hold whatever a model wrote.
fn object(json: &Json) -> Value {
    let parsed = match value(json) {
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        other => other,
    };
    match parsed {
        Value::Object(_) => parsed,
        Value::Null => json!({}),
        Value::String(text) if text.trim().is_empty() => json!({}),
        other => json!({ "arguments": other }),
    }
}

fn plain(message: &Message) -> Vec<ContentPart> {
    let parts = message.content.to_blocks().into_iter().filter_map(|block| match block {
        Block::Text { text: said, .. } if !says_nothing(&said) => {
            Some(ContentPart::Text(text(&said)))
        }
        Block::Image(image) => Some(image_part(&image)),
        _ => None,
    });
    parts.collect()
}

fn image_part(image: &forkwood::Image) -> ContentPart {
    match sendable_image(image) {
        Ok((mime, base64)) => ContentPart::from_binary_base64(mime, base64, None),
        Err(instead) => ContentPart::Text(text(&instead)),
    }
}

fn images(message: &Message) -> Vec<ContentPart> {
    let Content::Blocks(blocks) = &message.content else { return Vec::new() };
    let shown = blocks.iter().filter_map(|block| match block {
        Block::Image(image) => Some(image_part(image)),
        _ => None,
    });
    shown.collect()
}

fn tool_result(service: Service, message: &Message, id: String) -> ContentPart {
    let said = text(&message.content.text());
    if service == Service::Anthropic && message.is_error == Some(true) {
        // The one service that is told of errors, for which genai has no field.
        return ContentPart::Custom(CustomPart {
            model_iden: None,
            data: json!({
                "type": "tool_result",
                "tool_use_id": id,
                "content": said,
                "is_error": true,
            }),
        });
    }
    let result = ToolResponse::new(id, said);
    ContentPart::ToolResponse(match &message.tool_name {
        Some(name) => result.with_fn_name(wire_name(name)),
        None => result,
    })
}

fn assistant(
    service: Service,
    provider: &str,
    input: &ProviderInput,
    message: &Message,
) -> Vec<ContentPart> {
    // What another service signed means nothing to this one.
    let own = message.provider.as_ref().is_some_and(|name| *name == *provider);
    let target = Target {
        api: if service == Service::Anthropic { Api::Anthropic } else { Api::OpenAiChat },
        model: input.model.as_ref(),
        provider: input.provider.as_ref(),
    };
    let signatures = if own { call_signatures(message) } else { HashMap::new() };
    let mut parts = Vec::new();
    for block in message.content.to_blocks() {
        let survives = survives(message, &block, &target);
        match block {
            Block::Text { text: said, .. } if !says_nothing(&said) => {
                parts.push(ContentPart::Text(text(&said)));
            }
            Block::Thinking { thinking, signature, .. } if survives => match (service, signature) {
                (Service::Anthropic, Some(data)) if thinking.is_empty() => {
                    parts.push(ContentPart::Custom(CustomPart {
                        model_iden: None,
                        data: json!({ "type": "redacted_thinking", "data": text(&data) }),
                    }));
                }
                (Service::Anthropic, Some(signature)) => {
                    parts.push(ContentPart::ThoughtSignature(text(&signature)));
                    parts.push(ContentPart::ReasoningContent(text(&thinking)));
                }
                (Service::DeepSeek, _) => {
                    parts.push(ContentPart::ReasoningContent(text(&thinking)));
                }
                _ => {}
            },
            Block::ToolCall { id, name, arguments, .. } => {
                let id = text(&id);
                parts.push(ContentPart::ToolCall(ToolCall {
                    thought_signatures: signatures.get(&id).cloned(),
                    call_id: id,
                    fn_name: wire_name(&name),
                    fn_arguments: object(&arguments),
                }));
            }
            _ => {}
        }
    }
    // Thinking alone is no message.
    let says = |part: &ContentPart| matches!(part, ContentPart::Text(_) | ContentPart::ToolCall(_));
    if parts.iter().any(says) { parts } else { Vec::new() }
}

fn call_signatures(message: &Message) -> HashMap<String, Vec<String>> {
    let object = message.metadata.as_ref().and_then(|json| json.as_object());
    let json = object.as_ref().and_then(|object| object.get(SIGNATURES));
    json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}
