//! A folder with databases, and what the import makes of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use forkwood::storage::disk::{Disk, RealDisk};
use forkwood::storage::{MemoryStorage, SessionStorage};
use forkwood::{Session, SessionStore};
use forkwood_formats::import::{self, Import, Outcome, Report};
use rusqlite::Connection;

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

/// A copy of a database of the fixtures, in a folder of its own.
pub(crate) fn copied(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(Path::new(name).file_name().unwrap());
    std::fs::copy(fixture(name), &path).unwrap();
    (folder, path)
}

/// A database that was made by these statements.
pub(crate) fn made(name: &str, sql: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    (folder, path)
}

pub(crate) fn store() -> SessionStore {
    SessionStore::new(Arc::new(MemoryStorage::new().unwrap()) as Arc<dyn SessionStorage>)
}

/// Takes a path into a store.
pub(crate) fn take(store: &SessionStore, path: &Path) -> Vec<Report> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let found = import::find(disk.as_ref(), path, &import::tools());
    let mut reports: Vec<Report> = found.unknown.into_iter().map(Report::unknown).collect();
    pollster::block_on(async {
        let mut import = Import::start(store, disk, None).await.unwrap();
        import.take(&found.units, &mut |report| reports.push(report)).await.unwrap();
    });
    reports
}

pub(crate) fn outcomes(reports: &[Report]) -> Vec<Outcome> {
    reports.iter().map(|report| report.outcome).collect()
}

pub(crate) fn open(store: &SessionStore, id: &str) -> Session {
    pollster::block_on(store.open(id)).unwrap()
}

/// What the folder holds, with its bytes.
pub(crate) fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}
