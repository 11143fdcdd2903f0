//! Reading a session.

use std::collections::HashMap;

use forkwood_core::{Body, Diagnostic, Entry, EntryId, Message, SessionState, Settings, Text};
use forkwood_storage::{Cursor, Head, PathStop, ReadPage, Seq, Stored, Watch};

use super::Session;
use crate::{Context, Error, Result, blobs};

impl Session {
    /// Resolves an entry by its id, a unique prefix or suffix of it. An exact id wins.
    ///
    /// # Errors
    /// `not_found`, `ambiguous` with the candidates, `invalid` for an empty query.
    pub async fn resolve_entry(&self, query: &str) -> Result<EntryId> {
        if query.is_empty() {
            return Err(Error::invalid("an empty entry id names no entry"));
        }
        let exact = EntryId::new(query);
        if self.storage.get(self.id(), std::slice::from_ref(&exact)).await?[0].is_some() {
            return Ok(exact);
        }
        let heads = self.heads().await?;
        let by_start: fn(&str, &str) -> bool = |id, query| id.starts_with(query);
        let by_end: fn(&str, &str) -> bool = |id, query| id.ends_with(query);
        for fits in [by_start, by_end] {
            let found: Vec<&Head> =
                heads.iter().filter(|head| fits(head.id.as_str(), query)).collect();
            match found.as_slice() {
                [] => {}
                [one] => return Ok(one.id.clone()),
                many => {
                    return Err(Error::AmbiguousEntry {
                        session: self.shown(),
                        query: query.to_owned(),
                        candidates: many.iter().take(20).map(|head| head.id.to_string()).collect(),
                    });
                }
            }
        }
        Err(Error::EntryNotFound { session: self.shown(), entry: query.to_owned() })
    }

    /// The entry of an id.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn get(&self, id: &EntryId) -> Result<Stored> {
        let mut found = self.storage.get(self.id(), std::slice::from_ref(id)).await?;
        found
            .pop()
            .flatten()
            .ok_or_else(|| Error::EntryNotFound { session: self.shown(), entry: id.to_string() })
    }

    /// Every entry without its body, in log order.
    ///
    /// # Errors
    /// Where the log cannot be read.
    pub async fn heads(&self) -> Result<Vec<Head>> {
        self.storage.heads(self.id()).await
    }

    /// Entries in log order, from after a place on.
    ///
    /// # Errors
    /// Where the log cannot be read.
    pub async fn read(&self, from: Seq, limit: usize) -> Result<ReadPage> {
        self.storage.read(self.id(), from, limit).await
    }

    /// All entries in log order. For whole copies; prefer [`Session::read`].
    ///
    /// # Errors
    /// Where the log cannot be read.
    pub async fn entries(&self) -> Result<Vec<Stored>> {
        let mut all = Vec::new();
        let mut from = 0;
        loop {
            let page = self.read(from, 4096).await?;
            all.extend(page.entries);
            match page.next {
                Some(next) => from = next,
                None => return Ok(all),
            }
        }
    }

    /// Where the lane stands now, whoever moved it.
    ///
    /// # Errors
    /// Where the log cannot be read.
    pub async fn current_leaf(&self) -> Result<Option<EntryId>> {
        Ok(self.storage.facts(self.id()).await?.leaf(&self.lane).cloned())
    }

    /// The path from the root to where the lane stands.
    ///
    /// # Errors
    /// Where the log cannot be read.
    pub async fn current_path(&self) -> Result<Vec<Entry>> {
        match self.current_leaf().await? {
            Some(leaf) => self.path_to(&leaf).await,
            None => Ok(Vec::new()),
        }
    }

    /// The path from the root to an entry; at a sidecar, to its path ancestor.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn path_to(&self, entry: &EntryId) -> Result<Vec<Entry>> {
        let read = self.storage.path(self.id(), entry, PathStop::Root).await?;
        Ok(read.entries.into_iter().map(|stored| stored.entry).collect())
    }

    /// The ids of the path to an entry, from the heads alone.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn path_ids(&self, entry: &EntryId) -> Result<Vec<EntryId>> {
        if self.facts.rules.path_to_compaction {
            let path = self.path_to(entry).await?;
            return Ok(path.into_iter().map(|entry| entry.id).collect());
        }
        let heads = self.heads().await?;
        let at: HashMap<&EntryId, usize> =
            heads.iter().enumerate().map(|(i, head)| (&head.id, i)).collect();
        let mut next = Some(*at.get(entry).ok_or_else(|| Error::EntryNotFound {
            session: self.shown(),
            entry: entry.to_string(),
        })?);
        let mut path = Vec::new();
        while let Some(i) = next
            && path.len() <= heads.len()
        {
            if !heads[i].sidecar {
                path.push(heads[i].id.clone());
            }
            next = heads[i].parent_id.as_ref().and_then(|parent| at.get(parent).copied());
        }
        path.reverse();
        Ok(path)
    }

    /// What a model sees where the lane stands.
    ///
    /// # Errors
    /// Where the log cannot be read.
    pub async fn context(&self) -> Result<Context> {
        match self.current_leaf().await? {
            Some(leaf) => self.context_at(&leaf).await,
            None => {
                let read = forkwood_storage::PathRead {
                    entries: Vec::new(),
                    before: Some(Settings::initial(&self.facts.rules)),
                };
                Ok(Context::new(read, self.facts.rules))
            }
        }
    }

    /// What a model saw, or would see, at any entry. Blobs are inlined.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn context_at(&self, entry: &EntryId) -> Result<Context> {
        let read = self.storage.path(self.id(), entry, PathStop::Context).await?;
        let mut context = Context::new(read, self.facts.rules);
        let missing = blobs::inline(self.storage.as_ref(), context.messages_mut()).await?;
        context.lacks(&missing);
        Ok(context)
    }

    /// The end of the path to an entry, as far back as its context needs: for shapes of a context
    /// that need the records themselves.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn context_path(&self, entry: &EntryId) -> Result<forkwood_storage::PathRead> {
        self.storage.path(self.id(), entry, PathStop::Context).await
    }

    /// Model, thinking level and tools at an entry, read as far back as they take.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn settings(&self, entry: &EntryId) -> Result<Settings> {
        let read = self.storage.path(self.id(), entry, PathStop::Context).await?;
        if let Some(settings) = Context::new(read, self.facts.rules).settings() {
            return Ok(settings.clone());
        }
        let mut settings = Settings::initial(&self.facts.rules);
        for entry in self.path_to(entry).await? {
            settings.apply(&entry, &self.facts.rules);
        }
        Ok(settings)
    }

    /// The whole state at any entry: the fold over its full path, label included. The same as
    /// [`Session::context_at`] tells, but that blobs stay named.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn state_at(&self, entry: &EntryId) -> Result<SessionState> {
        let path = self.path_to(entry).await?;
        let ids: Vec<EntryId> = path.iter().map(|entry| entry.id.clone()).collect();
        let labels = self.storage.sidecars(self.id(), &ids).await?;
        let labels: Vec<Entry> = labels.into_iter().map(|stored| stored.entry).collect();
        Ok(SessionState::from_path(&path, &labels, &self.facts.rules))
    }

    /// The label of the labelled entry nearest to `entry` on its path; in files of my-pi-agent,
    /// where labels stand on the path, the last one there.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn label_at(&self, entry: &EntryId) -> Result<Option<Text>> {
        if self.facts.rules.label_on_path {
            return Ok(self.state_at(entry).await?.label().cloned());
        }
        let ids = self.path_ids(entry).await?;
        let labels = self.labels().await?;
        Ok(ids.iter().rev().find_map(|id| labels.get(id).cloned()))
    }

    /// The label of every labelled entry. For each the last line counts; an empty label clears.
    ///
    /// # Errors
    /// Where the log cannot be read.
    pub async fn labels(&self) -> Result<HashMap<EntryId, Text>> {
        let mut labels = HashMap::new();
        for stored in self.storage.sidecars(self.id(), &[]).await? {
            let entry = stored.entry;
            if let Body::Label { label, target_id } = entry.body
                && let Some(target) = target_id.or(entry.parent_id)
            {
                match label.filter(|label| !label.is_empty()) {
                    Some(label) => labels.insert(target, label),
                    None => labels.remove(&target),
                };
            }
        }
        Ok(labels)
    }

    /// Every message on the path to where the lane stands, compactions or not.
    ///
    /// # Errors
    /// Where the log cannot be read.
    pub async fn full_history(&self) -> Result<Vec<Message>> {
        let path = self.current_path().await?;
        let mut messages: Vec<Message> = path
            .into_iter()
            .filter_map(|entry| match entry.body {
                Body::Message(body) => Some(body.message),
                _ => None,
            })
            .collect();
        blobs::inline(self.storage.as_ref(), &mut messages).await?;
        Ok(messages)
    }

    /// Reads all of the log and says what is wrong with it, tool calls without results and
    /// missing blobs included.
    ///
    /// # Errors
    /// Where the log cannot be read at all.
    pub async fn check(&self) -> Result<Vec<Diagnostic>> {
        let mut found = self.storage.check(self.id()).await?;
        found.extend(crate::session::branches::tool_findings(self).await?);
        found.extend(blobs::findings(self).await?);
        Ok(found)
    }

    /// What reading has found so far.
    ///
    /// # Errors
    /// Where the log cannot be read at all.
    pub async fn diagnostics(&self) -> Result<Vec<Diagnostic>> {
        self.storage.diagnostics(self.id()).await
    }

    /// Watches for new entries, from a cursor on, or from now.
    ///
    /// # Errors
    /// Where the log cannot be read.
    pub async fn watch(&self, from: Option<Cursor>) -> Result<Box<dyn Watch>> {
        let cursor = match from {
            Some(cursor) => cursor,
            None => self.cursor().await?,
        };
        self.storage.watch(self.id(), cursor).await
    }

    /// The end of the log as it is now.
    ///
    /// # Errors
    /// Where the log cannot be read.
    pub async fn cursor(&self) -> Result<Cursor> {
        let facts = self.storage.facts(self.id()).await?;
        let heads = self.heads().await?;
        let last = heads.iter().rfind(|head| head.seq <= facts.end);
        Ok(Cursor {
            generation: facts.generation,
            seq: last.map_or(0, |head| head.seq),
            id: last.map(|head| head.id.to_string()).unwrap_or_default(),
        })
    }
}
