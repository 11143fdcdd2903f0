//! The file system, as the JSONL backend uses it.
//!
//! One trait, so that tests can put a disk under the backend that loses what was not synced,
//! tears writes and runs full. [`RealDisk`] is the system's; all code that differs between
//! systems is in `disk/platform.rs`.

mod platform;
mod real;
mod sim;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use real::RealDisk;
pub use sim::{Crash, SimDisk};

/// What something at a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A device, pipe or socket.
    Special,
}

/// What is known of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// What it is.
    pub kind: NodeKind,
    /// Its length in bytes.
    pub len: u64,
    /// What tells it from another file under the same name: device and inode. 0 where unknown.
    pub identity: u128,
    /// When it last changed, in microseconds since 1970; for caches only, never for order.
    pub modified: i64,
    /// Its permission bits, where the system has them.
    pub mode: Option<u32>,
}

/// An open file.
pub trait DiskFile: Send + Sync + fmt::Debug {
    /// Reads at an offset; fewer bytes than asked only at the end of the file.
    ///
    /// # Errors
    /// The system's.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Appends with one `write`. Gives the number of bytes that were taken.
    ///
    /// # Errors
    /// The system's.
    fn append(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Waits until what was written is on disk.
    ///
    /// # Errors
    /// The system's.
    fn sync(&self) -> io::Result<()>;

    /// Cuts the file.
    ///
    /// # Errors
    /// The system's.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Looks at the open file, wherever its name went.
    ///
    /// # Errors
    /// The system's.
    fn meta(&self) -> io::Result<Meta>;

    /// Marks the file as held open by a writer, where the system can.
    fn hold(&self);

    /// Whether nobody else holds the file open for writing.
    fn is_idle(&self) -> bool;
}

/// A held lock; dropped, it is free.
pub trait LockGuard: Send + Sync + fmt::Debug {}

/// A file system.
pub trait Disk: Send + Sync + fmt::Debug {
    /// Opens for reading.
    ///
    /// # Errors
    /// The system's. The same holds for the methods below.
    fn open_read(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Opens for appending; the file must be there.
    ///
    /// # Errors
    /// The system's.
    fn open_append(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Makes a file that must not be there yet, for its owner only.
    ///
    /// # Errors
    /// `AlreadyExists`, and the system's.
    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Looks at a path, not through a link.
    ///
    /// # Errors
    /// The system's.
    fn meta(&self, path: &Path) -> io::Result<Meta>;

    /// Makes a folder and those above it, for their owner only.
    ///
    /// # Errors
    /// The system's.
    fn create_folders(&self, path: &Path) -> io::Result<()>;

    /// The names in a folder.
    ///
    /// # Errors
    /// The system's.
    fn names(&self, folder: &Path) -> io::Result<Vec<std::ffi::OsString>>;

    /// Puts a file in the place of another.
    ///
    /// # Errors
    /// The system's.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file a second name, which must not be there yet. With this and `remove`, a file
    /// is put in place without ever overwriting one.
    ///
    /// # Errors
    /// `AlreadyExists`, and the system's.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Lets nobody but its owner read a file, where the system has modes.
    ///
    /// # Errors
    /// The system's.
    fn make_private(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Whether somebody holds a lock file right now. Makes none, waits for nobody.
    ///
    /// # Errors
    /// The system's.
    fn is_locked(&self, _path: &Path) -> io::Result<bool> {
        Ok(false)
    }

    /// Removes a file.
    ///
    /// # Errors
    /// The system's.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty folder.
    ///
    /// # Errors
    /// The system's.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;

    /// Waits until the names in a folder are on disk.
    ///
    /// # Errors
    /// The system's.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// Takes the lock file, made if need be; waits at most so long.
    ///
    /// # Errors
    /// `WouldBlock` where another holds it all that time.
    fn lock(&self, path: &Path, shared: bool, wait: Duration) -> io::Result<Box<dyn LockGuard>>;
}

/// Reads all of a file from an offset on.
///
/// # Errors
/// The system's.
pub fn read_from(file: &dyn DiskFile, offset: u64, len: u64) -> io::Result<Vec<u8>> {
    let len = usize::try_from(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut bytes = vec![0; len];
    let mut filled = 0;
    while filled < len {
        let read = file.read_at(&mut bytes[filled..], offset + filled as u64)?;
        if read == 0 {
            break;
        }
        filled += read;
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Writes a whole file beside its place, syncs it, puts it there, and syncs the folder. The name
/// in between starts with `.{name}.` and ends in `.fwtmp`, so that leftovers are known as ours.
/// With `replace` false an existing file is never overwritten.
///
/// # Errors
/// The system's; `AlreadyExists` where it must not replace. The temporary file is then removed.
pub fn write_whole(disk: &dyn Disk, path: &Path, bytes: &[u8], replace: bool) -> io::Result<()> {
    let temp = temp_name(path)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let write = || -> io::Result<()> {
        let file = disk.create_new(&temp)?;
        let mut written = 0;
        while written < bytes.len() {
            match file.append(&bytes[written..])? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => written += count,
            }
        }
        file.sync()?;
        if replace {
            disk.rename(&temp, path)?;
        } else {
            disk.link(&temp, path)?;
            disk.remove(&temp)?;
        }
        disk.sync_folder(folder)
    };
    write().inspect_err(|_| {
        // The error that led here is the one to tell.
        let _ = disk.remove(&temp);
    })
}

/// What our temporary files end in.
pub const TEMP_SUFFIX: &str = ".fwtmp";

fn temp_name(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy().into_owned();
    let mut random = [0u8; 6];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(path.with_file_name(format!(".{name}.{}{TEMP_SUFFIX}", crate::blob::hex(&random))))
}
