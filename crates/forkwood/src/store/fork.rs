//! Copying a path into a new session.

use std::collections::{HashMap, HashSet};

use forkwood_core::entry::{ForkedFrom, SessionInfo, codec};
use forkwood_core::{Body, Entry, EntryId, Lane, SessionId, Text};
use forkwood_storage::{NewSession, PathStop};

use super::SessionStore;
use crate::{Error, Result, Session, blobs};

mod same;

/// How the dialect is called that is our own.
const NATIVE: &str = "native";

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
    /// here; without an entry, the path to where the source's lane stands. Every entry gets a
    /// new id, wherever it is named, and keeps its time; labels and data beside the path come
    /// along; where it came from is recorded. The fork says at its end what the source says there,
    /// whatever the rules of the source's format: where these differ, entries are added to it. Free metadata does not come along. The source is
    /// only read. Blobs are shared within a store and copied to another one.
    ///
    /// # Errors
    /// `not_found` where the entry is not there, `invalid` where the source is empty, `exists`
    /// where the id is taken.
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
        // As it is now: another handle may have given it another title.
        let facts = source.storage().facts(source.id()).await?;
        let wanted = same::Wanted::of(&path, &beside, &facts.rules);
        let (mut entries, new_ids) = self.copies(path, beside);
        if let Some(wanted) = wanted {
            wanted.grant(&mut entries, &new_ids, self.ids.as_ref());
        }
        let same_place = std::sync::Arc::ptr_eq(source.storage(), &self.storage);
        let foreign = facts.dialect != NATIVE;
        for entry in &mut entries {
            if foreign {
                codec::set_apart(&entry.body, &mut entry.extra);
            }
            if !same_place {
                blobs::transfer(source.storage().as_ref(), self.storage.as_ref(), &mut entry.body)
                    .await?;
            }
            blobs::store(self.storage.as_ref(), &mut entry.body).await?;
        }
        let title = facts.info.title.clone().filter(|title| !title.is_empty());
        let info = SessionInfo {
            title: options.title.or(title),
            cwd: self.cwd.clone().or_else(|| facts.info.cwd.clone()),
            forked_from: Some(ForkedFrom { session_id: facts.shown_id.clone(), entry_id: last }),
            ..SessionInfo::default()
        };
        let new = NewSession { id: options.id, info, entries, ..NewSession::default() };
        let facts = self.storage.create(new).await?;
        self.open_exact(&facts.id).await
    }

    /// The entries of the fork: the path in one line, and behind each entry what stands beside
    /// it; and what became of the ids of the path.
    fn copies(
        &self,
        path: Vec<Entry>,
        beside: Vec<Entry>,
    ) -> (Vec<Entry>, HashMap<EntryId, EntryId>) {
        let stays = |entry: &Entry| {
            // Headers, labels and pointers have other places in the new session, and what was in
            // flight in the source is not in flight in it.
            !matches!(
                entry.body,
                Body::SessionInfo(_) | Body::Label { .. } | Body::Leaf { .. } | Body::Operation(_)
            )
        };
        let mut new_ids: HashMap<EntryId, EntryId> = HashMap::new();
        for entry in path.iter().filter(|entry| stays(entry)) {
            new_ids.insert(entry.id.clone(), self.ids.next_id());
        }
        let mut beside = Beside::of(beside, &path);
        let next_kept = next_kept(&path, &new_ids);
        let mut copies: Vec<Entry> = Vec::new();
        let mut before: Option<EntryId> = None;
        for mut entry in path {
            let old = entry.id.clone();
            if stays(&entry) {
                keep_from_next(&mut entry, &next_kept);
                entry.remap(&new_ids);
                entry.lane = Lane::main();
                entry.more = 0;
                entry.parent_id = before.replace(entry.id.clone());
                copies.push(entry);
            }
            for mut entry in beside.take(&old) {
                let target = label_target(&entry);
                entry.remap(&new_ids);
                if let Body::Label { target_id, .. } = &mut entry.body {
                    // The header, or what has no copy: a label marks what it hangs from.
                    *target_id = target.and_then(|target| new_ids.get(&target).cloned());
                }
                entry.id = self.ids.next_id();
                entry.lane = Lane::main();
                entry.more = 0;
                entry.parent_id.clone_from(&before);
                copies.push(entry);
            }
        }
        (copies, new_ids)
    }
}

/// What stands beside a path, by the path entry that it is about.
struct Beside(HashMap<EntryId, Vec<Entry>>);

impl Beside {
    /// Keeps the last label of each entry, where it is one, and data beside the path.
    fn of(entries: Vec<Entry>, path: &[Entry]) -> Beside {
        let on_path: HashSet<&EntryId> = path.iter().map(|entry| &entry.id).collect();
        let mut labels: HashMap<EntryId, Entry> = HashMap::new();
        let mut about: HashMap<EntryId, Vec<Entry>> = HashMap::new();
        for entry in entries {
            match (&entry.body, label_target(&entry)) {
                (Body::Label { .. }, Some(target)) if on_path.contains(&target) => {
                    labels.insert(target, entry);
                }
                (Body::Custom { aside: true, .. }, _) => {
                    if let Some(parent) = entry.parent_id.clone().filter(|p| on_path.contains(p)) {
                        about.entry(parent).or_default().push(entry);
                    }
                }
                _ => {}
            }
        }
        for (target, entry) in labels {
            if matches!(&entry.body, Body::Label { label: Some(label), .. } if !label.is_empty()) {
                about.entry(target).or_default().push(entry);
            }
        }
        Beside(about)
    }

    fn take(&mut self, entry: &EntryId) -> Vec<Entry> {
        self.0.remove(entry).unwrap_or_default()
    }
}

/// For each entry of a path that has no copy, the next one that has.
fn next_kept(path: &[Entry], new_ids: &HashMap<EntryId, EntryId>) -> HashMap<EntryId, EntryId> {
    let mut next: Option<&EntryId> = None;
    let mut out = HashMap::new();
    for entry in path.iter().rev() {
        if new_ids.contains_key(&entry.id) {
            next = Some(&entry.id);
        } else if let Some(next) = next {
            out.insert(entry.id.clone(), next.clone());
        }
    }
    out
}

/// A compaction that keeps from an entry without a copy keeps from the next one that has one.
fn keep_from_next(entry: &mut Entry, next_kept: &HashMap<EntryId, EntryId>) {
    if let Body::Compaction(compaction) = &mut entry.body
        && let Some(first) = &mut compaction.first_kept_entry_id
        && let Some(next) = next_kept.get(first)
    {
        *first = next.clone();
    }
}

fn label_target(entry: &Entry) -> Option<EntryId> {
    match &entry.body {
        Body::Label { target_id, .. } => target_id.clone().or_else(|| entry.parent_id.clone()),
        _ => None,
    }
}
