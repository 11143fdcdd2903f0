//! Conversations in native sessions.
//!
//! Names in brackets in the tests are those of PicoClaw's own tests at `cf67dd3`.

#![allow(clippy::unwrap_used)]

mod aliases;
mod basics;
mod common;
mod cost;
mod crash;
mod meeting;
mod model;
mod processes;
mod promotion;
mod spy;
mod tree;
