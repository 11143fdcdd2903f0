//! The database of opencode, as its version 1.18.33 has it.
//!
//! ```text
//! session    id, parent_id (of a sub-agent's), directory, title, revert, ...
//! message    id, session_id, time_created, data: who speaks, model, tokens, cost
//! part       id, message_id, data: text, reasoning, tool, file, compaction, ...
//! ```
//!
//! A session is one line of messages, by the time of their creation and their id. A message of the
//! model holds its calls with their results: here the results are messages of their own, under
//! the ids of their parts. A summary that opencode made for a compaction is a compaction, from
//! the message on that its marker names (`tail_start_id`), where it does. A session that was
//! reverted stands before the message that it was reverted to.

mod message;
mod read;

pub(crate) use read::OpenCode;

/// The name of the format.
pub const NAME: &str = "opencode";
