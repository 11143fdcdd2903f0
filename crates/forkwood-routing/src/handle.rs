//! The whole way of a message: route, allocate, resolve the key, keep who it is with, one turn of
//! an agent, and all of it stored.

mod mirrored;
mod said;
mod turns;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use forkwood::conversation::native::session_id;
use forkwood::conversation::{ConversationStore, Identity};
use forkwood::{Session, SessionStore};
use forkwood_agent::{AgentBuilder, AgentError, RunStop};
use serde::Serialize;

use crate::allocate::Resolved;
use crate::error::Result;
use crate::{Conversations, Inbound, PersistentConversations, Router};
use mirrored::Mirrored;
use turns::Turns;

/// How long a message waits for its conversation, where nothing else is said.
const WAIT: Duration = Duration::from_secs(600);

/// What stands above the summary of a conversation, in the instructions of a turn.
const SUMMARY: &str = "What was said earlier in this conversation, summed up:";

/// The agents that a configuration names.
pub trait Agents: Send + Sync {
    /// How the agent of that id works: providers, model, prompt, tools. Session and store are
    /// set by the handler. Called for every turn; what is costly to make is made once and shared.
    ///
    /// # Errors
    /// Where there is no such agent, or it cannot be made.
    fn agent(&self, agent_id: &str) -> std::result::Result<AgentBuilder, AgentError>;
}

impl<F> Agents for F
where
    F: Fn(&str) -> std::result::Result<AgentBuilder, AgentError> + Send + Sync,
{
    fn agent(&self, agent_id: &str) -> std::result::Result<AgentBuilder, AgentError> {
        self(agent_id)
    }
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Handled {
    /// The agent that answered.
    pub agent_id: String,
    /// Why it: see [`Route::matched_by`](crate::Route).
    pub matched_by: String,
    /// The canonical key of the conversation.
    pub session_key: String,
    /// The session that holds it; `None` where it is kept in no session.
    #[serde(rename = "session")]
    pub session_id: Option<String>,
    /// The older conversation whose history was taken over now, if one was.
    pub promoted_from: Option<String>,
    /// The entries of the turn, oldest first: what was said, calls, results, the answer. Empty where
    /// what is kept has no ids.
    pub entry_ids: Vec<String>,
    /// The text of the last answer.
    pub reply: String,
    /// How the turn ended: `done`, `length`, `refused`, `terminated`, `max_turns`, `cancelled`.
    pub stop: &'static str,
}

/// Takes inbound messages to their conversations and answers them.
///
/// The turns of one conversation follow each other in the order in which they were asked for, in
/// this process by waiting in line, among processes by a lock; those of different conversations
/// go on side by side.
pub struct Handler {
    router: Router,
    conversations: Conversations,
    agents: Arc<dyn Agents>,
    turns: Turns,
}

impl std::fmt::Debug for Handler {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Handler")
            .field("conversations", &self.conversations)
            .finish_non_exhaustive()
    }
}

impl Handler {
    /// One over conversations, which are kept in the folder `root`.
    pub fn new(
        router: Router,
        conversations: impl Into<Conversations>,
        root: &Path,
        agents: impl Agents + 'static,
    ) -> Handler {
        let conversations = conversations.into();
        let folder = match conversations.native() {
            Some(_) => root.join("conversations").join("turns"),
            // The folder is another program's: nothing of ours is seen in it.
            None => root.join(".forkwood-turns"),
        };
        Handler { router, conversations, agents: Arc::new(agents), turns: Turns::new(folder, WAIT) }
    }

    /// How long a message waits for a turn of its conversation that another process has.
    #[must_use]
    pub fn with_wait(mut self, wait: Duration) -> Handler {
        self.turns.wait = wait;
        self
    }

    /// The conversations.
    pub fn conversations(&self) -> &Conversations {
        &self.conversations
    }

    /// The routes.
    pub fn router(&self) -> &Router {
        &self.router
    }

    /// Handles a message: routes it, keeps scope and aliases of its conversation, lets the agent
    /// answer in it, and gives what came of it. What was said is in the conversation before the
    /// agent is asked, and every step of the turn as it is done: where the turn fails, nothing of
    /// it is lost.
    ///
    /// A turn that a crash cut off is ended before the next one, its open calls answered as
    /// interrupted.
    ///
    /// # Errors
    /// `invalid` for a message that says nothing, `scopes_meet` where its conversation is that of
    /// another scope (nothing is written then), `locked` where another process kept the
    /// conversation for too long, and those of the agent.
    pub async fn handle(&self, inbound: &Inbound) -> Result<Handled> {
        let said = said::message(inbound)?;
        let resolved = self.router.resolve(inbound);
        // In line by the name that the message has itself: nothing was waited for until here, so
        // that the order of calls is the order of turns.
        let _in_line = self.turns.line(&resolved.session_key).await;
        let key = self.conversations.resolve_key(&resolved.session_key).await?;
        let _also = match key == resolved.session_key {
            true => None,
            false => Some(self.turns.line(&key).await),
        };
        let identity =
            Identity { scope: resolved.scope.clone(), aliases: resolved.aliases.clone() };
        let ensured = self.conversations.ensure_metadata(&key, &identity).await?;
        let turn = match &self.conversations {
            Conversations::Native(native) => {
                let session = native.session(&ensured.key).await?;
                let _turn = self.turns.lock(session.id()).await?;
                self.turn(native, session, &resolved, said).await?
            }
            Conversations::Other(other) => {
                let _turn = self.turns.lock(&session_id(&ensured.key)?).await?;
                self.turn_elsewhere(Arc::clone(other), &ensured.key, &resolved, said).await?
            }
        };
        Ok(Handled {
            agent_id: resolved.route.agent_id,
            matched_by: resolved.route.matched_by,
            session_key: ensured.key,
            promoted_from: ensured.promoted_from,
            ..turn
        })
    }

    /// One turn of an agent. The names are filled in by the caller.
    async fn turn(
        &self,
        conversations: &PersistentConversations,
        mut session: Session,
        resolved: &Resolved,
        said: forkwood::Message,
    ) -> Result<Handled> {
        session.reload().await?;
        let id = session.id().clone();
        let storage = Arc::clone(session.storage());
        self.turns.at_rest(&session).await?;
        let summary = conversations.untold_summary(&session).await?;
        let builder = self.agents.agent(&resolved.route.agent_id)?;
        let store = conversations.sessions().clone();
        let mut agent = builder.session(session).store(store).build().await?;
        if !summary.trim().is_empty() {
            // No request shows it: what it stands for is cut off, and it is no message.
            let prompt = format!("{}\n\n{SUMMARY}\n{}", agent.prompt(), summary.trim());
            agent.set_prompt(prompt.trim_start());
        }
        let until = Instant::now() + self.turns.wait;
        let (before, outcome) = loop {
            let before = storage.facts(&id).await?.end;
            match agent.run(said.clone()).await {
                // Another agent was quicker, and nothing is written yet.
                Err(AgentError::Storage(forkwood::Error::Claimed { .. }))
                    if Instant::now() < until =>
                {
                    self.turns.at_rest(agent.session()).await?;
                }
                outcome => break (before, outcome?),
            }
        };
        let mut entry_ids = Vec::new();
        let mut from = Some(before);
        while let Some(seq) = from {
            let page = storage.read(&id, seq, 1024).await?;
            let of_path = page.entries.iter().filter(|stored| !stored.entry.body.is_sidecar());
            entry_ids.extend(of_path.map(|stored| stored.entry.id.to_string()));
            from = page.next;
        }
        Ok(Handled {
            agent_id: String::new(),
            matched_by: String::new(),
            session_key: String::new(),
            session_id: Some(id.to_string()),
            promoted_from: None,
            entry_ids,
            reply: outcome.text,
            stop: RunStop::as_str(outcome.stop),
        })
    }

    /// One turn where no session holds the conversation: in a session in memory that begins with
    /// what is shown of it, and writes each message through.
    async fn turn_elsewhere(
        &self,
        conversations: Arc<dyn ConversationStore>,
        key: &str,
        resolved: &Resolved,
        said: forkwood::Message,
    ) -> Result<Handled> {
        let builder = self.agents.agent(&resolved.route.agent_id)?;
        let mirrored = Arc::new(Mirrored::of(Arc::clone(&conversations), key).await?);
        let session = mirrored.session().await?;
        let store = SessionStore::new(Arc::clone(&mirrored) as _);
        let mut agent = builder.session(session).store(store).build().await?;
        let outcome = agent.run(said).await?;
        // As PicoClaw after each turn: what is hidden may go.
        conversations.save(key).await?;
        Ok(Handled {
            agent_id: String::new(),
            matched_by: String::new(),
            session_key: String::new(),
            session_id: None,
            promoted_from: None,
            entry_ids: mirrored.entry_ids(),
            reply: outcome.text,
            stop: RunStop::as_str(outcome.stop),
        })
    }
}
