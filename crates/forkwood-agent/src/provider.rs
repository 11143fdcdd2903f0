//! Models: what is sent to them, and what comes back.

mod error;
#[cfg(feature = "llm")]
pub(crate) mod llm;
mod price;
mod reply;
mod retry;
pub(crate) mod scripted;
mod usage;

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use forkwood::Json;
use forkwood_context::ProviderInput;
use futures_util::Stream;

pub use error::{ProviderError, ProviderErrorKind};
pub use price::{Cost, Price, Prices};
pub use reply::Reply;
pub use retry::Retries;
pub use usage::Usage;

use crate::AgentError;

/// One request to a model. Its messages are paired: every tool call is answered once, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Model, instructions, conversation and tools.
    pub input: ProviderInput,
    /// At most so many tokens of answer.
    pub max_tokens: Option<u32>,
}

impl Request {
    /// The model, as its provider names it.
    pub fn model(&self) -> String {
        self.input.model.as_ref().map(ToString::to_string).unwrap_or_default()
    }
}

/// A call of a tool by a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Unique in the conversation; the result names it.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments, an object.
    pub arguments: Json,
    /// What the provider wants back with the call.
    pub signatures: Vec<String>,
}

impl ToolCall {
    /// A call with nothing but what it takes.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Json) -> ToolCall {
        ToolCall { id: id.into(), name: name.into(), arguments, signatures: Vec::new() }
    }
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It had said all.
    Stop,
    /// It wants tools to run.
    ToolUse,
    /// The limit of its answer was reached: the last call may be cut off.
    Length,
    /// The provider would not let it say more.
    Refused,
}

impl StopReason {
    /// The name in the session.
    pub fn as_str(self) -> &'static str {
        match self {
            StopReason::Stop => "stop",
            StopReason::ToolUse => "toolUse",
            StopReason::Length => "length",
            StopReason::Refused => "refused",
        }
    }
}

/// One event of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// More text.
    Text(String),
    /// More of what the model thinks.
    Thinking(String),
    /// A block of thinking ends, with the provider's signature over it. A block without text
    /// before it is a redacted one.
    ThinkingEnd(Option<String>),
    /// A whole tool call.
    ToolCall(ToolCall),
    /// What it cost.
    Usage(Usage),
    /// The end; nothing follows. An answer without it was cut off by the transport.
    Stop(StopReason),
}

/// An answer as it comes in.
pub type EventStream = Pin<Box<dyn Stream<Item = Result<Event, ProviderError>> + Send>>;

/// A service that runs models.
#[async_trait]
pub trait Provider: Send + Sync + fmt::Debug {
    /// The name by which a session knows it.
    fn name(&self) -> &str;

    /// Sends a request, once: who calls does the retries.
    ///
    /// # Errors
    /// A [`ProviderError`], here or as the last item of the stream.
    async fn stream(&self, request: Request) -> Result<EventStream, ProviderError>;
}

/// The providers that an agent may use, by name. The first one added is the default.
#[derive(Clone, Debug, Default)]
pub struct Providers {
    by_name: BTreeMap<String, Arc<dyn Provider>>,
    first: Option<String>,
}

impl Providers {
    /// Adds one; one of the same name is replaced.
    pub fn add(&mut self, provider: Arc<dyn Provider>) {
        let name = provider.name().to_owned();
        self.first.get_or_insert_with(|| name.clone());
        self.by_name.insert(name, provider);
    }

    /// The one of that name, or the default one.
    ///
    /// # Errors
    /// `unknown_provider`.
    pub fn get(&self, name: Option<&str>) -> Result<&Arc<dyn Provider>, AgentError> {
        let name = name.or(self.first.as_deref()).unwrap_or_default();
        self.by_name.get(name).ok_or_else(|| AgentError::UnknownProvider {
            name: name.to_owned(),
            known: self.names(),
        })
    }

    /// Their names, sorted.
    pub fn names(&self) -> Vec<String> {
        self.by_name.keys().cloned().collect()
    }

    /// The name of the default one.
    pub fn default_name(&self) -> Option<&str> {
        self.first.as_deref()
    }
}
