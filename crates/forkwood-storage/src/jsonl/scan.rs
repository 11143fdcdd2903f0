//! From lines to the index, with damage reported and read around.
//!
//! A quick scan looks at the start of each line only and stops at the first sign of damage; the
//! file is then scanned in full, every line checked. On an undamaged file both give the same.

use forkwood_core::{Diagnostic, DiagnosticKind, EntryId};

use super::dialect::{Dialect, LineContext, LineFault, RecordHead};
use super::frame::{Frame, Frames, trim};
use super::index::{Index, Place};
use super::links;
use super::salvage;
use crate::disk::{DiskFile, read_from};

/// So many NUL bytes in a row were never written: a crash kept the data from the disk.
const NEVER_WRITTEN: usize = 16;

/// How the file ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// With a line end.
    Clean,
    /// With a whole line without a line end.
    Unterminated,
    /// With bytes from this offset on that are no line, or an unfinished batch.
    Torn(u64),
}

/// Why a scan stopped.
#[derive(Debug)]
pub(super) enum ScanError {
    /// There is damage, or a sign of it: scan in full.
    NeedFull,
    /// The file cannot be read.
    Io(std::io::Error),
}

impl From<std::io::Error> for ScanError {
    fn from(error: std::io::Error) -> ScanError {
        ScanError::Io(error)
    }
}

/// Where a scan stands.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    /// The end of what was taken in.
    pub consumed: u64,
    /// The number of the next line.
    pub line: u64,
    /// Records and headers so far.
    pub ordinal: u64,
    /// Header lines so far.
    pub headers: u64,
    /// How the file ended there.
    pub tail: Tail,
}

impl Progress {
    pub(super) fn start() -> Progress {
        Progress { consumed: 0, line: 1, ordinal: 0, headers: 0, tail: Tail::Clean }
    }
}

/// An unfinished batch: its records wait for the last one.
struct Batch {
    start: u64,
    line: u64,
    progress: Progress,
    records: Vec<(RecordHead<'static>, Place)>,
    left: u32,
}

pub(super) struct Scanner<'a> {
    pub file: &'a dyn DiskFile,
    pub dialect: &'a dyn Dialect,
    pub index: &'a mut Index,
    pub full: bool,
    pub progress: Progress,
}

impl Scanner<'_> {
    /// Takes in everything up to `end`.
    pub(super) fn run(mut self, end: u64) -> Result<Progress, ScanError> {
        if let Tail::Torn(offset) = self.progress.tail {
            self.index.forget_findings_from(offset);
        }
        let (consumed, line) = (self.progress.consumed, self.progress.line);
        let mut frames = Frames::new(self.file, consumed, end, line);
        let mut batch: Option<Batch> = None;
        while let Some((frame, bytes)) = frames.next()? {
            let (record, skipped) = trim(bytes, frame.offset == 0);
            self.progress.tail = Tail::Clean;
            if !record.is_empty() {
                if skipped > 0 && frame.offset == 0 && bytes.starts_with(b"\xef\xbb\xbf") {
                    self.index.report(
                        Diagnostic::new(
                            DiagnosticKind::Bom,
                            "a byte-order mark stands before the first line; it is ignored",
                        )
                        .at(1, 0),
                    );
                }
                let whole = bytes.len() as u64 == frame.len;
                self.line(&frame, record, skipped, whole, &mut batch)?;
            } else if !frame.terminated && frame.len > 0 {
                // Blanks behind the last line end; the next append gives them a line of their own.
                self.progress.tail = Tail::Unterminated;
            }
            if let Tail::Torn(offset) = self.progress.tail {
                self.progress.consumed = offset;
                break;
            }
            self.progress.consumed = frame.end().min(end.max(frame.offset + frame.len));
            self.progress.line = frame.number + 1;
        }
        if let Some(open) = batch {
            let finding = Diagnostic::new(
                DiagnosticKind::UnfinishedBatch,
                format!(
                    "a batch ends after {} of its lines; it is left out whole",
                    open.records.len()
                ),
            );
            self.index.report(finding.at(open.line, open.start));
            let start = open.start;
            self.progress = Progress { consumed: start, tail: Tail::Torn(start), ..open.progress };
        }
        if self.index.is_unsettled() && !self.full {
            return Err(ScanError::NeedFull);
        }
        Ok(self.progress)
    }

    fn line(
        &mut self,
        frame: &Frame,
        record: &[u8],
        skipped: usize,
        whole: bool,
        batch: &mut Option<Batch>,
    ) -> Result<(), ScanError> {
        let base = frame.offset + skipped as u64;
        let mut heads = Vec::new();
        // The last line of a file may be torn, so that its start says nothing.
        let quick = !self.full && frame.terminated;
        if quick {
            if whole && !matches!(record.last(), Some(b'}' | b']')) {
                return Err(ScanError::NeedFull);
            }
            match self.heads(record, frame, true, &mut heads) {
                Ok(()) => {
                    if !whole && !self.ends_well(frame)? {
                        return Err(ScanError::NeedFull);
                    }
                    let len = frame.len - skipped as u64;
                    if !whole && let [head] = heads.as_mut_slice() {
                        head.span = 0..usize::try_from(len).unwrap_or(usize::MAX);
                    }
                    return self.accept(heads, frame, base, batch);
                }
                Err(LineFault::NeedWhole) => {}
                Err(_) => return Err(ScanError::NeedFull),
            }
            heads.clear();
        }
        let loaded;
        let (record, base) = if whole {
            (record, base)
        } else {
            loaded = read_from(self.file, frame.offset, frame.len)?;
            let (record, skipped) = trim(&loaded, frame.offset == 0);
            (record, frame.offset + skipped as u64)
        };
        let repaired;
        let text: &[u8] = match std::str::from_utf8(record) {
            Ok(_) => record,
            Err(_) if quick => return Err(ScanError::NeedFull),
            Err(_) => {
                repaired = String::from_utf8_lossy(record).into_owned();
                repaired.as_bytes()
            }
        };
        match self.heads(text, frame, false, &mut heads) {
            Ok(()) => {
                let hints = links::hints(self.dialect, text, &heads);
                if text.len() != record.len() || text != record {
                    // Spans were counted in the repaired text; one record is the whole line.
                    if let [head] = heads.as_mut_slice() {
                        head.span = 0..record.len();
                    }
                    let finding = Diagnostic::new(
                        DiagnosticKind::NotUtf8,
                        "bytes that are not UTF-8; they are shown as U+FFFD and kept as they are",
                    );
                    let id = heads.first().map(|head| EntryId::new(&head.id));
                    self.index.report(finding.at(frame.number, frame.offset).of(id));
                }
                if !frame.terminated {
                    self.progress.tail = Tail::Unterminated;
                    self.index.report(
                        Diagnostic::new(
                            DiagnosticKind::Unterminated,
                            "the last line has no line end; the next append writes it",
                        )
                        .at(frame.number, frame.offset),
                    );
                }
                self.accept(heads, frame, base, batch).map(|()| self.index.note(hints))
            }
            Err(_) if !self.full && frame.terminated => Err(ScanError::NeedFull),
            Err(fault) => self.damaged(frame, record, base, &fault, batch),
        }
    }

    fn heads<'l>(
        &self,
        record: &'l [u8],
        frame: &Frame,
        quick: bool,
        out: &mut Vec<RecordHead<'l>>,
    ) -> Result<(), LineFault> {
        let index = &*self.index;
        let line_of = |ordinal: u64| line_of(index, self.progress.headers, ordinal);
        let context =
            LineContext { line: frame.number, ordinal: self.progress.ordinal, line_of: &line_of };
        self.dialect.heads(record, &context, quick, out)
    }

    /// Whether a long line ends like a record.
    fn ends_well(&self, frame: &Frame) -> Result<bool, ScanError> {
        let take = frame.len.min(16);
        let end = read_from(self.file, frame.offset + frame.len - take, take)?;
        Ok(matches!(trim(&end, false).0.last(), Some(b'}' | b']')))
    }

    fn accept(
        &mut self,
        heads: Vec<RecordHead<'_>>,
        frame: &Frame,
        base: u64,
        batch: &mut Option<Batch>,
    ) -> Result<(), ScanError> {
        for head in heads {
            let place = Place {
                offset: base + head.span.start as u64,
                len: match u32::try_from(head.span.len()) {
                    Ok(len) => len,
                    Err(_) => {
                        self.index.report(
                            Diagnostic::new(
                                DiagnosticKind::TooLarge,
                                "a record of more than 4 GiB; it is left out",
                            )
                            .at(frame.number, frame.offset),
                        );
                        continue;
                    }
                },
                line: u32::try_from(frame.number).unwrap_or(u32::MAX),
            };
            if head.header {
                self.progress.headers += 1;
                if self.progress.headers > 1 {
                    if !self.full {
                        return Err(ScanError::NeedFull);
                    }
                    self.index.report(
                        Diagnostic::new(
                            DiagnosticKind::DuplicateHeader,
                            "another header line; it is ignored",
                        )
                        .at(frame.number, frame.offset),
                    );
                }
                self.progress.ordinal += 1;
                continue;
            }
            self.batched(head, place, frame, batch)?;
        }
        Ok(())
    }

    fn batched(
        &mut self,
        head: RecordHead<'_>,
        place: Place,
        frame: &Frame,
        batch: &mut Option<Batch>,
    ) -> Result<(), ScanError> {
        if !self.dialect.policy().batches {
            return self.add(&head, place);
        }
        match batch.take() {
            None if head.more == 0 => self.add(&head, place),
            None => {
                *batch = Some(Batch {
                    start: frame.offset,
                    line: frame.number,
                    progress: Progress { line: frame.number, ..self.progress.clone() },
                    left: head.more,
                    records: vec![(owned(head), place)],
                });
                Ok(())
            }
            Some(mut open) if head.more + 1 == open.left => {
                open.left = head.more;
                open.records.push((owned(head), place));
                if open.left > 0 {
                    *batch = Some(open);
                    return Ok(());
                }
                open.records.into_iter().try_for_each(|(head, place)| self.add(&head, place))
            }
            Some(open) => {
                if !self.full {
                    return Err(ScanError::NeedFull);
                }
                let finding = Diagnostic::new(
                    DiagnosticKind::UnfinishedBatch,
                    "a batch that was never finished; its lines are kept, since others follow",
                );
                self.index.report(finding.at(open.line, open.start));
                open.records.into_iter().try_for_each(|(head, place)| self.add(&head, place))?;
                self.batched(head, place, frame, batch)
            }
        }
    }

    fn add(&mut self, head: &RecordHead<'_>, place: Place) -> Result<(), ScanError> {
        self.progress.ordinal += 1;
        let mut renames = None;
        if let Some(earlier) = self.index.known(&head.id) {
            if !self.full {
                return Err(ScanError::NeedFull);
            }
            let before = *self.index.rec(earlier);
            let same = before.len == place.len
                && read_from(self.file, before.offset, u64::from(before.len))?
                    == read_from(self.file, place.offset, u64::from(place.len))?;
            let (line, offset) = (u64::from(place.line), place.offset);
            let finding = if same {
                Diagnostic::new(
                    DiagnosticKind::DuplicateIdentical,
                    format!(
                        "the same entry stands on line {} already; this one is ignored",
                        before.line
                    ),
                )
            } else {
                renames = Some(earlier);
                Diagnostic::new(
                    DiagnosticKind::DuplicateConflict,
                    format!(
                        "another entry of this id stands on line {}; this one keeps the id, and that one is {}@{}",
                        before.line, head.id, before.line
                    ),
                )
            };
            self.index.report(finding.at(line, offset).of(EntryId::new(&head.id)));
            if same {
                return Ok(());
            }
        }
        let line = u64::from(place.line);
        let offset = place.offset;
        if !self.index.add(head, place, renames) {
            let finding = Diagnostic::new(
                DiagnosticKind::TooLarge,
                "more entries than this version can hold",
            );
            self.index.report(finding.at(line, offset));
        }
        Ok(())
    }

    /// A line that is no record. What can be read of it is read; the rest is named.
    fn damaged(
        &mut self,
        frame: &Frame,
        record: &[u8],
        base: u64,
        fault: &LineFault,
        batch: &mut Option<Batch>,
    ) -> Result<(), ScanError> {
        let place = |finding: Diagnostic| finding.at(frame.number, frame.offset);
        let nuls = record.iter().take_while(|b| **b == 0).count();
        if nuls > 0 && nuls == record.len() {
            let message = format!(
                "{nuls} NUL bytes, where a crash kept the data from the disk; no entry is here"
            );
            self.index.report(place(Diagnostic::new(DiagnosticKind::NulRun, message)));
            if !frame.terminated {
                self.progress.tail = Tail::Torn(frame.offset);
            }
            return Ok(());
        }
        let found = match fault {
            LineFault::WrongShape(_) => Vec::new(),
            _ => salvage::records(record),
        };
        let mut heads = Vec::new();
        for span in found {
            let text = String::from_utf8_lossy(&record[span.clone()]);
            let mut here = Vec::new();
            if self.heads(text.as_bytes(), frame, false, &mut here).is_ok() {
                // Spans count bytes as they stand, and not those of the repaired text.
                let clean = text.len() == span.len();
                for mut head in here {
                    head.span = match clean {
                        true => span.start + head.span.start..span.start + head.span.end,
                        false => span.clone(),
                    };
                    heads.push(owned(head));
                }
            }
        }
        if !heads.is_empty() {
            let read = salvage::names(&heads);
            let message = format!("a fragment and whole records share this line; read: {read}");
            let kind = if nuls > 0 { DiagnosticKind::NulRun } else { DiagnosticKind::Salvaged };
            self.index.report(place(Diagnostic::new(kind, message)));
            if !frame.terminated {
                self.progress.tail = Tail::Unterminated;
            }
            return self.accept(heads, frame, base, batch);
        }
        if !frame.terminated {
            let message = format!(
                "the last line was cut while it was written, after {} bytes; it is left out",
                frame.len
            );
            self.index.report(place(Diagnostic::new(DiagnosticKind::TornTail, message)));
            self.progress.tail = Tail::Torn(frame.offset);
            return Ok(());
        }
        let (kind, why) = match fault {
            LineFault::WrongShape(why) => (DiagnosticKind::WrongShape, why.clone()),
            LineFault::NotJson(why) => (DiagnosticKind::BadJson, format!("is not JSON: {why}")),
            LineFault::NeedWhole => (DiagnosticKind::BadJson, "cannot be read".to_owned()),
        };
        self.index.report(place(Diagnostic::new(
            kind,
            format!("the line {why}; it is left out, its bytes are kept"),
        )));
        // A line that was written counts as one of its batch, though it was damaged since.
        let written = memchr::memmem::find(record, &[0; NEVER_WRITTEN]).is_none();
        match batch.take() {
            Some(open) if written && open.left == 1 => {
                open.records.into_iter().try_for_each(|(head, place)| self.add(&head, place))
            }
            Some(mut open) if written => {
                open.left -= 1;
                *batch = Some(open);
                Ok(())
            }
            open => {
                *batch = open;
                Ok(())
            }
        }
    }
}

/// The line of the record of an ordinal; headers come first.
pub(super) fn line_of(index: &Index, headers: u64, ordinal: u64) -> Option<u64> {
    if ordinal < headers {
        return None;
    }
    let at = usize::try_from(ordinal - headers).ok()?;
    index.recs().get(at).map(|rec| u64::from(rec.line))
}

fn owned(head: RecordHead<'_>) -> RecordHead<'static> {
    use super::dialect::{Moves, ParentName};
    use std::borrow::Cow;
    let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
    RecordHead {
        header: head.header,
        span: head.span,
        id: own(head.id),
        parent: match head.parent {
            ParentName::Root => ParentName::Root,
            ParentName::Previous => ParentName::Previous,
            ParentName::Named(name) => ParentName::Named(own(name)),
        },
        kind: head.kind,
        role: head.role,
        timestamp: head.timestamp,
        lane: head.lane.map(own),
        more: head.more,
        sidecar: head.sidecar,
        moves: match head.moves {
            Moves::Nothing => Moves::Nothing,
            Moves::ToSelf => Moves::ToSelf,
            Moves::To(target) => Moves::To(target.map(own)),
        },
    }
}
