//! The lines of a `.jsonl` file, counted as PicoClaw counts them.

use std::ops::Range;

use forkwood::conversation::is_transient_thought;
use forkwood::{Diagnostic, DiagnosticKind};

use super::message::{Decoded, decode};

/// The longest line that PicoClaw reads, in bytes without its line end. One that is longer makes
/// it read nothing of the file at all.
pub const MAX_LINE: usize = 10_485_759;

/// One line that is not empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its number as PicoClaw counts, from 1: empty lines have none, damaged ones do.
    pub number: u64,
    /// Its number in the file, from 1.
    pub at: u64,
    /// Its bytes in the file, without the line end.
    pub span: Range<usize>,
    /// What it is.
    pub kind: LineKind,
}

/// What a line is.
#[derive(Clone, Debug, PartialEq)]
pub enum LineKind {
    /// A message.
    Message(Box<Decoded>),
    /// A thought by itself, which is not shown.
    Thought(Box<Decoded>),
    /// It cannot be read.
    Damaged(String),
}

impl Line {
    /// The message, where it is one that is shown.
    pub fn message(&self) -> Option<&Decoded> {
        match &self.kind {
            LineKind::Message(message) => Some(message),
            _ => None,
        }
    }
}

/// The spans of the lines that are not empty, with the number of each in the file.
pub(super) fn spans(bytes: &[u8]) -> impl Iterator<Item = (u64, Range<usize>)> {
    let mut from = 0;
    let mut at = 0;
    std::iter::from_fn(move || {
        while from < bytes.len() {
            let end = memchr::memchr(b'\n', &bytes[from..]).map_or(bytes.len(), |n| from + n);
            let start = from;
            from = end + 1;
            at += 1;
            let end = if bytes[start..end].ends_with(b"\r") { end - 1 } else { end };
            if end > start {
                return Some((at, start..end));
            }
        }
        None
    })
}

/// Reads all lines, and says what is wrong with them.
pub(super) fn scan(bytes: &[u8]) -> (Vec<Line>, Vec<Diagnostic>) {
    let mut lines = Vec::new();
    let mut findings = Vec::new();
    for ((at, span), number) in spans(bytes).zip(1..) {
        let record = &bytes[span.clone()];
        let mut note = |kind, message: String| {
            findings.push(Diagnostic::new(kind, message).at(at, span.start as u64));
        };
        if record.len() > MAX_LINE {
            let message = "PicoClaw reads no line that is so long, and nothing of this file at all";
            note(DiagnosticKind::TooLarge, message.into());
        }
        let text = String::from_utf8_lossy(record);
        if matches!(text, std::borrow::Cow::Owned(_)) {
            note(DiagnosticKind::NotUtf8, "is not UTF-8; read with U+FFFD in its place".into());
        }
        let last = span.end == bytes.len();
        let kind = match decode(&text) {
            Ok(decoded) => {
                for key in &decoded.unknown {
                    let message = format!("message: unknown field {key}");
                    note(DiagnosticKind::UnknownField, message);
                }
                if last {
                    note(DiagnosticKind::Unterminated, "the last line has no line end".into());
                }
                let decoded = Box::new(decoded);
                match is_transient_thought(&decoded.message.message) {
                    true => LineKind::Thought(decoded),
                    false => LineKind::Message(decoded),
                }
            }
            Err(problem) => {
                let kind = match (record.iter().all(|byte| *byte == 0), last) {
                    (true, _) => DiagnosticKind::NulRun,
                    (_, true) => DiagnosticKind::TornTail,
                    _ if forkwood::core::json::is_valid(record) => DiagnosticKind::WrongShape,
                    _ => DiagnosticKind::BadJson,
                };
                note(kind, format!("left out: {problem}"));
                LineKind::Damaged(problem)
            }
        };
        lines.push(Line { number, at, span, kind });
    }
    (lines, findings)
}
