//! Making a session: its file, whole or not at all.

use std::collections::HashSet;

use forkwood_core::entry::codec;
use forkwood_core::{Body, CoreError, Entry, EntryId, Lane, SessionId, Timestamp, TreeError};

use super::file::damaged;
use super::native::VERSION;
use super::plan::check_line;
use super::storage::JsonlStorage;
use crate::disk::write_whole;
use crate::{NewSession, Result, SessionFacts, StorageError, new_generation, new_session_id};

impl JsonlStorage {
    /// Makes a session under a name that nothing has yet.
    pub(super) fn make(&self, new: &NewSession) -> Result<SessionFacts> {
        self.root()?;
        let now = self.options.clock.now();
        let folder = match &new.subagent_of {
            Some((parent, task)) => {
                SessionId::new(task)?;
                self.path_of(parent)?;
                self.place.subagents_of(parent)
            }
            None => self.place.sessions(),
        };
        if let Some(id) = &new.id
            && !new.id_is_free
            && self.path_of(id).is_ok()
        {
            return Err(StorageError::SessionExists { session: id.clone() });
        }
        for attempt in 0..1000 {
            let id = match &new.id {
                Some(id) => id.clone(),
                None => new_session_id(now)?,
            };
            let lines = new_lines(new, &id, now)?;
            let name = match &new.subagent_of {
                Some((_, task)) if attempt == 0 => format!("agent-{task}.jsonl"),
                Some((_, task)) => format!("agent-{task}-{}.jsonl", attempt + 1),
                None => format!("{id}.jsonl"),
            };
            let path = folder.join(name);
            self.disk()
                .create_folders(&folder)
                .map_err(|error| StorageError::write(&folder, "make", error))?;
            match write_whole(self.disk(), &path, lines.as_bytes(), false) {
                Ok(()) => {
                    let slot = self.slot_of(&path)?;
                    let file = slot.file();
                    return file.facts();
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    if new.id.is_some() && new.subagent_of.is_none() {
                        return Err(StorageError::SessionExists { session: id });
                    }
                }
                Err(error) => return Err(StorageError::write(path, "create", error)),
            }
        }
        Err(damaged(&folder, "a thousand new names were all taken"))
    }
}

/// The lines of a new session.
fn new_lines(new: &NewSession, id: &SessionId, now: Timestamp) -> Result<String> {
    let mut info = new.info.clone();
    info.session_id = Some(id.as_str().into());
    info.version = Some(VERSION);
    info.generation = Some(new_generation()?.into());
    info.created_at = Some(info.created_at.unwrap_or(now));
    let root = EntryId::from(uuid::Uuid::now_v7().simple().to_string());
    let header = Entry {
        id: root.clone(),
        parent_id: None,
        timestamp: Some(now),
        lane: Lane::main(),
        more: 0,
        body: Body::SessionInfo(info),
        extra: Vec::new(),
    };
    let mut out = codec::encode(&header);
    out.push('\n');
    let mut known: HashSet<&EntryId> = HashSet::from([&root]);
    for entry in &new.entries {
        if entry.id.as_str().is_empty() {
            return Err(StorageError::invalid("an entry needs an id that is not empty"));
        }
        if !known.insert(&entry.id) {
            return Err(StorageError::EntryExists {
                session: id.to_string(),
                entry: entry.id.clone(),
            });
        }
    }
    for entry in &new.entries {
        let mut written = entry.clone();
        // The whole file is written at once: it holds no batches.
        written.more = 0;
        written.timestamp = Some(entry.timestamp.unwrap_or(now));
        match &entry.parent_id {
            None => written.parent_id = Some(root.clone()),
            Some(parent) if known.contains(parent) => {}
            Some(parent) => {
                return Err(CoreError::from(TreeError::MissingParent(parent.clone())).into());
            }
        }
        let line = codec::encode(&written);
        check_line(&line)?;
        out.push_str(&line);
        out.push('\n');
    }
    Ok(out)
}
