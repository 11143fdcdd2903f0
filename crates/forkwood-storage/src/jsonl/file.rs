//! One session file, open for reading.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use forkwood_core::entry::SessionInfo;
use forkwood_core::{Diagnostic, Entry, EntryId, EntryKind, SessionId};

use super::dialect::{Dialect, Format, Header, LineContext, Recognised};
use super::frame::trim;
use super::index::{Index, NONE, Rec};
use super::links;
use super::pointer;
pub(super) use super::recognise::damaged;
use super::recognise::{recognise, session_id};
use super::scan::{Progress, ScanError, Scanner, Tail, line_of};
use crate::disk::{Disk, DiskFile, Meta, NodeKind, read_from};
use crate::{Result, StorageError, Stored};

/// How much of the end is compared to see that a file only grew.
const TAIL_BYTES: u64 = 4096;
/// A record that is longer is read only where its body is asked for.
pub(super) const LONG: u64 = 1024 * 1024;

/// What reading can run into.
#[derive(Debug)]
pub(super) enum Trouble {
    /// An entry does not say what the quick scan told: read the file in full.
    NeedFull,
    Storage(StorageError),
}

impl From<StorageError> for Trouble {
    fn from(error: StorageError) -> Trouble {
        Trouble::Storage(error)
    }
}

#[derive(Debug)]
pub(super) struct SessionFile {
    pub path: PathBuf,
    pub disk: Arc<dyn Disk>,
    pub formats: Vec<Arc<dyn Format>>,
    pub bridge: bool,
    pub id: SessionId,
    pub file: Arc<dyn DiskFile>,
    pub meta: Meta,
    pub header: Header,
    pub dialect: Arc<dyn Dialect>,
    pub index: Index,
    pub progress: Progress,
    pub full: bool,
    /// The end of what was read, to see that the file only grew.
    tail: Vec<u8>,
    info: SessionInfo,
    infos_read: usize,
    /// Where `main` stands by the lines alone, without a pointer file.
    replayed: u32,
    /// Where each lane stood when it was last seen that the entry there can be read.
    seen_leaves: Vec<u32>,
    /// Whether leftovers of a crashed rewrite were looked for.
    pub tidied: bool,
}

impl SessionFile {
    /// Opens a file and reads it.
    pub(super) fn open(
        path: &Path,
        disk: &Arc<dyn Disk>,
        formats: &[Arc<dyn Format>],
        bridge: bool,
    ) -> Result<SessionFile> {
        let io = |doing| move |error| StorageError::io(path, doing, error);
        let named = disk.meta(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                StorageError::SessionNotFound { query: path.display().to_string() }
            }
            _ => StorageError::io(path, "open", error),
        })?;
        match named.kind {
            NodeKind::File => {}
            NodeKind::Folder => return Err(damaged(path, "is a folder, not a session file")),
            NodeKind::Link => {
                return Err(damaged(path, "is a symbolic link; give the file it leads to"));
            }
            NodeKind::Special => {
                return Err(damaged(path, "is a device or pipe, not a session file"));
            }
        }
        let file = disk.open_read(path).map_err(io("open"))?;
        let meta = file.meta().map_err(io("look at"))?;
        let Recognised { header, dialect } = recognise(path, file.as_ref(), &meta, formats)?;
        let id = session_id(&header, path);
        let mut opened = SessionFile {
            path: path.to_path_buf(),
            disk: Arc::clone(disk),
            formats: formats.to_vec(),
            bridge,
            id,
            file,
            meta,
            header,
            dialect,
            index: Index::new(),
            progress: Progress::start(),
            full: false,
            tail: Vec::new(),
            info: SessionInfo::default(),
            infos_read: 0,
            replayed: NONE,
            seen_leaves: Vec::new(),
            tidied: false,
        };
        opened.scan()?;
        Ok(opened)
    }

    /// The id of a file, from its start alone.
    pub(super) fn peek_id(
        path: &Path,
        disk: &Arc<dyn Disk>,
        formats: &[Arc<dyn Format>],
    ) -> Option<SessionId> {
        if disk.meta(path).ok()?.kind != NodeKind::File {
            return None;
        }
        let file = disk.open_read(path).ok()?;
        let meta = file.meta().ok()?;
        let found = recognise(path, file.as_ref(), &meta, formats).ok()?;
        Some(session_id(&found.header, path))
    }

    /// Takes in what is there beyond what was read.
    fn scan(&mut self) -> Result<()> {
        if !self.dialect.policy().pointer_lines && self.index.len() > 0 {
            self.index.set_main((self.replayed != NONE).then_some(self.replayed));
        }
        loop {
            let scanner = Scanner {
                file: self.file.as_ref(),
                dialect: self.dialect.as_ref(),
                index: &mut self.index,
                full: self.full,
                progress: self.progress.clone(),
            };
            match scanner.run(self.meta.len) {
                Ok(progress) => {
                    self.progress = progress;
                    break;
                }
                Err(ScanError::NeedFull) => {
                    self.full = true;
                    self.restart();
                }
                Err(ScanError::Io(error)) => {
                    return Err(StorageError::io(&self.path, "read", error));
                }
            }
        }
        self.index.settle(self.bridge, self.dialect.as_ref());
        if !self.index.main_moved
            && let Some(leaf) = &self.header.leaf
        {
            let leaf = self.index.find(leaf.as_str());
            self.index.set_main(leaf);
        }
        self.remember_tail()?;
        self.replayed = self.index.lanes()[0].leaf;
        if !self.dialect.policy().pointer_lines {
            self.apply_pointer();
        }
        self.read_infos()?;
        if !self.full && !self.leaves_are_well() {
            self.full = true;
            self.restart();
            return self.scan();
        }
        Ok(())
    }

    fn restart(&mut self) {
        self.index = Index::new();
        self.progress = Progress::start();
        self.infos_read = 0;
        self.info = SessionInfo::default();
        self.seen_leaves.clear();
    }

    /// Whether the entries that lanes stand at can be read: appends hang from them. Those that
    /// were looked at before are not read again, and long ones only where they are asked for.
    fn leaves_are_well(&mut self) -> bool {
        self.seen_leaves.resize(self.index.lanes().len(), NONE);
        for number in 0..self.seen_leaves.len() {
            let leaf = self.index.lanes()[number].leaf;
            if leaf == self.seen_leaves[number] {
                continue;
            }
            let read = leaf != NONE && u64::from(self.index.rec(leaf).len) <= LONG;
            if read && matches!(self.stored(leaf), Err(Trouble::NeedFull)) {
                return false;
            }
            self.seen_leaves[number] = leaf;
        }
        true
    }

    fn remember_tail(&mut self) -> Result<()> {
        let take = self.progress.consumed.min(TAIL_BYTES);
        self.tail = read_from(self.file.as_ref(), self.progress.consumed - take, take)
            .map_err(|error| StorageError::io(&self.path, "read", error))?;
        Ok(())
    }

    /// Reads the file in full from now on.
    pub(super) fn go_full(&mut self) -> Result<()> {
        if !self.full {
            self.full = true;
            self.restart();
            self.scan()?;
        }
        Ok(())
    }

    /// Looks at the file by its name: takes in what was appended, and reads it anew where it was
    /// replaced or cut.
    ///
    /// # Errors
    /// `gone` where it is no longer there.
    pub(super) fn refresh(&mut self) -> Result<()> {
        let meta = match self.disk.meta(&self.path) {
            Ok(meta) if meta.kind == NodeKind::File => meta,
            Ok(_) => return Err(StorageError::Gone { path: self.path.clone() }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(StorageError::Gone { path: self.path.clone() });
            }
            Err(error) => return Err(StorageError::io(&self.path, "look at", error)),
        };
        let same_file = meta.identity == self.meta.identity;
        if same_file && meta.len == self.meta.len && meta.modified == self.meta.modified {
            if !self.dialect.policy().pointer_lines {
                self.apply_pointer();
            }
            return Ok(());
        }
        if same_file && meta.len >= self.progress.consumed && self.only_grew()? {
            self.meta = meta;
            return self.scan();
        }
        let anew = SessionFile::open(&self.path, &self.disk, &self.formats, self.bridge)?;
        *self = anew;
        Ok(())
    }

    /// Takes a pointer file into account. It may change while the session file does not.
    fn apply_pointer(&mut self) {
        match pointer::read(self) {
            Some(leaf) => {
                let leaf = leaf.and_then(|id| self.index.find(&id));
                self.index.set_main(leaf);
            }
            None => {
                let replayed = (self.replayed != NONE).then_some(self.replayed);
                self.index.set_main(replayed);
            }
        }
    }

    /// Whether what was read is still there, with a clean end to go on from.
    fn only_grew(&self) -> Result<bool> {
        if self.progress.tail == Tail::Unterminated {
            return Ok(false);
        }
        let take = self.tail.len() as u64;
        let now = read_from(self.file.as_ref(), self.progress.consumed - take, take)
            .map_err(|error| StorageError::io(&self.path, "read", error))?;
        Ok(now == self.tail)
    }

    fn context<R>(&self, rec: &Rec, ordinal: u64, run: impl FnOnce(&LineContext<'_>) -> R) -> R {
        let of = |ordinal: u64| line_of(&self.index, self.progress.headers, ordinal);
        run(&LineContext { line: u64::from(rec.line), ordinal, line_of: &of })
    }

    /// The bytes of a record as they stand.
    pub(super) fn raw(&self, at: u32) -> Result<Vec<u8>> {
        let rec = self.index.rec(at);
        let mut bytes = read_from(self.file.as_ref(), rec.offset, u64::from(rec.len))
            .map_err(|error| StorageError::io(&self.path, "read", error))?;
        // A long line was taken with the white space at its end. Cut in place: the record may be
        // most of what memory holds.
        let (record, skipped) = trim(&bytes, false);
        let len = record.len();
        if skipped > 0 {
            bytes.drain(..skipped);
        }
        bytes.truncate(len);
        Ok(bytes)
    }

    /// Reads an entry whole, and compares it with what the scan told.
    pub(super) fn stored(&self, at: u32) -> std::result::Result<Stored, Trouble> {
        self.stored_with_notes(at).map(|(stored, _)| stored)
    }

    pub(super) fn stored_with_notes(
        &self,
        at: u32,
    ) -> std::result::Result<(Stored, Vec<(forkwood_core::DiagnosticKind, String)>), Trouble> {
        let rec = *self.index.rec(at);
        let raw = self.raw(at)?;
        let text: std::borrow::Cow<'_, [u8]> = match std::str::from_utf8(&raw) {
            Ok(_) => raw.as_slice().into(),
            Err(_) => String::from_utf8_lossy(&raw).into_owned().into_bytes().into(),
        };
        let ordinal = self.progress.headers + u64::from(at);
        let line = || links::whole_line(self.file.as_ref(), rec.offset, self.progress.consumed);
        let decoded =
            self.context(&rec, ordinal, |context| self.dialect.decode_part(&text, context, &line));
        let id = self.index.id(at);
        let parent_id = self.index.parent_id(at);
        let decoded = match decoded {
            Ok(decoded) => decoded,
            Err(_) if !self.full => return Err(Trouble::NeedFull),
            Err(fault) => {
                let problem = format!(
                    "line {}, offset {}: the entry {id} cannot be read: {fault:?}; `forkwood check` tells more",
                    rec.line, rec.offset
                );
                return Err(damaged(&self.path, &problem).into());
            }
        };
        if !self.full && (decoded.entry.id != id || self.differs(&decoded.entry, at)) {
            return Err(Trouble::NeedFull);
        }
        let entry = Entry { id, parent_id, ..decoded.entry };
        let stored = Stored {
            entry,
            seq: rec.offset + u64::from(rec.len) + 1,
            line: Some(u64::from(rec.line)),
            offset: Some(rec.offset),
            raw: Some(raw.into_boxed_slice()),
        };
        Ok((stored, decoded.notes))
    }

    /// Whether a native entry says something else behind its body than the quick scan read
    /// before it.
    fn differs(&self, entry: &Entry, at: u32) -> bool {
        let rec = self.index.rec(at);
        self.dialect.name() == super::native::NAME
            && (rec.kind != EntryKind::from_tag(&entry.body.tag().to_string_lossy())
                || self.index.lanes()[usize::from(rec.lane)].lane != entry.lane
                || !self.index.has_parent(at, entry.parent_id.as_ref().map(EntryId::as_str)))
    }

    /// Runs something that reads entries; where an entry is not what the quick scan told, reads
    /// the file in full and runs it again.
    pub(super) fn reading<T>(
        &mut self,
        run: impl Fn(&SessionFile) -> std::result::Result<T, Trouble>,
    ) -> Result<T> {
        match run(self) {
            Ok(value) => Ok(value),
            Err(Trouble::Storage(error)) => Err(error),
            Err(Trouble::NeedFull) => {
                self.go_full()?;
                run(self).map_err(|trouble| match trouble {
                    Trouble::Storage(error) => error,
                    Trouble::NeedFull => {
                        damaged(&self.path, "changed while it was read; try again")
                    }
                })
            }
        }
    }

    fn read_infos(&mut self) -> Result<()> {
        if self.infos_read == 0 {
            self.info = self.header.info.clone();
        }
        let from = self.infos_read;
        let infos: Vec<u32> = self.index.infos[from..].to_vec();
        for at in infos {
            let body = match self.stored(at) {
                Ok(stored) => stored.entry.body,
                Err(Trouble::NeedFull) => continue,
                Err(Trouble::Storage(error)) => return Err(error),
            };
            let has = |id: &str| self.index.find(id).is_some();
            self.dialect.take_info(&mut self.info, body, &has);
        }
        self.infos_read = self.index.infos.len();
        Ok(())
    }

    /// Title, folder, metadata and so on, as they are now.
    pub(super) fn info(&self) -> &SessionInfo {
        &self.info
    }

    pub(super) fn require(&self, id: &EntryId) -> Result<u32> {
        self.index.find(id.as_str()).ok_or_else(|| StorageError::EntryNotFound {
            session: self.id.to_string(),
            entry: id.to_string(),
        })
    }

    /// What was found: about the header, then about the lines, in file order.
    pub(super) fn findings(&self) -> Vec<Diagnostic> {
        let mut all = self.header.diagnostics.clone();
        all.extend(self.index.all_findings());
        all.sort_by_key(|finding| finding.offset);
        all
    }

    /// The entries that stand beside the path, and the labels and operations, which foreign
    /// files have on it.
    pub(super) fn is_beside(&self, at: u32) -> bool {
        self.index.is_sidecar(at)
            || matches!(self.index.rec(at).kind, EntryKind::Label | EntryKind::Operation)
    }
}
