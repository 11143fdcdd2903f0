//! The contract that every backend keeps.

use std::fmt;

use async_trait::async_trait;
use forkwood_core::{Diagnostic, EntryId, SessionId, Timestamp};

use crate::{
    Append, Appended, Capabilities, Claim, Cursor, Head, Listing, NewSession, Page, PathRead,
    PathStop, ReadPage, Result, Rewrite, Rewritten, Seq, SessionFacts, Stored, Trashed, Watch,
};

/// Where sessions are kept.
///
/// ```text
///   seq:      0        120       254            390
///             |         |         |              |
///   log:      | line 1  | line 2  | line 3       |  <- append writes here, whole lines only
///             | header  |         |              |
///   cursor: generation.254.<id of line 2> : line 3 is what comes next
/// ```
///
/// The contract, for every implementation:
///
/// 1. **Order.** [`Seq`] only grows within a generation. Entries are read in the order in which
///    they were acknowledged by one writer, and every reader sees the same order.
/// 2. **Durability.** `append` returns `Ok` after the entries are on disk, except under
///    [`Durability::Os`](crate::Durability::Os). An `Err` means that nothing of the batch is
///    visible, now or later; where an implementation cannot know (the connection broke), the
///    caller repeats the call with the same ids and gets the first answer again.
/// 3. **Expectation.** A path entry's parent is where its lane stood. A writer whose
///    [`Expect`](crate::Expect) does not hold is refused with `conflict`, and nothing is
///    written; with [`OnConflict::Branch`](crate::OnConflict::Branch) its entries go to a new
///    lane, never to the contested one.
/// 4. **Idempotence.** A draft whose id is there with the same body is answered as the first
///    time; with another body it is refused with `exists`.
/// 5. **Batches** are all or nothing where [`Capabilities::atomic_batches`] says so.
/// 6. **Reading** never writes, never waits for a writer, and never shows half a line or half a
///    batch. Damage is a diagnostic; the entries around it stay readable.
/// 7. **Deletion** goes to a trash, and `restore` brings everything back.
/// 8. **Claims.** At most one [`Claim`] of a session is held at a time, over all processes that a
///    backend serves; it ends with its holder, however that ends. It keeps other runs out, and no
///    other writer.
#[async_trait]
pub trait SessionStorage: Send + Sync + fmt::Debug {
    /// What this backend can do.
    fn capabilities(&self) -> Capabilities;

    /// Makes a session, with its header and the entries it starts with, all at once.
    ///
    /// # Errors
    /// `exists` where the id is taken.
    async fn create(&self, new: NewSession) -> Result<SessionFacts>;

    /// Lists sessions. What cannot be read is named beside them and never hides them.
    ///
    /// # Errors
    /// `io` where the place itself cannot be read.
    async fn list(&self, page: Page) -> Result<Listing>;

    /// The sessions whose id, or the last part of it after a dash, starts with `prefix`;
    /// sub-agents' sessions included. An exact id is the only answer. Sorted.
    ///
    /// # Errors
    /// `io` where the place itself cannot be read.
    async fn find(&self, prefix: &str) -> Result<Vec<SessionId>>;

    /// Moves a session to the trash. With `idle_only`, only where nobody holds it open.
    ///
    /// # Errors
    /// `not_found` where there is none; `locked` where it is held open.
    async fn delete(&self, session: &SessionId, idle_only: bool) -> Result<Trashed>;

    /// Whether [`SessionStorage::delete`] with `idle_only` would go on: nobody holds it open, as
    /// far as this backend can tell. Changes nothing.
    ///
    /// # Errors
    /// `not_found` where there is none, `ambiguous` where several have its id.
    async fn is_idle(&self, session: &SessionId) -> Result<bool> {
        let _ = session;
        Ok(true)
    }

    /// Takes the right to run in a session; waits for nobody.
    ///
    /// # Errors
    /// `locked` where a run is under way; `not_found`; `read_only` and `newer_version` where
    /// nothing can be written.
    async fn claim(&self, session: &SessionId) -> Result<Claim> {
        let _ = session;
        Ok(Claim::of_nothing())
    }

    /// Whether somebody holds the [`Claim`] of a session right now. Changes nothing.
    ///
    /// # Errors
    /// `not_found`.
    async fn is_claimed(&self, session: &SessionId) -> Result<bool> {
        let _ = session;
        Ok(false)
    }

    /// Brings a session back from the trash.
    ///
    /// # Errors
    /// `not_found` where the trash has none, `exists` where its place is taken.
    async fn restore(&self, session: &SessionId) -> Result<SessionFacts>;

    /// What lies in the trash, newest first.
    ///
    /// # Errors
    /// `io`.
    async fn trashed(&self) -> Result<Vec<Trashed>>;

    /// Removes from the trash, for good: one session, or all that were deleted before a time.
    /// Blobs that nothing names any more go too.
    ///
    /// # Errors
    /// `not_found` where the trash has no such session, `io`.
    async fn purge(&self, session: Option<&SessionId>, before: Timestamp) -> Result<Vec<Trashed>>;

    /// What is known of a session besides its entries, as it is now.
    ///
    /// # Errors
    /// `not_found`; `damaged` or `unsupported` where it is no session at all.
    async fn facts(&self, session: &SessionId) -> Result<SessionFacts>;

    /// Every entry without its body, in log order.
    ///
    /// # Errors
    /// `not_found`.
    async fn heads(&self, session: &SessionId) -> Result<Vec<Head>>;

    /// Appends a batch.
    ///
    /// # Errors
    /// `conflict`, `exists`, `invalid`, `read_only`, `newer_version`, `gone`, `locked`,
    /// `no_space`, `io`.
    async fn append(&self, session: &SessionId, append: Append) -> Result<Appended>;

    /// Reads entries whose place is after `from`, at most `limit` of them.
    ///
    /// # Errors
    /// `not_found`.
    async fn read(&self, session: &SessionId, from: Seq, limit: usize) -> Result<ReadPage>;

    /// Reads single entries by id, in the order asked; unknown ones are `None`.
    ///
    /// # Errors
    /// `not_found` where the session is not there.
    async fn get(&self, session: &SessionId, ids: &[EntryId]) -> Result<Vec<Option<Stored>>>;

    /// Reads the path to an entry, root first, as far back as `stop` says. At a sidecar: the
    /// path to its path ancestor.
    ///
    /// # Errors
    /// `not_found` where the entry is not there.
    async fn path(&self, session: &SessionId, from: &EntryId, stop: PathStop) -> Result<PathRead>;

    /// Reads the sidecars that name one of `targets`, or all with an empty slice, in log order.
    /// Labels and operations are among them, though they stand on the path in foreign files.
    ///
    /// # Errors
    /// `not_found`.
    async fn sidecars(&self, session: &SessionId, targets: &[EntryId]) -> Result<Vec<Stored>>;

    /// Reads all of a log and says what is wrong with it.
    ///
    /// # Errors
    /// `not_found`.
    async fn check(&self, session: &SessionId) -> Result<Vec<Diagnostic>>;

    /// What reading has found so far, without reading more.
    ///
    /// # Errors
    /// `not_found`.
    async fn diagnostics(&self, session: &SessionId) -> Result<Vec<Diagnostic>>;

    /// Watches a session from a cursor on.
    ///
    /// # Errors
    /// `not_found`.
    async fn watch(&self, session: &SessionId, cursor: Cursor) -> Result<Box<dyn Watch>>;

    /// Keeps bytes once for the whole store; gives their name, `sha256-...`.
    ///
    /// # Errors
    /// `unsupported`, `no_space`, `io`.
    async fn put_blob(&self, bytes: &[u8]) -> Result<String>;

    /// The bytes of a blob; `None` where it is not there.
    ///
    /// # Errors
    /// `invalid` where the name is none, `damaged` where the bytes do not fit it.
    async fn get_blob(&self, name: &str) -> Result<Option<Vec<u8>>>;

    /// Rewrites a log into a new generation. The old one is kept.
    ///
    /// # Errors
    /// `read_only`, `unsupported`, `locked`, `io`; the old log is then untouched.
    async fn rewrite(&self, session: &SessionId, rewrite: Rewrite) -> Result<Rewritten>;
}
