//! Replacing both files of a conversation as one step.
//!
//! Two files cannot be renamed at once. What they are to become is written beside them first, in
//! one file that is whole or not there; whoever comes after a crash finishes the step. PicoClaw
//! does not know that file: it may have appended meanwhile, or replaced the files itself.

use std::io;
use std::path::{Path, PathBuf};

use forkwood::core::json::{Object, ObjectWriter};
use forkwood::storage::blob::hex;
use forkwood::storage::disk::{Disk, read_from, write_whole};
use sha2::{Digest, Sha256};

use super::lines::spans;
use super::meta::Meta;
use crate::fields::whole_number;

/// What a conversation is to become.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pending {
    old_len: usize,
    old_hash: String,
    pub(super) meta: Meta,
    pub(super) content: Vec<u8>,
}

/// How far a step had come.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stage {
    /// The lines are still the old ones; others may have added some.
    Open {
        /// What others added.
        added: Vec<u8>,
    },
    /// The lines are the new ones, or somebody else's by now.
    Done,
}

pub(super) fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(super) fn path_of(jsonl: &Path) -> PathBuf {
    let name = jsonl.file_name().unwrap_or_default().to_string_lossy().into_owned();
    jsonl.with_file_name(format!(".{name}.forkwood-next"))
}

/// Reads a whole file; `None` where it is not there.
pub(super) fn read_file(disk: &dyn Disk, path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match disk.open_read(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let len = file.meta()?.len;
    read_from(file.as_ref(), 0, len).map(Some)
}

impl Pending {
    pub(super) fn new(old: &[u8], meta: Meta, content: Vec<u8>) -> Pending {
        Pending { old_len: old.len(), old_hash: hash(old), meta, content }
    }

    /// Reads what was left of a step; `None` where there was none. One that cannot be read is
    /// none: it is written whole or not at all.
    pub(super) fn read(disk: &dyn Disk, jsonl: &Path) -> io::Result<Option<Pending>> {
        let Some(bytes) = read_file(disk, &path_of(jsonl))? else { return Ok(None) };
        Ok(Pending::parse(&bytes))
    }

    fn parse(bytes: &[u8]) -> Option<Pending> {
        let end = memchr::memchr(b'\n', bytes)?;
        let object = Object::parse(std::str::from_utf8(&bytes[..end]).ok()?).ok()?;
        Some(Pending {
            old_len: usize::try_from(whole_number(object.get("oldLen")?)?).ok()?,
            old_hash: object.text("oldHash")?.to_string_lossy().into_owned(),
            meta: Meta::parse(object.get("meta")?).ok()?,
            content: bytes[end + 1..].to_vec(),
        })
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut out = ObjectWriter::new();
        out.raw("oldLen", &self.old_len.to_string())
            .str("oldHash", &self.old_hash)
            .raw("meta", &self.meta.to_text().replace('\n', ""));
        let mut bytes = out.finish().into_bytes();
        bytes.push(b'\n');
        bytes.extend_from_slice(&self.content);
        bytes
    }

    /// How far the step had come, by the lines that are there.
    pub(super) fn stage(&self, bytes: &[u8]) -> Stage {
        let old = bytes.len() >= self.old_len && hash(&bytes[..self.old_len]) == self.old_hash;
        // Where the old lines start the new ones, both fit: then all of the new ones are there.
        let grown = !self.content.is_empty() && self.content.len() >= self.old_len;
        let new = grown && bytes.starts_with(&self.content);
        match old && !new {
            true => Stage::Open { added: bytes[self.old_len..].to_vec() },
            false => Stage::Done,
        }
    }

    /// What both files are when the step is finished, with what others added meanwhile.
    pub(super) fn finished(&self, added: &[u8]) -> (Vec<u8>, Meta) {
        let mut content = self.content.clone();
        content.extend_from_slice(added);
        let mut meta = self.meta.clone();
        meta.count += spans(added).count() as i64;
        (content, meta)
    }

    /// Does the step. The order is PicoClaw's: the meta file first.
    pub(super) fn run(&self, disk: &dyn Disk, jsonl: &Path, meta: &Path) -> io::Result<()> {
        write_whole(disk, &path_of(jsonl), &self.to_bytes(), true)?;
        self.finish(disk, jsonl, meta, &[])
    }

    /// Finishes the step.
    pub(super) fn finish(
        &self,
        disk: &dyn Disk,
        jsonl: &Path,
        meta: &Path,
        added: &[u8],
    ) -> io::Result<()> {
        let (content, new_meta) = self.finished(added);
        write_whole(disk, meta, new_meta.to_text().as_bytes(), true)?;
        write_whole(disk, jsonl, &content, true)?;
        forget(disk, jsonl)
    }
}

/// Takes away what tells of a step.
pub(super) fn forget(disk: &dyn Disk, jsonl: &Path) -> io::Result<()> {
    match disk.remove(&path_of(jsonl)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => disk.sync_folder(jsonl.parent().unwrap_or(Path::new("."))),
    }
}

#[cfg(test)]
mod tests {
    use super::{Meta, Pending, Stage};

    #[test]
    fn tells_old_lines_from_new_ones() {
        let pending = |old: &str, new: &str| {
            let at = "2026-01-01T00:00:00Z".to_owned();
            let meta = Meta { created_at: at.clone(), updated_at: at, ..Meta::new("k") };
            Pending::new(old.as_bytes(), meta, new.as_bytes().to_vec())
        };
        let open = |added: &str| Stage::Open { added: added.as_bytes().to_vec() };
        for (old, new, now, stage) in [
            ("a\nb\n", "b\n", "a\nb\n", open("")),
            ("a\nb\n", "b\n", "a\nb\nc\n", open("c\n")),
            ("a\nb\n", "b\n", "b\n", Stage::Done),
            // Cut back to its start, and cleared.
            ("a\nb\n", "a\n", "a\nb\n", open("")),
            ("a\nb\n", "a\n", "a\n", Stage::Done),
            ("a\n", "", "a\n", open("")),
            ("a\n", "", "", Stage::Done),
            // Only grown.
            ("a\n", "a\nb\n", "a\n", open("")),
            ("a\n", "a\nb\n", "a\nb\n", Stage::Done),
            ("", "a\n", "", open("")),
            ("", "a\n", "a\n", Stage::Done),
            // Replaced by others.
            ("a\n", "b\n", "x\ny\n", Stage::Done),
        ] {
            let step = pending(old, new);
            assert_eq!(step.stage(now.as_bytes()), stage, "{old:?} {new:?} {now:?}");
            assert_eq!(Pending::parse(&step.to_bytes()), Some(step));
        }
    }
}
