//! Lines of a file, one at a time.

use std::io;
use std::sync::Arc;

use forkwood::storage::disk::{DiskFile, read_from};

/// How much is read at a time.
const PIECE: u64 = 256 * 1024;

/// A line in a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) number: u64,
    pub(super) offset: u64,
    pub(super) len: u64,
}

/// Reads a file line by line; what is held is one line and a piece of the file.
#[derive(Debug)]
pub(super) struct Lines {
    file: Arc<dyn DiskFile>,
    /// What was read and not given yet.
    buffer: Vec<u8>,
    /// Where the buffer starts in the file.
    offset: u64,
    number: u64,
    at_end: bool,
}

impl Lines {
    pub(super) fn new(file: Arc<dyn DiskFile>) -> Lines {
        Lines { file, buffer: Vec::new(), offset: 0, number: 0, at_end: false }
    }

    /// The next line without its end.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn next(&mut self) -> io::Result<Option<(Span, Vec<u8>)>> {
        let mut looked = 0;
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.buffer[looked..]) {
                return Ok(Some(self.take(looked + end, 1)));
            }
            if self.at_end {
                let rest = self.buffer.len();
                return Ok((rest > 0).then(|| self.take(rest, 0)));
            }
            looked = self.buffer.len();
            let more = read_from(self.file.as_ref(), self.offset + looked as u64, PIECE)?;
            self.at_end = more.is_empty();
            self.buffer.extend_from_slice(&more);
        }
    }

    fn take(&mut self, len: usize, end: usize) -> (Span, Vec<u8>) {
        let rest = self.buffer.split_off(len + end);
        let mut line = std::mem::replace(&mut self.buffer, rest);
        line.truncate(len);
        self.number += 1;
        let span = Span { number: self.number, offset: self.offset, len: len as u64 };
        self.offset += (len + end) as u64;
        (span, line)
    }
}

/// A line that was seen before.
///
/// # Errors
/// The system's.
pub(super) fn again(file: &dyn DiskFile, span: Span) -> io::Result<Vec<u8>> {
    read_from(file, span.offset, span.len)
}
