//! Writing a session in any format.
//!
//! [`gather`] reads a session, of whatever format, into one form; [`write`] makes files of it and
//! a [`LossReport`] that names whatever the format cannot hold.
//!
//! ```text
//!   Session -> Source (entries, parents first; bytes inline) -> Written (files, losses)
//! ```
//!
//! **Invariants.** Writing is pure: no I/O, no clock, no randomness; the same session gives the
//! same bytes. What a session says can name no path: the names of files are made of checked ids.
//! Read back by the [import](crate::import), a written session has the same tree and the same
//! context, or the report names the difference.

use forkwood::Result;

mod anthropic;
mod claude;
mod claude_blocks;
mod claude_line;
mod claude_rows;
mod codex;
mod items;
mod loss;
mod my_pi_agent;
mod native;
mod openai_chat;
mod openai_responses;
mod pi;
mod picoclaw;
mod redacted;
mod source;
mod told;
mod tree;

pub(crate) use openai_chat::THOUGHTS;
pub(crate) use openai_responses::OWN as OPENAI;

pub use loss::{Loss, LossReport, What};
pub use source::{Scope, Source, gather};
pub use told::uuid_of;

/// A format that a session can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A session of Forkwood's own.
    Jsonl,
    /// One JSON document with all entries.
    Json,
    /// Pi's session files, version 3.
    Pi,
    /// my-pi-agent's files of nine entry types.
    MyPiAgent,
    /// Claude Code's session files.
    Claude,
    /// Codex's rollouts.
    Codex,
    /// PicoClaw's two files of a conversation.
    PicoClaw,
    /// A request to OpenAI's chat completions.
    OpenAiChat,
    /// A request to OpenAI's responses.
    OpenAiResponses,
    /// A request to Anthropic's messages.
    Anthropic,
}

impl Target {
    /// All of them.
    pub const ALL: [Target; 10] = [
        Target::Jsonl,
        Target::Json,
        Target::Pi,
        Target::MyPiAgent,
        Target::Claude,
        Target::Codex,
        Target::PicoClaw,
        Target::OpenAiChat,
        Target::OpenAiResponses,
        Target::Anthropic,
    ];

    /// Its name in arguments.
    pub fn name(self) -> &'static str {
        match self {
            Target::Jsonl => "jsonl",
            Target::Json => "json",
            Target::Pi => "pi",
            Target::MyPiAgent => "my-pi-agent",
            Target::Claude => "claude",
            Target::Codex => "codex",
            Target::PicoClaw => "picoclaw",
            Target::OpenAiChat => "openai-chat",
            Target::OpenAiResponses => "openai-responses",
            Target::Anthropic => "anthropic",
        }
    }
}

/// A file of a written session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Where the format's owner would look for it, below the folder of all its sessions; parts
    /// are divided by `/`.
    pub name: String,
    /// What stands in it.
    pub text: String,
}

/// A written session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Its files; the first one is the session itself.
    pub files: Vec<File>,
    /// What the format cannot hold.
    pub losses: LossReport,
}

impl Written {
    fn one(name: String, text: String, losses: LossReport) -> Written {
        Written { files: vec![File { name, text }], losses }
    }
}

/// Writes a session.
///
/// # Errors
/// Where an entry cannot be written in the format in any form.
pub fn write(mut source: Source, target: Target) -> Result<Written> {
    // Forkwood's own form holds all there is.
    if !matches!(target, Target::Jsonl | Target::Json) {
        told::prepare(&mut source);
    }
    match target {
        Target::Jsonl => Ok(native::jsonl(source)),
        Target::Json => Ok(native::json(source)),
        Target::Pi => pi::write(source),
        Target::MyPiAgent => my_pi_agent::write(source),
        Target::Claude => Ok(claude::write(source)),
        Target::Codex => Ok(codex::write(source)),
        Target::PicoClaw => picoclaw::write(source),
        Target::OpenAiChat => Ok(openai_chat::write(source)),
        Target::OpenAiResponses => Ok(openai_responses::write(source)),
        Target::Anthropic => Ok(anthropic::write(source)),
    }
}
