//! What can go wrong in an agent.

use std::path::PathBuf;

use thiserror::Error;

use crate::ProviderError;

/// The stable kind of an error, for programs to branch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The session could not be read or written; [`AgentError::storage_kind`] says more.
    Storage,
    /// The provider failed; [`ProviderError::kind`] says more.
    Provider,
    /// Neither the session nor the configuration names a model.
    NoModel,
    /// The session names a provider that this agent does not have.
    UnknownProvider,
    /// Two tools with one name.
    ToolNameTaken,
    /// The conversation could not be summed up.
    Compaction,
    /// Input that is not as documented.
    Invalid,
    /// A file of the configuration could not be read.
    Io,
}

impl ErrorKind {
    /// Every kind.
    pub const ALL: &'static [ErrorKind] = &[
        ErrorKind::Storage,
        ErrorKind::Provider,
        ErrorKind::NoModel,
        ErrorKind::UnknownProvider,
        ErrorKind::ToolNameTaken,
        ErrorKind::Compaction,
        ErrorKind::Invalid,
        ErrorKind::Io,
    ];

    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Storage => "storage",
            ErrorKind::Provider => "provider",
            ErrorKind::NoModel => "no_model",
            ErrorKind::UnknownProvider => "unknown_provider",
            ErrorKind::ToolNameTaken => "tool_name_taken",
            ErrorKind::Compaction => "compaction",
            ErrorKind::Invalid => "invalid",
            ErrorKind::Io => "io",
        }
    }
}

/// An error of an agent. Whatever was done before it stays in the session.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The session could not be read or written.
    #[error(transparent)]
    Storage(#[from] forkwood::Error),
    /// Another program took the lane elsewhere while tools ran. What they gave is kept, behind
    /// their calls.
    #[error("{source}; what the tools gave in the meantime is kept {}", kept(lane.as_deref(), entries))]
    Moved {
        /// The lane that was made for it; `None` where the format has no lanes.
        lane: Option<String>,
        /// The entries of the results.
        entries: Vec<forkwood::EntryId>,
        /// The conflict.
        source: Box<forkwood::Error>,
    },
    /// The provider failed, retries included.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// Neither the session nor the configuration names a model.
    #[error("no model is chosen: give the agent a default model or set one in the session")]
    NoModel,
    /// The session names a provider that this agent does not have.
    #[error("provider {name:?} is not configured; known: {}", known.join(", "))]
    UnknownProvider {
        /// The name in the session.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// Two tools with one name.
    #[error("there are two tools with the name {name:?}")]
    ToolNameTaken {
        /// The name.
        name: String,
    },
    /// The conversation could not be summed up.
    #[error(transparent)]
    Compaction(#[from] forkwood_context::Error),
    /// Input that is not as documented.
    #[error("{what}")]
    Invalid {
        /// What is wrong.
        what: String,
    },
    /// A file or folder could not be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

fn kept(lane: Option<&str>, entries: &[forkwood::EntryId]) -> String {
    match (lane, entries.last()) {
        (Some(lane), _) => format!("on the lane {lane}"),
        (None, Some(last)) => format!("behind their calls, on the branch that ends at {last}"),
        (None, None) => "behind their calls".to_owned(),
    }
}

impl AgentError {
    /// Input that is not as documented.
    pub fn invalid(what: impl Into<String>) -> AgentError {
        AgentError::Invalid { what: what.into() }
    }

    /// The stable kind.
    pub fn kind(&self) -> ErrorKind {
        match self {
            AgentError::Storage(_) | AgentError::Moved { .. } => ErrorKind::Storage,
            AgentError::Provider(_) => ErrorKind::Provider,
            AgentError::NoModel => ErrorKind::NoModel,
            AgentError::UnknownProvider { .. } => ErrorKind::UnknownProvider,
            AgentError::ToolNameTaken { .. } => ErrorKind::ToolNameTaken,
            AgentError::Compaction(_) => ErrorKind::Compaction,
            AgentError::Invalid { .. } => ErrorKind::Invalid,
            AgentError::Io { .. } => ErrorKind::Io,
        }
    }

    /// The kind of the storage error behind it, if one is.
    pub fn storage_kind(&self) -> Option<forkwood::ErrorKind> {
        match self {
            AgentError::Storage(source) => Some(source.kind()),
            AgentError::Moved { source, .. } => Some(source.kind()),
            _ => None,
        }
    }
}
