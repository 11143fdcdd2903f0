//! Messages of OpenAI's chat completions.

use forkwood::core::json::{self, Object};
use forkwood::core::message::ImageSource;
use forkwood::{Block, Content, Image, Json, Message, Role, Text};

use crate::export::{OPENAI, THOUGHTS};
use crate::fields::{Fields, Out, kept};

/// Reads a message.
pub(super) fn decode(raw: &str) -> Vec<Message> {
    let object = Object::parse(raw).unwrap_or_default();
    let role = object.text("role").unwrap_or_default();
    let mut fields = Fields::new(object, "message");
    fields.skip(&["role"]);
    let role = match role.as_str() {
        Some("function") => Role::Tool,
        _ => Role::from_text(&role),
    };
    let given = fields.object().get("content").filter(|raw| *raw != "null");
    let content = given.and_then(content);
    if content.is_some() || given.is_none() {
        fields.skip(&["content"]);
    }
    let mut message = Message::new(role, content.unwrap_or_else(|| Content::Text(Text::default())));
    if message.role == Role::Tool {
        message.tool_call_id = fields.text("tool_call_id");
    }
    if message.role == Role::Assistant {
        answer(&mut message, &mut fields, given.is_some());
    }
    let rest = fields.rest();
    if !rest.is_empty() {
        let mut own = Out::default();
        own.rest(kept(&rest));
        let mut out = Out::default();
        out.raw(OPENAI, &own.finish());
        message.metadata = Some(out.into_json());
    }
    vec![message]
}

/// Thoughts go before what was said, calls behind it.
fn answer(message: &mut Message, fields: &mut Fields<'_>, said: bool) {
    let mut blocks = Vec::new();
    for name in THOUGHTS {
        if let Some(thinking) = fields.object().text(name).filter(|text| !text.is_empty()) {
            fields.skip(&[name]);
            let signature = Some(Text::from(*name));
            blocks.push(Block::Thinking { thinking, signature, extra: Vec::new() });
        }
    }
    let raw = fields.object().get("tool_calls").and_then(json::elements).unwrap_or_default();
    let calls: Option<Vec<Block>> = raw.iter().map(|raw| call(raw.get())).collect();
    let calls = match calls {
        Some(calls) => {
            fields.skip(&["tool_calls"]);
            calls
        }
        None => Vec::new(),
    };
    if blocks.is_empty() && calls.is_empty() {
        return;
    }
    if said {
        match &message.content {
            Content::Text(text) if text.is_empty() && !calls.is_empty() => {}
            content => blocks.extend(content.to_blocks()),
        }
    }
    blocks.extend(calls);
    message.content = Content::Blocks(blocks);
}

fn call(raw: &str) -> Option<Block> {
    let mut fields = Fields::new(Object::parse(raw).ok()?, "call");
    let function = Object::parse(fields.object().get("function")?).ok()?;
    let (id, name) = (fields.text("id")?, function.text("name")?);
    let given = function.text("arguments").unwrap_or_default();
    fields.skip(&["type", "function"]);
    let mut extra = fields.rest();
    let arguments = match given.as_str().and_then(|text| Json::parse(text).ok()) {
        Some(json) => {
            // Blanks between tokens are not kept; what was written exactly is.
            if Some(json.get()) != given.as_str() {
                extra.push(("argumentsText".into(), Json::parse(&given.to_json()).ok()?));
            }
            json
        }
        None => Json::parse(&given.to_json()).ok()?,
    };
    Some(Block::ToolCall { id, name, arguments, extra })
}

fn content(raw: &str) -> Option<Content> {
    if let Some(text) = json::text_of(raw) {
        return Some(Content::Text(text));
    }
    Some(Content::Blocks(json::elements(raw)?.iter().map(|part| part_of(part.get())).collect()))
}

fn part_of(raw: &str) -> Block {
    let other = || Block::Other(Json::parse(raw).unwrap_or_else(|_| Json::null()));
    let Ok(object) = Object::parse(raw) else { return other() };
    let tag = object.text("type").unwrap_or_default();
    let mut fields = Fields::new(object, "part");
    fields.skip(&["type"]);
    match tag.as_str() {
        Some("text") => match fields.text("text") {
            Some(text) => Block::Text { text, extra: fields.rest() },
            None => other(),
        },
        Some("image_url") => image(&mut fields).unwrap_or_else(other),
        _ => other(),
    }
}

/// An image whose bytes are in the message. One behind an address stays what it is.
fn image(fields: &mut Fields<'_>) -> Option<Block> {
    let inner = Object::parse(fields.object().get("image_url")?).ok()?;
    if inner.iter().count() != 1 {
        return None;
    }
    let url = inner.text("url")?;
    let (mime, data) = url.as_str()?.strip_prefix("data:")?.split_once(";base64,")?;
    let (mime_type, data) = (Text::from(mime), Text::from(data));
    fields.skip(&["image_url"]);
    Some(Block::Image(Image { source: ImageSource::Inline(data), mime_type, extra: fields.rest() }))
}
