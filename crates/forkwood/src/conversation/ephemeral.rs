//! A conversation that leaves no trace: for sub-turns (PicoClaw `agent/subturn.go`).

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use forkwood_core::{EntryId, IdSource, Sequential};

use super::{
    ConversationMessage, ConversationMeta, ConversationStore, Ensured, Identity,
    is_transient_thought,
};
use crate::{Error, Result};

/// How many messages are kept.
const KEPT: usize = 50;

/// One conversation in memory, whatever key it is called by. The oldest messages go when there
/// are more than 50. Nothing is listed, nothing is known of scopes and aliases, and with the value
/// all is gone.
#[derive(Debug)]
pub struct EphemeralConversations {
    kept: usize,
    ids: Sequential,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    messages: VecDeque<ConversationMessage>,
    summary: String,
}

impl Default for EphemeralConversations {
    fn default() -> EphemeralConversations {
        EphemeralConversations::with_limit(KEPT)
    }
}

impl EphemeralConversations {
    /// An empty one that keeps 50 messages.
    pub fn new() -> EphemeralConversations {
        EphemeralConversations::default()
    }

    /// An empty one that keeps so many messages.
    pub fn with_limit(kept: usize) -> EphemeralConversations {
        EphemeralConversations { kept, ids: Sequential::new("e"), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn cut(&mut self, kept: usize) {
        let extra = self.messages.len().saturating_sub(kept);
        self.messages.drain(..extra);
    }
}

fn canonical(key: &str) -> Result<String> {
    match key.trim() {
        "" => Err(Error::invalid("an empty session key names no conversation")),
        key => Ok(key.to_owned()),
    }
}

#[async_trait]
impl ConversationStore for EphemeralConversations {
    async fn resolve_key(&self, key: &str) -> Result<String> {
        canonical(key)
    }

    async fn ensure_metadata(&self, key: &str, _identity: &Identity) -> Result<Ensured> {
        Ok(Ensured { key: canonical(key)?, promoted_from: None })
    }

    async fn metadata(&self, key: &str) -> Result<Option<ConversationMeta>> {
        canonical(key).map(|_| None)
    }

    async fn get_history(&self, key: &str) -> Result<Vec<ConversationMessage>> {
        canonical(key)?;
        Ok(self.state().messages.iter().cloned().collect())
    }

    async fn add_full_message(
        &self,
        key: &str,
        message: ConversationMessage,
    ) -> Result<Option<EntryId>> {
        canonical(key)?;
        if is_transient_thought(&message.message) {
            return Ok(None);
        }
        let mut state = self.state();
        state.messages.push_back(message);
        state.cut(self.kept);
        Ok(Some(self.ids.next_id()))
    }

    async fn get_summary(&self, key: &str) -> Result<String> {
        canonical(key)?;
        Ok(self.state().summary.clone())
    }

    async fn set_summary(&self, key: &str, summary: &str) -> Result<()> {
        canonical(key)?;
        summary.clone_into(&mut self.state().summary);
        Ok(())
    }

    async fn truncate_history(&self, key: &str, keep: usize) -> Result<()> {
        canonical(key)?;
        self.state().cut(keep);
        Ok(())
    }

    async fn set_history(&self, key: &str, messages: Vec<ConversationMessage>) -> Result<()> {
        canonical(key)?;
        let mut state = self.state();
        state.messages =
            messages.into_iter().filter(|one| !is_transient_thought(&one.message)).collect();
        state.cut(self.kept);
        Ok(())
    }

    async fn save(&self, key: &str) -> Result<()> {
        canonical(key).map(|_| ())
    }

    async fn list_sessions(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    async fn close(&self) -> Result<()> {
        Ok(())
    }
}
