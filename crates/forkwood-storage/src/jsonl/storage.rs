//! Sessions as files of JSON lines: the storage.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use forkwood_core::{Body, Diagnostic, EntryId, SessionId, Timestamp};

use super::file::{SessionFile, Trouble};
use super::leftovers::Leftovers;
use super::options::JsonlOptions;
use super::place::Place;
use super::slot::{Slot, Slots};
use super::watch::{FileWatch, check_cursor};
use super::{blob_store, list, plan, trash};
use crate::disk::Disk;
use crate::{
    Append, Appended, Capabilities, Claim, Cursor, ErrorKind, Head, Listing, NewSession, Page,
    PathRead, PathStop, Problem, ReadPage, Result, Rewrite, Rewritten, Seq, SessionFacts,
    SessionRow, SessionStorage, Sort, StorageError, Stored, Trashed, Watch,
};

/// Sessions in files.
#[derive(Debug)]
pub struct JsonlStorage {
    pub(super) place: Place,
    pub(super) options: JsonlOptions,
    pub(super) slots: Slots,
    leftovers: Leftovers,
    /// The store whose blobs the entries name.
    blobs: Option<PathBuf>,
}

impl JsonlStorage {
    /// The store under a root folder. Nothing is made before the first session.
    ///
    /// # Errors
    /// `invalid` where the root is there and no folder.
    pub fn store(root: &Path, options: JsonlOptions) -> Result<JsonlStorage> {
        if let Ok(meta) = options.disk.meta(root)
            && meta.kind == crate::disk::NodeKind::File
        {
            return Err(StorageError::invalid(format!(
                "{}: is a file, not a folder",
                root.display()
            )));
        }
        Ok(JsonlStorage::at(Place::Store(root.to_path_buf()), options))
    }

    /// All session files of a folder, in place.
    ///
    /// # Errors
    /// `not_found` where there is no such folder.
    pub fn folder(folder: &Path, recursive: bool, options: JsonlOptions) -> Result<JsonlStorage> {
        options.disk.names(folder).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                StorageError::SessionNotFound { query: folder.display().to_string() }
            }
            _ => StorageError::io(folder, "read", error),
        })?;
        let place = Place::Folder { folder: folder.to_path_buf(), recursive };
        Ok(JsonlStorage::at(place, options))
    }

    /// One session file, in place. Links in its path are resolved. A native one that lies in a
    /// store shares its blobs.
    ///
    /// # Errors
    /// `not_found`; `unsupported` or `damaged` where it is no session file.
    pub fn file(path: &Path, options: JsonlOptions) -> Result<(JsonlStorage, SessionId)> {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let mut storage = JsonlStorage::at(Place::File(real.clone()), options);
        let slot = storage.slot_of(&real)?;
        // A foreign file in a folder of that name knows nothing of our blobs.
        if slot.file().dialect.name() != super::native::NAME {
            storage.blobs = None;
        }
        Ok((storage, slot.id.clone()))
    }

    fn at(place: Place, options: JsonlOptions) -> JsonlStorage {
        let blobs = place.root();
        JsonlStorage {
            place,
            options,
            slots: Slots::default(),
            leftovers: Leftovers::default(),
            blobs,
        }
    }

    pub(super) fn disk(&self) -> &dyn Disk {
        self.options.disk.as_ref()
    }

    fn open_file(&self, path: &Path) -> Result<SessionFile> {
        SessionFile::open(path, &self.options.disk, &self.options.formats, self.options.bridge)
    }

    pub(super) fn slot_of(&self, path: &Path) -> Result<Arc<Slot>> {
        self.slots.get(path, || self.open_file(path))
    }

    pub(super) fn root(&self) -> Result<&Path> {
        match &self.place {
            Place::Store(root) => Ok(root),
            _ => Err(StorageError::unsupported("new sessions need a store of Forkwood's own")),
        }
    }

    fn blobs(&self) -> Result<&Path> {
        self.blobs.as_deref().ok_or_else(|| {
            StorageError::unsupported("blobs need a store of Forkwood's own to lie in")
        })
    }

    /// The open file of a session, up to date.
    fn session(&self, id: &SessionId) -> Result<Arc<Slot>> {
        let path = self.path_of(id)?;
        let slot = self.slot_of(&path)?;
        let refreshed = slot.file().refresh();
        match refreshed {
            Err(error) if error.kind() == ErrorKind::Gone => {
                self.slots.close(&path);
                Err(error)
            }
            Err(error) => Err(error),
            Ok(()) => Ok(slot),
        }
    }

    fn row(&self, path: &Path) -> Result<SessionRow> {
        // A list leaves no file open behind it.
        match self.slots.known(path) {
            Some(slot) => {
                let mut file = slot.file();
                file.refresh()?;
                list::row(&mut file)
            }
            None => list::row(&mut self.open_file(path)?),
        }
    }

    fn item(&self, id: &SessionId) -> Result<trash::Item> {
        let items = trash::list(self.disk(), &self.place)?;
        items
            .into_iter()
            .find(|item| {
                item.id == *id || item.folder.file_name().is_some_and(|name| name == id.as_str())
            })
            .ok_or_else(|| StorageError::SessionNotFound { query: format!("{id} (in the trash)") })
    }

    fn is_native_place(&self) -> bool {
        matches!(self.place, Place::Store(_))
    }
}

#[async_trait]
impl SessionStorage for JsonlStorage {
    fn capabilities(&self) -> Capabilities {
        Capabilities { blobs: self.blobs.is_some(), ..plan::capabilities(self.is_native_place()) }
    }

    async fn create(&self, new: NewSession) -> Result<SessionFacts> {
        self.make(&new)
    }

    async fn list(&self, page: Page) -> Result<Listing> {
        let mut listing = Listing::default();
        let files = match &page.parent {
            Some(parent) => self.place.subagent_files(self.disk(), Some(parent)),
            None => {
                let found = self.place.files(self.disk());
                let (files, problems) = found
                    .map_err(|error| StorageError::io(self.place.sessions(), "read", error))?;
                listing.problems = problems;
                files
            }
        };
        for path in files {
            match self.row(&path) {
                Ok(row) => listing.rows.push(row),
                Err(error) => listing.problems.push(problem(path, &error)),
            }
        }
        let key = |row: &SessionRow| match page.sort {
            Sort::Activity => row.last_activity.or(row.created),
            Sort::Created => row.created,
        };
        listing.rows.sort_by(|a, b| key(b).cmp(&key(a)).then_with(|| b.id.cmp(&a.id)));
        listing.total = listing.rows.len();
        let limit = if page.limit == 0 { usize::MAX } else { page.limit };
        listing.rows = listing.rows.into_iter().skip(page.skip).take(limit).collect();
        Ok(listing)
    }

    async fn find(&self, prefix: &str) -> Result<Vec<SessionId>> {
        if prefix.is_empty() {
            return Err(StorageError::invalid(
                "an empty id names no session: it is not a valid id",
            ));
        }
        if let Ok(exact) = SessionId::new(prefix)
            && self.path_of(&exact).is_ok()
        {
            return Ok(vec![exact]);
        }
        let mut found: Vec<SessionId> = Vec::new();
        for path in self.files()?.0 {
            let Some(id) = self.known_id(&path) else { continue };
            let last = id.as_str().rsplit('-').next().unwrap_or_default();
            if id.as_str().starts_with(prefix) || last.starts_with(prefix) {
                found.push(id);
            }
        }
        found.sort();
        found.dedup();
        Ok(found)
    }

    async fn delete(&self, session: &SessionId, idle_only: bool) -> Result<Trashed> {
        let path = self.path_of(session)?;
        if idle_only && !self.idle(&path)? {
            return Err(StorageError::Locked { path, waited_ms: 0 });
        }
        let slot = self.slot_of(&path)?;
        // Who only tidies up does not wait for who works.
        let wait = if idle_only { Duration::ZERO } else { self.options.lock_wait };
        let _turn = slot.turn(wait)?;
        let now = self.options.clock.now();
        let below = trash::below(self.disk(), &self.place, session, |file| self.known_id(file));
        let item = trash::put(self.disk(), &self.place, &path, session, &below, now);
        // Whoever took the file, what is open of it is of no use any more.
        self.slots.close(&path);
        let item = item?;
        // Its sub-agents' sessions went with it.
        for id in below.iter().chain([session]) {
            self.slots.close_below(&self.place.sessions().join(id.as_str()));
        }
        Ok(item.trashed())
    }

    async fn is_idle(&self, session: &SessionId) -> Result<bool> {
        self.idle(&self.path_of(session)?)
    }

    async fn claim(&self, session: &SessionId) -> Result<Claim> {
        self.claim_now(session)
    }

    async fn is_claimed(&self, session: &SessionId) -> Result<bool> {
        self.claimed_now(session)
    }

    async fn restore(&self, session: &SessionId) -> Result<SessionFacts> {
        let item = self.item(session)?;
        let path = trash::restore(self.disk(), &self.place, &item)?;
        let slot = self.slot_of(&path)?;
        let file = slot.file();
        file.facts()
    }

    async fn trashed(&self) -> Result<Vec<Trashed>> {
        Ok(trash::list(self.disk(), &self.place)?.iter().map(trash::Item::trashed).collect())
    }

    async fn purge(&self, session: Option<&SessionId>, before: Timestamp) -> Result<Vec<Trashed>> {
        let items = match session {
            Some(session) => vec![self.item(session)?],
            None => {
                let mut items = trash::list(self.disk(), &self.place)?;
                items.retain(|item| item.at < before);
                items
            }
        };
        for item in &items {
            trash::purge(self.disk(), &self.place, item)?;
        }
        if session.is_none() {
            trash::purge_rest(self.disk(), &self.place, before)?;
        }
        if let Place::Store(root) = &self.place {
            let now = self.options.clock.now().as_micros();
            blob_store::sweep(self.disk(), &self.place, root, now, self.options.lock_wait)?;
        }
        Ok(items.iter().map(trash::Item::trashed).collect())
    }

    async fn facts(&self, session: &SessionId) -> Result<SessionFacts> {
        let slot = self.session(session)?;
        let file = slot.file();
        file.facts()
    }

    async fn heads(&self, session: &SessionId) -> Result<Vec<Head>> {
        let slot = self.session(session)?;
        let file = slot.file();
        Ok((0..file.index.len()).map(|at| file.head(at)).collect())
    }

    async fn append(&self, session: &SessionId, append: Append) -> Result<Appended> {
        let path = self.path_of(session)?;
        let slot = self.slot_of(&path)?;
        let tidied = slot.file().tidied || self.leftovers.none_of(self.disk(), &path);
        slot.file().tidied = tidied;
        let done = slot.append(append, self.options.clock.as_ref(), self.options.lock_wait);
        if done.as_ref().is_err_and(|error| error.kind() == ErrorKind::Gone) {
            self.slots.close(&path);
        }
        done
    }

    async fn read(&self, session: &SessionId, from: Seq, limit: usize) -> Result<ReadPage> {
        let slot = self.session(session)?;
        let mut file = slot.file();
        file.reading(|file| {
            let start =
                file.index.recs().partition_point(|rec| rec.offset + u64::from(rec.len) < from)
                    as u32;
            let end = start.saturating_add(u32::try_from(limit).unwrap_or(u32::MAX));
            let end = end.min(file.index.len());
            let entries = (start..end)
                .map(|at| file.stored(at))
                .collect::<std::result::Result<Vec<_>, _>>()?;
            let next = (end < file.index.len()).then(|| entries.last().map_or(from, |e| e.seq));
            Ok(ReadPage { entries, next })
        })
    }

    async fn get(&self, session: &SessionId, ids: &[EntryId]) -> Result<Vec<Option<Stored>>> {
        let slot = self.session(session)?;
        let mut file = slot.file();
        file.reading(|file| {
            ids.iter()
                .map(|id| file.index.find(id.as_str()).map(|at| file.stored(at)).transpose())
                .collect()
        })
    }

    async fn path(&self, session: &SessionId, from: &EntryId, stop: PathStop) -> Result<PathRead> {
        let slot = self.session(session)?;
        let mut file = slot.file();
        file.reading(|file| super::path::read(file, from, stop))
    }

    async fn sidecars(&self, session: &SessionId, targets: &[EntryId]) -> Result<Vec<Stored>> {
        let slot = self.session(session)?;
        let mut file = slot.file();
        let wanted: HashSet<&EntryId> = targets.iter().collect();
        file.reading(|file| {
            let mut found = Vec::new();
            for at in (0..file.index.len()).filter(|at| file.is_beside(*at)) {
                let stored = file.stored(at)?;
                let target = match &stored.entry.body {
                    Body::Label { target_id: Some(target), .. } => Some(target),
                    Body::Leaf { leaf_id: Some(target) } => Some(target),
                    _ => stored.entry.parent_id.as_ref(),
                };
                if wanted.is_empty() || target.is_some_and(|target| wanted.contains(target)) {
                    found.push(stored);
                }
            }
            Ok(found)
        })
    }

    async fn check(&self, session: &SessionId) -> Result<Vec<Diagnostic>> {
        let slot = self.session(session)?;
        let mut file = slot.file();
        file.go_full()?;
        super::path::check(&mut file)
    }

    async fn diagnostics(&self, session: &SessionId) -> Result<Vec<Diagnostic>> {
        let slot = self.session(session)?;
        let findings = slot.file().findings();
        Ok(findings)
    }

    async fn watch(&self, session: &SessionId, cursor: Cursor) -> Result<Box<dyn Watch>> {
        check_cursor(&cursor)?;
        let slot = self.session(session)?;
        Ok(Box::new(FileWatch::new(slot, cursor)))
    }

    async fn put_blob(&self, bytes: &[u8]) -> Result<String> {
        let now = self.options.clock.now().as_micros();
        blob_store::put(self.disk(), self.blobs()?, bytes, now, self.options.lock_wait)
    }

    async fn get_blob(&self, name: &str) -> Result<Option<Vec<u8>>> {
        blob_store::get(self.disk(), self.blobs()?, name)
    }

    async fn rewrite(&self, session: &SessionId, rewrite: Rewrite) -> Result<Rewritten> {
        let slot = self.session(session)?;
        let now = self.options.clock.now();
        let file = slot.file();
        // A missing header is what a repair is for.
        let headless = file
            .header
            .diagnostics
            .iter()
            .any(|finding| finding.kind == forkwood_core::DiagnosticKind::NoHeader);
        if !(headless && rewrite == Rewrite::Repair) {
            file.writable()?;
        }
        if rewrite == Rewrite::Reset && !file.dialect.policy().bare_header {
            return Err(StorageError::unsupported(format!(
                "{}: its owner would write a file that holds nothing but a header a second time, \
                 so it is not emptied; delete the session and begin a new one, or rewind it",
                file.path.display()
            )));
        }
        drop(file);
        let _turn = slot.turn(self.options.lock_wait)?;
        let mut file = slot.file();
        file.refresh()?;
        match rewrite {
            Rewrite::Repair => file.repair(now),
            Rewrite::Vacuum { prune_branches } => file.vacuum(prune_branches),
            Rewrite::Reset => file.reset(|file| {
                trash::keep(self.disk(), &self.place, &file.path, session, now)
                    .map(|item| item.file())
            }),
        }
    }
}

/// Why a file is no row of a list.
fn problem(path: PathBuf, error: &StorageError) -> Problem {
    let message = error.to_string();
    let kind = match error {
        StorageError::Damaged { problem, .. } if problem.starts_with("is empty") => "empty",
        StorageError::Damaged { .. } => "damaged",
        StorageError::Unsupported { .. } => "foreign",
        _ => "unreadable",
    };
    Problem { path, kind, message }
}

impl From<Trouble> for StorageError {
    fn from(trouble: Trouble) -> StorageError {
        match trouble {
            Trouble::Storage(error) => error,
            Trouble::NeedFull => StorageError::invalid("the file changed while it was read"),
        }
    }
}
