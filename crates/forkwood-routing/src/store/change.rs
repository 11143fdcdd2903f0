//! What is done to a conversation, as entries of its session.

use forkwood::conversation::native::{ConversationRecord, session_id};
use forkwood::conversation::{ConversationMessage, is_transient_thought};
use forkwood::core::entry::{Compaction, CompactionState, MessageBody};
use forkwood::{
    AppendOptions, Body, EntryId, Error, ErrorKind, Result, Session, Settings, Timestamp,
};

use super::shown::{Shown, details, replaced_body, summary_body};
use super::{Open, PersistentConversations, TRIES};

/// A change of a conversation. The same one twice has the effect of one.
#[derive(Debug)]
pub(super) enum Change {
    Add(EntryId, Box<ConversationMessage>),
    Summary(String),
    Truncate(usize),
    Replace(Vec<ConversationMessage>),
}

impl PersistentConversations {
    /// Makes a change. Where another conversation took the history over before it was written, it
    /// is made there too: who moves a history looks for what came after it, and who adds to one
    /// looks for whether it was moved, so that one of the two sees the other.
    pub(super) async fn change(&self, key: String, change: &Change) -> Result<()> {
        let mut key = key;
        let mut moves = 0;
        for _ in 0..TRIES {
            let open = match change {
                // There is nothing that could be cut.
                Change::Truncate(_) => match self.find(&key).await? {
                    Some(open) => open,
                    None => return Ok(()),
                },
                _ => self.open_or_create(&key).await?,
            };
            match self.apply(open, change).await {
                // Deleted between the look and the write: a new one begins.
                Err(error) if matches!(error.kind(), ErrorKind::Gone | ErrorKind::NotFound) => {
                    continue;
                }
                other => other?,
            }
            let record = self.record(&session_id(&key)?).await?;
            match record.and_then(|record: ConversationRecord| self.moved(&record)) {
                Some(to) if moves < 8 => (key, moves) = (to, moves + 1),
                _ => return Ok(()),
            }
        }
        Err(Error::invalid(format!("the conversation {key} comes and goes; try again")))
    }

    async fn apply(&self, mut open: Open, change: &Change) -> Result<()> {
        let anywhere = AppendOptions { any: true, ..AppendOptions::default() };
        match change {
            Change::Add(id, message) => {
                let (body, at) = message_body(message);
                let options = AppendOptions { ids: vec![id.clone()], times: vec![at], ..anywhere };
                open.session.append_batch(vec![body], options).await?;
            }
            Change::Summary(summary) => {
                let shown = Shown::read(&open.session).await?;
                if shown.summary(&open.session).await? != *summary {
                    open.session.append_batch(vec![summary_body(summary)?], anywhere).await?;
                }
            }
            Change::Truncate(keep) => return self.truncate(open, *keep).await,
            Change::Replace(messages) => return self.replace(open, messages).await,
        }
        Ok(())
    }

    /// A compaction that keeps the last messages and says nothing of the others.
    async fn truncate(&self, mut open: Open, keep: usize) -> Result<()> {
        let mut last = None;
        for _ in 0..TRIES {
            let session = &mut open.session;
            let shown = Shown::read(session).await?;
            let Some(cut) = shown.ids.len().checked_sub(keep).filter(|cut| *cut > 0) else {
                return Ok(());
            };
            let id = self.next_id();
            let mut compaction = Compaction {
                details: Some(details(&shown.summary(session).await?)?),
                state: shown.settings.clone().map(state),
                ..Compaction::default()
            };
            if keep == 0 {
                compaction.first_kept_entry_id = Some(id.clone());
            } else if (cut..shown.ids.len()).all(|at| shown.is_plain(at)) {
                compaction.first_kept_entry_id = Some(shown.ids[cut].clone());
            } else {
                // What is no entry of its own (the summary of a compaction by others) is carried
                // on as it reads.
                compaction.retained_tail = Some(shown.messages[cut..].to_vec());
            }
            let options = AppendOptions { ids: vec![id], ..AppendOptions::default() };
            match session.append_batch(vec![compaction.into()], options).await {
                Err(error) if error.kind() == ErrorKind::Conflict => last = Some(error),
                other => return other.map(|_| ()),
            }
            self.again(&mut open).await?;
        }
        Err(last.unwrap_or_else(|| Error::invalid("the conversation does not stand still")))
    }

    /// A new branch from the root. Summary and settings come along.
    async fn replace(&self, mut open: Open, messages: &[ConversationMessage]) -> Result<()> {
        let session = &mut open.session;
        let before = Shown::read(session).await?;
        let mut bodies = Vec::new();
        let mut times = Vec::new();
        let root = root_of(session).await?;
        if session.leaf() != Some(&root) {
            bodies.push(Body::Leaf { leaf_id: Some(root) });
        }
        bodies.push(replaced_body(&before.summary(session).await?)?);
        times.resize(bodies.len(), None);
        let mut after = Settings::initial(&session.facts().rules);
        for message in messages.iter().filter(|one| !is_transient_thought(&one.message)) {
            let (body, at) = message_body(message);
            if let (Some(model), forkwood::Role::Assistant) =
                (&message.message.model, &message.message.role)
            {
                after.model = Some(model.clone());
                after.provider = message.message.provider.clone().or(after.provider);
            }
            bodies.push(body);
            times.push(at);
        }
        bodies.extend(before.settings.iter().flat_map(|before| carried(before, &after)));
        let options = AppendOptions { any: true, times, ..AppendOptions::default() };
        session.append_batch(bodies, options).await.map(|_| ())
    }
}

/// The first entry of a session.
pub(super) async fn root_of(session: &Session) -> Result<EntryId> {
    let first = session.read(0, 1).await?.entries.into_iter().next();
    first.map(|stored| stored.entry.id).ok_or_else(|| Error::EntryNotFound {
        session: session.id().to_string(),
        entry: "the first".to_owned(),
    })
}

pub(super) fn message_body(message: &ConversationMessage) -> (Body, Option<Timestamp>) {
    let ConversationMessage { message, created_at, foreign } = message.clone();
    (Body::Message(MessageBody { message, foreign }), created_at)
}

fn state(settings: Settings) -> CompactionState {
    CompactionState {
        model: settings.model,
        provider: settings.provider,
        thinking_level: settings.thinking_level,
        active_tool_names: settings.active_tool_names,
    }
}

/// What sets a new branch to what the old one was set to.
fn carried(before: &Settings, after: &Settings) -> Vec<Body> {
    let mut bodies = Vec::new();
    if let Some(model) = &before.model
        && (before.model != after.model || before.provider != after.provider)
    {
        let provider = before.provider.clone();
        bodies.push(Body::ModelChange { model: model.clone(), provider });
    }
    if let Some(level) = &before.thinking_level {
        bodies.push(Body::ThinkingLevelChange { thinking_level: level.clone() });
    }
    if let Some(names) = &before.active_tool_names {
        bodies.push(Body::ActiveToolsChange { active_tool_names: names.clone() });
    }
    bodies
}
