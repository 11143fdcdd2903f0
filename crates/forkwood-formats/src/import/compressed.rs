//! Codex's rollouts that were compressed when they were put away (`.jsonl.zst`).

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use forkwood::storage::disk::{Disk, DiskFile, Meta, NodeKind, RealDisk, read_from};
use forkwood::{Diagnostic, Entry, Error, Result};
use ruzstd::decoding::StreamingDecoder;

use super::engine::{EngineSession, open_one};
use super::{About, Environment, ForeignSession, Tool, Unit};
use crate::codex::CodexFormat;

/// What a compressed file starts with.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// A file that unfolds to more than this is none that a person made.
const MOST: u64 = 16 * 1024 * 1024 * 1024;
/// How much is unfolded at a time.
const PIECE: usize = 256 * 1024;

/// Codex, for what is compressed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodexCompressed;

#[async_trait]
impl Tool for CodexCompressed {
    fn name(&self) -> &'static str {
        super::agents::Codex.name()
    }

    /// Those of Codex, which is asked for them.
    fn places(&self, _environment: &Environment<'_>) -> Vec<PathBuf> {
        Vec::new()
    }

    fn claim(&self, disk: &dyn Disk, path: &Path, meta: &Meta) -> Option<Unit> {
        let name = path.file_name()?.to_str()?;
        let plain = name.strip_suffix(".zst").filter(|name| name.ends_with(".jsonl"))?;
        crate::codex::place::id_in_name(plain)?;
        // The plain one is read where both are there.
        if meta.kind != NodeKind::File || disk.meta(&path.with_file_name(plain)).is_ok() {
            return None;
        }
        let file = disk.open_read(path).ok()?;
        let start = read_from(file.as_ref(), 0, MAGIC.len() as u64).ok()?;
        (start == MAGIC).then(|| Unit::file(path))
    }

    async fn open(
        &self,
        disk: &Arc<dyn Disk>,
        unit: &Unit,
    ) -> Result<Vec<Box<dyn ForeignSession>>> {
        let (folder, plain) = unfold(disk.as_ref(), &unit.path)?;
        let real: Arc<dyn Disk> = Arc::new(RealDisk);
        let mut session = open_one(Arc::new(CodexFormat), &real, &Unit::file(&plain)).await?;
        super::agents::take_name(disk.as_ref(), &unit.path, &mut session.about);
        Ok(vec![Box::new(Unfolded { session, _folder: folder })])
    }
}

/// Unfolds a file into a folder of its own, under its plain name. What is behind a damage in it is
/// lost; what is before it is there.
fn unfold(disk: &dyn Disk, path: &Path) -> Result<(tempfile::TempDir, PathBuf)> {
    let failed = |error| Error::io(path, "unfold", error);
    let damaged = |problem: String| Error::Damaged { path: path.to_path_buf(), problem };
    let file = disk.open_read(path).map_err(failed)?;
    let folder = tempfile::Builder::new().prefix("forkwood-").tempdir().map_err(failed)?;
    let plain = folder.path().join(path.file_stem().unwrap_or_default());
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut target = options.open(&plain).map_err(failed)?;
    let mut source = Source { file, offset: 0, buffer: Vec::new(), at: 0 };
    let mut piece = vec![0; PIECE];
    let mut total = 0u64;
    // A file may be several frames, one behind the other.
    while source.has_more().map_err(failed)? {
        let decoder = StreamingDecoder::new(&mut source);
        let mut decoder = match decoder {
            Ok(decoder) => decoder,
            Err(error) if total == 0 => return Err(damaged(error.to_string())),
            Err(_) => break,
        };
        loop {
            match decoder.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => {
                    total += read as u64;
                    if total > MOST {
                        return Err(damaged(format!("it unfolds to more than {MOST} bytes")));
                    }
                    target.write_all(&piece[..read]).map_err(failed)?;
                }
                Err(error) if total == 0 => return Err(damaged(error.to_string())),
                Err(_) => return Ok((folder, plain)),
            }
        }
    }
    Ok((folder, plain))
}

/// A file of a disk as a stream.
struct Source {
    file: Arc<dyn DiskFile>,
    offset: u64,
    buffer: Vec<u8>,
    at: usize,
}

impl Source {
    fn has_more(&mut self) -> std::io::Result<bool> {
        if self.at == self.buffer.len() {
            self.buffer = read_from(self.file.as_ref(), self.offset, PIECE as u64)?;
            self.offset += self.buffer.len() as u64;
            self.at = 0;
        }
        Ok(self.at < self.buffer.len())
    }
}

impl Read for Source {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if !self.has_more()? {
            return Ok(0);
        }
        let count = out.len().min(self.buffer.len() - self.at);
        out[..count].copy_from_slice(&self.buffer[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// A session in an unfolded file, which goes with it.
#[derive(Debug)]
struct Unfolded {
    session: EngineSession,
    _folder: tempfile::TempDir,
}

#[async_trait]
impl ForeignSession for Unfolded {
    fn about(&self) -> &About {
        self.session.about()
    }

    async fn next(&mut self) -> Result<Vec<Entry>> {
        self.session.next().await
    }

    async fn findings(&mut self) -> Result<Vec<Diagnostic>> {
        self.session.findings().await
    }
}
