//! How many tokens a request takes.
//!
//! Three ways: a heuristic on characters that learns from what providers report; exact counts
//! where a model's encoding is public; and Pi's own estimate, for its files.

mod chars;
#[cfg(feature = "exact")]
mod exact;
pub mod pi;
mod usage;

pub use chars::{IMAGE_CHARS, conversation_chars, message_chars, text_chars, tool_chars};
pub use usage::{add_usage, output_tokens, prompt_tokens};

use forkwood_core::{Message, Text};

use crate::ToolSpec;

/// Tokens for a message beside its content, in the exact count: OpenAI's own rule.
#[cfg(feature = "exact")]
const PER_MESSAGE: u64 = 4;

/// Tokens for an image in the exact count. What an image takes depends on its size, which is
/// not looked at; this is the reference's 4,000 characters, and near to what the providers
/// take for an image of a million pixels.
#[cfg(feature = "exact")]
const IMAGE_TOKENS: u64 = 1_000;

/// The tokens of `chars` characters: a quarter, or by a learned ratio; never none. The rule of
/// my-pi-agent: halves are rounded to even.
pub fn tokens_of_chars(chars: u64, ratio: Option<f64>) -> u64 {
    let tokens = match ratio {
        None => chars / 4,
        Some(ratio) => (chars as f64 * ratio).round_ties_even() as u64,
    };
    tokens.max(1)
}

/// The least and the greatest ratio of tokens to characters that is believed.
pub const RATIO_RANGE: (f64, f64) = (0.1, 2.5);

/// Counts tokens. Learns from the provider's reports.
#[derive(Debug, Default)]
pub struct Estimator {
    ratio: Option<f64>,
    #[cfg(feature = "exact")]
    exact: exact::Counter,
}

/// What is sent in front of the conversation.
#[derive(Clone, Copy, Debug)]
pub struct Front<'a> {
    /// The system prompt; none where empty.
    pub system: &'a Text,
    /// The tools.
    pub tools: &'a [ToolSpec],
}

impl Estimator {
    /// An estimator that has learned nothing yet.
    pub fn new() -> Estimator {
        Estimator::default()
    }

    /// The ratio of tokens to characters that was learned.
    pub fn ratio(&self) -> Option<f64> {
        self.ratio
    }

    /// Sets the ratio, as kept from an earlier run; it is held within [`RATIO_RANGE`].
    pub fn set_ratio(&mut self, ratio: Option<f64>) {
        let (least, most) = RATIO_RANGE;
        self.ratio = ratio.filter(|ratio| ratio.is_finite()).map(|ratio| ratio.clamp(least, most));
    }

    /// Learns: a request of `chars` characters, by [`Estimator::chars`], had a prompt of
    /// `tokens`, cached ones included.
    pub fn record_usage(&mut self, chars: u64, tokens: u64) {
        if chars > 0 && tokens > 0 {
            self.set_ratio(Some(tokens as f64 / chars as f64));
        }
    }

    /// The characters of a request, by the rule of the heuristic.
    pub fn chars(front: Option<Front<'_>>, messages: &[Message]) -> u64 {
        chars::request_chars(front, messages)
    }

    /// The tokens of messages, by the heuristic.
    pub fn estimate(&self, messages: &[Message]) -> u64 {
        tokens_of_chars(conversation_chars(messages), self.ratio)
    }

    /// The tokens of a text, by the heuristic.
    pub fn estimate_text(&self, text: &Text) -> u64 {
        tokens_of_chars(text_chars(text), self.ratio)
    }

    /// A meter for one request: exact where `exact` is wanted and the model's encoding is
    /// known, else by the heuristic.
    pub fn meter(&self, model: Option<&Text>, exact: bool) -> Meter<'_> {
        Meter {
            estimator: self,
            #[cfg(feature = "exact")]
            encoding: model
                .filter(|_| exact)
                .and_then(Text::as_str)
                .and_then(exact::Encoding::of_model),
            #[cfg(not(feature = "exact"))]
            encoding: {
                let _ = (model, exact);
            },
        }
    }
}

/// Counts the tokens of one request, always by the same rule.
#[derive(Clone, Copy, Debug)]
pub struct Meter<'a> {
    estimator: &'a Estimator,
    #[cfg(feature = "exact")]
    encoding: Option<exact::Encoding>,
    #[cfg(not(feature = "exact"))]
    encoding: (),
}

impl Meter<'_> {
    /// Whether the counts are exact.
    pub fn is_exact(&self) -> bool {
        #[cfg(feature = "exact")]
        return self.encoding.is_some();
        #[cfg(not(feature = "exact"))]
        {
            let () = self.encoding;
            false
        }
    }

    /// The tokens of a whole request.
    pub fn request(&self, front: Front<'_>, messages: &[Message]) -> u64 {
        if self.is_exact() {
            return self.front(front).saturating_add(self.messages(messages));
        }
        tokens_of_chars(chars::request_chars(Some(front), messages), self.estimator.ratio)
    }

    /// The tokens of system prompt and tools.
    pub fn front(&self, front: Front<'_>) -> u64 {
        #[cfg(feature = "exact")]
        if let Some(encoding) = self.encoding {
            return self.estimator.exact.front(encoding, front);
        }
        match chars::request_chars(Some(front), &[]) {
            0..=2 => 0,
            chars => tokens_of_chars(chars, self.estimator.ratio),
        }
    }

    /// The tokens of messages.
    pub fn messages(&self, messages: &[Message]) -> u64 {
        #[cfg(feature = "exact")]
        if let Some(encoding) = self.encoding {
            return messages.iter().map(|m| self.estimator.exact.message(encoding, m)).sum();
        }
        self.estimator.estimate(messages)
    }

    /// The tokens of one message among others.
    pub fn message(&self, message: &Message) -> u64 {
        #[cfg(feature = "exact")]
        if let Some(encoding) = self.encoding {
            return self.estimator.exact.message(encoding, message);
        }
        tokens_of_chars(message_chars(message) + 2, self.estimator.ratio)
    }

    /// The tokens of a text.
    pub fn text(&self, text: &Text) -> u64 {
        #[cfg(feature = "exact")]
        if let Some(encoding) = self.encoding {
            return self.estimator.exact.text(encoding, text);
        }
        self.estimator.estimate_text(text)
    }
}

#[cfg(test)]
mod tests;
