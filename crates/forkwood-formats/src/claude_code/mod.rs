//! Session files of Claude Code (`~/.claude/projects/<folder>/<uuid>.jsonl`). Read where they
//! lie; never written in place.
//!
//! Each line that belongs to the conversation has a `uuid` and names the one before it as
//! `parentUuid`. How they become entries:
//!
//! | line | entry |
//! |---|---|
//! | `user`, `assistant` | a message; one line of results is as many messages as it has results |
//! | `system` with `compact_boundary` | a compaction that keeps nothing: the summary is the `user` line after it |
//! | `system` with `local_command` | a message: its owner shows it to the model |
//! | `attachment` that its owner shows to the model | a message (`queued_command`, `hook_additional_context`) |
//! | other lines with a `uuid` | `custom`, on the path |
//! | `custom-title` | `session_info` |
//! | every other line | `custom`, beside the path |
//!
//! What a message has no field for stands under `metadata.claudeCode`; every other entry holds
//! its record whole. Sidechains are lanes, since they are roots of their own.
//!
//! The links of three kinds of lines are settled when the file is read ([`relink`]): a
//! compaction follows what was said before it, messages that it preserved follow its summary,
//! and results of parallel calls, each of which hangs from its own call, follow one another.

use forkwood_core::FoldRules;
use forkwood_storage::jsonl::{FileStart, Format, IdStyle, Policy, Recognised};

mod decode;
mod dialect;
mod info;
mod line;
pub(crate) mod message;
mod parts;
pub mod place;
mod recognise;
mod relink;

/// The name of the format, in `foreign` and in namespaces.
pub const NAME: &str = "claude-code";

/// The field of a message's metadata that holds what only Claude Code has a place for.
pub const METADATA: &str = "claudeCode";

/// The provider of the models that speak in its files.
pub const PROVIDER: &str = "anthropic";

/// How Claude Code folds a path. It keeps no branch summaries and no thinking levels.
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

/// Recognises the files of Claude Code.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClaudeCodeFormat;

impl Format for ClaudeCodeFormat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn recognise(&self, start: &FileStart<'_>) -> Option<Recognised> {
        recognise::recognise(start)
    }
}

#[cfg(test)]
mod tests;
