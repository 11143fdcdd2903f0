//! Tools that come with the crate.
