//! A session tree in memory: pure, no storage, no clock.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use forkwood_core::entry::codec::{self, Reader};
use forkwood_core::fold::FoldRules;
use forkwood_core::{Body, CoreError, Entry, EntryId, IdSource, Lane, SessionState, TreeError};

/// A tree of entries with a pointer to where the conversation stands.
///
/// ```
/// use std::sync::Arc;
/// use forkwood::{Message, Sequential, SessionTree};
///
/// let mut tree = SessionTree::new(Arc::new(Sequential::new("e")));
/// let question = tree.add_entry(Message::user("plan A"), None).unwrap();
/// tree.add_entry(Message::assistant("A it is"), None).unwrap();
/// tree.rewind(&question).unwrap();
/// tree.add_entry(Message::assistant("rather B"), None).unwrap();
/// assert_eq!(tree.current_path().len(), 2);
/// assert_eq!(tree.entries().len(), 3);
/// ```
#[derive(Clone)]
pub struct SessionTree {
    entries: Vec<Entry>,
    at: HashMap<EntryId, usize>,
    current: Option<EntryId>,
    root: Option<EntryId>,
    ids: Arc<dyn IdSource>,
}

impl fmt::Debug for SessionTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionTree")
            .field("entries", &self.entries.len())
            .field("current", &self.current)
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}

impl SessionTree {
    /// An empty tree that takes its ids from `ids`.
    pub fn new(ids: Arc<dyn IdSource>) -> SessionTree {
        SessionTree { entries: Vec::new(), at: HashMap::new(), current: None, root: None, ids }
    }

    /// Every entry, in the order added.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// An entry by id.
    pub fn get(&self, id: &EntryId) -> Option<&Entry> {
        self.at.get(id).map(|&at| &self.entries[at])
    }

    /// Where the conversation stands.
    pub fn current_id(&self) -> Option<&EntryId> {
        self.current.as_ref()
    }

    /// The first root.
    pub fn root_id(&self) -> Option<&EntryId> {
        self.root.as_ref()
    }

    /// Adds an entry under `parent`, or where the conversation stands, and moves there. What
    /// stands beside the path (a label, say) moves nothing. A `leaf` is no entry: it moves the
    /// pointer, as [`SessionTree::rewind`] does, and its target is given back.
    ///
    /// # Errors
    /// [`TreeError::NotFound`] where `parent` is not there; [`TreeError::Duplicate`] where the
    /// source of ids gives none that is free.
    pub fn add_entry(
        &mut self,
        body: impl Into<Body>,
        parent: Option<&EntryId>,
    ) -> Result<EntryId, TreeError> {
        let body = body.into();
        let parent_id = match parent {
            Some(parent) => Some(self.path_entry(parent)?),
            None => self.current.clone(),
        };
        if let Body::Leaf { leaf_id } = body {
            let target = leaf_id.unwrap_or_else(|| EntryId::new("null"));
            self.rewind(&target)?;
            return Ok(target);
        }
        let id = self.free_id()?;
        self.push(Entry {
            id: id.clone(),
            parent_id,
            timestamp: None,
            lane: Lane::main(),
            more: 0,
            body,
            extra: Vec::new(),
        })?;
        Ok(id)
    }

    /// The next id that no entry has: a source that counts from the start again is followed
    /// until it is past what was read.
    fn free_id(&self) -> Result<EntryId, TreeError> {
        let mut id = self.ids.next_id();
        for _ in 0..self.entries.len() {
            if !self.at.contains_key(&id) {
                break;
            }
            id = self.ids.next_id();
        }
        match self.at.contains_key(&id) {
            true => Err(TreeError::Duplicate(id)),
            false => Ok(id),
        }
    }

    /// The entry itself, or for what stands beside the path its nearest ancestor on it.
    fn path_entry(&self, id: &EntryId) -> Result<EntryId, TreeError> {
        let path = self.path_to(id)?;
        let on_path = path.iter().rev().find(|entry| !beside(entry));
        Ok(on_path.map_or_else(|| id.clone(), |entry| entry.id.clone()))
    }

    fn push(&mut self, entry: Entry) -> Result<(), TreeError> {
        if self.at.contains_key(&entry.id) {
            return Err(TreeError::Duplicate(entry.id));
        }
        if entry.parent_id.is_none() && self.root.is_none() {
            self.root = Some(entry.id.clone());
        }
        if !beside(&entry) && entry.lane.is_main() {
            self.current = Some(entry.id.clone());
        }
        self.at.insert(entry.id.clone(), self.entries.len());
        self.entries.push(entry);
        Ok(())
    }

    /// The path from the root to where the conversation stands.
    pub fn current_path(&self) -> Vec<&Entry> {
        self.current.as_ref().and_then(|current| self.path_to(current).ok()).unwrap_or_default()
    }

    /// The path from the root to an entry, both included.
    ///
    /// # Errors
    /// Those of [`forkwood_core::tree::path_to_entry`].
    pub fn path_to(&self, entry: &EntryId) -> Result<Vec<&Entry>, TreeError> {
        let mut path = Vec::new();
        let mut next = Some(entry);
        while let Some(id) = next {
            let Some(found) = self.get(id) else {
                return Err(match path.is_empty() {
                    true => TreeError::NotFound(id.clone()),
                    false => TreeError::MissingParent(id.clone()),
                });
            };
            // Not reached: what is added or read has its parents, and no ring.
            if path.len() == self.entries.len() {
                return Err(TreeError::Cycle(id.clone()));
            }
            path.push(found);
            next = found.parent_id.as_ref();
        }
        path.reverse();
        Ok(path)
    }

    /// The children of an entry, in the order added.
    pub fn children(&self, entry: &EntryId) -> Vec<&Entry> {
        self.entries.iter().filter(|child| child.parent_id.as_ref() == Some(entry)).collect()
    }

    /// Moves to an entry; at one that stands beside the path, to its nearest ancestor on it.
    /// Nothing is removed.
    ///
    /// # Errors
    /// [`TreeError::NotFound`].
    pub fn rewind(&mut self, entry: &EntryId) -> Result<(), TreeError> {
        self.current = Some(self.path_entry(entry)?);
        Ok(())
    }

    /// What a model sees where the conversation stands.
    ///
    /// # Errors
    /// Those of the tree algorithms.
    pub fn state(&self) -> Result<SessionState, TreeError> {
        match &self.current {
            Some(current) => SessionState::from_entries(&self.entries, Some(current)),
            None => Ok(SessionState::from_path(&[], &[], &FoldRules::NATIVE)),
        }
    }

    /// The tree as JSON lines, LF-ended. Where the pointer is not where the last line puts it, a
    /// `leaf` line says so.
    pub fn to_jsonl(&self) -> String {
        let mut out = String::new();
        for entry in &self.entries {
            out.push_str(&codec::encode(entry));
            out.push('\n');
        }
        let implied = self.entries.iter().rfind(|entry| !beside(entry) && entry.lane.is_main());
        if let Some(current) = &self.current
            && implied.map(|entry| &entry.id) != Some(current)
        {
            let leaf = Entry {
                id: self.leaf_line_id(),
                parent_id: implied.map(|entry| entry.id.clone()),
                timestamp: None,
                lane: Lane::main(),
                more: 0,
                body: Body::Leaf { leaf_id: Some(current.clone()) },
                extra: Vec::new(),
            };
            out.push_str(&codec::encode(&leaf));
            out.push('\n');
        }
        out
    }

    /// An id that no entry has.
    fn leaf_line_id(&self) -> EntryId {
        let mut id = EntryId::from(format!("leaf-{}", self.entries.len()));
        while self.at.contains_key(&id) {
            id = EntryId::from(format!("{id}-"));
        }
        id
    }

    /// Reads a tree from JSON lines. `leaf` lines move the pointer and are no entries of the
    /// tree: their children have the entry that they left as parent. The pointer is that of the
    /// lane `main`. Blank lines are skipped.
    ///
    /// # Errors
    /// [`CoreError::Invalid`] naming the line that is no entry, [`TreeError::Duplicate`] for an
    /// id that comes twice, [`TreeError::NotFound`] for a `leaf` that names no entry before it,
    /// [`TreeError::MissingParent`] for a parent that is not there, [`TreeError::Cycle`] for a
    /// ring.
    pub fn from_jsonl(jsonl: &str, ids: Arc<dyn IdSource>) -> Result<SessionTree, CoreError> {
        let mut tree = SessionTree::new(ids);
        let mut left: HashMap<EntryId, Option<EntryId>> = HashMap::new();
        for (number, line) in jsonl.split('\n').enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let mut entry = codec::decode(line, &mut Reader::lossless()).map_err(|error| {
                CoreError::Invalid {
                    what: format!("line {}", number + 1),
                    problem: error.to_string(),
                }
            })?;
            if let Some(over) = entry.parent_id.as_ref().and_then(|parent| left.get(parent)) {
                entry.parent_id.clone_from(over);
            }
            let Body::Leaf { leaf_id } = &entry.body else {
                tree.push(entry)?;
                continue;
            };
            if let Some(target) = leaf_id {
                if !tree.at.contains_key(target) {
                    return Err(TreeError::NotFound(target.clone()).into());
                }
                if entry.lane.is_main() {
                    tree.current = Some(target.clone());
                }
            }
            left.insert(entry.id, entry.parent_id);
        }
        tree.check_links()?;
        if let Some(current) = tree.current.take() {
            tree.current = Some(tree.path_entry(&current)?);
        }
        Ok(tree)
    }

    /// Every parent is there, and no ring.
    fn check_links(&self) -> Result<(), TreeError> {
        // Each walk towards a root has a number; meeting the own one is a ring.
        let mut walk_of = vec![0usize; self.entries.len()];
        for start in 0..self.entries.len() {
            let mut at = start;
            while walk_of[at] == 0 {
                walk_of[at] = start + 1;
                let Some(parent) = &self.entries[at].parent_id else { break };
                let Some(&up) = self.at.get(parent) else {
                    return Err(TreeError::MissingParent(parent.clone()));
                };
                if walk_of[up] == start + 1 {
                    return Err(TreeError::Cycle(parent.clone()));
                }
                at = up;
            }
        }
        Ok(())
    }
}

/// Whether an entry stands beside the path. A root never does.
fn beside(entry: &Entry) -> bool {
    entry.body.is_sidecar() && entry.parent_id.is_some()
}

#[cfg(test)]
mod tests;
