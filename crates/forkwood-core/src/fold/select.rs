//! Which entries of a path give messages, and in which order.

use std::collections::{HashMap, HashSet};

use super::FoldRules;
use crate::{Body, Entry, EntryId, Role};

/// Where a message of a context comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source<'a> {
    /// A message, custom message or branch summary entry.
    Entry(&'a Entry),
    /// The summary of a compaction.
    Summary(&'a Entry),
    /// The system message that a compaction carries (Pi 1.x, in the entry's raw record).
    System(&'a Entry),
    /// A message of a compaction's retained tail, by position.
    Tail(&'a Entry, usize),
}

/// One message of a context, before it is put in a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item<'a> {
    /// Where it comes from.
    pub source: Source<'a>,
    /// The `context_edit` that changes it, if one does.
    pub edit: Option<&'a Entry>,
}

impl<'a> Item<'a> {
    /// The entry behind the message.
    pub fn entry(&self) -> &'a Entry {
        match self.source {
            Source::Entry(entry)
            | Source::Summary(entry)
            | Source::System(entry)
            | Source::Tail(entry, _) => entry,
        }
    }
}

/// The position of the compaction that decides the context of a path: the latest one that says
/// what it keeps.
pub fn latest_boundary<E: AsRef<Entry>>(path: &[E]) -> Option<usize> {
    path.iter().rposition(|entry| match &entry.as_ref().body {
        Body::Compaction(compaction) => compaction.is_boundary(),
        _ => false,
    })
}

/// Selects from a path, root first. The path may start later than the root, where everything
/// before is settled by the deciding compaction.
///
/// Linear in the path, whatever the compactions replace.
pub fn select<'a, E: AsRef<Entry>>(path: &'a [E], rules: &FoldRules) -> Vec<Item<'a>> {
    let mut items = Items::default();
    let mut start = 0;
    if let Some(at) = latest_boundary(path)
        && let boundary = path[at].as_ref()
        && let Body::Compaction(compaction) = &boundary.body
    {
        let carries_system = rules.compaction_system_message
            && boundary.extra.iter().any(|(key, _)| *key == "systemMessage");
        if carries_system {
            items.push(Source::System(boundary));
        }
        items.keyed(boundary, Source::Summary(boundary));
        if let Some(tail) = &compaction.retained_tail {
            for position in 0..tail.len() {
                items.push(Source::Tail(boundary, position));
            }
            items.tail = tail.len();
        } else if let Some(first) = &compaction.first_kept_entry_id
            && let Some(kept) = path[..at].iter().position(|entry| entry.as_ref().id == *first)
        {
            for entry in path[kept..at].iter().map(AsRef::as_ref) {
                let replaced = (carries_system || rules.drops_kept_system) && is_system(entry);
                if !replaced && !matches!(entry.body, Body::Compaction(_)) {
                    items.entry(entry, rules);
                }
            }
        }
        start = at + 1;
    }
    for entry in path[start..].iter().map(AsRef::as_ref) {
        match &entry.body {
            Body::Compaction(compaction) => items.replace(entry, &compaction.replaces_entry_ids),
            _ => items.entry(entry, rules),
        }
    }
    let edits = Edits::of(path);
    items
        .list
        .into_iter()
        .flatten()
        .filter_map(|source| {
            let edit = match source {
                Source::Entry(entry) => edits.of_entry(entry),
                // Taken out as a whole; there is nothing else in it to edit.
                Source::Summary(entry) => edits.of_entry(entry).filter(|edit| removes(edit)),
                _ => None,
            };
            let removed = edit.is_some_and(removes);
            (!removed).then_some(Item { source, edit })
        })
        .collect()
}

fn is_system(entry: &Entry) -> bool {
    entry.message().is_some_and(|message| message.role == Role::System)
}

fn removes(edit: &Entry) -> bool {
    matches!(edit.body, Body::ContextEdit { replacement: None, .. })
}

/// The last edit on the path for each target. Only what was said before it can be edited.
struct Edits<'a>(HashMap<&'a EntryId, &'a Entry>);

impl<'a> Edits<'a> {
    fn of<E: AsRef<Entry>>(path: &'a [E]) -> Edits<'a> {
        let mut edits: HashMap<&EntryId, &Entry> = HashMap::new();
        // From the end back: the first edit met for a target is its last one, and an edit that
        // stands before its target is met after it.
        let mut passed: HashSet<&EntryId> = HashSet::new();
        for entry in path.iter().rev().map(AsRef::as_ref) {
            passed.insert(&entry.id);
            if let Body::ContextEdit { target_id, .. } = &entry.body
                && !passed.contains(target_id)
            {
                edits.entry(target_id).or_insert(entry);
            }
        }
        Edits(edits)
    }

    fn of_entry(&self, entry: &Entry) -> Option<&'a Entry> {
        self.0.get(&entry.id).copied()
    }
}

/// The messages so far. A replaced one leaves a hole, so that positions stay what they are.
#[derive(Default)]
struct Items<'a> {
    list: Vec<Option<Source<'a>>>,
    at: HashMap<&'a EntryId, usize>,
    /// How many messages of a retained tail stand behind the summary that they belong to.
    tail: usize,
}

impl<'a> Items<'a> {
    fn push(&mut self, source: Source<'a>) {
        self.list.push(Some(source));
    }

    fn keyed(&mut self, entry: &'a Entry, source: Source<'a>) {
        self.at.insert(&entry.id, self.list.len());
        self.push(source);
    }

    fn entry(&mut self, entry: &'a Entry, rules: &FoldRules) {
        let emits = match &entry.body {
            Body::Message(_) | Body::CustomMessage { .. } => true,
            Body::BranchSummary { summary, .. } => rules.branch_summaries && !summary.is_empty(),
            _ => false,
        };
        if emits {
            self.keyed(entry, Source::Entry(entry));
        }
    }

    /// A compaction that replaces in place: the first of what it replaces that is still there
    /// becomes the summary, the others vanish. None there: the summary goes to the end. The
    /// summary of an earlier compaction is named by its id, and its retained tail goes with it.
    fn replace(&mut self, entry: &'a Entry, replaced: &[EntryId]) {
        let mut first: Option<usize> = None;
        for id in replaced {
            if let Some(at) = self.at.remove(id) {
                let has_tail = matches!(self.list.get(at + 1), Some(Some(Source::Tail(of, 0))) if of.id == *id);
                let end = if has_tail { at + self.tail } else { at };
                self.list[at..=end].fill(None);
                first = Some(first.map_or(at, |first| first.min(at)));
            }
        }
        match first {
            Some(at) => {
                self.list[at] = Some(Source::Summary(entry));
                self.at.insert(&entry.id, at);
            }
            None => self.keyed(entry, Source::Summary(entry)),
        }
    }
}
