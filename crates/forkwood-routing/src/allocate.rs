//! From a route to the session (PicoClaw `session/allocator.go`, `agent/agent_utils.go`).

use serde::Serialize;

use crate::alias;
use crate::config::Dimension;
use crate::identity::Person;
use crate::inbound::{Context, Inbound};
use crate::key::{is_explicit, main_alias, main_key};
use crate::route::{Policy, Route, Router};
use crate::text::{account_id, agent_id, fold};
use forkwood::conversation::{SCOPE_VERSION, SessionScope};

/// Stands for every channel and every account in a scope that spans them. No account can be
/// called so: normalisation leaves no `*`.
const ANY: &str = "*";

/// The session of a message, and the main session of its agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Allocation {
    /// The scope.
    pub scope: SessionScope,
    /// The key of the scope.
    pub session_key: String,
    /// Older names of the session, most general first.
    pub session_aliases: Vec<String>,
    /// The key of the agent's main session.
    pub main_session_key: String,
    /// Older names of the main session.
    pub main_aliases: Vec<String>,
}

/// All that routing says about a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The route.
    pub route: Route,
    /// The session that the route gives.
    pub allocation: Allocation,
    /// The key to use: the one that the message names if it is a key, else the routed one; for a
    /// system message that of the agent's main session.
    pub session_key: String,
    /// The aliases to store for that key.
    pub aliases: Vec<String>,
    /// The scope to store for that key. A main session has none: it is not about a chat.
    pub scope: Option<SessionScope>,
}

impl Router {
    /// Routes a message all the way to a key.
    pub fn resolve(&self, inbound: &Inbound) -> Resolved {
        if inbound.is_system() {
            return self.resolve_system(inbound);
        }
        let route = self.route(&inbound.context);
        let allocation = self.allocate(&route, &inbound.context);
        let given = &inbound.session_key;
        // A key is used as it stands; that it is one is judged without case (PicoClaw
        // `resolveScopeKey`).
        let key = if is_explicit(given) { given } else { &allocation.session_key };
        let aliases = alias::for_key(key, &allocation.session_aliases, given);
        let scope = Some(allocation.scope.clone());
        Resolved { session_key: key.clone(), aliases, scope, route, allocation }
    }

    /// What comes from the bot itself goes to the main session of the default agent, whatever the
    /// rules say (PicoClaw `processSystemMessage`).
    fn resolve_system(&self, inbound: &Inbound) -> Resolved {
        let mut route = self.route(&inbound.context);
        route.agent_id = self.default_agent();
        route.matched_by = "system".to_owned();
        let allocation = self.allocate(&route, &inbound.context);
        Resolved {
            session_key: allocation.main_session_key.clone(),
            aliases: allocation.main_aliases.clone(),
            scope: None,
            route,
            allocation,
        }
    }

    /// The session of a message on a route.
    pub fn allocate(&self, route: &Route, context: &Context) -> Allocation {
        let context = context.normalised();
        let sender = self.sender(&context);
        let scope = scope(route, &context, &sender);
        Allocation {
            session_key: scope.key(),
            session_aliases: alias::of_message(&route.agent_id, &context, &sender.id),
            main_session_key: main_key(&route.agent_id),
            main_aliases: vec![main_alias(&route.agent_id)],
            scope,
        }
    }
}

fn scope(route: &Route, context: &Context, sender: &Person) -> SessionScope {
    let values: Vec<(Dimension, String)> = route
        .policy
        .dimensions
        .iter()
        .filter_map(|dimension| {
            value(*dimension, &route.policy, context, sender).map(|value| (*dimension, value))
        })
        .collect();
    let channel = fold(&route.channel);
    let channel = if channel.is_empty() { "unknown".to_owned() } else { channel };
    let mut scope = SessionScope {
        version: SCOPE_VERSION,
        agent_id: agent_id(&route.agent_id),
        channel,
        account: account_id(&route.account_id),
        ..SessionScope::default()
    };
    let spans = spans_channels(&route.policy, context, sender, &values);
    if spans {
        scope.channel = ANY.to_owned();
        scope.account = ANY.to_owned();
    }
    for (dimension, value) in values {
        if !spans || dimension == Dimension::Sender {
            scope.dimensions.push(dimension.name().to_owned());
            scope.values.insert(dimension.name().to_owned(), value);
        }
    }
    scope
}

/// The value of a dimension; `None` where its id is empty, and then the dimension is left out.
fn value(
    dimension: Dimension,
    policy: &Policy,
    context: &Context,
    sender: &Person,
) -> Option<String> {
    let typed = |kind: &str, default: &str, id: &str| {
        let kind = if kind.is_empty() { default } else { kind };
        (!id.is_empty()).then(|| format!("{}:{}", fold(kind), fold(id)))
    };
    match dimension {
        Dimension::Space => typed(&context.space_type, "space", &context.space_id),
        Dimension::Topic => typed("", "topic", &context.topic_id),
        Dimension::Sender => (!sender.id.is_empty()).then(|| sender.id.clone()),
        Dimension::Chat if context.chat_id.is_empty() => None,
        Dimension::Chat => {
            let mut id = context.chat_id.clone();
            if is_forum_topic(policy, context) {
                id.extend(["/", &context.topic_id]);
            }
            typed(&context.chat_type, "direct", &id)
        }
    }
}

/// Topics of a Telegram forum are kept apart even where only `chat` is configured. The chat type
/// is not looked at (vector 11).
fn is_forum_topic(policy: &Policy, context: &Context) -> bool {
    fold(&context.channel) == "telegram"
        && !context.topic_id.is_empty()
        && !policy.dimensions.contains(&Dimension::Topic)
}

/// Whether a message belongs to its sender's one conversation on all channels. That takes the
/// policy, a linked person, and a scope that is about the person: the sender is one of its
/// dimensions, and beside it stands at most a direct chat, which is the same person once more.
/// A group stays on its channel: the others in it are not linked.
fn spans_channels(
    policy: &Policy,
    context: &Context,
    sender: &Person,
    values: &[(Dimension, String)],
) -> bool {
    let personal = |dimension: Dimension| {
        dimension == Dimension::Sender
            || dimension == Dimension::Chat
                && context.chat_type == "direct"
                && !is_forum_topic(policy, context)
    };
    policy.cross_channel
        && sender.linked
        && values.iter().any(|(dimension, _)| *dimension == Dimension::Sender)
        && values.iter().all(|(dimension, _)| personal(*dimension))
}
