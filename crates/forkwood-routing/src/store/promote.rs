//! Taking over the history of an older name (PicoClaw `memory/jsonl.go`, `Promote`).
//!
//! The new conversation has the older one's history the moment it has its alias: both are one
//! write. Then the older one is marked, and what was added to it before the mark is taken over
//! too; who adds to it later sees the mark and adds to the new one himself. The copies keep the
//! ids of the entries, so that what both bring is there once. The older conversation stays as it
//! is, and its history is never taken over a second time.

use std::collections::HashSet;

use forkwood::conversation::native::{ConversationRecord, Promotion};
use forkwood::{AppendOptions, Body, Entry, EntryId, Lane, Result, SessionInfo, Timestamp};

use super::change::message_body;
use super::ensure::Todo;
use super::shown::{Shown, summary_body};
use super::{Open, PersistentConversations};

/// An entry to be written: its id, its time, what it says.
type Copied = (EntryId, Option<Timestamp>, Body);

impl PersistentConversations {
    /// Takes over the history of an alias, together with what the conversation says of itself.
    pub(super) async fn promote(&self, todo: &Todo, source: &str) -> Result<()> {
        let mut record = todo.record.clone();
        record.promoted = Some(Promotion { from: source.to_owned(), settled: false });
        let copies = match self.find(source).await? {
            Some(open) => self.copies(&open).await?,
            None => Vec::new(),
        };
        match &todo.open {
            None => {
                let entries = chained(copies);
                self.create(&record, entries).await.map(|_| ())
            }
            Some(Open { session, .. }) => {
                self.index.lock().await.note(&record)?;
                let before = session.facts().info.metadata.clone();
                let metadata = Some(record.to_metadata(before.as_ref())?);
                let info = SessionInfo { metadata, ..SessionInfo::default() };
                let mut ids = vec![self.next_id()];
                let mut times = vec![None];
                let mut bodies = vec![Body::SessionInfo(info)];
                for (id, at, body) in copies {
                    ids.push(id);
                    times.push(at);
                    bodies.push(body);
                }
                // Only where the session still stands where it was seen to be unused.
                let options = AppendOptions { ids, times, ..AppendOptions::default() };
                session.clone().append_batch(bodies, options).await.map(|_| ())
            }
        }
    }

    /// What a conversation shows, under the ids it has there, and its summary.
    async fn copies(&self, open: &Open) -> Result<Vec<Copied>> {
        let shown = Shown::read(&open.session).await?;
        let summary = shown.summary(&open.session).await?;
        let mut taken: HashSet<EntryId> = HashSet::new();
        let mut copies: Vec<Copied> = Vec::new();
        for (id, message) in shown.into_entries() {
            // The messages of a retained tail share an entry.
            let id = if taken.insert(id.clone()) { id } else { self.next_id() };
            let (body, at) = message_body(&message);
            copies.push((id, at, body));
        }
        if !summary.trim().is_empty() {
            copies.push((self.next_id(), None, summary_body(summary.trim())?));
        }
        Ok(copies)
    }

    /// Marks the older conversation, takes over what came to it meanwhile, and records that this
    /// is done. Does each step only where it is not done yet.
    pub(super) async fn settle(&self, record: &ConversationRecord) -> Result<()> {
        let Some(promotion) = &record.promoted else { return Ok(()) };
        if let Some(source) = self.find(&promotion.from).await? {
            let mut mark = source.record.clone();
            if mark.moved_to.is_none() {
                mark.moved_to = Some(record.key.clone());
                self.say(&source, &mark).await?;
            }
            if let Some(source) = self.find(&promotion.from).await? {
                self.catch_up(&source, &record.key).await?;
            }
        }
        let Some(open) = self.find(&record.key).await? else { return Ok(()) };
        let mut settled = open.record.clone();
        if let Some(promotion) = &mut settled.promoted {
            promotion.settled = true;
        }
        self.say(&open, &settled).await
    }

    /// Adds the messages of the older conversation that are not in the new one.
    async fn catch_up(&self, source: &Open, key: &str) -> Result<()> {
        let Some(mut open) = self.find(key).await? else { return Ok(()) };
        let shown = Shown::read(&source.session).await?;
        let plain: Vec<bool> = (0..shown.ids.len()).map(|at| shown.is_plain(at)).collect();
        let ids = shown.ids.clone();
        let there = open.session.storage().get(open.session.id(), &ids).await?;
        let missing = shown.into_entries().into_iter().zip(plain).zip(there);
        for (((id, message), plain), there) in missing {
            if plain && there.is_none() {
                let (body, at) = message_body(&message);
                let options = AppendOptions {
                    any: true,
                    ids: vec![id],
                    times: vec![at],
                    ..AppendOptions::default()
                };
                open.session.append_batch(vec![body], options).await?;
            }
        }
        Ok(())
    }
}

/// Entries one below the other, for a session that begins with them.
fn chained(copies: Vec<Copied>) -> Vec<Entry> {
    let mut parent_id: Option<EntryId> = None;
    let mut entries = Vec::with_capacity(copies.len());
    for (id, timestamp, body) in copies {
        let entry = Entry {
            id: id.clone(),
            parent_id: parent_id.replace(id),
            timestamp,
            lane: Lane::main(),
            more: 0,
            body,
            extra: Vec::new(),
        };
        entries.push(entry);
    }
    entries
}
