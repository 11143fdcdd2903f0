//! Rolling summaries (L4).

mod summariser;

pub use summariser::{Purpose, Summariser, SummaryError, SummaryReply, SummaryRequest};
