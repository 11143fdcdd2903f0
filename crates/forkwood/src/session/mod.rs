//! One session: append, move, read.

mod branches;
mod compaction;
mod prepare;
mod read;
mod write;

use std::fmt;
use std::sync::Arc;

use forkwood_core::{EntryId, IdSource, Lane, SessionId, Text};
use forkwood_storage::{Claim, Durability, OnConflict, SessionFacts, SessionStorage};

use crate::Result;
use crate::store::Held;

pub use branches::Branch;
pub use write::AppendOptions;

/// An open session, looking at one lane.
///
/// Reading always shows what is there now, also what other processes wrote. Writing compares the
/// leaf that this handle last saw with where the lane stands: another writer in between is a
/// `conflict`, never a silent branch. [`Session::reload`] takes what others wrote as seen.
#[derive(Clone)]
pub struct Session {
    storage: Arc<dyn SessionStorage>,
    facts: SessionFacts,
    lane: Lane,
    seen: Option<EntryId>,
    ids: Arc<dyn IdSource>,
    durability: Durability,
    on_conflict: OnConflict,
    /// Tells the store that this handle is there.
    pub(crate) held: Vec<Held>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.facts.id)
            .field("lane", &self.lane)
            .field("leaf", &self.seen)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Opens a session of a storage on its `main` lane.
    ///
    /// # Errors
    /// `not_found`, or whatever keeps the session from being read.
    pub async fn open(
        storage: Arc<dyn SessionStorage>,
        id: &SessionId,
        ids: Arc<dyn IdSource>,
    ) -> Result<Session> {
        let facts = storage.facts(id).await?;
        let lane = Lane::main();
        let seen = facts.leaf(&lane).cloned();
        Ok(Session {
            storage,
            facts,
            lane,
            seen,
            ids,
            durability: Durability::default(),
            on_conflict: OnConflict::default(),
            held: Vec::new(),
        })
    }

    /// Its id.
    pub fn id(&self) -> &SessionId {
        &self.facts.id
    }

    /// Title, folder, lanes and so on, as of the last call that read or wrote them.
    pub fn facts(&self) -> &SessionFacts {
        &self.facts
    }

    /// Its title, if it has one.
    pub fn title(&self) -> Option<&Text> {
        self.facts.info.title.as_ref().filter(|title| !title.is_empty())
    }

    /// The lane this handle looks at.
    pub fn lane(&self) -> &Lane {
        &self.lane
    }

    /// Where the lane stands, as this handle last saw it.
    pub fn leaf(&self) -> Option<&EntryId> {
        self.seen.as_ref()
    }

    /// The storage it lives in.
    pub fn storage(&self) -> &Arc<dyn SessionStorage> {
        &self.storage
    }

    /// How sure writes are before they return, from now on; `Sync` at first.
    pub fn set_durability(&mut self, durability: Durability) {
        self.durability = durability;
    }

    /// What becomes of writes that conflict, from now on.
    pub fn set_on_conflict(&mut self, on_conflict: OnConflict) {
        self.on_conflict = on_conflict;
    }

    /// Looks again: what other processes wrote counts as seen from now on.
    ///
    /// # Errors
    /// `gone` where the session was deleted.
    pub async fn reload(&mut self) -> Result<()> {
        self.facts = self.storage.facts(&self.facts.id).await?;
        self.seen = self.facts.leaf(&self.lane).cloned();
        Ok(())
    }

    /// Takes the right to run in this session: whoever lets an agent work in it holds it
    /// meanwhile, so that no two do at the same time. It keeps nobody from writing, and ends when
    /// it is dropped or its process dies.
    ///
    /// # Errors
    /// `locked` where a run is under way, in this process or in another; `gone`; `read_only` and
    /// `newer_version` where nothing can be written.
    pub async fn claim(&self) -> Result<Claim> {
        self.storage.claim(self.id()).await
    }

    /// Whether a run is under way in this session right now, in whatever process. Changes
    /// nothing.
    ///
    /// # Errors
    /// `gone` where the session was deleted.
    pub async fn is_claimed(&self) -> Result<bool> {
        self.storage.is_claimed(self.id()).await
    }

    /// Looks at another lane from now on.
    ///
    /// # Errors
    /// `not_found` where there is no such lane.
    pub async fn use_lane(&mut self, lane: Lane) -> Result<()> {
        self.facts = self.storage.facts(&self.facts.id).await?;
        if !self.facts.lanes.iter().any(|state| state.lane == lane) {
            return Err(crate::Error::SessionNotFound {
                query: format!("lane {lane} of session {}", self.facts.shown_id),
            });
        }
        self.seen = self.facts.leaf(&lane).cloned();
        self.lane = lane;
        Ok(())
    }

    fn is_native(&self) -> bool {
        self.facts.dialect == forkwood_storage::jsonl::NATIVE
    }

    fn shown(&self) -> String {
        self.facts.shown_id.to_string()
    }
}
