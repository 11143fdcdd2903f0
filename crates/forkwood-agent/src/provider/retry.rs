//! How often and how long to wait when a provider fails.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

use super::ProviderError;

/// How retries are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// How many, after the first try.
    pub times: usize,
    /// The first wait; it doubles.
    pub first: Duration,
    /// The longest wait. A service that asks for more is not tried again.
    pub longest: Duration,
    /// Whether chance is added to the waits, so that many clients do not come back at once.
    pub jitter: bool,
}

impl Default for Retries {
    fn default() -> Retries {
        Retries {
            times: 4,
            first: Duration::from_secs(1),
            longest: Duration::from_secs(60),
            jitter: true,
        }
    }
}

impl Retries {
    /// No retries.
    pub const NONE: Retries =
        Retries { times: 0, first: Duration::ZERO, longest: Duration::ZERO, jitter: false };

    /// So many, at once.
    pub fn at_once(times: usize) -> Retries {
        Retries { times, ..Retries::NONE }
    }

    pub(crate) fn waits(&self) -> Waits {
        let mut builder = ExponentialBuilder::new()
            .with_max_times(self.times)
            .with_min_delay(self.first)
            .with_max_delay(self.longest);
        if self.jitter {
            builder = builder.with_jitter();
        }
        Waits { backoff: builder.build(), longest: self.longest }
    }
}

/// The waits of one request.
#[derive(Debug)]
pub(crate) struct Waits {
    backoff: ExponentialBackoff,
    longest: Duration,
}

impl Waits {
    /// How long to wait after an error; `None`: give up.
    pub(crate) fn after(&mut self, error: &ProviderError) -> Option<Duration> {
        if !error.kind.is_retryable() {
            return None;
        }
        let wait = self.backoff.next()?;
        match error.retry_after {
            Some(asked) if asked > self.longest => None,
            Some(asked) => Some(asked.max(wait)),
            None => Some(wait),
        }
    }
}
