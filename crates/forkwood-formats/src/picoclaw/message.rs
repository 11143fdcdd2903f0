//! One message of PicoClaw, and what it is here.
//!
//! Go's `encoding/json` decides what a line is: keys in any case, the last of two counts, `null`
//! stands for nothing, unknown keys are passed over, and one field of a wrong type makes the
//! whole line unreadable.

use forkwood::conversation::ConversationMessage;
use forkwood::conversation::go_json::push_string;
use forkwood::core::entry::Foreign;
use forkwood::core::entry::codec::Reader;
use forkwood::core::json::{self, JsonKind, Object, elements, text_of};
use forkwood::core::message::ImageSource;
use forkwood::{Block, Content, Error, Image, Json, Message, Result, Role, Text};

use super::{NAME, OWN, time};
use crate::fields::Out;

/// The type of a field.
enum Shape {
    Str,
    Time,
    List(&'static Shape),
    Struct(&'static [(&'static str, Shape)]),
}

const ATTACHMENT: Shape = Shape::Struct(&[
    ("type", Shape::Str),
    ("ref", Shape::Str),
    ("url", Shape::Str),
    ("filename", Shape::Str),
    ("content_type", Shape::Str),
]);
const PART: Shape = Shape::Struct(&[
    ("type", Shape::Str),
    ("text", Shape::Str),
    ("cache_control", Shape::Struct(&[("type", Shape::Str)])),
]);
const CALL: Shape = Shape::Struct(&[
    ("id", Shape::Str),
    ("type", Shape::Str),
    (
        "function",
        Shape::Struct(&[
            ("name", Shape::Str),
            ("arguments", Shape::Str),
            ("thought_signature", Shape::Str),
        ]),
    ),
    (
        "extra_content",
        Shape::Struct(&[
            ("google", Shape::Struct(&[("thought_signature", Shape::Str)])),
            ("tool_feedback_explanation", Shape::Str),
        ]),
    ),
]);

/// The fields of a message, in the order in which PicoClaw writes them.
const MESSAGE: &[(&str, Shape)] = &[
    ("role", Shape::Str),
    ("content", Shape::Str),
    ("model_name", Shape::Str),
    ("created_at", Shape::Time),
    ("media", Shape::List(&Shape::Str)),
    ("attachments", Shape::List(&ATTACHMENT)),
    ("reasoning_content", Shape::Str),
    ("system_parts", Shape::List(&PART)),
    ("tool_calls", Shape::List(&CALL)),
    ("tool_call_id", Shape::Str),
];

/// A key without its case, as Go compares keys.
fn folded(key: &Text) -> String {
    key.to_string_lossy().to_lowercase().replace('\u{17f}', "s")
}

/// The fields of an object by their proper names; the last one counts. `null` is no field.
pub(super) fn fields<'j>(
    object: &Object<'j>,
    names: impl Fn(&str) -> Option<&'static str>,
) -> Vec<(&'static str, &'j str)> {
    let mut found: Vec<(&'static str, &'j str)> = Vec::new();
    for (key, raw) in object.iter() {
        let Some(name) = names(&folded(key)) else { continue };
        if raw.get() == "null" {
            continue;
        }
        match found.iter_mut().find(|(known, _)| *known == name) {
            Some(known) => known.1 = raw.get(),
            None => found.push((name, raw.get())),
        }
    }
    found
}

fn check(shape: &Shape, raw: &str, what: &str) -> std::result::Result<(), String> {
    if raw == "null" {
        return Ok(());
    }
    let wrong = |expected: &str| Err(format!("{what} is not {expected}"));
    match shape {
        Shape::Str if json::kind_of(raw) != JsonKind::String => wrong("a string"),
        Shape::Str => Ok(()),
        Shape::Time => {
            let text = text_of(raw);
            let valid = text.as_ref().and_then(Text::as_str).and_then(time::parse).is_some();
            if valid { Ok(()) } else { wrong("a time") }
        }
        Shape::List(inner) => match elements(raw) {
            Some(items) => items.iter().try_for_each(|item| check(inner, item.get(), what)),
            None => wrong("a list"),
        },
        Shape::Struct(known) => match Object::parse(raw) {
            Ok(object) => {
                let name = |key: &str| known.iter().map(|(name, _)| *name).find(|n| *n == key);
                fields(&object, name).into_iter().try_for_each(|(name, raw)| {
                    let shape = known.iter().find(|(known, _)| *known == name);
                    shape.map_or(Ok(()), |(_, shape)| check(shape, raw, name))
                })
            }
            Err(_) => wrong("an object"),
        },
    }
}

/// What a line holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The message.
    pub message: ConversationMessage,
    /// The keys that PicoClaw does not know.
    pub unknown: Vec<String>,
}

/// Reads one message.
///
/// # Errors
/// What is wrong, for people, where PicoClaw could not read it either; and where it has no role,
/// which PicoClaw reads as a message by nobody that says nothing.
pub fn decode(line: &str) -> std::result::Result<Decoded, String> {
    let object = match Object::parse(line) {
        Ok(object) => object,
        Err(_) if json::is_valid(line.as_bytes()) => return Err("is JSON, but no object".into()),
        Err(error) => return Err(error.to_string()),
    };
    check(&Shape::Struct(MESSAGE), line, "message")?;
    let names = |key: &str| {
        let known = MESSAGE.iter().map(|(name, _)| *name);
        known.chain([OWN]).find(|name| *name == key)
    };
    let found = fields(&object, names);
    let get = |name: &str| found.iter().find(|(known, _)| *known == name).map(|(_, raw)| *raw);
    let text = |name: &str| get(name).and_then(text_of).filter(|text| !text.is_empty());
    let role = text("role").ok_or("has no role: PicoClaw reads a message that says nothing")?;
    let unknown = object
        .iter()
        .map(|(key, _)| key)
        .filter(|key| names(&folded(key)).is_none())
        .map(|key| key.to_string_lossy().into_owned())
        .collect();
    let created = get("created_at").and_then(text_of);
    let created_at = created
        .as_ref()
        .and_then(Text::as_str)
        .filter(|at| !time::is_zero(at))
        .and_then(time::parse);
    let own = get(OWN).and_then(|raw| Object::parse(raw).ok());
    let own = own.as_ref().and_then(|own| own.get("message"));
    let native =
        own.and_then(|raw| forkwood::core::message::decode(raw, &mut Reader::lossless()).ok());
    let message = native.unwrap_or_else(|| {
        let mut message = Message::new(Role::from_text(&role), Content::Text(Text::default()));
        message.model = text("model_name");
        message.tool_call_id = text("tool_call_id");
        let mut metadata = Out::default();
        if let Some(at) = &created {
            metadata.text("created_at", at);
        }
        message.content = content(&get, text("content").unwrap_or_default(), &mut metadata);
        message.metadata = (!metadata.is_empty()).then(|| metadata.into_json());
        message
    });
    let mut decoded = ConversationMessage { message, created_at, foreign: None };
    // What the message alone would not give back stays as it was.
    if encode(&decoded).map_or(true, |again| again != line) {
        let raw = Json::parse(line).map_err(|error| error.to_string())?;
        decoded.foreign = Some(Foreign { format: NAME.into(), raw });
    }
    Ok(Decoded { message: decoded, unknown })
}

fn content<'j>(get: &impl Fn(&str) -> Option<&'j str>, text: Text, metadata: &mut Out) -> Content {
    let mut blocks = Vec::new();
    if let Some(thinking) = get("reasoning_content").and_then(text_of).filter(|t| !t.is_empty()) {
        blocks.push(Block::Thinking { thinking, signature: None, extra: Vec::new() });
    }
    let calls = get("tool_calls").and_then(elements).unwrap_or_default();
    let media = get("media").and_then(elements).unwrap_or_default();
    let images: Option<Vec<Block>> =
        media.iter().map(|raw| text_of(raw.get()).and_then(|url| image(&url))).collect();
    match &images {
        Some(images) if !images.is_empty() => {
            if !text.is_empty() {
                blocks.push(Block::text(text.clone()));
            }
            blocks.extend(images.iter().cloned());
        }
        _ => {
            let alone = blocks.is_empty() && calls.is_empty();
            if !alone && !text.is_empty() {
                blocks.push(Block::text(text.clone()));
            }
            if let Some(raw) = get("media") {
                metadata.raw("media", raw);
            }
        }
    }
    for name in ["attachments", "system_parts"] {
        if let Some(raw) = get(name) {
            metadata.raw(name, raw);
        }
    }
    blocks.extend(calls.iter().map(|raw| call(raw.get())));
    if blocks.is_empty() { Content::Text(text) } else { Content::Blocks(blocks) }
}

/// An image whose bytes stand in the line.
fn image(url: &Text) -> Option<Block> {
    let rest = url.as_str()?.strip_prefix("data:")?;
    let (mime, data) = rest.split_once(";base64,")?;
    mime.starts_with("image/").then(|| {
        Block::Image(Image {
            source: ImageSource::Inline(data.into()),
            mime_type: mime.into(),
            extra: Vec::new(),
        })
    })
}

fn call(raw: &str) -> Block {
    let Ok(object) = Object::parse(raw) else {
        return Block::Other(Json::parse(raw).unwrap_or_else(|_| Json::null()));
    };
    let names = |key: &str| {
        ["id", "type", "function", "extra_content"].into_iter().find(|name| *name == key)
    };
    let found = fields(&object, names);
    let get = |name: &str| found.iter().find(|(known, _)| *known == name).map(|(_, raw)| *raw);
    let function = get("function").and_then(|raw| Object::parse(raw).ok()).unwrap_or_default();
    let names = |key: &str| {
        ["name", "arguments", "thought_signature"].into_iter().find(|name| *name == key)
    };
    let inner = fields(&function, names);
    let inner = |name: &str| inner.iter().find(|(known, _)| *known == name).map(|(_, raw)| *raw);
    let mut extra = Vec::new();
    if let Some(raw) = inner("thought_signature").and_then(|raw| Json::parse(raw).ok()) {
        extra.push(("thought_signature".into(), raw));
    }
    if let Some(raw) = get("extra_content").and_then(|raw| Json::parse(raw).ok()) {
        extra.push(("extra_content".into(), raw));
    }
    let arguments = inner("arguments").and_then(text_of).unwrap_or_default();
    Block::ToolCall {
        id: get("id").and_then(text_of).unwrap_or_default(),
        name: inner("name").and_then(text_of).unwrap_or_default(),
        arguments: meant(&arguments)
            .or_else(|| Json::parse(&arguments.to_json()).ok())
            .unwrap_or_else(Json::empty_object),
        extra,
    }
}

/// The JSON that a text of arguments holds. A JSON string is taken for a text: what is no JSON
/// becomes one.
fn meant(text: &Text) -> Option<Json> {
    let json = text.as_str().and_then(|text| Json::parse(text).ok())?;
    (json.kind() != JsonKind::String).then_some(json)
}

/// Writes a message as PicoClaw does, on one line without a line end: the record it came from as
/// it stands, else its fields in PicoClaw's order. What PicoClaw has no field for goes along
/// under `forkwood`, which PicoClaw passes over.
///
/// # Errors
/// `unsupported` where an image is kept apart from the message: its bytes must be in it.
pub fn encode(message: &ConversationMessage) -> Result<String> {
    if let Some(raw) = crate::fields::foreign_of(message.foreign.as_ref(), NAME) {
        return Ok(raw.get().replace(['\n', '\r'], " "));
    }
    let blob = |block: &Block| {
        matches!(block, Block::Image(Image { source: ImageSource::Blob { .. }, .. }))
    };
    if let Content::Blocks(blocks) = &message.message.content
        && blocks.iter().any(blob)
    {
        return Err(Error::unsupported(
            "PicoClaw's files have no place for an image that is kept apart; give its bytes",
        ));
    }
    if let Some(line) = line_of(message) {
        return Ok(line);
    }
    let own = forkwood::core::message::encode(&message.message);
    let plain = plain_line(message);
    let stem = plain.strip_suffix('}').unwrap_or(&plain);
    Ok(format!("{stem},\"{OWN}\":{{\"message\":{own}}}}}"))
}

/// The line of a message, where all of it has a field.
fn line_of(message: &ConversationMessage) -> Option<String> {
    let content = match &message.message.content {
        Content::Text(_) => true,
        Content::Blocks(blocks) => in_order(blocks),
    };
    let beside = &message.message;
    let whole = content
        && beside.tool_name.is_none()
        && beside.is_error.is_none()
        && beside.provider.is_none()
        && beside.usage.is_none()
        && beside.stop_reason.is_none()
        && beside.extra.is_empty()
        && beside.metadata.as_ref().is_none_or(is_ours);
    whole.then(|| plain_line(message))
}

const METADATA: &[&str] = &["created_at", "media", "attachments", "system_parts"];

fn is_ours(metadata: &Json) -> bool {
    metadata.as_object().is_some_and(|object| {
        object.iter().all(|(key, _)| METADATA.iter().any(|name| *key == *name))
    })
}

/// Whether blocks stand in the order, and in the number, in which a line would give them back.
fn in_order(blocks: &[Block]) -> bool {
    let rank = |block: &Block| match block {
        Block::Thinking { thinking, signature: None, extra } if extra.is_empty() => {
            (!thinking.is_empty()).then_some((0, true))
        }
        Block::Text { text, extra } if extra.is_empty() => (!text.is_empty()).then_some((1, true)),
        Block::Image(image) if image.extra.is_empty() => Some((2, false)),
        Block::ToolCall { arguments, extra, .. } => {
            let known = |key: &Text| *key == "extra_content" || *key == "thought_signature";
            let text = arguments.as_text();
            let comes_back = text.is_none_or(|text| meant(&text).is_none());
            comes_back.then_some(())?;
            extra.iter().all(|(key, _)| known(key)).then_some((3, false))
        }
        _ => None,
    };
    let mut last = (-1, false);
    let mut alone = true;
    for block in blocks {
        let Some(next) = rank(block) else { return false };
        if next.0 < last.0 || (next.0 == last.0 && next.1) {
            return false;
        }
        alone &= next.0 == 1;
        last = next;
    }
    // One text by itself would come back as a string, and no block at all too.
    !alone
}

fn plain_line(message: &ConversationMessage) -> String {
    let ConversationMessage { message, created_at, .. } = message;
    let metadata = message.metadata.as_ref().and_then(Json::as_object).unwrap_or_default();
    let mut out = String::from("{");
    let mut texts: Vec<&Text> = Vec::new();
    let mut thoughts: Vec<&Text> = Vec::new();
    let mut calls = String::new();
    let mut media = String::new();
    match &message.content {
        Content::Text(text) => texts.push(text),
        Content::Blocks(blocks) => {
            for block in blocks {
                match block {
                    Block::Text { text, .. } => texts.push(text),
                    Block::Thinking { thinking, .. } => thoughts.push(thinking),
                    Block::Image(image) => push_image(&mut media, image),
                    Block::ToolCall { .. } => push_call(&mut calls, block),
                    Block::Other(_) => {}
                }
            }
        }
    }
    field(&mut out, "role", &message.role.as_text());
    field(&mut out, "content", &joined(&texts));
    if let Some(model) = message.model.as_ref().filter(|model| !model.is_empty()) {
        field(&mut out, "model_name", model);
    }
    match metadata.text("created_at") {
        Some(at) => field(&mut out, "created_at", &at),
        None => {
            if let Some(at) = created_at {
                field(&mut out, "created_at", &time::format(*at).into());
            }
        }
    }
    if !media.is_empty() {
        raw(&mut out, "media", &format!("[{media}]"));
    } else if let Some(media) = metadata.get("media") {
        raw(&mut out, "media", media);
    }
    if let Some(attachments) = metadata.get("attachments") {
        raw(&mut out, "attachments", attachments);
    }
    if !thoughts.is_empty() {
        field(&mut out, "reasoning_content", &joined(&thoughts));
    }
    if let Some(parts) = metadata.get("system_parts") {
        raw(&mut out, "system_parts", parts);
    }
    if !calls.is_empty() {
        raw(&mut out, "tool_calls", &format!("[{calls}]"));
    }
    if let Some(id) = message.tool_call_id.as_ref().filter(|id| !id.is_empty()) {
        field(&mut out, "tool_call_id", id);
    }
    out.push('}');
    out
}

fn joined(texts: &[&Text]) -> Text {
    let newline = Text::from("\n");
    let mut parts = Vec::new();
    for text in texts {
        if !parts.is_empty() {
            parts.push(&newline);
        }
        parts.push(*text);
    }
    Text::concat(parts)
}

fn key(out: &mut String, key: &str) {
    if !out.ends_with('{') {
        out.push(',');
    }
    push_string(out, key);
    out.push(':');
}

fn field(out: &mut String, name: &str, text: &Text) {
    key(out, name);
    push_string(out, &text.to_string_lossy());
}

fn raw(out: &mut String, name: &str, json: &str) {
    key(out, name);
    out.push_str(json);
}

fn push_image(media: &mut String, image: &Image) {
    let ImageSource::Inline(data) = &image.source else { return };
    if !media.is_empty() {
        media.push(',');
    }
    let url = format!("data:{};base64,{}", image.mime_type, data.to_string_lossy());
    push_string(media, &url);
}

fn push_call(calls: &mut String, block: &Block) {
    let Block::ToolCall { id, name, arguments, extra } = block else { return };
    let beside =
        |key: &str| extra.iter().find(|(known, _)| *known == key).map(|(_, raw)| raw.get());
    let mut out = String::from("{");
    field(&mut out, "id", id);
    field(&mut out, "type", &"function".into());
    let mut function = String::from("{");
    field(&mut function, "name", name);
    let text = match arguments.kind() {
        JsonKind::String => arguments.as_text().unwrap_or_default(),
        _ => arguments.get().into(),
    };
    field(&mut function, "arguments", &text);
    if let Some(signature) = beside("thought_signature") {
        raw(&mut function, "thought_signature", signature);
    }
    function.push('}');
    raw(&mut out, "function", &function);
    if let Some(content) = beside("extra_content") {
        raw(&mut out, "extra_content", content);
    }
    out.push('}');
    if !calls.is_empty() {
        calls.push(',');
    }
    calls.push_str(&out);
}
