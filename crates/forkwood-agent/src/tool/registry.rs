//! The tools of an agent.

use std::sync::Arc;

use forkwood::Text;
use forkwood_context::ToolSpec;

use super::Tool;
use crate::AgentError;

/// The longest name of a tool that every provider takes.
const LONGEST_NAME: usize = 64;

/// Tools by name, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct Tools(Vec<Arc<dyn Tool>>);

impl Tools {
    /// None.
    pub fn new() -> Tools {
        Tools::default()
    }

    /// Adds one.
    ///
    /// # Errors
    /// `tool_name_taken`; `invalid` for a name that providers refuse: it must be 1 to 64 ASCII
    /// letters, digits, `_` and `-`.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), AgentError> {
        let name = tool.spec().name.to_string();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) {
            return Err(AgentError::invalid(format!(
                "a tool cannot be called {name:?}: providers take 1 to {LONGEST_NAME} ASCII \
                 letters, digits, _ and -"
            )));
        }
        if self.get(&name).is_some() {
            return Err(AgentError::ToolNameTaken { name });
        }
        self.0.push(tool);
        Ok(())
    }

    /// The one of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.0.iter().find(|tool| tool.spec().name == *name)
    }

    /// Those that are in `active`, or all where nothing is said of it.
    #[must_use]
    pub fn active(&self, active: Option<&[Text]>) -> Tools {
        let keeps =
            |tool: &&Arc<dyn Tool>| active.is_none_or(|names| names.contains(&tool.spec().name));
        Tools(self.0.iter().filter(keeps).cloned().collect())
    }

    /// Those that `keep` wants.
    #[must_use]
    pub fn filtered(&self, keep: impl Fn(&str) -> bool) -> Tools {
        Tools(self.0.iter().filter(|tool| keep(&tool.spec().name.to_string())).cloned().collect())
    }

    /// All of them.
    pub fn all(&self) -> Vec<Arc<dyn Tool>> {
        self.0.clone()
    }

    /// Their names.
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(|tool| tool.spec().name.to_string()).collect()
    }

    /// What a model is told of them.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.0.iter().map(|tool| tool.spec().clone()).collect()
    }
}
