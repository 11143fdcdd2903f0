//! stub
use std::path::Path;
use std::sync::Arc;
use async_trait::async_trait;
use forkwood_core::{Diagnostic, EntryId, SessionId, Timestamp};
use crate::*;
use super::Format;
/// stub
#[derive(Debug, Clone, Default)]
pub struct JsonlOptions {}
impl JsonlOptions {
    /// stub
    #[must_use]
    pub fn with_formats(self, _f: &[Arc<dyn Format>]) -> Self { self }
}
/// stub
#[derive(Debug)]
pub struct JsonlStorage {}
fn no<T>() -> Result<T> { Err(StorageError::unsupported("stub")) }
impl JsonlStorage {
    /// stub
    pub fn store(_root: &Path, _o: JsonlOptions) -> Result<JsonlStorage> { no() }
    /// stub
    pub fn folder(_root: &Path, _r: bool, _o: JsonlOptions) -> Result<JsonlStorage> { no() }
    /// stub
    pub fn file(_root: &Path, _o: JsonlOptions) -> Result<(JsonlStorage, SessionId)> { no() }
}
#[async_trait]
impl SessionStorage for JsonlStorage {
    fn capabilities(&self) -> Capabilities { Capabilities { durable: true, atomic_batches: true, shared: true, lanes: true, rewrite: true, blobs: true, trash: true, max_entry_bytes: 0 } }
    async fn create(&self, _new: NewSession) -> Result<SessionFacts> { no() }
    async fn list(&self, _page: Page) -> Result<Listing> { no() }
    async fn find(&self, _prefix: &str) -> Result<Vec<SessionId>> { no() }
    async fn delete(&self, _session: &SessionId, _i: bool) -> Result<Trashed> { no() }
    async fn restore(&self, _session: &SessionId) -> Result<SessionFacts> { no() }
    async fn trashed(&self) -> Result<Vec<Trashed>> { no() }
    async fn purge(&self, _session: Option<&SessionId>, _before: Timestamp) -> Result<Vec<Trashed>> { no() }
    async fn facts(&self, _session: &SessionId) -> Result<SessionFacts> { no() }
    async fn heads(&self, _session: &SessionId) -> Result<Vec<Head>> { no() }
    async fn append(&self, _session: &SessionId, _append: Append) -> Result<Appended> { no() }
    async fn read(&self, _session: &SessionId, _from: Seq, _limit: usize) -> Result<ReadPage> { no() }
    async fn get(&self, _session: &SessionId, _ids: &[EntryId]) -> Result<Vec<Option<Stored>>> { no() }
    async fn path(&self, _session: &SessionId, _from: &EntryId, _stop: PathStop) -> Result<PathRead> { no() }
    async fn sidecars(&self, _session: &SessionId, _targets: &[EntryId]) -> Result<Vec<Stored>> { no() }
    async fn check(&self, _session: &SessionId) -> Result<Vec<Diagnostic>> { no() }
    async fn diagnostics(&self, _session: &SessionId) -> Result<Vec<Diagnostic>> { no() }
    async fn watch(&self, _session: &SessionId, _cursor: Cursor) -> Result<Box<dyn Watch>> { no() }
    async fn put_blob(&self, _bytes: &[u8]) -> Result<String> { no() }
    async fn get_blob(&self, _name: &str) -> Result<Option<Vec<u8>>> { no() }
    async fn rewrite(&self, _session: &SessionId, _rewrite: Rewrite) -> Result<Rewritten> { no() }
}
