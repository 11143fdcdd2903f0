//! Session files of my-pi-agent, and of Tau, which it copied its later format from.
//!
//! | dialect | files | here |
//! |---|---|---|
//! | `my-pi-agent` | nine entry types, a `session_info` first | read and continued in place |
//! | `my-pi-agent-header` | a header line with the current entry, then messages | read |
//! | `tau` | the same nine types, messages like Pi's | read |
//!
//! The nine-type files are read by Forkwood's own codec, which knows both spellings. Only `leaf`
//! stands beside the path; labels and information stand on it. The program has two writers: one
//! that appends, and one that writes the whole file anew and keeps the current entry in the
//! metadata of the first line. In a file of the latter, what is as old as that line moves
//! nothing, and what was appended since does.
//!
//! A header file has no place for a move but its header, and its program writes it whole at each
//! step: it is only read. Its times carry no zone and are taken as UTC.
//!
//! What is appended is what the program's strict reader takes: its nine types, their fields and
//! no other, content as one string. Calls and what else a message says stand in its metadata; an
//! entry of another type is a `custom` one under `forkwood.<type>`, and is read back as what it
//! was. Lone surrogates, which that reader refuses, are written as U+FFFD.

use forkwood_core::FoldRules;
use forkwood_storage::jsonl::{FileStart, Format, IdStyle, Policy, Recognised};

pub(crate) mod encode;
mod header;
mod nine;
mod recognise;

/// How my-pi-agent folds a path.
pub const RULES: FoldRules = FoldRules {
    branch_summaries: false,
    model_from_messages: false,
    default_thinking_level: None,
    compaction_system_message: false,
    drops_kept_system: false,
    label_on_path: true,
    path_to_compaction: false,
    compaction_in_place: true,
};

/// What its files can hold.
pub(crate) const POLICY: Policy = Policy {
    cut_torn_tail: true,
    batches: false,
    lanes: false,
    pointer_lines: true,
    ids: IdStyle::Uuid,
    one_root: false,
    bare_header: true,
};

/// Before the type, in the namespace of a `custom` entry that holds an entry of another type.
pub(crate) const OWN: &str = "forkwood.";

/// Recognises the files of my-pi-agent and of Tau.
#[derive(Clone, Copy, Debug, Default)]
pub struct MyPiAgentFormat;

impl Format for MyPiAgentFormat {
    fn name(&self) -> &'static str {
        "my-pi-agent"
    }

    fn recognise(&self, start: &FileStart<'_>) -> Option<Recognised> {
        recognise::recognise(start)
    }
}

#[cfg(test)]
mod tests;
