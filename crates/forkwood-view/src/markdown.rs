//! A conversation as Markdown, for people.

use forkwood_core::{Entry, EntryId, Role, Text};

use crate::sanitise::{self, Layout};
use crate::summary;
use crate::transcript::{self, Block, BlockKind, Limits, Part};

/// The heading of a transcript.
pub fn title(title: Option<&Text>) -> String {
    let title = title.filter(|title| !title.is_empty());
    let title = title.map(|title| sanitise::text(title, Layout::Line).into_owned());
    format!("# {}\n", title.as_deref().unwrap_or("Conversation"))
}

/// The heading of a branch that leaves the conversation behind an entry, or at its start.
pub fn branch(number: usize, from: Option<&Entry>) -> String {
    match from {
        Some(from) => {
            let from = summary::entry(from, 60);
            format!("\n---\n\n# Branch {number}, behind: {}\n", sanitise::line(&from))
        }
        None => format!("\n---\n\n# Branch {number}, from the start\n"),
    }
}

/// Entries of a path, one after the other, with the label of each. Nothing is cut.
pub fn entries<'e>(
    entries: impl IntoIterator<Item = &'e Entry>,
    label: impl Fn(&EntryId) -> Option<Text>,
) -> String {
    let mut out = String::new();
    for entry in entries {
        if let Some(block) = transcript::block(entry, Limits::NONE) {
            write_block(&mut out, &block, label(&entry.id).as_ref());
        }
    }
    out
}

fn write_block(out: &mut String, block: &Block, label: Option<&Text>) {
    let label = label
        .map(|label| format!(" [{}]", sanitise::text(label, Layout::Line)))
        .unwrap_or_default();
    match &block.kind {
        BlockKind::Speaker { role, name, failed } => {
            let role = role.as_text().to_string_lossy().into_owned();
            let name = name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
            let failed = if *failed { ", failed" } else { "" };
            out.push_str(&format!("\n## {}{name}{failed}{label}\n", sanitise::line(&role)));
        }
        BlockKind::Divider(title) => out.push_str(&format!("\n---\n\n## {title}{label}\n")),
        BlockKind::Note(note) => out.push_str(&format!("\n*{note}*{label}\n")),
    }
    for part in &block.parts {
        match part {
            Part::Text(text) if is_tool(block) => fenced(out, &text.text),
            Part::Text(text) => out.push_str(&format!("\n{}\n", text.text.trim_end())),
            Part::Thinking(text) => {
                out.push('\n');
                for line in text.text.lines() {
                    out.push_str(format!("> {line}").trim_end());
                    out.push('\n');
                }
            }
            Part::ToolCall { name, arguments } => {
                out.push_str(&format!("\nCalls `{name}`:\n"));
                fenced(out, &arguments.text);
            }
            Part::Image { mime_type, .. } => out.push_str(&format!("\n[image, {mime_type}]\n")),
            Part::Other(json) => fenced(out, &json.text),
        }
    }
}

fn is_tool(block: &Block) -> bool {
    matches!(&block.kind, BlockKind::Speaker { role: Role::Tool, .. })
}

/// A fence longer than any in the text.
fn fenced(out: &mut String, text: &str) {
    let ticks = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(ticks.max(2) + 1);
    out.push_str(&format!("\n{fence}\n{}\n{fence}\n", text.trim_end()));
}

#[cfg(test)]
mod tests;
