//! Tests of the storage, by what its users can notice.

mod common;
mod contract;
mod crash;
