//! A naive reader of Pi's files, enough to plan compactions of them.
#![allow(dead_code, clippy::unwrap_used, missing_docs)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use forkwood_core::{Entry, EntryId, FoldRules};
use forkwood_storage::jsonl::{FileStart, LineContext, ParentName};

pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) entries: Vec<Entry>,
    pub(crate) rules: FoldRules,
    pub(crate) dialect: &'static str,
}

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// Folders with Pi's files: those of the repository, and larger ones where they are at hand.
pub(crate) fn folders() -> Vec<PathBuf> {
    let mut out = vec![fixtures().join("pi")];
    out.extend(std::env::var_os("FORKWOOD_CASES").map(|dir| Path::new(&dir).join("pi")));
    out
}

pub(crate) fn files() -> Vec<PathBuf> {
    let mut out = Vec::new();
    for folder in folders() {
        for item in std::fs::read_dir(folder).unwrap() {
            let path = item.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if name.ends_with(".jsonl") && !name.contains("expected") && !name.starts_with('H') {
                out.push(path);
            }
        }
    }
    out.sort();
    out
}

pub(crate) fn read(path: &Path) -> File {
    let text = String::from_utf8(std::fs::read(path).unwrap()).unwrap();
    let lines: Vec<(u64, &[u8])> =
        text.lines().enumerate().map(|(at, line)| (at as u64 + 1, line.as_bytes())).collect();
    let mut start = Vec::new();
    for line in lines.iter().take(20) {
        start.push((line.0, &line.1[..line.1.len().min(3_000)]));
    }
    let start = FileStart { path, lines: &start };
    let found = forkwood_formats::formats().iter().find_map(|f| f.recognise(&start)).unwrap();
    let dialect = found.dialect;
    let mut entries: Vec<Entry> = Vec::new();
    let mut line_of: Vec<u64> = Vec::new();
    for (number, line) in &lines {
        let known = line_of.clone();
        let lookup = |ordinal: u64| known.get(ordinal as usize).copied();
        let context = LineContext { line: *number, ordinal: known.len() as u64, line_of: &lookup };
        let mut heads = Vec::new();
        dialect.heads(line, &context, false, &mut heads).unwrap();
        for head in heads {
            line_of.push(*number);
            if head.header {
                continue;
            }
            let record = line[head.span.clone()].to_vec();
            let mut entry = dialect.decode(&record, &context).unwrap().entry;
            entry.id = EntryId::new(&head.id);
            entry.parent_id = match &head.parent {
                ParentName::Root => None,
                ParentName::Named(id) => Some(EntryId::new(id)),
                ParentName::Previous => entries.last().map(|entry| entry.id.clone()),
            };
            entries.push(entry);
        }
    }
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    File { name, entries, rules: dialect.rules(), dialect: dialect.name() }
}

impl File {
    pub(crate) fn path_to(&self, leaf: &EntryId) -> Vec<Entry> {
        let by_id: HashMap<&EntryId, &Entry> = self.entries.iter().map(|e| (&e.id, e)).collect();
        let mut path = Vec::new();
        let mut next = Some(leaf);
        while let Some(entry) = next.and_then(|id| by_id.get(id)) {
            path.push((*entry).clone());
            next = entry.parent_id.as_ref();
        }
        path.reverse();
        path
    }

    pub(crate) fn path(&self) -> Vec<Entry> {
        self.entries.last().map(|last| self.path_to(&last.id)).unwrap_or_default()
    }
}
