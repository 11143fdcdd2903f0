//! The agent, from the outside.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod common;

mod agent;
mod branch;
mod builtins;
mod calls;
mod cancel;
mod context;
mod crash;
mod hostile;
mod kill;
#[cfg(feature = "llm")]
mod llm;
mod queue;
mod script;
#[cfg(feature = "llm")]
mod server;
mod settings;
mod subagents;
mod tasks;
