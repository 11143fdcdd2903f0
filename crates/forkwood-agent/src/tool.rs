//! Tools: what a model may do.

pub mod builtin;
mod hook;
mod registry;
mod typed;
mod workspace;

use std::fmt;

use async_trait::async_trait;
use forkwood::{Content, Json, Text};
use tokio_util::sync::CancellationToken;

pub use hook::{After, Before, Hook};
pub use registry::Tools;
pub use typed::{FnTool, arguments, schema_of};
pub use workspace::{Access, Workspace};

use forkwood_context::ToolSpec;

use crate::ToolCall;

/// Whether a call that was open when the process died may run again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replay {
    /// It may not: the call is answered with an error that says so.
    #[default]
    Never,
    /// It may: to run it twice is the same as to run it once.
    Safe,
}

impl Replay {
    /// The name in an operation entry.
    pub fn as_str(self) -> &'static str {
        match self {
            Replay::Never => "never",
            Replay::Safe => "safe",
        }
    }
}

/// A tool.
#[async_trait]
pub trait Tool: Send + Sync + fmt::Debug {
    /// Name, description and schema of the arguments.
    fn spec(&self) -> &ToolSpec;

    /// Whether an interrupted call may run again.
    fn replay(&self) -> Replay {
        Replay::Never
    }

    /// Whether a call may run at the same time as its neighbours that may, too.
    fn parallel(&self) -> bool {
        false
    }

    /// Whether a cancelled call ends by itself soon, and has something to put in order before.
    /// Any other is dropped where it stands.
    fn ends_itself(&self) -> bool {
        false
    }

    /// What a call must know again should it run a second time, such as an id that it will use.
    /// Written down before the call starts.
    fn prepare(&self, call: &ToolCall) -> Option<Json> {
        let _ = call;
        None
    }

    /// Runs.
    ///
    /// # Errors
    /// What is wrong, in words for the model.
    async fn call(&self, run: ToolRun) -> Result<ToolOutput, ToolFailure>;
}

/// One run of a tool.
#[derive(Clone, Debug)]
pub struct ToolRun {
    /// The call.
    pub call: ToolCall,
    /// Cancelled when the person wants no more of it.
    pub cancel: CancellationToken,
    /// What [`Tool::prepare`] gave, the first time.
    pub prepared: Option<Json>,
    /// Whether the call ran before and was interrupted.
    pub replayed: bool,
}

/// What a tool gives back.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// For the model.
    pub content: Content,
    /// Whether it is a failure.
    pub is_error: bool,
    /// Whether the run ends with this result, without another turn.
    pub terminate: bool,
    /// For programs; an object, kept in the metadata of the result.
    pub details: Option<Json>,
}

impl ToolOutput {
    /// Text.
    pub fn text(text: impl Into<Text>) -> ToolOutput {
        ToolOutput {
            content: Content::Text(text.into()),
            is_error: false,
            terminate: false,
            details: None,
        }
    }

    /// A failure, in words for the model.
    pub fn error(text: impl Into<Text>) -> ToolOutput {
        ToolOutput { is_error: true, ..ToolOutput::text(text) }
    }

    /// The same, with data for programs.
    #[must_use]
    pub fn with_details(mut self, details: &serde_json::Value) -> ToolOutput {
        self.details = Json::from_value(details).ok();
        self
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> ToolOutput {
        ToolOutput::text(text)
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> ToolOutput {
        ToolOutput::text(text)
    }
}

/// Why a tool failed, in words for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolFailure(pub String);

impl ToolFailure {
    /// A failure.
    pub fn new(what: impl fmt::Display) -> ToolFailure {
        ToolFailure(what.to_string())
    }
}

impl From<String> for ToolFailure {
    fn from(what: String) -> ToolFailure {
        ToolFailure(what)
    }
}

impl From<&str> for ToolFailure {
    fn from(what: &str) -> ToolFailure {
        ToolFailure(what.to_owned())
    }
}

impl From<std::io::Error> for ToolFailure {
    fn from(error: std::io::Error) -> ToolFailure {
        ToolFailure(error.to_string())
    }
}
