//! Whether anybody works on a session, and the right to run in it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use forkwood_core::SessionId;

use super::append::{lock_path, run_lock_path};
use super::storage::JsonlStorage;
use crate::{Claim, Result, StorageError};

impl JsonlStorage {
    /// Whether nobody holds a session file open for writing, here or in another process, nor the
    /// lock of its writers. Makes nothing and waits for nobody.
    pub(super) fn idle(&self, path: &Path) -> Result<bool> {
        // One for the table, one here: whoever has another is at work.
        let in_use = self.slots.known(path).is_some_and(|slot| Arc::strong_count(&slot) > 2);
        if in_use {
            return Ok(false);
        }
        // Our own file was perhaps written to, and would be seen as somebody's.
        self.slots.close(path);
        if self.is_locked(&lock_path(path))? || self.is_locked(&run_lock_path(path))? {
            return Ok(false);
        }
        let file = self.disk().open_read(path);
        Ok(file.map_err(|error| StorageError::io(path, "open", error))?.is_idle())
    }

    fn is_locked(&self, lock: &Path) -> Result<bool> {
        self.disk().is_locked(lock).map_err(|error| StorageError::io(lock, "look at", error))
    }

    /// Takes the lock of the runs in a session. Of a process that died the system takes it back.
    pub(super) fn claim_now(&self, session: &SessionId) -> Result<Claim> {
        let path = self.path_of(session)?;
        self.slot_of(&path)?.file().writable()?;
        let lock = run_lock_path(&path);
        match self.disk().lock(&lock, false, Duration::ZERO) {
            Ok(guard) => Ok(Claim::held_by(guard)),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                Err(StorageError::Claimed { session: session.clone() })
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(StorageError::Gone { path })
            }
            Err(error) => Err(StorageError::write(lock, "lock", error)),
        }
    }

    /// Whether the lock of the runs in a session is held. Makes nothing.
    pub(super) fn claimed_now(&self, session: &SessionId) -> Result<bool> {
        self.is_locked(&run_lock_path(&self.path_of(session)?))
    }
}
