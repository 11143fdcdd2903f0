//! Requests to the APIs of models, as files: `{"messages": [...]}` of OpenAI's chat completions
//! and of Anthropic's messages, `{"input": [...]}` of OpenAI's responses, or the bare list.
//!
//! Messages have no ids and no times. An entry's id is a hash of its message, and which of several
//! equal ones it is. What a native message has no field for stands under `metadata.openai` or
//! `metadata.claudeCode`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use forkwood::storage::disk::{Disk, Meta, NodeKind, read_from};
use forkwood::{Entry, EntryId, Error, Lane, Message, Result, Role, SessionInfo, Text};

use crate::import::{About, Environment, ForeignSession, Identity, Tool, Unit, Whole, line_id};

mod anthropic;
mod chat;
mod responses;
mod shape;

pub(crate) use shape::Api;
use shape::{Shape, shape};

/// How much of a file is looked at first.
const START: u64 = 64 * 1024;
/// The longest file that is read.
const MOST: u64 = 256 * 1024 * 1024;

/// Requests to an API.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Requests(pub(crate) Api);

#[async_trait]
impl Tool for Requests {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn places(&self, _environment: &Environment<'_>) -> Vec<PathBuf> {
        Vec::new()
    }

    fn claim(&self, disk: &dyn Disk, path: &Path, meta: &Meta) -> Option<Unit> {
        let candidate = meta.kind == NodeKind::File
            && meta.len <= MOST
            && path.extension().is_some_and(|extension| extension == "json");
        if !candidate {
            return None;
        }
        let file = disk.open_read(path).ok()?;
        let start = read_from(file.as_ref(), 0, meta.len.min(START)).ok()?;
        if !looks_like_one(&start) {
            return None;
        }
        let text = String::from_utf8(read_from(file.as_ref(), 0, meta.len).ok()?).ok()?;
        (shape(&text)?.api == self.0).then(|| Unit::file(path))
    }

    async fn open(
        &self,
        disk: &Arc<dyn Disk>,
        unit: &Unit,
    ) -> Result<Vec<Box<dyn ForeignSession>>> {
        let failed = |error| Error::io(&unit.path, "read", error);
        let file = disk.open_read(&unit.path).map_err(failed)?;
        let len = file.meta().map_err(failed)?.len;
        if len > MOST {
            return Err(Error::unsupported(format!("{}: too long", unit.path.display())));
        }
        let bytes = read_from(file.as_ref(), 0, len).map_err(failed)?;
        let text = String::from_utf8_lossy(&bytes);
        let shape = shape(&text).filter(|shape| shape.api == self.0).ok_or_else(|| {
            let path = unit.path.display();
            Error::unsupported(format!("{path}: no request of {}", self.0.name()))
        })?;
        Ok(vec![Box::new(session(&unit.path, &shape))])
    }
}

fn looks_like_one(start: &[u8]) -> bool {
    let has = |key: &[u8]| memchr::memmem::find(start, key).is_some();
    matches!(start.trim_ascii_start().first(), Some(b'{' | b'['))
        && (has(b"\"role\"") || has(b"\"function_call"))
}

fn session(path: &Path, shape: &Shape<'_>) -> Whole {
    let mut seen: HashMap<EntryId, u32> = HashMap::new();
    let mut entries: Vec<Entry> = Vec::new();
    let mut push = |raw: &str, part: usize, message: Message| {
        let line = format!("{part} {raw}");
        let first = line_id(line.as_bytes(), 0);
        let nth = seen.entry(first).or_insert(0);
        let id = line_id(line.as_bytes(), *nth);
        *nth += 1;
        entries.push(Entry {
            parent_id: entries.last().map(|entry: &Entry| entry.id.clone()),
            id,
            timestamp: None,
            lane: Lane::main(),
            more: 0,
            body: message.into(),
            extra: Vec::new(),
        });
    };
    for (at, message) in system(shape).into_iter().enumerate() {
        push(shape.system.unwrap_or_default(), at, message);
    }
    for raw in &shape.list {
        let messages = match shape.api {
            Api::Chat => chat::decode(raw),
            Api::Responses => vec![responses::decode(raw)],
            Api::Anthropic => anthropic::decode(raw),
        };
        for (part, message) in messages.into_iter().enumerate() {
            push(raw, part, message);
        }
    }
    if let Some(model) = &shape.model {
        let id = line_id(model.to_json().as_bytes(), 0);
        // Who answers next.
        entries.push(Entry {
            parent_id: entries.last().map(|entry| entry.id.clone()),
            id,
            timestamp: None,
            lane: Lane::main(),
            more: 0,
            body: forkwood::Body::ModelChange { model: model.clone(), provider: None },
            extra: Vec::new(),
        });
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let about = About {
        source_id: Text::from(stem.as_ref()),
        info: SessionInfo::default(),
        dialect: shape.api.name(),
        leaf: entries.last().map(|entry| entry.id.clone()),
        identity: Identity::Lines(Default::default()),
        ..About::default()
    };
    Whole { about, entries: entries.into(), findings: Vec::new() }
}

/// The instructions that stand beside the messages, each block of them a message.
fn system(shape: &Shape<'_>) -> Vec<Message> {
    let Some(raw) = shape.system else { return Vec::new() };
    let message = |text: Text| Message::new(Role::System, forkwood::Content::Text(text));
    if let Some(text) = forkwood::core::json::text_of(raw) {
        return vec![message(text)];
    }
    let blocks = forkwood::core::json::elements(raw).unwrap_or_default();
    let text = |raw: &str| forkwood::core::json::Object::parse(raw).ok()?.text("text");
    blocks.iter().filter_map(|block| text(block.get())).map(message).collect()
}
