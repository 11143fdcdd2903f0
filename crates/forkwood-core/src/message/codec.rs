//! JSON of messages. Reading never loses a field; [`Reader::strict`] refuses what it does not
//! know, for data that enters through an API.

use super::{Block, Content, Image, ImageSource, Message, Role};
use crate::entry::codec::{Reader, Take};
use crate::json::{self, Object, ObjectWriter};
use crate::{CoreError, Json, Text};

/// Reads a message.
///
/// # Errors
/// Where it is no object or has no role; in strict mode also for unknown fields, roles and
/// block types and for wrong types.
pub fn decode(json: &str, reader: &mut Reader) -> Result<Message, CoreError> {
    let mut object =
        Object::parse(json).map_err(|_| CoreError::invalid("message", "must be a JSON object"))?;
    let mut take = Take::new(&mut object, reader, "message");
    let role = take
        .text("role")?
        .ok_or_else(|| CoreError::invalid("message.role", "is missing or not a string"))?;
    let role = Role::from_text(&role);
    if let Role::Other(name) = &role {
        take.refuse("role", &format!("{name} is not system, developer, user, assistant or tool"))?;
    }
    let content = take.raw("content");
    let message = Message {
        tool_call_id: take.text("toolCallId")?,
        tool_name: take.text("toolName")?,
        is_error: take.boolean("isError")?,
        model: take.text("model")?,
        provider: take.text("provider")?,
        usage: take.json("usage")?,
        stop_reason: take.text("stopReason")?,
        metadata: take.json("metadata")?,
        extra: take.rest()?,
        role,
        content: Content::Blocks(Vec::new()),
    };
    let content = match content {
        Some(raw) => decode_content(raw.get(), reader)?,
        None => {
            reader.refuse("message.content", "is missing")?;
            Content::Blocks(Vec::new())
        }
    };
    Ok(Message { content, ..message })
}

/// Reads content: a string, or an array of blocks. `null` counts as no blocks.
pub(crate) fn decode_content(json: &str, reader: &mut Reader) -> Result<Content, CoreError> {
    if let Some(text) = json::text_of(json) {
        return Ok(Content::Text(text));
    }
    match json::elements(json) {
        Some(items) => items
            .into_iter()
            .map(|item| decode_block(item.get(), reader))
            .collect::<Result<_, _>>()
            .map(Content::Blocks),
        None => {
            reader.refuse("content", "must be a string or an array of blocks")?;
            Ok(match json::kind_of(json) {
                json::JsonKind::Null => Content::Blocks(Vec::new()),
                _ => Content::Blocks(vec![Block::Other(
                    Json::parse(json).unwrap_or_else(|_| Json::null()),
                )]),
            })
        }
    }
}

fn decode_block(json: &str, reader: &mut Reader) -> Result<Block, CoreError> {
    let other = || {
        Json::parse(json).map(Block::Other).map_err(|_| CoreError::invalid("block", "is not JSON"))
    };
    let Ok(mut object) = Object::parse(json) else {
        reader.refuse("block", "must be a JSON object")?;
        return other();
    };
    let kind = object.text("type");
    let mut take = Take::new(&mut object, reader, "block");
    take.raw("type");
    let block = match kind.as_ref().and_then(Text::as_str) {
        Some("text") => match take.text("text")? {
            Some(text) => Some(Block::Text { text, extra: take.rest()? }),
            None => None,
        },
        Some("thinking") => match take.text("thinking")? {
            Some(thinking) => Some(Block::Thinking {
                thinking,
                signature: take.text("signature")?,
                extra: take.rest()?,
            }),
            None => None,
        },
        Some("image") => decode_image(&mut take)?.map(Block::Image),
        Some("toolCall" | "tool_call") => {
            match (take.text("id")?, take.text("name")?, take.json("arguments")?) {
                (Some(id), Some(name), arguments) => Some(Block::ToolCall {
                    id,
                    name,
                    arguments: arguments.unwrap_or_else(Json::empty_object),
                    extra: take.rest()?,
                }),
                _ => None,
            }
        }
        _ => None,
    };
    match block {
        Some(block) => Ok(block),
        None => {
            reader.refuse("block", "must be text, thinking, image or toolCall, with its fields")?;
            other()
        }
    }
}

fn decode_image(take: &mut Take<'_, '_>) -> Result<Option<Image>, CoreError> {
    let source = if let Some(data) = take.text("base64")? {
        ImageSource::Inline(data)
    } else if let (Some(name), Some(bytes)) = (take.text("blob")?, take.integer("bytes")?) {
        ImageSource::Blob { name, bytes }
    } else {
        return Ok(None);
    };
    let Some(mime_type) = take.text("mimeType")? else { return Ok(None) };
    Ok(Some(Image { source, mime_type, extra: take.rest()? }))
}

/// Writes a message as JSON text.
pub fn encode(message: &Message) -> String {
    encode_onto(String::new(), message)
}

/// Writes a message as JSON text behind what is there.
pub(crate) fn encode_onto(buffer: String, message: &Message) -> String {
    let mut out = ObjectWriter::onto(buffer);
    out.text("role", &message.role.as_text())
        .nest("content", |buffer| encode_content_onto(buffer, &message.content))
        .opt_text("toolCallId", message.tool_call_id.as_ref())
        .opt_text("toolName", message.tool_name.as_ref());
    if let Some(is_error) = message.is_error {
        out.raw("isError", if is_error { "true" } else { "false" });
    }
    out.opt_text("model", message.model.as_ref())
        .opt_text("provider", message.provider.as_ref())
        .opt_json("usage", message.usage.as_ref())
        .opt_text("stopReason", message.stop_reason.as_ref())
        .opt_json("metadata", message.metadata.as_ref());
    extra_fields(&mut out, &message.extra);
    out.finish()
}

/// Writes content as JSON text behind what is there.
pub(crate) fn encode_content_onto(mut buffer: String, content: &Content) -> String {
    match content {
        Content::Text(text) => text.push_json(&mut buffer),
        Content::Blocks(blocks) => {
            buffer.push('[');
            for (at, block) in blocks.iter().enumerate() {
                if at > 0 {
                    buffer.push(',');
                }
                buffer = encode_block_onto(buffer, block);
            }
            buffer.push(']');
        }
    }
    buffer
}

fn encode_block_onto(mut buffer: String, block: &Block) -> String {
    if let Block::Other(json) = block {
        buffer.push_str(json.get());
        return buffer;
    }
    let mut out = ObjectWriter::onto(buffer);
    let rest = match block {
        Block::Text { text, extra } => {
            out.str("type", "text").text("text", text);
            extra
        }
        Block::Thinking { thinking, signature, extra } => {
            out.str("type", "thinking")
                .text("thinking", thinking)
                .opt_text("signature", signature.as_ref());
            extra
        }
        Block::Image(Image { source, mime_type, extra }) => {
            out.str("type", "image");
            match source {
                ImageSource::Inline(data) => out.text("base64", data),
                ImageSource::Blob { name, bytes } => {
                    out.text("blob", name).raw("bytes", &bytes.to_string())
                }
            };
            out.text("mimeType", mime_type);
            extra
        }
        Block::ToolCall { id, name, arguments, extra } => {
            out.str("type", "toolCall")
                .text("id", id)
                .text("name", name)
                .raw("arguments", arguments.get());
            extra
        }
        Block::Other(_) => &[][..],
    };
    extra_fields(&mut out, rest);
    out.finish()
}

pub(crate) fn extra_fields(out: &mut ObjectWriter, fields: &[(Text, Json)]) {
    for (key, value) in fields {
        out.text_key(key, value.get());
    }
}
