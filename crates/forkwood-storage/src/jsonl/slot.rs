//! One session file, shared by the threads of a process, and the queue of its writers.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use forkwood_core::Clock;

use super::append::{self, repeat_error};
use super::file::SessionFile;
use crate::disk::{Disk, LockGuard};
use crate::{Append, Appended, Durability, Result, StorageError};

/// An open session file.
#[derive(Debug)]
pub(super) struct Slot {
    /// The id as it was when the file was opened; known without waiting for the file.
    pub id: forkwood_core::SessionId,
    path: PathBuf,
    disk: Arc<dyn Disk>,
    /// Whose turn it is to write, among the threads of this process.
    turn: Mutex<()>,
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

/// The right to write to a file, among threads and processes.
#[derive(Debug)]
pub(super) struct Turn<'s> {
    _lock: Box<dyn LockGuard>,
    _turn: MutexGuard<'s, ()>,
}

impl Slot {
    pub(super) fn new(file: SessionFile) -> Slot {
        Slot {
            id: file.id.clone(),
            path: file.path.clone(),
            disk: Arc::clone(&file.disk),
            turn: Mutex::new(()),
            file: Mutex::new(file),
            queue: Mutex::new(Queue::default()),
            answered: Condvar::new(),
        }
    }

    /// Waits for the right to write. The file itself is not held meanwhile, so that readers of
    /// this process never wait for writers of another.
    pub(super) fn turn(&self, wait: Duration) -> Result<Turn<'_>> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = append::lock(self.disk.as_ref(), &self.path, wait)?;
        Ok(Turn { _lock: lock, _turn: turn })
    }

    /// Waits for the right to write, where the file can be written at all.
    fn writing(&self, wait: Duration) -> Result<Turn<'_>> {
        self.file().writable()?;
        self.turn(wait)
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
            let _turn = self.writing(wait)?;
            return one(self.file().append_group(&[append], clock));
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
            let turn = self.writing(wait);
            let mut file = self.file();
            let group: Vec<(u64, Append)> = self.queue().waiting.drain(..).collect();
            let (tickets, appends): (Vec<u64>, Vec<Append>) = group.into_iter().unzip();
            let answers = match turn {
                Ok(_turn) => file.append_group(&appends, clock),
                Err(error) => repeat_error(error, appends.len()),
            };
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

    /// Forgets every path in a folder.
    pub(super) fn close_below(&self, folder: &std::path::Path) {
        self.open().retain(|(known, _)| !known.starts_with(folder));
    }

    /// Every open path.
    pub(super) fn paths(&self) -> Vec<(std::path::PathBuf, Arc<Slot>)> {
        self.open().iter().map(|(path, slot)| (path.clone(), Arc::clone(slot))).collect()
    }
}
