//! Records of messages.

use forkwood::core::json::{JsonKind, Object, elements, kind_of, text_of};
use forkwood::core::message::ImageSource;
use forkwood::{Block, Body, Content, Image, Json, Message, Role, Text, Timestamp};

use super::NAME;
use crate::fields::{Out, whole_number};

/// Who Gemini CLI asks.
const PROVIDER: &str = "google";

/// A record as bodies: the message, and the results of its calls with their ids.
pub(super) struct Record {
    pub(super) at: Option<Timestamp>,
    pub(super) body: Body,
    pub(super) results: Vec<(String, Message)>,
}

/// Reads a record.
pub(super) fn read(record: &Object<'_>, raw: &str) -> Record {
    let at = record.get("timestamp").and_then(crate::time::parse_pi);
    let tag = record.text("type").unwrap_or_default();
    let (body, results) = match tag.as_str() {
        Some("user") => match user(record) {
            Some(message) => (Body::message(message), Vec::new()),
            None => (kept(&tag, raw), Vec::new()),
        },
        Some("gemini") => {
            let (message, results) = gemini(record);
            (Body::message(message), results)
        }
        _ => (kept(&tag, raw), Vec::new()),
    };
    Record { at, body, results }
}

/// A record that no model is sent.
fn kept(tag: &Text, raw: &str) -> Body {
    let namespace = Text::concat([&format!("{NAME}.").into(), tag]);
    let data = Json::parse(raw).unwrap_or_else(|_| Json::empty_object());
    Body::Custom { namespace, data, aside: false }
}

/// `None`: it holds nothing but results, which stand with their calls.
fn user(record: &Object<'_>) -> Option<Message> {
    let raw = record.get("content").unwrap_or("\"\"");
    let parts = parts(raw);
    let is_result =
        |raw: &&str| Object::parse(raw).is_ok_and(|part| part.get("functionResponse").is_some());
    if !parts.is_empty() && parts.iter().all(is_result) {
        return None;
    }
    let mut message = Message::new(Role::User, content(raw));
    message.metadata = metadata(record, &["content"]);
    Some(message)
}

/// The elements of a list, or the one part that there is.
fn parts(raw: &str) -> Vec<&str> {
    match kind_of(raw) {
        JsonKind::Array => {
            elements(raw).unwrap_or_default().into_iter().map(|part| part.get()).collect()
        }
        JsonKind::Null => Vec::new(),
        _ => vec![raw],
    }
}

fn content(raw: &str) -> Content {
    if let Some(text) = text_of(raw) {
        return Content::Text(text);
    }
    Content::Blocks(parts(raw).into_iter().map(block).collect())
}

fn block(raw: &str) -> Block {
    let known = || {
        if let Some(text) = text_of(raw) {
            return Some(Block::text(text));
        }
        let part = Object::parse(raw).ok()?;
        if let Some(text) = part.text("text") {
            return Some(match part.get("thought") {
                Some("true") => {
                    let signature = part.text("thoughtSignature");
                    Block::Thinking { thinking: text, signature, extra: Vec::new() }
                }
                _ => Block::text(text),
            });
        }
        let data = Object::parse(part.get("inlineData")?).ok()?;
        let mime_type = data.text("mimeType")?;
        mime_type.as_str()?.starts_with("image/").then_some(())?;
        let source = ImageSource::Inline(data.text("data")?);
        Some(Block::Image(Image { source, mime_type, extra: Vec::new() }))
    };
    known().unwrap_or_else(|| Block::Other(Json::parse(raw).unwrap_or_else(|_| Json::null())))
}

fn gemini(record: &Object<'_>) -> (Message, Vec<(String, Message)>) {
    let mut blocks = Vec::new();
    for thought in parts(record.get("thoughts").unwrap_or("[]")) {
        let Ok(thought) = Object::parse(thought) else { continue };
        let text = |key: &str| thought.text(key).unwrap_or_default().to_string_lossy().into_owned();
        let (subject, description) = (text("subject"), text("description"));
        let said =
            if subject.is_empty() { description } else { format!("**{subject}**\n{description}") };
        blocks.push(Block::Thinking { thinking: said.into(), signature: None, extra: Vec::new() });
    }
    let said = content(record.get("content").unwrap_or("\"\"")).to_blocks();
    let is_call = |block: &Block| {
        // Calls stand by themselves, with their results.
        matches!(block, Block::Other(json) if json.as_object().is_some_and(|o| o.get("functionCall").is_some()))
    };
    let calls = record.get("toolCalls").map(parts).unwrap_or_default();
    blocks.extend(said.into_iter().filter(|block| {
        let empty = matches!(block, Block::Text { text, .. } if text.is_empty());
        !empty && (calls.is_empty() || !is_call(block))
    }));
    let mut results = Vec::new();
    for call in calls {
        let Ok(call) = Object::parse(call) else { continue };
        let Some(id) = call.text("id") else { continue };
        let name = call.text("name").unwrap_or_default();
        let arguments = call.get("args").and_then(|raw| Json::parse(raw).ok());
        let arguments = arguments.unwrap_or_else(Json::empty_object);
        blocks.push(Block::tool_call(id.clone(), name.clone(), arguments));
        results.extend(result(&call, &id, name).map(|m| (id.to_string_escaped().into_owned(), m)));
    }
    let mut message = Message::new(Role::Assistant, Content::Blocks(blocks));
    message.model = record.text("model");
    message.provider = message.model.as_ref().map(|_| PROVIDER.into());
    message.usage = record.get("tokens").and_then(usage);
    message.metadata = metadata(record, &["content", "thoughts", "toolCalls", "model", "tokens"]);
    (message, results)
}

/// The result of a call, where it has ended.
fn result(call: &Object<'_>, id: &Text, name: Text) -> Option<Message> {
    let status = call.text("status");
    let failed = match status.as_ref().and_then(Text::as_str) {
        Some("success") => false,
        Some("error" | "cancelled") => true,
        _ => return None,
    };
    let told = call.get("result").map(parts).unwrap_or_default();
    let mut blocks: Vec<Block> = told.into_iter().map(response).collect();
    if blocks.is_empty() {
        blocks.extend(call.text("resultDisplay").map(Block::text));
    }
    let mut message = Message::new(Role::Tool, Content::Blocks(blocks));
    message.tool_call_id = Some(id.clone());
    message.tool_name = Some(name);
    message.is_error = Some(failed);
    let mut own = Out::default();
    let placed = ["id", "name", "args", "result"];
    own.rest(
        call.iter()
            .filter(|(key, _)| !placed.iter().any(|p| **key == *p))
            .map(|(k, v)| (k, v.get())),
    );
    if !own.is_empty() {
        let mut metadata = Out::default();
        metadata.raw(NAME, &own.finish());
        message.metadata = Some(metadata.into_json());
    }
    Some(message)
}

/// A part of a result: its text, where that is all that it says.
fn response(raw: &str) -> Block {
    let text = || {
        let part = Object::parse(raw).ok()?;
        let response = Object::parse(part.get("functionResponse")?).ok()?;
        let response = Object::parse(response.get("response")?).ok()?;
        let only = response.iter().count() == 1;
        response.text("output").or_else(|| response.text("error")).filter(|_| only)
    };
    text().map_or_else(|| block(raw), Block::text)
}

/// Tokens. Google counts what came from the cache into the input, and thoughts beside the output.
fn usage(raw: &str) -> Option<Json> {
    let tokens = Object::parse(raw).ok()?;
    let number = |key: &str| tokens.get(key).and_then(whole_number).unwrap_or(0);
    let (cached, thoughts) = (number("cached"), number("thoughts"));
    let mut out = Out::default();
    for (key, number) in [
        ("input", number("input").saturating_sub(cached).saturating_add(number("tool"))),
        ("output", number("output").saturating_add(thoughts)),
        ("cacheRead", cached),
        ("cacheWrite", 0),
        ("reasoning", thoughts),
        ("totalTokens", number("total")),
    ] {
        out.raw(key, &number.to_string());
    }
    Some(out.into_json())
}

/// What a native message has no field for.
fn metadata(record: &Object<'_>, placed: &[&str]) -> Option<Json> {
    let mut own = Out::default();
    let known =
        |key: &Text| ["id", "timestamp", "type"].iter().chain(placed).any(|placed| *key == *placed);
    own.rest(record.iter().filter(|(key, _)| !known(key)).map(|(k, v)| (k, v.get())));
    (!own.is_empty()).then(|| {
        let mut metadata = Out::default();
        metadata.raw(NAME, &own.finish());
        metadata.into_json()
    })
}
