//! Blobs on disk: `blobs/ab/sha256-...`, each once for the store.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use memchr::memmem;

use super::place::Place;
use crate::blob::{is_blob_name, name_of};
use crate::disk::{Disk, LockGuard, NodeKind, TEMP_SUFFIX, read_from, write_whole};
use crate::{Result, StorageError};

/// Blobs younger than this are never removed: the entry that names one may still be written.
const MIN_AGE_MICROS: i64 = 24 * 3600 * 1_000_000;
const NAME_LEN: usize = 71;

fn folder(root: &Path) -> PathBuf {
    root.join("blobs")
}

fn path_of(root: &Path, name: &str) -> PathBuf {
    // The name was checked: the two digits are hex.
    folder(root).join(&name[7..9]).join(name)
}

fn lock(disk: &dyn Disk, root: &Path, shared: bool, wait: Duration) -> Result<Box<dyn LockGuard>> {
    let folder = folder(root);
    disk.create_folders(&folder).map_err(|e| StorageError::write(&folder, "make", e))?;
    let path = folder.join(".lock");
    disk.lock(&path, shared, wait).map_err(|error| match error.kind() {
        std::io::ErrorKind::WouldBlock => StorageError::Locked {
            path: path.clone(),
            waited_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        },
        _ => StorageError::write(&path, "lock", error),
    })
}

/// Keeps bytes, synced, and gives their name.
pub(super) fn put(
    disk: &dyn Disk,
    root: &Path,
    bytes: &[u8],
    now: i64,
    wait: Duration,
) -> Result<String> {
    let name = name_of(bytes);
    let path = path_of(root, &name);
    let _lock = lock(disk, root, true, wait)?;
    let parent = path.parent().unwrap_or(root);
    // One that is old is written anew, since a purge would remove it before an entry names it;
    // so is one that is damaged.
    let young = |modified: i64| now.saturating_sub(modified) < MIN_AGE_MICROS / 2;
    let kept =
        disk.meta(&path).is_ok_and(|meta| meta.kind == NodeKind::File && young(meta.modified));
    if kept && matches!(get(disk, root, &name), Ok(Some(_))) {
        // Whoever wrote it may not have come to this yet.
        disk.sync_folder(parent).map_err(|e| StorageError::write(parent, "sync", e))?;
        return Ok(name);
    }
    disk.create_folders(parent).map_err(|e| StorageError::write(parent, "make", e))?;
    write_whole(disk, &path, bytes, true).map_err(|e| StorageError::write(&path, "write", e))?;
    Ok(name)
}

/// The bytes of a blob.
pub(super) fn get(disk: &dyn Disk, root: &Path, name: &str) -> Result<Option<Vec<u8>>> {
    if !is_blob_name(name) {
        return Err(StorageError::invalid(format!("{name:?} is not the name of a blob")));
    }
    let path = path_of(root, name);
    let file = match disk.meta(&path) {
        Ok(meta) if meta.kind == NodeKind::File => disk.open_read(&path),
        Ok(_) => return Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => Err(error),
    }
    .map_err(|e| StorageError::io(&path, "open", e))?;
    let len = file.meta().map_err(|e| StorageError::io(&path, "look at", e))?.len;
    let bytes = read_from(file.as_ref(), 0, len).map_err(|e| StorageError::io(&path, "read", e))?;
    if name_of(&bytes) != name {
        return Err(StorageError::Damaged {
            path,
            problem: "its bytes do not fit its name".to_owned(),
        });
    }
    Ok(Some(bytes))
}

/// Removes blobs that nothing names: no session, no sub-agent, nothing in the trash, no backup,
/// no torn tail. Where one of these cannot be read, nothing is removed.
pub(super) fn sweep(
    disk: &dyn Disk,
    place: &Place,
    root: &Path,
    now: i64,
    wait: Duration,
) -> Result<usize> {
    let blobs = folder(root);
    if disk.meta(&blobs).is_err() {
        return Ok(0);
    }
    let _lock = lock(disk, root, false, wait)?;
    let mut named = HashSet::new();
    for folder in [place.sessions(), place.trash()] {
        collect(disk, &folder, &mut named).map_err(|e| {
            StorageError::io(&folder, "read all sessions of, so no blob was removed", e)
        })?;
    }
    let mut removed = 0;
    for prefix in disk.names(&blobs).map_err(|e| StorageError::io(&blobs, "read", e))? {
        let folder = blobs.join(prefix);
        if disk.meta(&folder).map_or(true, |meta| meta.kind != NodeKind::Folder) {
            continue;
        }
        for name in disk.names(&folder).map_err(|e| StorageError::io(&folder, "read", e))? {
            let text = name.to_string_lossy().into_owned();
            let path = folder.join(&name);
            let Ok(meta) = disk.meta(&path) else { continue };
            let old = now.saturating_sub(meta.modified) > MIN_AGE_MICROS;
            let leftover = text.starts_with('.') && text.ends_with(TEMP_SUFFIX);
            let unnamed = is_blob_name(&text) && !named.contains(&text);
            if old && meta.kind == NodeKind::File && (leftover || unnamed) {
                disk.remove(&path).map_err(|e| StorageError::write(&path, "remove", e))?;
                removed += 1;
            }
        }
    }
    Ok(removed)
}

/// Takes in every name of a blob in any file of a folder, read as bytes: damaged files count
/// like well ones.
fn collect(disk: &dyn Disk, folder: &Path, named: &mut HashSet<String>) -> std::io::Result<()> {
    const WINDOW: usize = 1024 * 1024;
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        let names = match disk.names(&next) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            other => other?,
        };
        for name in names {
            let path = next.join(name);
            match disk.meta(&path)?.kind {
                NodeKind::Folder => folders.push(path),
                NodeKind::File => {
                    let file = disk.open_read(&path)?;
                    let mut buffer = vec![0; WINDOW + NAME_LEN];
                    let mut offset = 0;
                    loop {
                        let read = file.read_at(&mut buffer, offset)?;
                        for at in memmem::find_iter(&buffer[..read], b"sha256-") {
                            let found = buffer[at..read].get(..NAME_LEN);
                            if let Some(Ok(name)) = found.map(std::str::from_utf8)
                                && is_blob_name(name)
                            {
                                named.insert(name.to_owned());
                            }
                        }
                        if read <= WINDOW {
                            break;
                        }
                        offset += WINDOW as u64;
                    }
                }
                NodeKind::Link | NodeKind::Special => {}
            }
        }
    }
    Ok(())
}
