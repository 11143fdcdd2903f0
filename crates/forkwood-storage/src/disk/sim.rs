//! A disk in memory that can lose what was not synced, tear a write and run full. For tests of
//! this crate and of whoever builds on it.

mod file;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Disk, DiskFile, LockGuard, Meta, NodeKind};
use file::SimFile;

/// What survives a crash of the machine beyond what was synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash {
    /// How many bytes of what was appended and not synced reached the disk, per file.
    pub unsynced_bytes: usize,
    /// Whether names that were not synced reached the disk.
    pub unsynced_names: bool,
    /// Whether a file was extended but its data never reached the disk: NUL bytes stand there.
    pub zeroed: bool,
}

impl Crash {
    /// Nothing but what was synced.
    pub const HARD: Crash = Crash { unsynced_bytes: 0, unsynced_names: false, zeroed: false };
}

/// A disk in memory, with a live and a durable image.
#[derive(Clone, Debug, Default)]
pub struct SimDisk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    nodes: Vec<Node>,
    live: BTreeMap<PathBuf, usize>,
    durable: BTreeMap<PathBuf, usize>,
    folders: BTreeSet<PathBuf>,
    locks: BTreeMap<PathBuf, usize>,
    /// Bytes that may still be appended before the disk is full.
    room: Option<usize>,
    syncs: u64,
    writes: u64,
    fail_syncs: bool,
    /// What every change is refused with.
    refuse: Option<io::ErrorKind>,
    /// How many operations changed something.
    changes: u64,
    /// The change at which the machine stops.
    stop_at: Option<u64>,
    /// Counts changes of files, as a clock of the disk.
    clock: i64,
    /// No durable image is kept.
    volatile: bool,
}

#[derive(Debug, Default)]
struct Node {
    live: Vec<u8>,
    durable: Vec<u8>,
    /// Whether the file was cut since the last sync, so that it did not only grow.
    cut: bool,
    holders: usize,
    modified: i64,
}

#[derive(Debug)]
struct SimLock {
    disk: SimDisk,
    path: PathBuf,
}

const EXCLUSIVE: usize = usize::MAX;

impl LockGuard for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        match state.locks.get(&self.path).copied() {
            Some(EXCLUSIVE | 0 | 1) | None => {
                state.locks.remove(&self.path);
            }
            Some(readers) => {
                state.locks.insert(self.path.clone(), readers - 1);
            }
        }
    }
}

impl State {
    /// Counts a change; an error where the machine has stopped.
    fn change(&mut self) -> io::Result<()> {
        self.changes += 1;
        self.allowed()?;
        match self.stop_at {
            Some(stop) if self.changes > stop => Err(io::Error::other("the machine stopped")),
            _ => Ok(()),
        }
    }

    fn allowed(&self) -> io::Result<()> {
        self.refuse.map_or(Ok(()), |kind| Err(kind.into()))
    }

    fn touch(&mut self, node: usize) {
        self.clock += 1;
        self.nodes[node].modified = self.clock;
    }
}

impl SimDisk {
    /// An empty disk.
    pub fn new() -> SimDisk {
        SimDisk::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An empty disk that keeps no second image: a place for files in memory.
    pub fn volatile() -> SimDisk {
        let disk = SimDisk::default();
        disk.state().volatile = true;
        disk
    }

    /// Another disk with the same content, so that one history can crash in many ways.
    #[must_use]
    pub fn copy(&self) -> SimDisk {
        let state = self.state();
        let nodes = state.nodes.iter().map(|node| Node {
            live: node.live.clone(),
            durable: node.durable.clone(),
            cut: node.cut,
            holders: 0,
            modified: node.modified,
        });
        SimDisk(Arc::new(Mutex::new(State {
            nodes: nodes.collect(),
            live: state.live.clone(),
            durable: state.durable.clone(),
            folders: state.folders.clone(),
            clock: state.clock,
            volatile: state.volatile,
            ..State::default()
        })))
    }

    /// The machine stops at the `n`-th change from now, counted from 0: that change and all
    /// after it fail. An append that it hits writes half of its bytes. `None`: it runs on.
    pub fn stop_at_change(&self, n: Option<u64>) {
        let mut state = self.state();
        state.stop_at = n.map(|n| state.changes + n);
    }

    /// How many operations changed something so far.
    pub fn changes(&self) -> u64 {
        self.state().changes
    }

    /// The machine stops, and starts again with what reached the disk.
    pub fn crash(&self, crash: Crash) {
        let mut state = self.state();
        for node in &mut state.nodes {
            let synced = node.durable.len();
            let grew = node.live.len() > synced && node.live.starts_with(&node.durable);
            if grew {
                let end = synced.saturating_add(crash.unsynced_bytes).min(node.live.len());
                let suffix = node.live[synced..end].to_vec();
                if crash.zeroed {
                    node.durable.resize(end, 0);
                } else {
                    node.durable.extend_from_slice(&suffix);
                }
            }
            node.live.clone_from(&node.durable);
            node.cut = false;
            node.holders = 0;
        }
        if crash.unsynced_names {
            state.durable = state.live.clone();
        }
        state.live = state.durable.clone();
        state.locks.clear();
        state.room = None;
        state.fail_syncs = false;
        state.refuse = None;
        state.stop_at = None;
    }

    /// From now on only so many bytes can be appended; `None` = no limit.
    pub fn set_room(&self, room: Option<usize>) {
        self.state().room = room;
    }

    /// From now on a sync fails.
    pub fn fail_syncs(&self, fail: bool) {
        self.state().fail_syncs = fail;
    }

    /// From now on whatever would change something is refused so: as by a file system that is
    /// mounted read-only, or by a folder without the right to write. `None`: no longer.
    pub fn refuse_writes(&self, with: Option<io::ErrorKind>) {
        self.state().refuse = with;
    }

    /// How many writes and syncs there were.
    pub fn counts(&self) -> (u64, u64) {
        let state = self.state();
        (state.writes, state.syncs)
    }

    /// What a file holds now.
    pub fn bytes(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state();
        state.live.get(path).map(|&node| state.nodes[node].live.clone())
    }

    /// Puts a file there, synced.
    pub fn put(&self, path: &Path, bytes: &[u8]) {
        let mut state = self.state();
        let node = state.nodes.len();
        state.nodes.push(Node { live: bytes.to_vec(), durable: bytes.to_vec(), ..Node::default() });
        state.touch(node);
        state.live.insert(path.to_path_buf(), node);
        state.durable.insert(path.to_path_buf(), node);
        let folders: Vec<PathBuf> = path.ancestors().skip(1).map(Path::to_path_buf).collect();
        state.folders.extend(folders);
    }

    /// Every file there is.
    pub fn files(&self) -> Vec<PathBuf> {
        self.state().live.keys().cloned().collect()
    }

    fn file(&self, node: usize) -> Arc<dyn DiskFile> {
        Arc::new(SimFile::new(self.clone(), node))
    }
}

fn node_meta(state: &State, node: usize) -> Meta {
    Meta {
        kind: NodeKind::File,
        len: state.nodes[node].live.len() as u64,
        identity: node as u128 + 1,
        modified: state.nodes[node].modified,
        mode: Some(0o600),
    }
}

fn missing() -> io::Error {
    io::ErrorKind::NotFound.into()
}

impl Disk for SimDisk {
    fn open_read(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let node = *self.state().live.get(path).ok_or_else(missing)?;
        Ok(self.file(node))
    }

    fn open_append(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.state().allowed()?;
        self.open_read(path)
    }

    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.state();
        state.change()?;
        if state.live.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if path.parent().is_some_and(|folder| !state.folders.contains(folder)) {
            return Err(missing());
        }
        let node = state.nodes.len();
        state.nodes.push(Node::default());
        state.live.insert(path.to_path_buf(), node);
        drop(state);
        Ok(self.file(node))
    }

    fn meta(&self, path: &Path) -> io::Result<Meta> {
        let state = self.state();
        if let Some(&node) = state.live.get(path) {
            return Ok(node_meta(&state, node));
        }
        if state.folders.contains(path) {
            return Ok(Meta {
                kind: NodeKind::Folder,
                len: 0,
                identity: 0,
                modified: 0,
                mode: None,
            });
        }
        Err(missing())
    }

    fn create_folders(&self, path: &Path) -> io::Result<()> {
        let folders: Vec<PathBuf> = path.ancestors().map(Path::to_path_buf).collect();
        let mut state = self.state();
        state.change()?;
        state.folders.extend(folders);
        Ok(())
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        let state = self.state();
        if !state.folders.contains(folder) {
            return Err(missing());
        }
        let in_folder = |path: &&PathBuf| path.parent() == Some(folder);
        let paths = state.live.keys().chain(&state.folders).filter(in_folder);
        Ok(paths.filter_map(|path| path.file_name().map(ToOwned::to_owned)).collect())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.change()?;
        if state.folders.contains(from) {
            let moved = |path: &PathBuf| {
                path.strip_prefix(from)
                    .ok()
                    .map(|rest| to.join(rest).components().collect::<PathBuf>())
            };
            let files: Vec<_> =
                state.live.iter().filter_map(|(p, n)| Some((p.clone(), moved(p)?, *n))).collect();
            for (old, new, node) in files {
                state.live.remove(&old);
                state.live.insert(new, node);
            }
            let folders: Vec<_> =
                state.folders.iter().filter_map(|p| Some((p.clone(), moved(p)?))).collect();
            for (old, new) in folders {
                state.folders.remove(&old);
                state.folders.insert(new);
            }
            return Ok(());
        }
        let node = state.live.remove(from).ok_or_else(missing)?;
        state.live.insert(to.to_path_buf(), node);
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.change()?;
        if state.live.contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let node = *state.live.get(from).ok_or_else(missing)?;
        state.live.insert(to.to_path_buf(), node);
        Ok(())
    }

    fn is_locked(&self, path: &Path) -> io::Result<bool> {
        Ok(self.state().locks.contains_key(path))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.change()?;
        state.live.remove(path).map(|_| ()).ok_or_else(missing)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.change()?;
        let filled = state.live.keys().chain(&state.folders).any(|p| p.parent() == Some(path));
        if filled {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        state.folders.remove(path).then_some(()).ok_or_else(missing)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.change()?;
        let in_folder = |path: &PathBuf| path.parent() == Some(folder);
        state.durable.retain(|path, _| !in_folder(path));
        let live: Vec<_> =
            state.live.iter().filter(|(p, _)| in_folder(p)).map(|(p, n)| (p.clone(), *n)).collect();
        state.durable.extend(live);
        Ok(())
    }

    fn lock(&self, path: &Path, shared: bool, wait: Duration) -> io::Result<Box<dyn LockGuard>> {
        let until = Instant::now() + wait;
        loop {
            {
                let mut state = self.state();
                state.allowed()?;
                let held = state.locks.get(path).copied().unwrap_or(0);
                if held == 0 || (shared && held != EXCLUSIVE) {
                    let now = if shared { held + 1 } else { EXCLUSIVE };
                    state.locks.insert(path.to_path_buf(), now);
                    return Ok(Box::new(SimLock { disk: self.clone(), path: path.to_path_buf() }));
                }
            }
            if Instant::now() >= until {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}
