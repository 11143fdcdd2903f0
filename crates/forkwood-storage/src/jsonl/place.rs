//! Where sessions lie: the folders of a store, any folder, or one file.

use std::path::{Path, PathBuf};

use forkwood_core::SessionId;

use crate::Problem;
use crate::disk::{Disk, NodeKind};

/// How deep a recursive folder is looked into.
const MAX_DEPTH: usize = 16;

/// The folder of the trash in a folder that is not a store.
pub(super) const FOREIGN_TRASH: &str = ".forkwood-trash";

#[derive(Clone, Debug)]
pub(super) enum Place {
    /// `root/sessions/*.jsonl`, with `root/blobs` and `root/trash`.
    Store(PathBuf),
    /// All session files of a folder.
    Folder { folder: PathBuf, recursive: bool },
    /// One file.
    File(PathBuf),
}

impl Place {
    /// The folder in which new sessions are made.
    pub(super) fn sessions(&self) -> PathBuf {
        match self {
            Place::Store(root) => root.join("sessions"),
            Place::Folder { folder, .. } => folder.clone(),
            Place::File(file) => file.parent().map(Path::to_path_buf).unwrap_or_default(),
        }
    }

    /// The root of the store in which the place lies. For one file it is told by the folders:
    /// `root/sessions/*.jsonl` and `root/sessions/<id>/subagents/*.jsonl`.
    pub(super) fn root(&self) -> Option<PathBuf> {
        let file = match self {
            Place::Store(root) => return Some(root.clone()),
            Place::Folder { .. } => return None,
            Place::File(file) => file,
        };
        let folder = file.parent()?;
        let sessions = match folder.file_name()?.to_str()? {
            "subagents" => folder.parent()?.parent()?,
            _ => folder,
        };
        (sessions.file_name()? == "sessions").then(|| sessions.parent().map(Path::to_path_buf))?
    }

    pub(super) fn trash(&self) -> PathBuf {
        match self {
            Place::Store(root) => root.join("trash"),
            _ => self.sessions().join(FOREIGN_TRASH),
        }
    }

    /// The session files that lie here, sub-agents' not included, in order of their names, and
    /// what is there and is none. Nothing is opened.
    pub(super) fn files(&self, disk: &dyn Disk) -> std::io::Result<(Vec<PathBuf>, Vec<Problem>)> {
        let (folder, recursive) = match self {
            Place::Store(root) => (root.join("sessions"), false),
            Place::Folder { folder, recursive } => (folder.clone(), *recursive),
            Place::File(file) => return Ok((vec![file.clone()], Vec::new())),
        };
        let mut found = Vec::new();
        let mut problems = Vec::new();
        let mut folders = vec![(folder, 0)];
        let mut first = true;
        while let Some((folder, depth)) = folders.pop() {
            let names = match disk.names(&folder) {
                Ok(names) => names,
                Err(error) if std::mem::take(&mut first) => {
                    if error.kind() == std::io::ErrorKind::NotFound
                        && matches!(self, Place::Store(_))
                    {
                        return Ok((found, problems));
                    }
                    return Err(error);
                }
                Err(error) => {
                    problems.push(Problem {
                        path: folder,
                        kind: "unreadable",
                        message: format!("the folder cannot be read: {error}"),
                    });
                    continue;
                }
            };
            first = false;
            for name in names {
                let path = folder.join(&name);
                let text = name.to_string_lossy();
                if text.starts_with('.') {
                    continue;
                }
                let is_session = text.ends_with(".jsonl");
                let kind = match disk.meta(&path) {
                    Ok(meta) => meta.kind,
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                    Err(error) => {
                        problems.push(Problem {
                            path,
                            kind: "unreadable",
                            message: error.to_string(),
                        });
                        continue;
                    }
                };
                match kind {
                    NodeKind::Folder if is_session => problems.push(Problem {
                        path,
                        kind: "folder",
                        message: "a folder with the name of a session file".to_owned(),
                    }),
                    NodeKind::Folder if recursive && depth < MAX_DEPTH => {
                        folders.push((path, depth + 1));
                    }
                    NodeKind::Folder => {}
                    _ if !is_session => {}
                    NodeKind::File => found.push(path),
                    NodeKind::Link => problems.push(Problem {
                        path,
                        kind: "link",
                        message: "a symbolic link; what it leads to is not read".to_owned(),
                    }),
                    NodeKind::Special => problems.push(Problem {
                        path,
                        kind: "special",
                        message: "a device or pipe with the name of a session file".to_owned(),
                    }),
                }
            }
        }
        found.sort();
        problems.sort_by(|a, b| a.path.cmp(&b.path));
        Ok((found, problems))
    }

    /// The folder of the sub-agents' sessions of a session.
    pub(super) fn subagents_of(&self, session: &SessionId) -> PathBuf {
        self.sessions().join(session.as_str()).join("subagents")
    }

    /// The sub-agents' session files of one session, or of all.
    pub(super) fn subagent_files(
        &self,
        disk: &dyn Disk,
        session: Option<&SessionId>,
    ) -> Vec<PathBuf> {
        let Place::Store(root) = self else { return Vec::new() };
        let folders: Vec<PathBuf> = match session {
            Some(session) => vec![self.subagents_of(session)],
            None => {
                let sessions = root.join("sessions");
                let names = disk.names(&sessions).unwrap_or_default();
                names.into_iter().map(|name| sessions.join(name).join("subagents")).collect()
            }
        };
        let mut found = Vec::new();
        for folder in folders {
            for name in disk.names(&folder).unwrap_or_default() {
                let path = folder.join(&name);
                let text = name.to_string_lossy();
                if text.starts_with("agent-")
                    && text.ends_with(".jsonl")
                    && disk.meta(&path).is_ok_and(|meta| meta.kind == NodeKind::File)
                {
                    found.push(path);
                }
            }
        }
        found.sort();
        found
    }
}
