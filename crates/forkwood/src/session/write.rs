//! Writing to a session.

use forkwood_core::entry::SessionInfo;
use forkwood_core::{Body, Draft, EntryId, Json, Lane, Message, Text};
use forkwood_storage::{Append, Appended, Durability, Expect, OnConflict, Rewrite, Rewritten};

use super::Session;
use crate::{Error, ErrorKind, Result, blobs};

/// How to append, where it differs from what the session is set to.
#[derive(Clone, Debug, Default)]
pub struct AppendOptions {
    /// Hang the first entry from this one, and not from where the lane stands.
    pub parent: Option<EntryId>,
    /// Write wherever the lane stands, whatever this handle last saw.
    pub any: bool,
    /// Ids for the entries, so that a retry is the same write.
    pub ids: Vec<EntryId>,
    /// How sure.
    pub durability: Option<Durability>,
    /// What to do when another writer was first.
    pub on_conflict: Option<OnConflict>,
}

impl Session {
    pub(super) fn next_id(&self) -> EntryId {
        self.ids.next_id()
    }

    /// Appends one entry where the lane stands, and moves the lane to it.
    ///
    /// # Errors
    /// `conflict` where another writer was first, and those of the storage. After an error
    /// nothing was written and the session stands where it stood.
    pub async fn append(&mut self, body: impl Into<Body>) -> Result<EntryId> {
        let id = self.next_id();
        self.append_as(id, body.into()).await
    }

    pub(super) async fn append_as(&mut self, id: EntryId, body: Body) -> Result<EntryId> {
        let options = AppendOptions { ids: vec![id], ..AppendOptions::default() };
        let appended = self.append_batch(vec![body], options).await?;
        last_id(&appended)
    }

    /// Appends a message of text.
    ///
    /// # Errors
    /// Those of [`Session::append`].
    pub async fn add_message(&mut self, message: Message) -> Result<EntryId> {
        self.append(message).await
    }

    /// Appends entries, all or none, with options.
    ///
    /// # Errors
    /// Those of [`Session::append`]; `not_found` where the parent is not there.
    pub async fn append_batch(
        &mut self,
        bodies: Vec<Body>,
        options: AppendOptions,
    ) -> Result<Appended> {
        let (mut drafts, leading) = self.parent_draft(&options).await?;
        for (at, mut body) in bodies.into_iter().enumerate() {
            if self.facts.dialect == "native" {
                blobs::store(self.storage.as_ref(), &mut body).await?;
            }
            let id = options.ids.get(at).cloned().unwrap_or_else(|| self.next_id());
            drafts.push(Draft::new(id, body));
        }
        let expect = match (&self.seen, options.any) {
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
        let mut appended = self.write(append, options.ids.is_empty()).await?;
        appended.entries.drain(..leading.min(appended.entries.len()));
        self.lane = appended.lane.clone();
        // A write that took the lane as it was does not make this handle see what others wrote.
        let followed = appended.entries.first().is_none_or(|e| e.parent_id == self.seen);
        if !options.any || leading > 0 || followed {
            self.seen.clone_from(&appended.leaf);
        }
        Ok(appended)
    }

    /// Writes; where ids were ours to choose and are so short that one was taken, with new ones.
    async fn write(&self, append: Append, ours: bool) -> Result<Appended> {
        let mut append = append;
        let mut tries = 0;
        loop {
            match self.storage.append(self.id(), append.clone()).await {
                Err(Error::EntryExists { .. }) if ours && tries < 100 => {
                    tries += 1;
                    for draft in &mut append.drafts {
                        draft.id = self.next_id();
                    }
                }
                other => return other,
            }
        }
    }

    /// The pointer move that leads to an explicit parent, and how many drafts it takes.
    async fn parent_draft(&self, options: &AppendOptions) -> Result<(Vec<Draft>, usize)> {
        let Some(parent) = &options.parent else { return Ok((Vec::new(), 0)) };
        let target = self.path_entry(parent).await?;
        if self.seen.as_ref() == Some(&target) && !options.any {
            return Ok((Vec::new(), 0));
        }
        let leaf = Draft::new(self.next_id(), Body::Leaf { leaf_id: Some(target) });
        Ok((vec![leaf], 1))
    }

    /// The path entry that an id means: itself, or a sidecar's path ancestor.
    async fn path_entry(&self, id: &EntryId) -> Result<EntryId> {
        self.path_ids(id)
            .await?
            .pop()
            .ok_or_else(|| Error::EntryNotFound { session: self.shown(), entry: id.to_string() })
    }

    /// Moves the lane to an entry. The next append grows a branch there.
    ///
    /// # Errors
    /// `not_found`; `before_floor` where the entry lies before the latest compaction;
    /// `conflict`.
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

    async fn move_to(&mut self, target: EntryId) -> Result<()> {
        if self.seen.as_ref() == Some(&target) && self.current_leaf().await? == self.seen {
            return Ok(());
        }
        let options = AppendOptions::default();
        self.append_batch(vec![Body::Leaf { leaf_id: Some(target) }], options).await?;
        Ok(())
    }

    /// Makes a lane that stands at an entry, and leaves this handle where it is.
    ///
    /// # Errors
    /// `exists` where there is such a lane, `not_found`, `unsupported`.
    pub async fn create_lane(&mut self, lane: Lane, at: &EntryId) -> Result<()> {
        let target = self.path_entry(at).await?;
        let taken = |lane: &Lane| {
            Error::invalid(format!("lane {lane} exists already; move it, or choose another name"))
        };
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

    /// Moves any lane to an entry, without looking at floors.
    ///
    /// # Errors
    /// `not_found` where there is no such lane or entry.
    pub async fn move_lane(&mut self, lane: &Lane, to: &EntryId) -> Result<()> {
        let mut other = self.clone();
        other.use_lane(lane.clone()).await?;
        other.rewind_past_compaction(to).await?;
        self.reload().await
    }

    /// Puts a bookmark on an entry, or takes it away.
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

    /// Gives the session another title; an empty one clears it.
    ///
    /// # Errors
    /// Those of an append.
    pub async fn rename(&mut self, title: impl Into<Text>) -> Result<EntryId> {
        let info = SessionInfo { title: Some(title.into()), ..SessionInfo::default() };
        self.append_info(info).await
    }

    /// Replaces the free metadata of the session.
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
        self.rewrite(Rewrite::Reset).await
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
        self.reload().await?;
        Ok(done)
    }
}

fn last_id(appended: &Appended) -> Result<EntryId> {
    appended
        .entries
        .last()
        .map(|entry| entry.id.clone())
        .ok_or_else(|| Error::invalid("there was nothing to append"))
}
