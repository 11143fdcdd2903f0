//! A session of another tool as it is now, to be looked at like any other.
//!
//! It is taken into a store in memory by the same way as by the import. What the tool writes
//! later is not seen, and nothing can be added.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use forkwood::storage::disk::{Disk, Meta};
use forkwood::storage::{
    Append, Appended, Capabilities, Cursor, Head, Listing, MemoryStorage, NewSession, Page,
    PathRead, PathStop, ReadPage, Rewrite, Rewritten, Seq, SessionFacts, SessionStorage, Stored,
    Trashed, Watch,
};
use forkwood::{
    Diagnostic, EntryId, Error, Json, Result, SessionId, SessionStore, Text, Timestamp,
};

use super::{Environment, ForeignSession, Import, Report, Tool, Unit, origin};
use crate::fields::Out;

/// A session of another tool in memory, read-only.
#[derive(Debug)]
pub struct Snapshot {
    inner: Arc<MemoryStorage>,
    id: SessionId,
    path: PathBuf,
    dialect: &'static str,
    source_id: Text,
    size: u64,
    findings: Vec<Diagnostic>,
}

/// Reads all sessions of a unit.
///
/// # Errors
/// Where it cannot be read.
pub async fn snapshot(
    tool: &Arc<dyn Tool>,
    unit: &Unit,
    disk: &Arc<dyn Disk>,
) -> Result<Vec<Snapshot>> {
    let inner = Arc::new(MemoryStorage::new()?);
    let store = SessionStore::new(Arc::clone(&inner) as Arc<dyn SessionStorage>);
    let mut reports: Vec<Report> = Vec::new();
    let mut import = Import::start(&store, Arc::clone(disk), None).await?;
    import.keep_empty = true;
    let units = [(Arc::clone(tool), unit.clone())];
    import.take(&units, &mut |report| reports.push(report)).await?;
    let size = unit.files.iter().filter_map(|path| Some(disk.meta(path).ok()?.len)).sum();
    reports
        .into_iter()
        .map(|report| match (report.error, report.session) {
            (Some(error), _) => Err(error),
            (None, None) => Err(Error::SessionNotFound { query: unit.path.display().to_string() }),
            (None, Some(id)) => Ok(Snapshot {
                inner: Arc::clone(&inner),
                id,
                path: report.path,
                dialect: report.dialect.unwrap_or(tool.name()),
                source_id: report.source_id.unwrap_or_default(),
                size,
                findings: report.findings,
            }),
        })
        .collect()
}

/// Reads one session of a unit: the one that the tool, or the import, knows by this id.
///
/// # Errors
/// `not_found` where there is none, and those of reading.
pub async fn snapshot_of(
    tool: &Arc<dyn Tool>,
    unit: &Unit,
    disk: &Arc<dyn Disk>,
    id: &str,
) -> Result<Snapshot> {
    let only: Arc<dyn Tool> = Arc::new(Only { tool: Arc::clone(tool), id: id.to_owned() });
    let not_found = || Error::SessionNotFound { query: id.to_owned() };
    snapshot(&only, unit, disk).await?.into_iter().next().ok_or_else(not_found)
}

/// A tool that knows one session.
#[derive(Debug)]
struct Only {
    tool: Arc<dyn Tool>,
    id: String,
}

#[async_trait]
impl Tool for Only {
    fn name(&self) -> &'static str {
        self.tool.name()
    }

    fn places(&self, environment: &Environment<'_>) -> Vec<PathBuf> {
        self.tool.places(environment)
    }

    fn claim(&self, disk: &dyn Disk, path: &Path, meta: &Meta) -> Option<Unit> {
        self.tool.claim(disk, path, meta)
    }

    async fn open(
        &self,
        disk: &Arc<dyn Disk>,
        unit: &Unit,
    ) -> Result<Vec<Box<dyn ForeignSession>>> {
        let mut sessions = self.tool.open(disk, unit).await?;
        sessions.retain(|session| {
            let about = session.about();
            about.source_id == self.id.as_str()
                || about.id.as_ref().is_some_and(|id| id.as_str() == self.id)
        });
        sessions.truncate(1);
        Ok(sessions)
    }
}

impl Snapshot {
    /// The id of the session.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    fn read_only<T>(&self) -> Result<T> {
        Err(Error::ReadOnly { path: self.path.clone(), reason: self.reason() })
    }

    fn reason(&self) -> String {
        match self.dialect {
            // Written in place by another way: see `picoclaw::Folder`.
            crate::picoclaw::DIALECT => {
                "it is a conversation of PicoClaw, whose files hold messages and \
                 nothing else: `forkwood append` adds one; for all the rest `forkwood import` or \
                 `fork` makes a session of Forkwood's of it"
                    .to_owned()
            }
            other => format!(
                "it is a session of another tool ({other}) and is only read; `forkwood import` or \
                 `fork` makes one of Forkwood's of it"
            ),
        }
    }

    fn shown(&self, facts: SessionFacts) -> SessionFacts {
        let mut info = facts.info;
        info.metadata = info.metadata.as_ref().map(without_origin);
        SessionFacts {
            info,
            shown_id: self.source_id.clone(),
            dialect: self.dialect,
            read_only: Some(self.reason()),
            path: Some(self.path.clone()),
            ..facts
        }
    }
}

fn without_origin(metadata: &Json) -> Json {
    let mut out = Out::default();
    let fields = metadata.as_object().unwrap_or_default();
    let others = fields.iter().filter(|(key, _)| **key != origin::KEY);
    out.rest(others.map(|(key, value)| (key, value.get())));
    out.into_json()
}

#[async_trait]
impl SessionStorage for Snapshot {
    fn capabilities(&self) -> Capabilities {
        Capabilities { rewrite: false, trash: false, ..self.inner.capabilities() }
    }

    async fn create(&self, _new: NewSession) -> Result<SessionFacts> {
        self.read_only()
    }

    async fn list(&self, page: Page) -> Result<Listing> {
        let mut listing = self.inner.list(page).await?;
        listing.rows.retain(|row| row.id == self.id);
        for row in &mut listing.rows {
            row.path = Some(self.path.clone());
            row.dialect = self.dialect;
            row.shown_id = self.source_id.clone();
            row.size = self.size;
            row.damage = self.findings.iter().filter(|found| found.is_damage()).count() as u64;
            if row.damage > 0 {
                row.state = forkwood::RowState::Damaged;
            }
        }
        listing.total = listing.rows.len();
        Ok(listing)
    }

    async fn find(&self, prefix: &str) -> Result<Vec<SessionId>> {
        let mut found = self.inner.find(prefix).await?;
        found.retain(|id| *id == self.id);
        Ok(found)
    }

    async fn delete(&self, _session: &SessionId, _idle_only: bool) -> Result<Trashed> {
        self.read_only()
    }

    async fn restore(&self, _session: &SessionId) -> Result<SessionFacts> {
        self.read_only()
    }

    async fn trashed(&self) -> Result<Vec<Trashed>> {
        Ok(Vec::new())
    }

    async fn purge(
        &self,
        _session: Option<&SessionId>,
        _before: Timestamp,
    ) -> Result<Vec<Trashed>> {
        self.read_only()
    }

    async fn facts(&self, session: &SessionId) -> Result<SessionFacts> {
        self.inner.facts(session).await.map(|facts| self.shown(facts))
    }

    async fn heads(&self, session: &SessionId) -> Result<Vec<Head>> {
        self.inner.heads(session).await
    }

    async fn append(&self, _session: &SessionId, _append: Append) -> Result<Appended> {
        self.read_only()
    }

    async fn read(&self, session: &SessionId, from: Seq, limit: usize) -> Result<ReadPage> {
        self.inner.read(session, from, limit).await
    }

    async fn get(&self, session: &SessionId, ids: &[EntryId]) -> Result<Vec<Option<Stored>>> {
        self.inner.get(session, ids).await
    }

    async fn path(&self, session: &SessionId, from: &EntryId, stop: PathStop) -> Result<PathRead> {
        self.inner.path(session, from, stop).await
    }

    async fn sidecars(&self, session: &SessionId, targets: &[EntryId]) -> Result<Vec<Stored>> {
        self.inner.sidecars(session, targets).await
    }

    async fn check(&self, session: &SessionId) -> Result<Vec<Diagnostic>> {
        let mut found = self.findings.clone();
        // Lines and offsets in memory are nobody's business.
        found.extend(self.inner.check(session).await?.into_iter().map(|found| Diagnostic {
            line: None,
            offset: None,
            ..found
        }));
        Ok(found)
    }

    async fn diagnostics(&self, _session: &SessionId) -> Result<Vec<Diagnostic>> {
        Ok(self.findings.clone())
    }

    async fn watch(&self, session: &SessionId, cursor: Cursor) -> Result<Box<dyn Watch>> {
        self.inner.watch(session, cursor).await
    }

    async fn put_blob(&self, _bytes: &[u8]) -> Result<String> {
        self.read_only()
    }

    async fn get_blob(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.inner.get_blob(name).await
    }

    async fn rewrite(&self, _session: &SessionId, _rewrite: Rewrite) -> Result<Rewritten> {
        self.read_only()
    }
}
