//! What a line of a rollout is.

use std::ops::Range;

use forkwood_core::json::{self, Object};
use forkwood_core::{EntryKind, Role, Text};

use super::item;

/// Types of lines that are known and become `custom` entries.
const KNOWN: &[&str] = &[
    "event_msg",
    "session_meta",
    "turn_context",
    "world_state",
    "inter_agent_communication",
    "inter_agent_communication_metadata",
    "rollout_reference",
    "token_usage_record",
    "response_item",
    "realtime_item",
    "state",
];

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What the session is; where it stands first, the header.
    Meta,
    /// An item of the conversation that a model is sent.
    Item,
    /// The settings of a turn.
    Turn,
    /// The context was compacted.
    Compacted,
    /// Turns were taken back.
    RolledBack,
    /// The person named the session.
    Named,
    /// Something else.
    Other {
        /// Whether its type is known.
        known: bool,
    },
}

/// One line, looked at once.
#[derive(Debug)]
pub(crate) struct Line<'l> {
    pub(crate) object: Object<'l>,
    /// The payload, or the whole line where it is a bare item.
    pub(crate) payload: Object<'l>,
    /// Whether there is a payload.
    pub(crate) wrapped: bool,
    /// The type that matters: of the line, or of what it holds.
    pub(crate) tag: Text,
    pub(crate) kind: Kind,
}

impl<'l> Line<'l> {
    /// Looks at a line. `None`: it is none of these.
    pub(crate) fn of(text: &'l str) -> Option<Line<'l>> {
        let object = Object::parse(text).ok()?;
        let payload = object.get("payload").and_then(|raw| Object::parse(raw).ok());
        if let (Some(tag), Some(payload)) = (object.text("type"), payload) {
            let (tag, kind) = wrapped(&tag, &payload)?;
            return Some(Line { object, payload, wrapped: true, tag, kind });
        }
        // A bare item, the header or the state of a file of the first versions.
        let payload = Object::parse(text).ok()?;
        let (tag, kind) = match object.text("type") {
            Some(tag) => {
                let kind = match item::is_shown(&tag) {
                    true => Kind::Item,
                    false => Kind::Other { known: item::is_known(&tag) },
                };
                (tag, kind)
            }
            None if is_old_header(&object) => ("session_meta".into(), Kind::Meta),
            None if object.text("record_type").is_some() => {
                ("state".into(), Kind::Other { known: true })
            }
            None => return None,
        };
        Some(Line { object, payload, wrapped: false, tag, kind })
    }

    pub(crate) fn entry_kind(&self) -> EntryKind {
        match self.kind {
            Kind::Item => EntryKind::Message,
            Kind::Compacted => EntryKind::Compaction,
            Kind::Named => EntryKind::SessionInfo,
            _ => EntryKind::Custom,
        }
    }

    pub(crate) fn is_beside(&self) -> bool {
        matches!(self.kind, Kind::RolledBack | Kind::Named)
    }

    /// Who speaks, for lists: what the program itself put in a person's mouth is none's.
    pub(crate) fn role(&self) -> Option<Role> {
        if self.kind != Kind::Item {
            return None;
        }
        Some(match item::role(&self.payload) {
            Role::User if is_context(&self.payload) => Role::Other("context".into()),
            role => role,
        })
    }
}

/// The header of a file of the first versions.
pub(crate) fn is_old_header(object: &Object<'_>) -> bool {
    object.text("type").is_none()
        && object.text("id").is_some()
        && object.text("timestamp").is_some()
        && (object.get("instructions").is_some() || object.get("git").is_some())
        && object.get("created_at").is_none()
}

fn wrapped(tag: &Text, payload: &Object<'_>) -> Option<(Text, Kind)> {
    let inner = payload.text("type");
    let known = tag.as_str().is_some_and(|tag| KNOWN.contains(&tag));
    Some(match (tag.as_str()?, inner) {
        ("session_meta", _) => (tag.clone(), Kind::Meta),
        ("turn_context", _) => (tag.clone(), Kind::Turn),
        ("compacted", _) => (tag.clone(), Kind::Compacted),
        ("response_item", Some(inner)) => {
            let kind = match item::is_shown(&inner) {
                true => Kind::Item,
                false => Kind::Other { known: item::is_known(&inner) },
            };
            (inner, kind)
        }
        ("event_msg", Some(inner)) => {
            let kind = match inner.as_str() {
                Some("thread_rolled_back") => Kind::RolledBack,
                Some("thread_name_updated") if payload.text("thread_name").is_some() => Kind::Named,
                _ => Kind::Other { known: true },
            };
            (inner, kind)
        }
        _ => (tag.clone(), Kind::Other { known }),
    })
}

/// Whether a message of the person holds what the program says of folder, instructions and so on.
fn is_context(payload: &Object<'_>) -> bool {
    const STARTS: &[&str] = &[
        "<environment_context>",
        "<user_instructions>",
        "<permissions",
        "<turn_aborted>",
        "<user_shell_command>",
        "<skill",
        "<subagent_notification>",
        "# AGENTS.md instructions",
    ];
    let Some(content) = payload.get("content") else { return false };
    let first = json::elements(content)
        .and_then(|items| Object::parse(items.first()?.get()).ok()?.text("text"))
        .or_else(|| json::text_of(content));
    first.is_some_and(|text| {
        let text = text.to_string_lossy();
        STARTS.iter().any(|start| text.trim_start().starts_with(start))
    })
}

/// A setting of a turn, and where it stands in the line.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) span: Range<usize>,
    /// Whether it is the model, and not how much it thinks.
    pub(crate) model: bool,
    pub(crate) value: Text,
}

/// The settings that a turn's context names, in the order of the line.
pub(crate) fn settings(text: &str, line: &Line<'_>) -> Vec<Setting> {
    if line.kind != Kind::Turn || text.contains('\u{fffd}') {
        return Vec::new();
    }
    let mut out: Vec<Setting> = ["model", "effort"]
        .into_iter()
        .filter_map(|key| {
            let raw = line.payload.get(key)?;
            let value = json::text_of(raw).filter(|value| !value.is_empty())?;
            // A value is a part of the line it was read from.
            let at = (raw.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
            Some(Setting { span: at..at + raw.len(), model: key == "model", value })
        })
        .collect();
    out.sort_by_key(|setting| setting.span.start);
    out
}
