//! The storage contract of Forkwood, and its memory and JSONL backends.
//!
//! [`SessionStorage`] is the seam between what a session means (in `forkwood-core` and
//! `forkwood`) and where its bytes are. It is object-safe and async; the backends here do their
//! I/O inside the poll.
//!
//! **Invariants.** `Ok` means on disk (except under [`Durability::Os`]). Readers take no lock
//! and create nothing. Nothing rests on a lock alone: every append compares what its writer
//! expected with what is there.

pub mod blob;
mod claim;
mod clock;
mod contract;
pub mod disk;
mod error;
pub mod jsonl;
mod memory;
mod types;

pub use claim::Claim;
pub use clock::{SystemClock, UuidV7, new_generation, new_session_id};
pub use contract::SessionStorage;
pub use error::{ErrorKind, StorageError};
pub use memory::MemoryStorage;
pub use types::{
    Append, Appended, AppendedEntry, Capabilities, Cursor, Durability, Expect, FloorRule, Head,
    LaneState, Listing, NewSession, OnConflict, Page, PathRead, PathStop, Problem, ReadPage,
    Rewrite, Rewritten, RowState, Seq, SessionFacts, SessionRow, Sort, Stored, Trashed, Watch,
    WatchEvent,
};

/// The result of a storage call.
pub type Result<T> = std::result::Result<T, StorageError>;
