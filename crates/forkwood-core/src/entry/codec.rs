//! JSON of entries, in Forkwood's own form.
//!
//! Reading accepts camelCase and snake_case, keeps unknown fields and types, and reports what is
//! odd. [`decode_strict`] refuses all of that, for data that enters through an API. Writing
//! gives camelCase, absent options left out, in the order id, parentId, timestamp, type, lane,
//! rest.

use super::{
    Body, Compaction, CompactionState, Entry, EntryKind, Foreign, ForkedFrom, MessageBody,
    Operation, SessionInfo,
};
use crate::json::{self, Object, ObjectWriter};
use crate::message;
use crate::{CoreError, DiagnosticKind, EntryId, Json, Lane, Message, Text, Timestamp};

mod apart;
mod take;

pub use apart::set_apart;
use take::camel_case;
pub use take::{Reader, Take};

/// Reads one line of a native file. Never loses a field.
///
/// # Errors
/// Where it is no JSON object, or has no string `id` and `type`.
pub fn decode(json: &str, reader: &mut Reader) -> Result<Entry, CoreError> {
    let mut object =
        Object::parse(json).map_err(|_| CoreError::invalid("entry", "is not a JSON object"))?;
    let mut take = Take::new(&mut object, reader, "entry");
    let id = take
        .id("id")?
        .ok_or_else(|| CoreError::invalid("entry.id", "is missing or not a string"))?;
    let tag = take
        .text("type")?
        .ok_or_else(|| CoreError::invalid("entry.type", "is missing or not a string"))?;
    let parent_id = take.id("parentId")?;
    let timestamp = take.timestamp("timestamp")?;
    let lane = match take.text("lane")? {
        None => Lane::main(),
        Some(name) => match Lane::new(&name.to_string_lossy()) {
            Ok(lane) => lane,
            Err(error) => {
                take.refuse("lane", &error.to_string())?;
                Lane::main()
            }
        },
    };
    let more = take.integer("more")?.unwrap_or(0).min(u64::from(u32::MAX)) as u32;
    let body = decode_body(&tag, &mut take)?;
    take.forget(&["parentId", "timestamp", "lane", "more"]);
    let extra = take.rest()?;
    Ok(Entry { id, parent_id, timestamp, lane, more, body, extra })
}

/// Reads the body of an entry that enters through an API: its `type` and fields. `id`,
/// `parentId`, `timestamp`, `lane` and `more` belong to the caller or the storage and are
/// returned as they stand.
///
/// # Errors
/// [`CoreError::Invalid`] for anything that is not exactly as documented.
pub fn decode_strict(json: &str) -> Result<StrictEntry, CoreError> {
    let mut reader = Reader::strict();
    let mut object = Object::parse(json)
        .map_err(|error| CoreError::invalid("entry", format!("is not a JSON object: {error}")))?;
    let mut take = Take::new(&mut object, &mut reader, "entry");
    let id = take.id("id")?;
    let parent_id = take.id("parentId")?;
    let tag = take.text("type")?.ok_or_else(|| {
        CoreError::invalid("entry.type", "is missing; say for example \"message\"")
    })?;
    let timestamp = take.timestamp("timestamp")?;
    let body = decode_body(&tag, &mut take).and_then(|body| take.rest().map(|_| body));
    reader.finish()?;
    let body = body?;
    Ok(StrictEntry { id, parent_id, timestamp, body })
}

/// What [`decode_strict`] reads.
#[derive(Clone, Debug, PartialEq)]
pub struct StrictEntry {
    /// The id, where the caller chose one.
    pub id: Option<EntryId>,
    /// The parent, where the caller named one.
    pub parent_id: Option<EntryId>,
    /// The time, where the caller gave one.
    pub timestamp: Option<Timestamp>,
    /// What it is.
    pub body: Body,
}

fn decode_body(tag: &Text, take: &mut Take<'_, '_>) -> Result<Body, CoreError> {
    let kind = EntryKind::from_tag(tag.as_str().unwrap_or_default());
    let body = match kind {
        EntryKind::SessionInfo => Some(Body::SessionInfo(decode_info(take)?)),
        EntryKind::Message => decode_message(take)?,
        EntryKind::ModelChange => {
            let model = take.text("model")?;
            let provider = take.text("provider")?;
            model.map(|model| Body::ModelChange { model, provider })
        }
        EntryKind::ThinkingLevelChange => take
            .text("thinkingLevel")?
            .map(|thinking_level| Body::ThinkingLevelChange { thinking_level }),
        EntryKind::ActiveToolsChange => take
            .texts("activeToolNames")?
            .map(|active_tool_names| Body::ActiveToolsChange { active_tool_names }),
        EntryKind::Compaction => decode_compaction(take)?.map(Body::Compaction),
        EntryKind::BranchSummary => {
            let summary = take.text("summary")?;
            let from_id = take.id("fromId")?;
            let details = take.json("details")?;
            summary.map(|summary| Body::BranchSummary { summary, from_id, details })
        }
        EntryKind::Label => {
            Some(Body::Label { label: take.text("label")?, target_id: take.id("targetId")? })
        }
        EntryKind::Leaf => take.id("leafId")?.map(|leaf_id| Body::Leaf { leaf_id: Some(leaf_id) }),
        EntryKind::Custom => {
            let namespace = take.text("namespace")?;
            let data = take.json("data")?.unwrap_or_else(Json::empty_object);
            let aside = take.boolean("aside")?.unwrap_or(false);
            namespace.map(|namespace| Body::Custom { namespace, data, aside })
        }
        EntryKind::CustomMessage => {
            let namespace = take.text("namespace")?;
            let content = take.content("content")?;
            let display = take.boolean("display")?.unwrap_or(true);
            match (namespace, content) {
                (Some(namespace), Some(content)) => {
                    Some(Body::CustomMessage { namespace, content, display })
                }
                _ => None,
            }
        }
        EntryKind::ContextEdit => decode_context_edit(take)?,
        EntryKind::Usage => {
            match (
                take.text("kind")?,
                take.text("provider")?,
                take.text("model")?,
                take.json("usage")?,
            ) {
                (Some(kind), Some(provider), Some(model), Some(usage)) => {
                    Some(Body::Usage { kind, provider, model, usage })
                }
                _ => None,
            }
        }
        EntryKind::Operation => decode_operation(take)?.map(Body::Operation),
        EntryKind::Unknown => {
            let problem = format!("{tag} is no type of entry that this version knows");
            take.note(DiagnosticKind::UnknownType, &problem)?;
            return Ok(Body::Unknown { tag: tag.clone() });
        }
    };
    match body {
        Some(body) => Ok(body),
        None => {
            let needs = required(kind).join(", ");
            take.refuse("type", &format!("{tag} needs {needs}; one is missing or odd"))?;
            // Every field stays readable: whatever was taken for the body is given back.
            take.give_back(&["id", "type", "parentId", "timestamp", "lane", "more"]);
            Ok(Body::Unknown { tag: tag.clone() })
        }
    }
}

/// The fields without which an entry says nothing.
fn required(kind: EntryKind) -> &'static [&'static str] {
    match kind {
        EntryKind::Message => &["message"],
        EntryKind::ModelChange => &["model"],
        EntryKind::ThinkingLevelChange => &["thinkingLevel"],
        EntryKind::ActiveToolsChange => &["activeToolNames"],
        EntryKind::Compaction | EntryKind::BranchSummary => &["summary"],
        EntryKind::Leaf => &["leafId"],
        EntryKind::Custom => &["namespace"],
        EntryKind::CustomMessage => &["namespace", "content"],
        EntryKind::ContextEdit => &["targetId", "replacement"],
        EntryKind::Usage => &["kind", "provider", "model", "usage"],
        EntryKind::Operation => &["operationId", "phase", "kind"],
        EntryKind::SessionInfo | EntryKind::Label | EntryKind::Unknown => &[],
    }
}

fn decode_info(take: &mut Take<'_, '_>) -> Result<SessionInfo, CoreError> {
    let forked_from = match take.object("forkedFrom")? {
        Some(json) => {
            let mut object = json.as_object().unwrap_or_default();
            let mut inner = Take::new(&mut object, take.reader(), "forkedFrom");
            let (session, entry) = (inner.text("sessionId")?, inner.text("entryId")?);
            let more = !inner.rest()?.is_empty();
            match (session, entry) {
                (Some(session_id), Some(entry)) => {
                    take.keep_if("forkedFrom", more);
                    Some(ForkedFrom { session_id, entry_id: EntryId::from_text(&entry) })
                }
                _ => {
                    take.odd("forkedFrom", "needs sessionId and entryId")?;
                    None
                }
            }
        }
        None => None,
    };
    Ok(SessionInfo {
        session_id: take.text("sessionId")?,
        version: take.integer("version")?,
        generation: take.text("generation")?,
        title: take.text("title")?,
        cwd: take.text("cwd")?,
        created_at: take.timestamp("createdAt")?,
        metadata: take.object("metadata")?,
        forked_from,
        agent_type: take.text("agentType")?,
        spawn_depth: take.integer("spawnDepth")?,
        parent_session_id: take.text("parentSessionId")?,
    })
}

fn decode_message(take: &mut Take<'_, '_>) -> Result<Option<Body>, CoreError> {
    let Some(raw) = take.raw("message") else { return Ok(None) };
    let message = match message::decode(raw.get(), take.reader()) {
        Ok(message) => message,
        Err(error) => {
            take.refuse("message", &error.to_string())?;
            return Ok(None);
        }
    };
    let foreign = match take.object("foreign")? {
        Some(json) => {
            let mut object = json.as_object().unwrap_or_default();
            let mut inner = Take::new(&mut object, take.reader(), "foreign");
            let format = inner.text("format")?;
            let raw = inner.raw_or_null("raw").map(Json::from_raw);
            let more = !inner.rest()?.is_empty();
            match (format, raw) {
                (Some(format), Some(raw)) => {
                    take.keep_if("foreign", more);
                    Some(Foreign { format, raw })
                }
                _ => {
                    take.odd("foreign", "needs format and raw")?;
                    None
                }
            }
        }
        None => None,
    };
    Ok(Some(Body::Message(MessageBody { message, foreign })))
}

fn decode_compaction(take: &mut Take<'_, '_>) -> Result<Option<Compaction>, CoreError> {
    let Some(summary) = take.text("summary")? else { return Ok(None) };
    let state = match take.object("state")? {
        Some(json) => {
            let mut object = json.as_object().unwrap_or_default();
            let mut inner = Take::new(&mut object, take.reader(), "compaction.state");
            let state = CompactionState {
                model: inner.text("model")?,
                provider: inner.text("provider")?,
                thinking_level: inner.text("thinkingLevel")?,
                active_tool_names: inner.texts("activeToolNames")?,
            };
            let more = !inner.rest()?.is_empty();
            take.keep_if("state", more);
            Some(state)
        }
        None => None,
    };
    let retained_tail = decode_tail(take)?;
    Ok(Some(Compaction {
        summary,
        replaces_entry_ids: take.ids("replacesEntryIds")?.unwrap_or_default(),
        first_kept_entry_id: take.id("firstKeptEntryId")?,
        state,
        tokens_before: take.integer("tokensBefore")?,
        tokens_after: take.integer("tokensAfter")?,
        retained_tail,
        usage: take.json("usage")?,
        details: take.json("details")?,
    }))
}

fn decode_tail(take: &mut Take<'_, '_>) -> Result<Option<Vec<Message>>, CoreError> {
    let Some(raw) = take.raw("retainedTail") else { return Ok(None) };
    let tail = json::elements(raw.get()).map(|items| {
        items
            .into_iter()
            .map(|item| message::decode(item.get(), take.reader()))
            .collect::<Result<Vec<_>, _>>()
    });
    match tail {
        Some(Ok(tail)) => Ok(Some(tail)),
        Some(Err(error)) => take.odd("retainedTail", &error.to_string()).map(|()| None),
        None => take.odd("retainedTail", "must be an array of messages").map(|()| None),
    }
}

fn decode_context_edit(take: &mut Take<'_, '_>) -> Result<Option<Body>, CoreError> {
    let Some(target_id) = take.id("targetId")? else { return Ok(None) };
    let Some(raw) = take.raw_or_null("replacement") else { return Ok(None) };
    if json::kind_of(raw.get()) == json::JsonKind::Null {
        return Ok(Some(Body::ContextEdit { target_id, replacement: None }));
    }
    let Ok(mut object) = Object::parse(raw.get()) else { return Ok(None) };
    let mut inner = Take::new(&mut object, take.reader(), "replacement");
    let content = inner.content("content")?;
    let more = !inner.rest()?.is_empty();
    take.keep_if("replacement", more && content.is_some());
    Ok(content.map(|content| Body::ContextEdit { target_id, replacement: Some(content) }))
}

fn decode_operation(take: &mut Take<'_, '_>) -> Result<Option<Operation>, CoreError> {
    match (take.text("operationId")?, take.text("phase")?, take.text("kind")?) {
        (Some(operation_id), Some(phase), Some(kind)) => Ok(Some(Operation {
            operation_id,
            phase,
            kind,
            outcome: take.text("outcome")?,
            data: take.json("data")?,
        })),
        _ => Ok(None),
    }
}

/// Writes an entry as one line, without the line end.
pub fn encode(entry: &Entry) -> String {
    let mut out = ObjectWriter::new();
    out.str("id", entry.id.as_str());
    match &entry.parent_id {
        Some(parent) => out.str("parentId", parent.as_str()),
        None => out.raw("parentId", "null"),
    };
    if let Some(timestamp) = entry.timestamp {
        out.raw("timestamp", &timestamp.to_string());
    }
    out.text("type", &entry.body.tag());
    if !entry.lane.is_main() {
        out.str("lane", entry.lane.as_str());
    }
    if entry.more > 0 {
        out.raw("more", &entry.more.to_string());
    }
    // A known field that holds something odd stands among the others, and is written once.
    out.hide(entry.extra.iter().map(|(key, _)| camel_case(key)).collect());
    encode_body(&mut out, &entry.body);
    out.hide(Vec::new());
    apart::rest(&mut out, &entry.extra);
    out.finish()
}

/// Writes the fields of a body. Two bodies are the same write where these are the same.
pub fn encode_body(out: &mut ObjectWriter, body: &Body) {
    match body {
        Body::SessionInfo(info) => encode_info(out, info),
        Body::Message(body) => {
            out.nest("message", |buffer| message::encode_onto(buffer, &body.message));
            if let Some(Foreign { format, raw }) = &body.foreign {
                let mut inner = ObjectWriter::new();
                inner.text("format", format).raw("raw", raw.get());
                out.raw("foreign", &inner.finish());
            }
        }
        Body::ModelChange { model, provider } => {
            out.text("model", model).opt_text("provider", provider.as_ref());
        }
        Body::ThinkingLevelChange { thinking_level } => {
            out.text("thinkingLevel", thinking_level);
        }
        Body::ActiveToolsChange { active_tool_names } => {
            out.array("activeToolNames", active_tool_names.iter().map(Text::to_json));
        }
        Body::Compaction(compaction) => encode_compaction(out, compaction),
        Body::BranchSummary { summary, from_id, details } => {
            out.text("summary", summary);
            opt_id(out, "fromId", from_id.as_ref());
            out.opt_json("details", details.as_ref());
        }
        Body::Label { label, target_id } => {
            match label {
                Some(label) => out.text("label", label),
                None => out.raw("label", "null"),
            };
            opt_id(out, "targetId", target_id.as_ref());
        }
        Body::Leaf { leaf_id } => match leaf_id {
            Some(leaf) => {
                out.str("leafId", leaf.as_str());
            }
            None => {
                out.raw("leafId", "null");
            }
        },
        Body::Custom { namespace, data, aside } => {
            out.text("namespace", namespace).raw("data", data.get());
            if *aside {
                out.raw("aside", "true");
            }
        }
        Body::CustomMessage { namespace, content, display } => {
            out.text("namespace", namespace)
                .nest("content", |buffer| message::codec_content_onto(buffer, content))
                .raw("display", if *display { "true" } else { "false" });
        }
        Body::ContextEdit { target_id, replacement } => {
            out.str("targetId", target_id.as_str());
            match replacement {
                None => out.raw("replacement", "null"),
                Some(content) => {
                    let mut inner = ObjectWriter::new();
                    inner.nest("content", |buffer| message::codec_content_onto(buffer, content));
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
        Body::Operation(operation) => {
            out.text("operationId", &operation.operation_id)
                .text("phase", &operation.phase)
                .text("kind", &operation.kind)
                .opt_text("outcome", operation.outcome.as_ref())
                .opt_json("data", operation.data.as_ref());
        }
        Body::Unknown { .. } => {}
    }
}

fn encode_info(out: &mut ObjectWriter, info: &SessionInfo) {
    out.opt_text("sessionId", info.session_id.as_ref());
    if let Some(version) = info.version {
        out.raw("version", &version.to_string());
    }
    out.opt_text("generation", info.generation.as_ref())
        .opt_text("title", info.title.as_ref())
        .opt_text("cwd", info.cwd.as_ref());
    if let Some(created_at) = info.created_at {
        out.raw("createdAt", &created_at.to_string());
    }
    out.opt_json("metadata", info.metadata.as_ref());
    if let Some(ForkedFrom { session_id, entry_id }) = &info.forked_from {
        let mut inner = ObjectWriter::new();
        inner.text("sessionId", session_id).str("entryId", entry_id.as_str());
        out.raw("forkedFrom", &inner.finish());
    }
    out.opt_text("agentType", info.agent_type.as_ref());
    if let Some(depth) = info.spawn_depth {
        out.raw("spawnDepth", &depth.to_string());
    }
    out.opt_text("parentSessionId", info.parent_session_id.as_ref());
}

fn encode_compaction(out: &mut ObjectWriter, compaction: &Compaction) {
    out.text("summary", &compaction.summary);
    let quoted = |id: &EntryId| Text::from(id.as_str()).to_json();
    out.array("replacesEntryIds", compaction.replaces_entry_ids.iter().map(quoted));
    opt_id(out, "firstKeptEntryId", compaction.first_kept_entry_id.as_ref());
    if let Some(state) = &compaction.state {
        let mut inner = ObjectWriter::new();
        inner
            .opt_text("model", state.model.as_ref())
            .opt_text("provider", state.provider.as_ref())
            .opt_text("thinkingLevel", state.thinking_level.as_ref());
        if let Some(tools) = &state.active_tool_names {
            inner.array("activeToolNames", tools.iter().map(Text::to_json));
        }
        out.raw("state", &inner.finish());
    }
    for (key, tokens) in
        [("tokensBefore", compaction.tokens_before), ("tokensAfter", compaction.tokens_after)]
    {
        if let Some(tokens) = tokens {
            out.raw(key, &tokens.to_string());
        }
    }
    if let Some(tail) = &compaction.retained_tail {
        out.array("retainedTail", tail.iter().map(message::encode));
    }
    out.opt_json("usage", compaction.usage.as_ref())
        .opt_json("details", compaction.details.as_ref());
}

fn opt_id(out: &mut ObjectWriter, key: &str, id: Option<&EntryId>) {
    if let Some(id) = id {
        out.str(key, id.as_str());
    }
}
