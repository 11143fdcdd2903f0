//! What tokens cost, where the owner of the agent says so. No prices are built in: they change.

use std::collections::BTreeMap;

use forkwood::Json;
use serde::Serialize;

use super::Usage;
use crate::AgentError;

/// What a million tokens of a model cost, in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    /// Of the request.
    pub input: f64,
    /// Of the answer, thinking included.
    pub output: f64,
    /// Read from the cache; where it is not given, as the others of the request.
    pub cache_read: Option<f64>,
    /// Put into the cache; where it is not given, as the others of the request.
    pub cache_write: Option<f64>,
}

/// What one answer cost, in US dollars: `usage.cost` of an entry, as Pi writes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// Of the request.
    pub input: f64,
    /// Of the answer.
    pub output: f64,
    /// Read from the cache.
    pub cache_read: f64,
    /// Put into the cache.
    pub cache_write: f64,
    /// All.
    pub total: f64,
}

impl Price {
    /// What so many tokens cost.
    pub fn of(&self, usage: &Usage) -> Cost {
        let part = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        let input = part(usage.input, self.input);
        let output = part(usage.output, self.output);
        let cache_read = part(usage.cache_read, self.cache_read.unwrap_or(self.input));
        let cache_write = part(usage.cache_write, self.cache_write.unwrap_or(self.input));
        let total = input + output + cache_read + cache_write;
        Cost { input, output, cache_read, cache_write, total }
    }

    fn is_sound(&self) -> bool {
        [Some(self.input), Some(self.output), self.cache_read, self.cache_write]
            .into_iter()
            .flatten()
            .all(|price| price.is_finite() && price >= 0.0)
    }
}

/// Prices by the name of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices(BTreeMap<String, Price>);

impl Prices {
    /// That of a model, under its name, or under `provider/model` where two providers take
    /// different ones; the latter counts first.
    ///
    /// # Errors
    /// `invalid` for a price that is negative or no number.
    pub fn add(&mut self, model: impl Into<String>, price: Price) -> Result<(), AgentError> {
        let model = model.into();
        if !price.is_sound() {
            let what = format!("the price of {model:?} is no number of dollars from 0 on");
            return Err(AgentError::invalid(what));
        }
        self.0.insert(model, price);
        Ok(())
    }

    /// That of a model, if it is known.
    pub fn of(&self, provider: &str, model: &str) -> Option<&Price> {
        self.0.get(&format!("{provider}/{model}")).or_else(|| self.0.get(model))
    }

    /// Tokens as they stand in a session, with what they cost where that is known.
    pub(crate) fn report(&self, usage: &Usage, provider: &str, model: &str) -> Json {
        #[derive(Serialize)]
        struct Priced<'u> {
            #[serde(flatten)]
            usage: &'u Usage,
            cost: Cost,
        }
        match self.of(provider, model) {
            Some(price) => Json::from_value(&Priced { usage, cost: price.of(usage) })
                .unwrap_or_else(|_| usage.to_json()),
            None => usage.to_json(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Price, Prices};
    use crate::Usage;

    fn usage() -> Usage {
        Usage {
            input: 1_000_000,
            output: 500_000,
            cache_read: 2_000_000,
            cache_write: 100_000,
            reasoning: 1000,
            total_tokens: 3_600_000,
        }
    }

    #[test]
    fn tokens_are_priced_by_their_kind() {
        let price =
            Price { input: 3.0, output: 15.0, cache_read: Some(0.5), cache_write: Some(4.0) };
        let cost = price.of(&usage());
        assert_eq!((cost.input, cost.output), (3.0, 7.5));
        assert_eq!((cost.cache_read, cost.cache_write, cost.total), (1.0, 0.4, 11.9));
        let plain = Price { cache_read: None, cache_write: None, ..price };
        let cost = plain.of(&usage());
        assert_eq!((cost.cache_read, cost.cache_write), (6.0, 0.3));
    }

    #[test]
    fn the_name_with_the_provider_counts_first_and_others_have_no_cost() {
        let mut prices = Prices::default();
        let price = |input| Price { input, ..Price::default() };
        prices.add("m", price(1.0)).unwrap();
        prices.add("dear/m", price(9.0)).unwrap();
        let report = |provider, model| {
            let json = prices.report(&usage(), provider, model);
            json.to::<serde_json::Value>().unwrap()
        };
        assert_eq!(report("cheap", "m")["cost"]["input"], 1.0);
        assert_eq!(report("dear", "m")["cost"]["input"], 9.0);
        assert_eq!(report("cheap", "m")["totalTokens"], 3_600_000);
        assert!(report("cheap", "n").get("cost").is_none());
    }

    #[test]
    fn what_is_no_price_is_refused() {
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            let price = Price { cache_write: Some(bad), ..Price::default() };
            let error = Prices::default().add("m", price).unwrap_err();
            assert_eq!(error.kind().as_str(), "invalid");
        }
    }
}
