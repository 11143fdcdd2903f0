//! Session files of Gemini CLI, as its version 0.61.0 writes them.
//!
//! ```text
//! ~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl      a session
//! ~/.gemini/tmp/<project>/chats/<id of the session>/<id>.jsonl a sub-agent's
//! ~/.gemini/tmp/<project>/chats/session-<time>-<id>.json       one document: older versions
//! ```
//!
//! Each line is one of: what the session is; a message, which may stand there again when more of
//! it is known; `$rewindTo`, which takes back a message and all after it; `$set`, which changes what the
//! session is, and with `messages` in it replaces the conversation, as after a compression.
//!
//! The last record of a message counts; its id is that of the message, with how often it was
//! written behind it (`<id>.3`), so that what was imported while it was half written is not taken for
//! all of it. What was taken back stays in the tree. A replaced conversation is a compaction with
//! a retained tail. Results of tools, which stand in the record of the call, are messages of their
//! own; what is told to the person alone (`info`, `error`, `warning`) is in no context.

mod lines;
mod message;
mod read;

pub(crate) use read::GeminiCli;

/// The name of the format.
pub const NAME: &str = "gemini";
