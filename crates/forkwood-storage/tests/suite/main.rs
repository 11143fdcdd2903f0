//! Tests of the storage, by what its users can notice.

mod bytes;
mod common;
mod contract;
mod crash;
