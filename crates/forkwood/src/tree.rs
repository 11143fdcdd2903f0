//! A session tree in memory: pure, no storage, no clock.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use forkwood_core::entry::codec::{self, Reader};
use forkwood_core::fold::FoldRules;
use forkwood_core::{
    Body, CoreError, Entry, EntryId, EntryKind, IdSource, Lane, SessionState, TreeError,
};

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

    /// Adds an entry under `parent`, or where the conversation stands, and moves there.
    ///
    /// # Errors
    /// [`TreeError::NotFound`] where `parent` is not there; [`TreeError::Duplicate`] where the
    /// source gave an id twice.
    pub fn add_entry(
        &mut self,
        body: impl Into<Body>,
        parent: Option<&EntryId>,
    ) -> Result<EntryId, TreeError> {
        let parent_id = match parent {
            Some(parent) if !self.at.contains_key(parent) => {
                return Err(TreeError::NotFound(parent.clone()));
            }
            Some(parent) => Some(parent.clone()),
            None => self.current.clone(),
        };
        let entry = Entry {
            id: self.ids.next_id(),
            parent_id,
            timestamp: None,
            lane: Lane::main(),
            more: 0,
            body: body.into(),
            extra: Vec::new(),
        };
        let id = entry.id.clone();
        self.push(entry)?;
        Ok(id)
    }

    fn push(&mut self, entry: Entry) -> Result<(), TreeError> {
        if self.at.contains_key(&entry.id) {
            return Err(TreeError::Duplicate(entry.id));
        }
        if entry.parent_id.is_none() && self.root.is_none() {
            self.root = Some(entry.id.clone());
        }
        let beside = entry.body.is_sidecar() && entry.parent_id.is_some();
        if !beside {
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

    /// The path from the root to an entry.
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

    /// Moves to an entry. Nothing is removed.
    ///
    /// # Errors
    /// [`TreeError::NotFound`].
    pub fn rewind(&mut self, entry: &EntryId) -> Result<(), TreeError> {
        if !self.at.contains_key(entry) {
            return Err(TreeError::NotFound(entry.clone()));
        }
        self.current = Some(entry.clone());
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

    /// The tree as JSON lines. Where the pointer is not where the last line puts it, a `leaf`
    /// line says so.
    pub fn to_jsonl(&self) -> String {
        let mut out = String::new();
        for entry in &self.entries {
            out.push_str(&codec::encode(entry));
            out.push('\n');
        }
        let implied =
            self.entries.iter().rfind(|e| !(e.body.is_sidecar() && e.parent_id.is_some()));
        if let Some(current) = &self.current
            && implied.map(|entry| &entry.id) != Some(current)
        {
            let leaf = Entry {
                id: EntryId::from(format!("leaf-{}", self.entries.len())),
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

    /// Reads a tree from JSON lines. `leaf` lines move the pointer and are no entries of the
    /// tree. Blank lines are skipped.
    ///
    /// # Errors
    /// [`CoreError::Invalid`] naming the line that is no entry, [`TreeError::Duplicate`] for an
    /// id that comes twice, [`TreeError::MissingParent`] for a parent that is not there.
    pub fn from_jsonl(jsonl: &str, ids: Arc<dyn IdSource>) -> Result<SessionTree, CoreError> {
        let mut tree = SessionTree::new(ids);
        for (number, line) in jsonl.split('\n').enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let entry = codec::decode(line, &mut Reader::lossless()).map_err(|error| {
                CoreError::Invalid {
                    what: format!("line {}", number + 1),
                    problem: error.to_string(),
                }
            })?;
            if entry.kind() == EntryKind::Leaf {
                if let Body::Leaf { leaf_id: Some(target) } = &entry.body {
                    tree.rewind(target)?;
                }
                continue;
            }
            tree.push(entry)?;
        }
        if let Some(orphan) = tree.entries.iter().find_map(|entry| {
            entry.parent_id.as_ref().filter(|parent| !tree.at.contains_key(*parent))
        }) {
            return Err(TreeError::MissingParent(orphan.clone()).into());
        }
        Ok(tree)
    }
}

#[cfg(test)]
mod tests;
