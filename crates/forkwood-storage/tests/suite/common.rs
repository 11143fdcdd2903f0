//! Storages to test, and short ways to say what is written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use forkwood_core::entry::{Compaction, SessionInfo};
use forkwood_core::{
    Body, Clock, Diagnostic, DiagnosticKind, Draft, Entry, EntryId, Json, Lane, ManualClock,
    Message, SessionId, Timestamp,
};
use forkwood_storage::disk::SimDisk;
use forkwood_storage::jsonl::{JsonlOptions, JsonlStorage};
use forkwood_storage::{
    Append, Appended, Durability, Expect, Head, LaneState, MemoryStorage, NewSession, OnConflict,
    PathStop, Result, SessionStorage, StorageError,
};

pub(crate) use pollster::block_on as run;

/// One storage under test.
pub(crate) struct Store {
    pub(crate) name: &'static str,
    pub(crate) storage: Box<dyn SessionStorage>,
    pub(crate) clock: Arc<ManualClock>,
    sim: Option<SimDisk>,
    dir: Option<tempfile::TempDir>,
}

pub(crate) fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(Timestamp::from_millis(1_700_000_000_000)))
}

pub(crate) fn options(clock: &Arc<ManualClock>) -> JsonlOptions {
    let clock: Arc<dyn Clock> = clock.clone();
    JsonlOptions::default().with_clock(clock)
}

pub(crate) const ROOT: &str = "/store";

/// A storage on a simulated disk.
pub(crate) fn on(disk: &SimDisk) -> JsonlStorage {
    let options = options(&clock()).with_disk(Arc::new(disk.clone()));
    JsonlStorage::store(Path::new(ROOT), options).unwrap()
}

/// Where a simulated disk keeps a session.
pub(crate) fn sim_path(id: &SessionId) -> PathBuf {
    Path::new(ROOT).join("sessions").join(format!("{id}.jsonl"))
}

impl Store {
    pub(crate) fn memory() -> Store {
        let clock = clock();
        let shared: Arc<dyn Clock> = clock.clone();
        Store {
            name: "memory",
            storage: Box::new(MemoryStorage::with_clock(shared).unwrap()),
            clock,
            sim: None,
            dir: None,
        }
    }

    pub(crate) fn sim() -> Store {
        let disk = SimDisk::new();
        let clock = clock();
        let options = options(&clock).with_disk(Arc::new(disk.clone()));
        let storage = JsonlStorage::store(Path::new(ROOT), options).unwrap();
        Store { name: "sim", storage: Box::new(storage), clock, sim: Some(disk), dir: None }
    }

    pub(crate) fn real() -> Store {
        let dir = tempfile::tempdir().unwrap();
        let clock = clock();
        let storage = JsonlStorage::store(&dir.path().join("root"), options(&clock)).unwrap();
        Store { name: "real", storage: Box::new(storage), clock, sim: None, dir: Some(dir) }
    }

    /// The root folder of a storage on the real disk.
    pub(crate) fn root(&self) -> PathBuf {
        self.dir.as_ref().unwrap().path().join("root")
    }

    /// Another storage on the same files; `None` where there are no files.
    pub(crate) fn second(&self) -> Option<Box<dyn SessionStorage>> {
        let options = options(&self.clock);
        let (root, options) = match (&self.sim, &self.dir) {
            (Some(disk), _) => (PathBuf::from(ROOT), options.with_disk(Arc::new(disk.clone()))),
            (_, Some(_)) => (self.root(), options),
            _ => return None,
        };
        Some(Box::new(JsonlStorage::store(&root, options).unwrap()))
    }

    /// The bytes of a session's file; `None` where there are no files.
    pub(crate) fn bytes(&self, id: &SessionId) -> Option<Vec<u8>> {
        let path = run(self.storage.facts(id)).unwrap().path?;
        match &self.sim {
            Some(disk) => disk.bytes(&path),
            None => Some(std::fs::read(path).unwrap()),
        }
    }

    pub(crate) fn session(&self, name: &str) -> SessionId {
        create(self.storage.as_ref(), name)
    }
}

/// How many random cases: few here, many under `FORKWOOD_TEST_FULL`.
pub(crate) fn cases(few: u32) -> u32 {
    if std::env::var_os("FORKWOOD_TEST_FULL").is_some() { few * 50 } else { few }
}

/// Runs a test over every storage.
pub(crate) fn each(test: impl Fn(&Store)) {
    for store in [Store::memory(), Store::sim(), Store::real()] {
        println!("storage: {}", store.name);
        test(&store);
    }
}

pub(crate) fn sid(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

pub(crate) fn create(storage: &dyn SessionStorage, name: &str) -> SessionId {
    let new = NewSession { id: Some(sid(name)), ..NewSession::default() };
    run(storage.create(new)).unwrap().id
}

/// An id as the program makes them: 32 hex digits.
pub(crate) fn id(n: u64) -> EntryId {
    EntryId::from(format!("0192f0c1a2b37000{n:016x}"))
}

pub(crate) fn user(n: u64, text: &str) -> Draft {
    Draft::new(id(n), Message::user(text))
}

pub(crate) fn answer(n: u64, text: &str) -> Draft {
    Draft::new(id(n), Message::assistant(text))
}

pub(crate) fn leaf(n: u64, to: &EntryId) -> Draft {
    Draft::new(id(n), Body::Leaf { leaf_id: Some(to.clone()) })
}

pub(crate) fn label(n: u64, text: &str, target: Option<&EntryId>) -> Draft {
    Draft::new(id(n), Body::Label { label: Some(text.into()), target_id: target.cloned() })
}

pub(crate) fn title(n: u64, text: &str) -> Draft {
    Draft::new(id(n), SessionInfo { title: Some(text.into()), ..SessionInfo::default() })
}

pub(crate) fn compaction(n: u64, summary: &str, first_kept: Option<&EntryId>) -> Draft {
    let compaction = Compaction {
        summary: summary.into(),
        first_kept_entry_id: first_kept.cloned(),
        ..Compaction::default()
    };
    Draft::new(id(n), compaction)
}

pub(crate) fn custom(n: u64, data: &str, aside: bool) -> Draft {
    let data = Json::parse(data).unwrap();
    Draft::new(id(n), Body::Custom { namespace: "test".into(), data, aside })
}

pub(crate) fn lane(name: &str) -> Lane {
    Lane::new(name).unwrap()
}

pub(crate) fn write(drafts: Vec<Draft>) -> Append {
    Append { durability: Durability::Sync, ..Append::any(drafts) }
}

pub(crate) fn at(expect: &EntryId, drafts: Vec<Draft>) -> Append {
    Append { expect: Expect::At(expect.clone()), ..Append::any(drafts) }
}

pub(crate) fn branching(append: Append) -> Append {
    Append { on_conflict: OnConflict::Branch, ..append }
}

pub(crate) fn append(
    storage: &dyn SessionStorage,
    session: &SessionId,
    drafts: Vec<Draft>,
) -> Appended {
    run(storage.append(session, write(drafts))).unwrap()
}

pub(crate) fn kind<T: std::fmt::Debug>(result: Result<T>) -> &'static str {
    result.map_err(|error: StorageError| error.kind()).unwrap_err().as_str()
}

pub(crate) fn heads(storage: &dyn SessionStorage, session: &SessionId) -> Vec<Head> {
    run(storage.heads(session)).unwrap()
}

pub(crate) fn ids(storage: &dyn SessionStorage, session: &SessionId) -> Vec<EntryId> {
    heads(storage, session).into_iter().map(|head| head.id).collect()
}

pub(crate) fn entries(storage: &dyn SessionStorage, session: &SessionId) -> Vec<Entry> {
    let page = run(storage.read(session, 0, usize::MAX)).unwrap();
    page.entries.into_iter().map(|stored| stored.entry).collect()
}

pub(crate) fn lanes(storage: &dyn SessionStorage, session: &SessionId) -> Vec<LaneState> {
    run(storage.facts(session)).unwrap().lanes
}

pub(crate) fn leaf_of(
    storage: &dyn SessionStorage,
    session: &SessionId,
    lane: &str,
) -> Option<EntryId> {
    let lane = Lane::new(lane).unwrap();
    run(storage.facts(session)).unwrap().leaf(&lane).cloned()
}

pub(crate) fn path(
    storage: &dyn SessionStorage,
    session: &SessionId,
    to: &EntryId,
) -> Vec<EntryId> {
    let read = run(storage.path(session, to, PathStop::Root)).unwrap();
    read.entries.into_iter().map(|stored| stored.entry.id).collect()
}

pub(crate) fn kinds(findings: &[Diagnostic]) -> Vec<DiagnosticKind> {
    findings.iter().map(|finding| finding.kind).collect()
}

/// The root of a session: its header.
pub(crate) fn root(storage: &dyn SessionStorage, session: &SessionId) -> EntryId {
    heads(storage, session)[0].id.clone()
}
