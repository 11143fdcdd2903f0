//! Whose turn it is in a conversation.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use forkwood::storage::disk::{Disk, LockGuard, RealDisk};
use forkwood::{Session, SessionId};
use tokio::sync::OwnedMutexGuard;

use crate::error::Result;

/// How often it is looked whether an agent has ended its work.
const PAUSE: Duration = Duration::from_millis(20);

/// Lines of this process and locks among processes.
#[derive(Debug)]
pub(super) struct Turns {
    folder: PathBuf,
    pub(super) wait: Duration,
    lines: Mutex<Lines>,
}

/// A line for each conversation that somebody waits for.
#[derive(Debug, Default)]
struct Lines {
    by_key: HashMap<String, Weak<tokio::sync::Mutex<()>>>,
    /// How many there may be before those that are over are swept out.
    sweep_at: usize,
}

impl Turns {
    pub(super) fn new(folder: PathBuf, wait: Duration) -> Turns {
        Turns { folder, wait, lines: Mutex::default() }
    }

    /// Waits in line, first come, first served.
    pub(super) async fn line(&self, key: &str) -> OwnedMutexGuard<()> {
        let line = self.lines.lock().unwrap_or_else(PoisonError::into_inner).of(key);
        line.lock_owned().await
    }

    /// Waits until no other process has a turn in a session.
    pub(super) async fn lock(&self, id: &SessionId) -> Result<Box<dyn LockGuard>> {
        // An id is made of characters that are safe in names, and never starts with a dot.
        let path = self.folder.join(format!("{id}.lock"));
        let (folder, wait) = (self.folder.clone(), self.wait);
        let taken = tokio::task::spawn_blocking(move || {
            RealDisk
                .create_folders(&folder)
                .map_err(|error| forkwood::Error::write(&folder, "make", error))?;
            RealDisk.lock(&path, false, wait).map_err(|error| match error.kind() {
                std::io::ErrorKind::WouldBlock => forkwood::Error::Locked {
                    waited_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                    path,
                },
                _ => forkwood::Error::write(path, "lock", error),
            })
        });
        match taken.await {
            Ok(taken) => Ok(taken?),
            Err(stopped) => {
                let stopped = std::io::Error::other(stopped);
                Err(forkwood::Error::io(&self.folder, "wait for a turn in", stopped).into())
            }
        }
    }
}

impl Turns {
    /// Waits until no agent is at work in a session: a person may talk in it with another program.
    /// After too long it goes on all the same, and the run is refused.
    pub(super) async fn at_rest(&self, session: &Session) -> Result<()> {
        let until = Instant::now() + self.wait;
        while session.is_claimed().await? && Instant::now() < until {
            // Not the timer of the runtime: it need not have one.
            let pause = tokio::task::spawn_blocking(|| std::thread::sleep(PAUSE));
            if let Err(stopped) = pause.await {
                let stopped = std::io::Error::other(stopped);
                return Err(forkwood::Error::io(&self.folder, "wait for a turn in", stopped).into());
            }
        }
        Ok(())
    }
}

impl Lines {
    fn of(&mut self, key: &str) -> Arc<tokio::sync::Mutex<()>> {
        if let Some(line) = self.by_key.get(key).and_then(Weak::upgrade) {
            return line;
        }
        if self.by_key.len() >= self.sweep_at {
            self.by_key.retain(|_, line| line.strong_count() > 0);
            self.sweep_at = (self.by_key.len() * 2).max(64);
        }
        let line = Arc::default();
        self.by_key.insert(key.to_owned(), Arc::downgrade(&line));
        line
    }
}
