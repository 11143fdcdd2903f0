//! Lines of a file, read in windows. A long line is never held whole: its start is enough to
//! tell what it is.

use std::io;

use memchr::memchr;

use crate::disk::DiskFile;

/// How much is read at once.
const WINDOW: usize = 256 * 1024;
/// A line up to this length comes whole; of a longer one only [`START`] bytes are kept.
const WHOLE: usize = 1024 * 1024;
/// What is kept of a longer line.
const START: usize = 64 * 1024;

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// Its number, from 1.
    pub number: u64,
    /// Where it starts.
    pub offset: u64,
    /// Its length without the line end.
    pub len: u64,
    /// Whether a line end follows it.
    pub terminated: bool,
}

impl Frame {
    /// The place just past its line end, written or not.
    pub(super) fn end(&self) -> u64 {
        self.offset + self.len + 1
    }
}

/// Reads lines, one after the other, from an offset to an end.
pub(super) struct Frames<'f> {
    file: &'f dyn DiskFile,
    buffer: Vec<u8>,
    /// The part of the buffer that is not given out yet.
    from: usize,
    /// The offset of the byte after the buffer.
    next: u64,
    end: u64,
    number: u64,
}

impl<'f> Frames<'f> {
    /// Starts at an offset that is the start of line `number`.
    pub(super) fn new(file: &'f dyn DiskFile, offset: u64, end: u64, number: u64) -> Frames<'f> {
        Frames { file, buffer: Vec::new(), from: 0, next: offset, end, number }
    }

    /// The next line, and its bytes: all of them, or the start of a long line.
    pub(super) fn next(&mut self) -> io::Result<Option<(Frame, &[u8])>> {
        let offset = self.next - (self.buffer.len() - self.from) as u64;
        let mut searched = self.from;
        loop {
            if let Some(at) = memchr(b'\n', &self.buffer[searched..]) {
                let (start, stop) = (self.from, searched + at);
                self.from = stop + 1;
                let frame = self.frame(offset, (stop - start) as u64, true);
                return Ok(Some((frame, &self.buffer[start..stop])));
            }
            searched = self.buffer.len();
            if searched - self.from > WHOLE {
                return self.long(offset).map(Some);
            }
            if self.from > 0 {
                self.buffer.drain(..self.from);
                searched -= self.from;
                self.from = 0;
            }
            if !self.fill()? {
                let len = self.buffer.len();
                if len == 0 {
                    return Ok(None);
                }
                self.from = len;
                let frame = self.frame(offset, len as u64, false);
                return Ok(Some((frame, &self.buffer[..len])));
            }
        }
    }

    fn frame(&mut self, offset: u64, len: u64, terminated: bool) -> Frame {
        let frame = Frame { number: self.number, offset, len, terminated };
        self.number += 1;
        frame
    }

    /// Goes to the end of a long line, keeping only its start.
    fn long(&mut self, offset: u64) -> io::Result<(Frame, &[u8])> {
        let mut len = self.buffer.len() - self.from;
        let mut start = self.buffer[self.from..self.from + START].to_vec();
        let mut terminated = false;
        self.buffer.clear();
        self.from = 0;
        while self.fill()? {
            if let Some(at) = memchr(b'\n', &self.buffer) {
                len += at;
                // The start stands in front of what follows the line.
                start.extend_from_slice(&self.buffer[at..]);
                self.buffer = start;
                self.from = START + 1;
                terminated = true;
                start = Vec::new();
                break;
            }
            len += self.buffer.len();
            self.buffer.clear();
        }
        if !terminated {
            self.from = start.len();
            self.buffer = start;
        }
        let frame = self.frame(offset, len as u64, terminated);
        Ok((frame, &self.buffer[..START]))
    }

    /// Reads one more window; false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        let left = self.end.saturating_sub(self.next);
        let want = usize::try_from(left).unwrap_or(WINDOW).min(WINDOW);
        if want == 0 {
            return Ok(false);
        }
        let old = self.buffer.len();
        self.buffer.resize(old + want, 0);
        let read = self.file.read_at(&mut self.buffer[old..], self.next)?;
        self.buffer.truncate(old + read);
        self.next += read as u64;
        if read == 0 {
            self.end = self.next;
        }
        Ok(read > 0)
    }
}

/// Takes what may stand around a record: a byte-order mark at the start of the file, white space
/// and a carriage return at the ends. Gives the record and how many bytes stand before it.
pub(super) fn trim(line: &[u8], at_start: bool) -> (&[u8], usize) {
    let mut skip = 0;
    if at_start && line.starts_with(b"\xef\xbb\xbf") {
        skip = 3;
    }
    let space = |b: &u8| matches!(b, b' ' | b'\t' | b'\r');
    skip += line[skip..].iter().take_while(|b| space(b)).count();
    let rest = &line[skip..];
    let end = rest.len() - rest.iter().rev().take_while(|b| space(b)).count();
    (&rest[..end], skip)
}

#[cfg(test)]
mod tests {
    use super::{Frame, Frames, START, WHOLE};
    use crate::disk::{Disk, SimDisk};

    fn frames(bytes: &[u8]) -> Vec<(Frame, Vec<u8>)> {
        let disk = SimDisk::new();
        disk.put("/f".as_ref(), bytes);
        let file = disk.open_read("/f".as_ref()).unwrap();
        let mut frames = Frames::new(file.as_ref(), 0, bytes.len() as u64, 1);
        let mut out = Vec::new();
        while let Some((frame, bytes)) = frames.next().unwrap() {
            out.push((frame, bytes.to_vec()));
        }
        out
    }

    #[test]
    fn lines_of_every_length_come_in_order() {
        let lengths = [0, 1, 100, 300_000, WHOLE, WHOLE + 1, 3 * WHOLE, 0, 5, WHOLE + 300_000, 7];
        for terminated in [true, false] {
            let mut bytes = Vec::new();
            for (i, len) in lengths.iter().enumerate() {
                bytes.extend(std::iter::repeat_n(b'a' + i as u8, *len));
                bytes.push(b'\n');
            }
            if !terminated {
                bytes.pop();
            }
            let found = frames(&bytes);
            assert_eq!(found.len(), lengths.len());
            let mut offset = 0;
            for (i, ((frame, start), len)) in found.iter().zip(lengths).enumerate() {
                assert_eq!(
                    (frame.number, frame.offset, frame.len),
                    (i as u64 + 1, offset, len as u64)
                );
                assert_eq!(frame.terminated, terminated || i + 1 < lengths.len());
                assert!(start.len() == len || (len > WHOLE && start.len() == START), "{len}");
                assert!(start.iter().all(|b| *b == b'a' + i as u8));
                offset += len as u64 + 1;
            }
        }
        assert!(frames(b"").is_empty());
    }
}
