//! The sessions of one place.

mod fork;
mod open;
mod prune;

use std::path::Path;
use std::sync::Arc;

use forkwood_core::entry::SessionInfo;
use forkwood_core::{Clock, EntryId, IdSource, Json, SessionId, Text, Timestamp};
use forkwood_storage::jsonl::{Format, IdStyle, JsonlOptions, JsonlStorage};
use forkwood_storage::{
    Listing, NewSession, Page, SessionFacts, SessionStorage, SystemClock, Trashed, UuidV7,
};

use crate::{Error, Result, Session};

pub use fork::ForkOptions;
pub(crate) use open::Held;
use open::OpenSessions;
pub use prune::{PruneOptions, PruneReport};

/// The sessions of one workspace, folder or other storage.
#[derive(Clone, Debug)]
pub struct SessionStore {
    storage: Arc<dyn SessionStorage>,
    ids: Arc<dyn IdSource>,
    clock: Arc<dyn Clock>,
    cwd: Option<Text>,
    open: Arc<OpenSessions>,
}

/// What a new session starts with.
#[derive(Clone, Debug, Default)]
pub struct CreateOptions {
    /// Its id; made where absent.
    pub id: Option<SessionId>,
    /// Its title.
    pub title: Option<Text>,
    /// Its working folder; the workspace of the store where absent.
    pub cwd: Option<Text>,
    /// Free metadata, an object.
    pub metadata: Option<Json>,
}

impl SessionStore {
    /// A store over any storage.
    pub fn new(storage: Arc<dyn SessionStorage>) -> SessionStore {
        SessionStore {
            storage,
            ids: Arc::new(UuidV7),
            clock: Arc::new(SystemClock),
            cwd: None,
            open: Arc::default(),
        }
    }

    /// The store of a workspace: `<workspace>/.forkwood`.
    ///
    /// # Errors
    /// `io` where the folder cannot be looked at. Nothing is made before the first session.
    pub fn open_workspace(workspace: &Path) -> Result<SessionStore> {
        let store = SessionStore::open_root(&workspace.join(crate::workspace::FOLDER))?;
        Ok(store.with_cwd(workspace.to_string_lossy().into_owned().into()))
    }

    /// The store whose folder this is: sessions lie in `root/sessions`, blobs in `root/blobs`.
    ///
    /// # Errors
    /// `io` where the folder cannot be looked at.
    pub fn open_root(root: &Path) -> Result<SessionStore> {
        let storage = JsonlStorage::store(root, JsonlOptions::default())?;
        Ok(SessionStore::new(Arc::new(storage)))
    }

    /// All session files of a folder, of any of the formats, in place.
    ///
    /// # Errors
    /// `not_found` where there is no such folder.
    pub fn open_folder(
        folder: &Path,
        recursive: bool,
        formats: &[Arc<dyn Format>],
    ) -> Result<SessionStore> {
        let options = JsonlOptions::default().with_formats(formats);
        let storage = JsonlStorage::folder(folder, recursive, options)?;
        Ok(SessionStore::new(Arc::new(storage)))
    }

    /// One session file of any of the formats, in place.
    ///
    /// # Errors
    /// `not_found`; `unsupported` or `damaged` where it is no session file.
    pub async fn open_file(path: &Path, formats: &[Arc<dyn Format>]) -> Result<Session> {
        let options = JsonlOptions::default().with_formats(formats);
        let (storage, id) = JsonlStorage::file(path, options)?;
        let store = SessionStore::new(Arc::new(storage));
        store.open_exact(&id).await
    }

    /// Where new entry ids come from.
    #[must_use]
    pub fn with_ids(mut self, ids: Arc<dyn IdSource>) -> SessionStore {
        self.ids = ids;
        self
    }

    /// Where the time comes from, for what the store itself stamps.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> SessionStore {
        self.clock = clock;
        self
    }

    /// The working folder that new sessions record.
    #[must_use]
    pub fn with_cwd(mut self, cwd: Text) -> SessionStore {
        self.cwd = Some(cwd);
        self
    }

    /// The storage behind it.
    pub fn storage(&self) -> &Arc<dyn SessionStorage> {
        &self.storage
    }

    /// Makes a session.
    ///
    /// # Errors
    /// `exists` where the id is taken, `invalid` where metadata is no object.
    pub async fn create(&self, options: CreateOptions) -> Result<Session> {
        check_metadata(options.metadata.as_ref())?;
        let info = SessionInfo {
            title: options.title,
            cwd: options.cwd.or_else(|| self.cwd.clone()),
            metadata: options.metadata,
            ..SessionInfo::default()
        };
        let new = NewSession { id: options.id, info, ..NewSession::default() };
        let facts = self.storage.create(new).await?;
        self.open_exact(&facts.id).await
    }

    /// Makes the session of a sub-agent: `<parent id>/subagents/agent-<task>.jsonl`. Never
    /// overwrites one: a task that has a file already gets another file.
    ///
    /// # Errors
    /// `invalid` where the task could not be a file name or metadata is no object; `not_found`
    /// where the parent is not of this store; `exists` where the id is taken.
    pub async fn create_subagent(
        &self,
        parent: &Session,
        task: &str,
        agent_type: impl Into<Text>,
        options: CreateOptions,
    ) -> Result<Session> {
        check_metadata(options.metadata.as_ref())?;
        let depth = parent.facts().info.spawn_depth.unwrap_or(0).saturating_add(1);
        let info = SessionInfo {
            title: options.title,
            cwd: options.cwd.or_else(|| parent.facts().info.cwd.clone()),
            metadata: options.metadata,
            agent_type: Some(agent_type.into()),
            spawn_depth: Some(depth),
            parent_session_id: Some(parent.id().as_str().into()),
            ..SessionInfo::default()
        };
        let new = NewSession {
            id: options.id,
            info,
            subagent_of: Some((parent.id().clone(), task.to_owned())),
            ..NewSession::default()
        };
        let facts = self.storage.create(new).await?;
        self.open_exact(&facts.id).await
    }

    /// Lists sessions.
    ///
    /// # Errors
    /// `io` where the place itself cannot be read.
    pub async fn list(&self, page: Page) -> Result<Listing> {
        self.storage.list(page).await
    }

    /// Lists the sub-agents' sessions of a session.
    ///
    /// # Errors
    /// `io`.
    pub async fn subagents(&self, parent: &SessionId) -> Result<Listing> {
        self.storage.list(Page { parent: Some(parent.clone()), ..Page::default() }).await
    }

    /// Resolves an id or a unique prefix of it or of its last part. An exact id beats a prefix.
    ///
    /// # Errors
    /// `invalid` for what can be no id, `not_found`, `ambiguous` with the candidates.
    pub async fn resolve(&self, query: &str) -> Result<SessionId> {
        // Checked before it meets any path, prefix or not.
        SessionId::new(query.trim_end_matches(['-', '.', '_']))?;
        let mut found = self.storage.find(query).await?;
        match found.len() {
            0 => Err(Error::SessionNotFound { query: query.to_owned() }),
            1 => Ok(found.remove(0)),
            _ => Err(Error::AmbiguousSession {
                query: query.to_owned(),
                candidates: found.iter().map(ToString::to_string).collect(),
            }),
        }
    }

    /// Opens a session by id or unique prefix.
    ///
    /// # Errors
    /// Those of [`SessionStore::resolve`], and whatever keeps the session from being read.
    pub async fn open(&self, query: &str) -> Result<Session> {
        let id = self.resolve(query).await?;
        self.open_exact(&id).await
    }

    async fn open_exact(&self, id: &SessionId) -> Result<Session> {
        let facts = self.storage.facts(id).await?;
        let ids = self.ids_for(&facts);
        let mut session = Session::open(Arc::clone(&self.storage), id, ids).await?;
        // A sub-agent at work keeps its parent's session open, too.
        let parent = facts.info.parent_session_id.as_ref().and_then(Text::as_str);
        let parent = parent.and_then(|parent| SessionId::new(parent).ok());
        session.held =
            [Some(facts.id), parent].into_iter().flatten().map(|id| self.open.hold(&id)).collect();
        Ok(session)
    }

    /// Ids in the style of the session's format.
    fn ids_for(&self, facts: &SessionFacts) -> Arc<dyn IdSource> {
        match facts.ids {
            IdStyle::Uuid => Arc::clone(&self.ids),
            IdStyle::Hex8 => Arc::new(ShortIds(Arc::clone(&self.ids))),
        }
    }

    /// Moves a session to the trash.
    ///
    /// # Errors
    /// Those of [`SessionStore::resolve`].
    pub async fn delete(&self, query: &str) -> Result<Trashed> {
        let id = self.resolve(query).await?;
        self.storage.delete(&id, false).await
    }

    /// Brings a session back from the trash, by id or unique prefix.
    ///
    /// # Errors
    /// `not_found`, `ambiguous`, `exists`.
    pub async fn restore(&self, query: &str) -> Result<Session> {
        let id = self.resolve_trashed(query).await?;
        let facts = self.storage.restore(&id).await?;
        self.open_exact(&facts.id).await
    }

    /// What lies in the trash, newest first.
    ///
    /// # Errors
    /// `io`.
    pub async fn trashed(&self) -> Result<Vec<Trashed>> {
        self.storage.trashed().await
    }

    /// Removes one session from the trash, for good.
    ///
    /// # Errors
    /// `not_found`, `ambiguous`, `io`.
    pub async fn purge(&self, query: &str) -> Result<Vec<Trashed>> {
        let id = self.resolve_trashed(query).await?;
        self.storage.purge(Some(&id), self.clock.now()).await
    }

    /// Removes from the trash, for good, what was deleted before a time.
    ///
    /// # Errors
    /// `io`.
    pub async fn purge_before(&self, before: Timestamp) -> Result<Vec<Trashed>> {
        self.storage.purge(None, before).await
    }

    async fn resolve_trashed(&self, query: &str) -> Result<SessionId> {
        SessionId::new(query.trim_end_matches(['-', '.', '_']))?;
        let mut found: Vec<SessionId> = Vec::new();
        for trashed in self.storage.trashed().await? {
            if trashed.id.as_str() == query {
                return Ok(trashed.id);
            }
            // Of several copies of a session, each has a folder of its own.
            let folder = trashed.path.as_ref().and_then(|path| path.parent()?.file_name());
            if folder.is_some_and(|folder| folder == query) {
                return Ok(SessionId::new(query)?);
            }
            let last = trashed.id.as_str().rsplit('-').next().unwrap_or_default();
            let fits = trashed.id.as_str().starts_with(query) || last.starts_with(query);
            if fits && !found.contains(&trashed.id) {
                found.push(trashed.id);
            }
        }
        match found.len() {
            0 => Err(Error::SessionNotFound { query: format!("{query} (in the trash)") }),
            1 => Ok(found.remove(0)),
            _ => Err(Error::AmbiguousSession {
                query: query.to_owned(),
                candidates: found.iter().map(ToString::to_string).collect(),
            }),
        }
    }
}

fn check_metadata(metadata: Option<&Json>) -> Result<()> {
    match metadata.is_some_and(|json| json.as_object().is_none()) {
        true => Err(Error::invalid("metadata must be a JSON object")),
        false => Ok(()),
    }
}

/// Eight hex digits out of a longer source of ids. A taken one is answered with `exists`, and
/// the session tries the next.
#[derive(Debug)]
struct ShortIds(Arc<dyn IdSource>);

impl IdSource for ShortIds {
    fn next_id(&self) -> EntryId {
        EntryId::new(self.0.next_id().tail())
    }
}
