//! A context in Pi's own shape, message by message.

use std::borrow::Cow;
use std::collections::HashMap;

use forkwood_core::fold::{Item, Source, select};
use forkwood_core::json::{self, Object};
use forkwood_core::{Body, Entry, EntryId, FoldRules, Role};
use forkwood_storage::Stored;

use super::encode_message::{self, Images};
use super::migrate::current_roles;
use super::{HARNESS_RULES, RULES};
use crate::fields::Out;

/// One message of a context as Pi has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PiMessage {
    /// The message, as JSON text. That of a Pi file is the record's own text, byte for byte,
    /// unless a context edit changes it.
    pub json: String,
    /// The entry behind it.
    pub entry_id: EntryId,
}

/// The context at the end of a path, root first, in the shape of Pi's `buildSessionContext`.
///
/// `rules` are those of the file. With Pi's, `Stored::raw` is read as Pi's record; with any
/// others, messages are written as they would be in a file of Pi.
pub fn pi_context(path: &[Stored], rules: &FoldRules) -> Vec<PiMessage> {
    let rules = &FoldRules { path_to_compaction: false, ..*rules };
    let from_pi = *rules == RULES || *rules == HARNESS_RULES;
    let raw: HashMap<&EntryId, &[u8]> = path
        .iter()
        .filter(|_| from_pi)
        .filter_map(|stored| Some((&stored.entry.id, stored.raw.as_deref()?)))
        .collect();
    let text = |entry: &Entry| raw.get(&entry.id).map(|bytes| String::from_utf8_lossy(bytes));
    select(path, rules)
        .iter()
        .filter_map(|item| {
            let entry = item.entry();
            let record = text(entry);
            let record = record.as_deref().and_then(|text| Object::parse(text).ok());
            let edit = item.edit.map(|edit| Edit { entry: edit, record: text(edit) });
            let json = shape(item, record.as_ref(), edit.as_ref(), rules)?;
            Some(PiMessage { json, entry_id: entry.id.clone() })
        })
        .collect()
}

/// A context edit that applies to a message.
struct Edit<'a> {
    entry: &'a Entry,
    record: Option<Cow<'a, str>>,
}

impl Edit<'_> {
    /// The new content, as JSON text.
    fn content(&self) -> Option<String> {
        let raw = self.record.as_deref().and_then(|text| {
            let record = Object::parse(text).ok()?;
            Some(Object::parse(record.get("replacement")?).ok()?.get("content")?.to_owned())
        });
        raw.or_else(|| match &self.entry.body {
            Body::ContextEdit { replacement: Some(content), .. } => {
                encode_message::content(content, Images::Name).ok()
            }
            _ => None,
        })
    }
}

fn shape(
    item: &Item<'_>,
    record: Option<&Object<'_>>,
    edit: Option<&Edit<'_>>,
    rules: &FoldRules,
) -> Option<String> {
    match item.source {
        Source::Entry(entry) => match &entry.body {
            // Also a system message that Forkwood wrote as a custom one: to Pi it is that.
            Body::Message(_) | Body::CustomMessage { .. } => {
                let json = match record.and_then(|record| record.get("message")) {
                    Some(raw) => {
                        // This dialect leaves answers that failed out of the context.
                        if failed(entry, rules) {
                            return None;
                        }
                        normalised(&current_roles(raw))
                    }
                    None => made(entry, record)?,
                };
                Some(edited(json, edit))
            }
            Body::BranchSummary { .. } => Some(branch_summary(entry, record)),
            _ => None,
        },
        Source::Summary(entry) => compaction_summary(entry, record),
        Source::System(_) => record?.get("systemMessage").map(str::to_owned),
        Source::Tail(entry, position) => {
            let Body::Compaction(compaction) = &entry.body else { return None };
            let message = compaction.retained_tail.as_ref()?.get(position)?;
            if *rules == HARNESS_RULES && excluded(message) {
                return None;
            }
            let raw = record
                .and_then(|record| json::elements(record.get("retainedTail")?))
                .and_then(|tail| tail.get(position).map(|item| item.get().to_owned()));
            raw.or_else(|| {
                encode_message::encode(&body_of(message), entry.timestamp, Images::Name).ok()
            })
        }
    }
}

fn body_of(message: &forkwood_core::Message) -> forkwood_core::entry::MessageBody {
    forkwood_core::entry::MessageBody { message: message.clone(), foreign: None }
}

fn failed(entry: &Entry, rules: &FoldRules) -> bool {
    *rules == HARNESS_RULES && entry.message().is_some_and(excluded)
}

fn excluded(message: &forkwood_core::Message) -> bool {
    message.role == Role::Assistant
        && message
            .metadata
            .as_ref()
            .and_then(forkwood_core::Json::as_object)
            .is_some_and(|object| object.get("excludeFromContext") == Some("true"))
}

/// A message of Pi with content where it should have some.
fn normalised(raw: &str) -> String {
    let Ok(object) = Object::parse(raw) else { return raw.to_owned() };
    let role = object.text("role");
    let blank = match role.as_ref().and_then(forkwood_core::Text::as_str) {
        Some("system") => "\"\"",
        Some("user" | "assistant" | "toolResult") => "[]",
        _ => return raw.to_owned(),
    };
    match object.get("content") {
        None | Some("null") => with_content(&object, blank),
        Some(_) => raw.to_owned(),
    }
}

/// A message with other content: in the place of the old, else at the end.
fn with_content(object: &Object<'_>, content: &str) -> String {
    let mut out = Out::default();
    for (key, value) in object.iter() {
        out.field(key, if *key == "content" { content } else { value.get() });
    }
    out.raw("content", content);
    out.finish()
}

/// Applies an edit, which Pi does to four roles only.
fn edited(json: String, edit: Option<&Edit<'_>>) -> String {
    let Some(content) = edit.and_then(Edit::content) else { return json };
    let Ok(object) = Object::parse(&json) else { return json };
    let role = object.text("role");
    match role.as_ref().and_then(forkwood_core::Text::as_str) {
        Some("assistant" | "toolResult") => match json::text_of(&content) {
            Some(text) => {
                let mut block = Out::default();
                block.str("type", "text").text("text", &text);
                with_content(&object, &format!("[{}]", block.finish()))
            }
            None => with_content(&object, &content),
        },
        Some("user" | "custom") => with_content(&object, &content),
        _ => json,
    }
}

/// A message that stands in no `message` field: a custom one, or one of another format.
fn made(entry: &Entry, record: Option<&Object<'_>>) -> Option<String> {
    match &entry.body {
        Body::Message(body) if record.is_none() => {
            encode_message::encode(body, entry.timestamp, Images::Name).ok()
        }
        Body::CustomMessage { namespace, content, display } if record.is_none() => {
            let mut out = Out::default();
            out.str("role", "custom")
                .text("customType", namespace)
                .raw("content", &encode_message::content(content, Images::Name).ok()?)
                .raw("display", if *display { "true" } else { "false" })
                .raw("timestamp", &millis(entry));
            Some(out.finish())
        }
        _ => {
            let record = record?;
            let mut out = Out::default();
            out.str("role", "custom");
            copy(&mut out, record, "customType");
            let content = record.get("content").filter(|raw| *raw != "null").unwrap_or("[]");
            out.raw("content", content);
            copy(&mut out, record, "display");
            copy(&mut out, record, "details");
            out.raw("timestamp", &millis(entry));
            Some(out.finish())
        }
    }
}

fn copy(out: &mut Out, record: &Object<'_>, key: &str) {
    if let Some(raw) = record.get(key) {
        out.raw(key, raw);
    }
}

fn branch_summary(entry: &Entry, record: Option<&Object<'_>>) -> String {
    let mut out = Out::default();
    out.str("role", "branchSummary");
    match (record, &entry.body) {
        (Some(record), _) => {
            copy(&mut out, record, "summary");
            copy(&mut out, record, "fromId");
        }
        (None, Body::BranchSummary { summary, from_id, .. }) => {
            out.text("summary", summary)
                .str("fromId", from_id.as_ref().map_or("root", EntryId::as_str));
        }
        _ => {}
    }
    out.raw("timestamp", &millis(entry));
    out.finish()
}

fn compaction_summary(entry: &Entry, record: Option<&Object<'_>>) -> Option<String> {
    let mut out = Out::default();
    out.str("role", "compactionSummary");
    match (record, &entry.body) {
        (Some(record), _) => {
            copy(&mut out, record, "summary");
            copy(&mut out, record, "tokensBefore");
        }
        // Outside Pi an empty summary says nothing: it only cuts.
        (None, Body::Compaction(compaction)) if !compaction.summary.is_empty() => {
            let tokens = compaction.tokens_before.unwrap_or(0);
            out.text("summary", &compaction.summary).raw("tokensBefore", &tokens.to_string());
        }
        _ => return None,
    }
    out.raw("timestamp", &millis(entry));
    Some(out.finish())
}

/// The time of an entry as JavaScript's `getTime` gives it; one that is none is `null` in JSON.
fn millis(entry: &Entry) -> String {
    entry.timestamp.map_or_else(|| "null".into(), |at| at.as_millis().to_string())
}
