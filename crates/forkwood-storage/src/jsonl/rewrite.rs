//! The changes that cannot be appends. Each keeps the old file, writes a whole new one beside it,
//! and puts that in its place.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use forkwood_core::entry::codec;
use forkwood_core::{Body, DiagnosticKind, EntryId, EntryKind};

use super::dialect::{LineContext, LineFault};
use super::file::{SessionFile, damaged};
use super::frame::{Frames, trim};
use super::index::NONE;
use super::salvage;
use super::scan::{Tail, line_of};
use crate::disk::{read_from, write_whole};
use crate::{Result, Rewritten, StorageError, new_generation};

/// Said of a rewrite that had to migrate first.
pub(super) const MIGRATED: &str = "brought it to the version in which entries have ids";

impl SessionFile {
    /// Migrates a file of an old version, as its owner would, and keeps the old one. Whatever is
    /// read of a damaged line is migrated, too: its id may hang on where it stood.
    pub(super) fn migrate(&mut self) -> Result<PathBuf> {
        let mut out = Vec::new();
        let mut frames = Frames::new(self.file.as_ref(), 0, self.meta.len, 1);
        let mut ordinal = 0;
        loop {
            let next = frames.next().map_err(|e| StorageError::io(&self.path, "read", e))?;
            let Some((frame, bytes)) = next else { break };
            let whole;
            let bytes = if bytes.len() as u64 == frame.len {
                bytes
            } else {
                whole = read_from(self.file.as_ref(), frame.offset, frame.len)
                    .map_err(|e| StorageError::io(&self.path, "read", e))?;
                &whole
            };
            let (record, _) = trim(bytes, frame.offset == 0);
            if record.is_empty() {
                continue;
            }
            let line_of = |ordinal: u64| line_of(&self.index, self.progress.headers, ordinal);
            let context = LineContext { line: frame.number, ordinal, line_of: &line_of };
            let migrated = |record: &[u8]| {
                let text = String::from_utf8_lossy(record);
                self.dialect.migrate(text.as_bytes(), &context)
            };
            let mut from = 0;
            match migrated(record) {
                Some(Ok(line)) => {
                    ordinal += 1;
                    out.extend_from_slice(line.as_bytes());
                    out.push(b'\n');
                    continue;
                }
                Some(Err(LineFault::WrongShape(_))) | None => {}
                Some(Err(_)) => {
                    for span in salvage::records(record) {
                        let Some(Ok(line)) = migrated(&record[span.clone()]) else { continue };
                        ordinal += 1;
                        push_fragment(&mut out, &record[from..span.start]);
                        out.extend_from_slice(line.as_bytes());
                        out.push(b'\n');
                        from = span.end;
                    }
                }
            }
            // What cannot be read now may be read later: its bytes stay.
            push_fragment(&mut out, if from == 0 { bytes } else { &record[from..] });
        }
        let version = self.dialect.name().rsplit('-').next().unwrap_or("old").to_owned();
        self.replace_keeping(&version, &out)
    }

    /// Puts whole new content in the place of the file, and keeps the old one beside it, for its
    /// owner only like all that is written here.
    pub(super) fn replace_keeping(&mut self, what: &str, bytes: &[u8]) -> Result<PathBuf> {
        let kept = self.keep_copy(what)?;
        self.replace(bytes)?;
        self.make_private(&kept);
        Ok(kept)
    }

    /// Takes a kept file from everybody but its owner. Only once the new one has its place: till
    /// then the two names are one file, and a rewrite that fails changes nothing of it.
    fn make_private(&self, kept: &Path) {
        // The rewrite is done, and would not be undone for it.
        let _ = self.disk.make_private(kept);
    }

    /// Gives the file as it is a second name, so that it stays when it is replaced.
    fn keep_copy(&self, what: &str) -> Result<PathBuf> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for n in 0..1000 {
            let number = if n == 0 { String::new() } else { format!("-{n}") };
            let kept = self.path.with_file_name(format!("{name}.{what}{number}.bak"));
            match self.disk.link(&self.path, &kept) {
                Ok(()) => return Ok(kept),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(StorageError::write(kept, "keep a backup as", error)),
            }
        }
        Err(damaged(&self.path, "has a thousand backups; remove some and try again"))
    }

    /// Puts whole new content in the place of the file.
    pub(super) fn replace(&mut self, bytes: &[u8]) -> Result<()> {
        write_whole(self.disk.as_ref(), &self.path, bytes, true)
            .map_err(|error| StorageError::write(&self.path, "rewrite", error))?;
        *self = SessionFile::open(&self.path, &self.disk, &self.formats, self.bridge)?;
        Ok(())
    }

    /// The first line with a new generation, for native files; as it is for others.
    fn first_line(&self) -> Result<Vec<u8>> {
        let mut frames = Frames::new(self.file.as_ref(), 0, self.meta.len, 1);
        let line = loop {
            let next = frames.next().map_err(|e| StorageError::io(&self.path, "read", e))?;
            let Some((frame, _)) = next else { return Ok(Vec::new()) };
            let line = read_from(self.file.as_ref(), frame.offset, frame.len)
                .map_err(|e| StorageError::io(&self.path, "read", e))?;
            if !trim(&line, frame.offset == 0).0.is_empty() {
                break line;
            }
        };
        let (record, _) = trim(&line, true);
        if self.dialect.name() != super::native::NAME {
            return Ok(record.to_vec());
        }
        let decoded = super::native::decode_native(record)
            .map_err(|fault| damaged(&self.path, &format!("line 1: {fault:?}")))?;
        let mut entry = decoded.entry;
        if let Body::SessionInfo(info) = &mut entry.body {
            info.generation = Some(new_generation()?.into());
        }
        entry.more = 0;
        Ok(codec::encode(&entry).into_bytes())
    }

    /// The first line with a new generation and the title and metadata as they are now, for
    /// native files.
    fn header_as_it_is_now(&self) -> Result<Vec<u8>> {
        let line = self.first_line()?;
        if self.dialect.name() != super::native::NAME {
            return Ok(line);
        }
        let mut entry = super::native::decode_native(&line)
            .map_err(|fault| damaged(&self.path, &format!("line 1: {fault:?}")))?
            .entry;
        if let Body::SessionInfo(info) = &mut entry.body {
            let now = self.info();
            info.title = now.title.clone().filter(|title| !title.is_empty());
            info.metadata.clone_from(&now.metadata);
            // An odd value that was kept for either would stand before it.
            entry.extra.retain(|(key, _)| *key != *"title" && *key != *"metadata");
        }
        Ok(codec::encode(&entry).into_bytes())
    }

    /// Only the header stays. The old file is given to `keep` first.
    pub(super) fn reset(
        &mut self,
        keep: impl FnOnce(&SessionFile) -> Result<PathBuf>,
    ) -> Result<Rewritten> {
        let before = (u64::from(self.index.len()), self.meta.len);
        if self.dialect.name() == super::native::NAME && self.header.session_id.is_empty() {
            return Err(damaged(&self.path, "has no header to keep; repair it first"));
        }
        // Later renames go with the log: what they said last moves to the header. Every one of
        // them has to be read for that.
        self.go_full()?;
        let mut out = self.header_as_it_is_now()?;
        out.push(b'\n');
        let kept = keep(self)?;
        self.replace(&out)?;
        self.make_private(&kept);
        Ok(Rewritten {
            actions: vec!["kept the header, moved the old log to the trash".to_owned()],
            entries: (before.0, u64::from(self.index.len())),
            bytes: (before.1, self.meta.len),
            backup: Some(kept),
        })
    }

    /// Drops superseded pointer lines, damage and, if asked, branches that nothing reaches.
    pub(super) fn vacuum(&mut self, prune_branches: bool) -> Result<Rewritten> {
        self.go_full()?;
        if self.index.all_findings().iter().any(|f| {
            matches!(
                f.kind,
                DiagnosticKind::MissingParent
                    | DiagnosticKind::Cycle
                    | DiagnosticKind::DuplicateConflict
            )
        }) && prune_branches
        {
            return Err(StorageError::unsupported(format!(
                "{}: its links are damaged, so that what nothing reaches is not certain; vacuum without pruning branches",
                self.path.display()
            )));
        }
        let before = (u64::from(self.index.len()), self.meta.len);
        let keep = self.kept(prune_branches)?;
        let dropped = keep.iter().filter(|keep| !**keep).count();
        let damage = self.index.all_findings().iter().filter(|f| f.is_damage()).count();
        if dropped == 0 && damage == 0 && self.progress.tail == Tail::Clean {
            return Ok(Rewritten {
                entries: (before.0, before.0),
                bytes: (before.1, before.1),
                ..Rewritten::default()
            });
        }
        // The ids of an old version hang on lines, and so do links.
        if self.dialect.needs_migration() {
            let kept = self.migrate()?;
            let done = self.vacuum(prune_branches)?;
            let mut actions = vec![MIGRATED.to_owned()];
            actions.extend(done.actions);
            return Ok(Rewritten {
                actions,
                entries: (before.0, done.entries.1),
                bytes: (before.1, done.bytes.1),
                backup: Some(kept),
            });
        }
        let mut out = Vec::new();
        let mut from = 0;
        let header_is_entry = self.dialect.name() == super::native::NAME;
        out.extend_from_slice(&self.first_line()?);
        out.push(b'\n');
        if header_is_entry {
            from = 1;
        }
        for at in from..self.index.len() {
            if !keep[at as usize] {
                continue;
            }
            out.extend_from_slice(&self.kept_line(at, &keep)?);
            out.push(b'\n');
        }
        let kept = self.replace_keeping("vacuum", &out)?;
        let mut actions = Vec::new();
        if dropped > 0 {
            actions.push(format!("dropped {dropped} entries that nothing needs"));
        }
        if damage > 0 {
            actions.push(format!("dropped what {damage} findings of damage are about"));
        }
        Ok(Rewritten {
            actions,
            entries: (before.0, u64::from(self.index.len())),
            bytes: (before.1, self.meta.len),
            backup: Some(kept),
        })
    }

    /// A record as it stands; out of its batch, since not all of the batch may stay, with the id
    /// and parent that settling gave it, and away from a parent that goes.
    fn kept_line(&mut self, at: u32, keep: &[bool]) -> Result<Vec<u8>> {
        let raw = self.raw(at)?;
        if self.dialect.name() != super::native::NAME {
            return Ok(raw);
        }
        let mut entry = self.reading(|file| file.stored(at))?.entry;
        if self.index.parent(at).is_some_and(|parent| !keep[parent as usize]) {
            entry.parent_id = Some(self.kept_parent(at, &entry.body, keep));
        }
        let repaired = String::from_utf8_lossy(&raw);
        let as_it_is = super::native::decode_native(repaired.as_bytes()).is_ok_and(|decoded| {
            (&decoded.entry.id, &decoded.entry.parent_id) == (&entry.id, &entry.parent_id)
        });
        if entry.more == 0 && as_it_is {
            return Ok(raw);
        }
        entry.more = 0;
        Ok(codec::encode(&entry).into_bytes())
    }

    /// Where a line hangs whose parent goes: from its nearest path ancestor, else from the entry
    /// that it is about, else from the root.
    fn kept_parent(&self, at: u32, body: &Body, keep: &[bool]) -> EntryId {
        let about = match body {
            Body::Label { target_id, .. } => target_id.as_ref(),
            Body::Leaf { leaf_id } => leaf_id.as_ref(),
            _ => None,
        };
        let on_path = |at: u32| match self.index.is_sidecar(at) {
            true => self.index.parent(at),
            false => Some(at),
        };
        let about = about.and_then(|id| self.index.find(id.as_str())).and_then(on_path);
        let found = [self.index.parent(at), about].into_iter().flatten();
        self.index.id(found.into_iter().find(|at| keep[*at as usize]).unwrap_or(0))
    }

    /// Which entries a vacuum keeps.
    fn kept(&mut self, prune_branches: bool) -> Result<Vec<bool>> {
        let count = self.index.len();
        let mut keep = vec![true; count as usize];
        // A pointer line counts until its lane moves again.
        let mut last_leaf: HashMap<u16, u32> = HashMap::new();
        for at in 0..count {
            let rec = *self.index.rec(at);
            let is_leaf = rec.kind == EntryKind::Leaf && self.index.is_sidecar(at);
            if is_leaf || !self.index.is_sidecar(at) {
                if let Some(before) = last_leaf.remove(&rec.lane) {
                    keep[before as usize] = false;
                }
                if is_leaf {
                    last_leaf.insert(rec.lane, at);
                }
            }
        }
        if !prune_branches {
            return self.with_targets(keep);
        }
        let mut reached = vec![false; count as usize];
        let mut starts: Vec<u32> =
            self.index.lanes().iter().map(|lane| lane.leaf).filter(|leaf| *leaf != NONE).collect();
        // For each entry its last label counts; one that was cleared reaches nothing.
        let mut labels: HashMap<u32, bool> = HashMap::new();
        let mut marked: HashMap<u32, u32> = HashMap::new();
        for at in 0..count {
            if self.index.rec(at).kind != EntryKind::Label {
                continue;
            }
            let (target, says) = self.reading(|file| {
                let stored = file.stored(at)?;
                Ok(match stored.entry.body {
                    Body::Label { label, target_id } => (
                        target_id.or(stored.entry.parent_id),
                        label.is_some_and(|label| !label.is_empty()),
                    ),
                    _ => (None, false),
                })
            })?;
            if let Some(target) = target.and_then(|id| self.index.find(id.as_str())) {
                labels.insert(target, says);
                marked.insert(at, target);
            }
        }
        starts.extend(labels.iter().filter(|(_, says)| **says).map(|(target, _)| *target));
        for start in starts {
            let mut next = Some(start);
            while let Some(at) = next
                && !std::mem::replace(&mut reached[at as usize], true)
            {
                next = self.index.parent(at);
            }
        }
        for at in 0..count {
            let anchor = match marked.get(&at) {
                Some(target) => Some(*target),
                None if self.index.is_sidecar(at) => self.index.parent(at),
                None => Some(at),
            };
            let is_info = self.index.rec(at).kind == EntryKind::SessionInfo;
            if at > 0 && !is_info && anchor.is_some_and(|anchor| !reached[anchor as usize]) {
                keep[at as usize] = false;
            }
        }
        // The last pointer of a lane stays, wherever it left from.
        for leaf in last_leaf.values() {
            keep[*leaf as usize] = true;
        }
        self.with_targets(keep)
    }

    /// Keeps what the labels and pointers that stay name, with all above it.
    fn with_targets(&mut self, mut keep: Vec<bool>) -> Result<Vec<bool>> {
        for at in (0..self.index.len()).rev() {
            let names = matches!(self.index.rec(at).kind, EntryKind::Label | EntryKind::Leaf);
            if !names || !keep[at as usize] {
                continue;
            }
            let mut next = self.reading(|file| {
                let target = match file.stored(at)?.entry.body {
                    Body::Label { target_id, .. } => target_id,
                    Body::Leaf { leaf_id } => leaf_id,
                    _ => None,
                };
                Ok(target.and_then(|id| file.index.find(id.as_str())))
            })?;
            while let Some(named) = next
                && !std::mem::replace(&mut keep[named as usize], true)
            {
                next = self.index.parent(named);
            }
        }
        Ok(keep)
    }
}

/// A line of bytes that are no record; none of blanks.
fn push_fragment(out: &mut Vec<u8>, bytes: &[u8]) {
    if !bytes.iter().all(u8::is_ascii_whitespace) {
        out.extend_from_slice(bytes);
        out.push(b'\n');
    }
}
