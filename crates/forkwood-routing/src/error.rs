//! What can go wrong between a message and its conversation.

use thiserror::Error;

use crate::config::Problem;

/// Why a message was not routed.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
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
}

impl Error {
    /// The kind, stable across versions.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::Config { .. } | Error::Inbound { .. } => "invalid",
        }
    }
}

fn list(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    format!("the routing configuration cannot be used:\n{}", lines.join("\n"))
}

/// What this crate's functions return.
pub type Result<T> = std::result::Result<T, Error>;
