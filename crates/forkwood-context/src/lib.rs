//! What leaves a session for a model.
//!
//! Pure, like the fold it builds on: no I/O, no clock, no randomness.

mod pairing;

pub use pairing::{PairChange, Paired, pair_tools};
