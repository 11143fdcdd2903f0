//! The circuit breaker of automatic summaries.

/// Opens after some failures in a row, and then no summary is asked for until it is reset or a
/// compaction that a person asked for succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breaker {
    failures: u32,
    limit: u32,
}

impl Breaker {
    /// How many failures open it.
    pub const LIMIT: u32 = 3;

    /// A closed one.
    pub fn new(limit: u32) -> Breaker {
        Breaker { failures: 0, limit }
    }

    /// Whether no summary is to be asked for.
    pub fn is_open(&self) -> bool {
        self.failures >= self.limit
    }

    /// How many failed in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Counts a failure.
    pub fn failed(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }

    /// Forgets the failures.
    pub fn reset(&mut self) {
        self.failures = 0;
    }
}

impl Default for Breaker {
    fn default() -> Breaker {
        Breaker::new(Breaker::LIMIT)
    }
}
