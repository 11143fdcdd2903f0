//! Copying a path into a new session.

use std::collections::HashMap;

use forkwood_core::entry::{ForkedFrom, SessionInfo};
use forkwood_core::{Body, Entry, EntryId, Lane, SessionId, Text};
use forkwood_storage::{NewSession, PathStop};

use super::SessionStore;
use crate::{Error, Result, Session, blobs};

/// How to fork.
#[derive(Clone, Debug, Default)]
pub struct ForkOptions {
    /// The id of the new session; made where absent.
    pub id: Option<SessionId>,
    /// Its title; that of the source where absent.
    pub title: Option<Text>,
}

impl SessionStore {
    /// Copies the path to an entry, of this store or another, of any format, into a new session
    /// here. Every entry gets a new id, wherever it is named; labels and data beside the path
    /// come along; where it came from is recorded. The source is only read.
    ///
    /// # Errors
    /// `not_found` where the entry is not there, `invalid` where the source is empty.
    pub async fn fork(
        &self,
        source: &Session,
        entry: Option<&EntryId>,
        options: ForkOptions,
    ) -> Result<Session> {
        let at = match entry {
            Some(entry) => entry.clone(),
            None => source.current_leaf().await?.ok_or_else(|| {
                Error::invalid(format!("session {} has no entry to fork at", source.id()))
            })?,
        };
        let read = source.storage().path(source.id(), &at, PathStop::Root).await?;
        let path: Vec<Entry> = read.entries.into_iter().map(|stored| stored.entry).collect();
        let last = path.last().map(|entry| entry.id.clone()).unwrap_or(at);
        let ids: Vec<EntryId> = path.iter().map(|entry| entry.id.clone()).collect();
        let beside = source.storage().sidecars(source.id(), &ids).await?;
        let beside: Vec<Entry> = beside.into_iter().map(|stored| stored.entry).collect();
        let mut entries = self.copies(path, beside);
        let same_place = std::sync::Arc::ptr_eq(source.storage(), &self.storage);
        for entry in &mut entries {
            if !same_place {
                blobs::transfer(source.storage().as_ref(), self.storage.as_ref(), &mut entry.body)
                    .await?;
            }
            blobs::store(self.storage.as_ref(), &mut entry.body).await?;
        }
        let facts = source.facts();
        let info = SessionInfo {
            title: options.title.or_else(|| source.title().cloned()),
            cwd: self.cwd.clone().or_else(|| facts.info.cwd.clone()),
            forked_from: Some(ForkedFrom { session_id: facts.shown_id.clone(), entry_id: last }),
            ..SessionInfo::default()
        };
        let new = NewSession { id: options.id, info, entries, subagent_of: None };
        let facts = self.storage.create(new).await?;
        self.open_exact(&facts.id).await
    }

    /// The entries of the fork: the path in one line, then what stands beside it.
    fn copies(&self, path: Vec<Entry>, beside: Vec<Entry>) -> Vec<Entry> {
        let mut new_ids: HashMap<EntryId, EntryId> = HashMap::new();
        let mut kept: Vec<Entry> = Vec::new();
        for entry in path {
            // Headers, labels and pointers have other places in the new session.
            if matches!(entry.body, Body::SessionInfo(_) | Body::Label { .. } | Body::Leaf { .. }) {
                continue;
            }
            new_ids.insert(entry.id.clone(), self.ids.next_id());
            kept.push(entry);
        }
        let mut before: Option<EntryId> = None;
        for entry in &mut kept {
            entry.remap(&new_ids);
            entry.lane = Lane::main();
            entry.more = 0;
            entry.parent_id = before.replace(entry.id.clone());
        }
        let mut last_label: HashMap<EntryId, usize> = HashMap::new();
        for (at, entry) in beside.iter().enumerate() {
            if let Some(target) = label_target(entry) {
                last_label.insert(target, at);
            }
        }
        for (at, mut entry) in beside.into_iter().enumerate() {
            let wanted = match (&entry.body, label_target(&entry)) {
                (Body::Label { label, .. }, Some(target)) => {
                    last_label.get(&target) == Some(&at)
                        && label.as_ref().is_some_and(|label| !label.is_empty())
                        && new_ids.contains_key(&target)
                }
                (Body::Custom { aside: true, .. }, _) => {
                    entry.parent_id.as_ref().is_some_and(|parent| new_ids.contains_key(parent))
                }
                _ => false,
            };
            if !wanted {
                continue;
            }
            if let Body::Label { target_id, .. } = &mut entry.body
                && target_id.is_none()
            {
                target_id.clone_from(&entry.parent_id);
            }
            entry.remap(&new_ids);
            entry.id = self.ids.next_id();
            entry.lane = Lane::main();
            entry.more = 0;
            entry.parent_id.clone_from(&before);
            kept.push(entry);
        }
        kept
    }
}

fn label_target(entry: &Entry) -> Option<EntryId> {
    match &entry.body {
        Body::Label { target_id, .. } => target_id.clone().or_else(|| entry.parent_id.clone()),
        _ => None,
    }
}
