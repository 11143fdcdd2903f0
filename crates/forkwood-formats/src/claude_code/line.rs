//! What a line of a file is, told by its type.

use forkwood_core::json::Object;
use forkwood_core::{EntryKind, Role, Text};

use crate::fields::id_of;

/// Types of lines without a `uuid` that are known; others are noted.
const BESIDE: &[&str] = &[
    "agent-color",
    "agent-name",
    "agent-setting",
    "ai-title",
    "attribution-snapshot",
    "content-replacement",
    "custom-title",
    "file-history-delta",
    "file-history-snapshot",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "queue-operation",
    "relocated",
    "started",
    "result",
    "speculation-accept",
    "summary",
    "tag",
    "task-summary",
    "worktree-state",
];

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What the person, or a tool, says.
    User,
    /// What the model says.
    Assistant,
    /// Where the context was compacted.
    Boundary,
    /// Something else that its owner shows to the model as said by the person.
    Shown,
    /// On the path, and not in the context.
    OnPath {
        /// Whether its type is known.
        known: bool,
    },
    /// A title that the person gave.
    Title,
    /// Beside the path.
    Beside {
        /// Whether its type is known.
        known: bool,
    },
}

/// One line, looked at once.
#[derive(Debug)]
pub(crate) struct Line<'l> {
    pub(crate) object: Object<'l>,
    pub(crate) tag: Text,
    pub(crate) kind: Kind,
}

impl<'l> Line<'l> {
    /// Looks at a line. `None`: it has no type.
    pub(crate) fn of(object: Object<'l>) -> Option<Line<'l>> {
        let tag = object.text("type")?;
        let kind = kind(&object, tag.as_str().unwrap_or_default());
        Some(Line { object, tag, kind })
    }

    pub(crate) fn flag(&self, key: &str) -> bool {
        self.object.get(key) == Some("true")
    }

    /// The id of the line: its own, or one by its place.
    pub(crate) fn id(&self, number: u64) -> String {
        id_of(&self.object, "uuid").unwrap_or_else(|| format!("line-{number}"))
    }

    /// The lane of a sidechain: that of its agent, where the line names one.
    pub(crate) fn lane(&self) -> Option<String> {
        if !self.flag("isSidechain") {
            return None;
        }
        let agent = self.object.text("agentId");
        let agent = agent.as_ref().and_then(Text::as_str).map(|agent| format!("agent-{agent}"));
        let named = agent.filter(|name| forkwood_core::Lane::new(name).is_ok());
        Some(named.unwrap_or_else(|| "sidechain".into()))
    }

    /// Who speaks, for lists: what the program itself put in a person's mouth is none's.
    pub(crate) fn role(&self, first: Option<&Object<'_>>) -> Option<Role> {
        let meta = self.flag("isMeta") || self.flag("isCompactSummary");
        Some(match self.kind {
            Kind::User if first.is_some_and(is_result) => Role::Tool,
            Kind::User if meta => Role::Other("meta".into()),
            Kind::User => Role::User,
            Kind::Assistant => Role::Assistant,
            Kind::Shown => Role::Other("meta".into()),
            _ => return None,
        })
    }

    pub(crate) fn entry_kind(&self) -> EntryKind {
        match self.kind {
            Kind::User | Kind::Assistant | Kind::Shown => EntryKind::Message,
            Kind::Boundary => EntryKind::Compaction,
            Kind::Title => EntryKind::SessionInfo,
            // Titles and tags of the program's own are asked for with those of the person.
            Kind::Beside { .. } if super::info::tells(&self.tag) => EntryKind::SessionInfo,
            Kind::OnPath { .. } | Kind::Beside { .. } => EntryKind::Custom,
        }
    }

    pub(crate) fn is_beside(&self) -> bool {
        matches!(self.kind, Kind::Title | Kind::Beside { .. })
    }
}

/// Whether a block of content is the result of a tool.
pub(crate) fn is_result(block: &Object<'_>) -> bool {
    block.text("type").is_some_and(|tag| tag == "tool_result")
}

fn kind(object: &Object<'_>, tag: &str) -> Kind {
    let message = || object.get("message").is_some_and(|raw| Object::parse(raw).is_ok());
    if id_of(object, "uuid").is_none() || tag == "custom-title" || tag == "content-replacement" {
        return match tag {
            "custom-title" if object.text("customTitle").is_some() => Kind::Title,
            _ => Kind::Beside { known: BESIDE.contains(&tag) },
        };
    }
    let subtype = object.text("subtype");
    match tag {
        "user" if message() => Kind::User,
        "assistant" if message() => Kind::Assistant,
        "system" => match subtype.as_ref().and_then(Text::as_str) {
            Some("compact_boundary") => Kind::Boundary,
            Some("local_command") if object.text("content").is_some() => Kind::Shown,
            _ => Kind::OnPath { known: true },
        },
        "attachment" => match super::message::shown_attachment(object) {
            Some(_) => Kind::Shown,
            None => Kind::OnPath { known: true },
        },
        "progress" => Kind::OnPath { known: true },
        _ if object.get("parentUuid").is_none() => Kind::Beside { known: BESIDE.contains(&tag) },
        _ => Kind::OnPath { known: false },
    }
}
