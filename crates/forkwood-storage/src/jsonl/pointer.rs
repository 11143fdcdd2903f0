//! The pointer of a file whose format cannot store one: `.{name}.forkwood` beside it.
//!
//! Written by a rewind alone. It names the size, the identity and the last bytes of the file it
//! was made for, and counts only while they are the same: whatever the owner appends afterwards
//! wins.

use std::path::{Path, PathBuf};

use forkwood_core::json::{Object, ObjectWriter};
use sha2::{Digest, Sha256};

use super::file::SessionFile;
use crate::blob::hex;
use crate::disk::{read_from, write_whole};
use crate::{Result, StorageError};

/// How much of the end of the file is compared. The last line, for all but long ones.
const COMPARED: u64 = 4096;

/// Where the pointer of a file is.
pub(super) fn path_of(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.forkwood"))
}

fn tail_hash(file: &SessionFile) -> std::io::Result<String> {
    let take = file.meta.len.min(COMPARED);
    let tail = read_from(file.file.as_ref(), file.meta.len - take, take)?;
    Ok(hex(&Sha256::digest(tail)))
}

/// The leaf that a pointer file names, if there is one that fits the file as it is.
/// `Some(None)`: before the first entry.
pub(super) fn read(file: &SessionFile) -> Option<Option<String>> {
    let path = path_of(&file.path);
    let meta = file.disk.meta(&path).ok()?;
    if meta.kind != crate::disk::NodeKind::File || meta.len > 64 * 1024 {
        return None;
    }
    let pointer = file.disk.open_read(&path).ok()?;
    let bytes = read_from(pointer.as_ref(), 0, meta.len).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let object = Object::parse(text.trim_end()).ok()?;
    let fits = object.get("size") == Some(file.meta.len.to_string().as_str())
        && object.text("file")? == file.meta.identity.to_string().as_str()
        && object.text("tail")? == tail_hash(file).ok()?.as_str();
    let leaf = object.get("leaf")?;
    if !fits {
        return None;
    }
    match leaf {
        "null" => Some(None),
        json => {
            let id = forkwood_core::json::text_of(json)?.to_string_escaped().into_owned();
            file.index.find(&id)?;
            Some(Some(id))
        }
    }
}

/// Keeps a pointer for the file as it is.
pub(super) fn write(file: &SessionFile, leaf: Option<&str>) -> Result<()> {
    let path = path_of(&file.path);
    let hash = tail_hash(file).map_err(|error| StorageError::io(&file.path, "read", error))?;
    let mut out = ObjectWriter::new();
    out.raw("version", "1")
        .raw("size", &file.meta.len.to_string())
        .str("file", &file.meta.identity.to_string())
        .str("tail", &hash);
    match leaf {
        Some(leaf) => out.str("leaf", leaf),
        None => out.raw("leaf", "null"),
    };
    let mut line = out.finish();
    line.push('\n');
    write_whole(file.disk.as_ref(), &path, line.as_bytes(), true)
        .map_err(|error| StorageError::write(path, "write", error))
}
