//! Which sessions claim which alias.
//!
//! A cache of what the sessions say themselves, and believed only where they do. It is a file of
//! lines, so that one process sees what another adds; a line is written before the session says
//! what stands in it. So an alias that a session has is always here, and what is here may be no
//! longer so. Where the file is missing or damaged, it is made anew out of the sessions.
//!
//! In memory an alias is a number: looking one up takes one step down a tree, whatever the number
//! of sessions.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use forkwood::conversation::key::{file_base, is_main};
use forkwood::conversation::native::{ConversationRecord, is_session_id, session_id};
use forkwood::storage::disk::{Disk, read_from, write_whole};
use forkwood::{Error, Result, SessionId, Timestamp};
use serde::{Deserialize, Serialize};

/// How many lines may be superseded, beside as many as there are sessions.
const SPARE_LINES: usize = 256;

/// A folder that changed so shortly before it was listed may change again with the same time.
const TOO_RECENT: i64 = 2_000_000;

#[derive(Serialize, Deserialize)]
struct Line {
    key: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<String>,
}

#[derive(Debug)]
struct Row {
    id: Arc<str>,
    /// The key, where the id is a hash of it.
    key: Option<Box<str>>,
    aliases: Box<[u64]>,
}

#[derive(Debug)]
pub(super) struct Index {
    disk: Arc<dyn Disk>,
    sessions: PathBuf,
    folder: PathBuf,
    file: PathBuf,
    wait: Duration,
    hasher: RandomState,
    rows: Vec<Row>,
    numbers: HashMap<Arc<str>, usize>,
    by_alias: BTreeSet<(u64, usize)>,
    /// Which file was read, and how far.
    read: Option<(u128, u64)>,
    lines: usize,
    /// When the folder of the sessions had last changed when it was last listed, and whether it
    /// was.
    listed: Option<i64>,
    /// What was learned of sessions and is not in the file yet.
    learned: String,
}

impl Index {
    pub(super) fn new(root: &Path, folder: &Path, disk: &Arc<dyn Disk>, wait: Duration) -> Index {
        Index {
            disk: Arc::clone(disk),
            sessions: root.join("sessions"),
            folder: folder.to_path_buf(),
            file: folder.join("aliases.jsonl"),
            wait,
            hasher: RandomState::new(),
            rows: Vec::new(),
            numbers: HashMap::new(),
            by_alias: BTreeSet::new(),
            read: None,
            lines: 0,
            listed: None,
            learned: String::new(),
        }
    }

    fn forget(&mut self) {
        self.rows.clear();
        self.numbers.clear();
        self.by_alias.clear();
        self.read = None;
        self.lines = 0;
        self.listed = None;
    }

    /// Takes in what other processes added. One look at a file where nothing was.
    ///
    /// # Errors
    /// `io` where the file is there and cannot be read.
    pub(super) fn refresh(&mut self) -> Result<()> {
        let meta = match self.disk.meta(&self.file) {
            Ok(meta) => meta,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if self.read.is_some() {
                    self.forget();
                }
                return Ok(());
            }
            Err(error) => return Err(Error::io(&self.file, "look at", error)),
        };
        match self.read {
            Some((identity, end)) if identity == meta.identity && end == meta.len => return Ok(()),
            Some((identity, end)) if identity == meta.identity && end < meta.len => {}
            None => {}
            _ => self.forget(),
        }
        let from = self.read.map_or(0, |(_, end)| end);
        let bytes = self
            .disk
            .open_read(&self.file)
            .and_then(|file| {
                let meta = file.meta()?;
                let bytes = read_from(file.as_ref(), from, meta.len.saturating_sub(from))?;
                Ok((meta.identity, bytes))
            })
            .map_err(|error| Error::io(&self.file, "read", error))?;
        let (identity, bytes) = bytes;
        if self.read.is_some_and(|(read, _)| read != identity) {
            // Replaced between the look and the reading.
            self.forget();
            return self.refresh();
        }
        // A line that is being written is read the next time.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let mut damaged = false;
        for line in bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            self.lines += 1;
            match serde_json::from_slice::<Line>(line) {
                Ok(line) => self.take(&line.key, &line.aliases),
                Err(_) => damaged = true,
            }
        }
        self.read = Some((identity, from + whole as u64));
        if damaged {
            // Whatever stood there: every session is asked.
            let read = self.read;
            self.forget();
            self.read = read;
        }
        if damaged || self.lines > 2 * self.rows.len() + SPARE_LINES {
            self.make_anew(damaged);
        }
        Ok(())
    }

    /// Writes the file anew: empty where it was damaged, so that every session is asked; else with
    /// the last line of each. What fails here is tried again with the next look.
    fn make_anew(&mut self, damaged: bool) {
        let Ok(_lock) = self.lock() else { return };
        let mut kept = String::new();
        if !damaged {
            let Ok(bytes) = self.disk.open_read(&self.file).and_then(|file| {
                let len = file.meta()?.len;
                read_from(file.as_ref(), 0, len)
            }) else {
                return;
            };
            let mut last: HashMap<String, String> = HashMap::new();
            for line in bytes.split(|byte| *byte == b'\n') {
                if let Ok(line) = serde_json::from_slice::<Line>(line)
                    && let Ok(text) = serde_json::to_string(&line)
                {
                    last.insert(line.key, text);
                }
            }
            for line in last.into_values() {
                kept.extend([line.as_str(), "\n"]);
            }
        }
        let _ = write_whole(self.disk.as_ref(), &self.file, kept.as_bytes(), true);
    }

    fn lock(&self) -> Result<Box<dyn forkwood::storage::disk::LockGuard>> {
        let path = self.folder.join(".aliases.jsonl.lock");
        self.disk.lock(&path, false, self.wait).map_err(|error| match error.kind() {
            std::io::ErrorKind::WouldBlock => Error::Locked {
                path: self.file.clone(),
                waited_ms: u64::try_from(self.wait.as_millis()).unwrap_or(u64::MAX),
            },
            _ => Error::write(path, "lock", error),
        })
    }

    fn take(&mut self, key: &str, aliases: &[String]) {
        let Ok(id) = session_id(key) else { return };
        let mut hashes: Vec<u64> = aliases
            .iter()
            // Every chat lists it; it is never resolved to one of them.
            .filter(|alias| !is_main(alias))
            .map(|alias| self.hasher.hash_one(alias.as_str()))
            .collect();
        hashes.sort_unstable();
        hashes.dedup();
        let number = match self.numbers.get(id.as_str()) {
            Some(&number) => {
                for hash in &self.rows[number].aliases {
                    self.by_alias.remove(&(*hash, number));
                }
                number
            }
            None => {
                let id: Arc<str> = Arc::from(id.as_str());
                let number = self.rows.len();
                let key = (*key != *id).then(|| Box::from(key));
                self.numbers.insert(Arc::clone(&id), number);
                self.rows.push(Row { id, key, aliases: Box::default() });
                number
            }
        };
        for hash in &hashes {
            self.by_alias.insert((*hash, number));
        }
        self.rows[number].aliases = hashes.into_boxed_slice();
    }

    fn key_of(&self, number: usize) -> &str {
        let row = &self.rows[number];
        row.key.as_deref().unwrap_or(&row.id)
    }

    /// The keys of the sessions that may claim an alias, in the order in which they count.
    pub(super) fn lookup(&self, alias: &str) -> Vec<String> {
        let hash = self.hasher.hash_one(alias);
        let rows = self.by_alias.range((hash, 0)..=(hash, usize::MAX));
        let mut keys: Vec<String> =
            rows.map(|(_, number)| self.key_of(*number).to_owned()).collect();
        sort(&mut keys);
        keys
    }

    /// Whether the sessions were listed since the file was read from its start.
    pub(super) fn has_listed(&self) -> bool {
        self.listed.is_some()
    }

    fn changed(&self) -> Result<i64> {
        match self.disk.meta(&self.sessions) {
            Ok(meta) => Ok(meta.modified),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(Error::io(&self.sessions, "look at", error)),
        }
    }

    fn names(&self) -> Result<Vec<String>> {
        let names = match self.disk.names(&self.sessions) {
            Ok(names) => names,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::io(&self.sessions, "read", error)),
        };
        let stem = |name: std::ffi::OsString| {
            let stem = name.to_str()?.strip_suffix(".jsonl")?.to_owned();
            is_session_id(&stem).then_some(stem)
        };
        Ok(names.into_iter().filter_map(stem).collect())
    }

    /// The sessions in the folder that the index does not know. Nothing is looked at where the
    /// folder did not change.
    ///
    /// # Errors
    /// `io` where the folder cannot be read.
    pub(super) fn unknown(&mut self, now: Timestamp) -> Result<Vec<SessionId>> {
        let changed = self.changed()?;
        if self.listed == Some(changed) {
            return Ok(Vec::new());
        }
        let names = self.names()?;
        let unknown = names.iter().filter(|name| !self.numbers.contains_key(name.as_str()));
        let unknown = unknown.filter_map(|name| SessionId::new(name).ok()).collect();
        let recent = changed == 0 || (now.as_micros() - changed).abs() < TOO_RECENT;
        self.listed = Some(if recent { -1 } else { changed });
        Ok(unknown)
    }

    /// Takes in what a session says.
    pub(super) fn learn(&mut self, record: &ConversationRecord) {
        self.take(&record.key, &record.aliases);
        if let Some(line) = line(record) {
            self.learned.push_str(&line);
        }
    }

    /// Keeps what was learned for others and for the next start. It can be learned again.
    pub(super) fn keep_learned(&mut self) {
        let learned = std::mem::take(&mut self.learned);
        if !learned.is_empty() {
            let _ = self.append(&learned, false);
        }
    }

    /// Writes down what a session is going to say. Must be called before it does.
    ///
    /// # Errors
    /// Those of a write.
    pub(super) fn note(&mut self, record: &ConversationRecord) -> Result<()> {
        self.refresh()?;
        self.take(&record.key, &record.aliases);
        match line(record) {
            // Without aliases the folder tells as much.
            Some(line) => self.append(&line, !record.aliases.is_empty()),
            None => Ok(()),
        }
    }

    fn append(&mut self, lines: &str, sync: bool) -> Result<()> {
        let disk = self.disk.as_ref();
        disk.create_folders(&self.folder)
            .map_err(|error| Error::write(&self.folder, "make", error))?;
        let _lock = self.lock()?;
        let write = || -> std::io::Result<()> {
            let file = match disk.open_append(&self.file) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    let file = disk.create_new(&self.file)?;
                    disk.sync_folder(&self.folder)?;
                    file
                }
                other => other?,
            };
            let before = file.meta()?.len;
            let mut bytes = Vec::with_capacity(lines.len() + 1);
            // Half a line of one that died is damage of its own, not the start of this one.
            if before > 0 && read_from(file.as_ref(), before - 1, 1)? != b"\n" {
                bytes.push(b'\n');
            }
            bytes.extend_from_slice(lines.as_bytes());
            let mut written = 0;
            while written < bytes.len() {
                match file.append(&bytes[written..]) {
                    Ok(0) => return Err(std::io::ErrorKind::WriteZero.into()),
                    Ok(count) => written += count,
                    Err(error) => {
                        let _ = file.set_len(before);
                        return Err(error);
                    }
                }
            }
            if sync { file.sync() } else { Ok(()) }
        };
        write().map_err(|error| Error::write(&self.file, "append", error))
    }

    /// The keys of the sessions that are there.
    ///
    /// # Errors
    /// `io` where the folder cannot be read.
    pub(super) fn keys(&self) -> Result<Vec<String>> {
        let names = self.names()?;
        let numbers = names.iter().filter_map(|name| self.numbers.get(name.as_str()));
        let mut keys: Vec<String> = numbers.map(|&at| self.key_of(at).to_owned()).collect();
        sort(&mut keys);
        Ok(keys)
    }
}

fn line(record: &ConversationRecord) -> Option<String> {
    let line = Line { key: record.key.clone(), aliases: record.aliases.clone() };
    serde_json::to_string(&line).ok().map(|line| line + "\n")
}

/// The order in which PicoClaw meets its files.
fn sort(keys: &mut [String]) {
    keys.sort_by_cached_key(|key| (file_base(key), key.clone()));
}
