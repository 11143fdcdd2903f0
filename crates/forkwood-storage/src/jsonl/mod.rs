//! Sessions as files of JSON lines.
//!
//! [`JsonlStorage`] keeps sessions in a store of Forkwood's own, or reads and continues session
//! files of other programs in place. What a line means is told by a [`Dialect`].

mod append;
mod arena;
mod blob_store;
mod create;
pub mod dialect;
mod facts;
mod file;
mod frame;
mod idle;
mod index;
mod leftovers;
mod links;
mod list;
mod lookup;
mod native;
mod options;
mod path;
mod place;
mod plan;
mod pointer;
pub mod quick;
mod recognise;
mod repair;
mod rewrite;
mod salvage;
mod scan;
mod slot;
mod storage;
mod trash;
mod watch;

pub use dialect::{
    Decoded, Dialect, FileStart, Format, Header, IdStyle, LineContext, LineFault, Links,
    LostHeader, Moves, ParentName, Policy, Recognised, RecordHead,
};
pub use native::{NAME as NATIVE, Native, VERSION, as_text, decode_native, either};
pub use options::JsonlOptions;
pub use storage::JsonlStorage;

#[cfg(test)]
mod tests;
