//! Finding what can be taken in: a walk through files and folders.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use forkwood::Error;
use forkwood::storage::disk::{Disk, NodeKind};

use super::{Tool, Unit};

/// How deep folders are walked into.
const MAX_DEPTH: usize = 16;
/// Folders that hold no sessions of people, but many files.
const PASSED_OVER: &[&str] = &["node_modules", "target"];

/// What a walk found.
#[derive(Debug, Default)]
pub struct Found {
    /// What can be taken in, with the tool that knows it, in the order of the names.
    pub units: Vec<(Arc<dyn Tool>, Unit)>,
    /// Files that look like sessions, or were named by the caller, and no tool knows.
    pub unknown: Vec<PathBuf>,
    /// What could not be looked at.
    pub unreadable: Vec<(PathBuf, Error)>,
}

/// Looks for sessions of these tools at a path: a file, or a folder with those below it. Links
/// are followed at the path itself only. Nothing but the start of a file is read.
pub fn find(disk: &dyn Disk, path: &Path, tools: &[Arc<dyn Tool>]) -> Found {
    let mut found = Found::default();
    let mut todo = vec![(path.to_path_buf(), 0)];
    while let Some((path, depth)) = todo.pop() {
        let meta = match disk.meta(&path) {
            Ok(meta) => meta,
            Err(error) => {
                found.unreadable.push((path.clone(), Error::io(path, "look at it", error)));
                continue;
            }
        };
        if matches!(meta.kind, NodeKind::Link | NodeKind::Special) {
            if depth == 0 {
                found.unknown.push(path);
            }
            continue;
        }
        let claim = tools.iter().find_map(|tool| {
            let unit = tool.claim(disk, &path, &meta)?;
            Some((Arc::clone(tool), unit))
        });
        match (claim, meta.kind) {
            (Some(claimed), _) => {
                if !found.units.iter().rev().take(4).any(|(_, unit)| *unit == claimed.1) {
                    found.units.push(claimed);
                }
            }
            (None, NodeKind::Folder) if depth < MAX_DEPTH => match names(disk, &path) {
                Ok(names) => todo.extend(names.into_iter().rev().map(|name| (name, depth + 1))),
                Err(error) => {
                    found.unreadable.push((path.clone(), Error::io(path, "read", error)));
                }
            },
            (None, NodeKind::File) if depth == 0 || looks_like_one(&path) => {
                found.unknown.push(path);
            }
            (None, _) => {}
        }
    }
    found
}

fn looks_like_one(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// What is in a folder and may hold sessions, sorted.
fn names(disk: &dyn Disk, folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut names = disk.names(folder)?;
    names.sort();
    Ok(names
        .into_iter()
        .filter(|name| {
            let name = name.to_string_lossy();
            !name.starts_with('.') && !PASSED_OVER.contains(&name.as_ref())
        })
        .map(|name| folder.join(name))
        .collect())
}
