//! Trees in formats where everything stands on the path: what stands beside it here is put
//! between an entry and what follows it.

use std::collections::HashMap;

use forkwood::{Entry, EntryId};

use super::source::Source;
use super::told::{Told, made_id};

/// What stands last behind each path entry.
#[derive(Debug, Default)]
pub(super) struct Chain {
    stand: HashMap<EntryId, EntryId>,
}

impl Chain {
    /// The entry that what follows a path entry hangs from.
    pub(super) fn behind(&self, entry: Option<&EntryId>) -> Option<EntryId> {
        let entry = entry?;
        Some(self.stand.get(entry).unwrap_or(entry).clone())
    }

    /// Puts one that is no path entry of the source behind a path entry. Gives what it hangs from.
    pub(super) fn put(&mut self, behind: Option<&EntryId>, id: &EntryId) -> Option<EntryId> {
        let behind = behind?;
        let before = self.stand.insert(behind.clone(), id.clone());
        Some(before.unwrap_or_else(|| behind.clone()))
    }
}

/// Messages that an entry carries, as entries behind it.
pub(super) fn copies(
    source: &Source,
    of: &Entry,
    name: &str,
    messages: Vec<Told>,
    chain: &mut Chain,
) -> Vec<Entry> {
    let made = messages.into_iter().enumerate().map(|(at, (_, message))| {
        let id = made_id(source, &[name, of.id.as_str(), &at.to_string()]);
        Entry {
            parent_id: chain.put(Some(&of.id), &id),
            id,
            body: message.into(),
            extra: Vec::new(),
            ..of.clone()
        }
    });
    made.collect()
}

/// The places of the entries, in an order that ends where the source stands: at the entry, or at
/// what hangs beside it. Where the path goes on behind it, only `false` can be said.
pub(super) fn ending_at_leaf(source: &Source) -> (Vec<usize>, bool) {
    let all = 0..source.entries.len();
    let Some(leaf) = &source.leaf else { return (all.collect(), source.entries.is_empty()) };
    let hangs = |at: &usize| source.entries[*at].parent_id.as_ref() == Some(leaf);
    let is_tip = !all.clone().any(|at| hangs(&at) && !source.entries[at].body.is_sidecar());
    if !is_tip {
        return (all.collect(), false);
    }
    let last = |at: &usize| source.entries[*at].id == *leaf || hangs(at);
    let (last, mut order): (Vec<usize>, Vec<usize>) = all.partition(last);
    order.extend(last);
    (order, true)
}

/// For each compaction: the path to it.
pub(super) struct Paths<'s> {
    entries: &'s [Entry],
    at: HashMap<&'s EntryId, usize>,
}

impl<'s> Paths<'s> {
    pub(super) fn of(source: &'s Source) -> Paths<'s> {
        let at = source.entries.iter().enumerate().map(|(at, entry)| (&entry.id, at)).collect();
        Paths { entries: &source.entries, at }
    }

    /// The path to an entry, root first.
    pub(super) fn to(&self, entry: usize) -> Vec<&'s Entry> {
        let mut path = Vec::new();
        let mut next = Some(entry);
        while let Some(here) = next {
            path.push(&self.entries[here]);
            let parent = self.entries[here].parent_id.as_ref();
            next = parent.and_then(|parent| self.at.get(parent).copied()).filter(|up| *up < here);
        }
        path.reverse();
        path
    }
}
