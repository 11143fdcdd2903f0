//! Pi's messages in Forkwood's terms.

use forkwood_core::entry::{Foreign, MessageBody};
use forkwood_core::json::{self, Object};
use forkwood_core::message::ImageSource;
use forkwood_core::{Block, Content, Entry, Image, Json, Message, Role, Text, Timestamp};

use super::text::{bash_text, branch_text, compaction_text};
use crate::fields::{Fields, Out, kept};

/// Reads a message. What a native message has no field for stands under `metadata.pi`; a role
/// that means nothing here keeps its record in `foreign`.
///
/// `harness_log`: answers that failed are in no context of that dialect.
pub(crate) fn decode(json: &str, harness_log: bool) -> Option<MessageBody> {
    let object = Object::parse(json).ok()?;
    let mut role = object.text("role")?;
    let content = content_of(object.get("content"));
    let mut fields = Fields::new(object, "message");
    let given = role.clone();
    let name = given.as_str().unwrap_or_default();
    let mut message = Message::new(Role::User, content);
    let mut excluded = false;
    let mut keep_role = false;
    fields.skip(&["role", "content"]);
    match name {
        "user" => {}
        "system" => message.role = Role::System,
        "assistant" => {
            message.role = Role::Assistant;
            message.model = fields.text("model");
            message.provider = fields.text("provider");
            message.usage = fields.json("usage");
            message.stop_reason = fields.text("stopReason");
            let failed =
                |reason: &Text| matches!(reason.as_str(), Some("error" | "aborted" | "deferred"));
            excluded = harness_log && message.stop_reason.as_ref().is_some_and(failed);
        }
        "toolResult" => {
            message.role = Role::Tool;
            message.tool_call_id = fields.text("toolCallId");
            message.tool_name = fields.text("toolName");
            message.is_error = fields.boolean("isError");
            message.usage = fields.json("usage");
        }
        "custom" => keep_role = true,
        "hookMessage" => {
            // What version 3 calls it.
            keep_role = true;
            role = "custom".into();
        }
        "bashExecution" => {
            keep_role = true;
            message.content = Content::Text(bash_text(fields.object()));
            excluded = fields.object().get("excludeFromContext") == Some("true");
        }
        "compactionSummary" | "branchSummary" => {
            keep_role = true;
            let summary = fields.object().text("summary").unwrap_or_default();
            let words = if name == "branchSummary" { branch_text } else { compaction_text };
            message.content = Content::Text(words(&summary));
        }
        _ => {
            message.role = Role::Other(role.clone());
            let raw = Json::parse(json).ok()?;
            return Some(MessageBody {
                message,
                foreign: Some(Foreign { format: "pi".into(), raw }),
            });
        }
    }
    message.metadata = metadata(&mut fields, keep_role.then_some(&role), excluded);
    Some(MessageBody { message, foreign: None })
}

/// A millisecond in September 2001. What a message says to be older has no clock.
const PLAUSIBLE: f64 = 1e12;

/// When a message says that it was said, which Pi lists sessions by.
pub(crate) fn said_at(entry: &Entry) -> Option<Timestamp> {
    let metadata = entry.message()?.metadata.as_ref()?.as_object()?;
    let pi = Object::parse(metadata.get("pi")?).ok()?;
    let millis: f64 = pi.get("timestamp")?.parse().ok()?;
    Timestamp::from_seconds(millis / 1000.0).filter(|_| millis > PLAUSIBLE)
}

/// The metadata of a message: its own, what Forkwood says of it, and Pi's remaining fields.
fn metadata(fields: &mut Fields<'_>, role: Option<&Text>, excluded: bool) -> Option<Json> {
    let own = fields.json_object("metadata");
    let mut out = Out::default();
    if let Some(object) = own.as_ref().and_then(Json::as_object) {
        out.rest(object.iter().filter(|(key, _)| **key != "pi").map(|(k, v)| (k, v.get())));
    }
    if excluded {
        out.raw("excludeFromContext", "true");
    }
    let rest = fields.rest();
    let mut pi = Out::default();
    if let Some(role) = role {
        pi.text("role", role);
    }
    pi.rest(kept(&rest));
    if !pi.is_empty() {
        out.raw("pi", &pi.finish());
    }
    (own.is_some() || !out.is_empty()).then(|| out.into_json())
}

/// Reads content: a string or blocks. `null` and nothing are no blocks.
pub(crate) fn content_of(json: Option<&str>) -> Content {
    let Some(json) = json else { return Content::Blocks(Vec::new()) };
    if let Some(text) = json::text_of(json) {
        return Content::Text(text);
    }
    match json::elements(json) {
        Some(items) => Content::Blocks(items.into_iter().map(|item| block(item.get())).collect()),
        None if json == "null" => Content::Blocks(Vec::new()),
        None => Content::Blocks(vec![other(json)]),
    }
}

fn other(json: &str) -> Block {
    Block::Other(Json::parse(json).unwrap_or_else(|_| Json::null()))
}

fn block(json: &str) -> Block {
    let Ok(object) = Object::parse(json) else { return other(json) };
    let kind = object.text("type");
    let mut fields = Fields::new(object, "block");
    fields.skip(&["type"]);
    let known = match kind.as_ref().and_then(Text::as_str) {
        Some("text") => fields.text("text").map(|text| Block::Text { text, extra: fields.rest() }),
        Some("thinking") => fields.text("thinking").map(|thinking| {
            let signature = fields.text("thinkingSignature");
            Block::Thinking { thinking, signature, extra: fields.rest() }
        }),
        Some("image") => match (fields.text("data"), fields.text("mimeType")) {
            (Some(data), Some(mime_type)) => Some(Block::Image(Image {
                source: ImageSource::Inline(data),
                mime_type,
                extra: fields.rest(),
            })),
            _ => None,
        },
        Some("toolCall") => match (fields.text("id"), fields.text("name")) {
            (Some(id), Some(name)) => {
                let arguments = fields.json("arguments").unwrap_or_else(Json::empty_object);
                Some(Block::ToolCall { id, name, arguments, extra: fields.rest() })
            }
            _ => None,
        },
        _ => None,
    };
    known.unwrap_or_else(|| other(json))
}

/// The role in a head. Only what Pi itself counts as said by a person or a model is that.
pub(crate) fn head_role(name: &Text) -> Role {
    match name.as_str() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        Some("toolResult") => Role::Tool,
        _ => Role::Other(name.clone()),
    }
}
