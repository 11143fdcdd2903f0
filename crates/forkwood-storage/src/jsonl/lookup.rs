//! Which file a session is in.

use std::path::{Path, PathBuf};

use forkwood_core::SessionId;

use super::file::SessionFile;
use super::place::Place;
use super::storage::JsonlStorage;
use crate::{Problem, Result, StorageError};

impl JsonlStorage {
    /// The file of a session: by what is open, by its name, else by the headers.
    pub(super) fn path_of(&self, id: &SessionId) -> Result<PathBuf> {
        for (path, slot) in self.slots.paths() {
            if slot.id == *id {
                return Ok(path);
            }
        }
        // A repair may have given the one file another id.
        if let Place::File(path) = &self.place
            && let Some(slot) = self.slots.known(path)
            && slot.file().id == *id
        {
            return Ok(path.clone());
        }
        let missing = || StorageError::SessionNotFound { query: id.to_string() };
        if let Place::Store(root) = &self.place {
            let path = root.join("sessions").join(format!("{id}.jsonl"));
            if self.disk().meta(&path).is_ok()
                && self.slot_of(&path).is_ok_and(|slot| slot.id == *id)
            {
                return Ok(path);
            }
        }
        let fits = |path: &PathBuf| self.known_id(path).is_some_and(|known| known == *id);
        let (files, _) = self.files()?;
        let mut found = files.into_iter().filter(fits);
        let path = found.next().ok_or_else(missing)?;
        // Copies of one file share an id, and nobody knows which of them is meant.
        match found.next() {
            None => Ok(path),
            Some(other) => Err(StorageError::AmbiguousSession {
                query: id.to_string(),
                candidates: [path, other].iter().map(|path| path.display().to_string()).collect(),
            }),
        }
    }

    /// Every session file, those of sub-agents behind the others.
    pub(super) fn files(&self) -> Result<(Vec<PathBuf>, Vec<Problem>)> {
        let (mut files, problems) = self
            .place
            .files(self.disk())
            .map_err(|error| StorageError::io(self.place.sessions(), "read", error))?;
        files.extend(self.place.subagent_files(self.disk(), None));
        Ok((files, problems))
    }

    /// The id of a file, from its header.
    pub(super) fn known_id(&self, path: &Path) -> Option<SessionId> {
        if let Some(slot) = self.slots.known(path) {
            return Some(slot.id.clone());
        }
        SessionFile::peek_id(path, &self.options.disk, &self.options.formats)
    }
}
