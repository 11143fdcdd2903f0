//! A message as it comes in.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::text::lower;

/// A message for an agent, and where it comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Inbound {
    /// Where it comes from.
    pub context: Context,
    /// A session that the caller names. A key (`sk_v1_...`, `agent:...`) is kept; anything else
    /// becomes one more alias.
    #[serde(alias = "sessionKey", skip_serializing_if = "String::is_empty")]
    pub session_key: String,
    /// What was said.
    pub content: String,
}

/// Where a message comes from. Every field may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Context {
    /// `telegram`, `slack`, ...
    pub channel: String,
    /// The bot's own account on the channel.
    pub account: String,
    /// `direct`, `group`, `channel`, ...
    #[serde(alias = "chatType")]
    pub chat_type: String,
    /// The chat.
    #[serde(alias = "chatId")]
    pub chat_id: String,
    /// The thread or forum topic.
    #[serde(alias = "topicId")]
    pub topic_id: String,
    /// `workspace`, `guild`, ...
    #[serde(alias = "spaceType")]
    pub space_type: String,
    /// The space.
    #[serde(alias = "spaceId")]
    pub space_id: String,
    /// Who sent it.
    #[serde(alias = "senderId")]
    pub sender_id: String,
    /// The message's own id on its channel.
    #[serde(alias = "messageId")]
    pub message_id: String,
    /// Whether it mentions the bot.
    pub mentioned: bool,
}

impl Inbound {
    /// Reads one from JSON. A field that is not known is refused, and named.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|cause| Error::Inbound { message: cause.to_string() })
    }
}

impl Context {
    /// Trimmed; the two types also in lowercase (PicoClaw `bus/inbound_context.go`).
    pub fn normalised(&self) -> Self {
        let trimmed = |text: &String| text.trim().to_owned();
        Self {
            channel: trimmed(&self.channel),
            account: trimmed(&self.account),
            chat_type: lower(self.chat_type.trim()),
            chat_id: trimmed(&self.chat_id),
            topic_id: trimmed(&self.topic_id),
            space_type: lower(self.space_type.trim()),
            space_id: trimmed(&self.space_id),
            sender_id: trimmed(&self.sender_id),
            message_id: trimmed(&self.message_id),
            mentioned: self.mentioned,
        }
    }
}
