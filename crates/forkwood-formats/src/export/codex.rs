//! Codex's rollouts.

use forkwood::core::fold::{render, select};
use forkwood::core::json::{Object, join_array};
use forkwood::{Body, Entry, EntryId, Json, Message, Role, Text, Timestamp};

use super::Written;
use super::items::Items;
use super::loss::{LossReport, What};
use super::source::Source;
use super::told::{RULES, is_uuid, lose_branches, told, uuid_of};
use crate::codex::{NAME, place};
use crate::fields::Out;
use crate::time::iso;

pub(super) fn write(mut source: Source) -> Written {
    let losses = std::mem::take(&mut source.losses);
    let id = uuid_of(&source.id, &source.id.to_string_lossy());
    let path = source.path_entries();
    // Where it was one of Codex, it has these lines already.
    let tells = !path.iter().any(|entry| own_record(entry, "user_message").is_some());
    let mut out = Rollout {
        cwd: source.cwd(),
        at: source.created,
        text: String::new(),
        model: None,
        effort: None,
        pending: false,
        tells,
        losses,
    };
    out.facts(&source, &id);
    for at in 0..path.len() {
        out.entry(&path, at);
    }
    out.settings();
    out.title(&source, &id);
    out.losses.session(What::Id, path.len() as u64, "lines of Codex have no ids");
    let mut beside = source.clone();
    // What told of turns that were taken back is told by the path.
    beside.entries.retain(|entry| own_namespace(entry).is_none());
    lose_branches(&beside, &mut out.losses, "Codex");
    let file = place::rollout_file(std::path::Path::new(""), &id, source.created);
    let name = file.to_string_lossy().replace('\\', "/");
    let name = name.strip_prefix("sessions/").unwrap_or(&name).to_owned();
    Written::one(name, out.text, out.losses)
}

/// A rollout that is being written.
struct Rollout {
    cwd: Text,
    at: Timestamp,
    text: String,
    model: Option<Text>,
    effort: Option<Text>,
    /// Whether settings changed since they were last told.
    pending: bool,
    /// Whether what people are shown is told in lines of its own.
    tells: bool,
    losses: LossReport,
}

impl Rollout {
    fn line(&mut self, tag: &str, payload: &str) {
        let mut out = Out::default();
        out.str("timestamp", &iso(self.at)).str("type", tag).raw("payload", payload);
        self.text.push_str(&out.finish());
        self.text.push('\n');
    }

    fn facts(&mut self, source: &Source, id: &str) {
        if !is_uuid(&source.id.to_string_lossy()) {
            self.losses.session(What::Id, 1, "the id of the session is a UUID there");
        }
        let metadata = source.metadata();
        let metadata = metadata.as_ref().and_then(Json::as_object).unwrap_or_default();
        let own = metadata.get(NAME).and_then(|raw| Object::parse(raw).ok()).unwrap_or_default();
        if metadata.iter().any(|(key, _)| *key != NAME) {
            self.losses.session(What::Metadata, 1, "Codex has no data about a session");
        }
        let mut meta = Out::default();
        meta.str("id", id).str("timestamp", &iso(source.created)).raw("cwd", &plain(&source.cwd()));
        meta.rest(own.iter().map(|(key, value)| (key, value.get())));
        meta.str("originator", "forkwood")
            .str("cli_version", env!("CARGO_PKG_VERSION"))
            .raw("instructions", "null")
            .str("source", "cli");
        self.line("session_meta", &meta.finish());
    }

    fn title(&mut self, source: &Source, id: &str) {
        if let Some(title) = source.title() {
            let mut out = Out::default();
            out.str("type", "thread_name_updated")
                .str("thread_id", id)
                .raw("thread_name", &plain(title));
            self.line("event_msg", &out.finish());
            let why = "Codex lists names from session_index.jsonl, which is not written; the \
                       rollout tells it";
            self.losses.session(What::Title, 1, why);
        }
    }

    fn entry(&mut self, path: &[Entry], at: usize) {
        let entry = &path[at];
        let id = &entry.id;
        self.at = entry.timestamp.unwrap_or(self.at);
        match &entry.body {
            Body::Message(body) => self.message(id, &body.message),
            Body::CustomMessage { content, .. } => {
                self.losses.entry(What::CustomMessage, id, "it is a message of the person there");
                self.message(id, &Message::new(Role::User, content.clone()));
            }
            Body::BranchSummary { summary, .. } if !summary.is_empty() => {
                self.losses.entry(What::BranchSummary, id, "it is a message of the person there");
                let items = select(std::slice::from_ref(entry), &RULES);
                if let Some(message) = items.first().and_then(render) {
                    self.message(id, &message);
                }
            }
            Body::ModelChange { model, provider } => {
                self.pending |= self.model.as_ref() != Some(model);
                self.model = Some(model.clone());
                if provider.is_some() {
                    self.losses.entry(What::Model, id, "settings of Codex name no provider");
                }
            }
            Body::ThinkingLevelChange { thinking_level } => {
                self.pending |= self.effort.as_ref() != Some(thinking_level);
                self.effort = Some(thinking_level.clone());
            }
            Body::Compaction(compaction) => self.compaction(path, at, &compaction.summary),
            Body::ContextEdit { target_id, .. } => {
                let why = "messages of Codex stand as they were said";
                self.losses.entry(What::ContextEdit, id, why);
                self.losses.entry(What::ContextEdit, target_id, why);
            }
            Body::Custom { data, .. } if own_namespace(entry).is_some() => self.own(entry, data),
            Body::ActiveToolsChange { .. } => {
                self.losses.entry(What::ActiveTools, id, "Codex has no place for it");
            }
            Body::Usage { .. } => self.losses.entry(What::Usage, id, "Codex has no place for it"),
            _ => self.losses.entry(What::Custom, id, "Codex has no place for it"),
        }
    }

    /// A record of Codex's own, as it stood.
    fn own(&mut self, entry: &Entry, data: &Json) {
        if own_record(entry, "turn_context").is_some() {
            let record = data.as_object();
            let payload = record.and_then(|r| Object::parse(r.get("payload")?).ok());
            let payload = payload.unwrap_or_default();
            self.model = payload.text("model").or(self.model.take());
            self.effort = payload.text("effort").or(self.effort.take());
            // It tells what was to be told.
            self.pending = false;
        } else {
            self.settings();
        }
        self.text.push_str(data.get());
        self.text.push('\n');
    }

    fn message(&mut self, id: &EntryId, message: &Message) {
        if message.role == Role::Assistant
            && let Some(model) = &message.model
        {
            self.pending |= self.model.as_ref() != Some(model);
            self.model = Some(model.clone());
        }
        self.settings();
        let mut items = Items { own: NAME, format: "Codex", losses: &mut self.losses };
        for item in items.of(id, message) {
            self.line("response_item", &item);
        }
        let event = match message.role {
            Role::User => "user_message",
            Role::Assistant => "agent_message",
            _ => return,
        };
        let text = message.content.text();
        if self.tells && !text.is_empty() {
            let mut out = Out::default();
            out.str("type", event).raw("message", &plain(&text));
            self.line("event_msg", &out.finish());
        }
    }

    /// Tells the settings, where they changed.
    fn settings(&mut self) {
        if !std::mem::take(&mut self.pending) {
            return;
        }
        let mut out = Out::default();
        out.raw("cwd", &plain(&self.cwd))
            .str("approval_policy", "on-request")
            .raw("sandbox_policy", "{\"type\":\"read-only\"}");
        if let Some(model) = &self.model {
            out.raw("model", &plain(model));
        }
        if let Some(effort) = &self.effort {
            out.raw("effort", &plain(effort));
        }
        out.str("summary", "auto");
        self.line("turn_context", &out.finish());
    }

    /// What a compaction leaves stands in it whole.
    fn compaction(&mut self, path: &[Entry], at: usize, summary: &Text) {
        self.settings();
        let id = &path[at].id;
        let left = select(&path[..=at], &RULES);
        let mut items = Items { own: NAME, format: "Codex", losses: &mut self.losses };
        let history: Vec<String> = left
            .iter()
            .filter_map(told)
            .flat_map(|(of, message)| items.of(&of, &message))
            .collect();
        let why = "the messages that it leaves stand in it";
        self.losses.entry(What::Compaction, id, why);
        let mut out = Out::default();
        out.raw("message", &plain(summary)).raw("replacement_history", &join_array(history));
        self.line("compacted", &out.finish());
    }
}

/// A text as JSON without lone surrogates.
fn plain(text: &Text) -> String {
    Text::from(text.to_string_lossy().into_owned()).to_json()
}

/// The type of a record of Codex that an entry holds.
fn own_namespace(entry: &Entry) -> Option<&str> {
    let Body::Custom { namespace, .. } = &entry.body else { return None };
    namespace.as_str()?.strip_prefix(NAME)?.strip_prefix('.')
}

fn own_record<'e>(entry: &'e Entry, tag: &str) -> Option<&'e Entry> {
    own_namespace(entry).filter(|name| *name == tag).map(|_| entry)
}
