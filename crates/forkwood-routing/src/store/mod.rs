//! Conversations kept in native sessions, one a canonical key.
//!
//! Everything that is done to a conversation is an entry of its session: a truncation is a
//! compaction with an empty summary, a new history a new branch from the root, a summary an entry
//! that no context shows. Nothing is destroyed until [`PersistentConversations::vacuum`], and
//! every earlier state can be reached through [`PersistentConversations::session`].
//!
//! ```text
//! root/sessions/<id>.jsonl          a conversation; the id is made out of the key
//! root/conversations/aliases.jsonl  which sessions claim which alias: a cache
//! root/conversations/locks/         turns at what takes several steps
//! ```
//!
//! Sessions are opened when they are asked for, and the storage keeps a bounded number of them
//! open. What stays in memory for each conversation is a line of the index of aliases: its id and
//! eight bytes an alias.

mod change;
mod contract;
mod ensure;
mod index;
mod promote;
mod resolve;
mod shown;
mod taken;
mod turns;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use forkwood::conversation::native::{ConversationRecord, session_id};
use forkwood::storage::disk::{Disk, RealDisk};
use forkwood::storage::jsonl::{JsonlOptions, JsonlStorage};
use forkwood::storage::{NewSession, SystemClock, UuidV7};
use forkwood::{
    Clock, Durability, Entry, EntryId, Error, ErrorKind, IdSource, Result, Rewritten, Session,
    SessionId, SessionInfo, SessionStore,
};
use futures_util::lock::Mutex;

use index::Index;
use turns::Turns;

/// How often a step is tried again where another writer was first.
const TRIES: usize = 64;

/// How a store of conversations works.
#[derive(Clone, Debug)]
pub struct ConversationOptions {
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    durability: Durability,
    lock_wait: Duration,
}

impl Default for ConversationOptions {
    fn default() -> ConversationOptions {
        ConversationOptions {
            disk: Arc::new(RealDisk),
            clock: Arc::new(SystemClock),
            ids: Arc::new(UuidV7),
            durability: Durability::default(),
            lock_wait: Duration::from_secs(10),
        }
    }
}

impl ConversationOptions {
    /// Another disk; for tests.
    #[must_use]
    pub fn with_disk(mut self, disk: Arc<dyn Disk>) -> ConversationOptions {
        self.disk = disk;
        self
    }

    /// Where times come from.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> ConversationOptions {
        self.clock = clock;
        self
    }

    /// Where ids of entries come from.
    #[must_use]
    pub fn with_ids(mut self, ids: Arc<dyn IdSource>) -> ConversationOptions {
        self.ids = ids;
        self
    }

    /// How sure a write is before it is acknowledged; on disk at first. Under
    /// [`Durability::Os`] a crash of the machine may lose what was added since the last `save`.
    #[must_use]
    pub fn with_durability(mut self, durability: Durability) -> ConversationOptions {
        self.durability = durability;
        self
    }

    /// How long a call waits for the lock of another process.
    #[must_use]
    pub fn with_lock_wait(mut self, wait: Duration) -> ConversationOptions {
        self.lock_wait = wait;
        self
    }
}

/// Conversations in the sessions of a Forkwood store. See the [module](self).
#[derive(Debug)]
pub struct PersistentConversations {
    sessions: SessionStore,
    root: PathBuf,
    options: ConversationOptions,
    index: Mutex<Index>,
    turns: Turns,
}

/// A conversation that is there, as it was when it was looked at.
#[derive(Debug)]
pub(crate) struct Open {
    session: Session,
    record: ConversationRecord,
}

impl PersistentConversations {
    /// The conversations of the store whose folder this is. Nothing is made before the first
    /// conversation.
    ///
    /// # Errors
    /// `invalid` where the root is a file.
    pub fn open(root: &Path) -> Result<PersistentConversations> {
        PersistentConversations::open_with(root, ConversationOptions::default())
    }

    /// The same, with options.
    ///
    /// # Errors
    /// `invalid` where the root is a file.
    pub fn open_with(root: &Path, options: ConversationOptions) -> Result<PersistentConversations> {
        let jsonl = JsonlOptions::default()
            .with_disk(Arc::clone(&options.disk))
            .with_clock(Arc::clone(&options.clock))
            .with_lock_wait(options.lock_wait);
        let storage = JsonlStorage::store(root, jsonl)?;
        let sessions = SessionStore::new(Arc::new(storage))
            .with_ids(Arc::clone(&options.ids))
            .with_clock(Arc::clone(&options.clock));
        let own = root.join("conversations");
        Ok(PersistentConversations {
            sessions,
            root: root.to_path_buf(),
            index: Mutex::new(Index::new(root, &own, &options.disk, options.lock_wait)),
            turns: Turns::new(own.join("locks"), &options.disk, options.lock_wait),
            options,
        })
    }

    /// The store that the sessions belong to.
    pub fn sessions(&self) -> &SessionStore {
        &self.sessions
    }

    /// The session of a conversation, by key or alias; made where it is not there. An agent that
    /// works in it adds to the conversation.
    ///
    /// # Errors
    /// `invalid` for a blank key; those of a write.
    pub async fn session(&self, key: &str) -> Result<Session> {
        let key = self.resolve(key).await?;
        Ok(self.open_or_create(&key).await?.session)
    }

    /// Gives up what no branch needs: superseded pointers, damage, and with `prune_branches` the
    /// histories that were replaced. The old log is kept beside the new one.
    ///
    /// # Errors
    /// `not_found` where there is no such conversation; those of a rewrite.
    pub async fn vacuum(&self, key: &str, prune_branches: bool) -> Result<Rewritten> {
        let key = self.resolve(key).await?;
        match self.find(&key).await? {
            Some(mut open) => open.session.vacuum(prune_branches).await,
            None => Err(Error::SessionNotFound { query: key }),
        }
    }

    /// The summary of the conversation of a session, where the context of the session does not show
    /// it.
    #[cfg(feature = "agent")]
    pub(crate) async fn untold_summary(&self, session: &Session) -> Result<String> {
        shown::Shown::read(session).await?.untold_summary(session).await
    }

    fn path_of(&self, id: &SessionId) -> PathBuf {
        self.root.join("sessions").join(format!("{id}.jsonl"))
    }

    /// Whether there is a session for a key. One look at a name.
    fn is_there(&self, key: &str) -> Result<bool> {
        let path = self.path_of(&session_id(key)?);
        match self.options.disk.meta(&path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::io(path, "look at", error)),
        }
    }

    /// The conversation of a canonical key, if it is there.
    async fn find(&self, key: &str) -> Result<Option<Open>> {
        if !self.is_there(key)? {
            return Ok(None);
        }
        let id = session_id(key)?;
        let mut session = match self.sessions.open(id.as_str()).await {
            Ok(session) => session,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Gone) => {
                if !self.is_there(key)? {
                    return Ok(None);
                }
                let problem = format!(
                    "holds the conversation {key} and cannot be read; `forkwood check` tells more"
                );
                return Err(Error::Damaged { path: self.path_of(&id), problem });
            }
            Err(error) => return Err(error),
        };
        session.set_durability(self.options.durability);
        match ConversationRecord::of(&session.facts().info) {
            Some(record) if record.key == key => Ok(Some(Open { session, record })),
            _ => Err(Error::invalid(format!(
                "session {id} has the place of the conversation {key} and says nothing of it; \
                 move it away"
            ))),
        }
    }

    async fn open_or_create(&self, key: &str) -> Result<Open> {
        for _ in 0..TRIES {
            if let Some(open) = self.find(key).await? {
                return Ok(open);
            }
            match self.create(&ConversationRecord::new(key), Vec::new()).await {
                Err(error) if error.kind() == ErrorKind::Exists => {}
                other => return other,
            }
        }
        Err(Error::invalid(format!("the conversation {key} comes and goes; try again")))
    }

    /// Makes a conversation, with the entries it starts with, all at once.
    ///
    /// # Errors
    /// `exists` where another was first.
    async fn create(&self, record: &ConversationRecord, entries: Vec<Entry>) -> Result<Open> {
        self.index.lock().await.note(record)?;
        let info =
            SessionInfo { metadata: Some(record.to_metadata(None)?), ..SessionInfo::default() };
        let id = Some(session_id(&record.key)?);
        let new = NewSession { id, info, entries, id_is_free: true, ..NewSession::default() };
        self.sessions.storage().create(new).await?;
        match self.find(&record.key).await? {
            Some(open) => Ok(open),
            None => Err(Error::SessionNotFound { query: record.key.clone() }),
        }
    }

    fn next_id(&self) -> EntryId {
        self.options.ids.next_id()
    }
}
