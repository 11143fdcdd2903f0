//! Where a conversation may be cut: never between a call and its results.

use forkwood_core::{Message, Role};

use crate::pairing;

/// For each position of a conversation, whether it may be cut in front of that message. The end
/// counts as a position too.
#[derive(Clone, Debug)]
pub(crate) struct Cuts {
    /// Whether no pair is parted and no result begins what follows.
    pairs: Vec<bool>,
    /// The same, and what comes before does not end with a call.
    whole: Vec<bool>,
}

impl Cuts {
    /// Linear in the messages. Where results stand apart from their call, all between them is
    /// held together.
    pub(crate) fn of(messages: &[Message]) -> Cuts {
        let mut open_from = vec![0_isize; messages.len() + 2];
        for (call, result) in pairing::pairs(messages) {
            let (first, last) = (call.min(result), call.max(result));
            open_from[first + 1] += 1;
            open_from[last + 1] -= 1;
        }
        let mut open = 0;
        let (pairs, whole) = (0..=messages.len())
            .map(|at| {
                open += open_from[at];
                // A result whose call is gone does not begin anything either.
                let is_result = messages.get(at).is_some_and(|m| m.role == Role::Tool);
                let behind_call = at > 0 && at < messages.len() && has_calls(&messages[at - 1]);
                let parts_no_pair = open == 0 && !is_result;
                (parts_no_pair, parts_no_pair && !behind_call)
            })
            .unzip();
        Cuts { pairs, whole }
    }

    /// Whether it may be cut in front of this message.
    pub(crate) fn is_safe(&self, at: usize) -> bool {
        self.pairs.get(at).copied().unwrap_or(false)
    }

    /// The last position at or before this one that may be cut at, and where what comes before
    /// does not end with a call that still waits for its results.
    pub(crate) fn back(&self, at: usize) -> usize {
        (0..=at.min(self.whole.len() - 1)).rev().find(|at| self.whole[*at]).unwrap_or(0)
    }
}

/// Whether a message calls tools.
pub(crate) fn has_calls(message: &Message) -> bool {
    message.role == Role::Assistant && message.content.tool_calls().next().is_some()
}
