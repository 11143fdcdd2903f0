//! Who writes summaries: passed in, since it talks to a model.

use async_trait::async_trait;
use forkwood_core::{Json, Text};
use thiserror::Error;

/// What a summary is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// The conversation so far.
    Compaction,
    /// The start of a turn whose end is kept.
    TurnPrefix,
    /// A branch that is left.
    Branch,
}

/// One request for a summary. To be sent with no tools and no history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryRequest {
    /// What it is for.
    pub purpose: Purpose,
    /// The system prompt.
    pub system: Text,
    /// The one user message.
    pub prompt: Text,
    /// The most tokens of the answer.
    pub max_tokens: u32,
}

/// The answer of a summariser.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SummaryReply {
    /// What the model said, `<summary>` tags and all.
    pub text: Text,
    /// Tokens and cost, as the provider reported them.
    pub usage: Option<Json>,
    /// The model that wrote it.
    pub model: Option<Text>,
    /// Its provider.
    pub provider: Option<Text>,
}

/// Why a summariser gave none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct SummaryError {
    /// What happened.
    pub message: String,
}

impl SummaryError {
    /// An error with a text.
    pub fn new(message: impl Into<String>) -> SummaryError {
        SummaryError { message: message.into() }
    }
}

/// Writes summaries, with a model or without.
#[async_trait]
pub trait Summariser: Send + Sync {
    /// Answers one request.
    ///
    /// # Errors
    /// Where the model cannot be asked or does not answer.
    async fn summarise(&self, request: SummaryRequest) -> Result<SummaryReply, SummaryError>;
}
