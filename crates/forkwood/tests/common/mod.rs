//! What the tests of the facade share.

#![allow(dead_code, clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use forkwood::blocking::{Session, SessionStore};
use forkwood::storage::jsonl::{JsonlOptions, JsonlStorage};
use forkwood::storage::{Append, MemoryStorage};
use forkwood::{
    Body, Clock, Content, CreateOptions, Draft, EntryId, ManualClock, Message, Timestamp,
};
use tempfile::TempDir;

/// 2027-01-15, 08:00 UTC.
pub(crate) const START: Timestamp = Timestamp::from_millis(1_800_000_000_000);

pub(crate) const DAY: i64 = 24 * 3600 * 1_000_000;

/// A store on the real file system with a clock of its own.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    pub(crate) store: SessionStore,
    pub(crate) clock: Arc<ManualClock>,
}

impl Place {
    pub(crate) fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new(START));
        let store = store_at(folder.path(), &clock);
        Place { folder, store, clock }
    }

    /// Another store on the same folder, as another process would open it.
    pub(crate) fn again(&self) -> SessionStore {
        store_at(self.folder.path(), &self.clock)
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn create(&self) -> Session {
        self.store.create(CreateOptions::default()).unwrap()
    }

    pub(crate) fn sessions(&self) -> PathBuf {
        self.folder.path().join("sessions")
    }

    /// The names in a folder below the root, hidden ones left out, sorted.
    pub(crate) fn names(&self, below: &str) -> Vec<String> {
        let Ok(found) = std::fs::read_dir(self.folder.path().join(below)) else {
            return Vec::new();
        };
        let mut names: Vec<String> = found
            .map(|item| item.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| !name.starts_with('.'))
            .collect();
        names.sort();
        names
    }
}

pub(crate) fn store_at(root: &Path, clock: &Arc<ManualClock>) -> SessionStore {
    let clock = Arc::clone(clock) as Arc<dyn Clock>;
    let options = JsonlOptions::default().with_clock(Arc::clone(&clock));
    let storage = JsonlStorage::store(root, options).unwrap();
    forkwood::SessionStore::new(Arc::new(storage)).with_clock(clock).into()
}

pub(crate) fn memory() -> SessionStore {
    SessionStore::new(Arc::new(MemoryStorage::new().unwrap()))
}

/// A new session in memory.
pub(crate) fn session() -> Session {
    memory().create(CreateOptions::default()).unwrap()
}

pub(crate) fn file(session: &Session) -> PathBuf {
    session.facts().path.clone().unwrap()
}

pub(crate) fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// `role:text` of each message.
pub(crate) fn said(messages: &[Message]) -> Vec<String> {
    messages
        .iter()
        .map(|message| match &message.content {
            Content::Text(text) => format!("{}:{text}", message.role.as_text()),
            Content::Blocks(blocks) => {
                format!("{}:[{} blocks]", message.role.as_text(), blocks.len())
            }
        })
        .collect()
}

pub(crate) fn context(session: &Session) -> Vec<String> {
    said(session.context().unwrap().messages())
}

pub(crate) fn path_ids(session: &Session) -> Vec<EntryId> {
    session.current_path().unwrap().into_iter().map(|entry| entry.id).collect()
}

/// A question and an answer; gives both ids.
pub(crate) fn turn(session: &mut Session, n: u32) -> (EntryId, EntryId) {
    let question = session.append(Message::user(format!("q{n}"))).unwrap();
    let answer = session.append(Message::assistant(format!("a{n}"))).unwrap();
    (question, answer)
}

/// Writes past the checks of the API, as another program may.
pub(crate) fn write_raw(session: &mut Session, id: &str, body: impl Into<Body>) -> EntryId {
    let append = Append::any(vec![Draft::new(EntryId::new(id), body)]);
    let storage = session.inner().storage().clone();
    pollster::block_on(storage.append(session.id(), append)).unwrap();
    session.reload().unwrap();
    EntryId::new(id)
}
