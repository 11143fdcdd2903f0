//! Sessions that other tools keep in databases.

#![cfg(feature = "sqlite")]
#![allow(clippy::unwrap_used)]

mod goose;
mod openai;
mod opencode;
mod traces;
mod world;
