//! Tokens of one answer.

use forkwood::Json;
use serde::{Deserialize, Serialize};

/// Tokens, as the provider reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Read, and neither from the cache nor into it.
    pub input: u64,
    /// Written, thinking included.
    pub output: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Put into the cache.
    pub cache_write: u64,
    /// Of the output, thinking.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning: u64,
    /// All.
    pub total_tokens: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Usage {
    /// So many tokens in and out, no cache.
    pub fn new(input: u64, output: u64) -> Usage {
        Usage { input, output, total_tokens: input.saturating_add(output), ..Usage::default() }
    }

    /// Tokens of the request.
    pub fn prompt(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// Adds another one.
    pub fn add(&mut self, other: &Usage) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
    }

    /// As it stands in a session.
    pub fn to_json(&self) -> Json {
        Json::from_value(self).unwrap_or_else(|_| Json::empty_object())
    }
}
