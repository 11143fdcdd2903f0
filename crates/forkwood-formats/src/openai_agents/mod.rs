//! Databases of the OpenAI Agents SDK for Python, as its version 0.24.0 has them.
//!
//! ```text
//! agent_sessions      session_id, created_at, updated_at
//! agent_messages      id, session_id, message_data (an item of the responses protocol), created_at
//! message_structure   with branches: which messages a branch shows, in which order
//! turn_usage          with branches: the tokens of each turn of a branch
//! ```
//!
//! The names of the first two are the program's choice; they are known by their columns. Without
//! `message_structure` a session is one line of messages. With it (`AdvancedSQLiteSession`) a
//! branch is a list of messages that starts with those of the branch it was made from: together
//! they are a tree, and the tip of each branch but `main` gets the name of the branch as a label.
//! Which branch a program stands in is not in the database: here it is `main`.

mod decode;
mod encode;
mod read;

pub(crate) use read::OpenAiAgents;

pub use decode::decode;
pub use encode::encode;

/// The name of the format, in `foreign` and in namespaces.
pub const NAME: &str = "openai-agents";
/// Where metadata of its own stand.
pub(crate) const METADATA: &str = "openaiAgents";
