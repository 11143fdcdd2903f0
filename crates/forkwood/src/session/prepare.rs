//! What is looked at before anything is written: data that enters through an API.

use std::collections::HashSet;

use forkwood_core::{Body, Draft, EntryId, Role};
use forkwood_storage::OnConflict;

use super::{AppendOptions, Session};
use crate::{Error, ErrorKind, Result, blobs};

/// So many entries are asked for at a time.
const PORTION: usize = 512;

impl Session {
    /// Checks entries that are to be written together, and puts what is large in them into the
    /// store. [`Session::append`] and its kin do this; it is there for those who write through
    /// the storage.
    ///
    /// # Errors
    /// `invalid` for what is not as documented: unknown types, roles and blocks, text that is no
    /// base64; `not_found` where an entry names another that is not there before it; those of
    /// putting blobs.
    pub async fn prepare(&self, drafts: &mut [Draft]) -> Result<()> {
        let native = self.is_native();
        for draft in drafts.iter() {
            if native {
                draft.id.check()?;
                draft.body.check()?;
            }
            blobs::check(&draft.body)?;
        }
        self.check_references(drafts).await?;
        if self.facts().dialect.starts_with("pi") {
            self.name_models(drafts).await?;
        }
        if native {
            for draft in drafts {
                blobs::store(self.storage.as_ref(), &mut draft.body).await?;
            }
        }
        Ok(())
    }

    /// Each answer of a Pi file names its model, and the last one decides which model goes on. One
    /// that names none is of the model that is in force where the session stands.
    async fn name_models(&self, drafts: &mut [Draft]) -> Result<()> {
        let Some(leaf) = self.leaf() else { return Ok(()) };
        for draft in drafts {
            let Body::Message(body) = &mut draft.body else { continue };
            let message = &mut body.message;
            if message.role == Role::Assistant && message.model.is_none() && body.foreign.is_none()
            {
                let settings = self.settings(leaf).await?;
                message.model = settings.model;
                message.provider = message.provider.take().or(settings.provider);
            }
        }
        Ok(())
    }

    /// Refuses names of entries that stand neither in the log nor earlier in the batch.
    async fn check_references(&self, drafts: &[Draft]) -> Result<()> {
        let mut earlier: HashSet<&EntryId> = HashSet::new();
        let mut wanted: Vec<(&'static str, &EntryId)> = Vec::new();
        for draft in drafts {
            for (field, id) in draft.body.references() {
                // Its own id says that a compaction keeps nothing. Where a branch came from is
                // not always an entry in formats of others.
                let own = *id == draft.id && matches!(draft.body, Body::Compaction(_));
                let loose = !self.is_native() && matches!(draft.body, Body::BranchSummary { .. });
                if !own && !loose && !earlier.contains(id) {
                    wanted.push((field, id));
                }
            }
            earlier.insert(&draft.id);
        }
        for portion in wanted.chunks(PORTION) {
            let ids: Vec<EntryId> = portion.iter().map(|(_, id)| (*id).clone()).collect();
            let found = self.storage.get(self.id(), &ids).await?;
            for ((field, id), stored) in portion.iter().zip(found) {
                if stored.is_none() {
                    return Err(Error::UnknownReference {
                        session: self.shown(),
                        field,
                        entry: (*id).clone(),
                    });
                }
            }
        }
        Ok(())
    }

    /// The conflict that a write meets where another writer moved the lane.
    pub(super) async fn moved_meanwhile(&self, options: &AppendOptions) -> Result<Option<Error>> {
        let policy = options.on_conflict.unwrap_or(self.on_conflict);
        if options.any || policy == OnConflict::Branch {
            return Ok(None);
        }
        let actual = match self.current_leaf().await {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        Ok((actual != self.seen).then(|| Error::Conflict {
            session: self.shown(),
            lane: self.lane.to_string(),
            expected: self.seen.clone(),
            actual,
        }))
    }
}
