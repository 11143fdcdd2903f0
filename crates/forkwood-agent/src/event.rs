//! What an agent tells while it works.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use forkwood::EntryId;

use crate::{ProviderError, ToolCall, ToolOutput, Usage};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AgentEvent {
    /// A turn of the model begins.
    TurnStarted {
        /// Which one of the run, from 1 on.
        turn: u32,
        /// The model.
        model: String,
        /// Its provider.
        provider: String,
    },
    /// More text of the answer.
    Text(String),
    /// More of what the model thinks.
    Thinking(String),
    /// The provider failed; what it said of this turn so far does not count.
    Retrying {
        /// Which retry, from 1 on.
        attempt: usize,
        /// After how long.
        wait: Duration,
        /// What went wrong.
        error: ProviderError,
    },
    /// A message is in the session.
    Saved {
        /// Its entry.
        entry: EntryId,
        /// What it cost, where it is an answer and the provider said so.
        usage: Option<Usage>,
    },
    /// A tool starts.
    ToolStarted(ToolCall),
    /// A tool has ended, and its result is in the session.
    ToolFinished {
        /// The call.
        call: ToolCall,
        /// The result.
        output: ToolOutput,
    },
    /// The context was compacted.
    Compacted {
        /// The entry of the compaction.
        entry: EntryId,
    },
    /// Something that does not stop the run.
    Warning(String),
}

type Sink = Arc<dyn Fn(AgentEvent) + Send + Sync>;

/// Who is told.
#[derive(Clone, Default)]
pub struct Events(Option<Sink>);

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Events(..)" } else { "Events(none)" })
    }
}

impl Events {
    /// Tells a function. It must not block.
    pub fn to(sink: impl Fn(AgentEvent) + Send + Sync + 'static) -> Events {
        Events(Some(Arc::new(sink)))
    }

    pub(crate) fn tell(&self, event: AgentEvent) {
        if let Some(sink) = &self.0 {
            sink(event);
        }
    }
}
