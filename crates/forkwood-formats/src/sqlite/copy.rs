//! A database that has a log beside it, copied as it stands at one moment.

use std::io::Write;
use std::path::Path;

use forkwood::storage::disk::{Disk, DiskFile};
use forkwood::{Error, Result};

use super::beside;
use crate::import::FileStamp;

/// The name of the copy.
pub(super) const NAME: &str = "copy.db";
/// How often a database that is written to meanwhile is copied anew.
const TRIES: usize = 8;
/// How much is copied at a time.
const PIECE: usize = 1024 * 1024;

/// Whether a database cannot be opened where it lies: it has a log, or it does not lie on the
/// system's own disk.
pub(super) fn is_needed(disk: &dyn Disk, path: &Path) -> bool {
    let has_log = |more| disk.meta(&beside(path, more)).is_ok_and(|meta| meta.len > 0);
    let there = std::fs::metadata(path).map(|meta| meta.len()).ok();
    has_log("-wal")
        || has_log("-journal")
        || there.is_none()
        || there != disk.meta(path).map(|meta| meta.len).ok()
}

/// The address of a database that is opened as one that nobody changes: nothing is made beside
/// it and nothing locked.
pub(super) fn uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(byte));
            }
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?mode=ro&immutable=1");
    uri
}

/// Copies a database with its logs to a folder that only its owner may look into.
///
/// The database comes first, its log after it: what is added to the log meanwhile does no harm.
/// Where the database itself changed, because its log was put into it, all is copied anew.
pub(super) fn copy(disk: &dyn Disk, path: &Path) -> Result<tempfile::TempDir> {
    let failed = |error| Error::io(path, "copy", error);
    let folder = tempfile::Builder::new().prefix("forkwood-").tempdir().map_err(failed)?;
    let target = folder.path().join(NAME);
    for _ in 0..TRIES {
        let before = state(disk, path);
        for more in ["", "-wal", "-journal"] {
            copy_file(disk, &beside(path, more), &beside(&target, more)).map_err(failed)?;
        }
        if state(disk, path) == before {
            return Ok(folder);
        }
    }
    let busy =
        std::io::Error::new(std::io::ErrorKind::ResourceBusy, "it is written to all the time");
    Err(failed(busy))
}

/// What tells that a database was changed, and not only its log continued.
fn state(disk: &dyn Disk, path: &Path) -> (FileStamp, Option<Vec<u8>>, bool) {
    let header = || {
        let file = disk.open_read(&beside(path, "-wal")).ok()?;
        let mut header = vec![0; 32];
        let read = file.read_at(&mut header, 0).ok()?;
        header.truncate(read);
        Some(header)
    };
    let has_journal = disk.meta(&beside(path, "-journal")).is_ok_and(|meta| meta.len > 0);
    (FileStamp::of(disk, path), header(), has_journal)
}

fn copy_file(disk: &dyn Disk, from: &Path, to: &Path) -> std::io::Result<()> {
    let source: std::sync::Arc<dyn DiskFile> = match disk.open_read(from) {
        Ok(source) => source,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return match std::fs::remove_file(to) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        Err(error) => return Err(error),
    };
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut target = options.open(to)?;
    let mut piece = vec![0; PIECE];
    let mut offset = 0;
    loop {
        let read = source.read_at(&mut piece, offset)?;
        if read == 0 {
            return target.flush();
        }
        target.write_all(&piece[..read])?;
        offset += read as u64;
    }
}
