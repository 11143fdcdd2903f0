//! What leaves a session for a model: valid, and within its budget.
//!
//! A [`TurnSnapshot`] freezes system prompt and tools for a turn. Before each request a
//! [`Pipeline`] takes the session's [`View`] and makes it fit, cheapest layer first, on a copy;
//! a summary comes back as a compaction to append. [`TurnSnapshot::provider_input`] and
//! [`ProviderInput::body`] make the request of it.
//!
//! Pure, like the fold it builds on: no I/O, no clock, no randomness. What writes files
//! ([`Spill`]) or asks a model ([`Summariser`]) is passed in.

pub mod branch_summary;
pub mod compaction;
mod config;
mod cuts;
mod error;
pub mod estimate;
pub mod layers;
mod overflow;
mod pairing;
mod pipeline;
mod provider;
mod snapshot;
mod text;
pub mod thinking;
mod told;
mod view;

pub use compaction::{Purpose, Summariser, SummaryError, SummaryReply, SummaryRequest};
pub use config::Config;
pub use error::{Error, Result};
pub use layers::{Layer, Spill, SpillItem};
pub use overflow::{Fault, is_overflow, is_silent_overflow};
pub use pairing::{INTERRUPTED, PairChange, Paired, is_paired, pair_tools};
pub use pipeline::{Input, Pipeline, Prepared};
pub use provider::{
    Api, CallIds, ProviderInput, RequestOptions, says_nothing, sendable_image, wire_name,
};
pub use snapshot::{Resource, ToolSpec, TurnSnapshot};
pub use told::lift_calls;
pub use view::View;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
