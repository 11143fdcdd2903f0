//! Sessions that other tools keep in databases.

#![cfg(feature = "sqlite")]
#![allow(clippy::unwrap_used)]

mod openai;
mod traces;
mod world;
