//! What a reader has to say about a file: damage, anomalies and notes, instead of failures.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::EntryId;

/// How much a [`Diagnostic`] matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing is lost.
    Note,
    /// Something is unusual, and a program may trip over it; nothing is lost.
    Warning,
    /// The file is damaged: bytes cannot be read, or links are broken.
    Error,
}

impl Severity {
    /// The name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl Serialize for Severity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $severity:ident;)*) => {
        /// What a [`Diagnostic`] is about. The names are stable.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum DiagnosticKind { $($(#[$doc])* $variant,)* }

        impl DiagnosticKind {
            /// Every kind there is.
            pub const ALL: &'static [DiagnosticKind] = &[$(DiagnosticKind::$variant,)*];

            /// The stable name.
            pub fn as_str(self) -> &'static str {
                match self { $(DiagnosticKind::$variant => $name,)* }
            }

            /// How much it matters.
            pub fn severity(self) -> Severity {
                match self { $(DiagnosticKind::$variant => Severity::$severity,)* }
            }
        }
    };
}

kinds! {
    /// The last line was cut while it was written; it is left out.
    TornTail = "torn-tail", Error;
    /// An unfinished batch at the end of the file; it is left out, whole.
    UnfinishedBatch = "unfinished-batch", Error;
    /// The last line is whole but has no line end.
    Unterminated = "unterminated", Warning;
    /// A complete line is not JSON.
    BadJson = "bad-json", Error;
    /// A run of NUL bytes, left by a file system after a crash.
    NulRun = "nul-run", Error;
    /// A whole record was found behind a fragment on the same line, and is read.
    Salvaged = "salvaged", Error;
    /// A line is JSON but no entry.
    WrongShape = "wrong-shape", Error;
    /// A line or a part of it is not UTF-8; it is read with U+FFFD in its place.
    NotUtf8 = "not-utf8", Error;
    /// A line is longer than this version can hold.
    TooLarge = "too-large", Error;
    /// The file has no header, or one that cannot be read.
    NoHeader = "no-header", Error;
    /// A byte-order mark before the first line.
    Bom = "bom", Warning;
    /// A second header line.
    DuplicateHeader = "duplicate-header", Warning;
    /// The same line twice; the repetition is ignored.
    DuplicateIdentical = "duplicate-identical", Warning;
    /// Two different entries under one id; the earlier is shown as `id@line`.
    DuplicateConflict = "duplicate-conflict", Error;
    /// The parent of an entry is not in the file.
    MissingParent = "missing-parent", Error;
    /// Parent links form a ring; it is cut at the entry that stands first.
    Cycle = "cycle", Error;
    /// Two branches grew from one entry within one conversation, as two writers make them.
    Siblings = "siblings", Note;
    /// A pointer names an entry that is not there.
    UnknownTarget = "unknown-target", Warning;
    /// A second root in a file whose format has one.
    ExtraRoot = "extra-root", Warning;
    /// The header names a version newer than this program knows.
    FutureVersion = "future-version", Warning;
    /// The header names an old version; it is read as its owner would migrate it.
    OldVersion = "old-version", Note;
    /// An entry type that this version does not know; kept as it is.
    UnknownType = "unknown-type", Note;
    /// A field that this version does not know; kept as it is.
    UnknownField = "unknown-field", Note;
    /// A field stands in both spellings; the camelCase one is used.
    BothSpellings = "both-spellings", Warning;
    /// A field has a value of another type than it should; kept, not used.
    OddField = "odd-field", Warning;
    /// A tool call that no result answers.
    UnansweredToolCall = "unanswered-tool-call", Warning;
    /// A tool result whose call is not there.
    OrphanToolResult = "orphan-tool-result", Warning;
    /// A blob that an entry names is not in the store.
    MissingBlob = "missing-blob", Error;
    /// A file that others may read.
    LooseMode = "loose-mode", Note;
    /// What the owner's program would leave out of the context here.
    LeftOut = "left-out", Note;
    /// More of the same was found and is not listed.
    More = "more", Note;
}

impl fmt::Display for DiagnosticKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for DiagnosticKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One finding of a reader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// What it is.
    pub kind: DiagnosticKind,
    /// How much it matters.
    pub severity: Severity,
    /// The entry it is about, where there is one.
    pub entry: Option<EntryId>,
    /// The line of the file, from 1.
    pub line: Option<u64>,
    /// The byte offset in the file, from 0.
    pub offset: Option<u64>,
    /// What happened and what was done about it, for people.
    pub message: String,
}

impl Diagnostic {
    /// A finding without a place.
    pub fn new(kind: DiagnosticKind, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            kind,
            severity: kind.severity(),
            entry: None,
            line: None,
            offset: None,
            message: message.into(),
        }
    }

    /// Names the line and the byte offset.
    #[must_use]
    pub fn at(mut self, line: u64, offset: u64) -> Diagnostic {
        self.line = Some(line);
        self.offset = Some(offset);
        self
    }

    /// Names the entry.
    #[must_use]
    pub fn of(mut self, entry: impl Into<Option<EntryId>>) -> Diagnostic {
        self.entry = entry.into();
        self
    }

    /// Whether this is damage.
    pub fn is_damage(&self) -> bool {
        self.severity == Severity::Error
    }
}
