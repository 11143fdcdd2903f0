//! PicoClaw as a source of the import.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use forkwood::conversation::{agent_of, native};
use forkwood::core::json::{Object, ObjectWriter};
use forkwood::storage::disk::{Disk, Meta as DiskMeta, NodeKind, read_from};
use forkwood::{Body, Entry, EntryId, Json, Lane, MessageBody, Result, SessionInfo};

use super::lines::{Line, LineKind};
use super::message::decode;
use super::read::{Conversation, base_of, read, with_ending};
use super::{legacy, time};
use crate::fields::Out;
use crate::import::{
    About, Cut, Environment, ForeignSession, Identity, Tool, Unit, Whole, line_id,
};

/// How much of a file is looked at to tell whose it is.
const START: u64 = 64 * 1024;
/// The longest older file that is looked at as a whole.
const LEGACY_MAX: u64 = 256 * 1024 * 1024;
/// The namespace of entries for lines that show nothing.
const THOUGHT: &str = "picoclaw.thought";

/// PicoClaw.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PicoClaw;

#[async_trait]
impl Tool for PicoClaw {
    fn name(&self) -> &'static str {
        super::NAME
    }

    fn places(&self, environment: &Environment<'_>) -> Vec<PathBuf> {
        let set = |name| (environment.variable)(name).filter(|value| !value.trim().is_empty());
        // Its workspaces, and with them the sessions of named agents, lie in its home.
        let home = set("PICOCLAW_HOME")
            .map(PathBuf::from)
            .or_else(|| environment.home.as_ref().map(|home| home.join(".picoclaw")));
        home.into_iter().collect()
    }

    fn claim(&self, disk: &dyn Disk, path: &Path, meta: &DiskMeta) -> Option<Unit> {
        if meta.kind != NodeKind::File {
            return None;
        }
        let (base, older) = base_of(path)?;
        let (jsonl, meta_file) = (with_ending(&base, ".jsonl"), with_ending(&base, ".meta.json"));
        let start = || {
            let file = disk.open_read(path).ok()?;
            read_from(file.as_ref(), 0, meta.len.min(START)).ok()
        };
        if older {
            // What PicoClaw would migrate over newer lines is told of with these.
            let beside = disk.meta(&jsonl).is_ok();
            return (!beside && meta.len <= LEGACY_MAX && looks_older(&start()?) && {
                let whole = super::pending::read_file(disk, path).ok()??;
                is_older(&whole)
            })
            .then(|| Unit::file(path));
        }
        if path == meta_file {
            // The lines stand for both.
            let alone = disk.meta(&jsonl).is_err();
            return (alone && is_meta(&start()?))
                .then(|| Unit { path: path.to_path_buf(), files: vec![jsonl, meta_file] });
        }
        let with_meta = disk.open_read(&meta_file).ok().and_then(|file| {
            let len = file.meta().ok()?.len;
            read_from(file.as_ref(), 0, len.min(START)).ok()
        });
        let start = start()?;
        // Beside a meta file that is not plainly another's, one line tells; alone, its time too.
        let ours = match with_meta {
            Some(bytes) => is_meta(&bytes) || has_message(&start, false),
            None => has_message(&start, true),
        };
        ours.then(|| Unit { path: path.to_path_buf(), files: vec![jsonl, meta_file] })
    }

    async fn open(
        &self,
        disk: &Arc<dyn Disk>,
        unit: &Unit,
    ) -> Result<Vec<Box<dyn ForeignSession>>> {
        let conversation = read(disk.as_ref(), &unit.path)?;
        Ok(vec![Box::new(session(conversation))])
    }
}

fn looks_older(start: &[u8]) -> bool {
    start.trim_ascii_start().starts_with(b"{")
        && memchr::memmem::find(start, b"\"messages\"").is_some()
}

fn is_older(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Ok(object) = Object::parse(&text) else { return false };
    (object.get("key").is_some() || object.get("created").is_some()) && legacy::parse(&text).is_ok()
}

fn is_meta(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    match Object::parse(&text) {
        Ok(object) => object.get("key").is_some() && object.get("skip").is_some(),
        Err(_) => false,
    }
}

/// Whether one of the lines is a message of PicoClaw's and of nobody else's.
fn has_message(start: &[u8], timed: bool) -> bool {
    let text = String::from_utf8_lossy(start);
    text.lines().take(64).any(|line| {
        let Ok(object) = Object::parse(line) else { return false };
        let other = ["type", "id", "uuid", "parentId", "timestamp"];
        other.iter().all(|key| object.get(key).is_none())
            && object.get("content").is_some()
            && (!timed || object.get("created_at").is_some())
            && decode(line).is_ok()
    })
}

/// A conversation as a session of the import.
pub(super) fn session(conversation: Conversation) -> Whole {
    let hidden = conversation.meta.hidden();
    let mut seen: std::collections::HashMap<EntryId, u32> = std::collections::HashMap::new();
    let mut entries: Vec<Entry> = Vec::new();
    let mut cut = 0;
    // A message without a time was said after the one before it.
    let mut last = Some(conversation.meta.created_at.as_str()).and_then(time_of);
    for line in &conversation.lines {
        let Some(body) = body_of(&conversation, line) else { continue };
        let first = line_id(conversation.line_bytes(line), 0);
        let nth = seen.entry(first).or_insert(0);
        let id = line_id(conversation.line_bytes(line), *nth);
        *nth += 1;
        last = at_of(line).or(last);
        cut += usize::from(line.number <= hidden);
        entries.push(Entry {
            parent_id: entries.last().map(|entry| entry.id.clone()),
            id,
            timestamp: last,
            lane: Lane::main(),
            more: 0,
            body,
            extra: Vec::new(),
        });
    }
    let about = about(&conversation, &entries, cut);
    Whole { about, entries: entries.into(), findings: conversation.findings }
}

fn time_of(text: &str) -> Option<forkwood::Timestamp> {
    if time::is_zero(text) { None } else { time::parse(text) }
}

fn at_of(line: &Line) -> Option<forkwood::Timestamp> {
    match &line.kind {
        LineKind::Message(decoded) | LineKind::Thought(decoded) => decoded.message.created_at,
        LineKind::Damaged(_) => None,
    }
}

fn body_of(conversation: &Conversation, line: &Line) -> Option<Body> {
    match &line.kind {
        LineKind::Message(decoded) => {
            let message = decoded.message.clone();
            Some(Body::Message(MessageBody { message: message.message, foreign: message.foreign }))
        }
        LineKind::Thought(_) => {
            let mut data = Out::default();
            let text = String::from_utf8_lossy(conversation.line_bytes(line));
            data.raw("line", &text);
            Some(Body::Custom { namespace: THOUGHT.into(), data: data.into_json(), aside: false })
        }
        LineKind::Damaged(_) => None,
    }
}

fn about(conversation: &Conversation, entries: &[Entry], cut: usize) -> About {
    let meta = &conversation.meta;
    let created = time_of(&meta.created_at).or_else(|| entries.first()?.timestamp);
    let scope = meta.scope();
    let agent = agent_of(scope.as_ref(), &meta.key, &meta.aliases);
    let strings = |texts: &[String]| {
        let texts = texts.iter().map(|text| forkwood::Text::from(text.as_str()).to_json());
        forkwood::core::json::join_array(texts)
    };
    let mut own = ObjectWriter::new();
    own.str("key", &meta.key)
        .opt_json("scope", meta.scope.as_ref())
        .raw("aliases", &strings(&meta.aliases))
        .str("createdAt", &meta.created_at)
        .str("updatedAt", &meta.updated_at);
    for (key, value) in &meta.extra {
        own.text_key(key, value.get());
    }
    // What makes the session the conversation of its key here too.
    let mut record = ObjectWriter::new();
    record.str("key", &meta.key);
    if let Some(agent) = &agent {
        record.str("agent", agent);
    }
    if let Some(scope) = &scope {
        record.raw("scope", &scope.to_json());
    }
    record.raw("aliases", &strings(&meta.aliases));
    let mut metadata = ObjectWriter::new();
    metadata.raw(super::NAME, &own.finish());
    About {
        source_id: meta.key.as_str().into(),
        id: native::session_id(&meta.key).ok(),
        info: SessionInfo {
            created_at: created,
            metadata: Json::parse(&metadata.finish()).ok(),
            ..SessionInfo::default()
        },
        dialect: conversation.dialect,
        leaf: entries.last().map(|entry| entry.id.clone()),
        identity: Identity::Lines(Cut { summary: meta.summary.as_str().into(), hidden: cut }),
        of_id: Json::parse(&record.finish()).ok().map(|json| ("conversation".into(), json)),
        ..About::default()
    }
}
