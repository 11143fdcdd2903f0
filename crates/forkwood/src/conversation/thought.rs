//! Thoughts that are no part of a conversation (PicoClaw `providers/messageutil`).

use forkwood_core::{Block, Content, Json, Message, Role, Text};

/// Whether a message is a thought and nothing else: by the assistant, without words, without a
/// tool call, an image or another attachment, and no answer to a call. Such a message is neither
/// kept nor shown.
pub fn is_transient_thought(message: &Message) -> bool {
    if message.role != Role::Assistant || message.tool_call_id.as_ref().is_some_and(|id| !blank(id))
    {
        return false;
    }
    let Content::Blocks(blocks) = &message.content else { return false };
    let mut thinks = false;
    for block in blocks {
        match block {
            Block::Thinking { thinking, .. } => thinks |= !blank(thinking),
            Block::Text { text, .. } if blank(text) => {}
            _ => return false,
        }
    }
    thinks && !carries_more(message)
}

/// Tool calls, media and attachments that a message has beside its content, under the names that
/// other formats have for them.
fn carries_more(message: &Message) -> bool {
    let named = |key: &str| matches!(key, "media" | "attachments" | "tool_calls" | "toolCalls");
    let filled = |value: &str| !matches!(value.trim(), "null" | "[]" | "\"\"");
    let extra = message
        .extra
        .iter()
        .any(|(key, value)| key.as_str().is_some_and(named) && filled(value.get()));
    let metadata = message.metadata.as_ref().and_then(Json::as_object);
    extra
        || metadata.is_some_and(|fields| {
            fields.iter().any(|(key, value)| key.as_str().is_some_and(named) && filled(value.get()))
        })
}

fn blank(text: &Text) -> bool {
    text.to_string_lossy().trim().is_empty()
}
