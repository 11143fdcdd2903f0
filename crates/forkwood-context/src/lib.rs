//! What leaves a session for a model.
//!
//! Pure, like the fold it builds on: no I/O, no clock, no randomness.

mod pairing;

pub use pairing::{INTERRUPTED, PairChange, Paired, is_paired, pair_tools};
