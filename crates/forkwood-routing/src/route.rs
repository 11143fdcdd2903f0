//! Which agent, and what keeps its conversations apart (PicoClaw `routing/route.go`).

use crate::config::{Config, Dimension, Rule};
use crate::identity::{IdentityLinks, Person};
use crate::inbound::Context;
use crate::text::{account_id, agent_id, fold};

/// Where a message goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The agent.
    pub agent_id: String,
    /// The channel in lowercase.
    pub channel: String,
    /// The account, normalised.
    pub account_id: String,
    /// `default`, `dispatch.rule`, or `dispatch.rule:<name>`.
    pub matched_by: String,
    /// What keeps conversations apart.
    pub policy: Policy,
}

/// What keeps conversations apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// In the order that is hashed.
    pub dimensions: Vec<Dimension>,
    /// Whether a linked person has one conversation on all channels and accounts. Not in PicoClaw.
    pub cross_channel: bool,
}

/// A configuration, ready to route.
#[derive(Debug, Clone)]
pub struct Router {
    config: Config,
    links: IdentityLinks,
    selectors: Vec<Option<View>>,
}

/// What rules compare: of a message, or as a rule demands it.
#[derive(Debug, Clone, Default)]
struct View {
    channel: String,
    account: String,
    space: String,
    chat: String,
    topic: String,
    sender: String,
    mentioned: Option<bool>,
}

impl Router {
    /// Takes in a configuration.
    pub fn new(config: Config) -> Self {
        let links = IdentityLinks::new(&config.session.identity_links);
        let selectors = config.agents.dispatch.rules.iter().map(View::demanded).collect();
        Self { config, links, selectors }
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The person who sent a message.
    pub fn sender(&self, context: &Context) -> Person {
        self.links.person(&context.channel, &context.sender_id)
    }

    /// The route of a message: the first rule that fits, else the default agent.
    pub fn route(&self, context: &Context) -> Route {
        let context = context.normalised();
        let seen = View::of(&context, &self.sender(&context).id);
        let fits = |demand: &Option<View>| demand.as_ref().is_some_and(|it| it.fits(&seen));
        let rule = self
            .selectors
            .iter()
            .position(fits)
            .and_then(|at| self.config.agents.dispatch.rules.get(at));
        let (agent, matched_by) = match rule {
            None => (self.default_agent(), "default".to_owned()),
            Some(rule) => (self.agent_of(rule), matched_by(rule)),
        };
        let session = &self.config.session;
        let own = rule.and_then(|rule| rule.session_dimensions.as_ref());
        let policy = Policy {
            dimensions: own.unwrap_or(&session.dimensions).clone(),
            cross_channel: rule.and_then(|it| it.cross_channel).unwrap_or(session.cross_channel),
        };
        let (channel, account_id) = (seen.channel, seen.account);
        Route { agent_id: agent, channel, account_id, matched_by, policy }
    }

    /// The agent for what no rule fits: the first marked as default, else the first, else `main`.
    pub fn default_agent(&self) -> String {
        let agents = &self.config.agents.list;
        let marked = agents.iter().find(|agent| agent.default && !agent.id.trim().is_empty());
        agent_id(marked.or(agents.first()).map_or("", |agent| &agent.id))
    }

    /// A rule's agent. One that is not listed is replaced by the default agent, while the rule's
    /// dimensions stay (vector 41). Where none is listed any agent will do.
    fn agent_of(&self, rule: &Rule) -> String {
        let agents = &self.config.agents.list;
        let wanted = agent_id(&rule.agent);
        let listed = agents.is_empty() || agents.iter().any(|it| agent_id(&it.id) == wanted);
        if rule.agent.trim().is_empty() || !listed { self.default_agent() } else { wanted }
    }
}

fn matched_by(rule: &Rule) -> String {
    match fold(&rule.name).as_str() {
        "" => "dispatch.rule".to_owned(),
        name => format!("dispatch.rule:{name}"),
    }
}

impl View {
    fn of(context: &Context, sender: &str) -> Self {
        let typed = |kind: &str, default: &str, id: &str| match (kind, id) {
            (_, "") => String::new(),
            ("", id) => fold(&format!("{default}:{id}")),
            (kind, id) => fold(&format!("{kind}:{id}")),
        };
        Self {
            channel: fold(&context.channel),
            account: account_id(&context.account),
            space: typed(&context.space_type, "space", &context.space_id),
            chat: typed(&context.chat_type, "direct", &context.chat_id),
            topic: typed("topic", "topic", &context.topic_id),
            sender: fold(sender),
            mentioned: Some(context.mentioned),
        }
    }

    /// `None` for a rule that demands nothing: PicoClaw skips it (vector 45).
    fn demanded(rule: &Rule) -> Option<Self> {
        let when = &rule.when;
        if !when.is_constrained() {
            return None;
        }
        Some(Self {
            channel: fold(&when.channel),
            // An empty selector means account `default`, not any account (vectors 43 and 44):
            // the loader warns where that is likely to be a slip.
            account: account_id(&when.account),
            space: fold(&when.space),
            chat: fold(&when.chat),
            topic: fold(&when.topic),
            sender: fold(&when.sender),
            mentioned: when.mentioned,
        })
    }

    fn fits(&self, seen: &Self) -> bool {
        let texts = [
            (&self.channel, &seen.channel),
            (&self.account, &seen.account),
            (&self.space, &seen.space),
            (&self.chat, &seen.chat),
            (&self.topic, &seen.topic),
            (&self.sender, &seen.sender),
        ];
        texts.into_iter().all(|(demand, seen)| demand.is_empty() || demand == seen)
            && (self.mentioned.is_none() || self.mentioned == seen.mentioned)
    }
}
