//! Watching a session file: also what other processes append.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use forkwood_core::{Diagnostic, DiagnosticKind};

use super::file::SessionFile;
use super::scan::Tail;
use super::slot::Slot;
use crate::{Cursor, ErrorKind, Result, StorageError, Watch, WatchEvent};

/// How long the watcher waits between two looks at the file.
const PAUSE: Duration = Duration::from_millis(25);

#[derive(Debug)]
pub(super) struct FileWatch {
    slot: Arc<Slot>,
    cursor: Cursor,
    gone: bool,
    /// What was told of damage behind the cursor.
    told: HashSet<(DiagnosticKind, Option<u64>)>,
}

impl FileWatch {
    pub(super) fn new(slot: Arc<Slot>, cursor: Cursor) -> FileWatch {
        FileWatch { slot, cursor, gone: false, told: HashSet::new() }
    }

    /// The first finding about lines between the cursor and the next entry that was not told.
    /// The end of a file may still be written: what is odd there is no damage yet.
    fn damage(&self, file: &SessionFile, next: Option<u64>) -> Option<Diagnostic> {
        let end = match file.progress.tail {
            Tail::Torn(offset) => offset,
            _ => file.meta.len,
        };
        let untold = |finding: &&Diagnostic| {
            let at = finding.offset.unwrap_or(0);
            at >= self.cursor.seq
                && at < next.unwrap_or(end)
                && finding.kind != DiagnosticKind::Unterminated
                && !self.told.contains(&(finding.kind, finding.offset))
        };
        let findings = file.index.findings.iter();
        findings.filter(untold).min_by_key(|finding| finding.offset).cloned()
    }
}

#[async_trait]
impl Watch for FileWatch {
    fn poll_event(&mut self) -> Result<Option<WatchEvent>> {
        if self.gone {
            return Ok(Some(WatchEvent::Gone));
        }
        let mut file = self.slot.file();
        match file.refresh() {
            Ok(()) => {}
            Err(error) if matches!(error.kind(), ErrorKind::Gone | ErrorKind::NotFound) => {
                self.gone = true;
                return Ok(Some(WatchEvent::Gone));
            }
            Err(error) => return Err(error),
        }
        let generation = file.generation()?;
        let before = file
            .index
            .recs()
            .partition_point(|rec| rec.offset + u64::from(rec.len) < self.cursor.seq);
        let stands = match before.checked_sub(1) {
            None => self.cursor.id.is_empty() && self.cursor.seq == 0,
            Some(at) => {
                let head = file.head(at as u32);
                head.seq == self.cursor.seq && head.id.as_str() == self.cursor.id
            }
        };
        if generation != self.cursor.generation || !stands {
            self.cursor = Cursor::start(generation);
            self.told.clear();
            return Ok(Some(WatchEvent::Reset));
        }
        let next = file.index.recs().get(before).map(|rec| rec.offset + u64::from(rec.len) + 1);
        if let Some(finding) = self.damage(&file, next) {
            self.told.insert((finding.kind, finding.offset));
            return Ok(Some(WatchEvent::Damage(finding)));
        }
        if next.is_none() {
            return Ok(None);
        }
        let quick = !file.full;
        let seq = self.cursor.seq;
        let stored = file.reading(|file| {
            let recs = file.index.recs();
            let next = recs.partition_point(|rec| rec.offset + u64::from(rec.len) < seq);
            recs.get(next).map(|_| file.stored(next as u32)).transpose()
        })?;
        if quick && file.full {
            // Damage turned up: it is told in its place.
            drop(file);
            return self.poll_event();
        }
        let Some(stored) = stored else { return Ok(None) };
        self.cursor.seq = stored.seq;
        self.cursor.id = stored.entry.id.to_string();
        self.told.retain(|(_, at)| at.is_some_and(|at| at >= stored.seq));
        Ok(Some(WatchEvent::Entry(Box::new(stored))))
    }

    async fn next_event(&mut self) -> Result<WatchEvent> {
        loop {
            if let Some(event) = self.poll_event()? {
                return Ok(event);
            }
            futures_timer::Delay::new(PAUSE).await;
        }
    }

    fn cursor(&self) -> Cursor {
        self.cursor.clone()
    }
}

/// Whether a generation is the one of a cursor; for callers that check before they watch.
pub(super) fn check_cursor(cursor: &Cursor) -> Result<()> {
    match cursor.generation.is_empty() {
        true => Err(StorageError::invalid("a cursor is generation.seq.id")),
        false => Ok(()),
    }
}
