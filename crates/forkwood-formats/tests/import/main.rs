//! Taking sessions of other tools into a store.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod agents;
mod crash;
mod engine;
mod picoclaw;
mod world;
