//! The contract of conversations, kept by native sessions.

use async_trait::async_trait;
use forkwood::conversation::native::session_id;
use forkwood::conversation::{
    ConversationMessage, ConversationMeta, ConversationStore, Ensured, Identity, agent_of,
    is_transient_thought,
};
use forkwood::{Durability, EntryId, Error, Result, blobs};

use super::PersistentConversations;
use super::change::Change;
use super::shown::Shown;

#[async_trait]
impl ConversationStore for PersistentConversations {
    async fn resolve_key(&self, key: &str) -> Result<String> {
        self.resolve(key).await
    }

    async fn ensure_metadata(&self, key: &str, identity: &Identity) -> Result<Ensured> {
        self.ensure(key, identity).await
    }

    async fn metadata(&self, key: &str) -> Result<Option<ConversationMeta>> {
        let key = self.resolve(key).await?;
        Ok(self.find(&key).await?.map(|open| {
            let record = open.record;
            ConversationMeta {
                agent: agent_of(record.scope.as_ref(), &record.key, &record.aliases),
                key: record.key,
                scope: record.scope,
                aliases: record.aliases,
                created_at: open.session.facts().info.created_at,
                promoted_from: record.promoted.map(|promotion| promotion.from),
            }
        }))
    }

    async fn get_history(&self, key: &str) -> Result<Vec<ConversationMessage>> {
        let key = self.resolve(key).await?;
        let Some(open) = self.find(&key).await? else { return Ok(Vec::new()) };
        let mut shown = Shown::read(&open.session).await?;
        blobs::inline(open.session.storage().as_ref(), &mut shown.messages).await?;
        Ok(shown.into_messages())
    }

    async fn add_full_message(
        &self,
        key: &str,
        message: ConversationMessage,
    ) -> Result<Option<EntryId>> {
        let key = self.resolve(key).await?;
        if is_transient_thought(&message.message) {
            return Ok(None);
        }
        let id = self.next_id();
        self.change(key, &Change::Add(id.clone(), Box::new(message))).await?;
        Ok(Some(id))
    }

    async fn get_summary(&self, key: &str) -> Result<String> {
        let key = self.resolve(key).await?;
        match self.find(&key).await? {
            Some(open) => Shown::read(&open.session).await?.summary(&open.session).await,
            None => Ok(String::new()),
        }
    }

    async fn set_summary(&self, key: &str, summary: &str) -> Result<()> {
        let key = self.resolve(key).await?;
        self.change(key, &Change::Summary(summary.to_owned())).await
    }

    async fn truncate_history(&self, key: &str, keep: usize) -> Result<()> {
        let key = self.resolve(key).await?;
        self.change(key, &Change::Truncate(keep)).await
    }

    async fn set_history(&self, key: &str, messages: Vec<ConversationMessage>) -> Result<()> {
        let key = self.resolve(key).await?;
        self.change(key, &Change::Replace(messages)).await
    }

    /// PicoClaw's compaction rewrites the file without what a truncation left out. Here that is
    /// the one step that destroys something, and left to
    /// [`vacuum`](PersistentConversations::vacuum). What remains is that all is on disk.
    async fn save(&self, key: &str) -> Result<()> {
        let key = self.resolve(key).await?;
        if self.options.durability != Durability::Os || !self.is_there(&key)? {
            return Ok(());
        }
        let path = self.path_of(&session_id(&key)?);
        let synced = self.options.disk.open_append(&path).and_then(|file| file.sync());
        synced.map_err(|error| Error::write(path, "sync", error))
    }

    async fn list_sessions(&self) -> Result<Vec<String>> {
        self.keys().await
    }

    /// Nothing is held back: what was acknowledged is as sure as the store was told to make it.
    async fn close(&self) -> Result<()> {
        Ok(())
    }
}
