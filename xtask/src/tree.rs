//! The files of the repository, read once and handed to every rule.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

/// A file: its path from the root of the repository, with `/`, and its bytes.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
}

impl File {
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    pub(crate) fn extension(&self) -> &str {
        self.name().rsplit_once('.').map_or("", |(_, end)| end)
    }

    /// Line numbers from 1, and the bytes of each line without its LF.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let body = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        let empty = self.bytes.is_empty();
        (1..).zip(body.split(|byte| *byte == b'\n')).filter(move |_| !empty)
    }
}

/// All files, in order of their paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    files: Vec<File>,
}

impl Tree {
    /// What git tracks, and what it would track: new files that no ignore rule names.
    pub(crate) fn from_git(root: &Path) -> io::Result<Self> {
        let output = git(root).args(["ls-files", "-z", "-co", "--exclude-standard"]).output()?;
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr);
            return Err(io::Error::other(format!("git ls-files: {}", reason.trim_end())));
        }
        let mut files = Vec::new();
        for raw in output.stdout.split(|byte| *byte == 0) {
            let Ok(path) = str::from_utf8(raw) else {
                let shown = String::from_utf8_lossy(raw);
                return Err(io::Error::other(format!("file name is not UTF-8: {shown:?}")));
            };
            let full = root.join(path);
            // Links are judged where they lead; a deleted file is still in git's list.
            let regular = fs::symlink_metadata(&full).is_ok_and(|found| found.is_file());
            if !path.is_empty() && regular {
                let bytes = fs::read(&full)
                    .map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))?;
                files.push(File { path: path.to_owned(), bytes });
            }
        }
        Ok(Self::new(files))
    }

    pub(crate) fn new(mut files: Vec<File>) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|a, b| a.path == b.path);
        Self { files }
    }

    /// A tree of a few short files, for tests.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        Self::new(
            files
                .iter()
                .map(|(path, text)| File {
                    path: (*path).to_owned(),
                    bytes: text.as_bytes().to_vec(),
                })
                .collect(),
        )
    }

    pub(crate) fn files(&self) -> &[File] {
        &self.files
    }

    pub(crate) fn get(&self, path: &str) -> Option<&File> {
        let at = self.files.binary_search_by(|file| file.path.as_str().cmp(path));
        at.ok().and_then(|index| self.files.get(index))
    }
}

/// Git in `root`, whatever repository a hook that started us was working on.
fn git(root: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(root);
    for name in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"] {
        command.env_remove(name);
    }
    command
}

#[cfg(test)]
mod tests;
