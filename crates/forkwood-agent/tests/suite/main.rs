//! The agent, from the outside.

mod common;

mod agent;
mod builtins;
mod calls;
mod cancel;
mod context;
mod crash;
mod kill;
#[cfg(feature = "llm")]
mod llm;
mod queue;
mod script;
mod settings;
mod subagents;
mod tasks;
