//! Watching a session file: also what other processes append.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::slot::Slot;
use crate::{Cursor, ErrorKind, Result, StorageError, Watch, WatchEvent};

/// How long the watcher waits between two looks at the file.
const PAUSE: Duration = Duration::from_millis(25);

#[derive(Debug)]
pub(super) struct FileWatch {
    slot: Arc<Slot>,
    cursor: Cursor,
    gone: bool,
    /// How many findings were told.
    told: usize,
}

impl FileWatch {
    pub(super) fn new(slot: Arc<Slot>, cursor: Cursor) -> FileWatch {
        let told = slot.file().index.findings.len();
        FileWatch { slot, cursor, gone: false, told }
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
            self.told = 0;
            return Ok(Some(WatchEvent::Reset));
        }
        if self.told < file.index.findings.len() {
            let finding = file.index.findings[self.told].clone();
            self.told += 1;
            return Ok(Some(WatchEvent::Damage(finding)));
        }
        if before >= file.index.recs().len() {
            return Ok(None);
        }
        let stored = file.reading(|file| file.stored(before as u32))?;
        self.cursor.seq = stored.seq;
        self.cursor.id = stored.entry.id.to_string();
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
