//! What an import says of each session.

use std::path::PathBuf;

use forkwood::{Diagnostic, Error, SessionId, Text};

/// What became of a session of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A session was made of it.
    New,
    /// It had grown: its new entries went behind those taken before.
    Continued,
    /// It had changed, or the session here had gone on by itself: its new entries are a branch.
    Branched,
    /// There was nothing new.
    Unchanged,
    /// The session that was made of it lies in the trash.
    InTrash,
    /// It holds no entry that could be taken.
    Empty,
    /// It could not be read, or not be written here.
    Failed,
    /// No tool knows it.
    Unknown,
}

impl Outcome {
    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::New => "new",
            Outcome::Continued => "continued",
            Outcome::Branched => "branched",
            Outcome::Unchanged => "unchanged",
            Outcome::InTrash => "in_trash",
            Outcome::Empty => "empty",
            Outcome::Failed => "failed",
            Outcome::Unknown => "unknown",
        }
    }
}

/// What became of one session of another tool, or of a file that gave none.
#[derive(Debug)]
pub struct Report {
    /// The file or folder.
    pub path: PathBuf,
    /// The tool, where one knows it.
    pub format: Option<&'static str>,
    /// The dialect of its format.
    pub dialect: Option<&'static str>,
    /// The id of the session there.
    pub source_id: Option<Text>,
    /// The session here.
    pub session: Option<SessionId>,
    /// What became of it.
    pub outcome: Outcome,
    /// How many entries were read; 0 where nothing had to be.
    pub read: u64,
    /// How many entries were added here.
    pub added: u64,
    /// What is unknown, odd or damaged in the source.
    pub findings: Vec<Diagnostic>,
    /// Why it failed.
    pub error: Option<Error>,
}

impl Report {
    pub(crate) fn new(path: PathBuf, outcome: Outcome) -> Report {
        Report {
            path,
            format: None,
            dialect: None,
            source_id: None,
            session: None,
            outcome,
            read: 0,
            added: 0,
            findings: Vec::new(),
            error: None,
        }
    }

    /// A file that no tool knows.
    pub fn unknown(path: PathBuf) -> Report {
        Report::new(path, Outcome::Unknown)
    }

    /// What could not be looked at.
    pub fn unreadable(path: PathBuf, error: Error) -> Report {
        Report::failed(path, None, error)
    }

    pub(crate) fn failed(path: PathBuf, format: Option<&'static str>, error: Error) -> Report {
        Report { format, error: Some(error), ..Report::new(path, Outcome::Failed) }
    }

    /// Whether the source is damaged.
    pub fn is_damaged(&self) -> bool {
        self.findings.iter().any(Diagnostic::is_damage)
    }
}
