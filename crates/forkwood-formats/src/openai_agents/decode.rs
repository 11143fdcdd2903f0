//! Items as messages.

use forkwood::core::json::{JsonKind, Object, elements, kind_of, text_of};
use forkwood::core::message::ImageSource;
use forkwood::{Block, Content, Image, Json, Message, MessageBody, Role, Text};

use super::NAME;
use crate::fields::Fields;

/// Reads an item. One that the message alone does not hold wholly is kept beside it.
pub fn decode(item: &Json) -> MessageBody {
    let message = message(item)
        .unwrap_or_else(|| Message::new(Role::Assistant, blocks([Block::Other(item.clone())])));
    let again = super::encode(&message);
    let exact = matches!(again.as_slice(), [only] if only == item);
    let foreign =
        (!exact).then(|| forkwood::core::entry::Foreign { format: NAME.into(), raw: item.clone() });
    MessageBody { message, foreign }
}

fn blocks<const N: usize>(blocks: [Block; N]) -> Content {
    Content::Blocks(blocks.into())
}

fn message(item: &Json) -> Option<Message> {
    let object = item.as_object()?;
    let tag = object.text("type");
    let tag = tag.as_ref().and_then(Text::as_str);
    match tag {
        None | Some("message") => {
            let role = Role::from_text(&object.text("role")?);
            Some(Message::new(role, content(object.get("content")?)?))
        }
        Some("reasoning") => {
            let said = ["summary", "content"].into_iter().find_map(|key| {
                let parts = texts(object.get(key)?);
                (!parts.is_empty()).then(|| parts.join("\n\n"))
            });
            let thinking = Text::from(said.unwrap_or_default());
            let block = Block::Thinking { thinking, signature: None, extra: Vec::new() };
            Some(Message::new(Role::Assistant, blocks([block])))
        }
        Some("function_call") => {
            let arguments = object.text("arguments")?;
            let arguments = Json::parse(&arguments.to_string_lossy())
                .ok()
                .filter(|json| json.kind() == JsonKind::Object)?;
            let call = Block::tool_call(object.text("call_id")?, object.text("name")?, arguments);
            Some(Message::new(Role::Assistant, blocks([call])))
        }
        Some(tag) if tag.ends_with("_call_output") => {
            let output = object.get("output")?;
            let output = match kind_of(output) {
                JsonKind::Object => Content::Text(output.into()),
                _ => content(output)?,
            };
            let mut message = Message::new(Role::Tool, output);
            message.tool_call_id = Some(object.text("call_id")?);
            Some(message)
        }
        // Calls of other kinds have their arguments in fields of their own.
        Some(tag) if tag.ends_with("_call") && object.text("call_id").is_some() => {
            let mut fields = Fields::new(item.as_object()?, "item");
            let id = fields.text("call_id")?;
            let arguments = fields.json_object("action").unwrap_or_else(|| item.clone());
            Some(Message::new(Role::Assistant, blocks([Block::tool_call(id, tag, arguments)])))
        }
        _ => None,
    }
}

/// The texts of parts.
fn texts(raw: &str) -> Vec<String> {
    let parts = elements(raw).unwrap_or_default();
    let text = |raw: &str| Some(Object::parse(raw).ok()?.text("text")?.to_string_lossy().into());
    parts.into_iter().filter_map(|part| text(part.get())).collect()
}

/// Content: a text or parts.
fn content(raw: &str) -> Option<Content> {
    if let Some(text) = text_of(raw) {
        return Some(Content::Text(text));
    }
    Some(Content::Blocks(elements(raw)?.into_iter().map(|part| part_of(part.get())).collect()))
}

fn part_of(raw: &str) -> Block {
    let known = || {
        let object = Object::parse(raw).ok()?;
        match object.text("type")?.as_str()? {
            "input_text" | "output_text" | "text" => Some(Block::text(object.text("text")?)),
            "refusal" => Some(Block::text(object.text("refusal")?)),
            "input_image" => {
                let url = object.text("image_url")?;
                let (mime, data) = url.as_str()?.strip_prefix("data:")?.split_once(";base64,")?;
                Some(Block::Image(Image {
                    source: ImageSource::Inline(data.into()),
                    mime_type: mime.into(),
                    extra: Vec::new(),
                }))
            }
            _ => None,
        }
    };
    known().unwrap_or_else(|| Block::Other(Json::parse(raw).unwrap_or_else(|_| Json::null())))
}
