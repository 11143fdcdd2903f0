//! `read`: a text file, or some lines of it.

use schemars::JsonSchema;
use serde::Deserialize;

use super::get_text;
use crate::tool::{Access, FnTool, Replay, ToolOutput, Workspace};

/// At most so many lines.
const LINES: usize = 2000;
/// At most so many bytes.
const BYTES: usize = 50 * 1024;

#[derive(Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The file, relative to the workspace.
    path: String,
    /// The first line, from 1 on.
    #[serde(default)]
    offset: Option<usize>,
    /// How many lines.
    #[serde(default)]
    limit: Option<usize>,
}

pub(super) fn tool(workspace: Workspace) -> FnTool<Arguments> {
    let description = "Reads a text file. Long files come in parts: go on with `offset`.";
    FnTool::new("read", description, move |wanted: Arguments, _run| {
        let workspace = workspace.clone();
        async move {
            let path = workspace.resolve(&wanted.path, Access::Read)?;
            let text = get_text(&path, &wanted.path)?;
            let first = wanted.offset.unwrap_or(1).max(1) - 1;
            let count = wanted.limit.unwrap_or(LINES).min(LINES);
            let total = text.lines().count();
            let mut part = String::new();
            let mut taken = 0;
            for line in text.split_inclusive('\n').skip(first).take(count) {
                if taken > 0 && part.len() + line.len() > BYTES {
                    break;
                }
                match line.char_indices().find(|(at, _)| *at >= BYTES) {
                    Some((end, _)) => part.push_str(&line[..end]),
                    None => part.push_str(line),
                }
                taken += 1;
            }
            let last = first + taken;
            if last < total {
                part.push_str(&format!(
                    "\n[lines {}-{last} of {total}; go on with offset {}]",
                    first + 1,
                    last + 1
                ));
            }
            Ok(ToolOutput::text(part))
        }
    })
    .parallel()
    .replay(Replay::Safe)
}
