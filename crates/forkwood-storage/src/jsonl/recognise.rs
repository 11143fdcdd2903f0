//! Telling the format of a file by its start, and the id by which it is known.

use std::path::Path;
use std::sync::Arc;

use forkwood_core::{Diagnostic, DiagnosticKind, SessionId};

use super::dialect::{FileStart, Format, Header, Recognised};
use super::frame::{Frames, trim};
use super::salvage;
use crate::disk::{DiskFile, Meta, read_from};
use crate::{Result, StorageError};

/// How much of the start of a file a format is shown.
const START_BYTES: u64 = 64 * 1024;
const START_LINES: usize = 64;

pub(super) fn damaged(path: &Path, problem: &str) -> StorageError {
    StorageError::Damaged { path: path.to_path_buf(), problem: problem.to_owned() }
}

/// The id by which a file is known: its header's, where that can be a file name, else its own
/// name's.
pub(super) fn session_id(header: &Header, path: &Path) -> SessionId {
    let from_header = SessionId::new(&header.session_id.to_string_lossy());
    from_header.unwrap_or_else(|_| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        SessionId::from_lossy(stem.rsplit('_').next().unwrap_or_default())
    })
}

pub(super) fn recognise(
    path: &Path,
    file: &dyn DiskFile,
    meta: &Meta,
    formats: &[Arc<dyn Format>],
) -> Result<Recognised> {
    if meta.len == 0 {
        return Err(damaged(path, "is empty (0 bytes), so it is no session; nothing was changed"));
    }
    let window = meta.len.min(START_BYTES);
    let start =
        read_from(file, 0, window).map_err(|error| StorageError::io(path, "read", error))?;
    if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
        return Err(damaged(path, "is UTF-16; session files are UTF-8. It was left alone"));
    }
    let mut lines: Vec<(u64, &[u8])> = Vec::new();
    let mut offset = 0;
    for (number, line) in start.split(|b| *b == b'\n').enumerate() {
        let (record, _) = trim(line, offset == 0);
        offset += line.len() + 1;
        if !record.is_empty() && lines.len() < START_LINES {
            lines.push((number as u64 + 1, record));
        }
    }
    if lines.is_empty() {
        return Err(damaged(path, "holds nothing but white space, so it is no session"));
    }
    // A first line that is longer than the window is shown whole.
    let first;
    if lines.len() == 1 && meta.len > window {
        let mut frames = Frames::new(file, 0, meta.len, 1);
        let frame = frames.next().map_err(|error| StorageError::io(path, "read", error))?;
        let frame = frame.map(|(frame, _)| frame);
        if let Some(frame) = frame.filter(|frame| frame.len < 16 * 1024 * 1024) {
            first = read_from(file, frame.offset, frame.len)
                .map_err(|error| StorageError::io(path, "read", error))?;
            lines = vec![(1, trim(&first, true).0)];
        }
    }
    let start = FileStart { path, lines: &lines };
    if let Some(found) = formats.iter().find_map(|format| format.recognise(&start)) {
        return Ok(by_header_behind_fragment(&start, found, formats));
    }
    let nuls = lines[0].1.iter().all(|b| *b == 0);
    let only = lines[0].1;
    if lines.len() == 1
        && meta.len <= window
        && only.starts_with(b"{\"")
        && !forkwood_core::json::is_valid(only)
    {
        let problem = "holds one line, which was cut while it was written. It was left alone";
        return Err(damaged(path, problem));
    }
    let names: Vec<&str> = formats.iter().map(|format| format.name()).collect();
    Err(if nuls {
        damaged(path, "holds NUL bytes only: its data never reached the disk. It was left alone")
    } else {
        StorageError::unsupported(format!(
            "{}: not a session file of any known format ({}); it was left alone",
            path.display(),
            names.join(", ")
        ))
    })
}

/// Whether nothing but its entries tells the format of a file.
fn is_headless(found: &Recognised) -> bool {
    found.header.diagnostics.iter().any(|note| note.kind == DiagnosticKind::NoHeader)
}

/// Where the header stands whole on a damaged first line, its word on the format and the session
/// counts, and not what was guessed by the entries. The file still lacks a header line.
fn by_header_behind_fragment(
    start: &FileStart<'_>,
    guessed: Recognised,
    formats: &[Arc<dyn Format>],
) -> Recognised {
    let Some((1, first)) = start.lines.first().copied() else { return guessed };
    if !is_headless(&guessed) || forkwood_core::json::is_valid(first) {
        return guessed;
    }
    for span in salvage::records(first) {
        let mut lines = start.lines.to_vec();
        lines[0].1 = &first[span];
        let whole = FileStart { path: start.path, lines: &lines };
        let told = formats.iter().find_map(|format| format.recognise(&whole));
        if let Some(mut told) = told.filter(|told| !is_headless(told)) {
            let lacks = |note: &Diagnostic| note.kind == DiagnosticKind::NoHeader;
            told.header.diagnostics.extend(guessed.header.diagnostics.into_iter().filter(lacks));
            told.header.read_only = guessed.header.read_only;
            return told;
        }
    }
    guessed
}
