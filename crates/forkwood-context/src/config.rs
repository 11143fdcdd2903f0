//! The numbers of a pipeline.

use forkwood_core::FoldRules;

use crate::compaction::{Breaker, CutRule, SummaryOptions};
use crate::layers::{MicroConfig, SnipConfig, SpillConfig};

/// The numbers of a pipeline. Tokens are those of a whole request: system prompt, tools and
/// messages. A layer that is `None` is off.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The most tokens of a request.
    pub budget: u64,
    /// Above so many tokens the layers work; four fifths of the budget where nothing is said.
    pub threshold: Option<u64>,
    /// How many tokens of the conversation a summary leaves at the end; a quarter of the budget
    /// where nothing is said, less where system prompt and tools are large.
    pub keep_recent: Option<u64>,
    /// L3.
    pub spill: Option<SpillConfig>,
    /// L1.
    pub snip: Option<SnipConfig>,
    /// L2.
    pub micro: Option<MicroConfig>,
    /// L4.
    pub summary: Option<SummaryOptions>,
    /// Where L4 cuts.
    pub cut: CutRule,
    /// Whether what is still over the budget is cut until it is not.
    pub fit: bool,
    /// Whether tokens are counted exactly for the models that can be, once a request is past
    /// half of the threshold.
    pub exact: bool,
    /// How many summaries in a row may fail.
    pub breaker_limit: u32,
    /// The rules that the session is folded by.
    pub rules: FoldRules,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            budget: 100_000,
            threshold: None,
            keep_recent: None,
            spill: Some(SpillConfig::default()),
            snip: Some(SnipConfig::default()),
            micro: Some(MicroConfig::default()),
            summary: Some(SummaryOptions::default()),
            cut: CutRule::default(),
            fit: true,
            exact: true,
            breaker_limit: Breaker::LIMIT,
            rules: FoldRules::NATIVE,
        }
    }
}

impl Config {
    /// The defaults, with another budget.
    pub fn with_budget(budget: u64) -> Config {
        Config { budget, ..Config::default() }
    }

    /// With every layer off. What is wanted is then switched on.
    pub fn without_layers(budget: u64) -> Config {
        Config {
            spill: None,
            snip: None,
            micro: None,
            summary: None,
            fit: false,
            ..Config::with_budget(budget)
        }
    }

    /// Above so many tokens the layers work.
    pub fn threshold(&self) -> u64 {
        self.threshold.unwrap_or(self.budget / 5 * 4 + self.budget % 5 * 4 / 5)
    }

    /// How many tokens a summary leaves at the end, behind `front` tokens of system prompt and
    /// tools: never more than half of what the threshold leaves, so that one summary lasts.
    pub fn keep_recent(&self, front: u64) -> u64 {
        let most = self.threshold().saturating_sub(front) / 2;
        self.keep_recent.unwrap_or(self.budget / 4).min(most.max(1))
    }
}
