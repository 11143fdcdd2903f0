//! One request to a provider.
//!
//! The body is written so that what comes first stays the same: model, settings, tools and
//! system prompt, then the messages, oldest first, and behind them nothing but brackets. A turn
//! that is added changes no byte before it, which is what prompt caches go by.

mod anthropic;
mod chat;
mod clean;
mod conversation;
mod responses;

use forkwood_core::Text;

pub use clean::{says_nothing, sendable_image};
pub use conversation::{CallIds, wire_name};

use crate::thinking::Target;
use crate::{ToolSpec, View};

/// The protocol that a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Api {
    /// OpenAI's chat completions, which most others speak too.
    OpenAiChat,
    /// OpenAI's responses.
    OpenAiResponses,
    /// Anthropic's messages.
    Anthropic,
}

impl Api {
    /// Every protocol.
    pub const ALL: [Api; 3] = [Api::OpenAiChat, Api::OpenAiResponses, Api::Anthropic];

    /// The name, as `forkwood context --shape` takes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Api::OpenAiChat => "openai-chat",
            Api::OpenAiResponses => "openai-responses",
            Api::Anthropic => "anthropic",
        }
    }
}

/// What a request says besides the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestOptions {
    /// The most tokens of an answer. Anthropic demands a number and gets 8,192 without one;
    /// the others are then told nothing.
    pub max_tokens: Option<u32>,
    /// Whether the answer is streamed.
    pub stream: bool,
    /// Whether Anthropic is asked to cache the system prompt and tools, and the conversation
    /// up to its last message. The mark moves with the last message.
    pub cache: bool,
}

impl Default for RequestOptions {
    fn default() -> RequestOptions {
        RequestOptions { max_tokens: None, stream: true, cache: false }
    }
}

/// What a provider is asked, in Forkwood's terms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProviderInput {
    /// The system prompt.
    pub system: Text,
    /// The tools that are offered.
    pub tools: Vec<ToolSpec>,
    /// The conversation.
    pub view: View,
    /// The model that is asked.
    pub model: Option<Text>,
    /// Its provider.
    pub provider: Option<Text>,
    /// How much it is to think, such as `off`, `low`, `high`.
    pub thinking_level: Option<Text>,
}

impl ProviderInput {
    /// The body of the request, as JSON text: valid whatever the log holds. Every call is
    /// answered once and in order, ids and names have the letters that the provider allows, no
    /// message is empty, and lone surrogates stand as U+FFFD. Images that only name a blob stand
    /// as words: the session puts their bytes in.
    pub fn body(&self, api: Api, options: &RequestOptions) -> String {
        match api {
            Api::OpenAiChat => chat::body(self, options),
            Api::OpenAiResponses => responses::body(self, options),
            Api::Anthropic => anthropic::body(self, options),
        }
    }

    /// The messages alone, as a JSON array in the shape of a protocol: what
    /// `forkwood context --shape` prints. The system prompt is not in it.
    pub fn messages(&self, api: Api) -> String {
        match api {
            Api::OpenAiChat => chat::messages(self),
            Api::OpenAiResponses => responses::items(self),
            Api::Anthropic => anthropic::messages(self, false),
        }
    }

    fn target(&self, api: Api) -> Target<'_> {
        Target { api, model: self.model.as_ref(), provider: self.provider.as_ref() }
    }

    /// The thinking level; none where it is off.
    fn level(&self) -> Option<&str> {
        let level = self.thinking_level.as_ref()?.as_str()?;
        (!matches!(level, "" | "off" | "none")).then_some(level)
    }
}

#[cfg(test)]
mod tests;
