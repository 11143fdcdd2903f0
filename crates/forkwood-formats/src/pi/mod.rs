//! Pi's session files (`~/.pi/agent/sessions`), as written from its first versions to 1.6.0.
//!
//! | dialect | files | here |
//! |---|---|---|
//! | `pi-v3` | the coding agent, header version 3 | read and continued in place |
//! | `pi-v1`, `pi-v2` | the coding agent, older | read; the first append migrates the file |
//! | `pi-harness-v3` | the agent harness: `leaf` lines, retained tails | read |
//! | `pi-harness-v4` | the agent harness: a log of transactions | read |
//!
//! What is appended is plain version 3 that Pi 0.73.1 and 1.6.0 open alike. Where Forkwood knows
//! more than Pi does:
//!
//! - a `system` or `developer` message, which 0.73.1 does not know, is written as a
//!   `custom_message` of type `forkwood.system` that people are not shown;
//! - an operation, a change of the active tools and a change of metadata are `custom` entries
//!   (`forkwood.operation`, `forkwood.active_tools_change`, `forkwood.session_info`);
//! - fields of a native message that Pi's have no place for stand beside Pi's own, which Pi
//!   leaves alone.
//!
//! All of them are read back as what they were. The other way about, what a native message has
//! no field for stands under `metadata.pi`, so that a path that is copied out and in again
//! loses nothing.

use forkwood_core::FoldRules;
use forkwood_storage::jsonl::{FileStart, Format, Recognised};

mod decode;
mod dialect;
pub(crate) mod encode;
mod encode_message;
pub mod fork;
mod heads;
mod kept;
mod message;
mod migrate;
pub mod place;
mod recognise;
pub mod shape;
mod text;
mod v4;

/// How Pi's coding agent folds a path.
pub const RULES: FoldRules = FoldRules {
    branch_summaries: true,
    model_from_messages: true,
    default_thinking_level: Some("off"),
    compaction_system_message: true,
    drops_kept_system: true,
    label_on_path: false,
    path_to_compaction: false,
    compaction_in_place: false,
};

/// How Pi's agent harness folds a path: it knows no system messages in the log.
pub const HARNESS_RULES: FoldRules =
    FoldRules { compaction_system_message: false, drops_kept_system: false, ..RULES };

/// The type of a `custom_message` that holds a system or developer message.
pub const SYSTEM_TYPE: &str = "forkwood.system";
/// The type of a `custom` entry that holds an operation.
pub const OPERATION_TYPE: &str = "forkwood.operation";
/// The type of a `custom` entry that holds a change of the active tools.
pub const TOOLS_TYPE: &str = "forkwood.active_tools_change";
/// The type of a `custom` entry that holds a change of the session's metadata.
pub const INFO_TYPE: &str = "forkwood.session_info";

/// Recognises Pi's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct PiFormat;

impl Format for PiFormat {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn recognise(&self, start: &FileStart<'_>) -> Option<Recognised> {
        recognise::recognise(start)
    }
}

/// Which of Pi's files a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// No ids; each entry follows the line before it.
    V1,
    /// Ids; hook messages have a role of their own.
    V2,
    /// Version 3, nothing in it that only one of its writers uses. A `leaf` line, if one comes
    /// after all, moves the pointer, since only the harness writes any.
    Plain,
    /// Version 3 with entries of 1.x: written by the coding agent, to which `leaf` means nothing.
    Agent,
    /// Version 3 of the agent harness.
    Harness,
    /// Version 4 of the agent harness.
    Log,
}

impl Flavour {
    /// Whether a `leaf` line moves the pointer.
    pub(crate) fn has_pointer(self) -> bool {
        matches!(self, Flavour::Plain | Flavour::Harness)
    }

    /// Whether a compaction may carry its own tail.
    pub(crate) fn has_tail(self) -> bool {
        matches!(self, Flavour::Plain | Flavour::Harness | Flavour::Log)
    }

    pub(crate) fn rules(self) -> FoldRules {
        match self {
            Flavour::Harness => FoldRules { path_to_compaction: true, ..HARNESS_RULES },
            Flavour::Log => HARNESS_RULES,
            _ => RULES,
        }
    }
}

/// A message like Pi's, in a file of another program.
pub(crate) fn decode_message(json: &str) -> Option<forkwood_core::entry::MessageBody> {
    message::decode(json, false)
}

#[cfg(test)]
mod tests;
