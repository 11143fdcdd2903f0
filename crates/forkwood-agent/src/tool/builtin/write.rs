//! `write`: a whole file.

use schemars::JsonSchema;
use serde::Deserialize;

use super::put_file;
use crate::tool::{Access, FnTool, ToolFailure, ToolOutput, Workspace};

#[derive(Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The file, relative to the workspace.
    path: String,
    /// All that it is to hold.
    content: String,
}

pub(super) fn tool(workspace: Workspace) -> FnTool<Arguments> {
    let description = "Writes a file, new or over what was there. Makes the folders it needs.";
    FnTool::new("write", description, move |wanted: Arguments, _run| {
        let workspace = workspace.clone();
        async move {
            let path = workspace.resolve(&wanted.path, Access::Write)?;
            if path.is_dir() {
                return Err(ToolFailure(format!("{}: is a folder", wanted.path)));
            }
            put_file(&path, wanted.content.as_bytes())
                .map_err(|error| ToolFailure(format!("{}: {error}", wanted.path)))?;
            let size = wanted.content.len();
            Ok(ToolOutput::text(format!("Wrote {size} bytes to {}", workspace.shown(&path))))
        }
    })
}
