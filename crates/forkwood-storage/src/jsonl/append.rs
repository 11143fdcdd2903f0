//! Writing to a session file: lock, look, compare, write once, sync.

use std::path::{Path, PathBuf};
use std::time::Duration;

use forkwood_core::Clock;

use super::file::SessionFile;
use super::plan::{Decision, Overlay, Planned};
use super::pointer;
use super::scan::Tail;
use crate::disk::{Disk, LockGuard, NodeKind, TEMP_SUFFIX, read_from, write_whole};
use crate::{Append, Appended, AppendedEntry, Durability, Result, StorageError};

/// The lock file of a session file.
pub(super) fn lock_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.lock"))
}

/// The lock file of the runs in a session file.
pub(super) fn run_lock_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.run.lock"))
}

/// Takes the lock that our own writers share. Owners of foreign files do not know it.
pub(super) fn lock(disk: &dyn Disk, file: &Path, wait: Duration) -> Result<Box<dyn LockGuard>> {
    let path = lock_path(file);
    disk.lock(&path, false, wait).map_err(|error| match error.kind() {
        std::io::ErrorKind::WouldBlock => StorageError::Locked {
            path: file.to_path_buf(),
            waited_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        },
        std::io::ErrorKind::NotFound => StorageError::Gone { path: file.to_path_buf() },
        _ => StorageError::write(path, "lock", error),
    })
}

impl SessionFile {
    /// Refuses to write what may only be read.
    pub(super) fn writable(&self) -> Result<()> {
        if let Some(version) = &self.header.newer_version {
            return Err(StorageError::NewerVersion {
                path: self.path.clone(),
                version: version.clone(),
            });
        }
        match &self.header.read_only {
            Some(reason) => {
                Err(StorageError::ReadOnly { path: self.path.clone(), reason: reason.clone() })
            }
            None => Ok(()),
        }
    }

    /// Appends a group of writes with one write and at most one sync. Each has its own answer.
    /// The lock is held.
    pub(super) fn append_group(
        &mut self,
        writes: &[Append],
        clock: &dyn Clock,
    ) -> Vec<Result<Appended>> {
        match self.try_append_group(writes, clock) {
            Ok(answers) => answers,
            Err(error) => repeat_error(error, writes.len()),
        }
    }

    fn try_append_group(
        &mut self,
        writes: &[Append],
        clock: &dyn Clock,
    ) -> Result<Vec<Result<Appended>>> {
        self.refresh()?;
        self.writable()?;
        let mut overlay = Overlay::default();
        let decide = |file: &SessionFile, overlay: &mut Overlay| {
            writes.iter().map(|write| overlay.decide(file, write, clock.now())).collect::<Vec<_>>()
        };
        let mut decisions = decide(self, &mut overlay);
        if decisions.iter().any(|d| matches!(d, Err(super::file::Trouble::NeedFull))) {
            self.go_full()?;
            overlay = Overlay::default();
            decisions = decide(self, &mut overlay);
        }
        let wants_write = decisions.iter().any(|d| matches!(d, Ok(Decision::Write(_))));
        if wants_write {
            if !std::mem::replace(&mut self.tidied, true) {
                self.remove_leftovers();
            }
            let sync = writes.iter().any(|write| write.durability != Durability::Os);
            let planned: Vec<&Planned> = decisions
                .iter()
                .filter_map(|decision| match decision {
                    Ok(Decision::Write(planned)) => Some(planned),
                    _ => None,
                })
                .collect();
            // A pointer is kept beside the file, which stays what it is.
            let adds = planned.iter().flat_map(|one| &one.lines).any(|(_, line)| line.is_some());
            if adds && self.dialect.needs_migration() {
                let _kept = self.migrate()?;
            }
            self.write(&planned, sync)?;
        }
        Ok(decisions.into_iter().map(|decision| self.answer(decision)).collect())
    }

    fn answer(
        &self,
        decision: std::result::Result<Decision, super::file::Trouble>,
    ) -> Result<Appended> {
        match decision {
            Ok(Decision::Done(mut done)) => {
                // What the same group wrote has its place only now.
                for entry in done.entries.iter_mut().filter(|entry| entry.seq == 0) {
                    let at = self.index.find(entry.id.as_str());
                    entry.seq = at.map_or_else(|| self.end(), |at| self.head(at).seq);
                }
                Ok(done)
            }
            Ok(Decision::Write(planned)) => {
                let entries = planned.lines.iter().map(|(entry, _)| {
                    let at = self.index.find(entry.id.as_str());
                    AppendedEntry {
                        seq: at.map_or_else(|| self.end(), |at| self.head(at).seq),
                        id: entry.id.clone(),
                        parent_id: entry.parent_id.clone(),
                    }
                });
                Ok(Appended {
                    entries: entries.collect(),
                    lane: planned.lane,
                    leaf: planned.leaf,
                    repeated: false,
                })
            }
            Err(super::file::Trouble::Storage(error)) => Err(error),
            Err(super::file::Trouble::NeedFull) => {
                Err(super::file::damaged(&self.path, "changed while it was read; try again"))
            }
        }
    }

    /// Writes lines at the end with one write, and takes them in.
    fn write(&mut self, planned: &[&Planned], sync: bool) -> Result<()> {
        let mut bytes = Vec::new();
        match self.progress.tail {
            Tail::Clean => {}
            Tail::Torn(offset) if self.dialect.policy().cut_torn_tail => self.cut_tail(offset)?,
            Tail::Torn(_) | Tail::Unterminated => bytes.push(b'\n'),
        }
        let start = bytes.len();
        for (_, line) in planned.iter().flat_map(|planned| &planned.lines) {
            if let Some(line) = line {
                bytes.extend_from_slice(line.as_bytes());
                bytes.push(b'\n');
            }
        }
        if bytes.len() == start {
            // Nothing but pointer moves that the format cannot store.
            let leaf = planned.last().and_then(|planned| planned.leaf.as_ref());
            pointer::write(self, leaf.map(forkwood_core::EntryId::as_str))?;
            return self.refresh();
        }
        self.append_bytes(&bytes, sync)?;
        self.refresh()
    }

    /// Appends bytes, all of them or none.
    fn append_bytes(&mut self, bytes: &[u8], sync: bool) -> Result<()> {
        let io = |path: &Path, doing, error| Err(StorageError::write(path, doing, error));
        let writer = match self.disk.open_append(&self.path) {
            Ok(writer) => writer,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(StorageError::Gone { path: self.path.clone() });
            }
            Err(error) => return io(&self.path, "open for writing", error),
        };
        let before = writer.meta().map_err(|e| StorageError::io(&self.path, "look at", e))?;
        if before.identity != self.meta.identity {
            return Err(StorageError::Gone { path: self.path.clone() });
        }
        writer.hold();
        let mut written = 0;
        let outcome = loop {
            match writer.append(&bytes[written..]) {
                Ok(0) => break Err(std::io::ErrorKind::WriteZero.into()),
                Ok(count) => written += count,
                Err(error) => break Err(error),
            }
            if written == bytes.len() {
                break if sync { writer.sync() } else { Ok(()) };
            }
        };
        if let Err(error) = outcome {
            // Back to where it was, unless someone else wrote behind it meanwhile: then the rest
            // of the line stays, and is read around.
            let grown = writer.meta().map(|meta| meta.len);
            if matches!(grown, Ok(len) if len == before.len + written as u64) {
                let _ = writer.set_len(before.len);
                let _ = writer.sync();
            }
            return io(&self.path, "append", error);
        }
        // Held open: `prune` leaves a session alone that someone writes to.
        self.file = writer;
        Ok(())
    }

    /// Keeps the bytes of a torn tail beside the file, then cuts them.
    pub(super) fn cut_tail(&mut self, offset: u64) -> Result<()> {
        let doing = |doing| {
            let path = self.path.clone();
            move |error| StorageError::write(path, doing, error)
        };
        let torn = read_from(self.file.as_ref(), offset, self.meta.len - offset)
            .map_err(|error| StorageError::io(&self.path, "read", error))?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for n in 0..1000 {
            let kept = self.path.with_file_name(format!("{name}.torn-{offset}-{n}"));
            match write_whole(self.disk.as_ref(), &kept, &torn, false) {
                Ok(()) => break,
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(StorageError::write(kept, "keep a torn tail in", error)),
            }
        }
        let writer = self.disk.open_append(&self.path).map_err(doing("open for writing"))?;
        writer.set_len(offset).map_err(doing("cut"))?;
        writer.sync().map_err(doing("sync"))?;
        drop(writer);
        self.refresh()
    }

    /// Removes what a crashed rewrite left, of our own names only.
    fn remove_leftovers(&self) {
        let Some(folder) = self.path.parent() else { return };
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let prefix = format!(".{name}.");
        // Failing to tidy up fails no append.
        for found in self.disk.names(folder).unwrap_or_default() {
            let found = found.to_string_lossy();
            if found.starts_with(&prefix) && found.ends_with(TEMP_SUFFIX) {
                let leftover = folder.join(found.as_ref());
                if self.disk.meta(&leftover).is_ok_and(|meta| meta.kind == NodeKind::File) {
                    let _ = self.disk.remove(&leftover);
                }
            }
        }
    }
}

/// One error for each of several writes.
pub(super) fn repeat_error(error: StorageError, count: usize) -> Vec<Result<Appended>> {
    let mut errors: Vec<Result<Appended>> = (1..count).map(|_| Err(copy_error(&error))).collect();
    errors.push(Err(error));
    errors
}

/// The same error again. Its source may be one of a kind; then its text is kept.
fn copy_error(error: &StorageError) -> StorageError {
    let again = |source: &std::io::Error| std::io::Error::new(source.kind(), source.to_string());
    match error {
        StorageError::Gone { path } => StorageError::Gone { path: path.clone() },
        StorageError::Locked { path, waited_ms } => {
            StorageError::Locked { path: path.clone(), waited_ms: *waited_ms }
        }
        StorageError::ReadOnly { path, reason } => {
            StorageError::ReadOnly { path: path.clone(), reason: reason.clone() }
        }
        StorageError::NewerVersion { path, version } => {
            StorageError::NewerVersion { path: path.clone(), version: version.clone() }
        }
        StorageError::NoSpace { path, source } => {
            StorageError::NoSpace { path: path.clone(), source: again(source) }
        }
        StorageError::Io { path, doing, source } => {
            StorageError::Io { path: path.clone(), doing, source: again(source) }
        }
        other => StorageError::Damaged { path: PathBuf::new(), problem: other.to_string() },
    }
}
