//! L1: the middle of the conversation is left out.

use forkwood_core::{EntryId, Message, Role};

use crate::View;
use crate::cuts::Cuts;

/// The numbers of L1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnipConfig {
    /// Conversations longer than this are cut. With the marker, as many are left.
    pub over_messages: usize,
    /// How many messages stay at the beginning.
    pub head: usize,
    /// How many stay at the end.
    pub tail: usize,
}

impl Default for SnipConfig {
    fn default() -> SnipConfig {
        SnipConfig { over_messages: 50, head: 3, tail: 46 }
    }
}

const MARKER: (&str, &str) = ("[snipped ", " messages from conversation middle]");

/// Leaves the middle out. Both cuts move back until they part no call from its results, so that
/// groups of parallel calls stay whole (the rule of my-pi-agent's later versions). The marker of
/// an earlier snip is counted on.
///
/// Returns how many messages were left out now.
pub fn snip(view: &mut View, config: &SnipConfig) -> usize {
    let len = view.messages.len();
    if len <= config.over_messages || config.head.saturating_add(config.tail) >= len {
        return 0;
    }
    let cuts = Cuts::of(&view.messages);
    let head = cuts.back(config.head);
    let tail = cuts.back(len - config.tail);
    cut_out(view, head, tail)
}

/// Puts the marker in the place of `head..tail`.
pub(super) fn cut_out(view: &mut View, head: usize, tail: usize) -> usize {
    if head >= tail {
        return 0;
    }
    let middle = &view.messages[head..tail];
    let (marked, counted): (usize, u64) = middle
        .iter()
        .filter_map(snipped)
        .fold((0, 0), |(count, sum), more| (count + 1, sum.saturating_add(more)));
    let fresh = middle.len() - marked;
    if fresh == 0 && marked <= 1 {
        return 0;
    }
    let text = format!("{}{}{}", MARKER.0, counted.saturating_add(fresh as u64), MARKER.1);
    view.messages.splice(head..tail, [Message::user(text)]);
    view.entry_ids.splice(head..tail, [EntryId::new("")]);
    fresh
}

/// How many messages a marker stands for.
pub(super) fn snipped(message: &Message) -> Option<u64> {
    let forkwood_core::Content::Text(text) = &message.content else { return None };
    let count = text.as_str()?.strip_prefix(MARKER.0)?.strip_suffix(MARKER.1)?;
    count.parse().ok().filter(|_| message.role == Role::User)
}
