//! Claude Code's messages in Forkwood's terms.

use forkwood_core::entry::{Foreign, MessageBody};
use forkwood_core::json::{self, JsonKind, Object};
use forkwood_core::message::ImageSource;
use forkwood_core::{Block, Content, Image, Json, Message, Role, Text};

use super::line::{Kind, Line, is_result};
use super::{METADATA, NAME, PROVIDER};
use crate::fields::{Fields, Out, kept};

/// The model that speaks where the program itself answers.
pub(crate) const SYNTHETIC: &str = "<synthetic>";

/// Fields of a line that have places of their own in an entry.
const PLACED: &[&str] = &["uuid", "parentUuid", "timestamp"];

/// Reads a `user` or `assistant` line that is one message, or the blocks of one part of it.
/// What the line says besides its blocks stays with the last part.
pub(crate) fn decode(line: Line<'_>, blocks: Option<&[&str]>, last: bool) -> MessageBody {
    let assistant = line.kind == Kind::Assistant;
    let meta = line.flag("isVirtual") || (assistant && line.flag("isApiErrorMessage"));
    let mut fields = Fields::new(line.object, "line");
    fields.skip(PLACED);
    let inner = fields.object().get("message").and_then(|raw| Object::parse(raw).ok());
    let mut inner = Fields::new(inner.unwrap_or_default(), "message");
    let content = inner.object().get("content");
    let blocks = match blocks {
        Some(blocks) => Some(blocks.to_vec()),
        None => content.and_then(elements),
    };
    let mut message = match blocks.as_deref() {
        Some([only]) if !assistant && Object::parse(only).is_ok_and(|b| is_result(&b)) => {
            result(only)
        }
        Some(blocks) => {
            let blocks = blocks.iter().map(|block| self::block(block)).collect();
            Message::new(Role::User, Content::Blocks(blocks))
        }
        None => match content.and_then(json::text_of) {
            Some(text) => Message::new(Role::User, Content::Text(text)),
            // Something else, or nothing: it stays in the metadata.
            None => Message::new(Role::User, Content::Blocks(Vec::new())),
        },
    };
    if content.is_some_and(|raw| matches!(json::kind_of(raw), JsonKind::Array | JsonKind::String)) {
        inner.skip(&["content"]);
    }
    if assistant {
        message.role = Role::Assistant;
        message.provider = Some(PROVIDER.into());
        if inner.object().text("model").is_some_and(|model| model != SYNTHETIC) {
            message.model = inner.text("model");
        }
        message.usage = inner.json_object("usage");
        message.stop_reason = inner.text("stop_reason");
    }
    let role = if assistant { "assistant" } else { "user" };
    if inner.object().text("role").is_some_and(|name| name == role) {
        inner.skip(&["role"]);
    }
    let of_result = message.metadata.take();
    message.metadata = metadata(&mut fields, &inner, of_result.as_ref(), meta, last);
    MessageBody { message, foreign: None }
}

/// What a native message has no field for: fields of the line, of its `message`, and of the
/// result.
fn metadata(
    fields: &mut Fields<'_>,
    inner: &Fields<'_>,
    of_result: Option<&Json>,
    excluded: bool,
    last: bool,
) -> Option<Json> {
    let mut own = Out::default();
    if last {
        fields.skip(&["message"]);
        let rest = fields.rest();
        own.rest(kept(&rest));
        let rest = inner.rest();
        let mut message = Out::default();
        message.rest(kept(&rest));
        if !message.is_empty() {
            own.raw("message", &message.finish());
        }
    } else {
        own.raw("part", "true");
    }
    own.opt("result", of_result);
    let mut out = Out::default();
    if excluded {
        out.raw("excludeFromContext", "true");
    }
    if !own.is_empty() {
        out.raw(METADATA, &own.finish());
    }
    (!out.is_empty()).then(|| out.into_json())
}

fn elements(raw: &str) -> Option<Vec<&str>> {
    Some(json::elements(raw)?.into_iter().map(|item| item.get()).collect())
}

/// The result of a tool. What it says besides stands in the metadata for the moment.
pub(crate) fn result(block: &str) -> Message {
    let mut fields = Fields::new(Object::parse(block).unwrap_or_default(), "result");
    fields.skip(&["type"]);
    let content = content(fields.object().get("content"));
    if content.is_some() {
        fields.skip(&["content"]);
    }
    let mut message =
        Message::new(Role::Tool, content.unwrap_or_else(|| Content::Blocks(Vec::new())));
    message.tool_call_id = fields.text("tool_use_id");
    message.is_error = fields.boolean("is_error");
    let rest = fields.rest();
    let mut out = Out::default();
    out.rest(kept(&rest));
    message.metadata = (!out.is_empty()).then(|| out.into_json());
    message
}

/// Content: a text or blocks.
pub(crate) fn content(raw: Option<&str>) -> Option<Content> {
    let raw = raw?;
    if let Some(text) = json::text_of(raw) {
        return Some(Content::Text(text));
    }
    Some(Content::Blocks(elements(raw)?.into_iter().map(block).collect()))
}

fn other(raw: &str) -> Block {
    Block::Other(Json::parse(raw).unwrap_or_else(|_| Json::null()))
}

/// One block of content. What is no block here is kept as it is.
pub(crate) fn block(raw: &str) -> Block {
    let Ok(object) = Object::parse(raw) else { return other(raw) };
    let tag = object.text("type");
    let mut fields = Fields::new(object, "block");
    fields.skip(&["type"]);
    let known = match tag.as_ref().and_then(Text::as_str) {
        Some("text") => fields.text("text").map(|text| Block::Text { text, extra: fields.rest() }),
        Some("thinking") => fields.text("thinking").map(|thinking| {
            let signature = fields.text("signature");
            Block::Thinking { thinking, signature, extra: fields.rest() }
        }),
        Some("redacted_thinking") if fields.object().get("redacted").is_none() => {
            fields.text("data").map(|data| {
                let mut extra = vec![(Text::from("redacted"), Json::parse("true").ok())];
                extra.extend(fields.rest().into_iter().map(|(key, value)| (key, Some(value))));
                let extra = extra.into_iter().filter_map(|(key, value)| Some((key, value?)));
                Block::Thinking {
                    thinking: Text::default(),
                    signature: Some(data),
                    extra: extra.collect(),
                }
            })
        }
        Some("tool_use") => match (fields.text("id"), fields.text("name"), fields.json("input")) {
            (Some(id), Some(name), Some(arguments)) => {
                Some(Block::ToolCall { id, name, arguments, extra: fields.rest() })
            }
            _ => None,
        },
        Some("image") => image(&mut fields),
        _ => None,
    };
    known.unwrap_or_else(|| other(raw))
}

/// An image that is in the line. One behind an address stays what it is.
fn image(fields: &mut Fields<'_>) -> Option<Block> {
    let source = Object::parse(fields.object().get("source")?).ok()?;
    if source.text("type")? != "base64" || source.iter().count() != 3 {
        return None;
    }
    let (data, mime_type) = (source.text("data")?, source.text("media_type")?);
    fields.skip(&["source"]);
    let extra = fields.rest();
    Some(Block::Image(Image { source: ImageSource::Inline(data), mime_type, extra }))
}

/// The words of an attachment that its owner shows to the model: what the person said while the
/// model was at work, and what a hook adds.
pub(crate) fn shown_attachment(line: &Object<'_>) -> Option<Content> {
    let attachment = Object::parse(line.get("attachment")?).ok()?;
    match attachment.text("type")?.as_str()? {
        "queued_command" => content(attachment.get("prompt")),
        "hook_additional_context" => {
            let given = attachment.get("content")?;
            let text = match json::text_of(given) {
                Some(text) => text.to_string_lossy().into_owned(),
                None => elements(given)?
                    .into_iter()
                    .filter_map(json::text_of)
                    .map(|text| text.to_string_lossy().into_owned())
                    .collect::<Vec<_>>()
                    .join("\n"),
            };
            let hook = attachment.text("hookName").unwrap_or_else(|| "hook".into());
            (!text.trim().is_empty()).then(|| {
                let text = format!(
                    "<system-reminder>\n{hook} hook additional context: {text}\n</system-reminder>"
                );
                Content::Text(text.into())
            })
        }
        _ => None,
    }
}

/// A line that is shown to the model though it is none of its messages.
pub(crate) fn shown(line: &Line<'_>, raw: &str) -> MessageBody {
    let content = shown_attachment(&line.object)
        .or_else(|| content(line.object.get("content")))
        .unwrap_or_else(|| Content::Blocks(Vec::new()));
    let raw = Json::parse(raw).unwrap_or_else(|_| Json::empty_object());
    MessageBody {
        message: Message::new(Role::User, content),
        foreign: Some(Foreign { format: NAME.into(), raw }),
    }
}
