//! The settings.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// What decides where a message goes. PicoClaw's sections `agents` and `session`; other sections
/// of its file are passed over.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// Agents, and the rules that choose one.
    #[schemars(with = "Option<Agents>")]
    pub agents: Agents,
    /// What keeps conversations apart.
    #[schemars(with = "Option<Session>")]
    pub session: Session,
}

/// Agents, and the rules that choose one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(default)]
pub struct Agents {
    /// The agents. None: only `main`.
    #[schemars(with = "Option<Vec<Agent>>")]
    pub list: Vec<Agent>,
    /// The rules.
    #[schemars(with = "Option<Dispatch>")]
    pub dispatch: Dispatch,
}

/// An agent. What else PicoClaw says of one is passed over.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(default)]
pub struct Agent {
    /// Its name; normalised where it is used.
    pub id: String,
    /// Whether it takes what no rule fits. The first one marked so; none: the first of the list.
    pub default: bool,
}

/// Rules, the first that fits decides.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(default)]
pub struct Dispatch {
    /// In order.
    #[schemars(with = "Option<Vec<Rule>>")]
    pub rules: Vec<Rule>,
}

/// A rule.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(default)]
pub struct Rule {
    /// A name, for people and for `matchedBy`.
    pub name: String,
    /// The agent it chooses.
    pub agent: String,
    /// What a message must be like. A rule that demands nothing is skipped.
    #[schemars(with = "Option<Selectors>")]
    pub when: Selectors,
    /// What keeps conversations apart, instead of the session's own. Given but without a valid
    /// one: nothing does (vector 47). Absent or empty: the session's.
    pub session_dimensions: Option<Vec<Dimension>>,
    /// Instead of the session's own. Not in PicoClaw.
    pub cross_channel: Option<bool>,
}

/// What a message must be like. Empty: anything; but an empty `account` is account `default`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(default)]
pub struct Selectors {
    /// The channel.
    pub channel: String,
    /// The bot's account. Empty: `default`.
    pub account: String,
    /// `<type>:<id>`; the type of an untyped space is `space`.
    pub space: String,
    /// `<type>:<id>`; the type of an untyped chat is `direct`. Never with a topic.
    pub chat: String,
    /// `topic:<id>`.
    pub topic: String,
    /// The sender, as identity links name it.
    pub sender: String,
    /// Whether the bot is mentioned.
    pub mentioned: Option<bool>,
}

impl Selectors {
    /// Whether anything is demanded.
    pub fn is_constrained(&self) -> bool {
        let texts =
            [&self.channel, &self.account, &self.space, &self.chat, &self.topic, &self.sender];
        self.mentioned.is_some() || texts.into_iter().any(|text| !text.trim().is_empty())
    }
}

/// What keeps conversations apart.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(default)]
pub struct Session {
    /// In the order that is hashed. Absent: `chat` alone.
    #[schemars(with = "Option<Vec<Dimension>>")]
    pub dimensions: Vec<Dimension>,
    /// PicoClaw's older setting. It counts only where `dimensions` is there and empty or null.
    pub dm_scope: Option<DmScope>,
    /// A name, and the ids of the person on all channels: `u1`, or `slack:u1`.
    #[schemars(with = "Option<BTreeMap<String, Option<Vec<String>>>>")]
    pub identity_links: BTreeMap<String, Vec<String>>,
    /// Whether a linked person has one conversation on all channels and accounts, where `sender`
    /// is a dimension. Not in PicoClaw, which always keeps channels and accounts apart.
    pub cross_channel: bool,
}

impl Default for Session {
    fn default() -> Self {
        Self {
            dimensions: vec![Dimension::Chat],
            dm_scope: None,
            identity_links: BTreeMap::new(),
            cross_channel: false,
        }
    }
}

/// What can keep conversations apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Dimension {
    /// A workspace, a guild.
    Space,
    /// A chat.
    Chat,
    /// A thread, a forum topic.
    Topic,
    /// A person.
    Sender,
}

impl Dimension {
    /// The name in scopes and configurations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Space => "space",
            Self::Chat => "chat",
            Self::Topic => "topic",
            Self::Sender => "sender",
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Space, Self::Chat, Self::Topic, Self::Sender]
            .into_iter()
            .find(|dimension| dimension.name() == name)
    }
}

/// PicoClaw's older way to say what keeps direct messages apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DmScope {
    /// `chat` and `sender`.
    PerChannelPeer,
    /// `chat`.
    PerChannel,
    /// `sender`.
    PerPeer,
    /// Nothing.
    Global,
}

impl DmScope {
    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "per-channel-peer" => Some(Self::PerChannelPeer),
            "per-channel" => Some(Self::PerChannel),
            "per-peer" => Some(Self::PerPeer),
            "global" => Some(Self::Global),
            _ => None,
        }
    }

    /// The dimensions it stands for (PicoClaw `config.go`, `ApplyDmScope`).
    pub fn dimensions(self) -> Vec<Dimension> {
        match self {
            Self::PerChannelPeer => vec![Dimension::Chat, Dimension::Sender],
            Self::PerChannel => vec![Dimension::Chat],
            Self::PerPeer => vec![Dimension::Sender],
            Self::Global => Vec::new(),
        }
    }
}
