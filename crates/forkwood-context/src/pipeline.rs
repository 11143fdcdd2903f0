//! The pipeline: from a context to one that fits.

use forkwood_core::entry::Compaction;
use forkwood_core::{Entry, Settings, Text};

use crate::{Error, Layer, Result, Spill, Summariser, TurnSnapshot, View};

/// The numbers of a pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The most tokens of a request: system prompt, tools and messages.
    pub budget: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config { budget: 100_000 }
    }
}

/// What a pipeline works on. All of it is only read.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// What the session shows a model now: `Context::messages` and `entry_ids`.
    pub view: &'a View,
    /// The entries that the view was folded from, root first: `Context::path`.
    pub path: &'a [Entry],
    /// What is frozen for the turn.
    pub snapshot: &'a TurnSnapshot,
    /// Model, thinking level and tools, as the session has them.
    pub settings: &'a Settings,
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prepared {
    /// What to send. The id behind a summary that is not written yet is empty.
    pub view: View,
    /// The layers that changed something, in order.
    pub layers: Vec<Layer>,
    /// Tokens of the request before.
    pub tokens_before: u64,
    /// Tokens of the request now.
    pub tokens_after: u64,
    /// A compaction to append to the session, before the next message is.
    pub compaction: Option<Compaction>,
    /// Why there is no summary, where one was due.
    pub failure: Option<Error>,
}

/// Makes contexts fit. Holds what it learns about tokens, and the circuit breaker.
#[derive(Debug, Default)]
pub struct Pipeline {
    config: Config,
}

impl Pipeline {
    /// A pipeline with these numbers.
    pub fn new(config: Config) -> Pipeline {
        Pipeline { config }
    }

    /// Its numbers.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Makes a context fit, cheapest layer first, and only where it is over the threshold. The
    /// input is never changed, and nothing is written: what is to be appended comes back.
    /// Never fails: where a summary does, the view of the layers without a model is used.
    pub async fn prepare(
        &mut self,
        input: Input<'_>,
        spill: Option<&dyn Spill>,
        summariser: Option<&dyn Summariser>,
    ) -> Prepared {
        let _ = (spill, summariser);
        Prepared { view: input.view.clone(), ..Prepared::default() }
    }

    /// Compacts now, whatever the size: asked for by a person, or after a provider's overflow.
    ///
    /// # Errors
    /// `nothing_to_compact`, `summary_failed`, `empty_summary`.
    pub async fn compact(
        &mut self,
        input: Input<'_>,
        instructions: Option<&Text>,
        summariser: &dyn Summariser,
    ) -> Result<Prepared> {
        let _ = (input, instructions, summariser);
        Err(Error::NothingToCompact)
    }

    /// Compacts now, with a summary that is written already.
    ///
    /// # Errors
    /// `nothing_to_compact`, `empty_summary`.
    pub fn compact_with(&mut self, input: Input<'_>, summary: &Text) -> Result<Prepared> {
        let _ = (input, summary);
        Err(Error::NothingToCompact)
    }

    /// Learns from the tokens of a prompt that a provider reported for the last view that was
    /// prepared: cached ones included.
    pub fn record_usage(&mut self, prompt_tokens: u64) {
        let _ = prompt_tokens;
    }
}
