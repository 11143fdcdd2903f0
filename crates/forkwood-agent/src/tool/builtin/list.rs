//! `list`: the files of a folder.

use ignore::WalkBuilder;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tool::{Access, FnTool, Replay, ToolFailure, ToolOutput, Workspace};

/// At most so many names.
const NAMES: usize = 1000;

#[derive(Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The folder, relative to the workspace; the workspace itself where absent.
    #[serde(default)]
    path: Option<String>,
    /// How deep to look, 1 by default.
    #[serde(default)]
    depth: Option<usize>,
}

pub(super) fn tool(workspace: Workspace) -> FnTool<Arguments> {
    let description = "Lists a folder, without hidden and git-ignored files. Folders end with /.";
    FnTool::new("list", description, move |wanted: Arguments, run| {
        let workspace = workspace.clone();
        async move {
            let asked = wanted.path.as_deref().unwrap_or(".");
            let folder = workspace.resolve(asked, Access::Read)?;
            if !folder.is_dir() {
                return Err(ToolFailure(format!("{asked}: is no folder")));
            }
            let walk = WalkBuilder::new(&folder)
                .max_depth(Some(wanted.depth.unwrap_or(1).clamp(1, 32)))
                .follow_links(false)
                .require_git(false)
                .sort_by_file_name(std::cmp::Ord::cmp)
                .build();
            let mut names = String::new();
            for (count, entry) in walk.filter_map(Result::ok).skip(1).enumerate() {
                if run.cancel.is_cancelled() || count >= NAMES {
                    names.push_str(&format!("[more than {NAMES} names]\n"));
                    break;
                }
                names.push_str(&workspace.shown(entry.path()));
                let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                names.push_str(if folder { "/\n" } else { "\n" });
            }
            Ok(ToolOutput::text(if names.is_empty() { "(empty)".to_owned() } else { names }))
        }
    })
    .parallel()
    .replay(Replay::Safe)
}
