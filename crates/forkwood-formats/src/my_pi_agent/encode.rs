//! Forkwood's entries as my-pi-agent's strict reader takes them.

use forkwood_core::entry::{Compaction, SessionInfo, codec};
use forkwood_core::json::{Object, ObjectWriter, join_array};
use forkwood_core::{Body, Entry, EntryId, Json, Message, Role, Text};
use forkwood_storage::{Result, StorageError};

use super::OWN;
use crate::fields::{Out, kept};

/// Writes an entry as one line: one of the nine types, with its own fields and no other.
///
/// # Errors
/// `unsupported` where the format cannot hold it.
pub(crate) fn entry(entry: &Entry) -> Result<String> {
    let mut out = Out::default();
    out.str("id", entry.id.as_str());
    if let Some(parent) = &entry.parent_id {
        out.str("parentId", parent.as_str());
    }
    out.raw("timestamp", &entry.timestamp.unwrap_or_default().to_string());
    match &entry.body {
        Body::SessionInfo(info) => {
            out.str("type", "session_info");
            session_info(&mut out, info);
        }
        Body::Message(body) if !matches!(body.message.role, Role::Other(_)) => {
            out.str("type", "message").raw("message", &message(&body.message));
        }
        Body::ModelChange { model, provider } => {
            out.str("type", "model_change").raw("model", &text(model));
            if let Some(provider) = provider {
                out.raw("provider", &text(provider));
            }
        }
        Body::ThinkingLevelChange { thinking_level } => {
            out.str("type", "thinking_level_change").raw("thinkingLevel", &text(thinking_level));
        }
        Body::Compaction(compaction) => {
            out.str("type", "compaction");
            encode_compaction(&mut out, compaction)?;
        }
        Body::BranchSummary { summary, from_id, details } => {
            let mut inner = object_of(details.as_ref(), "details");
            if let Some(from) = from_id {
                inner.str("from_id", from.as_str());
            }
            out.str("type", "branch_summary")
                .raw("summary", &text(summary))
                .raw("details", &inner.finish());
        }
        Body::Label { label, target_id } => {
            let label = label.clone().unwrap_or_default();
            out.str("type", "label").raw("label", &text(&label));
            if let Some(target) = target_id {
                out.str("targetId", target.as_str());
            }
        }
        Body::Leaf { leaf_id: Some(leaf) } => {
            out.str("type", "leaf").str("leafId", leaf.as_str());
        }
        Body::Leaf { leaf_id: None } => {
            return Err(StorageError::unsupported(
                "my-pi-agent's files have no pointer to before the first entry; move to the \
                 session_info entry instead",
            ));
        }
        Body::Custom { namespace, data, .. } => {
            out.str("type", "custom")
                .raw("namespace", &text(namespace))
                .raw("data", &object_of(Some(data), "value").finish());
        }
        other => foreign(&mut out, other, entry),
    }
    Ok(out.finish())
}

/// A type that the program does not know.
fn foreign(out: &mut Out, body: &Body, entry: &Entry) {
    let mut data = ObjectWriter::new();
    codec::encode_body(&mut data, body);
    let data = data.finish();
    let own = Object::parse(&data).unwrap_or_default();
    let mut inner = Out::default();
    inner.rest(own.iter().map(|(key, value)| (key, value.get())));
    inner.rest(kept(&entry.extra));
    let namespace = Text::concat([&Text::from(OWN), &body.tag()]);
    out.str("type", "custom").raw("namespace", &text(&namespace)).raw("data", &inner.finish());
}

/// A string as the program can hold it: without lone surrogates.
fn text(text: &Text) -> String {
    Text::from(text.to_string_lossy().into_owned()).to_json()
}

/// The fields of an object; another value under a name of its own.
fn object_of(json: Option<&Json>, name: &str) -> Out {
    let mut out = Out::default();
    match json.map(|json| (json, json.as_object())) {
        Some((_, Some(object))) => {
            out.rest(object.iter().map(|(key, value)| (key, value.get())));
        }
        Some((json, None)) if json.get() != "null" => {
            out.raw(name, json.get());
        }
        _ => {}
    }
    out
}

fn session_info(out: &mut Out, info: &SessionInfo) {
    if let Some(cwd) = &info.cwd {
        out.raw("cwd", &text(cwd));
    }
    if let Some(title) = &info.title {
        out.raw("title", &text(title));
    }
    if let Some(created) = info.created_at {
        out.raw("createdAt", &created.to_string());
    }
    let mut metadata = object_of(info.metadata.as_ref(), "value");
    for (key, value) in
        [("agent_type", &info.agent_type), ("parent_session_id", &info.parent_session_id)]
    {
        if let Some(value) = value {
            metadata.raw(key, &text(value));
        }
    }
    if let Some(depth) = info.spawn_depth {
        metadata.raw("spawn_depth", &depth.to_string());
    }
    if let Some(from) = &info.forked_from {
        let mut inner = Out::default();
        inner.text("session_id", &from.session_id).str("entry_id", from.entry_id.as_str());
        metadata.raw("forked_from", &inner.finish());
    }
    out.raw("metadata", &metadata.finish());
}

/// A message: content as one string, everything else in the metadata.
fn message(message: &Message) -> String {
    let mut metadata = object_of(message.metadata.as_ref(), "value");
    let calls: Vec<String> = message.content.tool_calls().map(tool_call).collect();
    if !calls.is_empty() {
        metadata.raw("tool_calls", &join_array(calls));
    }
    for (key, value) in [
        ("tool_call_id", &message.tool_call_id),
        ("tool_name", &message.tool_name),
        ("model", &message.model),
        ("provider", &message.provider),
        ("stop_reason", &message.stop_reason),
    ] {
        if let Some(value) = value {
            metadata.raw(key, &text(value));
        }
    }
    if let Some(is_error) = message.is_error {
        metadata.raw("is_error", if is_error { "true" } else { "false" });
    }
    metadata.opt("usage", message.usage.as_ref());
    metadata.rest(kept(&message.extra));
    let mut out = Out::default();
    out.text("role", &message.role.as_text()).raw("content", &text(&message.content.text()));
    if !metadata.is_empty() {
        out.raw("metadata", &metadata.finish());
    }
    out.finish()
}

/// A call as OpenAI's API has it, which is how the program keeps them.
fn tool_call((id, name, arguments): (&Text, &Text, &Json)) -> String {
    let mut function = Out::default();
    function.raw("name", &text(name)).str("arguments", arguments.get());
    let mut out = Out::default();
    out.raw("id", &text(id)).str("type", "function").raw("function", &function.finish());
    out.finish()
}

fn encode_compaction(out: &mut Out, compaction: &Compaction) -> Result<()> {
    let held = |what: &str| {
        StorageError::unsupported(format!(
            "my-pi-agent's files cannot hold a compaction {what}; name what it replaces in \
             replacesEntryIds",
        ))
    };
    if compaction.retained_tail.is_some() {
        return Err(held("with a retainedTail"));
    }
    let mut metadata = object_of(compaction.details.as_ref(), "details");
    if let Some(first) = &compaction.first_kept_entry_id {
        if compaction.replaces_entry_ids.is_empty() {
            return Err(held("that says only what it keeps (firstKeptEntryId)"));
        }
        metadata.str("first_kept_entry_id", first.as_str());
    }
    for (key, tokens) in
        [("tokens_before", compaction.tokens_before), ("tokens_after", compaction.tokens_after)]
    {
        if let Some(tokens) = tokens {
            metadata.raw(key, &tokens.to_string());
        }
    }
    metadata.opt("summary_usage", compaction.usage.as_ref());
    let ids = compaction.replaces_entry_ids.iter();
    let ids = ids.map(|id: &EntryId| Text::from(id.as_str()).to_json());
    out.raw("summary", &text(&compaction.summary))
        .raw("replacesEntryIds", &join_array(ids))
        .raw("metadata", &metadata.finish());
    Ok(())
}
