//! What a model would see.

use forkwood_core::fold::{self, FoldRules};
use forkwood_core::{Diagnostic, Entry, EntryId, Message, Settings, Text};
use forkwood_storage::PathRead;

/// The context at one entry: its messages, and the entries they come from.
///
/// The messages stand here and nowhere else: what was read for them is given up. For another
/// shape of them, see [`Session::context_path`](crate::Session::context_path).
#[derive(Clone, Debug)]
pub struct Context {
    rules: FoldRules,
    settings: Option<Settings>,
    leaf: Option<EntryId>,
    messages: Vec<Message>,
    entry_ids: Vec<EntryId>,
    diagnostics: Vec<Diagnostic>,
}

impl Context {
    /// Folds the end of a path.
    pub fn new(read: PathRead, rules: FoldRules) -> Context {
        let entries: Vec<Entry> = read.entries.into_iter().map(|stored| stored.entry).collect();
        let settings = read.before.map(|before| {
            entries.iter().fold(before, |mut settings, entry| {
                settings.apply(entry, &rules);
                settings
            })
        });
        let leaf = entries.last().map(|entry| entry.id.clone());
        let (messages, entry_ids) = fold::into_messages(entries, &rules);
        Context { rules, settings, leaf, messages, entry_ids, diagnostics: Vec::new() }
    }

    /// The messages, in order.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The messages and the entries behind them, given away.
    pub fn into_parts(self) -> (Vec<Message>, Vec<EntryId>) {
        (self.messages, self.entry_ids)
    }

    /// What the messages lack: blobs that are not in the store.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Takes note of the blobs that messages lack, by the places of these.
    pub(crate) fn lacks(&mut self, blobs: &[(usize, String)]) {
        let found = blobs.iter().filter_map(|(at, name)| {
            self.entry_ids.get(*at).map(|entry| crate::blobs::missing(entry.clone(), name))
        });
        self.diagnostics = found.collect();
    }

    pub(crate) fn messages_mut(&mut self) -> &mut Vec<Message> {
        &mut self.messages
    }

    /// The entry behind each message.
    pub fn entry_ids(&self) -> &[EntryId] {
        &self.entry_ids
    }

    /// Model, thinking level and tools; `None` where the part that was read does not settle
    /// them. [`Session::settings`](crate::Session::settings) then reads more.
    pub fn settings(&self) -> Option<&Settings> {
        self.settings.as_ref()
    }

    /// The model that answers, as far as the part that was read tells.
    pub fn model(&self) -> Option<&Text> {
        self.settings.as_ref()?.model.as_ref()
    }

    /// The rules by which it was folded.
    pub fn rules(&self) -> &FoldRules {
        &self.rules
    }

    /// The path entry that it was folded at.
    pub fn leaf(&self) -> Option<&EntryId> {
        self.leaf.as_ref()
    }
}
