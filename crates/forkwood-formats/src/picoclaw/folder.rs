//! A folder of PicoClaw, written in place.
//!
//! What PicoClaw finds afterwards is what it could have written itself. Beside that:
//!
//! - writers of several processes wait for each other, at `.{name}.lock`; PicoClaw knows locks
//!   within its own process only and does not take it;
//! - an unfinished last line is ended before the next one, so that it swallows nothing;
//! - a line that PicoClaw could not read is refused;
//! - where both files change, a step that was interrupted is finished by whoever comes next;
//! - lines that are dropped from the file go to `.{name}.forkwood-archive`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use forkwood::conversation::{ConversationMessage, is_transient_thought, key};
use forkwood::storage::SystemClock;
use forkwood::storage::disk::{Disk, DiskFile, LockGuard, RealDisk, write_whole};
use forkwood::{Clock, Error, Result};

use super::lines::MAX_LINE;
use super::meta::Meta;
use super::pending::{Pending, Stage, forget, read_file};
use super::read::{Conversation, base_of, read, with_ending};
use super::{message, time};

/// The longest name of a file without its ending, in bytes.
const MAX_NAME: usize = 200;

/// How a folder is worked with.
#[derive(Clone, Debug)]
pub struct FolderOptions {
    /// The file system.
    pub disk: Arc<dyn Disk>,
    /// Where times come from.
    pub clock: Arc<dyn Clock>,
    /// How long a writer waits for another process.
    pub lock_wait: Duration,
}

impl Default for FolderOptions {
    fn default() -> FolderOptions {
        FolderOptions {
            disk: Arc::new(RealDisk),
            clock: Arc::new(SystemClock),
            lock_wait: Duration::from_secs(10),
        }
    }
}

/// A folder of PicoClaw. Nothing is made before the first write.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    options: FolderOptions,
}

/// The files of one conversation, held against other writers.
pub(super) struct Held<'f> {
    folder: &'f Folder,
    pub(super) jsonl: PathBuf,
    pub(super) meta: PathBuf,
    _lock: Box<dyn LockGuard>,
}

impl Folder {
    /// The folder at a path.
    pub fn open(path: &Path) -> Folder {
        Folder::open_with(path, FolderOptions::default())
    }

    /// The same, with options.
    pub fn open_with(path: &Path, options: FolderOptions) -> Folder {
        Folder { path: path.to_path_buf(), options }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn disk(&self) -> &dyn Disk {
        self.options.disk.as_ref()
    }

    pub(super) fn now(&self) -> String {
        time::format(self.options.clock.now())
    }

    /// The files of a key, without an ending.
    ///
    /// # Errors
    /// `invalid` where the key could be no file name.
    pub(super) fn base(&self, key: &str) -> Result<PathBuf> {
        let name = key::file_base(key.trim());
        if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
            return Err(Error::invalid(format!(
                "{key:?} is no key of a conversation: it must have 1 to {MAX_NAME} bytes and no \
                 control characters"
            )));
        }
        Ok(self.path.join(name))
    }

    /// Reads a conversation; `None` where there is none.
    ///
    /// # Errors
    /// `invalid` for a key that can be no file name, `io`.
    pub fn read(&self, key: &str) -> Result<Option<Conversation>> {
        match read(self.disk(), &with_ending(&self.base(key)?, ".jsonl")) {
            Err(Error::SessionNotFound { .. }) => Ok(None),
            other => other.map(Some),
        }
    }

    /// Takes the right to write, and finishes what was interrupted.
    pub(super) fn hold(&self, key: &str) -> Result<Held<'_>> {
        let base = self.base(key)?;
        let disk = self.disk();
        disk.create_folders(&self.path).map_err(|error| Error::write(&self.path, "make", error))?;
        let jsonl = with_ending(&base, ".jsonl");
        let lock = self.lock(&jsonl)?;
        let meta = with_ending(&base, ".meta.json");
        let held = Held { folder: self, jsonl, meta, _lock: lock };
        held.recover()?;
        Ok(held)
    }

    /// Takes the right to do what concerns all conversations at once.
    pub(super) fn hold_all(&self) -> Result<Box<dyn LockGuard>> {
        self.lock(&self.path.join("forkwood"))
    }

    /// Waits for the lock of a file. Its folder is there.
    pub(super) fn lock(&self, file: &Path) -> Result<Box<dyn LockGuard>> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let path = file.with_file_name(format!(".{name}.lock"));
        let wait = self.options.lock_wait;
        self.disk().lock(&path, false, wait).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => {
                Error::Locked { path: file.to_path_buf(), waited_ms: wait.as_millis() as u64 }
            }
            _ => Error::write(path, "lock", error),
        })
    }

    /// The folder that a file of a conversation lies in, and the key by which [`Folder`] finds that
    /// file. `None` where the name is none of `.jsonl` and `.meta.json`.
    pub fn of_file(path: &Path) -> Option<(Folder, String)> {
        let (base, older) = base_of(path)?;
        let stem = base.file_name()?.to_str()?.to_owned();
        let folder = base.parent().filter(|folder| !folder.as_os_str().is_empty());
        (!older).then(|| (Folder::open(folder.unwrap_or(Path::new("."))), stem))
    }

    /// Adds a message. A thought by itself is not kept: `false`.
    ///
    /// # Errors
    /// Those of [`Folder::append_all`].
    pub fn append(&self, key: &str, message: ConversationMessage) -> Result<bool> {
        self.append_all(key, vec![message]).map(|kept| kept > 0)
    }

    /// Adds messages, all of them with one write. Gives how many were kept: thoughts by themselves
    /// are not.
    ///
    /// # Errors
    /// `too_large` for a line that PicoClaw could not read; those of a write. After an error the
    /// file is as it was.
    pub fn append_all(&self, key: &str, messages: Vec<ConversationMessage>) -> Result<usize> {
        let mut lines = Vec::new();
        for mut message in messages {
            if is_transient_thought(&message.message) {
                continue;
            }
            message.created_at = message.created_at.or_else(|| Some(self.options.clock.now()));
            lines.push(checked_line(&message)?);
        }
        if lines.is_empty() {
            return Ok(0);
        }
        let held = self.hold(key)?;
        let mut meta = held.read_meta(key)?;
        let now = self.now();
        if meta.count == 0 && time::is_zero(&meta.created_at) {
            meta.created_at.clone_from(&now);
        }
        meta.count += lines.len() as i64;
        meta.updated_at = now;
        let added = held.append(&lines)?;
        held.write_meta(&meta).inspect_err(|_| added.take_back())?;
        Ok(lines.len())
    }

    /// Replaces the summary.
    ///
    /// # Errors
    /// Those of a write.
    pub fn set_summary(&self, key: &str, summary: &str) -> Result<()> {
        let held = self.hold(key)?;
        let mut meta = held.read_meta(key)?;
        let now = self.now();
        if time::is_zero(&meta.created_at) {
            meta.created_at.clone_from(&now);
        }
        summary.clone_into(&mut meta.summary);
        meta.updated_at = now;
        held.write_meta(&meta)
    }

    /// Hides all but the last `keep` messages. An unknown key changes nothing.
    ///
    /// # Errors
    /// Those of a write.
    pub fn truncate(&self, key: &str, keep: usize) -> Result<()> {
        let held = self.hold(key)?;
        let Some(conversation) = self.read(key)? else { return Ok(()) };
        let mut meta = held.read_meta(key)?;
        let count = conversation.lines.len() as u64;
        let skip = meta.hidden().min(count);
        let shown: Vec<u64> = conversation
            .lines
            .iter()
            .filter(|line| line.number > skip && line.message().is_some())
            .map(|line| line.number)
            .collect();
        let skip = match (keep, shown.len()) {
            (0, _) | (_, 0) => count,
            (keep, shown_count) if keep < shown_count => shown[shown_count - keep - 1],
            _ => skip,
        };
        meta.count = count as i64;
        meta.skip = skip as i64;
        meta.updated_at = self.now();
        held.write_meta(&meta)
    }

    /// Shows these messages in the place of the history. Summary, scope and aliases stay.
    ///
    /// # Errors
    /// `too_large` for a line that PicoClaw could not read; those of a write.
    pub fn set_history(&self, key: &str, messages: Vec<ConversationMessage>) -> Result<()> {
        let mut content = Vec::new();
        let mut count = 0;
        for mut one in messages {
            if is_transient_thought(&one.message) {
                continue;
            }
            one.created_at = one.created_at.or_else(|| Some(self.options.clock.now()));
            content.extend_from_slice(checked_line(&one)?.as_bytes());
            content.push(b'\n');
            count += 1;
        }
        let held = self.hold(key)?;
        let meta = held.read_meta(key)?;
        held.replace(Meta { skip: 0, count, ..meta }, content)
    }

    /// Drops the lines that are hidden, and those that cannot be read, from the file; they go to
    /// the archive. Nothing is done where no line is hidden.
    ///
    /// # Errors
    /// Those of a write.
    pub fn compact(&self, key: &str) -> Result<()> {
        let held = self.hold(key)?;
        let Some(conversation) = self.read(key)? else { return Ok(()) };
        if conversation.meta.hidden() == 0 {
            return Ok(());
        }
        let mut content = Vec::new();
        let mut count = 0;
        for (line, _) in conversation.shown() {
            content.extend_from_slice(conversation.line_bytes(line));
            content.push(b'\n');
            count += 1;
        }
        held.replace(Meta { skip: 0, count, ..conversation.meta }, content)
    }
}

/// What an append added to a file.
struct Added {
    file: Arc<dyn DiskFile>,
    from: u64,
    to: u64,
}

impl Added {
    /// Cuts the file again. PicoClaw may have written behind it meanwhile: then it stays.
    fn take_back(&self) {
        let len = self.file.meta().map(|meta| meta.len).unwrap_or(0);
        if len > self.from && len <= self.to {
            // The error that led here is the one to tell.
            let _ = self.file.set_len(self.from).and_then(|()| self.file.sync());
        }
    }
}

/// A line that PicoClaw can read.
pub(super) fn checked_line(one: &ConversationMessage) -> Result<String> {
    let line = message::encode(one)?;
    if line.len() > MAX_LINE {
        return Err(Error::TooLarge {
            what: "a message of a PicoClaw session".to_owned(),
            size: line.len() as u64,
            limit: MAX_LINE as u64,
        });
    }
    Ok(line)
}

impl Held<'_> {
    fn disk(&self) -> &dyn Disk {
        self.folder.disk()
    }

    pub(super) fn bytes(&self) -> Result<Option<Vec<u8>>> {
        read_file(self.disk(), &self.jsonl).map_err(|error| Error::io(&self.jsonl, "read", error))
    }

    /// What the meta file says, or what can be salvaged of it.
    pub(super) fn read_meta(&self, key: &str) -> Result<Meta> {
        let bytes = read_file(self.disk(), &self.meta)
            .map_err(|error| Error::io(&self.meta, "read", error))?;
        let Some(bytes) = bytes else { return Ok(Meta::new(key.trim())) };
        let text = String::from_utf8_lossy(&bytes);
        let mut meta = match Meta::parse(&text) {
            Ok(meta) => meta,
            Err(_) => {
                // The damaged file is kept before another takes its place.
                self.keep_damaged(&bytes)?;
                Meta::salvage(&text)
            }
        };
        if meta.key.is_empty() {
            key.trim().clone_into(&mut meta.key);
        }
        Ok(meta)
    }

    fn keep_damaged(&self, bytes: &[u8]) -> Result<()> {
        let name = self.meta.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = self.meta.with_file_name(format!(".{name}.damaged"));
        match write_whole(self.disk(), &path, bytes, false) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(Error::write(path, "keep", error))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn write_meta(&self, meta: &Meta) -> Result<()> {
        write_whole(self.disk(), &self.meta, meta.to_text().as_bytes(), true)
            .map_err(|error| Error::write(&self.meta, "write", error))
    }

    fn recover(&self) -> Result<()> {
        let write = |error| Error::write(&self.jsonl, "finish a step that was interrupted", error);
        let Some(pending) = Pending::read(self.disk(), &self.jsonl).map_err(write)? else {
            return Ok(());
        };
        let bytes = self.bytes()?.unwrap_or_default();
        match pending.stage(&bytes) {
            Stage::Open { added } => {
                pending.finish(self.disk(), &self.jsonl, &self.meta, &added).map_err(write)
            }
            Stage::Done => forget(self.disk(), &self.jsonl).map_err(write),
        }
    }

    /// Adds lines with one write. Where they cannot be written as a whole, the file is cut again.
    fn append(&self, lines: &[String]) -> Result<Added> {
        let disk = self.disk();
        let write = |error| Error::write(&self.jsonl, "append", error);
        let (file, new) = match disk.open_append(&self.jsonl) {
            Ok(file) => (file, false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                (disk.create_new(&self.jsonl).map_err(write)?, true)
            }
            Err(error) => return Err(write(error)),
        };
        let len = file.meta().map_err(write)?.len;
        let mut last = [b'\n'];
        if len > 0 {
            file.read_at(&mut last, len - 1).map_err(write)?;
        }
        let mut bytes = Vec::new();
        if last != *b"\n" {
            bytes.push(b'\n');
        }
        for line in lines {
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        }
        let written = match file.append(&bytes) {
            Ok(count) if count == bytes.len() => file.sync(),
            Ok(_) => Err(io::ErrorKind::StorageFull.into()),
            Err(error) => Err(error),
        };
        let written = written.and_then(|()| match new {
            true => disk.sync_folder(&self.folder.path),
            false => Ok(()),
        });
        let added = Added { file, from: len, to: len + bytes.len() as u64 };
        match written {
            Ok(()) => Ok(added),
            Err(error) => {
                added.take_back();
                Err(write(error))
            }
        }
    }

    /// Puts other lines and another meta file in the place of those that are there, as one step.
    pub(super) fn replace(&self, mut meta: Meta, content: Vec<u8>) -> Result<()> {
        let old = self.bytes()?.unwrap_or_default();
        self.archive(&old, &content)?;
        let now = self.folder.now();
        if time::is_zero(&meta.created_at) {
            meta.created_at.clone_from(&now);
        }
        meta.updated_at = now;
        Pending::new(&old, meta, content)
            .run(self.disk(), &self.jsonl, &self.meta)
            .map_err(|error| Error::write(&self.jsonl, "rewrite", error))
    }

    /// Keeps the lines that are not among the new ones.
    fn archive(&self, old: &[u8], new: &[u8]) -> Result<()> {
        let kept: std::collections::HashSet<&[u8]> = new.split(|byte| *byte == b'\n').collect();
        let mut dropped = Vec::new();
        for line in old.split(|byte| *byte == b'\n') {
            if !line.is_empty() && !kept.contains(line) {
                dropped.extend_from_slice(line);
                dropped.push(b'\n');
            }
        }
        if dropped.is_empty() {
            return Ok(());
        }
        let name = self.jsonl.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = self.jsonl.with_file_name(format!(".{name}.forkwood-archive"));
        let write = || -> io::Result<()> {
            let disk = self.disk();
            let (file, new) = match disk.open_append(&path) {
                Ok(file) => (file, false),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    (disk.create_new(&path)?, true)
                }
                Err(error) => return Err(error),
            };
            if file.append(&dropped)? != dropped.len() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            file.sync()?;
            if new { disk.sync_folder(&self.folder.path) } else { Ok(()) }
        };
        write().map_err(|error| Error::write(&path, "keep dropped lines", error))
    }
}
