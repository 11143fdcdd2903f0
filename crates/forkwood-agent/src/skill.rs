//! Skills: instructions that a model reads when it needs them.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::frontmatter::{self, Skipped};

/// A skill: `<folder>/<name>/SKILL.md`, with a name and a description in its frontmatter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Its name; that of its folder where it says none.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// The instructions.
    pub content: String,
    /// The file, for the model to read.
    pub path: PathBuf,
}

/// The skills of some folders.
#[derive(Clone, Debug, Default)]
pub struct Skills {
    list: Vec<Skill>,
    /// Files that were left out.
    pub skipped: Vec<Skipped>,
}

#[derive(Deserialize)]
struct Front {
    name: Option<String>,
    description: Option<String>,
}

impl Skills {
    /// Where a workspace keeps its skills.
    pub fn default_folders(workspace: &Path) -> Vec<PathBuf> {
        vec![
            workspace.join(forkwood::workspace::FOLDER).join("skills"),
            workspace.join(".agents").join("skills"),
        ]
    }

    /// Looks through folders. A name counts once: the first folder wins.
    pub fn discover(folders: &[PathBuf]) -> Skills {
        let mut skills = Skills::default();
        for folder in folders {
            match frontmatter::entries(folder) {
                Ok(paths) => {
                    for path in paths {
                        skills.look_at(&path);
                    }
                }
                Err(skipped) => skills.skipped.push(skipped),
            }
        }
        skills
    }

    fn look_at(&mut self, folder: &Path) {
        let path = folder.join("SKILL.md");
        if !path.is_file() {
            return;
        }
        let skipped = |reason: String| Skipped { path: path.clone(), reason };
        let (front, content) = match frontmatter::read::<Front>(&path) {
            Ok(read) => read,
            Err(reason) => return self.skipped.push(skipped(reason)),
        };
        let Some(description) = front.description.filter(|text| !text.trim().is_empty()) else {
            return self.skipped.push(skipped("has no description".to_owned()));
        };
        let name = front.name.unwrap_or_else(|| frontmatter::stem(folder));
        if self.get(&name).is_some() {
            return self.skipped.push(skipped(format!("there is a skill {name} already")));
        }
        self.list.push(Skill { name, description, content, path });
    }

    /// The one of that name.
    pub fn get(&self, name: &str) -> Option<&Skill> {
        self.list.iter().find(|skill| skill.name == name)
    }

    /// All of them.
    pub fn list(&self) -> &[Skill] {
        &self.list
    }

    /// Those of some names.
    #[must_use]
    pub fn selected(&self, names: &[String]) -> Skills {
        let list = self.list.iter().filter(|skill| names.contains(&skill.name)).cloned();
        Skills { list: list.collect(), skipped: Vec::new() }
    }
}
