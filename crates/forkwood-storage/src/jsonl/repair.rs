//! Repairs that lose nothing which can be read: a header, lines of their own for records that share
//! one, a line end, a torn tail.

use forkwood_core::{DiagnosticKind, Timestamp};

use super::dialect::LostHeader;
use super::file::SessionFile;
use super::frame::Frames;
use super::rewrite::MIGRATED;
use super::salvage;
use super::scan::Tail;
use crate::disk::read_from;
use crate::{Result, Rewritten, StorageError};

impl SessionFile {
    /// Repairs what can be repaired without losing anything that can be read.
    pub(super) fn repair(&mut self, now: Timestamp) -> Result<Rewritten> {
        self.go_full()?;
        let before = (u64::from(self.index.len()), self.meta.len);
        let mut done = Rewritten {
            entries: before_after(before.0),
            bytes: before_after(before.1),
            ..Rewritten::default()
        };
        let findings = self.findings();
        let has = |kind| findings.iter().any(|finding| finding.kind == kind);
        let headless = has(DiagnosticKind::NoHeader);
        let shared = has(DiagnosticKind::Salvaged) || self.has_glued_nuls();
        if shared && !headless && self.dialect.needs_migration() {
            // The ids of an old version hang on lines. This puts records on lines of their own, too.
            done.backup = Some(self.migrate()?);
            self.go_full()?;
            done.actions.push(MIGRATED.to_owned());
        } else if headless || shared {
            let out = self.reframed(headless, now, &mut done.actions)?;
            done.backup = Some(self.replace_keeping("repair", &out)?);
        }
        match self.progress.tail {
            Tail::Clean => {}
            Tail::Torn(offset) if self.dialect.policy().cut_torn_tail => {
                self.cut_tail(offset)?;
                done.actions.push(format!(
                    "cut the torn tail at offset {offset} and kept its bytes beside the file"
                ));
            }
            Tail::Torn(_) | Tail::Unterminated => {
                let writer = self
                    .disk
                    .open_append(&self.path)
                    .map_err(|e| StorageError::write(&self.path, "open for writing", e))?;
                let written = writer.append(b"\n").and_then(|_| writer.sync());
                written.map_err(|e| StorageError::write(&self.path, "append", e))?;
                self.refresh()?;
                done.actions.push("wrote the missing line end after the last line".to_owned());
            }
        }
        done.entries.1 = u64::from(self.index.len());
        done.bytes.1 = self.meta.len;
        Ok(done)
    }

    fn has_glued_nuls(&self) -> bool {
        self.index
            .all_findings()
            .iter()
            .any(|f| f.kind == DiagnosticKind::NulRun && f.message.contains("share this line"))
    }

    /// The file with a header where it lost its own, and each record on a line of its own. What
    /// cannot be read keeps a line of its own, too.
    fn reframed(
        &self,
        headless: bool,
        now: Timestamp,
        actions: &mut Vec<String>,
    ) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let header = if headless { self.header_behind_fragment()? } else { None };
        let whole = header.is_some();
        if headless {
            let header = match header {
                Some(header) => {
                    actions.push(
                        "took the header out of its damaged line, which is in the backup"
                            .to_owned(),
                    );
                    header
                }
                None => {
                    actions.push(format!("wrote a new header with the id {}", self.id));
                    self.new_header(now)?.into_bytes()
                }
            };
            out.extend_from_slice(&header);
            out.push(b'\n');
        }
        let mut frames = Frames::new(self.file.as_ref(), 0, self.meta.len, 1);
        while let Some((frame, _)) =
            frames.next().map_err(|e| StorageError::io(&self.path, "read", e))?
        {
            let line = read_from(self.file.as_ref(), frame.offset, frame.len)
                .map_err(|e| StorageError::io(&self.path, "read", e))?;
            if whole && frame.number == 1 {
                continue;
            }
            if headless && frame.number == 1 && self.is_damaged_header(&line) {
                actions.push("left the damaged header line out; it is in the backup".to_owned());
                continue;
            }
            let spans = match forkwood_core::json::is_valid(&line) {
                true => Vec::new(),
                false => salvage::records(&line),
            };
            if spans.len() > 1 {
                actions.push(format!(
                    "put the records that share line {} on lines of their own",
                    frame.number
                ));
            }
            let mut from = 0;
            for span in spans {
                if span.start > from {
                    out.extend_from_slice(&line[from..span.start]);
                    out.push(b'\n');
                    actions.push(format!(
                        "put the record behind a fragment on line {} on a line of its own",
                        frame.number
                    ));
                }
                out.extend_from_slice(&line[span.clone()]);
                from = span.end;
                if from < line.len() {
                    out.push(b'\n');
                }
            }
            out.extend_from_slice(&line[from..]);
            if frame.terminated {
                out.push(b'\n');
            }
        }
        Ok(out)
    }

    /// The header, where it stands whole behind a fragment on the first line, and nothing else does.
    fn header_behind_fragment(&self) -> Result<Option<Vec<u8>>> {
        let io = |e| StorageError::io(&self.path, "read", e);
        let mut frames = Frames::new(self.file.as_ref(), 0, self.meta.len, 1);
        let Some((frame, _)) = frames.next().map_err(io)? else { return Ok(None) };
        let line = read_from(self.file.as_ref(), frame.offset, frame.len).map_err(io)?;
        Ok(match salvage::records(&line).as_slice() {
            [only] if self.dialect.is_header(&line[only.clone()]) => {
                Some(line[only.clone()].to_vec())
            }
            _ => None,
        })
    }

    /// A header made of what is known still.
    fn new_header(&self, now: Timestamp) -> Result<String> {
        let first = match self.index.len() {
            0 => None,
            _ => {
                let raw = self.raw(0)?;
                super::native::decode_native(&raw).ok().map(|decoded| decoded.entry)
            }
        };
        let parent = first.as_ref().and_then(|entry| entry.parent_id.as_ref());
        let dated = self.info().created_at;
        let lost = LostHeader {
            session_id: self.id.as_str(),
            created: dated.or(first.as_ref().and_then(|entry| entry.timestamp)).unwrap_or(now),
            path: &self.path,
            root: parent.filter(|id| self.index.find(id.as_str()).is_none()),
        };
        self.dialect.header_line(&lost).ok_or_else(|| {
            StorageError::unsupported(format!(
                "{}: its format has no header line to write",
                self.path.display()
            ))
        })
    }

    /// Whether the first line is what is left of a header, and no entry.
    fn is_damaged_header(&self, line: &[u8]) -> bool {
        self.index.recs().first().is_none_or(|rec| rec.line > 1) && !line.is_empty()
    }
}

fn before_after(value: u64) -> (u64, u64) {
    (value, value)
}
