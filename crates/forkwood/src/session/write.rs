//! Writing to a session.

use std::collections::HashSet;

use forkwood_core::entry::SessionInfo;
use forkwood_core::{Body, Draft, EntryId, Json, Lane, Message, Text, Timestamp};
use forkwood_storage::{Append, Appended, Durability, Expect, OnConflict, Rewrite, Rewritten};

use super::Session;
use crate::{Error, ErrorKind, Result};

/// How to append, where it differs from what the session is set to.
#[derive(Clone, Debug, Default)]
pub struct AppendOptions {
    /// Hang the first entry from this one, and not from where the lane stands.
    pub parent: Option<EntryId>,
    /// Write wherever the lane stands, whatever this handle last saw.
    pub any: bool,
    /// Ids for the entries, so that a retry is the same write.
    pub ids: Vec<EntryId>,
    /// Times of the entries, for what was said elsewhere before; the storage's clock for the rest.
    pub times: Vec<Option<Timestamp>>,
    /// How sure the write is before this returns; as the session is set where absent.
    pub durability: Option<Durability>,
    /// What to do when another writer was first.
    pub on_conflict: Option<OnConflict>,
}

impl Session {
    pub(super) fn next_id(&self) -> EntryId {
        self.ids.next_id()
    }

    /// Appends one entry where the lane stands, and moves the lane to it. What stands beside the
    /// path (a label, an operation, an aside) moves nothing and meets no conflict.
    ///
    /// # Errors
    /// `conflict` where another writer was first, `invalid` for what the format cannot hold,
    /// `not_found` where it names an entry that is not there, and those of the storage. After an error nothing was written and the session stands where it
    /// stood.
    pub async fn append(&mut self, body: impl Into<Body>) -> Result<EntryId> {
        let appended = self.append_batch(vec![body.into()], AppendOptions::default()).await?;
        last_id(&appended)
    }

    /// Appends a message: [`Session::append`] under another name.
    ///
    /// # Errors
    /// Those of [`Session::append`].
    pub async fn add_message(&mut self, message: Message) -> Result<EntryId> {
        self.append(message).await
    }

    /// Appends entries, all or none, with options. Gives the entries in the order of `bodies`.
    ///
    /// # Errors
    /// Those of [`Session::append`]; `not_found` where the parent is not there; `exists` where
    /// an id of the caller's is taken by an entry that says something else.
    pub async fn append_batch(
        &mut self,
        bodies: Vec<Body>,
        options: AppendOptions,
    ) -> Result<Appended> {
        if options.ids.len() > bodies.len() {
            return Err(Error::invalid("there are more ids than entries"));
        }
        let ours = options.ids.is_empty();
        let mut drafts = Vec::with_capacity(bodies.len());
        for (at, body) in bodies.into_iter().enumerate() {
            let id = options.ids.get(at).cloned().unwrap_or_else(|| self.next_id());
            let timestamp = options.times.get(at).copied().flatten();
            drafts.push(Draft { timestamp, ..Draft::new(id, body) });
        }
        self.append_drafts(drafts, options, ours).await
    }

    /// Appends drafts. `ours`: their ids were made here, so that a taken one is made anew.
    pub(super) async fn append_drafts(
        &mut self,
        mut drafts: Vec<Draft>,
        options: AppendOptions,
        ours: bool,
    ) -> Result<Appended> {
        if drafts.is_empty() {
            return Err(Error::invalid("there is nothing to append"));
        }
        if let Err(error) = self.prepare(&mut drafts).await {
            // What was there when this handle looked may have gone with a reset: then another
            // writer was first.
            return Err(self.moved_meanwhile(&options).await?.unwrap_or(error));
        }
        // What stands beside the path moves no lane, so that no other writer can be in its way.
        let beside = drafts
            .iter()
            .all(|draft| draft.body.is_sidecar() && !matches!(draft.body, Body::Leaf { .. }));
        // A retry is answered by what is there; it moves no pointer again.
        let leading = match ours || !self.has_all(&options.ids).await? {
            true => self.parent_draft(&options, beside).await?,
            false => None,
        };
        let moved = leading.is_some();
        drafts.splice(0..0, leading);
        let any = options.any || (beside && options.parent.is_none());
        let expect = match (&self.seen, any) {
            (_, true) => Expect::Any,
            (Some(leaf), false) => Expect::At(leaf.clone()),
            (None, false) => Expect::NoLane,
        };
        let append = Append {
            lane: self.lane.clone(),
            drafts,
            expect,
            on_conflict: options.on_conflict.unwrap_or(self.on_conflict),
            durability: options.durability.unwrap_or(self.durability),
        };
        let mut appended = self.write(append, ours).await?;
        appended.entries.drain(..usize::from(moved).min(appended.entries.len()));
        self.lane = appended.lane.clone();
        if appended.repeated {
            // Others may have gone on from there, which this handle may have seen or not.
            if self.current_leaf().await? != self.seen {
                self.seen.clone_from(&appended.leaf);
            }
            return Ok(appended);
        }
        // A write that took the lane as it was does not make this handle see what others wrote.
        let followed = appended.entries.first().is_none_or(|e| e.parent_id == self.seen);
        if !any || moved || followed {
            self.seen.clone_from(&appended.leaf);
        }
        Ok(appended)
    }

    /// Writes; where ids were ours to choose and one was taken, with new ones.
    async fn write(&self, mut append: Append, ours: bool) -> Result<Appended> {
        if !ours {
            return self.storage.append(self.id(), append).await;
        }
        for _ in 0..8 {
            match self.storage.append(self.id(), append.clone()).await {
                Ok(done) if done.repeated => {}
                Err(Error::EntryExists { .. }) => {}
                other => return other,
            }
            let heads = self.heads().await?;
            let mut taken: HashSet<EntryId> = heads.into_iter().map(|head| head.id).collect();
            for draft in &mut append.drafts {
                // A source that repeats itself no further than the log is long comes to an end.
                let fresh = (0..=taken.len()).map(|_| self.next_id());
                let Some(id) = fresh.into_iter().find(|id| !taken.contains(id)) else {
                    break;
                };
                if let Body::Compaction(compaction) = &mut draft.body
                    && compaction.first_kept_entry_id.as_ref() == Some(&draft.id)
                {
                    compaction.first_kept_entry_id = Some(id.clone());
                }
                taken.insert(id.clone());
                draft.id = id;
            }
        }
        Err(Error::invalid("the source of ids gives none that is free"))
    }

    /// Whether entries of these ids are there; with none, no.
    async fn has_all(&self, ids: &[EntryId]) -> Result<bool> {
        if ids.is_empty() {
            return Ok(false);
        }
        Ok(self.storage.get(self.id(), ids).await?.iter().all(Option::is_some))
    }

    /// The pointer move that leads to an explicit parent, if one is needed. What stands beside
    /// the path makes no lane stand anywhere, should it go to a new one.
    async fn parent_draft(&self, options: &AppendOptions, beside: bool) -> Result<Option<Draft>> {
        let Some(parent) = &options.parent else { return Ok(None) };
        let target = self.path_entry(parent).await?;
        if self.seen.as_ref() == Some(&target) && !options.any && !beside {
            return Ok(None);
        }
        Ok(Some(Draft::new(self.next_id(), Body::Leaf { leaf_id: Some(target) })))
    }

    /// The path entry that an id means: itself, or a sidecar's path ancestor.
    async fn path_entry(&self, id: &EntryId) -> Result<EntryId> {
        // What is plainly on the path needs no look at the others.
        if self.is_native() {
            let body = self.get(id).await?.entry.body;
            if !body.is_sidecar() && !matches!(body, Body::Unknown { .. }) {
                return Ok(id.clone());
            }
        }
        self.path_ids(id)
            .await?
            .pop()
            .ok_or_else(|| Error::EntryNotFound { session: self.shown(), entry: id.to_string() })
    }

    /// Moves the lane to an entry. The next append grows a branch there.
    ///
    /// # Errors
    /// `not_found`; `before_floor` where the entry is an ancestor of the one that the latest
    /// compaction on the current path hangs from; `conflict`.
    pub async fn rewind(&mut self, entry: &EntryId) -> Result<()> {
        let target = self.path_entry(entry).await?;
        self.guard_floor(&target).await?;
        self.move_to(target).await
    }

    /// The same, past a compaction too.
    ///
    /// # Errors
    /// `not_found`, `conflict`.
    pub async fn rewind_past_compaction(&mut self, entry: &EntryId) -> Result<()> {
        let target = self.path_entry(entry).await?;
        self.move_to(target).await
    }

    /// Moves the lane to an entry and appends behind it, all or nothing: a crash or an error leaves
    /// the session where it stood. With `past_compaction` before a compaction too. With no
    /// `bodies` it only moves. Gives their ids, in order.
    ///
    /// # Errors
    /// Those of [`Session::rewind`] and [`Session::append`].
    pub async fn rewind_with(
        &mut self,
        entry: &EntryId,
        bodies: Vec<Body>,
        past_compaction: bool,
    ) -> Result<Vec<EntryId>> {
        let target = self.path_entry(entry).await?;
        if !past_compaction {
            self.guard_floor(&target).await?;
        }
        if bodies.is_empty() {
            return self.move_to(target).await.map(|()| Vec::new());
        }
        let options = AppendOptions { parent: Some(target), ..AppendOptions::default() };
        let appended = self.append_batch(bodies, options).await?;
        Ok(appended.entries.into_iter().map(|entry| entry.id).collect())
    }

    /// Whether [`Session::rewind`] would go to an entry: its error, and nothing is written.
    ///
    /// # Errors
    /// `not_found`, `before_floor`.
    pub async fn check_rewind(&self, entry: &EntryId) -> Result<()> {
        let target = self.path_entry(entry).await?;
        self.guard_floor(&target).await
    }

    async fn move_to(&mut self, target: EntryId) -> Result<()> {
        if self.seen.as_ref() == Some(&target) && self.current_leaf().await? == self.seen {
            return Ok(());
        }
        let options = AppendOptions::default();
        self.append_batch(vec![Body::Leaf { leaf_id: Some(target) }], options).await?;
        Ok(())
    }

    /// Makes a lane that stands at an entry, before a compaction too, and leaves this handle
    /// where it is.
    ///
    /// # Errors
    /// `exists` where there is such a lane, `not_found`, `unsupported`.
    pub async fn create_lane(&mut self, lane: Lane, at: &EntryId) -> Result<()> {
        let target = self.path_entry(at).await?;
        let taken =
            |lane: &Lane| Error::LaneExists { session: self.shown(), lane: lane.to_string() };
        if self.storage.facts(self.id()).await?.lanes.iter().any(|state| state.lane == lane) {
            return Err(taken(&lane));
        }
        let append = Append {
            lane: lane.clone(),
            drafts: vec![Draft::new(self.next_id(), Body::Leaf { leaf_id: Some(target) })],
            expect: Expect::NoLane,
            on_conflict: OnConflict::Fail,
            durability: self.durability,
        };
        match self.storage.append(self.id(), append).await {
            Err(error) if error.kind() == ErrorKind::Conflict => Err(taken(&lane)),
            other => other.map(|_| ()),
        }?;
        self.facts = self.storage.facts(self.id()).await?;
        Ok(())
    }

    /// Moves any lane to an entry: a [`Session::rewind`] of that lane.
    ///
    /// # Errors
    /// `not_found` where there is no such lane or entry; `before_floor` where the entry is an
    /// ancestor of the one that the latest compaction on the lane's path hangs from.
    pub async fn move_lane(&mut self, lane: &Lane, to: &EntryId) -> Result<()> {
        let mut other = self.clone();
        other.use_lane(lane.clone()).await?;
        other.rewind(to).await?;
        self.lane_moved(lane).await
    }

    /// The same, past a compaction too.
    ///
    /// # Errors
    /// `not_found` where there is no such lane or entry.
    pub async fn move_lane_past_compaction(&mut self, lane: &Lane, to: &EntryId) -> Result<()> {
        let mut other = self.clone();
        other.use_lane(lane.clone()).await?;
        other.rewind_past_compaction(to).await?;
        self.lane_moved(lane).await
    }

    async fn lane_moved(&mut self, lane: &Lane) -> Result<()> {
        if *lane == self.lane {
            return self.reload().await;
        }
        // What others wrote to the lane of this handle is not seen by moving another one.
        self.facts = self.storage.facts(self.id()).await?;
        Ok(())
    }

    /// Puts a bookmark on an entry, or takes it away with `None`. Moves no lane and meets no
    /// conflict. Gives the id of the label's own entry.
    ///
    /// # Errors
    /// `not_found`, and those of an append.
    pub async fn label(&mut self, entry: &EntryId, label: Option<Text>) -> Result<EntryId> {
        let target = self.path_entry(entry).await?;
        let body = Body::Label { label, target_id: Some(target) };
        let options = AppendOptions { any: true, ..AppendOptions::default() };
        let appended = self.append_batch(vec![body], options).await?;
        last_id(&appended)
    }

    /// Gives the session another title; an empty one clears it. Meets no conflict.
    ///
    /// # Errors
    /// Those of an append.
    pub async fn rename(&mut self, title: impl Into<Text>) -> Result<EntryId> {
        let info = SessionInfo { title: Some(title.into()), ..SessionInfo::default() };
        self.append_info(info).await
    }

    /// Replaces the free metadata of the session, an object, as a whole. `"pinned": true` in it
    /// keeps the session from being pruned.
    ///
    /// # Errors
    /// `invalid` where it is no object; those of an append.
    pub async fn set_metadata(&mut self, metadata: Json) -> Result<EntryId> {
        if metadata.as_object().is_none() {
            return Err(Error::invalid("metadata must be a JSON object"));
        }
        let info = SessionInfo { metadata: Some(metadata), ..SessionInfo::default() };
        self.append_info(info).await
    }

    async fn append_info(&mut self, info: SessionInfo) -> Result<EntryId> {
        let options = AppendOptions { any: true, ..AppendOptions::default() };
        let appended = self.append_batch(vec![Body::SessionInfo(info)], options).await?;
        self.facts = self.storage.facts(self.id()).await?;
        last_id(&appended)
    }

    /// Empties the session: only its header stays, and no floor. The old log goes to the trash.
    ///
    /// # Errors
    /// `read_only`, `unsupported`, `locked`, `io`.
    pub async fn reset(&mut self) -> Result<Rewritten> {
        let done = self.storage.rewrite(self.id(), Rewrite::Reset).await?;
        self.reload().await?;
        Ok(done)
    }

    /// Drops superseded pointer lines and damage; with `prune_branches` also branches that no
    /// lane and no label reaches. The old log is kept.
    ///
    /// # Errors
    /// `read_only`, `unsupported`, `locked`, `io`.
    pub async fn vacuum(&mut self, prune_branches: bool) -> Result<Rewritten> {
        self.rewrite(Rewrite::Vacuum { prune_branches }).await
    }

    /// Repairs what can be repaired without losing anything readable.
    ///
    /// # Errors
    /// `read_only`, `unsupported`, `locked`, `io`.
    pub async fn repair(&mut self) -> Result<Rewritten> {
        self.rewrite(Rewrite::Repair).await
    }

    async fn rewrite(&mut self, rewrite: Rewrite) -> Result<Rewritten> {
        let done = self.storage.rewrite(self.id(), rewrite).await?;
        // What others wrote meanwhile stays unseen, so that the next write tells of it.
        self.facts = self.storage.facts(self.id()).await?;
        Ok(done)
    }
}

pub(super) fn first_id(appended: &Appended) -> Result<EntryId> {
    appended
        .entries
        .first()
        .map(|entry| entry.id.clone())
        .ok_or_else(|| Error::invalid("there was nothing to append"))
}

pub(super) fn last_id(appended: &Appended) -> Result<EntryId> {
    appended
        .entries
        .last()
        .map(|entry| entry.id.clone())
        .ok_or_else(|| Error::invalid("there was nothing to append"))
}
