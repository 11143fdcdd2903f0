//! A durable, branching session store for AI agents.
//!
//! A conversation is an append-only log of typed entries that form a tree. [`Session::rewind`]
//! moves a pointer, the next append grows a new branch, and nothing is lost. What a model sees
//! is a pure fold over one root-to-leaf path: [`Session::context`].
//!
//! ```
//! # fn main() -> Result<(), forkwood::Error> {
//! use forkwood::blocking::SessionStore;
//! use forkwood::Message;
//!
//! let folder = tempfile::tempdir().expect("a temporary folder");
//! let store = SessionStore::open_root(folder.path())?;
//! let mut session = store.create(Default::default())?;
//! let question = session.append(Message::user("Plan A?"))?;
//! session.append(Message::assistant("Yes."))?;
//! session.rewind(&question)?;
//! session.append(Message::assistant("Rather plan B."))?;
//! assert_eq!(session.context()?.messages().len(), 2);
//! assert_eq!(session.branches()?.len(), 2);
//! # Ok(())
//! # }
//! ```
//!
//! [`SessionTree`] is the same tree in memory, without any storage. [`SessionStore`] keeps the
//! sessions of one workspace. The `blocking` module serves callers without an async runtime.

pub mod blobs;
pub mod blocking;
mod context;
pub mod conversation;
mod session;
mod store;
mod tree;
pub mod workspace;

pub use context::Context;
pub use forkwood_core as core;
pub use forkwood_core::entry::{Compaction, CompactionState, MessageBody, Operation, SessionInfo};
pub use forkwood_core::{
    Block, Body, Clock, Content, Diagnostic, DiagnosticKind, Draft, Entry, EntryId, EntryKind,
    IdSource, Image, Json, Lane, ManualClock, Message, Role, Sequential, SessionId, SessionState,
    Settings, Severity, Text, Timestamp,
};
pub use forkwood_storage as storage;
pub use forkwood_storage::{
    Appended, Claim, Cursor, Durability, ErrorKind, Expect, Head, Listing, OnConflict, Page,
    Problem, ReadPage, Rewritten, RowState, Seq, SessionFacts, SessionRow, SessionStorage, Sort,
    StorageError as Error, Stored, Trashed, Watch, WatchEvent,
};
pub use session::{AppendOptions, Branch, Session};
pub use store::{CreateOptions, ForkOptions, PruneOptions, PruneReport, SessionStore};
pub use tree::SessionTree;

/// The result of a call.
pub type Result<T> = std::result::Result<T, Error>;

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
