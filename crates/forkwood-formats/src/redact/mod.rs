//! Secrets in sessions: finding them, and taking them out of what leaves the machine.
//!
//! [`rules`] lists what is known: keys and tokens by the shape that their issuers gave them,
//! private keys, passwords in addresses, values under names such as `api_key` that look random,
//! and home folders, which name people. [`find`] looks at a text, [`find_in_json`] at every string
//! of a JSON text, [`Redaction`] replaces and counts.
//!
//! The rules are our own: the libraries that keep such rules need a newer compiler than this
//! workspace, or bring a scanner of files and repositories along; and what a key looks like is
//! said by who issues it.
//!
//! **Invariants.** Pure. What is found is never in a finding. The time taken follows the length
//! of the text: no pattern backtracks, and nesting is not followed by recursion. What is JSON
//! stays JSON, of the same shape.

mod find;
mod json;
mod rules;

use std::collections::BTreeMap;

use forkwood::core::entry::codec;
use forkwood::{Entry, Json, Result, Text};

pub use find::{Hit, find};
pub use json::{JsonHit, find_in_json};
pub use rules::{Rule, rules};

/// How often each rule was met, by its id.
pub type Counts = BTreeMap<&'static str, u64>;

/// Takes secrets out, and counts them.
#[derive(Clone, Debug, Default)]
pub struct Redaction {
    /// How often each rule was met.
    pub counts: Counts,
}

impl Redaction {
    /// Nothing was redacted yet.
    pub fn new() -> Redaction {
        Redaction::default()
    }

    /// How many secrets were taken out.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// A text without its secrets: `[redacted:<rule>]` stands in their place, and `~` in that of
    /// a home folder.
    pub fn text(&mut self, text: &str) -> String {
        self.replaced(text, None).unwrap_or_else(|| text.to_owned())
    }

    /// The same.
    pub fn text_value(&mut self, text: &Text) -> Text {
        match self.replaced(&text.to_string_lossy(), None) {
            Some(text) => text.into(),
            None => text.clone(),
        }
    }

    /// A JSON text without the secrets in its strings, names of fields included. What is no JSON
    /// is taken as a text.
    pub fn json_text(&mut self, json: &str) -> String {
        json::replace(json, self).unwrap_or_else(|| json.to_owned())
    }

    /// A JSON value without the secrets in its strings.
    pub fn json(&mut self, value: &Json) -> Json {
        match json::replace(value.get(), self) {
            Some(text) => Json::parse(&text).unwrap_or_else(|_| Json::null()),
            None => value.clone(),
        }
    }

    /// An entry without secrets, wherever they stand in it.
    ///
    /// # Errors
    /// `invalid` where what is left is no entry; nothing of it may then be shown.
    pub fn entry(&mut self, entry: &Entry) -> Result<Entry> {
        let json = codec::encode(entry);
        match json::replace(&json, self) {
            Some(json) => Ok(codec::decode(&json, &mut codec::Reader::default())?),
            None => Ok(entry.clone()),
        }
    }

    /// What stands in place of a text, if it holds a secret.
    fn replaced(&mut self, text: &str, name: Option<&str>) -> Option<String> {
        let hits = find::find_under(text, name);
        if hits.is_empty() {
            return None;
        }
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for hit in hits {
            out.push_str(&text[from..hit.range.start]);
            out.push_str(&hit.rule.replacement());
            from = hit.range.end;
            *self.counts.entry(hit.rule.id).or_default() += 1;
        }
        out.push_str(&text[from..]);
        Some(out)
    }
}

#[cfg(test)]
mod tests;
