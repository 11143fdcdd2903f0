//! Compactions and their floor.

use forkwood_core::entry::{Compaction, CompactionState};
use forkwood_core::{Body, Draft, EntryId, EntryKind};
use forkwood_storage::{FloorRule, Head, Stored};

use super::write::first_id;
use super::{AppendOptions, Session};
use crate::{Error, Result};

impl Session {
    /// Appends a compaction. Where it says nothing of what it keeps, it keeps nothing. The
    /// settings as they are here are recorded, so that a reader can stop at it.
    ///
    /// # Errors
    /// `invalid` where the entry it keeps from is not on the path; those of an append.
    pub async fn add_compaction(&mut self, compaction: Compaction) -> Result<EntryId> {
        self.add_compaction_with(compaction, Vec::new()).await
    }

    /// The same, with more entries behind it, all or none. Gives the id of the compaction.
    ///
    /// # Errors
    /// Those of [`Session::add_compaction`].
    pub async fn add_compaction_with(
        &mut self,
        mut compaction: Compaction,
        more: Vec<Body>,
    ) -> Result<EntryId> {
        let id = self.next_id();
        if !compaction.is_boundary() && compaction.replaces_entry_ids.is_empty() {
            compaction.first_kept_entry_id = Some(id.clone());
        }
        // Where the leaf went with a reset by another writer, the append tells of the conflict.
        if let Some(leaf) = self.leaf().cloned()
            && self.storage.get(self.id(), std::slice::from_ref(&leaf)).await?[0].is_some()
        {
            if let Some(first) = &compaction.first_kept_entry_id
                && *first != id
                && !self.path_ids(&leaf).await?.contains(first)
            {
                return Err(Error::invalid(format!(
                    "firstKeptEntryId {first} is not on the path to {leaf}"
                )));
            }
            if compaction.state.is_none() {
                let settings = self.settings(&leaf).await?;
                compaction.state = Some(CompactionState {
                    model: settings.model,
                    provider: settings.provider,
                    thinking_level: settings.thinking_level,
                    active_tool_names: settings.active_tool_names,
                });
            }
        }
        let more = more.into_iter().map(|body| Draft::new(self.next_id(), body));
        let drafts = [Draft::new(id, compaction)].into_iter().chain(more).collect();
        let appended = self.append_drafts(drafts, AppendOptions::default(), true).await?;
        first_id(&appended)
    }

    /// The latest compaction on the current path.
    ///
    /// # Errors
    /// Where the log cannot be read.
    pub async fn latest_compaction(&self) -> Result<Option<Stored>> {
        let heads = self.heads().await?;
        let Some(leaf) = self.current_leaf().await? else { return Ok(None) };
        let path = self.path_ids(&leaf).await?;
        match latest_on(&heads, &path, self.strict_floor()) {
            Some(id) => self.get(&id).await.map(Some),
            None => Ok(None),
        }
    }

    fn strict_floor(&self) -> bool {
        matches!(self.facts.floor, FloorRule::Strict(_))
    }

    /// The entry that rewinds are held to, if one is: the parent of the latest compaction on the
    /// current path.
    ///
    /// # Errors
    /// Where the log cannot be read.
    pub async fn compaction_floor(&self) -> Result<Option<EntryId>> {
        match &self.facts.floor {
            FloorRule::None => return Ok(None),
            FloorRule::Strict(Some(floor)) => return Ok(Some(floor.clone())),
            FloorRule::Strict(None) | FloorRule::Guard => {}
        }
        Ok(self.latest_compaction().await?.and_then(|stored| stored.entry.parent_id))
    }

    /// Refuses a target that lies before the floor.
    pub(super) async fn guard_floor(&self, target: &EntryId) -> Result<()> {
        let Some(floor) = self.compaction_floor().await? else { return Ok(()) };
        if *target == floor {
            return Ok(());
        }
        let before = match self.facts.floor {
            FloorRule::Strict(_) => !self.path_ids(target).await?.contains(&floor),
            _ => match self.path_ids(&floor).await {
                Ok(path) => path.contains(target),
                Err(_) => false,
            },
        };
        if before {
            return Err(Error::BeforeFloor { session: self.shown(), entry: target.clone(), floor });
        }
        Ok(())
    }
}

/// The last compaction that stands on the path, or (my-pi-agent) hangs from an entry of it.
fn latest_on(heads: &[Head], path: &[EntryId], beside: bool) -> Option<EntryId> {
    let on: std::collections::HashSet<&EntryId> = path.iter().collect();
    heads
        .iter()
        .rfind(|head| {
            head.kind == EntryKind::Compaction
                && (on.contains(&head.id)
                    || (beside && head.parent_id.as_ref().is_some_and(|p| on.contains(p))))
        })
        .map(|head| head.id.clone())
}
