//! A run of the import: units in, reports out.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use forkwood::storage::disk::{Disk, LockGuard};
use forkwood::storage::{Append, NewSession, UuidV7};
use forkwood::{
    Body, Diagnostic, DiagnosticKind, Draft, Entry, EntryId, Error, ErrorKind, IdSource, Page,
    Result, SessionFacts, SessionId, SessionInfo, SessionStore, Text,
};
use sha2::{Digest, Sha256};

use super::ledger::{Ledger, Taken};
use super::take::{Target, Written};
use crate::fields::Out;

use super::{About, FileStamp, ForeignSession, Identity, Origin, Outcome, Report, Tool, Unit};

/// The ledger, in the folder of the store.
const LEDGER: &str = "imports.jsonl";
/// Who imports holds this lock.
const LOCK: &str = ".imports.lock";
/// How long to wait for another import.
const WAIT: Duration = Duration::from_secs(10);
/// So many unknown fields are told of one source.
const UNKNOWN: usize = 100;
/// After so many changes the ledger is written.
const SAVE_EVERY: usize = 500;

/// A run of the import into one store.
#[derive(Debug)]
pub struct Import<'s> {
    store: &'s SessionStore,
    disk: Arc<dyn Disk>,
    ledger: Ledger,
    /// Every id in the store; read when it is needed first.
    ids: Option<HashSet<SessionId>>,
    trashed: HashSet<SessionId>,
    /// The session of each source, for sub-agents to find their parents.
    by_source: HashMap<(&'static str, Text), SessionId>,
    unsaved: usize,
    /// Whether a source without an entry becomes a session, too.
    pub(super) keep_empty: bool,
    _lock: Option<Box<dyn LockGuard>>,
}

/// Who may be whose parent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parents {
    /// A sub-agent waits until all others are there.
    Wait,
    /// What has no parent by now is a session of its own.
    Settle,
}

impl<'s> Import<'s> {
    /// Starts a run. `root` is the folder of the store, where it has one: there the run keeps its
    /// ledger, and a lock, so that two runs never work at a time.
    ///
    /// # Errors
    /// `locked` where another import runs, and those of the file system.
    pub async fn start(
        store: &'s SessionStore,
        disk: Arc<dyn Disk>,
        root: Option<&Path>,
    ) -> Result<Import<'s>> {
        let lock = match root {
            Some(root) => Some(lock(disk.as_ref(), root)?),
            None => None,
        };
        let ledger = Ledger::open(disk.as_ref(), root.map(|root| root.join(LEDGER)));
        let trashed = store.trashed().await.unwrap_or_default();
        Ok(Import {
            store,
            disk,
            ledger,
            ids: None,
            trashed: trashed.into_iter().map(|trashed| trashed.id).collect(),
            by_source: HashMap::new(),
            unsaved: 0,
            keep_empty: false,
            _lock: lock,
        })
    }

    /// Takes units, one after the other; tells of each as it is done. Nothing that is wrong with
    /// one of them keeps the others from being taken.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub async fn take(
        &mut self,
        units: &[(Arc<dyn Tool>, Unit)],
        told: &mut dyn FnMut(Report),
    ) -> Result<()> {
        let mut waiting = Vec::new();
        for (tool, unit) in units {
            if self.unit(tool.as_ref(), unit, Parents::Wait, told).await {
                waiting.push((tool, unit));
            }
            if self.unsaved >= SAVE_EVERY {
                self.unsaved = 0;
                self.ledger.save(self.disk.as_ref())?;
            }
        }
        for (tool, unit) in waiting {
            self.unit(tool.as_ref(), unit, Parents::Settle, told).await;
        }
        self.ledger.save(self.disk.as_ref())
    }

    /// Takes one unit. Whether a session of it waits for its parent.
    async fn unit(
        &mut self,
        tool: &dyn Tool,
        unit: &Unit,
        parents: Parents,
        told: &mut dyn FnMut(Report),
    ) -> bool {
        // Before it is read: what is written meanwhile is then seen the next time.
        let files: Vec<FileStamp> =
            unit.files.iter().map(|path| FileStamp::of(self.disk.as_ref(), path)).collect();
        if self.is_current(tool.name(), unit, &files) {
            for taken in self.ledger.of(tool.name(), &unit.path) {
                self.by_source
                    .insert((tool.name(), taken.origin.source_id.clone()), taken.session.clone());
                told(Report {
                    format: Some(tool.name()),
                    source_id: Some(taken.origin.source_id.clone()),
                    session: Some(taken.session.clone()),
                    ..Report::new(unit.path.clone(), Outcome::Unchanged)
                });
            }
            return false;
        }
        let sessions = match tool.open(&self.disk, unit).await {
            Ok(sessions) => sessions,
            Err(error) => {
                told(Report::failed(unit.path.clone(), Some(tool.name()), error));
                return false;
            }
        };
        let mut waits = false;
        for mut session in sessions {
            let about = session.about().clone();
            let parent = self.parent_of(tool.name(), &about);
            if parents == Parents::Wait && parent.is_none() && names_parent(&about) {
                waits = true;
                continue;
            }
            let done = self.session(tool, unit, &files, session.as_mut(), parent).await;
            let report = done.unwrap_or_else(|error| {
                Report::failed(unit.path.clone(), Some(tool.name()), error)
            });
            told(Report {
                format: Some(tool.name()),
                dialect: Some(about.dialect),
                source_id: Some(about.source_id),
                ..report
            });
        }
        waits
    }

    /// Whether nothing changed since the unit was taken, here and there.
    fn is_current(&self, tool: &str, unit: &Unit, files: &[FileStamp]) -> bool {
        let there = |taken: &Taken| match &taken.path {
            Some(path) => self.disk.meta(path).is_ok(),
            None => false,
        };
        self.ledger.is_current(tool, &unit.path, files)
            && self.ledger.of(tool, &unit.path).iter().all(there)
    }

    fn parent_of(&self, tool: &'static str, about: &About) -> Option<SessionId> {
        let parent = about.info.parent_session_id.clone()?;
        self.by_source.get(&(tool, parent)).cloned()
    }

    async fn session(
        &mut self,
        tool: &dyn Tool,
        unit: &Unit,
        files: &[FileStamp],
        source: &mut dyn ForeignSession,
        parent: Option<SessionId>,
    ) -> Result<Report> {
        let about = source.about().clone();
        let mut report = Report::new(unit.path.clone(), Outcome::Unchanged);
        let storage = Arc::clone(self.store.storage());
        let start = source.next().await?;
        let found = self.find(tool, unit, &about, &start).await?;
        let (id, before) = match found {
            Known::Here(id, origin) => (id, Some(*origin)),
            Known::InTrash(id) => {
                return Ok(Report { session: Some(id), outcome: Outcome::InTrash, ..report });
            }
            Known::Not(_)
                if start.is_empty() && about.identity != Identity::Ids && !self.keep_empty =>
            {
                return Ok(Report { outcome: Outcome::Empty, ..report });
            }
            Known::Not(id) => {
                report.outcome = Outcome::New;
                (self.create(tool, unit, &about, id, parent).await?, None)
            }
        };
        let target = Target::open(storage.as_ref(), &id, before.as_ref()).await?;
        let written = target.take(start, source).await?;
        report.findings = source.findings().await?;
        // How its owner keeps the source is no business of the store.
        report.findings.retain(|finding| finding.kind != DiagnosticKind::LooseMode);
        let told: HashSet<EntryId> =
            report.findings.iter().filter_map(|finding| finding.entry.clone()).collect();
        let untold = |found: &&Diagnostic| found.entry.as_ref().is_none_or(|id| !told.contains(id));
        report.findings.extend(written.unknown.iter().filter(untold).take(UNKNOWN).cloned());
        (report.read, report.added) = (written.read, written.added);
        if report.outcome != Outcome::New && written.added > 0 {
            report.outcome = match written.branched {
                true => Outcome::Branched,
                false => Outcome::Continued,
            };
        } else if report.outcome != Outcome::New && written.branched {
            report.outcome = Outcome::Branched;
        }
        let origin = Origin {
            files: files.to_vec(),
            ..origin(tool, unit, &about, before.as_ref(), &written)
        };
        let path = self.settle(&id, &about, before.as_ref(), &origin, &written).await?;
        self.by_source.insert((tool.name(), about.source_id), id.clone());
        self.ledger.add(Taken { session: id.clone(), path, origin });
        self.unsaved += 1;
        Ok(Report { session: Some(id), ..report })
    }

    /// The session that was made of a source, or the id that one would get.
    async fn find(
        &mut self,
        tool: &dyn Tool,
        unit: &Unit,
        about: &About,
        start: &[Entry],
    ) -> Result<Known> {
        let preferred = about.id.clone().unwrap_or_else(|| own_id(tool, about));
        let other = beside(&preferred, tool, unit);
        let taken = self.ledger.of(tool.name(), &unit.path);
        let of_ledger = taken.iter().find(|taken| taken.origin.source_id == about.source_id);
        let known = of_ledger.map(|taken| taken.session.clone());
        for id in known.into_iter().chain([preferred.clone(), other.clone()]) {
            let Some(facts) = self.facts(&id).await? else {
                if self.trashed.contains(&id) {
                    return Ok(Known::InTrash(id));
                }
                continue;
            };
            let origin = Origin::of_metadata(facts.info.metadata.as_ref());
            if let Some(origin) = origin.filter(|o| o.is_of(tool.name(), &about.source_id))
                && (origin.path == unit.path
                    || lies_beside(about, &origin.path, &unit.path)
                    || self.holds_any(&id, about, start).await?)
            {
                return Ok(Known::Here(id, Box::new(origin)));
            }
        }
        let free = match self.has(&preferred).await? {
            true => other,
            false => preferred,
        };
        Ok(Known::Not(free))
    }

    /// Whether a session holds an entry of a source that lies elsewhere than where it came from:
    /// then that is a copy of it, else another session under the same id.
    async fn holds_any(&self, id: &SessionId, about: &About, start: &[Entry]) -> Result<bool> {
        if start.is_empty() {
            return Ok(true);
        }
        let heads = self.store.storage().heads(id).await?;
        let ids: HashSet<&str> = start.iter().map(|entry| known_by(about, &entry.id)).collect();
        Ok(heads.iter().any(|head| ids.contains(known_by(about, &head.id))))
    }

    /// What is known of a session of the store; `None` where there is none of this id.
    async fn facts(&mut self, id: &SessionId) -> Result<Option<SessionFacts>> {
        if !self.has(id).await? {
            return Ok(None);
        }
        match self.store.storage().facts(id).await {
            Ok(facts) => Ok(Some(facts)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.ids.get_or_insert_default().remove(id);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether the store has a session of this id. All of them are listed once.
    async fn has(&mut self, id: &SessionId) -> Result<bool> {
        if self.ids.is_none() {
            let listing = self.store.list(Page::default()).await?;
            let mut ids: HashSet<SessionId> = listing.rows.into_iter().map(|row| row.id).collect();
            ids.extend(self.ledger.sessions());
            self.ids = Some(ids);
        }
        Ok(self.ids.as_ref().is_some_and(|ids| ids.contains(id)))
    }

    async fn create(
        &mut self,
        tool: &dyn Tool,
        unit: &Unit,
        about: &About,
        id: SessionId,
        parent: Option<SessionId>,
    ) -> Result<SessionId> {
        let origin = origin(tool, unit, about, None, &Written::default());
        let mut metadata = origin.metadata_with(about.info.metadata.as_ref());
        if let Some((key, value)) = about.of_id.as_ref().filter(|_| about.id.as_ref() == Some(&id))
        {
            let mut with = Out::default();
            with.field(key, value.get());
            with.rest(
                metadata.as_object().iter().flat_map(|o| o.iter()).map(|(k, v)| (k, v.get())),
            );
            metadata = with.into_json();
        }
        let subagent_of = parent.map(|parent| (parent, task_of(&unit.path)));
        let info = SessionInfo {
            metadata: Some(metadata),
            session_id: None,
            version: None,
            generation: None,
            forked_from: None,
            parent_session_id: match &subagent_of {
                Some((parent, _)) => Some(parent.as_str().into()),
                None => about.info.parent_session_id.clone(),
            },
            ..about.info.clone()
        };
        let new = NewSession {
            id: Some(id),
            info,
            id_is_free: subagent_of.is_none(),
            subagent_of,
            ..NewSession::default()
        };
        let facts = self.store.storage().create(new).await?;
        self.ids.get_or_insert_default().insert(facts.id.clone());
        Ok(facts.id)
    }

    /// Says in the session how far its source was taken; all of it is then on disk. Gives the
    /// file of the session.
    async fn settle(
        &self,
        id: &SessionId,
        about: &About,
        before: Option<&Origin>,
        origin: &Origin,
        written: &Written,
    ) -> Result<Option<PathBuf>> {
        let storage = self.store.storage();
        let facts = storage.facts(id).await?;
        let finished = before.is_some_and(|before| !before.files.is_empty());
        let retitled = before.is_some_and(|before| before.title != origin.title);
        if finished && written.added == 0 && !written.branched && !retitled {
            return Ok(facts.path);
        }
        let info = SessionInfo {
            metadata: Some(origin.metadata_with(facts.info.metadata.as_ref())),
            title: about.info.title.clone().filter(|_| retitled),
            ..SessionInfo::default()
        };
        let draft = Draft::new(UuidV7.next_id(), Body::SessionInfo(info));
        storage.append(id, Append::any(vec![draft])).await?;
        Ok(facts.path)
    }
}

/// Whether a source was taken before.
enum Known {
    Here(SessionId, Box<Origin>),
    InTrash(SessionId),
    Not(SessionId),
}

fn lock(disk: &dyn Disk, root: &Path) -> Result<Box<dyn LockGuard>> {
    disk.create_folders(root).map_err(|error| Error::write(root, "make", error))?;
    let path = root.join(LOCK);
    disk.lock(&path, false, WAIT).map_err(|error| match error.kind() {
        std::io::ErrorKind::WouldBlock => {
            Error::Locked { path, waited_ms: WAIT.as_millis() as u64 }
        }
        _ => Error::write(path, "lock", error),
    })
}

/// Whether two files of one folder and one id hold the same session: an older file of a format
/// without ids, and what became of it.
fn lies_beside(about: &About, a: &Path, b: &Path) -> bool {
    about.identity != Identity::Ids && a.parent() == b.parent()
}

/// What an entry is known by when its source is read once more.
fn known_by<'i>(about: &About, id: &'i EntryId) -> &'i str {
    match about.identity {
        Identity::Ids => id.as_str(),
        Identity::Lines(_) => super::line_up::key(id),
    }
}

fn names_parent(about: &About) -> bool {
    about.info.parent_session_id.as_ref().is_some_and(|parent| !parent.is_empty())
}

fn origin(
    tool: &dyn Tool,
    unit: &Unit,
    about: &About,
    before: Option<&Origin>,
    written: &Written,
) -> Origin {
    Origin {
        format: tool.name().to_owned(),
        dialect: about.dialect.to_owned(),
        path: unit.path.clone(),
        source_id: about.source_id.clone(),
        forked_from: about.forked_from.clone(),
        files: Vec::new(),
        entries: written.read,
        lane: written.lane.clone().or_else(|| before.and_then(|before| before.lane.clone())),
        leaf: written.leaf.clone().or_else(|| before.and_then(|before| before.leaf.clone())),
        title: about.info.title.clone(),
    }
}

fn hash(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize()[..4].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An id for a session whose own cannot be one.
fn own_id(tool: &dyn Tool, about: &About) -> SessionId {
    let hash = hash(&[tool.name().as_bytes(), about.source_id.as_wtf8()]);
    SessionId::from_lossy(&format!("{}-{hash}", tool.name()))
}

/// The id where the preferred one is taken by another session.
fn beside(preferred: &SessionId, tool: &dyn Tool, unit: &Unit) -> SessionId {
    let hash = hash(&[tool.name().as_bytes(), unit.path.to_string_lossy().as_bytes()]);
    let stem: String = preferred.as_str().chars().take(SessionId::MAX_LEN - 9).collect();
    SessionId::from_lossy(&format!("{stem}-{hash}"))
}

/// The task of a sub-agent, out of the name of its file.
fn task_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let task = stem.strip_prefix("agent-").unwrap_or(&stem);
    SessionId::from_lossy(task).as_str().to_owned()
}
