//! Sessions written in other formats, and read back.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod compare;
mod fixtures;
mod generate;
mod golden;
mod placed;
mod requests;
mod round_trip;
mod world;
