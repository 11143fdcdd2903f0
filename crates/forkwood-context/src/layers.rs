//! The layers that need no model: L3, L1, L2, and the last resort.
//!
//! Each works alone, on the view that it is given, which is a copy.

mod fit;
mod micro;
mod snip;
mod spill;

pub use fit::fit;
pub use micro::{MicroConfig, micro};
pub use snip::{SnipConfig, snip};
pub use spill::{Spill, SpillConfig, SpillItem, spill};

/// A layer of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// L3: long outputs of tools are put into files.
    Spill,
    /// L1: the middle of the conversation is left out.
    Snip,
    /// L2: all but the last results of tools are left out.
    Micro,
    /// L4: a model sums up what came before.
    Summary,
    /// Whatever is still over the budget is cut, so that the request can be sent at all.
    Fit,
}

impl Layer {
    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Layer::Spill => "spill",
            Layer::Snip => "snip",
            Layer::Micro => "micro",
            Layer::Summary => "summary",
            Layer::Fit => "fit",
        }
    }
}

#[cfg(test)]
mod tests;
