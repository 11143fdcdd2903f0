//! A disk that counts what is read and lets something happen between two steps.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use forkwood::storage::disk::{Disk, DiskFile, LockGuard, Meta, SimDisk};

type Hook = Box<dyn FnOnce() + Send>;

/// What was done to a disk.
#[derive(Clone)]
pub(crate) struct Spy {
    disk: SimDisk,
    read: Arc<AtomicU64>,
    opened: Arc<Mutex<Vec<PathBuf>>>,
    listed: Arc<AtomicU64>,
    hook: Arc<Mutex<Option<(u64, Hook)>>>,
}

struct SpiedFile {
    file: Arc<dyn DiskFile>,
    read: Arc<AtomicU64>,
}

impl Spy {
    pub(crate) fn on(disk: &SimDisk) -> Spy {
        Spy {
            disk: disk.clone(),
            read: Arc::default(),
            opened: Arc::default(),
            listed: Arc::default(),
            hook: Arc::default(),
        }
    }

    /// Forgets what was done so far.
    pub(crate) fn reset(&self) {
        self.read.store(0, Ordering::SeqCst);
        self.listed.store(0, Ordering::SeqCst);
        self.opened.lock().unwrap().clear();
    }

    /// How many bytes were read.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::SeqCst)
    }

    /// How many folders were listed.
    pub(crate) fn listed(&self) -> u64 {
        self.listed.load(Ordering::SeqCst)
    }

    /// The files that were opened.
    pub(crate) fn opened(&self) -> Vec<PathBuf> {
        self.opened.lock().unwrap().clone()
    }

    /// Has something happen just before the `n`-th lock is taken, counted from 0.
    pub(crate) fn before_lock(&self, n: u64, hook: impl FnOnce() + Send + 'static) {
        *self.hook.lock().unwrap() = Some((n, Box::new(hook)));
    }

    /// Whether what was to happen did.
    pub(crate) fn happened(&self) -> bool {
        self.hook.lock().unwrap().is_none()
    }

    fn file(&self, path: &Path, file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        self.opened.lock().unwrap().push(path.to_path_buf());
        Arc::new(SpiedFile { file, read: Arc::clone(&self.read) })
    }
}

impl fmt::Debug for Spy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Spy")
    }
}

impl fmt::Debug for SpiedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SpiedFile")
    }
}

impl DiskFile for SpiedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = self.file.read_at(buffer, offset)?;
        self.read.fetch_add(read as u64, Ordering::SeqCst);
        Ok(read)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        self.file.append(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn meta(&self) -> io::Result<Meta> {
        self.file.meta()
    }

    fn hold(&self) {
        self.file.hold();
    }

    fn is_idle(&self) -> bool {
        self.file.is_idle()
    }
}

impl Disk for Spy {
    fn open_read(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.disk.open_read(path).map(|file| self.file(path, file))
    }

    fn open_append(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.disk.open_append(path).map(|file| self.file(path, file))
    }

    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.disk.create_new(path)
    }

    fn meta(&self, path: &Path) -> io::Result<Meta> {
        // A folder on a disk in memory has no time of its own. This one never changes, so that
        // what looks at it can tell.
        let meta = self.disk.meta(path)?;
        let folder = meta.kind == forkwood::storage::disk::NodeKind::Folder;
        Ok(Meta { modified: if folder { 1 } else { meta.modified }, ..meta })
    }

    fn create_folders(&self, path: &Path) -> io::Result<()> {
        self.disk.create_folders(path)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        self.listed.fetch_add(1, Ordering::SeqCst);
        self.disk.names(folder)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_folder(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.disk.sync_folder(folder)
    }

    fn lock(&self, path: &Path, shared: bool, wait: Duration) -> io::Result<Box<dyn LockGuard>> {
        let due = {
            let mut hook = self.hook.lock().unwrap();
            match hook.take() {
                Some((0, due)) => Some(due),
                Some((n, later)) => {
                    *hook = Some((n - 1, later));
                    None
                }
                None => None,
            }
        };
        if let Some(due) = due {
            due();
        }
        self.disk.lock(path, shared, wait)
    }
}
