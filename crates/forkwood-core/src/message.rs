//! Messages: what was said, by whom.

use crate::{Json, Text};

mod codec;

pub use codec::{decode, encode};
pub(crate) use codec::{
    decode_content as codec_decode_content, encode_content_onto as codec_content_onto, encode_onto,
};

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Content,
    /// The call that a `tool` message answers.
    pub tool_call_id: Option<Text>,
    /// The tool that a `tool` message comes from.
    pub tool_name: Option<Text>,
    /// Whether the tool failed.
    pub is_error: Option<bool>,
    /// The model that spoke.
    pub model: Option<Text>,
    /// The provider of that model.
    pub provider: Option<Text>,
    /// Tokens and cost, as the provider reported them.
    pub usage: Option<Json>,
    /// Why the model stopped.
    pub stop_reason: Option<Text>,
    /// Whatever else belongs to the message.
    pub metadata: Option<Json>,
    /// Fields that this version does not know, kept for writing back.
    pub extra: Vec<(Text, Json)>,
}

/// Who speaks in a [`Message`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Instructions.
    System,
    /// Instructions of a lower rank than `system`.
    Developer,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
    /// A role that this version does not know; only ever read.
    Other(Text),
}

impl Role {
    /// The name in files.
    pub fn as_text(&self) -> Text {
        match self {
            Role::System => "system".into(),
            Role::Developer => "developer".into(),
            Role::User => "user".into(),
            Role::Assistant => "assistant".into(),
            Role::Tool => "tool".into(),
            Role::Other(name) => name.clone(),
        }
    }

    /// Reads a name.
    pub fn from_text(name: &Text) -> Role {
        match name.as_str() {
            Some("system") => Role::System,
            Some("developer") => Role::Developer,
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("tool") => Role::Tool,
            _ => Role::Other(name.clone()),
        }
    }
}

/// What a [`Message`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Plain text.
    Text(Text),
    /// Blocks, in order.
    Blocks(Vec<Block>),
}

impl Content {
    /// All text of the content, blocks joined by line ends. Thinking is left out.
    pub fn text(&self) -> Text {
        match self {
            Content::Text(text) => text.clone(),
            Content::Blocks(blocks) => {
                let newline = Text::from("\n");
                let mut parts = Vec::new();
                for block in blocks {
                    if let Block::Text { text, .. } = block {
                        if !parts.is_empty() {
                            parts.push(&newline);
                        }
                        parts.push(text);
                    }
                }
                Text::concat(parts)
            }
        }
    }

    /// The blocks; plain text counts as one block.
    pub fn to_blocks(&self) -> Vec<Block> {
        match self {
            Content::Text(text) => vec![Block::text(text.clone())],
            Content::Blocks(blocks) => blocks.clone(),
        }
    }

    /// The tool calls in the content, as (id, name, arguments).
    pub fn tool_calls(&self) -> impl Iterator<Item = (&Text, &Text, &Json)> {
        let blocks: &[Block] = match self {
            Content::Text(_) => &[],
            Content::Blocks(blocks) => blocks,
        };
        blocks.iter().filter_map(|block| match block {
            Block::ToolCall { id, name, arguments, .. } => Some((id, name, arguments)),
            _ => None,
        })
    }
}

/// One block of content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// Text.
    Text {
        /// The text.
        text: Text,
        /// Unknown fields, kept.
        extra: Vec<(Text, Json)>,
    },
    /// What the model thought.
    Thinking {
        /// The text of it; may be empty where it is redacted.
        thinking: Text,
        /// The provider's signature over it.
        signature: Option<Text>,
        /// Unknown fields, kept.
        extra: Vec<(Text, Json)>,
    },
    /// An image.
    Image(Image),
    /// A call of a tool.
    ToolCall {
        /// Unique in the conversation; the result names it.
        id: Text,
        /// The tool.
        name: Text,
        /// Its arguments, an object.
        arguments: Json,
        /// Unknown fields, kept.
        extra: Vec<(Text, Json)>,
    },
    /// A block of a type that this version does not know; only ever read.
    Other(Json),
}

impl Block {
    /// A text block.
    pub fn text(text: impl Into<Text>) -> Block {
        Block::Text { text: text.into(), extra: Vec::new() }
    }

    /// A tool call block.
    pub fn tool_call(id: impl Into<Text>, name: impl Into<Text>, arguments: Json) -> Block {
        Block::ToolCall { id: id.into(), name: name.into(), arguments, extra: Vec::new() }
    }
}

/// An image: inline as base64, or a name for bytes stored once for the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Where the bytes are.
    pub source: ImageSource,
    /// Such as `image/png`.
    pub mime_type: Text,
    /// Unknown fields, kept.
    pub extra: Vec<(Text, Json)>,
}

/// Where the bytes of an [`Image`] are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageSource {
    /// In the entry, base64.
    Inline(Text),
    /// In the blob folder of the store.
    Blob {
        /// `sha256-` and 64 hex digits.
        name: Text,
        /// How many bytes.
        bytes: u64,
    },
}

impl Message {
    /// A message with nothing but a role and content.
    pub fn new(role: Role, content: Content) -> Message {
        Message {
            role,
            content,
            tool_call_id: None,
            tool_name: None,
            is_error: None,
            model: None,
            provider: None,
            usage: None,
            stop_reason: None,
            metadata: None,
            extra: Vec::new(),
        }
    }

    /// What the person says.
    pub fn user(text: impl Into<Text>) -> Message {
        Message::new(Role::User, Content::Text(text.into()))
    }

    /// What the model says.
    pub fn assistant(text: impl Into<Text>) -> Message {
        Message::new(Role::Assistant, Content::Text(text.into()))
    }

    /// What a tool answers.
    pub fn tool(call_id: impl Into<Text>, text: impl Into<Text>) -> Message {
        let mut message = Message::new(Role::Tool, Content::Text(text.into()));
        message.tool_call_id = Some(call_id.into());
        message
    }

    /// The same message, said by a model.
    #[must_use]
    pub fn by_model(mut self, model: impl Into<Text>, provider: Option<Text>) -> Message {
        self.model = Some(model.into());
        self.provider = provider;
        self
    }
}
