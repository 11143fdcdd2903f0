//! PicoClaw's folders: read, written in place, migrated.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cases;
mod crash;
mod fallback;
mod folder;
mod messages;
mod migration;
mod upstream;
mod world;
