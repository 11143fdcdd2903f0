//! The file system of the machine.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

use super::{Disk, DiskFile, LockGuard, Meta, NodeKind, platform};

/// The file system of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

#[derive(Debug)]
struct RealFile(File);

/// The lock lives as long as the open file.
#[derive(Debug)]
struct RealLock {
    _file: File,
}

impl LockGuard for RealLock {}

fn meta_of(meta: &Metadata) -> Meta {
    let kind = meta.file_type();
    Meta {
        kind: if kind.is_file() {
            NodeKind::File
        } else if kind.is_dir() {
            NodeKind::Folder
        } else if kind.is_symlink() {
            NodeKind::Link
        } else {
            NodeKind::Special
        },
        len: meta.len(),
        identity: platform::identity(meta),
        modified: meta
            .modified()
            .ok()
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
            .and_then(|age| i64::try_from(age.as_micros()).ok())
            .unwrap_or(0),
        mode: platform::mode(meta),
    }
}

impl DiskFile for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        platform::read_at(&self.0, buffer, offset)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match (&self.0).write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn meta(&self) -> io::Result<Meta> {
        self.0.metadata().map(|meta| meta_of(&meta))
    }

    fn hold(&self) {
        // On Windows a lock on the file itself would keep its owner's program from writing.
        if cfg!(unix) {
            // Without it only `prune` knows less: it cannot tell that the session is open.
            let _ = self.0.try_lock_shared();
        }
    }

    fn is_idle(&self) -> bool {
        if !cfg!(unix) {
            return true;
        }
        match self.0.try_lock() {
            Ok(()) => {
                let _ = self.0.unlock();
                true
            }
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(_)) => true,
        }
    }
}

impl RealDisk {
    /// What stands in for a second name: a synced copy. The name is reserved first, so that no
    /// file is overwritten.
    fn copy_to(&self, from: &Path, to: &Path) -> io::Result<()> {
        drop(self.create_new(to)?);
        let temp = super::temp_name(to)?;
        let copy = || -> io::Result<()> {
            let mut copied = platform::open_options().write(true).create_new(true).open(&temp)?;
            io::copy(&mut File::open(from)?, &mut copied)?;
            copied.sync_all()?;
            fs::rename(&temp, to)
        };
        copy().inspect_err(|_| {
            // The error that led here is the one to tell.
            let _ = fs::remove_file(&temp);
            let _ = fs::remove_file(to);
        })
    }
}

impl Disk for RealDisk {
    fn open_read(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        // A FIFO would block at open: callers look at the kind first.
        Ok(Arc::new(RealFile(File::open(path)?)))
    }

    fn open_append(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let file = platform::open_options().read(true).append(true).open(path)?;
        Ok(Arc::new(RealFile(file)))
    }

    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let file = platform::open_options().read(true).append(true).create_new(true).open(path)?;
        Ok(Arc::new(RealFile(file)))
    }

    fn meta(&self, path: &Path) -> io::Result<Meta> {
        fs::symlink_metadata(path).map(|meta| meta_of(&meta))
    }

    fn create_folders(&self, path: &Path) -> io::Result<()> {
        let missing: Vec<&Path> =
            path.ancestors().take_while(|folder| fs::symlink_metadata(folder).is_err()).collect();
        platform::private_folder(path)?;
        // A name in a new folder is only safe when the folder's own name is.
        for folder in missing.into_iter().filter_map(Path::parent) {
            self.sync_folder(folder)?;
        }
        Ok(())
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.file_name())).collect()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        match fs::hard_link(from, to) {
            // Some file systems have no links: the name is then reserved before it is replaced.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied
                ) =>
            {
                self.copy_to(from, to)
            }
            other => other,
        }
    }

    fn make_private(&self, path: &Path) -> io::Result<()> {
        platform::make_private(path)
    }

    fn is_locked(&self, path: &Path) -> io::Result<bool> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        // Shared, so that two who only look are in nobody's way but a writer's, and in his for a
        // moment.
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        platform::sync_folder(folder)
    }

    fn lock(&self, path: &Path, shared: bool, wait: Duration) -> io::Result<Box<dyn LockGuard>> {
        let open = || {
            let mut options = platform::open_options();
            options.read(true).write(true).create(true).truncate(false).open(path)
        };
        let mut file = open()?;
        let until = Instant::now() + wait;
        let mut pause = Duration::from_micros(50);
        loop {
            let taken = if shared { file.try_lock_shared() } else { file.try_lock() };
            match taken {
                // Who deleted the session while this waited took the name of the lock with it.
                Ok(()) if !platform::is_named(&file, path) => file = open()?,
                Ok(()) => return Ok(Box::new(RealLock { _file: file })),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if Instant::now() >= until => {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Err(TryLockError::WouldBlock) => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(5));
                }
            }
        }
    }
}
