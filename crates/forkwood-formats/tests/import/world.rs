//! A source and a store on one disk in memory, and what the tests ask of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use forkwood::storage::disk::{Disk, SimDisk};
use forkwood::storage::jsonl::{JsonlOptions, JsonlStorage};
use forkwood::{Page, Session, SessionStore, Stored};
use forkwood_formats::import::{self, Import, Outcome, Report};
use pollster::block_on as run;

pub(crate) const SOURCE: &str = "/source";
const STORE: &str = "/store";

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) disk: SimDisk,
}

impl World {
    pub(crate) fn new() -> World {
        World { disk: SimDisk::new() }
    }

    pub(crate) fn path(name: &str) -> PathBuf {
        Path::new(SOURCE).join(name)
    }

    pub(crate) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        self.disk.put(&World::path(name), bytes.as_ref());
    }

    pub(crate) fn store(&self) -> SessionStore {
        let options = JsonlOptions::default().with_disk(Arc::new(self.disk.clone()));
        SessionStore::new(Arc::new(JsonlStorage::store(Path::new(STORE), options).unwrap()))
    }

    /// Takes all that lies in the source.
    pub(crate) fn try_import(&self) -> forkwood::Result<Vec<Report>> {
        let store = self.store();
        let disk: Arc<dyn Disk> = Arc::new(self.disk.clone());
        let found = import::find(disk.as_ref(), Path::new(SOURCE), &import::tools());
        let mut reports = Vec::new();
        let mut import = run(Import::start(&store, disk, Some(Path::new(STORE))))?;
        run(import.take(&found.units, &mut |report| reports.push(report)))?;
        Ok(reports)
    }

    pub(crate) fn import(&self) -> Vec<Report> {
        let before = self.sources();
        let reports = self.try_import().unwrap();
        assert!(self.sources() == before, "the import wrote to its source");
        reports
    }

    /// Takes all, of which there is one session.
    pub(crate) fn import_one(&self) -> Report {
        let mut reports = self.import();
        assert_eq!(reports.len(), 1, "{reports:?}");
        let report = reports.remove(0);
        assert!(report.error.is_none(), "{report:?}");
        report
    }

    pub(crate) fn expect(&self, outcome: Outcome) -> Report {
        let report = self.import_one();
        assert_eq!(report.outcome, outcome, "{report:?}");
        report
    }

    fn sources(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let files = self.disk.files().into_iter().filter(|path| path.starts_with(SOURCE));
        files.map(|path| (path.clone(), self.disk.bytes(&path).unwrap())).collect()
    }

    /// Every session of the store.
    pub(crate) fn sessions(&self) -> Vec<Session> {
        let store = self.store();
        let listing = run(store.list(Page::default())).unwrap();
        assert!(listing.problems.is_empty(), "{:?}", listing.problems);
        let mut ids: Vec<_> = listing.rows.into_iter().map(|row| row.id).collect();
        ids.sort();
        ids.iter().map(|id| run(store.open(id.as_str())).unwrap()).collect()
    }

    pub(crate) fn session(&self) -> Session {
        let mut sessions = self.sessions();
        assert_eq!(sessions.len(), 1);
        sessions.remove(0)
    }
}

pub(crate) fn entries(session: &Session) -> Vec<Stored> {
    run(session.entries()).unwrap()
}

/// The texts of a context.
pub(crate) fn context(session: &Session) -> Vec<String> {
    let context = run(session.context()).unwrap();
    let texts = context
        .messages()
        .iter()
        .map(|message| format!("{}: {}", message.role.as_text(), message.content.text()));
    texts.collect()
}

/// The context of the lane that follows the source.
pub(crate) fn context_of(session: &mut Session, lane: &str) -> Vec<String> {
    run(session.use_lane(forkwood::Lane::new(lane).unwrap())).unwrap();
    context(session)
}
