//! Entries that hang from another parent in the source than when they were taken.
//!
//! A program may put messages elsewhere when it has read the whole file: behind the summary of a
//! later compaction, or behind a call that was not written yet. What was taken stays where it is,
//! since a log only grows; a copy goes where the entry hangs now, and what follows hangs from
//! that. The id of a copy follows from the entry and its parent, so that it is made once.

use std::collections::HashMap;

use forkwood::{Body, Entry, EntryId, Head};
use sha2::{Digest, Sha256};

/// What was taken before, and copies of it.
pub(super) struct Moved {
    /// The parents of the entries of the path as they were taken.
    taken: HashMap<EntryId, Option<EntryId>>,
    copies: HashMap<EntryId, EntryId>,
}

impl Moved {
    pub(super) fn of(heads: &[Head]) -> Moved {
        let on_path = heads.iter().filter(|head| !head.sidecar);
        Moved {
            taken: on_path.map(|head| (head.id.clone(), head.parent_id.clone())).collect(),
            copies: HashMap::new(),
        }
    }

    /// The copy of an entry, where there is one, else itself.
    pub(super) fn now(&self, id: EntryId) -> EntryId {
        self.copies.get(&id).cloned().unwrap_or(id)
    }

    /// The id of the copy that an entry needs: where it was taken below another parent. `root`
    /// stands for none.
    pub(super) fn copy(
        &self,
        entry: &Entry,
        parent: Option<&EntryId>,
        root: &EntryId,
    ) -> Option<EntryId> {
        let before = self.taken.get(&entry.id)?.as_ref()?;
        let parent = parent.unwrap_or(root);
        if before == parent || entry.body.is_sidecar() {
            return None;
        }
        let hash = Sha256::digest(parent.as_str());
        let digits: String = hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        Some(EntryId::from(format!("{}~{digits}", entry.id)))
    }

    /// Remembers that an entry is the copy of another one, and lets it name itself so.
    pub(super) fn note(&mut self, entry: &mut Entry, of: EntryId) {
        if let Body::Compaction(compaction) = &mut entry.body
            && let Some(first) = &mut compaction.first_kept_entry_id
        {
            *first = if *first == of { entry.id.clone() } else { self.now(first.clone()) };
        }
        self.copies.insert(of, entry.id.clone());
    }
}
