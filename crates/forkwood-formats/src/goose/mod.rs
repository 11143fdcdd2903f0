//! The database of goose (`sessions.db`), with the schemas 1 to 9 that its public source tells.
//!
//! ```text
//! sessions    id, name or description, working_dir, session_type, provider_name, ...
//! messages    id, message_id, session_id, role, content_json, created_timestamp, metadata_json
//! ```
//!
//! A session is one line of messages. What a model is not shown any more (`agentVisible`) is left
//! out of the context: where that is a whole start of the session, as after a compaction, by an
//! entry that cuts it off, else message by message. Results of tools, which goose keeps in messages
//! of the user, are messages of their own.

mod content;
mod read;

pub(crate) use read::Goose;

/// The name of the format.
pub const NAME: &str = "goose";
