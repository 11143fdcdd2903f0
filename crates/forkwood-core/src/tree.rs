//! Algorithms on a tree given by parent links. Strict, iterative, no I/O.
//!
//! They refuse damage with a typed error; a reader of files settles damage first
//! (see [`crate::settle`]) and then builds a tree that these accept.

use std::collections::{HashMap, HashSet};

use thiserror::Error;

use crate::{Entry, EntryId};

/// Anything with an id and a parent.
pub trait Node {
    /// Its id.
    fn id(&self) -> &EntryId;
    /// The id of its parent; `None` for a root.
    fn parent_id(&self) -> Option<&EntryId>;
}

impl Node for Entry {
    fn id(&self) -> &EntryId {
        &self.id
    }
    fn parent_id(&self) -> Option<&EntryId> {
        self.parent_id.as_ref()
    }
}

impl<N: Node> Node for &N {
    fn id(&self) -> &EntryId {
        (*self).id()
    }
    fn parent_id(&self) -> Option<&EntryId> {
        (*self).parent_id()
    }
}

/// Why a tree algorithm refused.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum TreeError {
    /// Two entries have one id.
    #[error("Duplicate entry id: {0}")]
    Duplicate(EntryId),
    /// The entry asked for is not there.
    #[error("Entry {0} not found")]
    NotFound(EntryId),
    /// Parent links form a ring.
    #[error("Cycle detected at entry {0}")]
    Cycle(EntryId),
    /// An entry names a parent that is not there.
    #[error("Missing parent entry: {0}")]
    MissingParent(EntryId),
}

impl TreeError {
    /// The kind, stable across versions.
    pub fn kind(&self) -> &'static str {
        match self {
            TreeError::Duplicate(_) => "duplicate",
            TreeError::NotFound(_) => "not_found",
            TreeError::Cycle(_) => "cycle",
            TreeError::MissingParent(_) => "missing_parent",
        }
    }
}

/// Entries by id.
pub type ById<'a, N> = HashMap<&'a EntryId, &'a N>;

/// Indexes entries by id.
///
/// # Errors
/// [`TreeError::Duplicate`] for the first id that comes twice.
pub fn entries_by_id<N: Node>(entries: &[N]) -> Result<ById<'_, N>, TreeError> {
    let mut by_id = HashMap::with_capacity(entries.len());
    for entry in entries {
        if by_id.insert(entry.id(), entry).is_some() {
            return Err(TreeError::Duplicate(entry.id().clone()));
        }
    }
    Ok(by_id)
}

/// The path from the root to `leaf`, both included.
///
/// # Errors
/// [`TreeError::NotFound`] where `leaf` is not there, [`TreeError::Cycle`] and
/// [`TreeError::MissingParent`] where the links lead nowhere.
pub fn path_to_entry<'a, N: Node>(
    by_id: &ById<'a, N>,
    leaf: &EntryId,
) -> Result<Vec<&'a N>, TreeError> {
    if !by_id.contains_key(leaf) {
        return Err(TreeError::NotFound(leaf.clone()));
    }
    let mut path = Vec::new();
    let mut seen: HashSet<&EntryId> = HashSet::new();
    let mut current = Some(leaf);
    while let Some(id) = current {
        let Some((&key, &entry)) = by_id.get_key_value(id) else {
            return Err(TreeError::MissingParent(id.clone()));
        };
        if !seen.insert(key) {
            return Err(TreeError::Cycle(id.clone()));
        }
        path.push(entry);
        current = entry.parent_id();
    }
    path.reverse();
    Ok(path)
}

/// The deepest entry on both root paths; an entry is its own ancestor. `None` where the two
/// have no root in common.
///
/// # Errors
/// Those of [`path_to_entry`].
pub fn lowest_common_ancestor<'a, N: Node>(
    by_id: &ById<'a, N>,
    a: &EntryId,
    b: &EntryId,
) -> Result<Option<&'a N>, TreeError> {
    let left = path_to_entry(by_id, a)?;
    let right = path_to_entry(by_id, b)?;
    let shared = left.iter().zip(&right).take_while(|(l, r)| l.id() == r.id()).last();
    Ok(shared.map(|(entry, _)| *entry))
}

/// The children of every entry, in the order given; roots stand under `None`.
pub fn children<N: Node>(entries: &[N]) -> HashMap<Option<&EntryId>, Vec<&N>> {
    let mut out: HashMap<Option<&EntryId>, Vec<&N>> = HashMap::new();
    for entry in entries {
        out.entry(entry.parent_id()).or_default().push(entry);
    }
    out
}

#[cfg(test)]
mod tests;
