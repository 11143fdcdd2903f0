//! A durable, branching session store for AI agents.

pub use forkwood_core as core;
pub use forkwood_storage as storage;
