//! The contract that every store of conversations keeps.

use std::fmt;

use async_trait::async_trait;
use forkwood_core::{Content, EntryId, Message, Role};

use super::{ConversationMessage, ConversationMeta, Ensured, Identity, SessionScope, agent_of};
use crate::Result;

/// Where conversations are kept, by key.
///
/// The contract, for every implementation:
///
/// 1. **Keys.** Every method takes a canonical key or an alias, trimmed, and resolves it before
///    it reads or writes. A blank one is `invalid`. An alias in the metadata of a conversation
///    wins over a conversation of that very name, as long as the name holds a `:`, `/` or `\`;
///    of several conversations with one alias the first by file name counts. The alias of a main
///    session, `agent:<agent>:main`, is never resolved to a chat that lists it.
/// 2. **Unknown keys.** Reading one gives what is empty; writing to one makes it; truncating and
///    saving one do nothing.
/// 3. **Order.** `Ok` means kept. What one caller adds to a conversation, one call after the
///    other, is there once and in that order, whoever else adds to it. An error means that nothing
///    of the call was kept, and it is told (PicoClaw logs it and goes on).
/// 4. **Truncating and summing up** change what is shown. Whether older messages can still be
///    reached is up to the implementation, and it says so.
/// 5. **Summary, scope and aliases** stay when the history is truncated or replaced. The summary
///    never stands in the history.
/// 6. **Thoughts** without words ([`is_transient_thought`](super::is_transient_thought)) are
///    neither kept nor given.
/// 7. **Promotion.** The history of an alias from before the conversation had its key is taken
///    over where the conversation never had one, and never over one that is there.
#[async_trait]
pub trait ConversationStore: Send + Sync + fmt::Debug {
    /// The canonical key of a key or alias; the key itself where nothing is known of it.
    ///
    /// # Errors
    /// `invalid` for a blank key, `io`. All methods have these.
    async fn resolve_key(&self, key: &str) -> Result<String>;

    /// Keeps who a conversation is with, and promotes the history of an older name of it. Called
    /// before a turn. Replaces scope and aliases as a whole; writes nothing where they are as
    /// they were.
    ///
    /// # Errors
    /// `scopes_meet` where another scope has the key already; both are named.
    async fn ensure_metadata(&self, key: &str, identity: &Identity) -> Result<Ensured>;

    /// What is known of a conversation; `None` where there is none.
    ///
    /// # Errors
    /// `damaged` where it is there and cannot be read.
    async fn metadata(&self, key: &str) -> Result<Option<ConversationMeta>>;

    /// The messages that are shown, oldest first.
    ///
    /// # Errors
    /// `damaged` where the conversation is there and cannot be read.
    async fn get_history(&self, key: &str) -> Result<Vec<ConversationMessage>>;

    /// Adds a plain message. Gives its entry, where the store has ids of entries; `None` too for
    /// what is not kept.
    ///
    /// # Errors
    /// Those of a write.
    async fn add_message(&self, key: &str, role: Role, content: &str) -> Result<Option<EntryId>> {
        let message = Message::new(role, Content::Text(content.into()));
        self.add_full_message(key, message.into()).await
    }

    /// Adds a message with tool calls, ids and time as they are.
    ///
    /// # Errors
    /// Those of a write.
    async fn add_full_message(
        &self,
        key: &str,
        message: ConversationMessage,
    ) -> Result<Option<EntryId>>;

    /// The summary of what the history no longer shows; empty where there is none.
    ///
    /// # Errors
    /// `damaged` where the conversation is there and cannot be read.
    async fn get_summary(&self, key: &str) -> Result<String>;

    /// Replaces the summary; an empty one clears it.
    ///
    /// # Errors
    /// Those of a write.
    async fn set_summary(&self, key: &str, summary: &str) -> Result<()>;

    /// Shows the last `keep` messages only; 0 shows none. More than there are changes nothing.
    ///
    /// # Errors
    /// Those of a write.
    async fn truncate_history(&self, key: &str, keep: usize) -> Result<()>;

    /// Shows these messages in the place of the history.
    ///
    /// # Errors
    /// Those of a write.
    async fn set_history(&self, key: &str, messages: Vec<ConversationMessage>) -> Result<()>;

    /// After a turn: gives up what is no longer needed, and has all that was acknowledged on
    /// disk. What is shown stays the same.
    ///
    /// # Errors
    /// Those of a write.
    async fn save(&self, key: &str) -> Result<()>;

    /// The canonical keys of all conversations, in the order of their file names.
    ///
    /// # Errors
    /// `io` where the place itself cannot be read. What is damaged is left out.
    async fn list_sessions(&self) -> Result<Vec<String>>;

    /// Ends the use of the store.
    ///
    /// # Errors
    /// Those of a write.
    async fn close(&self) -> Result<()>;

    /// The scope of a conversation, from which what was interrupted goes on.
    ///
    /// # Errors
    /// Those of [`ConversationStore::metadata`].
    async fn scope(&self, key: &str) -> Result<Option<SessionScope>> {
        Ok(self.metadata(key).await?.and_then(|meta| meta.scope))
    }

    /// The agent of a conversation, from which what was interrupted goes on: of its scope, else of
    /// its key.
    ///
    /// # Errors
    /// Those of [`ConversationStore::metadata`].
    async fn agent(&self, key: &str) -> Result<Option<String>> {
        let known = self.metadata(key).await?.and_then(|meta| meta.agent);
        Ok(known.or_else(|| agent_of(None, key, &[])))
    }
}
