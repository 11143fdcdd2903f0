//! Tokens and money, as the programs write them.

use forkwood::Json;
use forkwood::core::json::Object;

use crate::fields::whole_number;

/// Tokens of an answer, and what it cost where the program wrote that down.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Tokens read, and neither from the cache nor into it.
    pub input: u64,
    /// Tokens written, thinking included.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens put into the cache.
    pub cache_write: u64,
    /// Of the output, tokens of thinking, where they are told apart.
    pub reasoning: u64,
    /// All tokens, each counted once.
    pub total: u64,
    /// Money, in US dollars. `None`: nobody wrote it down.
    pub cost: Option<f64>,
}

impl Spent {
    /// Reads a `usage` object of Forkwood, Pi, Anthropic, OpenAI (chat or responses), Codex, or
    /// Google. `None`: it holds no count that is known.
    pub fn of(usage: &Json) -> Option<Spent> {
        Spent::of_object(&usage.as_object()?)
    }

    pub(super) fn of_object(usage: &Object<'_>) -> Option<Spent> {
        let number = |object: &Object<'_>, keys: &[&str]| {
            keys.iter().find_map(|key| object.get(key).and_then(whole_number))
        };
        let inner = |keys: &[&str]| {
            keys.iter().find_map(|key| Object::parse(usage.get(key)?).ok()).unwrap_or_default()
        };
        let read_from_cache = ["cacheRead", "cache_read_input_tokens", "cache_read"];
        let into_cache = ["cacheWrite", "cache_creation_input_tokens", "cache_write"];
        let input = number(
            usage,
            &["input", "input_tokens", "prompt_tokens", "inputTokens", "promptTokenCount"],
        );
        let output = number(
            usage,
            &[
                "output",
                "output_tokens",
                "completion_tokens",
                "outputTokens",
                "candidatesTokenCount",
            ],
        );
        let total = number(usage, &["totalTokens", "total_tokens", "total", "totalTokenCount"]);
        let mut spent = Spent {
            input: input.unwrap_or(0),
            output: output.unwrap_or(0),
            cache_read: number(usage, &read_from_cache).unwrap_or(0),
            cache_write: number(usage, &into_cache).unwrap_or(0),
            ..Spent::default()
        };
        // OpenAI, Codex and Google count what came from the cache into the input.
        let details = inner(&["input_tokens_details", "prompt_tokens_details"]);
        let cached = number(usage, &["cached_input_tokens", "cachedContentTokenCount"])
            .or_else(|| number(&details, &["cached_tokens"]));
        if let Some(cached) = cached {
            spent.cache_read = cached;
            spent.input = spent.input.saturating_sub(cached);
        }
        let details = inner(&["output_tokens_details", "completion_tokens_details"]);
        spent.reasoning = number(usage, &["reasoning", "reasoning_output_tokens"])
            .or_else(|| number(&details, &["reasoning_tokens"]))
            .unwrap_or(0);
        // Google counts thoughts beside the output.
        if let Some(thoughts) = number(usage, &["thoughtsTokenCount"]) {
            spent.reasoning = thoughts;
            spent.output = spent.output.saturating_add(thoughts);
        }
        spent.cost = cost(usage);
        let known = input.is_some()
            || output.is_some()
            || total.is_some()
            || spent.cache_read + spent.cache_write > 0
            || spent.cost.is_some();
        let parts = [spent.input, spent.output, spent.cache_read, spent.cache_write]
            .into_iter()
            .fold(0u64, u64::saturating_add);
        spent.total = if parts > 0 { parts } else { total.unwrap_or(0) };
        known.then_some(spent)
    }

    /// Adds another one.
    pub fn add(&mut self, other: &Spent) {
        for (sum, more) in [
            (&mut self.input, other.input),
            (&mut self.output, other.output),
            (&mut self.cache_read, other.cache_read),
            (&mut self.cache_write, other.cache_write),
            (&mut self.reasoning, other.reasoning),
            (&mut self.total, other.total),
        ] {
            *sum = sum.saturating_add(more);
        }
        if let Some(more) = other.cost {
            self.cost = Some(self.cost.unwrap_or(0.0) + more);
        }
    }

    /// What this one has more than an earlier report of the same answer.
    pub(super) fn beyond(&self, before: &Spent) -> Spent {
        Spent {
            input: self.input.saturating_sub(before.input),
            output: self.output.saturating_sub(before.output),
            cache_read: self.cache_read.saturating_sub(before.cache_read),
            cache_write: self.cache_write.saturating_sub(before.cache_write),
            reasoning: self.reasoning.saturating_sub(before.reasoning),
            total: self.total.saturating_sub(before.total),
            cost: self.cost.map(|cost| (cost - before.cost.unwrap_or(0.0)).max(0.0)),
        }
    }
}

/// `cost` with a `total` in it, or a number.
fn cost(usage: &Object<'_>) -> Option<f64> {
    let raw = usage.get("cost").or_else(|| usage.get("costUSD"))?;
    let number = |raw: &str| raw.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
    number(raw).or_else(|| number(Object::parse(raw).ok()?.get("total")?))
}

#[cfg(test)]
mod tests {
    use super::Spent;
    use forkwood::Json;

    fn of(json: &str) -> Option<(u64, u64, u64, u64, u64, u64)> {
        let s = Spent::of(&Json::parse(json).unwrap())?;
        Some((s.input, s.output, s.cache_read, s.cache_write, s.reasoning, s.total))
    }

    #[test]
    fn counts_of_every_provider_mean_the_same() {
        for (json, expected) in [
            (
                r#"{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10}"#,
                (1, 2, 3, 4, 0, 10),
            ),
            (
                r#"{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":3,"cache_creation_input_tokens":4}"#,
                (1, 2, 3, 4, 0, 10),
            ),
            (
                r#"{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":12}"#,
                (5, 3, 4, 0, 2, 12),
            ),
            (
                r#"{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens":3,"total_tokens":12}"#,
                (5, 3, 4, 0, 0, 12),
            ),
            (
                r#"{"input_tokens":100,"cached_input_tokens":50,"output_tokens":20,"reasoning_output_tokens":5,"total_tokens":120}"#,
                (50, 20, 50, 0, 5, 120),
            ),
            (
                r#"{"promptTokenCount":10,"cachedContentTokenCount":4,"candidatesTokenCount":3,"thoughtsTokenCount":2,"totalTokenCount":15}"#,
                (6, 5, 4, 0, 2, 15),
            ),
            (r#"{"totalTokens":7}"#, (0, 0, 0, 0, 0, 7)),
        ] {
            assert_eq!(of(json), Some(expected), "{json}");
        }
        for json in ["{}", r#"{"input":"x"}"#, "3", r#"{"input":-1}"#] {
            assert_eq!(of(json), None, "{json}");
        }
    }

    #[test]
    fn money_is_what_was_written_down() {
        let cost = |json: &str| Spent::of(&Json::parse(json).unwrap()).and_then(|s| s.cost);
        assert_eq!(cost(r#"{"input":1,"cost":{"total":0.25}}"#), Some(0.25));
        assert_eq!(cost(r#"{"input":1,"cost":0.5}"#), Some(0.5));
        assert_eq!(cost(r#"{"input":1}"#), None);
        assert_eq!(cost(r#"{"input":1,"cost":-1}"#), None);
    }
}
