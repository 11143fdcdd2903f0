//! The places where an entry names another one: for checking that it is there, and for copying a
//! path under new ids.

use std::collections::HashMap;

use super::{Body, Entry};
use crate::EntryId;

impl Body {
    /// Every entry that this one names, with the field that names it.
    pub fn references(&self) -> Vec<(&'static str, &EntryId)> {
        match self {
            Body::Compaction(compaction) => {
                let first = compaction.first_kept_entry_id.iter();
                let first = first.map(|id| ("compaction.firstKeptEntryId", id));
                let replaced = compaction.replaces_entry_ids.iter();
                first.chain(replaced.map(|id| ("compaction.replacesEntryIds", id))).collect()
            }
            Body::BranchSummary { from_id: Some(id), .. } => vec![("branch_summary.fromId", id)],
            Body::Label { target_id: Some(id), .. } => vec![("label.targetId", id)],
            Body::Leaf { leaf_id: Some(id) } => vec![("leaf.leafId", id)],
            Body::ContextEdit { target_id, .. } => vec![("context_edit.targetId", target_id)],
            _ => Vec::new(),
        }
    }
}

impl Entry {
    /// Puts new ids in the place of old ones, everywhere an entry is named. What names an entry
    /// that `ids` does not hold is left out where the field may be absent, and kept where the
    /// entry would mean nothing without it.
    pub fn remap(&mut self, ids: &HashMap<EntryId, EntryId>) {
        let new = |id: &EntryId| ids.get(id).cloned();
        if let Some(id) = new(&self.id) {
            self.id = id;
        }
        self.parent_id = self.parent_id.as_ref().and_then(new);
        match &mut self.body {
            Body::Compaction(compaction) => {
                compaction.replaces_entry_ids =
                    compaction.replaces_entry_ids.iter().filter_map(new).collect();
                // A kept entry that is not there keeps nothing, which its own id says.
                compaction.first_kept_entry_id = compaction
                    .first_kept_entry_id
                    .as_ref()
                    .map(|first| new(first).unwrap_or_else(|| self.id.clone()));
            }
            Body::BranchSummary { from_id, .. } => *from_id = from_id.as_ref().and_then(new),
            Body::Label { target_id, .. } => *target_id = target_id.as_ref().and_then(new),
            Body::Leaf { leaf_id } => *leaf_id = leaf_id.as_ref().and_then(new),
            Body::ContextEdit { target_id, .. } => {
                if let Some(id) = new(target_id) {
                    *target_id = id;
                }
            }
            _ => {}
        }
    }
}
