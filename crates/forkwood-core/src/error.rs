//! What can go wrong in pure code.

use thiserror::Error;

/// An error of this crate. [`CoreError::kind`] is stable for programs.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CoreError {
    /// An id that could be a path, a device or an option.
    #[error(
        "{id:?} is not a valid id: use letters, digits, '.', '_' and '-', at most 128 characters"
    )]
    InvalidSessionId {
        /// What was given.
        id: String,
    },
    /// A lane name that does not fit the pattern.
    #[error("{name:?} is not a valid lane name: use [a-z0-9][a-z0-9._-]{{0,63}}")]
    InvalidLane {
        /// What was given.
        name: String,
    },
    /// JSON from outside that is not what it should be.
    #[error("{what}: {problem}")]
    Invalid {
        /// Where: a type or a field.
        what: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// The tree algorithms refused their input.
    #[error(transparent)]
    Tree(#[from] crate::TreeError),
}

impl CoreError {
    /// The kind, stable across versions.
    pub fn kind(&self) -> &'static str {
        match self {
            CoreError::Tree(error) => error.kind(),
            _ => "invalid",
        }
    }

    pub(crate) fn invalid(what: impl Into<String>, problem: impl Into<String>) -> CoreError {
        CoreError::Invalid { what: what.into(), problem: problem.into() }
    }
}
