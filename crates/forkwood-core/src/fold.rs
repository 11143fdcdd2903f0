//! The fold: from a path to what a model sees.
//!
//! [`select`] decides which entries of a path give messages, and in which order; it is shared by
//! every shape a context can take. [`SessionState`] is the result in Forkwood's own terms.
//! Both are pure: the same path gives the same state, at any time and on any machine.

mod select;
mod state;

pub use select::{Item, Source, latest_boundary, select};
pub use state::{SessionState, Settings, current_leaf, into_messages, render};

/// The line that a summary starts with.
pub const SUMMARY_PREFIX: &str = "Previous conversation summary:\n";

/// Where the fold of a dialect differs from Forkwood's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoldRules {
    /// Whether a branch summary gives a message. Off for my-pi-agent.
    pub branch_summaries: bool,
    /// Whether an assistant message that names its model sets the model.
    pub model_from_messages: bool,
    /// The thinking level before any change of it. `off` for Pi.
    pub default_thinking_level: Option<&'static str>,
    /// Whether the system message that a compaction carries (Pi 1.x, and copies of its paths)
    /// comes first, in the place of those in the range it keeps.
    pub compaction_system_message: bool,
    /// Whether the system messages in a kept range are left out even where it carries none.
    /// Pi 1.x.
    pub drops_kept_system: bool,
    /// Whether labels stand on the path and the last one there counts. my-pi-agent.
    pub label_on_path: bool,
    /// Whether paths end at what the compactions on them keep, and not at the root. Pi's
    /// harness, version 3.
    pub path_to_compaction: bool,
    /// Whether a compaction can only name what it replaces, and not what it keeps. my-pi-agent.
    pub compaction_in_place: bool,
}

impl FoldRules {
    /// The rules of native files.
    pub const NATIVE: FoldRules = FoldRules {
        branch_summaries: true,
        model_from_messages: true,
        default_thinking_level: None,
        compaction_system_message: true,
        drops_kept_system: false,
        label_on_path: false,
        path_to_compaction: false,
        compaction_in_place: false,
    };
}

impl Default for FoldRules {
    fn default() -> FoldRules {
        FoldRules::NATIVE
    }
}

#[cfg(test)]
mod tests;
