//! The seam between the JSONL engine and the rules of a file format.
//!
//! The engine frames lines, keeps an index, settles damage, locks, appends and rewrites. What a
//! line means is the business of a [`Dialect`]; which dialect a file has is told by a
//! [`Format`]. Foreign formats live in `forkwood-formats`; the native one is [`super::Native`].

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use forkwood_core::entry::SessionInfo;
use forkwood_core::{
    Body, Diagnostic, DiagnosticKind, Draft, Entry, EntryId, EntryKind, FoldRules, Role, Text,
    Timestamp,
};

pub use super::links::Links;
use crate::{FloorRule, Result};

/// Recognises the files of one format.
pub trait Format: Send + Sync + fmt::Debug {
    /// Its name, such as `native` or `pi`.
    fn name(&self) -> &'static str;

    /// Looks at the start of a file. `None` = not of this format. A file whose header is damaged
    /// or missing, but whose other lines are plainly of this format, is recognised too, with
    /// [`Header::read_only`] and a [`DiagnosticKind::NoHeader`].
    fn recognise(&self, start: &FileStart<'_>) -> Option<Recognised>;
}

/// The start of a file: enough of it to tell the format.
#[derive(Clone, Copy, Debug)]
pub struct FileStart<'a> {
    /// Where it is; for its name only.
    pub path: &'a Path,
    /// Its first lines that are not blank, without line ends and byte-order mark, each with its
    /// number from 1. A line that is longer than the window is cut.
    pub lines: &'a [(u64, &'a [u8])],
}

/// A file whose format is known.
#[derive(Clone, Debug)]
pub struct Recognised {
    /// What its header says.
    pub header: Header,
    /// How to read and write its lines.
    pub dialect: Arc<dyn Dialect>,
}

/// What the header of a file says.
#[derive(Clone, Debug)]
pub struct Header {
    /// The session id as it stands; not to be trusted as a file name. Empty where there is none.
    pub session_id: Text,
    /// Title, folder, times and so on. Later `session_info` entries change title and metadata.
    pub info: SessionInfo,
    /// What it was forked from, as the format names it: an id or a path. For showing only.
    pub forked_from: Option<Text>,
    /// Where the session stands before the entries are replayed, where the header says so.
    pub leaf: Option<EntryId>,
    /// How compactions are guarded.
    pub floor: FloorRule,
    /// Why the file cannot be written in place, if it cannot.
    pub read_only: Option<String>,
    /// The version in the header, where it is newer than what this program knows.
    pub newer_version: Option<String>,
    /// What is worth saying about the header.
    pub diagnostics: Vec<Diagnostic>,
}

impl Default for Header {
    fn default() -> Header {
        Header {
            session_id: Text::default(),
            info: SessionInfo::default(),
            forked_from: None,
            leaf: None,
            floor: FloorRule::Guard,
            read_only: None,
            newer_version: None,
            diagnostics: Vec::new(),
        }
    }
}

/// The rules of a format, for one file.
pub trait Dialect: Send + Sync + fmt::Debug {
    /// Such as `native`, `pi-v3`, `pi-v1`, `my-pi-agent`.
    fn name(&self) -> &'static str;

    /// How it folds.
    fn rules(&self) -> FoldRules;

    /// What it can hold.
    fn policy(&self) -> Policy;

    /// Reads the heads of the records of one line: usually one, none for a header line.
    ///
    /// With `quick`, the line may be cut after a window, and only its start need be looked at;
    /// `Err(LineFault::NeedWhole)` asks for the whole line. Without, the whole line is there and
    /// must be checked to be one JSON value.
    ///
    /// # Errors
    /// A [`LineFault`] where the line is no record of this format.
    fn heads<'l>(
        &self,
        line: &'l [u8],
        context: &LineContext<'_>,
        quick: bool,
        out: &mut Vec<RecordHead<'l>>,
    ) -> std::result::Result<(), LineFault>;

    /// Reads one record whole. `record` is the part of the line that its head named.
    ///
    /// # Errors
    /// A [`LineFault`] where it cannot be read after all.
    fn decode(
        &self,
        record: &[u8],
        context: &LineContext<'_>,
    ) -> std::result::Result<Decoded, LineFault>;

    /// The same for a record that may be a part of a line, which does not say all that is needed.
    /// `line` gives the whole line and where in it the record starts.
    ///
    /// # Errors
    /// Those of [`Dialect::decode`].
    fn decode_part(
        &self,
        record: &[u8],
        context: &LineContext<'_>,
        line: &dyn Fn() -> Option<(Vec<u8>, usize)>,
    ) -> std::result::Result<Decoded, LineFault> {
        let _ = line;
        self.decode(record, context)
    }

    /// Whether parents follow from more than what each line says; then [`Dialect::hint`] and
    /// [`Dialect::relink`] are asked.
    fn relinks(&self) -> bool {
        false
    }

    /// What [`Dialect::relink`] has to know of a record besides its head: short, since it stays
    /// in memory. `line` is the line that the record stands in.
    fn hint(&self, line: &str, head: &RecordHead<'_>) -> Option<String> {
        let _ = (line, head);
        None
    }

    /// Sets parents as the owner's program does when it has read the whole file. Called whenever
    /// the file was read; what would close a ring is undone.
    fn relink(&self, links: &mut Links<'_>) {
        let _ = links;
    }

    /// Takes in what an entry of the kind `session_info` says of the session as a whole. `has`
    /// tells whether there is an entry of an id.
    fn take_info(&self, info: &mut SessionInfo, body: Body, has: &dyn Fn(&str) -> bool) {
        let _ = has;
        let Body::SessionInfo(new) = body else { return };
        if new.title.is_some() {
            info.title = new.title;
        }
        if new.metadata.is_some() {
            info.metadata = new.metadata;
        }
    }

    /// Says a draft in other terms, where the format has no word for the ones it is told in and
    /// the path that it is to stand on (root first) tells which they are. `None`: it is fine as
    /// it stands.
    ///
    /// # Errors
    /// `unsupported` where there are no such terms; those of reading the path.
    fn fit(
        &self,
        draft: &Draft,
        path: &mut dyn FnMut() -> Result<Vec<Entry>>,
    ) -> Result<Option<Body>> {
        let _ = (draft, path);
        Ok(None)
    }

    /// Writes an entry as one line, without the line end. `None`: the format has no line for it
    /// (a pointer move in Pi's files).
    ///
    /// # Errors
    /// `unsupported` where the format cannot hold it.
    fn encode(&self, entry: &Entry) -> Result<Option<String>>;

    /// When a message was said, for lists: where the format knows better than the entry's time.
    fn said_at(&self, entry: &Entry) -> Option<Timestamp> {
        entry.timestamp
    }

    /// A new header line for a file that lost its own, if the format has header lines.
    fn header_line(&self, lost: &LostHeader<'_>) -> Option<String>;

    /// Whether a record, found behind a fragment on the first line, is the header of a file.
    fn is_header(&self, record: &[u8]) -> bool {
        let _ = record;
        false
    }

    /// For a file of an old version, which is rewritten before the first append: one line as the
    /// owner's migration would write it. `None`: this file needs no migration.
    fn migrate(
        &self,
        line: &[u8],
        context: &LineContext<'_>,
    ) -> Option<std::result::Result<String, LineFault>> {
        let _ = (line, context);
        None
    }

    /// Whether the file must be migrated before an append.
    fn needs_migration(&self) -> bool {
        false
    }
}

/// What is still known of a header that was lost.
#[derive(Clone, Copy, Debug)]
pub struct LostHeader<'a> {
    /// The id by which the session is known, out of the file's name.
    pub session_id: &'a str,
    /// When the session was made: by the file's name, else by its first entry.
    pub created: Timestamp,
    /// Where the file lies.
    pub path: &'a std::path::Path,
    /// The entry that the first one names as its parent, and that is not there: in formats whose
    /// header is an entry, the header's id.
    pub root: Option<&'a EntryId>,
}

/// What a format can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// A torn tail is cut before the next append (its bytes are kept beside the file). Else a
    /// line end is written before the new line.
    pub cut_torn_tail: bool,
    /// `more` marks batches.
    pub batches: bool,
    /// Lanes besides `main`.
    pub lanes: bool,
    /// A pointer move is a line. Else it is kept in `.{name}.forkwood` beside the file.
    pub pointer_lines: bool,
    /// How ids look.
    pub ids: IdStyle,
    /// Only the first entry may be a root.
    pub one_root: bool,
    /// A file may hold nothing but its header, so that a session can be emptied.
    pub bare_header: bool,
}

/// How the ids of a format look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdStyle {
    /// `UUIDv7` without dashes.
    Uuid,
    /// Eight hex digits, unique in the file.
    Hex8,
}

/// Where a line stands, and what came before it.
#[derive(Clone, Copy)]
pub struct LineContext<'a> {
    /// Its number, from 1.
    pub line: u64,
    /// How many records and header lines were read before it.
    pub ordinal: u64,
    /// The line on which the record of an ordinal stands.
    pub line_of: &'a dyn Fn(u64) -> Option<u64>,
}

impl fmt::Debug for LineContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LineContext(line {}, ordinal {})", self.line, self.ordinal)
    }
}

/// One record of a line, as far as trees and pointers need it.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordHead<'l> {
    /// Whether this is a header line and no entry.
    pub header: bool,
    /// The part of the line that holds the record.
    pub span: Range<usize>,
    /// Its id.
    pub id: Cow<'l, str>,
    /// Its parent.
    pub parent: ParentName<'l>,
    /// Its type.
    pub kind: EntryKind,
    /// Who speaks, where it is a message.
    pub role: Option<Role>,
    /// When.
    pub timestamp: Option<Timestamp>,
    /// Its lane; `None` = `main`.
    pub lane: Option<Cow<'l, str>>,
    /// Lines of the same batch that follow.
    pub more: u32,
    /// Whether it stands beside the path.
    pub sidecar: bool,
    /// What it does to its lane.
    pub moves: Moves<'l>,
}

impl RecordHead<'_> {
    /// The head of a header line.
    pub fn header(len: usize) -> RecordHead<'static> {
        RecordHead {
            header: true,
            span: 0..len,
            id: Cow::Borrowed(""),
            parent: ParentName::Root,
            kind: EntryKind::Unknown,
            role: None,
            timestamp: None,
            lane: None,
            more: 0,
            sidecar: true,
            moves: Moves::Nothing,
        }
    }
}

/// How a record names its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParentName<'l> {
    /// It says that it is a root.
    Root,
    /// By id.
    Named(Cow<'l, str>),
    /// The record before it in the file (formats without ids).
    Previous,
}

/// What a record does to its lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moves<'l> {
    /// Nothing.
    Nothing,
    /// The lane stands at the record.
    ToSelf,
    /// The lane stands at the entry named; `None` = before the first.
    To(Option<Cow<'l, str>>),
}

/// A record read whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The entry; the engine puts the settled id and parent in.
    pub entry: Entry,
    /// What is odd about it.
    pub notes: Vec<(DiagnosticKind, String)>,
}

/// Why a line is no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineFault {
    /// The start of the line does not tell; the whole line is needed.
    NeedWhole,
    /// It is not JSON.
    NotJson(String),
    /// It is JSON and no entry.
    WrongShape(String),
}
