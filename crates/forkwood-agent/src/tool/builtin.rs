//! Tools that come with the crate.

mod bash;
mod confine;
mod edit;
mod list;
mod read;
mod search;
mod write;

use std::sync::Arc;

pub use bash::BashLimits;

use super::{Tool, Workspace};

/// The tools that only look: `read`, `list`, `search`.
pub fn reading(workspace: &Workspace) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(read::tool(workspace.clone())),
        Arc::new(list::tool(workspace.clone())),
        Arc::new(search::tool(workspace.clone())),
    ]
}

/// The tools that change files: `write`, `edit`.
pub fn writing(workspace: &Workspace) -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(write::tool(workspace.clone())), Arc::new(edit::tool(workspace.clone()))]
}

/// The tool that runs commands, `bash`: only for who allows it. Commands start in the workspace,
/// write nowhere else, and get the given environment and no more.
pub fn bash(workspace: &Workspace, limits: BashLimits) -> Arc<dyn Tool> {
    Arc::new(bash::Bash::new(workspace.clone(), limits))
}

/// Writes a file whole: beside its place, then into it, with the rights that it had.
fn put_file(path: &std::path::Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder)?;
    // A name that nobody can guess, and that must not be there: a command may have put a link
    // out of the workspace in the place of one that can be guessed.
    let mut builder = tempfile::Builder::new();
    builder.prefix(".forkwood-").suffix(".tmp");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    if let Ok(meta) = path.metadata() {
        file.as_file().set_permissions(meta.permissions())?;
    }
    file.persist(path)?;
    Ok(())
}

/// The largest file that is read whole.
const LARGEST: u64 = 16 * 1024 * 1024;

/// Reads a text file whole.
fn get_text(path: &std::path::Path, shown: &str) -> Result<String, super::ToolFailure> {
    let failed = |what: &dyn std::fmt::Display| super::ToolFailure(format!("{shown}: {what}"));
    let meta = path.metadata().map_err(|error| failed(&error))?;
    if !meta.is_file() {
        return Err(failed(&"is no file"));
    }
    if meta.len() > LARGEST {
        return Err(failed(&format!("larger than {LARGEST} bytes")));
    }
    let bytes = std::fs::read(path).map_err(|error| failed(&error))?;
    if bytes.contains(&0) {
        return Err(failed(&"is no text file"));
    }
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}
