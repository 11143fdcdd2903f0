//! A message as it comes in.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::text::lower;

/// The channel of messages that come from the bot itself: background work that is done, say.
/// They run on the main session of the default agent (PicoClaw `agent_message.go`).
const SYSTEM: &str = "system";

/// A message for an agent, and where it comes from.
///
/// Fields are named as PicoClaw names them in JSON, or in camelCase.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Inbound {
    /// Where it comes from.
    pub context: Context,
    /// What the channel tells of its sender. Routing looks at `context.sender_id` alone.
    #[serde(skip_serializing_if = "Sender::is_empty")]
    pub sender: Sender,
    /// A session that the caller names. A key (`sk_v1_...`, `agent:...`) is kept; anything else
    /// becomes one more alias.
    #[serde(alias = "sessionKey", skip_serializing_if = "String::is_empty")]
    pub session_key: String,
    /// What was said.
    pub content: String,
    /// References to what came with it: `media://...`, a path, a URL, a `data:` URL.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<String>,
    /// How long the media are kept, in the channel's own words. Carried, never looked at.
    #[serde(alias = "mediaScope", skip_serializing_if = "String::is_empty")]
    pub media_scope: String,
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
    /// The message that it answers.
    #[serde(alias = "replyToMessageId", skip_serializing_if = "String::is_empty")]
    pub reply_to_message_id: String,
    /// Who sent that one.
    #[serde(alias = "replyToSenderId", skip_serializing_if = "String::is_empty")]
    pub reply_to_sender_id: String,
    /// What the channel needs to answer. Carried, never looked at.
    #[serde(alias = "replyHandles", skip_serializing_if = "BTreeMap::is_empty")]
    pub reply_handles: BTreeMap<String, String>,
    /// The channel's own fields. Carried, never looked at.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub raw: BTreeMap<String, String>,
}

/// What a channel tells of a sender. Every field may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sender {
    /// `telegram`, `slack`, ...
    pub platform: String,
    /// The id there.
    #[serde(alias = "platformId")]
    pub platform_id: String,
    /// `platform:id`.
    #[serde(alias = "canonicalId")]
    pub canonical_id: String,
    /// The name to mention.
    pub username: String,
    /// The name to show.
    #[serde(alias = "displayName")]
    pub display_name: String,
}

impl Sender {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The fields of [`Inbound`], in both spellings.
const OF_MESSAGE: &[&str] =
    &["sender", "session_key", "sessionKey", "content", "media", "media_scope", "mediaScope"];

impl Inbound {
    /// Reads one from JSON. The fields of `context` may also stand in the message itself, where
    /// it has no `context`. `null` stands for an empty field, U+FFFD for half a surrogate pair, as
    /// in Go.
    ///
    /// # Errors
    /// [`Error::Inbound`] names a field that is not known, or whose value is of another type.
    pub fn from_json(text: &str) -> Result<Self> {
        let refused = |cause: serde_json::Error| Error::Inbound { message: cause.to_string() };
        let mut given: Map<String, Value> =
            serde_json::from_str(&without_halves(text)).map_err(refused)?;
        if !given.contains_key("context") {
            let (message, context) = given
                .into_iter()
                .partition::<Map<String, Value>, _>(|(name, _)| OF_MESSAGE.contains(&&**name));
            given = message;
            given.insert("context".to_owned(), Value::Object(context));
        }
        given.retain(|_, value| !value.is_null());
        if let Some(Value::Object(context)) = given.get_mut("context") {
            context.retain(|_, value| !value.is_null());
        }
        let value = Value::Object(given);
        serde_json::from_value(value.clone()).map_err(|cause| match wrong_field(&value) {
            Some(field) => Error::Inbound { message: format!("`{field}`: {cause}") },
            None => refused(cause),
        })
    }

    /// Whether it comes from the bot itself, so that it runs on the agent's main session.
    pub fn is_system(&self) -> bool {
        lower(self.context.channel.trim()) == SYSTEM
    }
}

/// The field whose value is of another type than it should be.
fn wrong_field(message: &Value) -> Option<String> {
    let fails = |value: Value| serde_json::from_value::<Inbound>(value).is_err();
    for (name, value) in message.as_object()? {
        let Value::Object(context) = value else {
            if fails(serde_json::json!({ name: value })) {
                return Some(name.clone());
            }
            continue;
        };
        for (inner, value) in context {
            if fails(serde_json::json!({ name: { inner: value } })) {
                return Some(format!("{name}.{inner}"));
            }
        }
    }
    None
}

/// JSON in which half a surrogate pair, which programs that cut text leave, is U+FFFD.
fn without_halves(json: &str) -> Cow<'_, str> {
    let unit = |at: usize| {
        let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
        digits.bytes().all(|b| b.is_ascii_hexdigit()).then_some(())?;
        u32::from_str_radix(digits, 16).ok()
    };
    let mut out = String::new();
    let (mut from, mut at) = (0, 0);
    while let Some(found) = json[at..].find('\\') {
        at += found;
        let second = |at| unit(at).is_some_and(|low| (0xDC00..0xE000).contains(&low));
        match unit(at) {
            Some(high) if (0xD800..0xDC00).contains(&high) && second(at + 6) => at += 12,
            Some(half) if (0xD800..0xE000).contains(&half) => {
                out.push_str(&json[from..at]);
                out.push_str("\\ufffd");
                at += 6;
                from = at;
            }
            // Whatever is escaped is one character, of any length.
            _ => at += 1 + json[at + 1..].chars().next().map_or(0, char::len_utf8),
        }
    }
    match from {
        0 => Cow::Borrowed(json),
        from => {
            out.push_str(&json[from..]);
            Cow::Owned(out)
        }
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
            reply_to_message_id: trimmed(&self.reply_to_message_id),
            reply_to_sender_id: trimmed(&self.reply_to_sender_id),
            reply_handles: self.reply_handles.clone(),
            raw: self.raw.clone(),
        }
    }
}
