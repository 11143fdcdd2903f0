//! Tests of the storage, by what its users can notice.

mod bytes;
mod common;
mod contract;
mod crash;
mod full;
mod group;
mod links;
mod semantics;
mod watch;
