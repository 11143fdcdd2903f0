//! What can go wrong between a message and its conversation.

use thiserror::Error;

use crate::config::Problem;

/// Why a message was not routed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration cannot be used. All that is wrong with it, warnings left out.
    #[error("{}", list(.problems))]
    Config {
        /// In the order of the file.
        problems: Vec<Problem>,
    },
    /// The inbound message is not as documented.
    #[error("inbound message: {message}")]
    Inbound {
        /// What, and where in the JSON.
        message: String,
    },
    /// The conversation could not be read or written.
    #[error(transparent)]
    Storage(#[from] forkwood::Error),
    /// The agent did not come to an end. What it did before stays in the conversation.
    #[cfg(feature = "agent")]
    #[error(transparent)]
    Agent(#[from] forkwood_agent::AgentError),
}

impl Error {
    /// The kind, stable across versions.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::Config { .. } | Error::Inbound { .. } => "invalid",
            Error::Storage(error) => error.kind().as_str(),
            #[cfg(feature = "agent")]
            Error::Agent(error) => error.kind().as_str(),
        }
    }
}

fn list(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    format!("the routing configuration cannot be used:\n{}", lines.join("\n"))
}

/// What this crate's functions return.
pub type Result<T> = std::result::Result<T, Error>;
