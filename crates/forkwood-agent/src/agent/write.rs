//! Writing steps down, while others may write as well.

use forkwood::{AppendOptions, Body, Compaction, Durability, EntryId, ErrorKind, OnConflict};

use super::Agent;
use crate::{AgentError, AgentEvent, Usage};

/// How often a step is written again where others write at the same time.
const CONFLICTS: u32 = 16;

impl Agent {
    pub(super) async fn append(&mut self, bodies: Vec<Body>) -> Result<Vec<EntryId>, AgentError> {
        self.append_with(bodies, None).await
    }

    /// On disk before this returns, whatever the session is set to.
    pub(super) async fn append_synced(
        &mut self,
        bodies: Vec<Body>,
    ) -> Result<Vec<EntryId>, AgentError> {
        self.append_with(bodies, Some(Durability::Sync)).await
    }

    async fn append_with(
        &mut self,
        bodies: Vec<Body>,
        durability: Option<Durability>,
    ) -> Result<Vec<EntryId>, AgentError> {
        let said: Vec<bool> = bodies.iter().map(|b| matches!(b, Body::Message(_))).collect();
        let options = AppendOptions { durability, ..AppendOptions::default() };
        let mut tries = 0;
        let appended = loop {
            let error = match self.session.append_batch(bodies.clone(), options.clone()).await {
                Ok(appended) => break appended,
                Err(error) => error,
            };
            tries += 1;
            self.after_conflict(error, tries).await?;
        };
        let ids = appended.entries.into_iter().zip(said).filter(|(_, said)| *said);
        Ok(ids.map(|(entry, _)| entry.id).collect())
    }

    /// A compaction. What others said meanwhile stands before it, and is kept by it; where it
    /// keeps nothing but what follows it, they would be neither in it nor behind it, and that is
    /// a conflict.
    pub(super) async fn append_compaction(
        &mut self,
        compaction: Compaction,
        done: Option<Body>,
    ) -> Result<EntryId, AgentError> {
        let done: Vec<Body> = done.into_iter().collect();
        let mut tries = 0;
        let in_place = !compaction.is_boundary() && !compaction.replaces_entry_ids.is_empty();
        let keeps = compaction.first_kept_entry_id.is_some() || in_place;
        let entry = loop {
            match self.session.add_compaction_with(compaction.clone(), done.clone()).await {
                Ok(entry) => break entry,
                Err(error) if !keeps => return Err(error.into()),
                Err(error) => {
                    tries += 1;
                    self.after_conflict(error, tries).await?;
                }
            }
        };
        self.config.events.tell(AgentEvent::Compacted { entry: entry.clone() });
        Ok(entry)
    }

    /// A result of a tool, while the lane may have been taken elsewhere: then it goes to a lane of
    /// its own, behind the call, and this agent stands there from now on. Where the format knows
    /// no lanes it goes behind the call all the same, and the file stands again where the others
    /// took it. Gives whether it did.
    pub(super) async fn append_result(
        &mut self,
        bodies: Vec<Body>,
    ) -> Result<(Vec<EntryId>, Option<forkwood::Error>), AgentError> {
        let moved = match self.append(bodies.clone()).await {
            Ok(saved) => return Ok((saved, None)),
            Err(AgentError::Storage(error)) if error.kind() == ErrorKind::Conflict => error,
            Err(error) => return Err(error),
        };
        // The end of the operation belongs to the lane on which it began.
        let all = bodies.clone();
        let (beside, result): (Vec<Body>, Vec<Body>) =
            bodies.into_iter().partition(|body| matches!(body, Body::Operation(_)));
        let options = AppendOptions {
            on_conflict: Some(OnConflict::Branch),
            durability: Some(Durability::Sync),
            ..AppendOptions::default()
        };
        let mut elsewhere = self.session.clone();
        match elsewhere.append_batch(result, options).await {
            Ok(kept) => {
                // Meets no conflict; and where it cannot be written, it is closed at the next run.
                let _ = self.append(beside).await;
                self.session = elsewhere;
                Ok((kept.entries.into_iter().map(|entry| entry.id).collect(), Some(moved)))
            }
            // The format knows no lanes.
            Err(error) if error.kind() == ErrorKind::Conflict => {
                Ok((self.append_behind(all).await?, Some(moved)))
            }
            Err(_) => Err(moved.into()),
        }
    }

    /// Writes behind where this agent stands, wherever the others went, and leaves them there.
    async fn append_behind(&mut self, bodies: Vec<Body>) -> Result<Vec<EntryId>, AgentError> {
        let said: Vec<bool> = bodies.iter().map(|b| matches!(b, Body::Message(_))).collect();
        let theirs = self.session.current_leaf().await?;
        let options = AppendOptions {
            parent: self.session.leaf().cloned(),
            any: true,
            durability: Some(Durability::Sync),
            ..AppendOptions::default()
        };
        let kept = self.session.append_batch(bodies, options).await?;
        if let Some(theirs) = theirs {
            // What is kept is kept, also where this cannot be done.
            let mut back = self.session.clone();
            let _ = back.rewind_with(&theirs, Vec::new(), true).await;
        }
        let ids = kept.entries.into_iter().zip(said).filter(|(_, said)| *said);
        Ok(ids.map(|(entry, _)| entry.id).collect())
    }

    /// Makes ready to write again where that may help; else gives the error back.
    async fn after_conflict(
        &mut self,
        error: forkwood::Error,
        tries: u32,
    ) -> Result<(), AgentError> {
        let again = error.kind() == ErrorKind::Conflict
            && tries <= CONFLICTS
            && self.take_in_others().await?;
        if again { Ok(()) } else { Err(error.into()) }
    }

    /// After a conflict: stands where the lane stands now. False, and nothing changes, where that
    /// is not behind where this agent stood: somebody went elsewhere with it.
    ///
    /// What others say in the middle of a run is no reason to lose a step of it: a tool that has
    /// run would have run for nothing. Results find their calls wherever they stand.
    async fn take_in_others(&mut self) -> Result<bool, AgentError> {
        let mut fresh = self.session.clone();
        fresh.reload().await?;
        let (Some(before), Some(now)) = (self.session.leaf(), fresh.leaf()) else {
            return Ok(false);
        };
        let behind = fresh.path_ids(now).await?.contains(before);
        if behind {
            self.session = fresh;
        }
        Ok(behind)
    }

    pub(super) fn tell_saved(&self, entries: &[EntryId], usage: Option<Usage>) {
        for entry in entries {
            self.config.events.tell(AgentEvent::Saved { entry: entry.clone(), usage });
        }
    }
}
