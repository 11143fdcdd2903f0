//! Whether anybody works on a session.

use std::path::Path;
use std::sync::Arc;

use super::append::lock_path;
use super::storage::JsonlStorage;
use crate::{Result, StorageError};

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
        let lock = lock_path(path);
        let locked = self.disk().is_locked(&lock);
        if locked.map_err(|error| StorageError::io(&lock, "look at", error))? {
            return Ok(false);
        }
        let file = self.disk().open_read(path);
        Ok(file.map_err(|error| StorageError::io(path, "open", error))?.is_idle())
    }
}
