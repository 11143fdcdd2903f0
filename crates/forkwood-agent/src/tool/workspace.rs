//! Which files tools may touch.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::ToolFailure;
use crate::AgentError;

/// What a tool wants to do with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Look at it.
    Read,
    /// Make or change it.
    Write,
}

/// The folder in which tools work.
///
/// A path is looked up as the system would, links and `..` included, before it is judged: what
/// ends outside is refused. Another process that swaps a folder for a link between the check and
/// the use is not guarded against; that takes the system's own sandbox.
#[derive(Clone, Debug)]
pub struct Workspace(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    readable: Vec<PathBuf>,
    guarded: Vec<PathBuf>,
    confined: bool,
}

impl Workspace {
    /// A workspace to which tools are confined. Its `.forkwood` folder, where sessions lie, and
    /// `.git`, whose hooks and settings are programs that run later, may be read and not written.
    ///
    /// # Errors
    /// `io` where there is no such folder.
    pub fn new(root: &Path) -> Result<Workspace, AgentError> {
        let root = canonical(root)?;
        let guarded = vec![root.join(forkwood::workspace::FOLDER)];
        Ok(Workspace(Arc::new(Inner { root, readable: Vec::new(), guarded, confined: true })))
    }

    /// The same, and tools may read another folder, such as that of a skill.
    ///
    /// # Errors
    /// `io` where there is no such folder.
    pub fn readable(self, folder: &Path) -> Result<Workspace, AgentError> {
        let folder = canonical(folder)?;
        Ok(self.changed(|inner| inner.readable.push(folder)))
    }

    /// The same, and tools may not write a file or folder: one with sessions that lies elsewhere
    /// than in `.forkwood`.
    #[must_use]
    pub fn guarded(self, place: &Path) -> Workspace {
        let place = real_path(&self.0.root.join(place)).unwrap_or_else(|_| place.to_path_buf());
        self.changed(|inner| inner.guarded.push(place))
    }

    /// The same, and tools may touch whatever the process may.
    #[must_use]
    pub fn unconfined(self) -> Workspace {
        self.changed(|inner| inner.confined = false)
    }

    fn changed(self, change: impl FnOnce(&mut Inner)) -> Workspace {
        let mut inner = Inner {
            root: self.0.root.clone(),
            readable: self.0.readable.clone(),
            guarded: self.0.guarded.clone(),
            confined: self.0.confined,
        };
        change(&mut inner);
        Workspace(Arc::new(inner))
    }

    /// The folder itself, links resolved.
    pub fn root(&self) -> &Path {
        &self.0.root
    }

    /// A path as people know it: relative to the workspace where it lies in it.
    pub fn shown(&self, path: &Path) -> String {
        let shown = path.strip_prefix(&self.0.root).unwrap_or(path);
        match shown.as_os_str().is_empty() {
            true => ".".to_owned(),
            false => shown.to_string_lossy().into_owned(),
        }
    }

    /// Whether a path is, or lies in, the `.git` of a repository in the workspace.
    fn is_of_git(&self, real: &Path) -> bool {
        real.strip_prefix(&self.0.root).is_ok_and(|inside| {
            inside.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"))
        })
    }

    /// The place that a path of a model means.
    ///
    /// # Errors
    /// Where it lies outside, or cannot be looked up.
    pub fn resolve(&self, path: &str, access: Access) -> Result<PathBuf, ToolFailure> {
        if path.contains('\0') {
            return Err(ToolFailure::new("a path holds no NUL"));
        }
        let asked = self.0.root.join(path);
        let real = real_path(&asked).map_err(|error| ToolFailure(format!("{path}: {error}")))?;
        let within = |folder: &PathBuf| real.starts_with(folder);
        if access == Access::Write && self.0.guarded.iter().any(within) {
            return Err(ToolFailure(format!("{path}: sessions are not written by tools")));
        }
        if access == Access::Write && self.0.confined && self.is_of_git(&real) {
            return Err(ToolFailure(format!(
                "{path}: what belongs to git is not written by tools"
            )));
        }
        let allowed = !self.0.confined
            || within(&self.0.root)
            || (access == Access::Read && self.0.readable.iter().any(within));
        match allowed {
            true => Ok(real),
            false => Err(ToolFailure(format!("{path}: outside of the workspace"))),
        }
    }
}

fn canonical(path: &Path) -> Result<PathBuf, AgentError> {
    path.canonicalize().map_err(|source| AgentError::Io { path: path.to_path_buf(), source })
}

/// The path with every link followed; what does not exist yet stands behind what does.
fn real_path(path: &Path) -> std::io::Result<PathBuf> {
    let mut missing = Vec::new();
    let mut existing = path.to_path_buf();
    let mut real = loop {
        match existing.canonicalize() {
            Ok(real) => break real,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        // A link to nowhere: to make the file would make it where the link points.
        if existing.symlink_metadata().is_ok() {
            return Err(std::io::Error::new(ErrorKind::NotFound, "a link that leads nowhere"));
        }
        match existing.components().next_back() {
            Some(Component::Normal(name)) => missing.push(name.to_owned()),
            _ => return Err(ErrorKind::NotFound.into()),
        }
        if !existing.pop() {
            return Err(ErrorKind::NotFound.into());
        }
    };
    real.extend(missing.into_iter().rev());
    Ok(real)
}
