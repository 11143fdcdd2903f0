//! From an inbound message to what the agent is told.

use forkwood::core::message::{Image, ImageSource};
use forkwood::{Block, Content, Json, Message, Role};
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::inbound::Inbound;

/// The user message: the text, pictures of `data:` URLs, and a line for each other attachment.
/// Where it comes from stands in its metadata, which no provider is sent.
pub(super) fn message(inbound: &Inbound) -> Result<Message> {
    let mut blocks = Vec::new();
    let mut text = inbound.content.clone();
    for media in &inbound.media {
        match picture(media) {
            Some(image) => blocks.push(Block::Image(image)),
            None => {
                if !text.is_empty() {
                    text.push('\n');
                }
                // A `data:` URL of another kind would be no use as text, and long.
                let name = if media.starts_with("data:") { kind_of(media) } else { media };
                text.push_str(&format!("[attachment: {name}]"));
            }
        }
    }
    if text.trim().is_empty() && blocks.is_empty() {
        return Err(Error::Inbound { message: "`content` and `media` are empty".to_owned() });
    }
    let content = if blocks.is_empty() {
        Content::Text(text.into())
    } else {
        if !text.is_empty() {
            blocks.insert(0, Block::text(text));
        }
        Content::Blocks(blocks)
    };
    let mut message = Message::new(Role::User, content);
    message.metadata = Some(origin(inbound)?);
    Ok(message)
}

/// The picture of a `data:` URL in base64.
fn picture(url: &str) -> Option<Image> {
    let (kind, bytes) = url.strip_prefix("data:")?.split_once(";base64,")?;
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let whole = !bytes.is_empty() && bytes.len() % 4 == 0 && bytes.bytes().all(is_base64);
    (kind.starts_with("image/") && whole).then(|| Image {
        source: ImageSource::Inline(bytes.into()),
        mime_type: kind.into(),
        extra: Vec::new(),
    })
}

fn kind_of(url: &str) -> &str {
    let end = url.find([',', ';']).unwrap_or(url.len());
    &url[..end.min(100)]
}

/// Where a message came from, without what is empty.
fn origin(inbound: &Inbound) -> Result<Json> {
    let context = inbound.context.normalised();
    let sender = &inbound.sender;
    let fields = [
        ("channel", &context.channel),
        ("account", &context.account),
        ("chatType", &context.chat_type),
        ("chatId", &context.chat_id),
        ("topicId", &context.topic_id),
        ("spaceType", &context.space_type),
        ("spaceId", &context.space_id),
        ("senderId", &context.sender_id),
        (
            "senderName",
            if sender.display_name.is_empty() { &sender.username } else { &sender.display_name },
        ),
        ("messageId", &context.message_id),
        ("replyToMessageId", &context.reply_to_message_id),
    ];
    let given = fields.into_iter().filter(|(_, value)| !value.is_empty());
    let given: Map<String, Value> =
        given.map(|(name, value)| (name.to_owned(), value.clone().into())).collect();
    Json::from_value(&serde_json::json!({ "inbound": given }))
        .map_err(|error| Error::Inbound { message: error.to_string() })
}
