//! What a compaction keeps, said as Pi says it.

use forkwood_core::fold::{Source, select};
use forkwood_core::{Body, Entry, EntryId, FoldRules};

/// What Pi has to be told so that its context is the one of `rules`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It names what it keeps already.
    AsItSays,
    /// It keeps what begins at this entry; its own id: nothing.
    From(EntryId),
    /// What it keeps is no unbroken end of what stands before it.
    CannotSay,
}

/// What the compaction at a position of a path keeps. Pi knows only one that puts its summary
/// first and then an unbroken end of the path; one that replaces in place may be that.
pub(crate) fn kept(path: &[Entry], at: usize, rules: &FoldRules) -> Kept {
    let Some(Entry { id, body: Body::Compaction(compaction), .. }) = path.get(at) else {
        return Kept::AsItSays;
    };
    if compaction.is_boundary() {
        return Kept::AsItSays;
    }
    let before = select(&path[..at], rules);
    let replaced = |id: &EntryId| compaction.replaces_entry_ids.contains(id);
    let gone = before.iter().take_while(|item| replaced(&item.entry().id)).count();
    let rest = &before[gone..];
    let unbroken =
        rest.iter().all(|item| matches!(item.source, Source::Entry(entry) if !replaced(&entry.id)));
    match rest.first() {
        None => Kept::From(id.clone()),
        Some(first) if gone > 0 && unbroken => Kept::From(first.entry().id.clone()),
        Some(_) => Kept::CannotSay,
    }
}
