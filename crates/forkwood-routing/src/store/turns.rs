//! Turns at what takes several steps: among the tasks of this process, then among processes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use forkwood::storage::disk::{Disk, LockGuard};
use forkwood::{Error, Result, SessionId};
use futures_util::lock::{Mutex, MutexGuard};

/// How many locks there are. A conversation has one by its id, so that the number of lock files
/// does not grow with that of conversations.
const LOCKS: usize = 256;

/// The locks of a store.
#[derive(Debug)]
pub(super) struct Turns {
    folder: PathBuf,
    disk: Arc<dyn Disk>,
    wait: Duration,
    here: Vec<Mutex<()>>,
}

/// A turn; it ends when it is dropped.
#[derive(Debug)]
pub(super) struct Turn<'t> {
    // Dropped first: the next task here then finds the files free.
    _files: Vec<Box<dyn LockGuard>>,
    _here: Vec<MutexGuard<'t, ()>>,
}

impl Turns {
    pub(super) fn new(folder: PathBuf, disk: &Arc<dyn Disk>, wait: Duration) -> Turns {
        let here = (0..LOCKS).map(|_| Mutex::new(())).collect();
        Turns { folder, disk: Arc::clone(disk), wait, here }
    }

    /// Whether locks can be taken, where some were before. Makes no folder.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) fn can_write(&self) -> Result<()> {
        if self.disk.meta(&self.folder).is_err() {
            return Ok(());
        }
        let path = self.folder.join("start.lock");
        match self.disk.lock(&path, false, Duration::ZERO) {
            Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => {
                Err(Error::write(path, "lock", error))
            }
            _ => Ok(()),
        }
    }

    /// Waits for the turn at some conversations at once. Locks are always taken in the same
    /// order, each once, so that no two can wait for each other.
    ///
    /// # Errors
    /// `locked` where another process holds one of them for too long, `io`.
    pub(super) async fn take(&self, sessions: &[&SessionId]) -> Result<Turn<'_>> {
        let mut numbers: Vec<usize> = sessions.iter().map(|id| number(id)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut here = Vec::new();
        for number in &numbers {
            here.push(self.here[*number].lock().await);
        }
        let disk = self.disk.as_ref();
        disk.create_folders(&self.folder)
            .map_err(|error| Error::write(&self.folder, "make", error))?;
        let mut files = Vec::new();
        for number in numbers {
            let path = self.folder.join(format!("{number:02x}.lock"));
            let lock = disk.lock(&path, false, self.wait).map_err(|error| match error.kind() {
                std::io::ErrorKind::WouldBlock => Error::Locked {
                    path: path.clone(),
                    waited_ms: u64::try_from(self.wait.as_millis()).unwrap_or(u64::MAX),
                },
                _ => Error::write(&path, "lock", error),
            })?;
            files.push(lock);
        }
        Ok(Turn { _files: files, _here: here })
    }
}

/// The last byte of the digest that every id ends in; all processes must agree on it.
fn number(id: &SessionId) -> usize {
    let text = id.as_str();
    let end = text.get(text.len().saturating_sub(2)..).unwrap_or_default();
    usize::from_str_radix(end, 16).unwrap_or(0) % LOCKS
}
