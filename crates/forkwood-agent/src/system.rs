//! The instructions of an agent: never stored, built anew for each agent and each reset.

use crate::skill::Skills;
use crate::subagent::Subagents;

/// The prompt, the skills and the sub-agents, those that there are, with empty lines between.
pub fn system_prompt(prompt: &str, skills: &Skills, subagents: &Subagents) -> String {
    let skills = list(
        "available_skills",
        "skill",
        skills.list().iter().map(|skill| {
            let path = skill.path.to_string_lossy().into_owned();
            vec![
                ("name", skill.name.clone()),
                ("description", skill.description.clone()),
                ("location", path),
            ]
        }),
    );
    let subagents = list(
        "available_agents",
        "agent",
        subagents.list().iter().map(|agent| {
            vec![("name", agent.name.clone()), ("description", agent.description.clone())]
        }),
    );
    let parts = [prompt.trim().to_owned(), skills, subagents];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn list(
    outer: &str,
    inner: &str,
    items: impl Iterator<Item = Vec<(&'static str, String)>>,
) -> String {
    let mut text = String::new();
    for item in items {
        text.push_str(&format!("  <{inner}>\n"));
        for (tag, value) in item {
            text.push_str(&format!("    <{tag}>{}</{tag}>\n", escaped(&value)));
        }
        text.push_str(&format!("  </{inner}>\n"));
    }
    match text.is_empty() {
        true => text,
        false => format!("<{outer}>\n{text}</{outer}>"),
    }
}

/// A description must not end its own tag.
fn escaped(text: &str) -> String {
    text.trim().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
