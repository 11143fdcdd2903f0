//! Sub-agents: who they are. The `task` tool sets them to work.

pub(crate) mod task;

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::frontmatter::{self, Names, Skipped};

/// The name of the tool that sets sub-agents to work.
pub const TASK_TOOL: &str = "task";

/// The sub-agent that is always there, and in no list.
pub const DEFAULT_SUBAGENT: &str = "default";

/// A kind of sub-agent: `<folder>/<name>.md`, its instructions behind frontmatter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subagent {
    /// Its name; the stem of its file where it says none.
    pub name: String,
    /// What it is good for.
    pub description: String,
    /// Its instructions.
    pub content: String,
    /// The tools it may have at most; all of its parent where nothing is said.
    pub tools: Option<Vec<String>>,
    /// Tools that it does not get.
    pub disallowed_tools: Vec<String>,
    /// The skills it is told of.
    pub skills: Vec<String>,
    /// Its model; that of its parent where nothing is said.
    pub model: Option<String>,
    /// The provider of that model.
    pub provider: Option<String>,
    /// Its thinking level; that of its parent where nothing is said.
    pub effort: Option<String>,
    /// Its maximum of turns.
    pub max_turns: Option<u32>,
}

impl Subagent {
    /// The one that is always there.
    pub fn default_kind() -> Subagent {
        Subagent {
            name: DEFAULT_SUBAGENT.to_owned(),
            description: "Works on a task with the tools of its parent.".to_owned(),
            content: "You are a subagent. Do the task you are given with the tools you have. \
                      Your last message goes back to the agent that asked: let it hold all \
                      that matters, and nothing else."
                .to_owned(),
            ..Subagent::default()
        }
    }

    /// Whether a tool of the parent goes to it.
    pub fn may_use(&self, tool: &str) -> bool {
        let listed = self.tools.as_ref().is_none_or(|tools| tools.iter().any(|name| name == tool));
        listed && !self.disallowed_tools.iter().any(|name| name == tool)
    }
}

/// The sub-agents of some folders.
#[derive(Clone, Debug, Default)]
pub struct Subagents {
    list: Vec<Subagent>,
    /// Files that were left out.
    pub skipped: Vec<Skipped>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Front {
    name: Option<String>,
    description: Option<String>,
    tools: Option<Names>,
    #[serde(default, alias = "disallowed_tools")]
    disallowed_tools: Names,
    #[serde(default)]
    skills: Names,
    model: Option<String>,
    provider: Option<String>,
    effort: Option<String>,
    #[serde(alias = "max_turns")]
    max_turns: Option<u32>,
}

impl Subagents {
    /// Where a workspace keeps its sub-agents.
    pub fn default_folders(workspace: &Path) -> Vec<PathBuf> {
        vec![
            workspace.join(forkwood::workspace::FOLDER).join("agents"),
            workspace.join(".agents").join("agents"),
        ]
    }

    /// Looks through folders, not deeper. A name counts once: the first folder wins.
    pub fn discover(folders: &[PathBuf]) -> Subagents {
        let mut found = Subagents::default();
        for folder in folders {
            match frontmatter::entries(folder) {
                Ok(paths) => {
                    for path in paths {
                        found.look_at(&path);
                    }
                }
                Err(skipped) => found.skipped.push(skipped),
            }
        }
        found
    }

    /// These and no others.
    pub fn of(list: Vec<Subagent>) -> Subagents {
        Subagents { list, skipped: Vec::new() }
    }

    fn look_at(&mut self, path: &Path) {
        let readme = path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("readme.md"));
        if readme || path.extension().is_none_or(|ext| ext != "md") || !path.is_file() {
            return;
        }
        let skipped = |reason: String| Skipped { path: path.to_path_buf(), reason };
        let (front, content) = match frontmatter::read::<Front>(path) {
            Ok(read) => read,
            Err(reason) => return self.skipped.push(skipped(reason)),
        };
        let Some(description) = front.description.filter(|text| !text.trim().is_empty()) else {
            return self.skipped.push(skipped("has no description".to_owned()));
        };
        let name = front.name.unwrap_or_else(|| frontmatter::stem(path));
        if self.list.iter().any(|agent| agent.name == name) {
            return self.skipped.push(skipped(format!("there is a sub-agent {name} already")));
        }
        self.list.push(Subagent {
            name,
            description,
            content,
            tools: front.tools.map(|names| names.0),
            disallowed_tools: front.disallowed_tools.0,
            skills: front.skills.0,
            model: front.model,
            provider: front.provider,
            effort: front.effort,
            max_turns: front.max_turns,
        });
    }

    /// The one of that name; the default one where none has its name.
    pub fn get(&self, name: &str) -> Option<Subagent> {
        let found = self.list.iter().find(|agent| agent.name == name).cloned();
        found.or_else(|| (name == DEFAULT_SUBAGENT).then(Subagent::default_kind))
    }

    /// All of them, but for the default one.
    pub fn list(&self) -> &[Subagent] {
        &self.list
    }
}
