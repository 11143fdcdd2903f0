//! Pi's entries in Forkwood's terms.

use forkwood_core::entry::{Compaction, MessageBody, Operation, SessionInfo};
use forkwood_core::json::{self, Object};
use forkwood_core::{
    Body, Content, DiagnosticKind, Entry, EntryId, EntryKind, Json, Lane, Message,
};
use forkwood_storage::jsonl::{Decoded, LineFault};

use super::{Flavour, INFO_TYPE, OPERATION_TYPE, SYSTEM_TYPE, TOOLS_TYPE};
use super::{message, text};
use crate::fields::{Fields, parse_object};

/// The type of an entry. Pi's tags have one spelling; another one is another type.
pub(crate) fn kind_of(tag: &str) -> EntryKind {
    match EntryKind::from_tag(tag) {
        EntryKind::Operation => EntryKind::Unknown,
        kind if kind.as_str() == tag => kind,
        _ => EntryKind::Unknown,
    }
}

/// What an entry of a file without ids is called, and what its compaction keeps.
#[derive(Debug, Default)]
pub(crate) struct Given {
    pub(crate) id: Option<EntryId>,
    pub(crate) parent: Option<EntryId>,
    pub(crate) first_kept: Option<EntryId>,
}

/// Reads one entry.
///
/// # Errors
/// A [`LineFault`] where it is no object, or has no type or id.
pub(crate) fn entry(record: &str, flavour: Flavour, given: Given) -> Result<Decoded, LineFault> {
    let mut fields = Fields::new(parse_object(record)?, "entry");
    let missing = |what: &str| LineFault::WrongShape(format!("has no string {what}"));
    let tag = fields.text("type").ok_or_else(|| missing("type"))?;
    let own = fields.id("id");
    let id = given.id.or(own).ok_or_else(|| missing("id"))?;
    let parent_id = fields.id("parentId").or(given.parent);
    let timestamp = fields.object().get("timestamp").and_then(crate::time::parse_pi);
    if timestamp.is_none() {
        fields.odd("timestamp is missing or no time");
    }
    fields.skip(BASE);
    if flavour == Flavour::Log {
        fields.skip(&["kind", "seq"]);
    }
    let kind = kind_of(tag.as_str().unwrap_or_default());
    let known = body(kind, &mut fields, flavour, &id, given.first_kept);
    let body = known.unwrap_or_else(|| {
        fields.give_back(BASE);
        if kind == EntryKind::Unknown {
            fields.note(DiagnosticKind::UnknownType, format!("type {tag}"));
        } else {
            fields.odd(format!("type {tag} needs a field that is missing or odd"));
        }
        Body::Unknown { tag: tag.clone() }
    });
    let extra = fields.rest();
    let entry = Entry { id, parent_id, timestamp, lane: Lane::main(), more: 0, body, extra };
    Ok(Decoded { entry, notes: fields.into_notes() })
}

const BASE: &[&str] = &["id", "parentId", "timestamp", "type"];

fn body(
    kind: EntryKind,
    fields: &mut Fields<'_>,
    flavour: Flavour,
    id: &EntryId,
    first_kept: Option<EntryId>,
) -> Option<Body> {
    match kind {
        EntryKind::Message => {
            // Not copied first: one message may be most of what memory holds.
            let raw = fields.raw("message")?;
            message::decode(raw, flavour == Flavour::Log).map(Body::Message)
        }
        EntryKind::ModelChange => {
            let model = fields.text("modelId")?;
            Some(Body::ModelChange { model, provider: fields.text("provider") })
        }
        EntryKind::ThinkingLevelChange => {
            Some(Body::ThinkingLevelChange { thinking_level: fields.text("thinkingLevel")? })
        }
        EntryKind::ActiveToolsChange => {
            Some(Body::ActiveToolsChange { active_tool_names: fields.texts("activeToolNames")? })
        }
        EntryKind::Compaction => compaction(fields, flavour, id, first_kept),
        EntryKind::BranchSummary => {
            let summary = fields.text("summary")?;
            let from_id = fields.id("fromId").filter(|from| from.as_str() != "root");
            Some(Body::BranchSummary { summary, from_id, details: fields.json("details") })
        }
        EntryKind::Label => {
            let target_id = Some(fields.id("targetId")?);
            let label = fields.text("label");
            let label = match flavour {
                Flavour::Harness => label.as_ref().map(text::js_trim),
                _ => label,
            };
            Some(Body::Label { label: label.filter(|label| !label.is_empty()), target_id })
        }
        EntryKind::Leaf => Some(Body::Leaf { leaf_id: fields.id("targetId") }),
        EntryKind::SessionInfo => {
            let title = fields.text("name").map(|name| text::js_trim(&name)).unwrap_or_default();
            let metadata = fields.json_object("metadata");
            Some(SessionInfo { title: Some(title), metadata, ..SessionInfo::default() }.into())
        }
        EntryKind::Custom => custom(fields),
        EntryKind::CustomMessage => custom_message(fields),
        EntryKind::ContextEdit => context_edit(fields),
        EntryKind::Usage => Some(Body::Usage {
            kind: fields.text("kind")?,
            provider: fields.text("provider")?,
            model: fields.text("model")?,
            usage: fields.json("usage")?,
        }),
        _ => None,
    }
}

fn compaction(
    fields: &mut Fields<'_>,
    flavour: Flavour,
    id: &EntryId,
    first_kept: Option<EntryId>,
) -> Option<Body> {
    let summary = fields.text("summary")?;
    let named = match flavour {
        // What an index names, or nothing: an id in such a file is of no use.
        Flavour::V1 if fields.object().get("firstKeptEntryIndex").is_some() => {
            fields.skip(&["firstKeptEntryIndex"]);
            first_kept
        }
        _ => fields.id("firstKeptEntryId"),
    };
    let retained_tail = flavour.has_tail().then(|| tail(fields, flavour)).flatten();
    // Nothing said is nothing kept, which its own id says.
    let first_kept_entry_id = match (&named, &retained_tail) {
        (None, None) => Some(id.clone()),
        _ => named,
    };
    let state = fields.json_object("state").and_then(|json| {
        let mut inner = Fields::new(json.as_object()?, "compaction.state");
        Some(forkwood_core::entry::CompactionState {
            model: inner.text("model"),
            provider: inner.text("provider"),
            thinking_level: inner.text("thinkingLevel"),
            active_tool_names: inner.texts("activeToolNames"),
        })
    });
    let replaces = fields.texts("replacesEntryIds").unwrap_or_default();
    Some(Body::Compaction(Compaction {
        summary,
        replaces_entry_ids: replaces.iter().map(EntryId::from_text).collect(),
        first_kept_entry_id,
        state,
        tokens_before: fields.integer("tokensBefore"),
        tokens_after: fields.integer("tokensAfter"),
        retained_tail,
        usage: fields.json("usage"),
        details: fields.json("details"),
    }))
}

fn tail(fields: &mut Fields<'_>, flavour: Flavour) -> Option<Vec<Message>> {
    let items = json::elements(fields.object().get("retainedTail")?)?;
    let log = flavour == Flavour::Log;
    // One message that cannot be read must not move the others: positions are what names them.
    let messages = items
        .into_iter()
        .map(|item| match message::decode(item.get(), log) {
            Some(MessageBody { message, .. }) => message,
            None => Message::new(
                forkwood_core::Role::Other("unknown".into()),
                message::content_of(Some(item.get())),
            ),
        })
        .collect();
    fields.skip(&["retainedTail"]);
    Some(messages)
}

fn custom(fields: &mut Fields<'_>) -> Option<Body> {
    let namespace = fields.text("customType")?;
    let data = match fields.object().get("data") {
        Some(raw) => {
            fields.skip(&["data"]);
            Json::parse(raw).ok()?
        }
        None => Json::empty_object(),
    };
    let own = match namespace.as_str() {
        Some(OPERATION_TYPE) => operation(&data),
        Some(TOOLS_TYPE) => tools(&data),
        Some(INFO_TYPE) => data.as_object().map(|object| {
            let mut inner = Fields::new(object, "session_info");
            SessionInfo { metadata: inner.json_object("metadata"), ..SessionInfo::default() }.into()
        }),
        _ => None,
    };
    Some(own.unwrap_or(Body::Custom { namespace, data, aside: false }))
}

fn operation(data: &Json) -> Option<Body> {
    let mut inner = Fields::new(data.as_object()?, "operation");
    Some(Body::Operation(Operation {
        operation_id: inner.text("operationId")?,
        phase: inner.text("phase")?,
        kind: inner.text("kind")?,
        outcome: inner.text("outcome"),
        data: inner.json("data"),
    }))
}

fn tools(data: &Json) -> Option<Body> {
    let mut inner = Fields::new(data.as_object()?, "active_tools_change");
    Some(Body::ActiveToolsChange { active_tool_names: inner.texts("activeToolNames")? })
}

fn custom_message(fields: &mut Fields<'_>) -> Option<Body> {
    let namespace = fields.text("customType")?;
    if namespace == SYSTEM_TYPE
        && let Some(message) = system_message(fields.object())
    {
        fields.skip(&["customType", "content", "display", "details"]);
        return Some(Body::message(message));
    }
    let content = message::content_of(fields.object().get("content"));
    fields.skip(&["content"]);
    let display = fields.boolean("display").unwrap_or(false);
    Some(Body::CustomMessage { namespace, content, display })
}

/// A system message that Forkwood wrote as a custom one.
fn system_message(object: &Object<'_>) -> Option<Message> {
    let details = Object::parse(object.get("details")?).ok()?;
    let mut reader = forkwood_core::entry::codec::Reader::lossless();
    forkwood_core::message::decode(details.get("message")?, &mut reader).ok()
}

fn context_edit(fields: &mut Fields<'_>) -> Option<Body> {
    let target_id = fields.id("targetId")?;
    let raw = fields.object().get("replacement")?;
    let replacement: Option<Content> = if raw == "null" {
        None
    } else {
        Some(message::content_of(Some(Object::parse(raw).ok()?.get("content")?)))
    };
    fields.skip(&["replacement"]);
    Some(Body::ContextEdit { target_id, replacement })
}
