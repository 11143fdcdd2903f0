//! Messages of Anthropic's API.

use forkwood::core::json::{self, Object};
use forkwood::{Content, Json, Message, Role};

use crate::claude_code::{METADATA, message};
use crate::fields::Out;

/// Reads a message. One with results is as many messages as it has results, and what the person
/// said besides.
pub(super) fn decode(raw: &str) -> Vec<Message> {
    let object = Object::parse(raw).unwrap_or_default();
    let assistant = object.text("role").is_some_and(|role| role == "assistant");
    let role = if assistant { Role::Assistant } else { Role::User };
    let mut messages: Vec<Message> = Vec::new();
    match object.get("content").and_then(json::elements) {
        None => {
            let content = message::content(object.get("content"));
            let content = content.unwrap_or_else(|| Content::Blocks(Vec::new()));
            messages.push(Message::new(role, content));
        }
        Some(blocks) => {
            // Whether what was said last can take one more block.
            let mut open = false;
            for block in &blocks {
                let is_result = Object::parse(block.get())
                    .is_ok_and(|block| block.text("type").is_some_and(|t| t == "tool_result"));
                if is_result && !assistant {
                    messages.push(result(block.get()));
                    open = false;
                    continue;
                }
                let block = message::block(block.get());
                match messages.last_mut().map(|last| &mut last.content) {
                    Some(Content::Blocks(blocks)) if open => blocks.push(block),
                    _ => {
                        let content = Content::Blocks(vec![block]);
                        messages.push(Message::new(role.clone(), content));
                        open = true;
                    }
                }
            }
            if messages.is_empty() {
                messages.push(Message::new(role, Content::Blocks(Vec::new())));
            }
        }
    }
    for message in &mut messages {
        let other = |block: &forkwood::Block| matches!(block, forkwood::Block::Other(_));
        let odd = matches!(&message.content, Content::Blocks(blocks) if blocks.iter().any(other));
        // So that blocks that only this API has go back to it.
        if odd && message.metadata.is_none() {
            message.metadata = Json::parse(&format!("{{\"{METADATA}\":{{}}}}")).ok();
        }
    }
    messages
}

fn result(raw: &str) -> Message {
    let mut message = message::result(raw);
    if let Some(rest) = message.metadata.take() {
        let mut own = Out::default();
        own.raw("result", rest.get());
        let mut out = Out::default();
        out.raw(METADATA, &own.finish());
        message.metadata = Some(out.into_json());
    }
    message
}
