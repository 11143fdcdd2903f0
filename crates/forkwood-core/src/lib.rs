//! Entries, messages, tree algorithms and the fold of a Forkwood session.
//!
//! A session is an append-only log of typed [`Entry`]s that form a tree through their parent
//! ids. What a model sees is a pure [fold] over one root-to-leaf path. This crate holds
//! the types and the algorithms, and nothing else:
//!
//! **Invariant: no I/O, no clock, no randomness.** Ids come from an [`IdSource`], times from a
//! [`Clock`], both passed in by the caller. No input makes a function here panic or recurse
//! without bound.

pub mod diagnostic;
pub mod entry;
mod error;
pub mod fold;
mod id;
pub mod json;
pub mod message;
pub mod settle;
mod text;
mod time;
pub mod tree;

pub use diagnostic::{Diagnostic, DiagnosticKind, Severity};
pub use entry::{Body, Draft, Entry, EntryKind};
pub use error::CoreError;
pub use fold::{FoldRules, SessionState, Settings};
pub use id::{EntryId, IdSource, Lane, Sequential, SessionId};
pub use json::Json;
pub use message::{Block, Content, Image, Message, Role};
pub use text::Text;
pub use time::{Clock, ManualClock, Timestamp};
pub use tree::TreeError;

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
