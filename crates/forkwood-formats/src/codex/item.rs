//! Items of the responses protocol, as messages.

use forkwood_core::json::{self, Object};
use forkwood_core::message::ImageSource;
use forkwood_core::{Block, Content, Image, Json, Message, Role, Text};

use super::NAME;
use crate::fields::{Fields, Out, kept};

/// Items that a model is sent.
const SHOWN: &[&str] = &[
    "message",
    "agent_message",
    "reasoning",
    "local_shell_call",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "tool_search_call",
    "tool_search_output",
    "web_search_call",
    "image_generation_call",
    "compaction",
    "compaction_summary",
    "context_compaction",
];

/// Whether an item is one that a model is sent.
pub(crate) fn is_shown(tag: &Text) -> bool {
    tag.as_str().is_some_and(|tag| SHOWN.contains(&tag))
}

/// Whether an item is known at all.
pub(crate) fn is_known(tag: &Text) -> bool {
    let others = ["ghost_snapshot", "additional_tools", "compaction_trigger", "other"];
    is_shown(tag) || tag.as_str().is_some_and(|tag| others.contains(&tag))
}

/// Who speaks in an item.
pub(crate) fn role(item: &Object<'_>) -> Role {
    let tag = item.text("type").unwrap_or_default();
    match tag.as_str().unwrap_or_default() {
        "message" => match item.text("role") {
            Some(name) => Role::from_text(&name),
            None => Role::Other("unknown".into()),
        },
        "function_call_output" | "custom_tool_call_output" => Role::Tool,
        _ => Role::Assistant,
    }
}

/// Reads an item. What a native message has no field for stands under `metadata.codex`.
pub(crate) fn decode(raw: &str) -> Option<Message> {
    let object = Object::parse(raw).ok()?;
    let tag = object.text("type")?;
    let role = role(&object);
    let mut fields = Fields::new(object, "item");
    fields.skip(&["type"]);
    let mut message = match tag.as_str().unwrap_or_default() {
        "message" => {
            let content = content(fields.object().get("content"), role == Role::Assistant)?;
            fields.skip(&["role", "content"]);
            Message::new(role, content)
        }
        "reasoning" => said(reasoning(&mut fields, raw)?),
        "function_call" => said(function_call(&mut fields)?),
        "custom_tool_call" => said(custom_call(&mut fields)?),
        "local_shell_call" => said(shell_call(&mut fields)?),
        "function_call_output" | "custom_tool_call_output" => {
            let mut message = Message::new(Role::Tool, output(&mut fields)?);
            message.tool_call_id = Some(fields.text("call_id")?);
            message
        }
        _ => return Some(said(Block::Other(Json::parse(raw).ok()?))),
    };
    let rest = fields.rest();
    let mut own = Out::default();
    if tag != "message" && tag != "function_call" && tag != "function_call_output" {
        own.text("type", &tag);
    }
    // A thought keeps its whole item in its signature.
    if tag != "reasoning" {
        own.rest(kept(&rest));
    }
    if !own.is_empty() {
        let mut out = Out::default();
        out.raw(NAME, &own.finish());
        message.metadata = Some(out.into_json());
    }
    Some(message)
}

/// Reads an item whatever it is: one that cannot be read is kept as it is.
pub(crate) fn decode_any(raw: &str) -> Message {
    decode(raw)
        .unwrap_or_else(|| said(Block::Other(Json::parse(raw).unwrap_or_else(|_| Json::null()))))
}

fn said(block: Block) -> Message {
    Message::new(Role::Assistant, Content::Blocks(vec![block]))
}

/// Content: blocks, or a text in files of the first versions.
fn content(raw: Option<&str>, by_model: bool) -> Option<Content> {
    let raw = raw?;
    if let Some(text) = json::text_of(raw) {
        return Some(Content::Text(text));
    }
    let items = json::elements(raw)?;
    Some(Content::Blocks(items.into_iter().map(|item| block(item.get(), by_model)).collect()))
}

fn block(raw: &str, by_model: bool) -> Block {
    let other = || Block::Other(Json::parse(raw).unwrap_or_else(|_| Json::null()));
    let Ok(object) = Object::parse(raw) else { return other() };
    let tag = object.text("type").unwrap_or_default();
    let mut fields = Fields::new(object, "block");
    fields.skip(&["type"]);
    let known = match (tag.as_str().unwrap_or_default(), by_model) {
        ("input_text", false) | ("output_text", true) => {
            fields.text("text").map(|text| Block::Text { text, extra: fields.rest() })
        }
        ("input_image", false) => image(&mut fields),
        _ => None,
    };
    known.unwrap_or_else(other)
}

/// An image whose bytes are in the line.
fn image(fields: &mut Fields<'_>) -> Option<Block> {
    let url = fields.object().text("image_url")?;
    let (mime, data) = url.as_str()?.strip_prefix("data:")?.split_once(";base64,")?;
    let (mime_type, data) = (Text::from(mime), Text::from(data));
    fields.skip(&["image_url"]);
    let extra = fields.rest();
    Some(Block::Image(Image { source: ImageSource::Inline(data), mime_type, extra }))
}

/// A thought: its summary for people, and the whole item, which the provider wants back.
fn reasoning(fields: &mut Fields<'_>, raw: &str) -> Option<Block> {
    let parts = |key: &str| -> Vec<Text> {
        let items = fields.object().get(key).and_then(json::elements).unwrap_or_default();
        items.into_iter().filter_map(|item| Object::parse(item.get()).ok()?.text("text")).collect()
    };
    let mut said = parts("summary");
    if said.is_empty() {
        said = parts("content");
    }
    let between = Text::from("\n\n");
    let mut joined: Vec<&Text> = Vec::new();
    for part in &said {
        if !joined.is_empty() {
            joined.push(&between);
        }
        joined.push(part);
    }
    let item = Json::parse(raw).ok()?;
    Some(Block::Thinking {
        thinking: Text::concat(joined),
        signature: Some(Text::from(item.get())),
        extra: Vec::new(),
    })
}

fn function_call(fields: &mut Fields<'_>) -> Option<Block> {
    let (id, name) = (fields.text("call_id")?, fields.text("name")?);
    let given = fields.text("arguments")?;
    let mut extra = Vec::new();
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

fn custom_call(fields: &mut Fields<'_>) -> Option<Block> {
    let (id, name) = (fields.text("call_id")?, fields.text("name")?);
    let mut arguments = Out::default();
    arguments.text("input", &fields.text("input")?);
    Some(Block::ToolCall { id, name, arguments: arguments.into_json(), extra: Vec::new() })
}

fn shell_call(fields: &mut Fields<'_>) -> Option<Block> {
    let id = fields.text("call_id").or_else(|| fields.text("id"))?;
    let arguments = fields.json_object("action")?;
    Some(Block::ToolCall { id, name: "local_shell".into(), arguments, extra: Vec::new() })
}

/// What a tool answered: a text, blocks, or an object with a text in files of some versions.
fn output(fields: &mut Fields<'_>) -> Option<Content> {
    let raw = fields.object().get("output")?;
    let found = content(Some(raw), false);
    if found.is_some() {
        fields.skip(&["output"]);
        return found;
    }
    // The object stays among the other fields, since it says more.
    let object = Object::parse(raw).ok()?;
    content(object.get("content"), false)
}
