//! Sessions in files.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use forkwood::core::json::{Object, elements, text_of};
use forkwood::storage::disk::{Disk, DiskFile, Meta, NodeKind, read_from};
use forkwood::{
    Body, Compaction, Diagnostic, DiagnosticKind, Entry, EntryId, Error, Lane, Message, Result,
    SessionId, SessionInfo, Text,
};

use super::NAME;
use super::lines::{Lines, Span, again};
use super::message::read;
use crate::fields::Out;
use crate::import::{About, Environment, ForeignSession, Tool, Unit};

/// How much of a file is looked at to tell whose it is.
const START: u64 = 64 * 1024;
/// The longest document that is read as a whole.
const WHOLE: u64 = 256 * 1024 * 1024;
/// So many findings of one session are kept.
const MOST: usize = 1000;

/// Gemini CLI.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GeminiCli;

#[async_trait]
impl Tool for GeminiCli {
    fn name(&self) -> &'static str {
        NAME
    }

    fn places(&self, environment: &Environment<'_>) -> Vec<PathBuf> {
        let set = (environment.variable)("GEMINI_CLI_HOME").filter(|value| !value.is_empty());
        let home = set.map(PathBuf::from).or_else(|| environment.home.clone());
        home.map(|home| home.join(".gemini").join("tmp")).into_iter().collect()
    }

    fn claim(&self, disk: &dyn Disk, path: &Path, meta: &Meta) -> Option<Unit> {
        let ending = path.extension()?.to_str()?;
        if meta.kind != NodeKind::File || !["json", "jsonl"].contains(&ending) {
            return None;
        }
        let file = disk.open_read(path).ok()?;
        let start = read_from(file.as_ref(), 0, meta.len.min(START)).ok()?;
        let has = |key: &str| memchr::memmem::find(&start, key.as_bytes()).is_some();
        if !has("\"sessionId\"") || !has("\"projectHash\"") {
            return None;
        }
        if ending == "json" {
            // The newer file was made of it.
            let newer = disk.meta(&path.with_extension("jsonl")).is_ok();
            return (has("\"messages\"") && !newer && meta.len <= WHOLE).then(|| Unit::file(path));
        }
        let first = start.split(|byte| *byte == b'\n').next()?;
        let first = String::from_utf8_lossy(first);
        let object = Object::parse(&first).ok()?;
        let is_first = object.text("sessionId").is_some() && object.text("projectHash").is_some();
        (is_first && object.get("type").is_none()).then(|| Unit::file(path))
    }

    async fn open(
        &self,
        disk: &Arc<dyn Disk>,
        unit: &Unit,
    ) -> Result<Vec<Box<dyn ForeignSession>>> {
        let failed = |error| Error::io(&unit.path, "read", error);
        let file = disk.open_read(&unit.path).map_err(failed)?;
        let mut talk = Talk::default();
        if unit.path.extension().is_some_and(|ending| ending == "json") {
            let len = file.meta().map_err(failed)?.len;
            let bytes = read_from(file.as_ref(), 0, len).map_err(failed)?;
            talk.document(&unit.path, &String::from_utf8_lossy(&bytes), &bytes)?;
        } else {
            let mut lines = Lines::new(Arc::clone(&file));
            while let Some((span, line)) = lines.next().map_err(failed)? {
                talk.line(span, &String::from_utf8_lossy(&line));
            }
        }
        let about = talk.about(disk.as_ref(), &unit.path);
        Ok(vec![Box::new(GeminiSession { file, path: unit.path.clone(), about, talk })])
    }
}

/// A message as it was written last.
#[derive(Debug)]
struct Known {
    span: Span,
    /// How often it was written.
    times: u32,
    parent: Option<EntryId>,
    /// Its place among those that count now.
    at: Option<usize>,
}

/// What stands where, without what it says.
#[derive(Debug, Default)]
struct Talk {
    meta: HashMap<String, String>,
    /// The messages in the order in which they came.
    order: Vec<Step>,
    known: HashMap<String, Known>,
    /// The ids of the messages that count now.
    now: Vec<String>,
    /// Where the conversation was replaced last.
    base: Option<EntryId>,
    findings: Vec<Diagnostic>,
    told: usize,
}

#[derive(Clone, Debug)]
enum Step {
    Message(String),
    /// The conversation was replaced by the messages on this line.
    Replaced(EntryId, Option<String>, Option<EntryId>, Span),
}

impl Talk {
    fn note(&mut self, kind: DiagnosticKind, span: Span, message: String) {
        if self.findings.len() < MOST {
            self.findings.push(Diagnostic::new(kind, message).at(span.number, span.offset));
        }
    }

    fn line(&mut self, span: Span, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let object = match Object::parse(text) {
            Ok(object) => object,
            Err(error) => {
                self.note(DiagnosticKind::BadJson, span, format!("line: {error}"));
                return;
            }
        };
        if let Some(id) = object.text("$rewindTo") {
            let id = id.to_string_escaped().into_owned();
            match self.known.get(&id).and_then(|known| known.at) {
                Some(at) => self.cut(at),
                None => {
                    self.cut(0);
                    self.base = None;
                }
            }
        } else if let Some(id) = object.text("id").filter(|id| !id.is_empty()) {
            self.message(id.to_string_escaped().into_owned(), span);
        } else if let Some(set) = object.get("$set") {
            let Ok(set) = Object::parse(set) else { return };
            self.set(&set);
            if let Some(messages) = set.get("messages").and_then(elements) {
                let ids = messages.iter().filter_map(|raw| {
                    let id = Object::parse(raw.get()).ok()?.text("id")?;
                    Some(id.to_string_escaped().into_owned())
                });
                let ids: Vec<String> = ids.collect();
                if !ids.is_empty() && ids != self.now {
                    self.replaced(span);
                }
            }
        } else if object.text("sessionId").is_some() {
            self.set(&object);
        } else {
            self.note(DiagnosticKind::UnknownType, span, "line: it is none that is known".into());
        }
    }

    fn set(&mut self, object: &Object<'_>) {
        for (key, value) in object.iter().filter(|(key, _)| **key != "messages") {
            self.meta.insert(key.to_string_lossy().into_owned(), value.get().to_owned());
        }
    }

    fn leaf(&self) -> Option<EntryId> {
        match self.now.last() {
            Some(id) => self.known.get(id).map(|known| entry_id(id, known)),
            None => self.base.clone(),
        }
    }

    /// From here on the messages do not count.
    fn cut(&mut self, at: usize) {
        for id in self.now.drain(at..) {
            if let Some(known) = self.known.get_mut(&id) {
                known.at = None;
            }
        }
    }

    fn message(&mut self, id: String, span: Span) {
        if let Some(known) = self.known.get_mut(&id) {
            known.span = span;
            known.times = known.times.saturating_add(1);
            if known.at.is_none() {
                // It was taken back, and is there again.
                known.at = Some(self.now.len());
                self.now.push(id);
            }
            return;
        }
        let parent = self.now.last().cloned();
        let (base, at) = (self.base.clone(), Some(self.now.len()));
        self.known.insert(id.clone(), Known { span, times: 1, parent: base, at });
        self.order.push(Step::Message(id.clone()));
        if let (Some(parent), Some(known)) = (parent, self.known.get_mut(&id)) {
            // By its name for now: how often it will have been written is not known yet.
            known.parent = Some(EntryId::from(format!("\n{parent}")));
        }
        self.now.push(id);
    }

    fn replaced(&mut self, span: Span) {
        let id = EntryId::from(format!("set-{}", span.number));
        let parent = self.now.last().cloned();
        self.order.push(Step::Replaced(id.clone(), parent, self.base.clone(), span));
        self.cut(0);
        self.base = Some(id);
    }

    /// Reads a session of one document.
    fn document(&mut self, path: &Path, text: &str, bytes: &[u8]) -> Result<()> {
        let damaged = |problem: String| Error::Damaged { path: path.to_path_buf(), problem };
        if bytes.len() != text.len() {
            return Err(damaged("it is not UTF-8".into()));
        }
        let object = Object::parse(text).map_err(|error| damaged(error.to_string()))?;
        self.set(&object);
        let messages = object.get("messages").and_then(elements).unwrap_or_default();
        for (raw, number) in messages.into_iter().zip(1..) {
            let raw = raw.get();
            // Where the message stands in the text.
            let offset = (raw.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize) as u64;
            let span = Span { number, offset, len: raw.len() as u64 };
            match Object::parse(raw).ok().and_then(|object| object.text("id")) {
                Some(id) => self.message(id.to_string_escaped().into_owned(), span),
                None => self.note(
                    DiagnosticKind::WrongShape,
                    span,
                    format!("message {number} has no id"),
                ),
            }
        }
        Ok(())
    }

    fn about(&self, disk: &dyn Disk, path: &Path) -> About {
        let text = |key: &str| self.meta.get(key).and_then(|raw| text_of(raw));
        let id = text("sessionId").unwrap_or_default();
        let is_agent = text("kind").is_some_and(|kind| kind == "subagent");
        let folder = path.parent();
        let mut own = Out::default();
        let mut keys: Vec<&String> = self.meta.keys().collect();
        keys.sort();
        for key in keys {
            if !["sessionId", "startTime", "summary", "lastUpdated"].contains(&key.as_str()) {
                own.raw(key, &self.meta[key]);
            }
        }
        let mut metadata = Out::default();
        metadata.raw(NAME, &own.finish());
        let parent = folder.filter(|_| is_agent).and_then(Path::file_name);
        About {
            id: SessionId::new(&id.to_string_lossy()).ok(),
            source_id: id,
            info: SessionInfo {
                title: text("summary").filter(|text| !text.is_empty()),
                cwd: root_of(disk, path),
                created_at: self.meta.get("startTime").and_then(|raw| crate::time::parse_pi(raw)),
                parent_session_id: parent.map(|name| name.to_string_lossy().as_ref().into()),
                agent_type: is_agent.then(|| "subagent".into()),
                metadata: Some(metadata.into_json()),
                ..SessionInfo::default()
            },
            dialect: NAME,
            leaf: self.leaf(),
            ..About::default()
        }
    }
}

/// The folder of the project, which a file beside its chats names.
fn root_of(disk: &dyn Disk, path: &Path) -> Option<Text> {
    let chats = path.ancestors().find(|folder| folder.file_name().is_some_and(|n| n == "chats"))?;
    let marker = chats.parent()?.join(".project_root");
    let meta = disk.meta(&marker).ok().filter(|meta| meta.kind == NodeKind::File)?;
    let file = disk.open_read(&marker).ok()?;
    let bytes = read_from(file.as_ref(), 0, meta.len.min(START)).ok()?;
    let root = String::from_utf8(bytes).ok()?;
    Some(root.trim()).filter(|root| !root.is_empty()).map(Into::into)
}

fn entry_id(id: &str, known: &Known) -> EntryId {
    match known.times {
        1 => EntryId::from(id),
        times => EntryId::from(format!("{id}.{times}")),
    }
}

/// A session that is read message by message.
struct GeminiSession {
    file: Arc<dyn DiskFile>,
    path: PathBuf,
    about: About,
    talk: Talk,
}

#[async_trait]
impl ForeignSession for GeminiSession {
    fn about(&self) -> &About {
        &self.about
    }

    async fn next(&mut self) -> Result<Vec<Entry>> {
        // Some steps give no entry, and no entries mean the end.
        while let Some(step) = self.talk.order.get(self.talk.told).cloned() {
            self.talk.told += 1;
            let entries = match step {
                Step::Message(id) => self.message(&id)?,
                Step::Replaced(id, parent, base, span) => {
                    vec![self.replacement(id, parent.as_deref(), base, span)?]
                }
            };
            if !entries.is_empty() {
                return Ok(entries);
            }
        }
        Ok(Vec::new())
    }

    async fn findings(&mut self) -> Result<Vec<Diagnostic>> {
        Ok(std::mem::take(&mut self.talk.findings))
    }
}

impl GeminiSession {
    fn text(&self, span: Span) -> Result<String> {
        let bytes = again(self.file.as_ref(), span);
        let bytes = bytes.map_err(|error| Error::io(&self.path, "read", error))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The last entry of a message: itself, or the result of its last call.
    fn last_of(&self, id: &str) -> Option<EntryId> {
        self.talk.known.get(id).map(|known| entry_id(id, known))
    }

    fn message(&mut self, id: &str) -> Result<Vec<Entry>> {
        let Some(known) = self.talk.known.get(id) else { return Ok(Vec::new()) };
        let own = entry_id(id, known);
        let parent = match &known.parent {
            Some(parent) => match parent.as_str().strip_prefix('\n') {
                Some(name) => self.last_of(name),
                None => Some(parent.clone()),
            },
            None => None,
        };
        let text = self.text(known.span)?;
        let Ok(object) = Object::parse(&text) else { return Ok(Vec::new()) };
        let record = read(&object, &text);
        let entry = |id: EntryId, parent: Option<EntryId>, body: Body| Entry {
            id,
            parent_id: parent,
            timestamp: record.at,
            lane: Lane::main(),
            more: 0,
            body,
            extra: Vec::new(),
        };
        // Results stand before the id of the message: what follows hangs from that.
        let count = record.results.len();
        if count == 0 {
            return Ok(vec![entry(own, parent, record.body)]);
        }
        let call = EntryId::from(format!("{own}.call"));
        let mut entries = vec![entry(call.clone(), parent, record.body)];
        let mut last = call;
        for ((call, result), nth) in record.results.into_iter().zip(1..) {
            let id =
                if nth == count { own.clone() } else { EntryId::from(format!("{own}/{call}")) };
            entries.push(entry(id.clone(), Some(last), Body::message(result)));
            last = id;
        }
        Ok(entries)
    }

    fn replacement(
        &self,
        id: EntryId,
        parent: Option<&str>,
        base: Option<EntryId>,
        span: Span,
    ) -> Result<Entry> {
        let text = self.text(span)?;
        let line = Object::parse(&text).ok();
        let set = line.as_ref().and_then(|line| Object::parse(line.get("$set")?).ok());
        let messages = set.as_ref().and_then(|set| elements(set.get("messages")?));
        let mut tail: VecDeque<Message> = VecDeque::new();
        for raw in messages.unwrap_or_default() {
            let Ok(object) = Object::parse(raw.get()) else { continue };
            let record = read(&object, raw.get());
            if let Body::Message(body) = record.body {
                tail.push_back(body.message);
            }
            tail.extend(record.results.into_iter().map(|(_, result)| result));
        }
        let updated = set.as_ref().and_then(|set| set.get("lastUpdated"));
        Ok(Entry {
            id,
            parent_id: parent.and_then(|parent| self.last_of(parent)).or(base),
            timestamp: updated.and_then(crate::time::parse_pi),
            lane: Lane::main(),
            more: 0,
            body: Compaction { retained_tail: Some(tail.into()), ..Compaction::default() }.into(),
            extra: Vec::new(),
        })
    }
}
