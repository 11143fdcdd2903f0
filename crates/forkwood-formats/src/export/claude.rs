//! Claude Code's session files.

use std::collections::HashMap;

use forkwood::core::fold::{render, select};
use forkwood::core::json::join_array;
use forkwood::{Body, Entry, EntryId, Json, Message, Role, Timestamp};

use super::Written;
use super::claude_blocks::Blocks;
use super::claude_line::{Line, Speaker};
use super::claude_rows::{Kind, Laid, moved};
use super::loss::What;
use super::source::Source;
use super::told::{Kept, RULES, Told, is_uuid, kept, lose_lanes, made_id, told, uuid_of};
use super::tree::{Chain, Paths, ending_at_leaf};
use crate::claude_code::{METADATA, NAME, place};
use crate::fields::{Out, foreign_of};

pub(super) fn write(mut source: Source) -> Written {
    let mut losses = std::mem::take(&mut source.losses);
    let id = uuid_of(&source.id, &source.id.to_string_lossy());
    if !is_uuid(&source.id.to_string_lossy()) {
        losses.session(What::Id, 1, "the id of the session is a UUID there");
    }
    let metadata = source.metadata();
    let metadata = metadata.as_ref().and_then(Json::as_object).unwrap_or_default();
    if metadata.iter().any(|(key, _)| *key != METADATA) {
        losses.session(What::Metadata, 1, "Claude Code has no data about a session");
    }
    lose_lanes(&source, &mut losses, "Claude Code");
    let paths_of = source.clone();
    let blocks = Blocks {
        format: "Claude Code",
        surrogates: true,
        losses: &mut losses,
        calls: HashMap::new(),
    };
    let mut file = File {
        line: Line::new(&source, &id),
        source: &paths_of,
        blocks,
        chain: Chain::default(),
        text: String::new(),
        parts: None,
        merged: HashMap::new(),
        lines: Vec::new(),
        at: source.created,
    };
    let speaking = file.only_lines(&source);
    let (order, ends_there) = ending_at_leaf(&speaking);
    let at: HashMap<&EntryId, usize> =
        paths_of.entries.iter().enumerate().map(|(at, entry)| (&entry.id, at)).collect();
    let paths = Paths::of(&paths_of);
    for place in order {
        let entry = &speaking.entries[place];
        file.entry(entry, &paths, at.get(&entry.id).copied().unwrap_or_default());
    }
    file.flush();
    if file.answers_in_a_row() || !ends_there {
        let why = "in Claude Code a session stands at its last message";
        match &source.leaf {
            Some(leaf) => file.blocks.losses.entry(What::Pointer, leaf, why),
            None => file.blocks.losses.session(What::Pointer, 1, why),
        }
    }
    let text = file.finish(&source, &id);
    let cwd = source.cwd().to_string_lossy().into_owned();
    let folder = place::folder_for_cwd(if cwd.is_empty() { "/" } else { &cwd });
    Written::one(format!("{folder}/{id}.jsonl"), text, losses)
}

/// A file that is being written.
struct File<'s, 'l> {
    line: Line,
    source: &'s Source,
    blocks: Blocks<'l>,
    chain: Chain,
    text: String,
    /// Results that stand on the line of the next one.
    parts: Option<Parts>,
    /// For an entry that is a part of a line: the entry that has the id of the line.
    merged: HashMap<EntryId, EntryId>,
    /// What was written so far.
    lines: Vec<Laid>,
    at: Timestamp,
}

/// Results of one line, so far.
struct Parts {
    ids: Vec<EntryId>,
    kind: Kind,
    parent: Option<EntryId>,
    blocks: Vec<String>,
    entry: Entry,
}

impl File<'_, '_> {
    /// The entries that become lines, and what each of them hangs from.
    fn only_lines(&mut self, source: &Source) -> Source {
        let mut above: HashMap<EntryId, Option<EntryId>> = HashMap::new();
        let mut entries = Vec::new();
        for entry in &source.entries {
            let parent = entry.parent_id.clone();
            let parent =
                parent.and_then(|id| above.get(&id).cloned().unwrap_or_else(|| Some(id.clone())));
            if self.becomes_line(entry) {
                entries.push(Entry { parent_id: parent, ..entry.clone() });
            } else {
                above.insert(entry.id.clone(), parent);
            }
        }
        let leaf = source
            .leaf
            .clone()
            .and_then(|id| above.get(&id).cloned().unwrap_or_else(|| Some(id.clone())));
        Source { entries, leaf, ..source.clone() }
    }

    /// Tells what hangs elsewhere when the file is read.
    fn answers_in_a_row(&mut self) -> bool {
        let moved = moved(&self.lines);
        for id in &moved.entries {
            let why = "Claude Code reads results behind the last of several answers in a row";
            self.blocks.losses.entry(What::Shape, id, why);
        }
        moved.leaf
    }

    fn becomes_line(&mut self, entry: &Entry) -> bool {
        let (what, why) = match &entry.body {
            Body::Message(body) if foreign_of(body.foreign.as_ref(), NAME).is_some() => {
                return true;
            }
            Body::Message(body) => match body.message.role {
                Role::Other(_) => (What::Role, "Claude Code has no such role"),
                _ => return true,
            },
            Body::Compaction(_) | Body::CustomMessage { .. } => return true,
            Body::BranchSummary { summary, .. } if !summary.is_empty() => return true,
            Body::Custom { .. } if own_tag(entry).is_some() => return true,
            Body::SessionInfo(_) | Body::BranchSummary { .. } => return false,
            Body::Label { label: None, .. } => return false,
            Body::Label { .. } => (What::Label, "Claude Code has no bookmarks"),
            Body::ModelChange { .. } => {
                (What::Model, "Claude Code tells the model with each answer only")
            }
            Body::ThinkingLevelChange { .. } => {
                (What::ThinkingLevel, "Claude Code has no place for it")
            }
            Body::ActiveToolsChange { .. } => {
                (What::ActiveTools, "Claude Code has no place for it")
            }
            Body::ContextEdit { target_id, .. } => {
                let why = "messages of Claude Code stand as they were said";
                self.blocks.losses.entry(What::ContextEdit, target_id, why);
                (What::ContextEdit, why)
            }
            Body::Usage { .. } => (What::Usage, "Claude Code has no place for it"),
            Body::Operation(_) => (What::Operation, "Claude Code has no place for it"),
            _ => (What::Custom, "Claude Code has no place for it"),
        };
        self.blocks.losses.entry(what, &entry.id, why);
        false
    }

    fn entry(&mut self, entry: &Entry, paths: &Paths<'_>, at: usize) {
        self.at = entry.timestamp.unwrap_or(self.at);
        let id = &entry.id;
        if let Some(parts) = &self.parts
            && entry.parent_id.as_ref() != Some(&parts.entry.id)
        {
            self.flush();
        }
        match &entry.body {
            Body::Message(body) => match foreign_of(body.foreign.as_ref(), NAME) {
                Some(raw) => self.record(entry, raw),
                None => self.message(entry, &body.message),
            },
            Body::CustomMessage { content, .. } => {
                let why = "it is a message of the program's own there";
                self.blocks.losses.entry(What::CustomMessage, id, why);
                self.meta(entry, &Message::new(Role::User, content.clone()));
            }
            Body::BranchSummary { .. } => {
                let why = "it is a message of the program's own there";
                self.blocks.losses.entry(What::BranchSummary, id, why);
                let items = select(std::slice::from_ref(entry), &RULES);
                if let Some(message) = items.first().and_then(render) {
                    self.meta(entry, &message);
                }
            }
            Body::Compaction(_) => self.compaction(entry, &paths.to(at)),
            Body::Custom { data, .. } => self.record(entry, data),
            _ => {}
        }
    }

    /// What an entry hangs from, as a line names it.
    fn parent(&self, above: Option<&EntryId>) -> Option<EntryId> {
        let behind = self.chain.behind(above)?;
        Some(self.merged.get(&behind).cloned().unwrap_or(behind))
    }

    fn named(&self, parent: &Option<EntryId>) -> Option<String> {
        parent.as_ref().map(|parent| self.uuid(parent))
    }

    fn uuid(&self, id: &EntryId) -> String {
        uuid_of(&self.source.id, id.as_str())
    }

    fn push(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn lay(&mut self, line: &str, laid: Laid) {
        self.push(line);
        self.lines.push(laid);
    }

    fn message(&mut self, entry: &Entry, message: &Message) {
        let own = own_fields(message);
        let own = own.as_ref().and_then(Json::as_object).unwrap_or_default();
        if message.role == Role::Tool {
            let block = self.blocks.result(&entry.id, message);
            let mut parts = self.parts.take().unwrap_or_else(|| Parts {
                ids: Vec::new(),
                kind: Kind::of_message(message),
                parent: entry.parent_id.clone(),
                blocks: Vec::new(),
                entry: entry.clone(),
            });
            parts.blocks.push(block);
            parts.ids.push(entry.id.clone());
            parts.entry = entry.clone();
            let more = own.get("part") == Some("true");
            self.parts = Some(parts);
            if !more {
                self.flush();
            }
            return;
        }
        if own.get("part") == Some("true") || self.parts.is_some() {
            // What the person said on a line of results.
            let content = self.blocks.content(&entry.id, message);
            let blocks = forkwood::core::json::elements(&content).unwrap_or_default();
            let mut parts = self.parts.take().unwrap_or_else(|| Parts {
                ids: Vec::new(),
                kind: Kind::of_message(message),
                parent: entry.parent_id.clone(),
                blocks: Vec::new(),
                entry: entry.clone(),
            });
            match message.role == Role::User && !blocks.is_empty() {
                true => {
                    parts.blocks.extend(blocks.iter().map(|block| block.get().to_owned()));
                    parts.ids.push(entry.id.clone());
                    parts.entry = entry.clone();
                    self.parts = Some(parts);
                    if own.get("part") != Some("true") {
                        self.flush();
                    }
                    return;
                }
                false => {
                    self.parts = (!parts.blocks.is_empty()).then_some(parts);
                    self.flush();
                }
            }
        }
        let speaker = self.speaker(&entry.id, message);
        self.said(entry, message, speaker);
    }

    fn speaker(&mut self, id: &EntryId, message: &Message) -> Speaker {
        match message.role {
            Role::Assistant => Speaker::Model,
            Role::User | Role::Tool => Speaker::Person,
            _ => {
                let why = "it is a message of the program's own there";
                self.blocks.losses.entry(What::Role, id, why);
                Speaker::Program
            }
        }
    }

    /// Writes the results so far as one line. It has the id of the last of them.
    fn flush(&mut self) {
        let Some(parts) = self.parts.take() else { return };
        let Body::Message(body) = &parts.entry.body else { return };
        let of = parts.entry.id.clone();
        let parent = self.parent(parts.parent.as_ref());
        let (above, uuid) = (self.named(&parent), self.uuid(&of));
        let content = join_array(&parts.blocks);
        let line =
            self.line.message(Speaker::Person, &body.message, &content, above, &uuid, self.at);
        self.merged.extend(parts.ids.into_iter().map(|id| (id, of.clone())));
        self.lay(&line, Laid { id: of.clone(), parent, of, kind: parts.kind });
    }

    /// A message of the program's own.
    fn meta(&mut self, entry: &Entry, message: &Message) {
        self.said(entry, message, Speaker::Program);
    }

    fn said(&mut self, entry: &Entry, message: &Message, speaker: Speaker) {
        let content = self.blocks.content(&entry.id, message);
        let parent = self.parent(entry.parent_id.as_ref());
        let (above, uuid) = (self.named(&parent), self.uuid(&entry.id));
        self.line.told(&entry.id, message, speaker, self.blocks.losses);
        let line = self.line.message(speaker, message, &content, above, &uuid, self.at);
        let (id, of) = (entry.id.clone(), entry.id.clone());
        self.lay(&line, Laid { id, parent, of, kind: Kind::of(entry) });
    }

    /// A record of Claude Code's own, under its new links.
    fn record(&mut self, entry: &Entry, raw: &Json) {
        self.flush();
        let Some(object) = raw.as_object() else { return };
        let parent = self.parent(entry.parent_id.as_ref());
        let (above, uuid) = (self.named(&parent), self.uuid(&entry.id));
        let line = self.line.record(&object, above, &uuid);
        let (id, of) = (entry.id.clone(), entry.id.clone());
        self.lay(&line, Laid { id, parent, of, kind: Kind::of(entry) });
    }

    /// A boundary, its summary, and copies of what it leaves.
    fn compaction(&mut self, entry: &Entry, path: &[&Entry]) {
        let Body::Compaction(compaction) = &entry.body else { return };
        self.flush();
        let (before, behind) = match kept(path, path.len() - 1) {
            Kept::Nothing => (Vec::new(), Vec::new()),
            Kept::Behind(behind) => (Vec::new(), behind),
            Kept::Around { before, behind } => (before, behind),
            Kept::From(_) => {
                let own: Vec<Entry> = path.iter().map(|entry| (*entry).clone()).collect();
                let items = select(&own, &RULES);
                (Vec::new(), items.iter().skip(1).filter_map(told).collect())
            }
        };
        if !before.is_empty() || !behind.is_empty() {
            let why = "the messages that it leaves stand behind it as lines of their own";
            self.blocks.losses.entry(What::Compaction, &entry.id, why);
        }
        let parent = self.parent(entry.parent_id.as_ref());
        let (above, uuid) = (self.named(&parent), self.uuid(&entry.id));
        let line = self.line.boundary(compaction, above, &uuid, self.at);
        let (id, of) = (entry.id.clone(), entry.id.clone());
        self.lay(&line, Laid { id, parent, of, kind: Kind::Other });
        let summary = (!compaction.summary.is_empty()).then(|| {
            let item = select(std::slice::from_ref(entry), &RULES);
            item.first().and_then(render)
        });
        let mut messages: Vec<(Told, bool)> =
            before.into_iter().map(|told| (told, false)).collect();
        messages.extend(summary.flatten().map(|message| ((entry.id.clone(), message), true)));
        messages.extend(behind.into_iter().map(|told| (told, false)));
        for (at, ((of, message), is_summary)) in messages.into_iter().enumerate() {
            let made = made_id(self.source, &["kept", entry.id.as_str(), &at.to_string()]);
            let parent = self.chain.put(Some(&entry.id), &made);
            let (above, uuid) = (self.named(&parent), self.uuid(&made));
            let speaker = match is_summary {
                true => Speaker::Summary,
                false => self.speaker(&of, &message),
            };
            let content = match message.role {
                Role::Tool => join_array([self.blocks.result(&of, &message)]),
                _ => self.blocks.content(&of, &message),
            };
            self.line.told(&of, &message, speaker, self.blocks.losses);
            let line = self.line.message(speaker, &message, &content, above, &uuid, self.at);
            let kind = Kind::of_message(&message);
            self.lay(&line, Laid { id: made, parent, of: entry.id.clone(), kind });
        }
    }

    /// The file. The title stands last, where the program looks for it.
    fn finish(mut self, source: &Source, id: &str) -> String {
        if let Some(title) = source.title() {
            let mut out = Out::default();
            out.str("type", "custom-title").text("customTitle", title).str("sessionId", id);
            let line = out.finish();
            self.push(&line);
        }
        self.text
    }
}

/// What of a line of Claude Code a message has no field for.
fn own_fields(message: &Message) -> Option<Json> {
    let metadata = message.metadata.as_ref()?.as_object()?;
    Json::parse(metadata.get(METADATA)?).ok()
}

/// The type of a record of Claude Code that an entry holds.
fn own_tag(entry: &Entry) -> Option<&str> {
    let Body::Custom { namespace, .. } = &entry.body else { return None };
    namespace.as_str()?.strip_prefix(NAME)?.strip_prefix('.')
}
