//! What a model would see.

use forkwood_core::fold::{self, FoldRules};
use forkwood_core::{Entry, EntryId, Message, Settings, Text};
use forkwood_storage::{PathRead, Stored};

/// The context at one entry: its messages, and the entries they come from.
///
/// Holds the part of the path that the context needs, so that it can be put in other shapes.
#[derive(Clone, Debug)]
pub struct Context {
    path: Vec<Stored>,
    rules: FoldRules,
    settings: Option<Settings>,
    messages: Vec<Message>,
    entry_ids: Vec<EntryId>,
}

impl Context {
    /// Folds the end of a path.
    pub fn new(read: PathRead, rules: FoldRules) -> Context {
        let entries: Vec<Entry> = read.entries.iter().map(|stored| stored.entry.clone()).collect();
        let settings = read.before.map(|before| {
            entries.iter().fold(before, |mut settings, entry| {
                settings.apply(entry, &rules);
                settings
            })
        });
        let (messages, entry_ids) = fold::select(&entries, &rules)
            .iter()
            .filter_map(|item| Some((fold::render(item)?, item.entry().id.clone())))
            .unzip();
        Context { path: read.entries, rules, settings, messages, entry_ids }
    }

    /// The messages, in order.
    pub fn messages(&self) -> &[Message] {
        &self.messages
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

    /// The part of the path that was read, root first.
    pub fn path(&self) -> &[Stored] {
        &self.path
    }

    /// The rules by which it was folded.
    pub fn rules(&self) -> &FoldRules {
        &self.rules
    }

    /// The path entry that it was folded at.
    pub fn leaf(&self) -> Option<&EntryId> {
        self.path.last().map(|stored| &stored.entry.id)
    }
}
