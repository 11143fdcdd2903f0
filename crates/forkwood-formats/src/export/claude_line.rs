//! Lines of Claude Code's files, field by field.

use forkwood::core::entry::Compaction;
use forkwood::core::json::Object;
use forkwood::{EntryId, Json, Message, Text, Timestamp};

use super::loss::{LossReport, What};
use super::source::Source;
use crate::claude_code::{METADATA, PROVIDER};
use crate::fields::Out;
use crate::time::iso;

/// The version of the program whose lines these are like.
const VERSION: &str = "2.0.0";

/// Who speaks on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    /// The person, or a tool.
    Person,
    /// The model.
    Model,
    /// The program, in the person's place.
    Program,
    /// The summary of a compaction.
    Summary,
}

/// What all lines of a file say.
#[derive(Debug)]
pub(super) struct Line {
    session: String,
    cwd: Text,
    branch: Text,
    version: Text,
    agent: Option<Text>,
}

impl Line {
    pub(super) fn new(source: &Source, session: &str) -> Line {
        let metadata = source.metadata();
        let metadata = metadata.as_ref().and_then(Json::as_object).unwrap_or_default();
        let own = metadata.get(METADATA).and_then(|raw| Object::parse(raw).ok());
        let own = own.unwrap_or_default();
        Line {
            session: session.to_owned(),
            cwd: source.cwd(),
            branch: own.text("gitBranch").unwrap_or_default(),
            version: own.text("version").unwrap_or_else(|| VERSION.into()),
            agent: own.text("agentId"),
        }
    }

    /// The start of a line: what it hangs from, and where it was said. `own` goes before what
    /// holds for the whole file.
    fn start(&self, parent: Option<String>, own: &Object<'_>) -> Out {
        let mut out = Out::default();
        match &parent {
            Some(parent) => out.str("parentUuid", parent),
            None => out.raw("parentUuid", "null"),
        };
        let agent = if self.agent.is_some() { "true" } else { "false" };
        out.raw("isSidechain", own.get("isSidechain").unwrap_or(agent));
        if let Some(agent) = &self.agent {
            out.text("agentId", agent);
        }
        out.str("userType", "external");
        let or = |key: &str, value: &Text| own.text(key).unwrap_or_else(|| value.clone());
        out.text("cwd", &or("cwd", &self.cwd))
            .str("sessionId", &self.session)
            .text("version", &or("version", &self.version))
            .text("gitBranch", &or("gitBranch", &self.branch));
        out
    }

    /// A message. `content` is JSON.
    pub(super) fn message(
        &self,
        speaker: Speaker,
        message: &Message,
        content: &str,
        parent: Option<String>,
        uuid: &str,
        at: Timestamp,
    ) -> String {
        let metadata = message.metadata.as_ref().and_then(Json::as_object).unwrap_or_default();
        let own = metadata.get(METADATA).and_then(|raw| Object::parse(raw).ok());
        let own = own.unwrap_or_default();
        let inner = own.get("message").and_then(|raw| Object::parse(raw).ok()).unwrap_or_default();
        let mut out = self.start(parent, &own);
        let role = if speaker == Speaker::Model { "assistant" } else { "user" };
        let mut said = Out::default();
        if speaker == Speaker::Model {
            match inner.text("id") {
                Some(id) => said.text("id", &id),
                None => said.str("id", &format!("msg_{}", uuid.replace('-', ""))),
            };
            said.str("type", "message").str("role", role);
            let model = message.model.clone().or_else(|| inner.text("model"));
            said.text("model", &model.unwrap_or_else(|| "unknown".into())).raw("content", content);
            let stop = message.stop_reason.as_ref().map(Text::to_json);
            said.raw("stop_reason", stop.as_deref().unwrap_or("null"))
                .raw("stop_sequence", inner.get("stop_sequence").unwrap_or("null"))
                .raw("usage", &usage(message.usage.as_ref()));
        } else {
            said.str("role", role).raw("content", content);
        }
        said.rest(inner.iter().map(|(key, value)| (key, value.get())));
        out.str("type", role).raw("message", &said.finish());
        match speaker {
            Speaker::Program => out.raw("isMeta", "true"),
            Speaker::Summary => {
                out.raw("isVisibleInTranscriptOnly", "true").raw("isCompactSummary", "true")
            }
            _ => &mut out,
        };
        let excluded = metadata.get("excludeFromContext") == Some("true");
        if excluded && own.get("isApiErrorMessage") != Some("true") {
            out.raw("isVirtual", "true");
        }
        out.str("uuid", uuid).str("timestamp", &iso(at));
        let rest = own
            .iter()
            .filter(|(key, _)| !["message", "result", "part"].iter().any(|name| **key == *name));
        out.rest(rest.map(|(key, value)| (key, value.get())));
        out.finish()
    }

    /// What of a message such a line cannot hold.
    pub(super) fn told(
        &self,
        id: &EntryId,
        message: &Message,
        speaker: Speaker,
        losses: &mut LossReport,
    ) {
        let metadata = message.metadata.as_ref().and_then(Json::as_object).unwrap_or_default();
        let known = |key: &Text| *key == METADATA || *key == "excludeFromContext";
        if metadata.iter().any(|(key, _)| !known(key)) {
            losses.entry(What::Field, id, "Claude Code has no place for metadata of messages");
        }
        if speaker != Speaker::Model {
            return;
        }
        match (&message.model, &message.provider) {
            (None, _) if metadata.get(METADATA).is_none() => {
                let why = "Claude Code wants to know which model spoke: it is `unknown`";
                losses.entry(What::Model, id, why);
            }
            (Some(_), provider) if provider.as_ref().is_some_and(|name| *name != PROVIDER) => {
                let why = "Claude Code takes every model for one of its provider";
                losses.entry(What::Model, id, why);
            }
            _ => {}
        }
    }

    /// The line of a compaction.
    pub(super) fn boundary(
        &self,
        compaction: &Compaction,
        parent: Option<String>,
        uuid: &str,
        at: Timestamp,
    ) -> String {
        let record = compaction.details.as_ref().and_then(Json::as_object);
        let record = record.filter(|object| {
            object.text("subtype").is_some_and(|subtype| subtype == "compact_boundary")
        });
        let record = record.unwrap_or_default();
        let mut out = self.start(None, &record);
        match &parent {
            Some(parent) => out.str("logicalParentUuid", parent),
            None => out.raw("logicalParentUuid", "null"),
        };
        let before = record.get("compactMetadata").and_then(|raw| Object::parse(raw).ok());
        let mut metadata = Out::default();
        for (key, tokens) in
            [("preTokens", compaction.tokens_before), ("postTokens", compaction.tokens_after)]
        {
            if let Some(tokens) = tokens {
                metadata.raw(key, &tokens.to_string());
            }
        }
        // What it preserved follows it in this file.
        let preserved = ["preservedSegment", "preservedMessages"];
        let rest = before.iter().flat_map(Object::iter);
        let rest = rest.filter(|(key, _)| !preserved.iter().any(|name| **key == *name));
        metadata.rest(rest.map(|(key, value)| (key, value.get())));
        metadata.str("trigger", "manual").raw("preTokens", "0");
        out.str("type", "system")
            .str("subtype", "compact_boundary")
            .str("content", "Conversation compacted")
            .raw("isMeta", "false")
            .str("level", "info")
            .raw("compactMetadata", &metadata.finish())
            .str("uuid", uuid)
            .str("timestamp", &iso(at));
        out.rest(record.iter().map(|(key, value)| (key, value.get())));
        out.finish()
    }

    /// A record as it stood, with new links.
    pub(super) fn record(&self, record: &Object<'_>, parent: Option<String>, uuid: &str) -> String {
        let mut out = Out::default();
        for (key, value) in record.iter() {
            match key.as_str() {
                Some("parentUuid") => match &parent {
                    Some(parent) => out.str("parentUuid", parent),
                    None => out.raw("parentUuid", "null"),
                },
                Some("uuid") => out.str("uuid", uuid),
                Some("sessionId") => out.str("sessionId", &self.session),
                _ => out.field(key, value.get()),
            };
        }
        out.finish()
    }
}

/// Usage as the program counts it.
fn usage(usage: Option<&Json>) -> String {
    let object = usage.and_then(Json::as_object).unwrap_or_default();
    let number = |names: &[&str]| {
        let found = names.iter().find_map(|name| object.get(name));
        found.filter(|raw| raw.parse::<f64>().is_ok()).unwrap_or("0").to_owned()
    };
    let mut out = Out::default();
    out.raw("input_tokens", &number(&["input_tokens", "input", "inputTokens", "prompt_tokens"]));
    let output = ["output_tokens", "output", "outputTokens", "completion_tokens"];
    out.raw("output_tokens", &number(&output));
    out.rest(object.iter().map(|(key, value)| (key, value.get())));
    out.finish()
}
