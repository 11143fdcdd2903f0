//! What can go wrong in storage.

use std::io;
use std::path::PathBuf;

use forkwood_core::{CoreError, EntryId, SessionId};
use thiserror::Error;

/// The stable kind of an error, for programs to branch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// What was asked for is not there.
    NotFound,
    /// A prefix fits several ids.
    Ambiguous,
    /// Something is there already.
    Exists,
    /// Another writer was first.
    Conflict,
    /// A rewind to before the latest compaction.
    BeforeFloor,
    /// Input that is not as documented.
    Invalid,
    /// Something this backend or dialect cannot do.
    Unsupported,
    /// The file may only be read.
    ReadOnly,
    /// The file was written by a newer version.
    NewerVersion,
    /// The file is damaged.
    Damaged,
    /// The file was deleted under an open session.
    Gone,
    /// Another process holds the lock, or an agent is at work.
    Locked,
    /// Larger than a limit.
    TooLarge,
    /// The disk is full, or a quota is reached.
    NoSpace,
    /// Any other failure of the file system.
    Io,
    /// Two entries with one id.
    Duplicate,
    /// Parent links form a ring.
    Cycle,
    /// An entry names a parent that is not there.
    MissingParent,
    /// Two conversations have one session key.
    ScopesMeet,
}

impl ErrorKind {
    /// Every kind.
    pub const ALL: &'static [ErrorKind] = &[
        ErrorKind::NotFound,
        ErrorKind::Ambiguous,
        ErrorKind::Exists,
        ErrorKind::Conflict,
        ErrorKind::BeforeFloor,
        ErrorKind::Invalid,
        ErrorKind::Unsupported,
        ErrorKind::ReadOnly,
        ErrorKind::NewerVersion,
        ErrorKind::Damaged,
        ErrorKind::Gone,
        ErrorKind::Locked,
        ErrorKind::TooLarge,
        ErrorKind::NoSpace,
        ErrorKind::Io,
        ErrorKind::Duplicate,
        ErrorKind::Cycle,
        ErrorKind::MissingParent,
        ErrorKind::ScopesMeet,
    ];

    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::NotFound => "not_found",
            ErrorKind::Ambiguous => "ambiguous",
            ErrorKind::Exists => "exists",
            ErrorKind::Conflict => "conflict",
            ErrorKind::BeforeFloor => "before_floor",
            ErrorKind::Invalid => "invalid",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::ReadOnly => "read_only",
            ErrorKind::NewerVersion => "newer_version",
            ErrorKind::Damaged => "damaged",
            ErrorKind::Gone => "gone",
            ErrorKind::Locked => "locked",
            ErrorKind::TooLarge => "too_large",
            ErrorKind::NoSpace => "no_space",
            ErrorKind::Io => "io",
            ErrorKind::Duplicate => "duplicate",
            ErrorKind::Cycle => "cycle",
            ErrorKind::MissingParent => "missing_parent",
            ErrorKind::ScopesMeet => "scopes_meet",
        }
    }

    /// Whether the same call may succeed later without any change by the caller.
    pub fn is_retryable(self) -> bool {
        matches!(self, ErrorKind::Locked | ErrorKind::NoSpace | ErrorKind::Io)
    }
}

/// An error of a storage call. Says what happened, where, and what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StorageError {
    /// No such session.
    #[error("session not found: {query}")]
    SessionNotFound {
        /// What was asked for.
        query: String,
    },
    /// A prefix fits several sessions.
    #[error("ambiguous session prefix {query:?}: {}", candidates.join(", "))]
    AmbiguousSession {
        /// What was asked for.
        query: String,
        /// The ids it fits.
        candidates: Vec<String>,
    },
    /// No such entry.
    #[error("session {session}: entry {entry} not found")]
    EntryNotFound {
        /// The session.
        session: String,
        /// The entry asked for.
        entry: String,
    },
    /// An entry that is to be written names one that is not there.
    #[error("session {session}: {field} names {entry}, and there is no such entry before it")]
    UnknownReference {
        /// The session.
        session: String,
        /// The type of the entry and the field.
        field: &'static str,
        /// The id it names.
        entry: EntryId,
    },
    /// A prefix fits several entries.
    #[error("session {session}: ambiguous entry prefix {query:?}: {}", candidates.join(", "))]
    AmbiguousEntry {
        /// The session.
        session: String,
        /// What was asked for.
        query: String,
        /// The ids it fits.
        candidates: Vec<String>,
    },
    /// A session of that id is there already.
    #[error("session {session} exists already")]
    SessionExists {
        /// The id.
        session: SessionId,
    },
    /// An entry of that id is there, and says something else.
    #[error(
        "session {session}: entry {entry} exists already and says something else; use a new id"
    )]
    EntryExists {
        /// The session.
        session: String,
        /// The id.
        entry: EntryId,
    },
    /// A lane of that name is there already.
    #[error("session {session}: lane {lane} exists already; move it, or choose another name")]
    LaneExists {
        /// The session.
        session: String,
        /// The lane.
        lane: String,
    },
    /// The lane does not stand where the writer expected.
    #[error(
        "session {session}: lane {lane} stands at {}, not at {}; another writer was first. \
         Reload and try again, or append with branch on conflict",
        shown(actual),
        shown(expected)
    )]
    Conflict {
        /// The session.
        session: String,
        /// The lane.
        lane: String,
        /// Where the writer expected it.
        expected: Option<EntryId>,
        /// Where it is.
        actual: Option<EntryId>,
    },
    /// A rewind to before the latest compaction.
    #[error(
        "session {session}: {entry} lies before the latest compaction, whose floor is {floor}; \
         say past-compaction to go there all the same"
    )]
    BeforeFloor {
        /// The session.
        session: String,
        /// Where to.
        entry: EntryId,
        /// The floor.
        floor: EntryId,
    },
    /// Input that is not as documented.
    #[error("{message}")]
    Invalid {
        /// What is wrong and what would be right.
        message: String,
    },
    /// Something this backend or dialect cannot do.
    #[error("{message}")]
    Unsupported {
        /// What, and what to do instead.
        message: String,
    },
    /// The file may only be read.
    #[error("{}: is read-only: {reason}", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
    /// Written by a newer version.
    #[error("{}: written by a newer version ({version}) of its format; it can be read, not written", path.display())]
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// The version in its header.
        version: String,
    },
    /// The file is damaged beyond what can be read around, or the caller asked for strictness.
    #[error("{}: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and offset where there is one, and what to do.
        problem: String,
    },
    /// The file was deleted or replaced under an open session.
    #[error("{}: the file is gone; it was deleted while the session was open, and nothing was written", path.display())]
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// Another process holds the lock.
    #[error("{}: locked by another process for longer than {waited_ms} ms; try again", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// How long this call waited.
        waited_ms: u64,
    },
    /// A run of an agent is under way.
    #[error(
        "an agent is at work in session {session}, in this process or in another: wait until it \
         has ended or stop it, or go on in a fork"
    )]
    Claimed {
        /// The session.
        session: SessionId,
    },
    /// Larger than a limit.
    #[error("{what} is too large: {size} bytes, at most {limit}")]
    TooLarge {
        /// What.
        what: String,
        /// Its size.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// The disk is full. The file is as it was before.
    #[error("{}: no space left: {source}; nothing was written, free space and try again", path.display())]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Any other failure of the file system.
    #[error("{}: cannot {doing}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// Two different scopes have one key, because an id holds a delimiter. PicoClaw mixes the two
    /// conversations; here the second one is refused.
    #[error(
        "two conversations meet in {key}: {stored} is there already, {refused} is refused; an id \
         in one of them holds `|`"
    )]
    ScopesMeet {
        /// The key of both.
        key: String,
        /// The scope that has the key, as JSON.
        stored: String,
        /// The scope that came second, as JSON.
        refused: String,
    },
    /// An error of the pure part.
    #[error(transparent)]
    Core(#[from] CoreError),
}

fn shown(id: &Option<EntryId>) -> String {
    id.as_ref().map_or_else(|| "no entry".to_owned(), ToString::to_string)
}

impl StorageError {
    /// The stable kind.
    pub fn kind(&self) -> ErrorKind {
        match self {
            StorageError::SessionNotFound { .. }
            | StorageError::EntryNotFound { .. }
            | StorageError::UnknownReference { .. } => ErrorKind::NotFound,
            StorageError::AmbiguousSession { .. } | StorageError::AmbiguousEntry { .. } => {
                ErrorKind::Ambiguous
            }
            StorageError::SessionExists { .. }
            | StorageError::EntryExists { .. }
            | StorageError::LaneExists { .. } => ErrorKind::Exists,
            StorageError::Conflict { .. } => ErrorKind::Conflict,
            StorageError::BeforeFloor { .. } => ErrorKind::BeforeFloor,
            StorageError::Invalid { .. } => ErrorKind::Invalid,
            StorageError::Unsupported { .. } => ErrorKind::Unsupported,
            StorageError::ReadOnly { .. } => ErrorKind::ReadOnly,
            StorageError::NewerVersion { .. } => ErrorKind::NewerVersion,
            StorageError::Damaged { .. } => ErrorKind::Damaged,
            StorageError::Gone { .. } => ErrorKind::Gone,
            StorageError::Locked { .. } | StorageError::Claimed { .. } => ErrorKind::Locked,
            StorageError::TooLarge { .. } => ErrorKind::TooLarge,
            StorageError::NoSpace { .. } => ErrorKind::NoSpace,
            StorageError::Io { .. } => ErrorKind::Io,
            StorageError::ScopesMeet { .. } => ErrorKind::ScopesMeet,
            StorageError::Core(error) => match error.kind() {
                "duplicate" => ErrorKind::Duplicate,
                "cycle" => ErrorKind::Cycle,
                "missing_parent" => ErrorKind::MissingParent,
                "not_found" => ErrorKind::NotFound,
                _ => ErrorKind::Invalid,
            },
        }
    }

    /// Wraps an error of the file system with what was being done; a full disk has its own kind.
    pub fn io(path: impl Into<PathBuf>, doing: &'static str, source: io::Error) -> StorageError {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => StorageError::NoSpace { path, source },
            io::ErrorKind::ReadOnlyFilesystem => {
                let reason = format!("cannot {doing}: {source}");
                StorageError::ReadOnly { path, reason }
            }
            _ => StorageError::Io { path, doing, source },
        }
    }

    /// Wraps an error of writing. What may not be written has a kind of its own; what may not be
    /// read, see [`StorageError::io`], has not.
    pub fn write(path: impl Into<PathBuf>, doing: &'static str, source: io::Error) -> StorageError {
        match source.kind() {
            io::ErrorKind::PermissionDenied => StorageError::ReadOnly {
                path: path.into(),
                reason: format!("cannot {doing}: {source}"),
            },
            _ => StorageError::io(path, doing, source),
        }
    }

    /// Input that is not as documented.
    pub fn invalid(message: impl Into<String>) -> StorageError {
        StorageError::Invalid { message: message.into() }
    }

    /// Something that cannot be done.
    pub fn unsupported(message: impl Into<String>) -> StorageError {
        StorageError::Unsupported { message: message.into() }
    }
}
