//! The configuration: agents, dispatch rules, session policy.
//!
//! TOML, or JSON as PicoClaw has it: its whole configuration file is accepted, and what is not
//! about routing is passed over. [`Config::parse`] names every problem with its line.

mod check;
mod decode;
mod json;
mod node;
mod problem;
mod reader;
mod toml_text;
mod types;

pub use problem::{Problem, Severity};
pub use types::{Agent, Agents, Config, Dimension, Dispatch, DmScope, Rule, Selectors, Session};

use crate::error::{Error, Result};
use node::Source;

/// The language of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// TOML 1.
    Toml,
    /// JSON. Keys are taken in any case, as Go takes them.
    Json,
}

impl Language {
    /// The language of a text: JSON objects start with a brace, which no TOML file does.
    pub fn of(text: &str) -> Self {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        if text.starts_with('{') { Self::Json } else { Self::Toml }
    }
}

/// A configuration that can be used, and what is odd about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// In the order of the file.
    pub warnings: Vec<Problem>,
}

impl Config {
    /// Reads a configuration. Fails with all errors at once; what would only surprise somebody is
    /// a warning.
    pub fn parse(text: &str, language: Language) -> Result<Loaded> {
        let source = Source::new(text);
        let root = match language {
            Language::Json => json::parse(&source),
            Language::Toml => toml_text::parse(&source),
        };
        let mut problems = Vec::new();
        let config = match root {
            Ok(root) => decode::config(&root, &source, &mut problems),
            Err(problem) => return Err(Error::Config { problems: vec![problem] }),
        };
        problems.sort_by_key(|problem| problem.line);
        if problems.iter().any(|problem| problem.severity == Severity::Error) {
            problems.retain(|problem| problem.severity == Severity::Error);
            return Err(Error::Config { problems });
        }
        Ok(Loaded { config, warnings: problems })
    }

    /// The JSON schema of a configuration, pretty-printed.
    pub fn json_schema() -> String {
        format!("{:#}\n", schemars::schema_for!(Config).as_value())
    }
}
