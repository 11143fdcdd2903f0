//! Tests of the storage, by what its users can notice.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod bytes;
mod claims;
mod common;
mod contract;
mod crash;
mod files;
mod full;
mod group;
mod keep;
mod links;
mod model;
mod paths;
mod refused;
mod rewrites;
mod semantics;
mod watch;
