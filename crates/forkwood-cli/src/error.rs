//! Errors as people and programs see them.

use forkwood::{Error, ErrorKind};

/// Exit codes.
pub(crate) mod code {
    pub(crate) const DONE: u8 = 0;
    pub(crate) const FAILED: u8 = 1;
    pub(crate) const USAGE: u8 = 2;
    pub(crate) const BROKEN_PIPE: u8 = 3;
    #[cfg(feature = "agent")]
    pub(crate) const INTERRUPTED: u8 = 130;
    pub(crate) const INTERNAL: u8 = 255;
}

/// How a command ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All is well.
    Done,
    /// It did its work, and what it found is worth exit code 1.
    Found,
}

/// The result of anything here.
pub(crate) type Result<T = ()> = std::result::Result<T, CliError>;

/// An error, ready to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CliError {
    /// Stable, for programs to branch on.
    pub(crate) kind: &'static str,
    /// What happened.
    pub(crate) message: String,
    /// Why, from the nearest cause to the last.
    pub(crate) causes: Vec<String>,
    /// What to do about it.
    pub(crate) hint: Option<String>,
    /// Whether the same call may succeed later.
    pub(crate) retryable: bool,
    /// The exit code.
    pub(crate) code: u8,
}

impl CliError {
    /// A failure of a stable kind.
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> CliError {
        CliError {
            kind: kind.as_str(),
            message: message.into(),
            causes: Vec::new(),
            hint: None,
            retryable: kind.is_retryable(),
            code: code::FAILED,
        }
    }

    /// Arguments that cannot be meant.
    pub(crate) fn usage(message: impl Into<String>) -> CliError {
        CliError { kind: "usage", code: code::USAGE, ..CliError::new(ErrorKind::Invalid, message) }
    }

    /// An error of writing to stdout. A reader that went away is an exit code of its own.
    pub(crate) fn output(error: &std::io::Error) -> CliError {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            let gone = CliError::new(ErrorKind::Io, "the reader of the output went away");
            return CliError { kind: "broken_pipe", code: code::BROKEN_PIPE, ..gone };
        }
        CliError::new(ErrorKind::Io, format!("cannot write the output: {error}"))
    }

    /// An error of the file system.
    pub(crate) fn io(doing: &str, path: &std::path::Path, error: &std::io::Error) -> CliError {
        CliError::new(ErrorKind::Io, format!("{}: cannot {doing}: {error}", path.display()))
    }

    /// The same error with another hint.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> CliError {
        self.hint = Some(hint.into());
        self
    }
}

impl From<Error> for CliError {
    fn from(error: Error) -> CliError {
        let message = error.to_string();
        let mut causes = Vec::new();
        let mut next = std::error::Error::source(&error);
        while let Some(cause) = next {
            let text = cause.to_string();
            // Most messages name their cause already.
            if !message.contains(&text) && !causes.contains(&text) {
                causes.push(text);
            }
            next = cause.source();
        }
        let wrong_argument = matches!(
            &error,
            Error::Core(
                forkwood::core::CoreError::InvalidSessionId { .. }
                    | forkwood::core::CoreError::InvalidLane { .. }
            )
        );
        CliError {
            kind: error.kind().as_str(),
            message,
            causes,
            hint: match &error {
                Error::Claimed { .. } => Some("`forkwood fork` copies what is there so far"),
                other => hint_for(other.kind()),
            }
            .map(str::to_owned),
            retryable: error.kind().is_retryable(),
            code: if wrong_argument { code::USAGE } else { code::FAILED },
        }
    }
}

impl From<forkwood::core::CoreError> for CliError {
    fn from(error: forkwood::core::CoreError) -> CliError {
        CliError::from(Error::from(error))
    }
}

fn hint_for(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::Ambiguous => "give more of it",
        ErrorKind::Conflict => "look at it with `forkwood tree`, or use --on-conflict branch",
        ErrorKind::BeforeFloor => "--past-compaction goes there all the same",
        ErrorKind::ReadOnly => {
            "`forkwood fork` copies it into a session that can be written; --store names a store \
             elsewhere, where this one cannot be"
        }
        ErrorKind::NewerVersion => "`forkwood fork` copies it into a session that can be written",
        ErrorKind::Locked => "another process is writing to it; try again",
        ErrorKind::NoSpace => "free some space and try again",
        ErrorKind::Gone => "`forkwood trash` lists what was deleted",
        _ => return None,
    })
}
