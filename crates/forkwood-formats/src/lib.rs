//! Session files of other agent tools, read where they lie and, where that is safe, continued.
//!
//! Each folder here is one format: a [`Format`] that recognises its files and a `Dialect` that
//! reads and writes their lines. The JSONL engine of `forkwood-storage` does the rest: framing,
//! damage, locks, positions. [`formats`] gives all of them, for the engine to ask in turn.
//!
//! [`import`] takes sessions of other tools into a store of Forkwood's own; [`export`] writes a
//! session in any of these formats.
//!
//! **Invariants.** A dialect does no I/O and has no clock and no randomness; what reads or writes
//! files does so through a `Disk` that is passed in. No input makes a function here panic or
//! recurse without bound. What is read is never lost: a field that Forkwood has no place for
//! stays with its entry, and stands again in what is written.

use std::sync::Arc;

use forkwood_storage::jsonl::Format;

pub mod claude_code;
pub mod codex;
pub mod export;
mod fields;
pub mod gemini;
#[cfg(feature = "sqlite")]
pub mod goose;
pub mod import;
pub mod my_pi_agent;
#[cfg(feature = "sqlite")]
pub mod openai_agents;
#[cfg(feature = "sqlite")]
pub mod opencode;
pub mod pi;
pub mod picoclaw;
pub mod redact;
mod requests;
#[cfg(feature = "sqlite")]
mod sqlite;
pub mod stats;
mod time;

/// Every foreign format, in the order in which the engine should ask them.
pub fn formats() -> Vec<Arc<dyn Format>> {
    vec![
        Arc::new(pi::PiFormat),
        Arc::new(my_pi_agent::MyPiAgentFormat),
        Arc::new(claude_code::ClaudeCodeFormat),
        Arc::new(codex::CodexFormat),
    ]
}

#[cfg(test)]
mod tests;
