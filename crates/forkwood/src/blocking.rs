//! The same for callers without an async runtime.
//!
//! Every call waits until it is done. With the memory and JSONL storages a call never leaves the
//! thread; a storage on a network needs its own runtime and is better used through the async API.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pollster::block_on;

use forkwood_storage::jsonl::Format;
use forkwood_storage::{ReadPage, Rewritten, Seq, Trashed};

use crate::{
    AppendOptions, Appended, Body, Branch, Claim, Compaction, Context, CreateOptions, Cursor,
    Diagnostic, Durability, Entry, EntryId, ForkOptions, Head, Json, Lane, Listing, Message,
    OnConflict, Page, PruneOptions, PruneReport, Result, SessionFacts, SessionId, SessionState,
    SessionStorage, Settings, Stored, Text, Timestamp, Watch, WatchEvent,
};

/// [`crate::Session`] whose calls wait.
#[derive(Clone, Debug)]
pub struct Session(crate::Session);

/// [`crate::SessionStore`] whose calls wait.
#[derive(Clone, Debug)]
pub struct SessionStore(crate::SessionStore);

macro_rules! wait {
    ($($(#[$doc:meta])* fn $name:ident(&$self:ident $(, $arg:ident: $ty:ty)*) -> $out:ty;)*) => {
        $($(#[$doc])*
        ///
        /// # Errors
        /// Those of the async method of the same name.
        pub fn $name(&$self $(, $arg: $ty)*) -> Result<$out> {
            block_on($self.0.$name($($arg),*))
        })*
    };
}

macro_rules! wait_mut {
    ($($(#[$doc:meta])* fn $name:ident(&mut $self:ident $(, $arg:ident: $ty:ty)*) -> $out:ty;)*) => {
        $($(#[$doc])*
        ///
        /// # Errors
        /// Those of the async method of the same name.
        pub fn $name(&mut $self $(, $arg: $ty)*) -> Result<$out> {
            block_on($self.0.$name($($arg),*))
        })*
    };
}

impl Session {
    /// The async session behind it.
    pub fn inner(&self) -> &crate::Session {
        &self.0
    }

    /// The async session behind it, to be set up.
    pub fn inner_mut(&mut self) -> &mut crate::Session {
        &mut self.0
    }

    /// The async session itself.
    pub fn into_inner(self) -> crate::Session {
        self.0
    }

    /// Its id.
    pub fn id(&self) -> &SessionId {
        self.0.id()
    }

    /// Where the lane stands, as this handle last saw it.
    pub fn leaf(&self) -> Option<&EntryId> {
        self.0.leaf()
    }

    /// Appends one entry where the lane stands.
    ///
    /// # Errors
    /// Those of [`crate::Session::append`].
    pub fn append(&mut self, body: impl Into<Body>) -> Result<EntryId> {
        block_on(self.0.append(body))
    }

    /// Gives the session another title.
    ///
    /// # Errors
    /// Those of [`crate::Session::rename`].
    pub fn rename(&mut self, title: impl Into<Text>) -> Result<EntryId> {
        block_on(self.0.rename(title))
    }

    /// Its title, if it has one.
    pub fn title(&self) -> Option<&Text> {
        self.0.title()
    }

    /// The lane this handle looks at.
    pub fn lane(&self) -> &Lane {
        self.0.lane()
    }

    /// Title, folder, lanes and so on, as of the last call that read or wrote them.
    pub fn facts(&self) -> &SessionFacts {
        self.0.facts()
    }

    /// How sure writes are before they return, from now on; `Sync` at first.
    pub fn set_durability(&mut self, durability: Durability) {
        self.0.set_durability(durability);
    }

    /// What becomes of writes that conflict, from now on.
    pub fn set_on_conflict(&mut self, on_conflict: OnConflict) {
        self.0.set_on_conflict(on_conflict);
    }

    /// Waits at most `patience` for the next event of a watcher; `None` where nothing came.
    ///
    /// # Errors
    /// Those of the watcher.
    pub fn next_event(watch: &mut dyn Watch, patience: Duration) -> Result<Option<WatchEvent>> {
        let until = Instant::now() + patience;
        loop {
            if let Some(event) = watch.poll_event()? {
                return Ok(Some(event));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            std::thread::sleep(left.min(Duration::from_millis(20)));
        }
    }

    wait_mut! {
        /// Appends a message.
        fn add_message(&mut self, message: Message) -> EntryId;
        /// Appends entries, all or none.
        fn append_batch(&mut self, bodies: Vec<Body>, options: AppendOptions) -> Appended;
        /// Moves the lane to an entry.
        fn rewind(&mut self, entry: &EntryId) -> ();
        /// Moves the lane to an entry, past a compaction too.
        fn rewind_past_compaction(&mut self, entry: &EntryId) -> ();
        /// Makes a lane.
        fn create_lane(&mut self, lane: Lane, at: &EntryId) -> ();
        /// Moves any lane.
        fn move_lane(&mut self, lane: &Lane, to: &EntryId) -> ();
        /// Moves any lane, past a compaction too.
        fn move_lane_past_compaction(&mut self, lane: &Lane, to: &EntryId) -> ();
        /// Looks at another lane from now on.
        fn use_lane(&mut self, lane: Lane) -> ();
        /// Puts a bookmark on an entry.
        fn label(&mut self, entry: &EntryId, label: Option<Text>) -> EntryId;
        /// Replaces the free metadata.
        fn set_metadata(&mut self, metadata: Json) -> EntryId;
        /// Appends a compaction.
        fn add_compaction(&mut self, compaction: Compaction) -> EntryId;
        /// Takes what others wrote as seen.
        fn reload(&mut self) -> ();
        /// Empties the session.
        fn reset(&mut self) -> Rewritten;
        /// Drops what is superseded.
        fn vacuum(&mut self, prune_branches: bool) -> Rewritten;
        /// Repairs what can be repaired.
        fn repair(&mut self) -> Rewritten;
    }

    wait! {
        /// Takes the right to run in this session.
        fn claim(&self) -> Claim;
        /// Whether a run is under way in this session right now.
        fn is_claimed(&self) -> bool;
        /// What a model sees where the lane stands.
        fn context(&self) -> Context;
        /// What a model sees at an entry.
        fn context_at(&self, entry: &EntryId) -> Context;
        /// The whole state at an entry.
        fn state_at(&self, entry: &EntryId) -> SessionState;
        /// The path to where the lane stands.
        fn current_path(&self) -> Vec<Entry>;
        /// The path to an entry.
        fn path_to(&self, entry: &EntryId) -> Vec<Entry>;
        /// Every message on the current path.
        fn full_history(&self) -> Vec<Message>;
        /// All entries in log order.
        fn entries(&self) -> Vec<Stored>;
        /// Every entry without its body.
        fn heads(&self) -> Vec<Head>;
        /// Every branch.
        fn branches(&self) -> Vec<Branch>;
        /// Model, thinking level and tools at an entry.
        fn settings(&self, entry: &EntryId) -> Settings;
        /// The label nearest to an entry on its path.
        fn label_at(&self, entry: &EntryId) -> Option<Text>;
        /// The label of every labelled entry.
        fn labels(&self) -> HashMap<EntryId, Text>;
        /// The entry of an id.
        fn get(&self, id: &EntryId) -> Stored;
        /// Entries in log order, from after a place on.
        fn read(&self, from: Seq, limit: usize) -> ReadPage;
        /// The ids of the path to an entry.
        fn path_ids(&self, entry: &EntryId) -> Vec<EntryId>;
        /// Where the lane stands now, whoever moved it.
        fn current_leaf(&self) -> Option<EntryId>;
        /// The entry that rewinds are held to.
        fn compaction_floor(&self) -> Option<EntryId>;
        /// What reading has found so far.
        fn diagnostics(&self) -> Vec<Diagnostic>;
        /// The end of the log as it is now.
        fn cursor(&self) -> Cursor;
        /// The path children of an entry.
        fn children(&self, entry: Option<&EntryId>) -> Vec<EntryId>;
        /// The latest compaction on the current path.
        fn latest_compaction(&self) -> Option<Stored>;
        /// What is wrong with the log.
        fn check(&self) -> Vec<Diagnostic>;
        /// Resolves an entry by id, prefix or suffix.
        fn resolve_entry(&self, query: &str) -> EntryId;
        /// Watches for new entries.
        fn watch(&self, from: Option<Cursor>) -> Box<dyn Watch>;
    }
}

impl From<crate::Session> for Session {
    fn from(session: crate::Session) -> Session {
        Session(session)
    }
}

impl From<crate::SessionStore> for SessionStore {
    fn from(store: crate::SessionStore) -> SessionStore {
        SessionStore(store)
    }
}

impl SessionStore {
    /// A store over any storage.
    pub fn new(storage: Arc<dyn SessionStorage>) -> SessionStore {
        SessionStore(crate::SessionStore::new(storage))
    }

    /// The store of a workspace.
    ///
    /// # Errors
    /// Those of [`crate::SessionStore::open_workspace`].
    pub fn open_workspace(workspace: &Path) -> Result<SessionStore> {
        crate::SessionStore::open_workspace(workspace).map(SessionStore)
    }

    /// The store whose folder this is.
    ///
    /// # Errors
    /// Those of [`crate::SessionStore::open_root`].
    pub fn open_root(root: &Path) -> Result<SessionStore> {
        crate::SessionStore::open_root(root).map(SessionStore)
    }

    /// All session files of a folder, of any of the formats.
    ///
    /// # Errors
    /// Those of [`crate::SessionStore::open_folder`].
    pub fn open_folder(
        folder: &Path,
        recursive: bool,
        formats: &[Arc<dyn Format>],
    ) -> Result<SessionStore> {
        crate::SessionStore::open_folder(folder, recursive, formats).map(SessionStore)
    }

    /// One session file of any of the formats.
    ///
    /// # Errors
    /// Those of [`crate::SessionStore::open_file`].
    pub fn open_file(path: &Path, formats: &[Arc<dyn Format>]) -> Result<Session> {
        block_on(crate::SessionStore::open_file(path, formats)).map(Session)
    }

    /// The async store behind it.
    pub fn inner(&self) -> &crate::SessionStore {
        &self.0
    }

    /// Makes a session.
    ///
    /// # Errors
    /// Those of [`crate::SessionStore::create`].
    pub fn create(&self, options: CreateOptions) -> Result<Session> {
        block_on(self.0.create(options)).map(Session)
    }

    /// Makes the session of a sub-agent.
    ///
    /// # Errors
    /// Those of [`crate::SessionStore::create_subagent`].
    pub fn create_subagent(
        &self,
        parent: &Session,
        task: &str,
        agent_type: impl Into<Text>,
        options: CreateOptions,
    ) -> Result<Session> {
        block_on(self.0.create_subagent(&parent.0, task, agent_type, options)).map(Session)
    }

    /// Opens a session by id or unique prefix.
    ///
    /// # Errors
    /// Those of [`crate::SessionStore::open`].
    pub fn open(&self, query: &str) -> Result<Session> {
        block_on(self.0.open(query)).map(Session)
    }

    /// Brings a session back from the trash.
    ///
    /// # Errors
    /// Those of [`crate::SessionStore::restore`].
    pub fn restore(&self, query: &str) -> Result<Session> {
        block_on(self.0.restore(query)).map(Session)
    }

    /// Copies a path into a new session.
    ///
    /// # Errors
    /// Those of [`crate::SessionStore::fork`].
    pub fn fork(
        &self,
        source: &Session,
        entry: Option<&EntryId>,
        options: ForkOptions,
    ) -> Result<Session> {
        block_on(self.0.fork(&source.0, entry, options)).map(Session)
    }

    wait! {
        /// Lists sessions.
        fn list(&self, page: Page) -> Listing;
        /// Lists the sub-agents' sessions of a session.
        fn subagents(&self, parent: &SessionId) -> Listing;
        /// Resolves an id or a unique prefix.
        fn resolve(&self, query: &str) -> SessionId;
        /// Moves a session to the trash.
        fn delete(&self, query: &str) -> Trashed;
        /// What lies in the trash.
        fn trashed(&self) -> Vec<Trashed>;
        /// Removes one session from the trash, for good.
        fn purge(&self, query: &str) -> Vec<Trashed>;
        /// Removes from the trash what was deleted before a time.
        fn purge_before(&self, before: Timestamp) -> Vec<Trashed>;
        /// Moves old sessions to the trash.
        fn prune(&self, options: PruneOptions) -> PruneReport;
    }
}
