//! `edit`: a text in a file, for another.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{get_text, put_file};
use crate::tool::{Access, FnTool, ToolFailure, ToolOutput, Workspace};

#[derive(Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The file, relative to the workspace.
    path: String,
    /// The text to replace, exactly as it stands in the file.
    #[serde(alias = "old_text", alias = "oldText")]
    old: String,
    /// The text to put there.
    #[serde(alias = "new_text", alias = "newText")]
    new: String,
    /// Replace every occurrence, and not demand that there is just one.
    #[serde(default)]
    all: bool,
}

pub(super) fn tool(workspace: Workspace) -> FnTool<Arguments> {
    let description = "Replaces a text in a file. It must stand there exactly so, and once.";
    FnTool::new("edit", description, move |wanted: Arguments, _run| {
        let workspace = workspace.clone();
        async move {
            let path = workspace.resolve(&wanted.path, Access::Write)?;
            let failed = |what: &str| ToolFailure(format!("{}: {what}", wanted.path));
            if wanted.old.is_empty() {
                return Err(failed("the text to replace is empty"));
            }
            let text = get_text(&path, &wanted.path)?;
            if text.contains('\u{fffd}') && std::fs::read(&path)? != text.as_bytes() {
                return Err(failed("is not UTF-8: an edit would damage it"));
            }
            let count = text.matches(&wanted.old).count();
            match count {
                0 => return Err(failed("the text to replace does not stand there")),
                1 => {}
                _ if wanted.all => {}
                _ => {
                    return Err(failed(&format!(
                        "the text to replace stands there {count} times: give more of what is \
                         around it, or set `all`"
                    )));
                }
            }
            let changed = text.replace(&wanted.old, &wanted.new);
            put_file(&path, changed.as_bytes()).map_err(|error| failed(&error.to_string()))?;
            let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
            Ok(ToolOutput::text(format!("Replaced {times} in {}", workspace.shown(&path))))
        }
    })
}
