//! Forkwood's entries as Pi's, version 3.

use forkwood_core::entry::{Compaction, MessageBody, Operation, SessionInfo};
use forkwood_core::json::join_array;
use forkwood_core::{Body, Entry, EntryId, Json, Role, Text, Timestamp};
use forkwood_storage::{Result, StorageError};

use super::encode_message::{self, Images};
use super::{INFO_TYPE, OPERATION_TYPE, SYSTEM_TYPE, TOOLS_TYPE};
use crate::fields::{Out, kept};

/// Writes an entry as one line that Pi 0.73.1 and 1.6.0 read. `None` for a pointer, which Pi
/// has no line for.
///
/// # Errors
/// `unsupported` where Pi's files cannot hold it.
pub(crate) fn entry(entry: &Entry) -> Result<Option<String>> {
    if matches!(entry.body, Body::Leaf { .. }) {
        return Ok(None);
    }
    let mut out = Out::default();
    out.text("type", &tag(&entry.body)).str("id", entry.id.as_str());
    match &entry.parent_id {
        Some(parent) => out.str("parentId", parent.as_str()),
        None => out.raw("parentId", "null"),
    };
    out.str("timestamp", &crate::time::iso(entry.timestamp.unwrap_or_default()));
    body(&mut out, entry)?;
    out.rest(kept(&entry.extra));
    Ok(Some(out.finish()))
}

fn tag(body: &Body) -> Text {
    match body {
        Body::Message(MessageBody { message, foreign: None }) if is_system(&message.role) => {
            if from_pi(message) {
                "message".into()
            } else {
                "custom_message".into()
            }
        }
        Body::Operation(_) | Body::ActiveToolsChange { .. } => "custom".into(),
        Body::SessionInfo(SessionInfo { title: None, .. }) => "custom".into(),
        body => body.tag(),
    }
}

fn is_system(role: &Role) -> bool {
    matches!(role, Role::System | Role::Developer)
}

/// Whether a message came from Pi: then the file it goes back to knows its role.
pub(crate) fn from_pi(message: &forkwood_core::Message) -> bool {
    let object = message.metadata.as_ref().and_then(Json::as_object);
    object.is_some_and(|object| object.get("pi").is_some())
}

fn body(out: &mut Out, entry: &Entry) -> Result<()> {
    match &entry.body {
        Body::Message(body) => message(out, body, entry.timestamp)?,
        Body::SessionInfo(info) => session_info(out, info),
        Body::ModelChange { model, provider } => {
            out.text("provider", provider.as_ref().unwrap_or(&"unknown".into()))
                .text("modelId", model);
        }
        Body::ThinkingLevelChange { thinking_level } => {
            out.text("thinkingLevel", thinking_level);
        }
        Body::ActiveToolsChange { active_tool_names } => {
            let mut data = Out::default();
            data.raw("activeToolNames", &texts(active_tool_names));
            out.str("customType", TOOLS_TYPE).raw("data", &data.finish());
        }
        Body::Compaction(compaction) => encode_compaction(out, compaction, &entry.id)?,
        Body::BranchSummary { summary, from_id, details } => {
            out.str("fromId", from_id.as_ref().map_or("root", EntryId::as_str))
                .text("summary", summary)
                .opt("details", details.as_ref());
        }
        Body::Label { label, target_id } => {
            if let Some(target) = target_id.as_ref().or(entry.parent_id.as_ref()) {
                out.str("targetId", target.as_str());
            }
            if let Some(label) = label {
                out.text("label", label);
            }
        }
        Body::Custom { namespace, data, .. } => {
            out.text("customType", namespace).raw("data", data.get());
        }
        Body::CustomMessage { namespace, content, display } => {
            out.text("customType", namespace)
                .raw("content", &encode_message::content(content, Images::Refuse)?)
                .raw("display", if *display { "true" } else { "false" });
        }
        Body::ContextEdit { target_id, replacement } => {
            out.str("targetId", target_id.as_str());
            match replacement {
                None => out.raw("replacement", "null"),
                Some(content) => {
                    let mut inner = Out::default();
                    inner.raw("content", &encode_message::content(content, Images::Refuse)?);
                    out.raw("replacement", &inner.finish())
                }
            };
        }
        Body::Usage { kind, provider, model, usage } => {
            out.text("kind", kind)
                .text("provider", provider)
                .text("model", model)
                .raw("usage", usage.get());
        }
        Body::Operation(operation) => encode_operation(out, operation),
        // A type of later days, or one that was odd where it came from: as it stood there.
        _ => {}
    }
    Ok(())
}

fn message(out: &mut Out, body: &MessageBody, at: Option<Timestamp>) -> Result<()> {
    let message = &body.message;
    if body.foreign.is_some() || !is_system(&message.role) || from_pi(message) {
        out.raw("message", &encode_message::encode(body, at, Images::Refuse)?);
        return Ok(());
    }
    let mut details = Out::default();
    details.raw("message", &forkwood_core::message::encode(message));
    out.str("customType", SYSTEM_TYPE)
        .raw("content", &encode_message::content(&message.content, Images::Refuse)?)
        .raw("display", "false")
        .raw("details", &details.finish());
    Ok(())
}

fn session_info(out: &mut Out, info: &SessionInfo) {
    match &info.title {
        Some(title) => {
            out.text("name", title).opt("metadata", info.metadata.as_ref());
        }
        None => {
            let mut data = Out::default();
            data.opt("metadata", info.metadata.as_ref());
            out.str("customType", INFO_TYPE).raw("data", &data.finish());
        }
    }
}

fn encode_compaction(out: &mut Out, compaction: &Compaction, own: &EntryId) -> Result<()> {
    if compaction.retained_tail.is_some() {
        return Err(StorageError::unsupported(
            "Pi's files cannot hold the retainedTail of a compaction; name a firstKeptEntryId \
             instead, or fork the session into a native one",
        ));
    }
    // Pi keeps nothing where a compaction names itself; 0.73.1 keeps nothing for an id that
    // does not come before it, which is the same.
    let first = compaction.first_kept_entry_id.as_ref().unwrap_or(own);
    out.text("summary", &compaction.summary)
        .str("firstKeptEntryId", first.as_str())
        .raw("tokensBefore", &compaction.tokens_before.unwrap_or(0).to_string())
        .opt("details", compaction.details.as_ref())
        .opt("usage", compaction.usage.as_ref());
    if let Some(tokens) = compaction.tokens_after {
        out.raw("tokensAfter", &tokens.to_string());
    }
    if !compaction.replaces_entry_ids.is_empty() {
        let ids = compaction.replaces_entry_ids.iter().map(|id| Text::from(id.as_str()).to_json());
        out.raw("replacesEntryIds", &join_array(ids));
    }
    if let Some(state) = &compaction.state {
        let mut inner = Out::default();
        for (key, value) in [
            ("model", &state.model),
            ("provider", &state.provider),
            ("thinkingLevel", &state.thinking_level),
        ] {
            if let Some(value) = value {
                inner.text(key, value);
            }
        }
        if let Some(tools) = &state.active_tool_names {
            inner.raw("activeToolNames", &texts(tools));
        }
        out.raw("state", &inner.finish());
    }
    Ok(())
}

fn encode_operation(out: &mut Out, operation: &Operation) {
    let mut data = Out::default();
    data.text("operationId", &operation.operation_id)
        .text("phase", &operation.phase)
        .text("kind", &operation.kind);
    if let Some(outcome) = &operation.outcome {
        data.text("outcome", outcome);
    }
    data.opt("data", operation.data.as_ref());
    out.str("customType", OPERATION_TYPE).raw("data", &data.finish());
}

fn texts(texts: &[Text]) -> String {
    join_array(texts.iter().map(Text::to_json))
}
