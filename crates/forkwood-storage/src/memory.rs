//! Sessions in memory: the JSONL engine on a disk that is not there.
//!
//! One engine, one contract: what holds for files holds here, but for what outlives the process.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use forkwood_core::{Clock, Diagnostic, EntryId, SessionId, Timestamp};

use crate::disk::SimDisk;
use crate::jsonl::{JsonlOptions, JsonlStorage};
use crate::{
    Append, Appended, Capabilities, Claim, Cursor, Head, Listing, NewSession, Page, PathRead,
    PathStop, ReadPage, Result, Rewrite, Rewritten, Seq, SessionFacts, SessionStorage, Stored,
    Trashed, Watch,
};

/// Sessions that live as long as the value.
#[derive(Debug)]
pub struct MemoryStorage(JsonlStorage);

impl MemoryStorage {
    /// An empty storage with the system's clock.
    ///
    /// # Errors
    /// None at present.
    pub fn new() -> Result<MemoryStorage> {
        MemoryStorage::with_options(JsonlOptions::default())
    }

    /// An empty storage with a clock of the caller's.
    ///
    /// # Errors
    /// None at present.
    pub fn with_clock(clock: Arc<dyn Clock>) -> Result<MemoryStorage> {
        MemoryStorage::with_options(JsonlOptions::default().with_clock(clock))
    }

    fn with_options(options: JsonlOptions) -> Result<MemoryStorage> {
        let options = options.with_disk(Arc::new(SimDisk::volatile()));
        JsonlStorage::store(Path::new("/memory"), options).map(MemoryStorage)
    }
}

#[async_trait]
impl SessionStorage for MemoryStorage {
    fn capabilities(&self) -> Capabilities {
        Capabilities { durable: false, shared: false, ..self.0.capabilities() }
    }

    async fn create(&self, new: NewSession) -> Result<SessionFacts> {
        self.0.create(new).await.map(unplaced)
    }

    async fn list(&self, page: Page) -> Result<Listing> {
        let mut listing = self.0.list(page).await?;
        for row in &mut listing.rows {
            row.path = None;
        }
        Ok(listing)
    }

    async fn find(&self, prefix: &str) -> Result<Vec<SessionId>> {
        self.0.find(prefix).await
    }

    async fn delete(&self, session: &SessionId, idle_only: bool) -> Result<Trashed> {
        self.0.delete(session, idle_only).await.map(|trashed| Trashed { path: None, ..trashed })
    }

    async fn is_idle(&self, session: &SessionId) -> Result<bool> {
        self.0.is_idle(session).await
    }

    async fn claim(&self, session: &SessionId) -> Result<Claim> {
        self.0.claim(session).await
    }

    async fn is_claimed(&self, session: &SessionId) -> Result<bool> {
        self.0.is_claimed(session).await
    }

    async fn restore(&self, session: &SessionId) -> Result<SessionFacts> {
        self.0.restore(session).await.map(unplaced)
    }

    async fn trashed(&self) -> Result<Vec<Trashed>> {
        let trashed = self.0.trashed().await?;
        Ok(trashed.into_iter().map(|trashed| Trashed { path: None, ..trashed }).collect())
    }

    async fn purge(&self, session: Option<&SessionId>, before: Timestamp) -> Result<Vec<Trashed>> {
        let purged = self.0.purge(session, before).await?;
        Ok(purged.into_iter().map(|trashed| Trashed { path: None, ..trashed }).collect())
    }

    async fn facts(&self, session: &SessionId) -> Result<SessionFacts> {
        self.0.facts(session).await.map(unplaced)
    }

    async fn heads(&self, session: &SessionId) -> Result<Vec<Head>> {
        self.0.heads(session).await
    }

    async fn append(&self, session: &SessionId, append: Append) -> Result<Appended> {
        self.0.append(session, append).await
    }

    async fn read(&self, session: &SessionId, from: Seq, limit: usize) -> Result<ReadPage> {
        self.0.read(session, from, limit).await
    }

    async fn get(&self, session: &SessionId, ids: &[EntryId]) -> Result<Vec<Option<Stored>>> {
        self.0.get(session, ids).await
    }

    async fn path(&self, session: &SessionId, from: &EntryId, stop: PathStop) -> Result<PathRead> {
        self.0.path(session, from, stop).await
    }

    async fn sidecars(&self, session: &SessionId, targets: &[EntryId]) -> Result<Vec<Stored>> {
        self.0.sidecars(session, targets).await
    }

    async fn check(&self, session: &SessionId) -> Result<Vec<Diagnostic>> {
        self.0.check(session).await
    }

    async fn diagnostics(&self, session: &SessionId) -> Result<Vec<Diagnostic>> {
        self.0.diagnostics(session).await
    }

    async fn watch(&self, session: &SessionId, cursor: Cursor) -> Result<Box<dyn Watch>> {
        self.0.watch(session, cursor).await
    }

    async fn put_blob(&self, bytes: &[u8]) -> Result<String> {
        self.0.put_blob(bytes).await
    }

    async fn get_blob(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.0.get_blob(name).await
    }

    async fn rewrite(&self, session: &SessionId, rewrite: Rewrite) -> Result<Rewritten> {
        self.0.rewrite(session, rewrite).await.map(|done| Rewritten { backup: None, ..done })
    }
}

/// There is no file that a caller could open.
fn unplaced(facts: SessionFacts) -> SessionFacts {
    SessionFacts { path: None, ..facts }
}
