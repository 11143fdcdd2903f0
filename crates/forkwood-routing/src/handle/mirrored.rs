//! A session in memory that stands for a conversation kept elsewhere.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use forkwood::conversation::{ConversationMessage, ConversationStore, is_transient_thought};
use forkwood::core::fold;
use forkwood::storage::{
    Append, Appended, Capabilities, Cursor, Head, Listing, MemoryStorage, NewSession, Page,
    PathRead, PathStop, ReadPage, Rewrite, Rewritten, Seq, SessionFacts, SessionStorage, Stored,
    Trashed, Watch,
};
use forkwood::{
    AppendOptions, Body, Compaction, CreateOptions, Diagnostic, Draft, Entry, EntryId, Error,
    MessageBody, Result, Session, SessionId, SessionStore, Timestamp, blobs,
};

/// The id of the session; it is the only one in its storage, but for those of sub-agents.
const ID: &str = "conversation";

/// Writes what is said in the session to its conversation, before it is acknowledged.
#[derive(Debug)]
pub(super) struct Mirrored {
    inner: Arc<MemoryStorage>,
    id: SessionId,
    conversations: Arc<dyn ConversationStore>,
    key: String,
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    /// Drafts that were written through.
    drafts: HashSet<EntryId>,
    /// What they became.
    entries: Vec<EntryId>,
}

impl Mirrored {
    /// A session that begins with what is shown of a conversation.
    pub(super) async fn of(
        conversations: Arc<dyn ConversationStore>,
        key: &str,
    ) -> Result<Mirrored> {
        let inner = Arc::new(MemoryStorage::new()?);
        let id = SessionId::new(ID)?;
        let store = SessionStore::new(Arc::clone(&inner) as _);
        let options = CreateOptions { id: Some(id.clone()), ..CreateOptions::default() };
        let mut session = store.create(options).await?;
        let summary = conversations.get_summary(key).await?;
        if !summary.trim().is_empty() {
            let own = EntryId::new("summary");
            let body = Compaction {
                summary: summary.as_str().into(),
                first_kept_entry_id: Some(own.clone()),
                ..Compaction::default()
            };
            let options = AppendOptions { ids: vec![own], ..AppendOptions::default() };
            session.append_batch(vec![body.into()], options).await?;
        }
        let history = conversations.get_history(key).await?;
        if !history.is_empty() {
            let times: Vec<Option<Timestamp>> = history.iter().map(|one| one.created_at).collect();
            let bodies = history
                .into_iter()
                .map(|one| Body::Message(MessageBody { message: one.message, foreign: None }))
                .collect();
            let options = AppendOptions { times, ..AppendOptions::default() };
            session.append_batch(bodies, options).await?;
        }
        let key = key.to_owned();
        Ok(Mirrored { inner, id, conversations, key, told: Mutex::default() })
    }

    /// The session, from which each message is written through.
    pub(super) async fn session(self: &Arc<Self>) -> Result<Session> {
        SessionStore::new(Arc::clone(self) as _).open(ID).await
    }

    /// The ids that messages have where they were written to.
    pub(super) fn entry_ids(&self) -> Vec<String> {
        self.told().entries.iter().map(ToString::to_string).collect()
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the messages of a batch through, each once.
    async fn tell(&self, drafts: &[Draft]) -> Result<()> {
        for draft in drafts {
            let Body::Message(body) = &draft.body else { continue };
            if self.told().drafts.contains(&draft.id) {
                continue;
            }
            let mut messages = [body.message.clone()];
            blobs::inline(self.inner.as_ref(), &mut messages).await?;
            let [message] = messages;
            let message = ConversationMessage {
                message,
                created_at: draft.timestamp,
                foreign: body.foreign.clone(),
            };
            let entry = self.conversations.add_full_message(&self.key, message).await?;
            let mut told = self.told();
            told.drafts.insert(draft.id.clone());
            told.entries.extend(entry);
        }
        Ok(())
    }

    /// A compaction of the session is a summary of the conversation, and a truncation.
    async fn cut(&self, compaction: &Compaction, leaf: &EntryId) -> Result<()> {
        let read = self.inner.path(&self.id, leaf, PathStop::Context).await?;
        let rules = self.inner.facts(&self.id).await?.rules;
        let entries: Vec<Entry> = read.entries.into_iter().map(|stored| stored.entry).collect();
        let (messages, _) = fold::into_messages(entries, &rules);
        let shown = messages.iter().filter(|one| !is_transient_thought(one)).count();
        let keep = shown.saturating_sub(usize::from(!compaction.summary.is_empty()));
        let summary = compaction.summary.to_string_lossy();
        self.conversations.set_summary(&self.key, &summary).await?;
        self.conversations.truncate_history(&self.key, keep).await
    }

    fn no_place<T>(&self, what: &str) -> Result<T> {
        Err(Error::unsupported(format!(
            "the conversation {} is kept in no session, and cannot be {what}",
            self.key
        )))
    }
}

#[async_trait]
impl SessionStorage for Mirrored {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn create(&self, new: NewSession) -> Result<SessionFacts> {
        self.inner.create(new).await
    }

    async fn list(&self, page: Page) -> Result<Listing> {
        self.inner.list(page).await
    }

    async fn find(&self, prefix: &str) -> Result<Vec<SessionId>> {
        self.inner.find(prefix).await
    }

    async fn delete(&self, _session: &SessionId, _idle_only: bool) -> Result<Trashed> {
        self.no_place("deleted")
    }

    async fn restore(&self, _session: &SessionId) -> Result<SessionFacts> {
        self.no_place("restored")
    }

    async fn trashed(&self) -> Result<Vec<Trashed>> {
        Ok(Vec::new())
    }

    async fn purge(
        &self,
        _session: Option<&SessionId>,
        _before: Timestamp,
    ) -> Result<Vec<Trashed>> {
        Ok(Vec::new())
    }

    async fn facts(&self, session: &SessionId) -> Result<SessionFacts> {
        self.inner.facts(session).await
    }

    async fn heads(&self, session: &SessionId) -> Result<Vec<Head>> {
        self.inner.heads(session).await
    }

    async fn append(&self, session: &SessionId, append: Append) -> Result<Appended> {
        if *session != self.id {
            return self.inner.append(session, append).await;
        }
        self.tell(&append.drafts).await?;
        let compactions: Vec<Compaction> = append
            .drafts
            .iter()
            .filter_map(|draft| match &draft.body {
                Body::Compaction(compaction) => Some(compaction.clone()),
                _ => None,
            })
            .collect();
        let appended = self.inner.append(session, append).await?;
        if let (Some(compaction), Some(leaf)) = (compactions.last(), &appended.leaf) {
            self.cut(compaction, leaf).await?;
        }
        Ok(appended)
    }

    async fn read(&self, session: &SessionId, from: Seq, limit: usize) -> Result<ReadPage> {
        self.inner.read(session, from, limit).await
    }

    async fn get(&self, session: &SessionId, ids: &[EntryId]) -> Result<Vec<Option<Stored>>> {
        self.inner.get(session, ids).await
    }

    async fn path(&self, session: &SessionId, from: &EntryId, stop: PathStop) -> Result<PathRead> {
        self.inner.path(session, from, stop).await
    }

    async fn sidecars(&self, session: &SessionId, targets: &[EntryId]) -> Result<Vec<Stored>> {
        self.inner.sidecars(session, targets).await
    }

    async fn check(&self, session: &SessionId) -> Result<Vec<Diagnostic>> {
        self.inner.check(session).await
    }

    async fn diagnostics(&self, session: &SessionId) -> Result<Vec<Diagnostic>> {
        self.inner.diagnostics(session).await
    }

    async fn watch(&self, session: &SessionId, cursor: Cursor) -> Result<Box<dyn Watch>> {
        self.inner.watch(session, cursor).await
    }

    async fn put_blob(&self, bytes: &[u8]) -> Result<String> {
        self.inner.put_blob(bytes).await
    }

    async fn get_blob(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.inner.get_blob(name).await
    }

    async fn rewrite(&self, _session: &SessionId, _rewrite: Rewrite) -> Result<Rewritten> {
        self.no_place("rewritten")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use forkwood::conversation::{ConversationStore, EphemeralConversations};
    use forkwood::{Compaction, Message, Role};
    use pollster::block_on as run;

    use super::Mirrored;

    fn shown(store: &EphemeralConversations) -> (Vec<String>, String) {
        let history = run(store.get_history("k")).unwrap();
        let texts = history.iter().map(|one| one.message.content.text().to_string()).collect();
        (texts, run(store.get_summary("k")).unwrap())
    }

    #[test]
    fn a_compaction_in_the_session_sums_the_conversation_up() {
        let store = Arc::new(EphemeralConversations::new());
        for text in ["a", "b", "c"] {
            run(store.add_message("k", Role::User, text)).unwrap();
        }
        run(store.set_summary("k", "before")).unwrap();
        let mirrored = Arc::new(run(Mirrored::of(Arc::clone(&store) as _, "k")).unwrap());
        assert_eq!(shown(&store).0, ["a", "b", "c"], "making the session added something");
        let mut session = run(mirrored.session()).unwrap();
        let kept = run(session.append(Message::user("d"))).unwrap();
        run(session.append(Message::assistant("e"))).unwrap();
        assert_eq!(shown(&store).0, ["a", "b", "c", "d", "e"]);
        let compaction = Compaction {
            summary: "after".into(),
            first_kept_entry_id: Some(kept),
            ..Compaction::default()
        };
        run(session.append(compaction)).unwrap();
        assert_eq!(shown(&store), (vec!["d".to_owned(), "e".to_owned()], "after".to_owned()));
        // A session that is made of it anew has the same context.
        let again = Arc::new(run(Mirrored::of(store as _, "k")).unwrap());
        let context = |session: &forkwood::Session| {
            let messages = run(session.context()).unwrap();
            let texts = messages.messages().iter().map(|one| one.content.text().to_string());
            texts.collect::<Vec<_>>()
        };
        assert_eq!(context(&run(again.session()).unwrap()), context(&session));
        assert_eq!(mirrored.entry_ids().len(), 2);
    }
}
