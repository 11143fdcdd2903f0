//! Messages and their parts.

use forkwood::core::json::{Object, join_array};
use forkwood::core::message::ImageSource;
use forkwood::{Block, Content, Image, Json, Message, Role, Text, Timestamp};

use super::NAME;
use crate::fields::{Out, whole_number};

/// A part, with its id.
pub(super) struct Part {
    pub(super) id: String,
    pub(super) data: Json,
}

/// What a message with its parts is.
pub(super) enum Said {
    /// A message, and the results of its calls with the ids of their parts.
    Message(Box<Message>, Vec<(String, Message)>),
    /// Where a compaction was asked for: the message from which on the context stays.
    Marker(Option<String>),
    /// A summary that stands for what was said.
    Summary(Text, Option<Json>),
}

/// Reads a message. `None`: its data are none.
pub(super) fn read(data: &Json, parts: &[Part]) -> Option<Said> {
    let info = data.as_object()?;
    let role = Role::from_text(&info.text("role")?);
    let objects: Vec<(&Part, Object<'_>)> =
        parts.iter().filter_map(|part| Some((part, part.data.as_object()?))).collect();
    let marker = objects.iter().find(|(_, part)| is(part, "compaction"));
    if let Some((_, marker)) = marker.filter(|_| role == Role::User) {
        let tail = marker.text("tail_start_id").map(|id| id.to_string_lossy().into_owned());
        return Some(Said::Marker(tail));
    }
    let failed = info.get("error").is_some_and(|error| error != "null");
    if info.get("summary") == Some("true") && info.text("finish").is_some() && !failed {
        let texts: Vec<Text> = objects
            .iter()
            .filter(|(_, part)| is(part, "text"))
            .filter_map(|(_, part)| part.text("text"))
            .collect();
        return Some(Said::Summary(Text::concat(&texts), usage(&info)));
    }
    let mut blocks = Vec::new();
    let mut results = Vec::new();
    let mut others = Vec::new();
    for (part, object) in &objects {
        match block(object) {
            Some(block) => blocks.push(block),
            None => others.push(of_part(part)),
        }
        if is(object, "tool") {
            results.extend(result(object).map(|result| (part.id.clone(), result)));
        }
    }
    // What cannot be read stays with the message.
    let broken = parts.iter().filter(|part| part.data.as_object().is_none()).map(of_part);
    others.extend(broken);
    let mut message = Message::new(role, Content::Blocks(blocks));
    if message.role == Role::Assistant {
        message.model = info.text("modelID");
        message.provider = info.text("providerID");
        message.stop_reason = info.text("finish");
        message.usage = usage(&info);
    }
    let mut own = Out::default();
    let placed = ["role", "modelID", "providerID", "finish", "tokens", "cost"];
    own.rest(
        info.iter()
            .filter(|(key, _)| !placed.iter().any(|p| **key == *p))
            .map(|(k, v)| (k, v.get())),
    );
    if !others.is_empty() {
        own.raw("parts", &join_array(others));
    }
    if !own.is_empty() {
        let mut metadata = Out::default();
        metadata.raw(NAME, &own.finish());
        message.metadata = Some(metadata.into_json());
    }
    Some(Said::Message(Box::new(message), results))
}

fn is(part: &Object<'_>, tag: &str) -> bool {
    part.text("type").is_some_and(|text| text == tag)
}

fn of_part(part: &Part) -> String {
    let mut out = Out::default();
    out.str("id", &part.id).raw("data", part.data.get());
    out.finish()
}

/// What a part is in a message. `None`: nothing that a model is sent.
fn block(part: &Object<'_>) -> Option<Block> {
    match part.text("type")?.as_str()? {
        "text" if part.get("ignored") != Some("true") => Some(Block::text(part.text("text")?)),
        "reasoning" => {
            let signature =
                Object::parse(part.get("metadata").unwrap_or("{}")).ok().and_then(|metadata| {
                    Object::parse(metadata.get("anthropic")?).ok()?.text("signature")
                });
            Some(Block::Thinking { thinking: part.text("text")?, signature, extra: Vec::new() })
        }
        "tool" => {
            let state = Object::parse(part.get("state")?).ok()?;
            let input = state.get("input").and_then(|raw| Json::parse(raw).ok());
            let input = input.unwrap_or_else(Json::empty_object);
            Some(Block::tool_call(part.text("callID")?, part.text("tool")?, input))
        }
        "file" => {
            let url = part.text("url")?;
            let (mime, data) = url.as_str()?.strip_prefix("data:")?.split_once(";base64,")?;
            mime.starts_with("image/").then(|| {
                Block::Image(Image {
                    source: ImageSource::Inline(data.into()),
                    mime_type: mime.into(),
                    extra: Vec::new(),
                })
            })
        }
        _ => None,
    }
}

/// The result of a call that has one.
fn result(part: &Object<'_>) -> Option<Message> {
    let state = Object::parse(part.get("state")?).ok()?;
    let status = state.text("status")?;
    let (text, failed) = match status.as_str()? {
        "completed" => (state.text("output")?, false),
        "error" => (state.text("error")?, true),
        _ => return None,
    };
    let mut message = Message::tool(part.text("callID")?, text);
    message.tool_name = part.text("tool");
    message.is_error = Some(failed);
    let mut own = Out::default();
    for key in ["title", "metadata", "time", "attachments"] {
        if let Some(raw) = state.get(key) {
            own.raw(key, raw);
        }
    }
    if !own.is_empty() {
        let mut metadata = Out::default();
        metadata.raw(NAME, &own.finish());
        message.metadata = Some(metadata.into_json());
    }
    Some(message)
}

/// Tokens and cost. opencode counts thoughts beside the output.
fn usage(info: &Object<'_>) -> Option<Json> {
    let tokens = Object::parse(info.get("tokens")?).ok()?;
    let cache = Object::parse(tokens.get("cache").unwrap_or("{}")).ok()?;
    let number = |object: &Object<'_>, key| object.get(key).and_then(whole_number).unwrap_or(0);
    let reasoning = number(&tokens, "reasoning");
    let output = number(&tokens, "output").saturating_add(reasoning);
    let (input, read, write) =
        (number(&tokens, "input"), number(&cache, "read"), number(&cache, "write"));
    let total = [output, read, write].into_iter().fold(input, u64::saturating_add);
    let mut out = Out::default();
    for (key, number) in [
        ("input", input),
        ("output", output),
        ("cacheRead", read),
        ("cacheWrite", write),
        ("reasoning", reasoning),
        ("totalTokens", total),
    ] {
        out.raw(key, &number.to_string());
    }
    if let Some(cost) = info.get("cost").filter(|raw| raw.trim().parse::<f64>().is_ok()) {
        let mut inner = Out::default();
        inner.raw("total", cost);
        out.raw("cost", &inner.finish());
    }
    Some(out.into_json())
}

/// Milliseconds.
pub(super) fn time(millis: Option<i64>) -> Option<Timestamp> {
    millis.map(Timestamp::from_millis)
}
