//! All sessions of the places that the arguments name, one after the other.
//!
//! What is remembered of each is where it is and what it says of itself; its entries are read
//! when its turn comes, a few at a time.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use forkwood::storage::disk::{Disk, RealDisk};
use forkwood::{ErrorKind, Page, Problem, Session, SessionFacts, SessionId, SessionStore, Stored};
use forkwood_formats::import::{self, About, ForeignSession, Tool, Unit};

use crate::ctx::Ctx;
use crate::error::Result;
use crate::place::Place;
use crate::{foreign, target};

/// How many entries are read at a time: a single one may be very long.
const PAGE: usize = 16;

/// Where a session is.
#[derive(Clone)]
pub(crate) enum Source {
    /// In a storage of the engine's.
    Stored(SessionStore, SessionId),
    /// In a unit of another tool, as the n-th of it.
    Foreign(Arc<dyn Tool>, Unit, usize),
}

/// Sessions, and what is among them and can be none.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) sources: Vec<Source>,
    pub(crate) problems: Vec<Problem>,
    /// How the places are called.
    pub(crate) places: Vec<String>,
}

/// What is known of a session before its entries.
pub(crate) enum Known {
    Stored(Box<SessionFacts>),
    Foreign(Box<About>),
}

/// Finds the sessions that arguments name; without any, all of the place, sub-agents' too; with
/// `all`, those of other tools as well.
pub(crate) async fn find(ctx: &Ctx, queries: &[String], all: bool) -> Result<Found> {
    let mut found = Found::default();
    for query in queries {
        let (store, id) = target::find(ctx, query, true).await?;
        found.sources.push(Source::Stored(store, id));
    }
    if !queries.is_empty() {
        return Ok(found);
    }
    let mut places = vec![Place::of(ctx)?];
    if all {
        for tool in import::tools() {
            for folder in foreign::places(ctx, tool.as_ref()) {
                places.push(Place::Tool(tool.name(), folder));
            }
        }
    }
    for place in &places {
        found.places.push(place.shown());
        let store = match place.open(ctx, true, true) {
            Ok(store) => store,
            // Who does not use that tool has no such folder.
            Err(error) if all && error.kind == ErrorKind::NotFound.as_str() => continue,
            Err(error) => return Err(error),
        };
        let mut units = Vec::new();
        if let Place::Folder(folder) | Place::Tool(_, folder) = place {
            units = foreign::units(folder);
        }
        stored(&store, &mut found).await?;
        let paths: HashSet<&PathBuf> = units.iter().flat_map(|(_, unit)| &unit.files).collect();
        found.problems.retain(|problem| !paths.contains(&problem.path));
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        for (tool, unit) in units {
            match tool.open(&disk, &unit).await {
                Ok(sessions) => {
                    for nth in 0..sessions.len() {
                        found.sources.push(Source::Foreign(Arc::clone(&tool), unit.clone(), nth));
                    }
                }
                Err(error) => found.problems.push(Problem {
                    path: unit.path,
                    kind: "damaged",
                    message: error.to_string(),
                }),
            }
        }
    }
    Ok(found)
}

/// The sessions of a store, and those of sub-agents below them.
async fn stored(store: &SessionStore, found: &mut Found) -> Result {
    let listing = store.list(Page::default()).await?;
    found.problems.extend(listing.problems);
    let mut todo: Vec<SessionId> = listing.rows.into_iter().rev().map(|row| row.id).collect();
    let mut seen: HashSet<SessionId> = todo.iter().cloned().collect();
    while let Some(id) = todo.pop() {
        let below = store.subagents(&id).await.map(|listing| listing.rows).unwrap_or_default();
        todo.extend(below.into_iter().map(|row| row.id).filter(|id| seen.insert(id.clone())));
        found.sources.push(Source::Stored(store.clone(), id));
    }
    Ok(())
}

/// A session of the engine's, or of another tool, read page by page.
pub(crate) enum Reader {
    Stored(Box<Session>, Option<u64>),
    Foreign(Box<dyn ForeignSession>),
}

/// Opens sources. The last unit of another tool stays open, since its sessions come one after
/// the other.
#[derive(Default)]
pub(crate) struct Opener {
    unit: Option<(PathBuf, &'static str, Sessions)>,
}

/// The sessions of a unit that were not read yet.
type Sessions = Vec<Option<Box<dyn ForeignSession>>>;

impl Opener {
    pub(crate) async fn open(&mut self, source: &Source) -> Result<Reader> {
        let (tool, unit, nth) = match source {
            Source::Stored(store, id) => {
                let session = store.open(id.as_str()).await?;
                return Ok(Reader::Stored(Box::new(session), Some(0)));
            }
            Source::Foreign(tool, unit, nth) => (tool, unit, *nth),
        };
        let kept = self.unit.as_mut().filter(|(path, name, sessions)| {
            *path == unit.path
                && *name == tool.name()
                && sessions.get(nth).is_some_and(Option::is_some)
        });
        if let Some(session) = kept.and_then(|(_, _, sessions)| sessions.get_mut(nth)?.take()) {
            return Ok(Reader::Foreign(session));
        }
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let sessions = tool.open(&disk, unit).await?;
        let mut sessions: Sessions = sessions.into_iter().map(Some).collect();
        let session = sessions.get_mut(nth).and_then(Option::take);
        self.unit = Some((unit.path.clone(), tool.name(), sessions));
        let gone = || forkwood::Error::SessionNotFound { query: unit.path.display().to_string() };
        Ok(Reader::Foreign(session.ok_or_else(gone)?))
    }
}

impl Reader {
    /// What is known of the session.
    pub(crate) fn known(&self) -> Known {
        match self {
            Reader::Stored(session, _) => Known::Stored(Box::new(session.facts().clone())),
            Reader::Foreign(session) => Known::Foreign(Box::new(session.about().clone())),
        }
    }

    /// The next entries; none at the end.
    pub(crate) async fn next(&mut self) -> Result<Vec<Stored>> {
        match self {
            Reader::Stored(session, next) => {
                let Some(from) = next.take() else { return Ok(Vec::new()) };
                let page = session.read(from, PAGE).await?;
                *next = page.next;
                Ok(page.entries)
            }
            Reader::Foreign(session) => {
                let entries = session.next().await?;
                let alone = |entry| Stored { entry, seq: 0, line: None, offset: None, raw: None };
                Ok(entries.into_iter().map(alone).collect())
            }
        }
    }
}
