//! What is frozen for a turn.

use std::sync::Arc;

use forkwood_core::{Json, Settings, Text};

use crate::{ProviderInput, View};

/// A tool as a model is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSpec {
    /// Its name.
    pub name: Text,
    /// What it is for.
    pub description: Text,
    /// The JSON schema of its arguments, an object.
    pub schema: Json,
}

/// A document that goes with the system prompt: project notes, a prompt that is used again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// What it is called, such as a path.
    pub name: Text,
    /// What it says.
    pub text: Text,
}

/// System prompt, tools and resources, frozen for a turn.
///
/// Whatever changes while the turn runs, every request of it says the same in front, which is
/// also what prompt caching asks for. Messages are not part of it: each request takes them
/// from the session as they then are, and with them model, thinking level and active tools.
#[derive(Clone, Debug, Default)]
pub struct TurnSnapshot {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    system_prompt: Text,
    tools: Vec<ToolSpec>,
    resources: Vec<Resource>,
}

impl TurnSnapshot {
    /// Freezes. Copies of it share what it holds.
    pub fn new(
        system_prompt: impl Into<Text>,
        tools: Vec<ToolSpec>,
        resources: Vec<Resource>,
    ) -> TurnSnapshot {
        let system_prompt = system_prompt.into();
        TurnSnapshot { inner: Arc::new(Inner { system_prompt, tools, resources }) }
    }

    /// The system prompt alone.
    pub fn system_prompt(&self) -> &Text {
        &self.inner.system_prompt
    }

    /// All tools, active or not.
    pub fn tools(&self) -> &[ToolSpec] {
        &self.inner.tools
    }

    /// The resources.
    pub fn resources(&self) -> &[Resource] {
        &self.inner.resources
    }

    /// The system prompt with the resources behind it, as a model gets it.
    pub fn system(&self) -> Text {
        let mut parts = vec![self.inner.system_prompt.clone()];
        for resource in &self.inner.resources {
            if !parts.last().is_none_or(Text::is_empty) {
                parts.push("\n\n".into());
            }
            parts.extend(["<resource name=".into(), resource.name.to_json().into(), ">\n".into()]);
            parts.extend([resource.text.clone(), "\n</resource>".into()]);
        }
        Text::concat(&parts)
    }

    /// The tools that the session has switched on, in the order of the snapshot; all of them
    /// where it says nothing.
    pub fn active_tools<'a>(
        &'a self,
        settings: &'a Settings,
    ) -> impl Iterator<Item = &'a ToolSpec> {
        let names = settings.active_tool_names.as_deref();
        self.tools().iter().filter(move |tool| names.is_none_or(|names| names.contains(&tool.name)))
    }

    /// One request of the turn: what is frozen, with the messages, model, thinking level and
    /// tools of the session as it now is.
    pub fn provider_input(&self, view: &View, settings: &Settings) -> ProviderInput {
        ProviderInput {
            system: self.system(),
            tools: self.active_tools(settings).cloned().collect(),
            view: view.clone(),
            model: settings.model.clone(),
            provider: settings.provider.clone(),
            thinking_level: settings.thinking_level.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
