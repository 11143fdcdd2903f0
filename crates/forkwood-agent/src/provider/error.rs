//! How a provider fails.

use std::time::Duration;

use forkwood_context::Fault;
use thiserror::Error;

/// The stable kind of a provider's error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProviderErrorKind {
    /// The request is longer than the model can read.
    Overflow,
    /// Too many requests, or the quota is used up for now.
    RateLimit,
    /// The key is missing, wrong or not allowed this.
    Auth,
    /// The connection broke, or was not to be had.
    Transport,
    /// The service itself failed or is overloaded.
    Server,
    /// The request is not one that the service takes.
    Invalid,
    /// What came back cannot be understood.
    Protocol,
}

impl ProviderErrorKind {
    /// Every kind.
    pub const ALL: &'static [ProviderErrorKind] = &[
        ProviderErrorKind::Overflow,
        ProviderErrorKind::RateLimit,
        ProviderErrorKind::Auth,
        ProviderErrorKind::Transport,
        ProviderErrorKind::Server,
        ProviderErrorKind::Invalid,
        ProviderErrorKind::Protocol,
    ];

    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            ProviderErrorKind::Overflow => "overflow",
            ProviderErrorKind::RateLimit => "rate_limit",
            ProviderErrorKind::Auth => "auth",
            ProviderErrorKind::Transport => "transport",
            ProviderErrorKind::Server => "server",
            ProviderErrorKind::Invalid => "invalid",
            ProviderErrorKind::Protocol => "protocol",
        }
    }

    /// Whether the same request may succeed later.
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            ProviderErrorKind::RateLimit | ProviderErrorKind::Transport | ProviderErrorKind::Server
        )
    }

    /// What an HTTP status and the words of an answer mean.
    pub fn from_answer(status: Option<u16>, words: &str) -> ProviderErrorKind {
        if fault(status, words).is_overflow() {
            return ProviderErrorKind::Overflow;
        }
        let words = words.to_ascii_lowercase();
        let says = |markers: &[&str]| markers.iter().any(|marker| words.contains(marker));
        match status {
            Some(401 | 403) => ProviderErrorKind::Auth,
            Some(429) => ProviderErrorKind::RateLimit,
            Some(408 | 409 | 425) => ProviderErrorKind::Transport,
            Some(500..) => ProviderErrorKind::Server,
            Some(400..500) => ProviderErrorKind::Invalid,
            _ if says(&["rate_limit", "rate limit", "too many requests", "quota"]) => {
                ProviderErrorKind::RateLimit
            }
            _ if says(&["authentication", "permission_error", "invalid_api_key", "api key"]) => {
                ProviderErrorKind::Auth
            }
            _ if says(&["overloaded", "server_error", "api_error", "unavailable", "internal"]) => {
                ProviderErrorKind::Server
            }
            _ if says(&["invalid_request"]) => ProviderErrorKind::Invalid,
            _ => ProviderErrorKind::Protocol,
        }
    }
}

fn fault(status: Option<u16>, words: &str) -> Fault {
    Fault { status, ..Fault::text(words) }
}

/// A provider's error.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}: {message}", kind.as_str())]
pub struct ProviderError {
    /// What kind.
    pub kind: ProviderErrorKind,
    /// What was said, without the request.
    pub message: String,
    /// How long the service asks to wait before the next try.
    pub retry_after: Option<Duration>,
}

impl ProviderError {
    /// An error of a kind.
    pub fn new(kind: ProviderErrorKind, message: impl Into<String>) -> ProviderError {
        ProviderError { kind, message: message.into(), retry_after: None }
    }

    /// The answer came to no end.
    pub(crate) fn cut_off() -> ProviderError {
        ProviderError::new(ProviderErrorKind::Transport, "the answer broke off before its end")
    }
}
