//! What goes in and out of a [`ConversationStore`](super::ConversationStore).

use forkwood_core::entry::Foreign;
use forkwood_core::{Message, Timestamp};

use super::SessionScope;
use super::key::{is_main, main_key, parse_legacy};
use super::text::agent_id;

/// One message of a conversation, and what is known of it beside its words.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationMessage {
    /// The message, tool calls and ids included.
    pub message: Message,
    /// When it was said. A store that keeps times sets it where it is absent.
    pub created_at: Option<Timestamp>,
    /// The record it came from, where the message alone does not hold all of it.
    pub foreign: Option<Foreign>,
}

impl From<Message> for ConversationMessage {
    fn from(message: Message) -> ConversationMessage {
        ConversationMessage { message, created_at: None, foreign: None }
    }
}

/// Who a conversation is with: what routing knows before a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Its scope.
    pub scope: Option<SessionScope>,
    /// Its older names, most general first.
    pub aliases: Vec<String>,
}

/// What a store knows of a conversation besides its messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConversationMeta {
    /// The canonical key.
    pub key: String,
    /// Its scope, if one was given.
    pub scope: Option<SessionScope>,
    /// Its aliases, in the order they were given.
    pub aliases: Vec<String>,
    /// The agent that it belongs to: [`agent_of`] its scope and key.
    pub agent: Option<String>,
    /// When it was made.
    pub created_at: Option<Timestamp>,
    /// The alias whose history was promoted into it, if one was.
    pub promoted_from: Option<String>,
}

/// What [`ensure_metadata`](super::ConversationStore::ensure_metadata) came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ensured {
    /// The canonical key, for all calls of the turn.
    pub key: String,
    /// The alias whose history this very call promoted, if it did.
    pub promoted_from: Option<String>,
}

/// The agent of a conversation, normalised: of its scope, else of a key `agent:<agent>:...`
/// (PicoClaw `ResolveAgentID`). Where PicoClaw knows none, that of a main session by its opaque key:
/// of agent `main`, or of the one whose main alias it has.
pub fn agent_of(scope: Option<&SessionScope>, key: &str, aliases: &[String]) -> Option<String> {
    let scoped = scope.map(|scope| scope.agent_id.trim()).filter(|agent| !agent.is_empty());
    let named = || parse_legacy(key).map(|(agent, _)| agent);
    let main = || {
        let aliases = aliases.iter().map(String::as_str).filter(|alias| is_main(alias));
        let mut agents = aliases.filter_map(parse_legacy).map(|(agent, _)| agent).chain(["main"]);
        agents.find(|agent| main_key(agent) == key)
    };
    scoped.or_else(named).or_else(main).map(agent_id)
}
