//! `search`: a regular expression in files.

use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;
use regex::RegexBuilder;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::get_text;
use crate::tool::{Access, FnTool, Replay, ToolFailure, ToolOutput, Workspace};

/// At most so many lines.
const LINES: usize = 200;
/// Of a line at most so many characters.
const WIDTH: usize = 300;

#[derive(Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The regular expression, of Rust's `regex` crate.
    pattern: String,
    /// The file or folder, relative to the workspace; the workspace itself where absent.
    #[serde(default)]
    path: Option<String>,
    /// Only files that fit it, such as `*.rs` or `!*.lock`.
    #[serde(default)]
    glob: Option<String>,
    /// Whether upper and lower case are the same.
    #[serde(default)]
    ignore_case: bool,
}

pub(super) fn tool(workspace: Workspace) -> FnTool<Arguments> {
    let description =
        "Finds lines by a regular expression, in files that are neither hidden nor git-ignored.";
    FnTool::new("search", description, move |wanted: Arguments, run| {
        let workspace = workspace.clone();
        async move {
            let work = tokio::task::spawn_blocking(move || find(&workspace, &wanted, &run.cancel));
            work.await.map_err(ToolFailure::new)?
        }
    })
    .parallel()
    .replay(Replay::Safe)
}

fn find(
    workspace: &Workspace,
    wanted: &Arguments,
    cancel: &CancellationToken,
) -> Result<ToolOutput, ToolFailure> {
    let pattern = RegexBuilder::new(&wanted.pattern)
        .case_insensitive(wanted.ignore_case)
        .size_limit(1 << 20)
        .build()
        .map_err(ToolFailure::new)?;
    let asked = wanted.path.as_deref().unwrap_or(".");
    let place = workspace.resolve(asked, Access::Read)?;
    if !place.exists() {
        return Err(ToolFailure(format!("{asked}: is not there")));
    }
    let mut walk = WalkBuilder::new(&place);
    walk.follow_links(false).require_git(false).sort_by_file_name(std::cmp::Ord::cmp);
    if let Some(glob) = &wanted.glob {
        let mut only = OverrideBuilder::new(&place);
        only.add(glob).map_err(ToolFailure::new)?;
        walk.overrides(only.build().map_err(ToolFailure::new)?);
    }
    let mut found = String::new();
    let mut count = 0;
    for entry in walk.build().filter_map(Result::ok) {
        if cancel.is_cancelled() {
            return Err(ToolFailure::new("cancelled"));
        }
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let shown = workspace.shown(entry.path());
        let Ok(text) = get_text(entry.path(), &shown) else { continue };
        for (number, line) in text.lines().enumerate().filter(|(_, line)| pattern.is_match(line)) {
            if count == LINES {
                found.push_str(&format!("[more than {LINES} lines]\n"));
                return Ok(ToolOutput::text(found));
            }
            count += 1;
            let line: String = line.chars().take(WIDTH).collect();
            found.push_str(&format!("{shown}:{}: {line}\n", number + 1));
        }
    }
    Ok(ToolOutput::text(if found.is_empty() { "(nothing found)".to_owned() } else { found }))
}
