//! Rollout files of Codex (`~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`). Read where they lie;
//! never written in place.
//!
//! A line has a time, a type and a payload; in files of the first versions it is a bare item of
//! the responses protocol. Lines have no ids: an entry is `line-N` here, and follows the one
//! before it. How they become entries:
//!
//! | line | entry |
//! |---|---|
//! | the first `session_meta` | the header |
//! | `response_item` | a message; what a model is not sent (`ghost_snapshot`) is `custom` |
//! | `turn_context` | `model_change`, `thinking_level_change`, and `custom` with all of it |
//! | `compacted` | a compaction; with a replacement history, that is its retained tail |
//! | `event_msg` with `thread_rolled_back` | `custom` beside the path; what follows is a branch |
//! | every other line | `custom`, on the path |
//!
//! What a message has no field for stands under `metadata.codex`; every other entry holds its
//! record whole.

use forkwood_core::FoldRules;
use forkwood_storage::jsonl::{FileStart, Format, IdStyle, Policy, Recognised};

mod decode;
mod dialect;
pub(crate) mod item;
mod line;
pub mod place;
mod recognise;
mod relink;

/// The name of the format, in `foreign` and in namespaces.
pub const NAME: &str = "codex";

/// How Codex folds a path.
pub const RULES: FoldRules = FoldRules::NATIVE;

/// What its files can hold: they are only read.
pub(crate) const POLICY: Policy = Policy {
    cut_torn_tail: false,
    batches: false,
    lanes: false,
    pointer_lines: false,
    ids: IdStyle::Uuid,
    one_root: false,
    bare_header: false,
};

/// Recognises the files of Codex.
#[derive(Clone, Copy, Debug, Default)]
pub struct CodexFormat;

impl Format for CodexFormat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn recognise(&self, start: &FileStart<'_>) -> Option<Recognised> {
        recognise::recognise(start)
    }
}
