//! Forkwood's messages as Pi's.

use forkwood_core::entry::MessageBody;
use forkwood_core::json::{Object, join_array};
use forkwood_core::message::ImageSource;
use forkwood_core::{Block, Content, Json, Message, Role, Text, Timestamp};
use forkwood_storage::{Result, StorageError};

use crate::fields::{Out, foreign_of, kept};

/// What to do with an image whose bytes are not in the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Images {
    /// Refuse: a file of Pi has no place for it.
    Refuse,
    /// Name it in a text block.
    Name,
}

/// Writes a message as Pi's record of it. Fields that came from Pi (`metadata.pi`) are put back;
/// what Pi asks for and the message does not say gets a neutral value.
///
/// # Errors
/// `unsupported` for an image that is no part of the message, where `images` says so.
pub(crate) fn encode(body: &MessageBody, at: Option<Timestamp>, images: Images) -> Result<String> {
    if let Some(raw) = foreign_of(body.foreign.as_ref(), "pi") {
        return Ok(raw.get().to_owned());
    }
    let message = &body.message;
    let metadata = message.metadata.as_ref().and_then(Json::as_object).unwrap_or_default();
    let pi = metadata.get("pi").and_then(|raw| Object::parse(raw).ok()).unwrap_or_default();
    let mut out = Out::default();
    match pi.text("role") {
        Some(role) => restored(&mut out, &role, message, images)?,
        None => native(&mut out, message, &pi, images)?,
    }
    out.rest(pi.iter().map(|(key, value)| (key, value.get())));
    own_metadata(&mut out, &metadata);
    out.rest(kept(&message.extra));
    let millis = at.map_or(0, Timestamp::as_millis);
    out.raw("timestamp", &millis.to_string());
    Ok(out.finish())
}

/// A message that was of a role of Pi's own.
fn restored(out: &mut Out, role: &Text, message: &Message, images: Images) -> Result<()> {
    out.text("role", role);
    if role == "custom" {
        out.raw("content", &content(&message.content, images)?);
    }
    Ok(())
}

fn native(out: &mut Out, message: &Message, pi: &Object<'_>, images: Images) -> Result<()> {
    let blocks = |content: &Content| encode_blocks(&content.to_blocks(), images);
    let text = |value: &Option<Text>, default: &str| {
        value.as_ref().map_or_else(|| Text::from(default).to_json(), Text::to_json)
    };
    match &message.role {
        Role::Assistant => {
            out.str("role", "assistant").raw("content", &blocks(&message.content)?);
            let api = pi.get("api").unwrap_or("\"unknown\"");
            out.raw("api", api)
                .raw("provider", &text(&message.provider, "unknown"))
                .raw("model", &text(&message.model, "unknown"))
                .raw("usage", &usage(message.usage.as_ref()));
            stop_reason(out, message);
        }
        Role::Tool => {
            out.str("role", "toolResult")
                .raw("toolCallId", &text(&message.tool_call_id, "unknown"))
                .raw("toolName", &text(&message.tool_name, "unknown"))
                .raw("content", &blocks(&message.content)?);
            // The rest of Pi's fields stand where Pi puts them.
            out.opt("details", pi.get("details").and_then(|raw| Json::parse(raw).ok()).as_ref());
            out.raw("isError", if message.is_error == Some(true) { "true" } else { "false" })
                .opt("usage", message.usage.as_ref());
        }
        role => {
            let name = match role {
                Role::Developer => "system".into(),
                other => other.as_text(),
            };
            out.text("role", &name).raw("content", &content(&message.content, images)?);
        }
    }
    // A user message that names a model and so on: kept, though Pi asks for none of it.
    for (key, value) in [
        ("model", &message.model),
        ("provider", &message.provider),
        ("stopReason", &message.stop_reason),
        ("toolCallId", &message.tool_call_id),
        ("toolName", &message.tool_name),
    ] {
        if let Some(value) = value {
            out.text(key, value);
        }
    }
    out.opt("usage", message.usage.as_ref());
    Ok(())
}

fn own_metadata(out: &mut Out, metadata: &Object<'_>) {
    let from_pi = metadata.get("pi").is_some();
    let mut own = Out::default();
    own.rest(
        metadata
            .iter()
            // Said in Pi's own field, where the message came from there.
            .filter(|(key, _)| **key != "pi" && !(from_pi && **key == "excludeFromContext"))
            .map(|(key, value)| (key, value.get())),
    );
    if !own.is_empty() {
        out.raw("metadata", &own.finish());
    }
}

fn stop_reason(out: &mut Out, message: &Message) {
    let said = message.stop_reason.as_ref().and_then(Text::as_str);
    let pi = match said {
        Some(known @ ("stop" | "length" | "toolUse" | "error" | "aborted" | "deferred")) => known,
        Some("max_tokens" | "maxTokens" | "MAX_TOKENS") => "length",
        Some("tool_use" | "tool_calls" | "tool_call" | "function_call") => "toolUse",
        Some("cancelled" | "canceled" | "interrupted") => "aborted",
        None if message.content.tool_calls().next().is_some() => "toolUse",
        _ => "stop",
    };
    out.str("stopReason", pi);
    if let Some(raw) = message.stop_reason.as_ref().filter(|raw| **raw != pi) {
        out.text("rawStopReason", raw);
    }
}

/// Usage as Pi has it. Other providers' names are understood; what is there already stays.
fn usage(usage: Option<&Json>) -> String {
    let object = usage.and_then(Json::as_object).unwrap_or_default();
    let number = |names: &[&str]| -> Option<String> {
        names.iter().find_map(|name| {
            let raw = object.get(name)?;
            raw.parse::<f64>().ok().map(|_| raw.to_owned())
        })
    };
    let zero = || String::from("0");
    let input = number(&["input", "inputTokens", "input_tokens", "prompt_tokens"]);
    let output = number(&["output", "outputTokens", "output_tokens", "completion_tokens"]);
    let read = number(&["cacheRead", "cacheReadTokens", "cache_read_input_tokens"]);
    let write = number(&["cacheWrite", "cacheWriteTokens", "cache_creation_input_tokens"]);
    let total = number(&["totalTokens", "total_tokens"]).unwrap_or_else(|| {
        let value = |raw: &Option<String>| -> f64 {
            raw.as_deref().and_then(|raw| raw.parse().ok()).unwrap_or(0.0)
        };
        (value(&input) + value(&output) + value(&read) + value(&write)).to_string()
    });
    let mut out = Out::default();
    out.raw("input", &input.unwrap_or_else(zero))
        .raw("output", &output.unwrap_or_else(zero))
        .raw("cacheRead", &read.unwrap_or_else(zero))
        .raw("cacheWrite", &write.unwrap_or_else(zero))
        .raw("totalTokens", &total);
    let cost = object.get("cost").and_then(|raw| Object::parse(raw).ok());
    let mut costs = Out::default();
    for key in ["input", "output", "cacheRead", "cacheWrite", "total"] {
        costs.raw(key, cost.as_ref().and_then(|cost| cost.get(key)).unwrap_or("0"));
    }
    if let Some(cost) = &cost {
        costs.rest(cost.iter().map(|(key, value)| (key, value.get())));
    }
    out.raw("cost", &costs.finish());
    out.rest(object.iter().map(|(key, value)| (key, value.get())));
    out.finish()
}

/// Writes content as Pi has it.
///
/// # Errors
/// Those of [`encode`].
pub(crate) fn content(content: &Content, images: Images) -> Result<String> {
    match content {
        Content::Text(text) => Ok(text.to_json()),
        Content::Blocks(blocks) => encode_blocks(blocks, images),
    }
}

fn encode_blocks(blocks: &[Block], images: Images) -> Result<String> {
    let blocks: Vec<String> = blocks.iter().map(|b| block(b, images)).collect::<Result<_>>()?;
    Ok(join_array(blocks))
}

fn block(block: &Block, images: Images) -> Result<String> {
    let mut out = Out::default();
    let rest = match block {
        Block::Text { text, extra } => {
            out.str("type", "text").text("text", text);
            extra
        }
        Block::Thinking { thinking, signature, extra } => {
            out.str("type", "thinking").text("thinking", thinking);
            if let Some(signature) = signature {
                out.text("thinkingSignature", signature);
            }
            extra
        }
        Block::Image(image) => {
            match &image.source {
                ImageSource::Inline(data) => {
                    out.str("type", "image").text("data", data).text("mimeType", &image.mime_type);
                }
                ImageSource::Blob { name, .. } if images == Images::Name => {
                    out.str("type", "text").str("text", &format!("[image {name}]"));
                }
                ImageSource::Blob { name, .. } => {
                    return Err(StorageError::unsupported(format!(
                        "Pi's files hold images inline; put the bytes of {name} into the message \
                         first",
                    )));
                }
            }
            &image.extra
        }
        Block::ToolCall { id, name, arguments, extra } => {
            out.str("type", "toolCall")
                .text("id", id)
                .text("name", name)
                .raw("arguments", arguments.get());
            extra
        }
        Block::Other(json) => return Ok(json.get().to_owned()),
    };
    out.rest(kept(rest));
    Ok(out.finish())
}
