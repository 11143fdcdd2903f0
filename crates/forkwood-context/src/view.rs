//! The messages of a context, with the entries behind them.

use forkwood_core::fold::{self, FoldRules};
use forkwood_core::{Entry, EntryId, Message};

use crate::told::lifted;

/// What a model is to see: messages, and the entry behind each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// The messages, oldest first, without the system prompt.
    pub messages: Vec<Message>,
    /// The entry behind each message, in the same order. Empty ids stand where no entry is.
    pub entry_ids: Vec<EntryId>,
}

impl View {
    /// Takes messages and the entries behind them. Missing ids are empty, surplus ones go.
    pub fn new(messages: Vec<Message>, mut entry_ids: Vec<EntryId>) -> View {
        entry_ids.resize_with(messages.len(), || EntryId::new(""));
        View { messages, entry_ids }
    }

    /// Folds a path, root first, or the end of one that settles the context. Calls that stand in
    /// metadata are lifted ([`lift_calls`]).
    ///
    /// [`lift_calls`]: crate::lift_calls
    pub fn from_path(path: &[Entry], rules: &FoldRules) -> View {
        let (messages, entry_ids) = fold::select(path, rules)
            .iter()
            .filter_map(|item| Some((lifted(fold::render(item)?), item.entry().id.clone())))
            .unzip();
        View { messages, entry_ids }
    }

    /// How many messages.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
}
