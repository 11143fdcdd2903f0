//! A written session on a disk in memory, taken in again.

use std::path::Path;
use std::sync::Arc;

use forkwood::storage::disk::{Disk, SimDisk};
use forkwood::storage::jsonl::{JsonlOptions, JsonlStorage};
use forkwood::storage::{MemoryStorage, NewSession, SessionStorage};
use forkwood::{Entry, Session, SessionId, SessionInfo, SessionStore};
use forkwood_formats::export::{self, Scope, Source, Target, Written};
use forkwood_formats::import::{self, Import, Report};
use pollster::block_on as run;

/// A session in memory.
pub(crate) fn session(id: &str, info: SessionInfo, entries: Vec<Entry>) -> Session {
    let storage = Arc::new(MemoryStorage::new().unwrap());
    let own = Some(SessionId::new(id).unwrap());
    run(storage.create(NewSession { id: own, info, entries, ..NewSession::default() })).unwrap();
    let store = SessionStore::new(storage);
    run(store.open(id)).unwrap()
}

pub(crate) fn gather(session: &Session, scope: &Scope) -> Source {
    run(export::gather(session, scope)).unwrap()
}

/// Writes a session twice, since the same session must give the same bytes.
pub(crate) fn write(source: &Source, target: Target) -> Written {
    let written = export::write(source.clone(), target).unwrap();
    assert_eq!(written, export::write(source.clone(), target).unwrap());
    for file in &written.files {
        assert!(!file.name.starts_with('/') && !file.name.contains(".."), "{}", file.name);
    }
    written
}

/// The session that the import makes of written files, and what it says.
pub(crate) fn read_back(written: &Written, target: Target) -> (Session, Vec<Report>) {
    let disk = SimDisk::new();
    for file in &written.files {
        disk.put(&Path::new("/out").join(&file.name), file.text.as_bytes());
    }
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    if target == Target::Jsonl {
        let options = JsonlOptions::default().with_disk(shared);
        let path = Path::new("/out").join(&written.files[0].name);
        let (storage, id) = JsonlStorage::file(&path, options).unwrap();
        let session = run(SessionStore::new(Arc::new(storage)).open(id.as_str())).unwrap();
        return (session, Vec::new());
    }
    let store = SessionStore::new(Arc::new(MemoryStorage::new().unwrap()));
    let found = import::find(shared.as_ref(), Path::new("/out"), &import::tools());
    assert!(found.unknown.is_empty(), "{:?}: {:?}", target, found.unknown);
    let mut reports = Vec::new();
    let mut import = run(Import::start(&store, shared, None)).unwrap();
    run(import.take(&found.units, &mut |report| reports.push(report))).unwrap();
    assert!(!reports.is_empty(), "{target:?}: nobody knows {}", written.files[0].text);
    for report in &reports {
        assert!(report.error.is_none(), "{report:?}\n{}", written.files[0].text);
        assert!(!report.is_damaged(), "{report:?}\n{}", written.files[0].text);
    }
    let id = reports[0].session.clone().expect("a session");
    (run(store.open(id.as_str())).unwrap(), reports)
}
