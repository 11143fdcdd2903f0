//! The content of a message.

use forkwood::core::json::{JsonKind, Object, elements, join_array, kind_of};
use forkwood::core::message::ImageSource;
use forkwood::{Block, Content, Image, Json, Message, Role, Text};

use super::NAME;
use crate::fields::Out;

/// Pieces that no model is sent.
const BESIDE: &[&str] = &[
    "toolConfirmationRequest",
    "actionRequired",
    "systemNotification",
    "conversationCompacted",
    "summarizationRequested",
    "contextLengthExceeded",
];

/// The messages that a row becomes: results of tools first, then what else it says. `None`: it
/// cannot be read.
pub(super) fn read(role: &str, content: &str, excluded: bool) -> Option<Vec<Message>> {
    let mut messages = Vec::new();
    let mut blocks = Vec::new();
    let mut beside = Vec::new();
    for raw in elements(content)? {
        let raw = raw.get();
        let object = Object::parse(raw).ok();
        let tag = object.as_ref().and_then(|object| object.text("type"));
        match (object, tag.as_ref().and_then(Text::as_str)) {
            (Some(object), Some("toolResponse")) => messages.push(result(&object)?),
            (_, Some(tag)) if BESIDE.contains(&tag) => beside.push(raw),
            (Some(object), Some(tag)) => {
                blocks.push(block(&object, tag).unwrap_or_else(|| other(raw)))
            }
            _ => blocks.push(other(raw)),
        }
    }
    if !blocks.is_empty() || messages.is_empty() {
        messages.push(Message::new(Role::from_text(&role.into()), Content::Blocks(blocks)));
    }
    for message in &mut messages {
        let mut metadata = Out::default();
        if excluded {
            metadata.raw("excludeFromContext", "true");
        }
        if !beside.is_empty() {
            let mut own = Out::default();
            own.raw("content", &join_array(std::mem::take(&mut beside)));
            metadata.raw(NAME, &own.finish());
        }
        message.metadata = (!metadata.is_empty()).then(|| metadata.into_json());
    }
    Some(messages)
}

fn other(raw: &str) -> Block {
    Block::Other(Json::parse(raw).unwrap_or_else(|_| Json::null()))
}

fn block(object: &Object<'_>, tag: &str) -> Option<Block> {
    match tag {
        "text" => Some(Block::text(object.text("text")?)),
        "image" => Some(Block::Image(Image {
            source: ImageSource::Inline(object.text("data")?),
            mime_type: object.text("mimeType")?,
            extra: Vec::new(),
        })),
        "thinking" => Some(Block::Thinking {
            thinking: object.text("thinking")?,
            signature: object.text("signature").filter(|text| !text.is_empty()),
            extra: Vec::new(),
        }),
        "redactedThinking" => Some(Block::Thinking {
            thinking: Text::default(),
            signature: object.text("data"),
            extra: vec![("redacted".into(), Json::parse("true").ok()?)],
        }),
        "toolRequest" | "frontendToolRequest" => {
            let call = Object::parse(object.get("toolCall")?).ok()?;
            // A call that could not be understood has an error in its place.
            let value = Object::parse(call.get("value")?).ok()?;
            let arguments = value.get("arguments").filter(|raw| kind_of(raw) == JsonKind::Object);
            let arguments = arguments.and_then(|raw| Json::parse(raw).ok());
            let arguments = arguments.unwrap_or_else(Json::empty_object);
            Some(Block::tool_call(object.text("id")?, value.text("name")?, arguments))
        }
        _ => None,
    }
}

/// The result of a tool: pieces of content, or what went wrong.
fn result(object: &Object<'_>) -> Option<Message> {
    let result = Object::parse(object.get("toolResult")?).ok()?;
    let mut failed = result.text("status").is_some_and(|status| status == "error");
    let mut pieces = Vec::new();
    if let Some(value) = result.get("value") {
        let list = match Object::parse(value) {
            Ok(value) => {
                failed |= value.get("isError") == Some("true");
                value.get("content").and_then(elements)
            }
            Err(_) => elements(value),
        };
        for piece in list.unwrap_or_default() {
            let object = Object::parse(piece.get()).ok();
            let known =
                object.as_ref().and_then(|object| block(object, object.text("type")?.as_str()?));
            pieces.push(known.unwrap_or_else(|| other(piece.get())));
        }
    }
    if let Some(error) = result.get("error") {
        let text = result.text("error").unwrap_or_else(|| error.into());
        pieces.push(Block::text(text));
    }
    let mut message = Message::new(Role::Tool, Content::Blocks(pieces));
    message.tool_call_id = Some(object.text("id")?);
    message.is_error = Some(failed);
    Some(message)
}
