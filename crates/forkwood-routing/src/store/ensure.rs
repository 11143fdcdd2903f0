//! Keeping who a conversation is with (PicoClaw `session/jsonl_backend.go`).

use forkwood::conversation::key::{is_main, main_key};
use forkwood::conversation::native::{ConversationRecord, session_id};
use forkwood::conversation::{Ensured, Identity, SessionScope, check_same_scope};
use forkwood::{Error, ErrorKind, Result, SessionId};

use super::change::root_of;
use super::resolve::{check_name, is_of_the_file};
use super::shown::Shown;
use super::{Open, PersistentConversations, TRIES};
use crate::alias;

/// What there is to do, as a look without a turn tells it.
#[derive(Debug)]
pub(super) struct Todo {
    pub open: Option<Open>,
    /// What the session shall say.
    pub record: ConversationRecord,
    /// The alias whose history is to be taken over.
    pub source: Option<String>,
}

impl Todo {
    fn changes(&self) -> bool {
        self.open.as_ref().is_none_or(|open| open.record != self.record)
    }

    fn unsettled(&self) -> bool {
        self.record.promoted.as_ref().is_some_and(|promotion| !promotion.settled)
    }

    /// The conversations that it touches.
    fn touches(&self) -> Result<Vec<SessionId>> {
        let from = self.record.promoted.as_ref().map(|promotion| &promotion.from);
        let keys = [Some(&self.record.key), self.source.as_ref(), from];
        keys.into_iter().flatten().map(|key| session_id(key)).collect()
    }
}

impl PersistentConversations {
    pub(super) async fn ensure(&self, key: &str, identity: &Identity) -> Result<Ensured> {
        let key = self.resolve(key).await?;
        let mut aliases = alias::for_key(&key, &identity.aliases, "");
        // Nobody could ask for one that is longer than a key may be; the message is answered.
        aliases.retain(|alias| check_name(alias).is_ok());
        for _ in 0..TRIES {
            let todo = self.look(&key, identity.scope.as_ref(), &aliases).await?;
            if !todo.changes() && todo.source.is_none() && !todo.unsettled() {
                return Ok(Ensured { key, promoted_from: None });
            }
            let touched = todo.touches()?;
            let turn = self.turns.take(&touched.iter().collect::<Vec<_>>()).await?;
            // What was seen may have changed while this waited.
            let todo = self.look(&key, identity.scope.as_ref(), &aliases).await?;
            if todo.touches()? != touched {
                continue;
            }
            let done = self.carry_out(todo).await;
            drop(turn);
            match done {
                // Someone who takes no turns was first: it was made, added to, or deleted.
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::Exists
                            | ErrorKind::Conflict
                            | ErrorKind::Gone
                            | ErrorKind::NotFound
                    ) => {}
                Err(error) => return Err(error),
                Ok(promoted_from) => return Ok(Ensured { key, promoted_from }),
            }
        }
        Err(Error::invalid(format!("the conversation {key} does not stand still; try again")))
    }

    /// What there is to do. Writes nothing.
    async fn look(
        &self,
        key: &str,
        scope: Option<&SessionScope>,
        aliases: &[String],
    ) -> Result<Todo> {
        let open = self.find(key).await?;
        let mut record =
            open.as_ref().map_or_else(|| ConversationRecord::new(key), |open| open.record.clone());
        if let (Some(stored), Some(new)) = (&record.scope, scope) {
            check_same_scope(stored, new)?;
        }
        if !visits(key, record.scope.as_ref(), scope) {
            let scope = scope.or(record.scope.as_ref()).cloned();
            record.identify(scope, aliases.to_vec());
        }
        let source = match record.promoted.is_none() && never_used(open.as_ref()).await? {
            true => self.source(&record, aliases).await?,
            false => None,
        };
        Ok(Todo { open, record, source })
    }

    /// The first alias that has a history of its own which nobody took over yet. Main sessions
    /// are nobody's history but their own.
    async fn source(
        &self,
        record: &ConversationRecord,
        aliases: &[String],
    ) -> Result<Option<String>> {
        let main = record.agent.as_deref().map(main_key);
        for alias in aliases {
            if is_main(alias) || main.as_ref() == Some(alias) || *alias == record.key {
                continue;
            }
            let open = match self.find(alias).await {
                Ok(Some(open)) => open,
                Ok(None) => continue,
                // One bad file does not keep a message from its conversation.
                Err(error) if is_of_the_file(error.kind()) => continue,
                Err(error) => return Err(error),
            };
            if open.record.moved_to.is_none() && !is_empty(&open).await? {
                return Ok(Some(alias.clone()));
            }
        }
        Ok(None)
    }

    /// Writes what there is to write. The turn is held.
    async fn carry_out(&self, todo: Todo) -> Result<Option<String>> {
        let promoted_from = todo.source.clone();
        if promoted_from.is_some() || todo.changes() {
            self.write_record(&todo).await?;
        }
        let record = match &promoted_from {
            Some(_) => self.find(&todo.record.key).await?.map(|open| open.record),
            None => Some(todo.record),
        };
        if let Some(record) = record
            && record.promoted.as_ref().is_some_and(|promotion| !promotion.settled)
        {
            self.settle(&record).await?;
        }
        Ok(promoted_from)
    }

    async fn write_record(&self, todo: &Todo) -> Result<()> {
        if let Some(source) = &todo.source {
            return self.promote(todo, source).await;
        }
        match &todo.open {
            None => self.create(&todo.record, Vec::new()).await.map(|_| ()),
            Some(open) => self.say(open, &todo.record).await,
        }
    }

    /// Has a session say something else of itself.
    pub(super) async fn say(&self, open: &Open, record: &ConversationRecord) -> Result<()> {
        self.index.lock().await.note(record)?;
        let mut session = open.session.clone();
        let before = session.facts().info.metadata.clone();
        session.set_metadata(record.to_metadata(before.as_ref())?).await.map(|_| ())
    }
}

/// Whether a message names the key of a conversation that is not its own. Whose key it is by
/// right stays who it is: else a third scope could take its place unseen.
fn visits(key: &str, stored: Option<&SessionScope>, new: Option<&SessionScope>) -> bool {
    stored.is_some_and(|scope| scope.key() == key) && new.is_some_and(|scope| scope.key() != key)
}

/// Whether a conversation never held anything. One that was emptied is not of that kind.
async fn never_used(open: Option<&Open>) -> Result<bool> {
    let Some(Open { session, .. }) = open else { return Ok(true) };
    if session.facts().entries <= 1 {
        return Ok(true);
    }
    let root = root_of(session).await?;
    if session.leaf() != Some(&root) {
        return Ok(false);
    }
    // Its own records of itself stand beside the path.
    Ok(session.heads().await?.iter().all(|head| head.sidecar || head.id == root))
}

/// Whether a conversation shows nothing and has no summary.
async fn is_empty(open: &Open) -> Result<bool> {
    let shown = Shown::read(&open.session).await?;
    Ok(shown.ids.is_empty() && shown.summary(&open.session).await?.trim().is_empty())
}
