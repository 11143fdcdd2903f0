//! Folders for the tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use forkwood::conversation::{ConversationMessage, ConversationStore};
use forkwood::storage::disk::SimDisk;
use forkwood::{ManualClock, Timestamp};
use forkwood_formats::picoclaw::{FolderOptions, PicoConversations, decode};
use pollster::block_on as run;

pub(crate) const FOLDER: &str = "/sessions";

/// The folders with cases: those of the repository, and others where they are there.
pub(crate) fn cases() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for folder in [here.join("fixtures/picoclaw"), here.join("../shared/cases/picoclaw/files")] {
        let Ok(names) = std::fs::read_dir(&folder) else { continue };
        let paths = names.map(|name| name.unwrap().path()).filter(|path| path.is_dir());
        found.extend(paths);
    }
    found.sort();
    assert!(found.len() >= 8);
    found
}

/// A case on a disk in memory.
pub(crate) fn load(case: &Path) -> SimDisk {
    let disk = SimDisk::new();
    for name in std::fs::read_dir(case.join("sessions")).unwrap() {
        let path = name.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        disk.put(&Path::new(FOLDER).join(path.file_name().unwrap()), &bytes);
    }
    disk
}

pub(crate) fn options(disk: &SimDisk) -> FolderOptions {
    FolderOptions {
        disk: Arc::new(disk.clone()),
        clock: Arc::new(ManualClock::new(Timestamp::from_micros(1_800_000_000_500_000))),
        lock_wait: Duration::ZERO,
    }
}

pub(crate) fn store(disk: &SimDisk) -> PicoConversations {
    PicoConversations::open_with(Path::new(FOLDER), options(disk))
}

pub(crate) fn file(disk: &SimDisk, name: &str) -> Option<String> {
    disk.bytes(&Path::new(FOLDER).join(name)).map(|bytes| String::from_utf8(bytes).unwrap())
}

pub(crate) fn said(line: &str) -> ConversationMessage {
    decode(line).unwrap().message
}

/// The texts of a history.
pub(crate) fn texts(store: &PicoConversations, key: &str) -> Vec<String> {
    let history = run(store.get_history(key)).unwrap();
    history.iter().map(|one| one.message.content.text().to_string()).collect()
}
