//! One request to a provider.

use forkwood_core::Text;

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
    /// The body of the request, as JSON text: valid whatever the log holds.
    pub fn body(&self, api: Api, options: &RequestOptions) -> String {
        let _ = (api, options);
        String::new()
    }
}
