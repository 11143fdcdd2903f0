//! One session file, shared by the threads of a process, and the queue of its writers.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use forkwood_core::Clock;

use super::file::SessionFile;
use crate::{Append, Appended, Durability, Result, StorageError};

/// An open session file.
#[derive(Debug)]
pub(super) struct Slot {
    /// The id as it was when the file was opened; known without waiting for the file.
    pub id: forkwood_core::SessionId,
    file: Mutex<SessionFile>,
    queue: Mutex<Queue>,
    answered: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<(u64, Append)>,
    answers: Vec<(u64, Result<Appended>)>,
    next: u64,
    led: bool,
}

impl Slot {
    pub(super) fn new(file: SessionFile) -> Slot {
        Slot {
            id: file.id.clone(),
            file: Mutex::new(file),
            queue: Mutex::new(Queue::default()),
            answered: Condvar::new(),
        }
    }

    /// The file; a panic of another thread leaves it readable, since it is read anew from disk
    /// wherever that matters.
    pub(super) fn file(&self) -> MutexGuard<'_, SessionFile> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends. Under [`Durability::Group`] the first writer leads: it takes along whatever
    /// other threads bring while it waits and while a sync runs.
    pub(super) fn append(
        &self,
        append: Append,
        clock: &dyn Clock,
        wait: Duration,
    ) -> Result<Appended> {
        let Durability::Group(window) = append.durability else {
            return one(self.file().append_group(&[append], clock, wait));
        };
        let ticket = {
            let mut queue = self.queue();
            let ticket = queue.next;
            queue.next += 1;
            queue.waiting.push_back((ticket, append));
            ticket
        };
        loop {
            let mut queue = self.queue();
            if let Some(at) = queue.answers.iter().position(|(who, _)| *who == ticket) {
                return queue.answers.swap_remove(at).1;
            }
            if queue.led {
                let _woken = self.answered.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            queue.led = true;
            drop(queue);
            if !window.is_zero() {
                std::thread::sleep(window);
            }
            let mut file = self.file();
            let group: Vec<(u64, Append)> = self.queue().waiting.drain(..).collect();
            let (tickets, appends): (Vec<u64>, Vec<Append>) = group.into_iter().unzip();
            let answers = file.append_group(&appends, clock, wait);
            drop(file);
            let mut queue = self.queue();
            queue.answers.extend(tickets.into_iter().zip(answers));
            queue.led = false;
            drop(queue);
            self.answered.notify_all();
        }
    }
}

fn one(mut answers: Vec<Result<Appended>>) -> Result<Appended> {
    answers.pop().unwrap_or_else(|| Err(StorageError::invalid("there is nothing to append")))
}

/// Open files by path. At most so many stay open; those in use are never closed.
#[derive(Debug, Default)]
pub(super) struct Slots {
    open: Mutex<VecDeque<(std::path::PathBuf, Arc<Slot>)>>,
}

/// How many files stay open for the next call.
const MAX_OPEN: usize = 64;

impl Slots {
    fn open(&self) -> MutexGuard<'_, VecDeque<(std::path::PathBuf, Arc<Slot>)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The open file of a path, or a newly opened one.
    pub(super) fn get(
        &self,
        path: &std::path::Path,
        make: impl FnOnce() -> Result<SessionFile>,
    ) -> Result<Arc<Slot>> {
        if let Some(slot) = self.known(path) {
            return Ok(slot);
        }
        let slot = Arc::new(Slot::new(make()?));
        let mut open = self.open();
        if let Some((_, known)) = open.iter().find(|(known, _)| known == path) {
            return Ok(Arc::clone(known));
        }
        open.push_back((path.to_path_buf(), Arc::clone(&slot)));
        while open.len() > MAX_OPEN {
            let Some(idle) = open.iter().position(|(_, slot)| Arc::strong_count(slot) == 1) else {
                break;
            };
            open.remove(idle);
        }
        Ok(slot)
    }

    /// The open file of a path, if it is open.
    pub(super) fn known(&self, path: &std::path::Path) -> Option<Arc<Slot>> {
        let mut open = self.open();
        let at = open.iter().position(|(known, _)| known == path)?;
        let entry = open.remove(at)?;
        let slot = Arc::clone(&entry.1);
        open.push_back(entry);
        Some(slot)
    }

    /// Forgets a path.
    pub(super) fn close(&self, path: &std::path::Path) {
        self.open().retain(|(known, _)| known != path);
    }

    /// Every open path.
    pub(super) fn paths(&self) -> Vec<(std::path::PathBuf, Arc<Slot>)> {
        self.open().iter().map(|(path, slot)| (path.clone(), Arc::clone(slot))).collect()
    }
}
