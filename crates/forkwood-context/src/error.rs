//! What can go wrong on the way to a model.

use thiserror::Error;

use crate::compaction::SummaryError;

/// Why a context could not be made smaller.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Nothing stands between the last compaction and what is kept.
    #[error("there is nothing to compact: all of the context is kept, or is a summary already")]
    NothingToCompact,
    /// The summariser failed.
    #[error("the summary failed: {0}")]
    Summary(#[from] SummaryError),
    /// The summariser answered with nothing.
    #[error("the summary is empty")]
    EmptySummary,
    /// The summary is no shorter than what it stands for.
    #[error("the summary makes the request no smaller: {before} tokens before, {after} after")]
    SummaryTooLong {
        /// Tokens of the request before.
        before: u64,
        /// Tokens of it with the summary.
        after: u64,
    },
    /// Too many summaries failed one after the other; automatic ones are off.
    #[error("automatic compaction is off after {failures} failures in a row")]
    BreakerOpen {
        /// How many.
        failures: u32,
    },
    /// An entry that was named is not on the path.
    #[error("entry {0} is not on the path")]
    NotOnPath(forkwood_core::EntryId),
}

impl Error {
    /// The kind, stable across versions.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::NothingToCompact => "nothing_to_compact",
            Error::Summary(_) => "summary_failed",
            Error::EmptySummary => "empty_summary",
            Error::SummaryTooLong { .. } => "summary_too_long",
            Error::BreakerOpen { .. } => "breaker_open",
            Error::NotOnPath(_) => "not_on_path",
        }
    }
}

/// What this crate's functions return.
pub type Result<T> = std::result::Result<T, Error>;
