//! The transaction log of Pi's agent harness (version 4). Only ever read.
//!
//! A line is one write or an array of writes. An `entry` is an entry of the tree and moves
//! nothing; where a branch stands is the value `pi.branch.tip`, each branch a lane here. Names
//! and labels are values too. Every other write is shown as a `custom` entry beside the path.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use forkwood_core::entry::SessionInfo;
use forkwood_core::json::{self, JsonKind, Object};
use forkwood_core::{
    Body, Diagnostic, DiagnosticKind, Entry, EntryId, EntryKind, FoldRules, Json, Lane, Text,
    Timestamp,
};
use forkwood_storage::jsonl::{
    Decoded, Dialect, Header, LineContext, LineFault, LostHeader, Moves, ParentName, Policy,
    Recognised, RecordHead, as_text,
};
use forkwood_storage::{FloorRule, Result, StorageError};

use super::decode::{self, Given, kind_of};
use super::dialect::POLICY;
use super::migrate::short_hash;
use super::{Flavour, HARNESS_RULES, heads, text};
use crate::fields::{id_of, parse_object};
use crate::time::parse_pi;

const READ_ONLY: &str = "it is a transaction log of Pi's agent harness; fork it into a new \
                         session to go on from here";

/// A file whose first line is the header of such a log.
pub(crate) fn recognise(first: &Object<'_>, number: u64) -> Option<Recognised> {
    let version: f64 = first.get("v")?.parse().ok()?;
    if !is_header(first) || version < 4.0 {
        return None;
    }
    let mut header = Header {
        session_id: first.text("id").unwrap_or_default(),
        info: SessionInfo {
            cwd: first.text("cwd"),
            created_at: first.get("createdAt").and_then(parse_pi),
            parent_session_id: first.text("parentSessionId"),
            ..SessionInfo::default()
        },
        forked_from: first
            .text("parentSessionId")
            .or_else(|| first.text("legacyParentSessionPath")),
        floor: FloorRule::None,
        read_only: Some(READ_ONLY.into()),
        ..Header::default()
    };
    if version > 4.0 {
        header.newer_version = Some(version.to_string());
        header.diagnostics.push(
            Diagnostic::new(
                DiagnosticKind::FutureVersion,
                format!("version {version} is newer than 4; what is not known is left aside"),
            )
            .at(number, 0),
        );
    }
    Some(Recognised { header, dialect: Arc::new(PiLog) })
}

fn is_header(object: &Object<'_>) -> bool {
    object.text("kind").is_some_and(|kind| kind == "header")
}

/// How to read such a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PiLog;

impl Dialect for PiLog {
    fn name(&self) -> &'static str {
        "pi-harness-v4"
    }

    fn rules(&self) -> FoldRules {
        HARNESS_RULES
    }

    fn policy(&self) -> Policy {
        POLICY
    }

    fn said_at(&self, entry: &Entry) -> Option<Timestamp> {
        super::message::said_at(entry).or(entry.timestamp)
    }

    fn heads<'l>(
        &self,
        line: &'l [u8],
        context: &LineContext<'_>,
        quick: bool,
        out: &mut Vec<RecordHead<'l>>,
    ) -> std::result::Result<(), LineFault> {
        if quick {
            return Err(LineFault::NeedWhole);
        }
        let text = as_text(line)?;
        if json::kind_of(text) != JsonKind::Array {
            out.push(head(text, 0..text.len(), context)?);
            return Ok(());
        }
        let writes = json::elements(text)
            .ok_or_else(|| LineFault::NotJson("is no array of writes".into()))?;
        let before = out.len();
        for write in writes {
            // An element is a part of the line it was read from.
            let at = (write.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
            let span = at..at + write.get().len();
            match head(write.get(), span, context) {
                Ok(head) => out.push(head),
                Err(fault) => {
                    out.truncate(before);
                    return Err(fault);
                }
            }
        }
        Ok(())
    }

    fn decode(
        &self,
        record: &[u8],
        context: &LineContext<'_>,
    ) -> std::result::Result<Decoded, LineFault> {
        let text = as_text(record)?;
        let object = parse_object(text)?;
        match Write::of(&object)? {
            Write::Entry => decode::entry(text, Flavour::Log, Given::default()),
            write => Ok(beside(&write, &object, text, context)),
        }
    }

    fn encode(&self, _entry: &Entry) -> Result<Option<String>> {
        Err(StorageError::unsupported(READ_ONLY))
    }

    fn header_line(&self, _lost: &LostHeader<'_>) -> Option<String> {
        None
    }
}

/// What one write does.
enum Write {
    Header,
    Entry,
    Tip { lane: String, target: Option<String> },
    Name(Option<Text>),
    Label { target: String, label: Option<Text> },
    Other(Text),
}

impl Write {
    fn of(object: &Object<'_>) -> std::result::Result<Write, LineFault> {
        let kind = object
            .text("kind")
            .ok_or_else(|| LineFault::WrongShape("has no string kind".into()))?;
        let namespace = object.text("namespace").unwrap_or_default();
        let set = object.text("op").is_some_and(|op| op == "set");
        let value = || object.text("value").filter(|_| set);
        let key = || id_of(object, "key");
        Ok(match (kind.as_str(), namespace.as_str(), key()) {
            (Some("header"), ..) => Write::Header,
            (Some("entry"), ..) => Write::Entry,
            (Some("value"), Some("pi.branch.tip"), Some(branch)) => Write::Tip {
                lane: lane_name(&branch),
                target: id_of(object, "value").filter(|_| set),
            },
            (Some("value"), Some("pi.session.name"), _) => Write::Name(value()),
            (Some("value"), Some("pi.entry.label"), Some(target)) => {
                Write::Label { target, label: value().filter(|label| !label.is_empty()) }
            }
            (_, Some(""), _) => Write::Other(Text::concat([&"pi.".into(), &kind])),
            _ => Write::Other(namespace),
        })
    }

    fn kind(&self) -> EntryKind {
        match self {
            Write::Tip { .. } => EntryKind::Leaf,
            Write::Name(_) => EntryKind::SessionInfo,
            Write::Label { .. } => EntryKind::Label,
            _ => EntryKind::Custom,
        }
    }
}

/// The id of a write that has none: its sequence number, or where it stands.
fn write_id(object: &Object<'_>, at: usize, context: &LineContext<'_>) -> String {
    match object.get("seq").and_then(crate::fields::whole_number) {
        Some(seq) => format!("value-{seq}"),
        None => format!("value-{}.{at}", context.line),
    }
}

/// The name of a branch as a lane. One that cannot be a lane keeps what can stand, and a hash.
fn lane_name(branch: &str) -> String {
    if Lane::new(branch).is_ok() {
        return branch.to_owned();
    }
    let plain = |c: char| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '.' | '_') => c,
        _ => '-',
    };
    let stem: String = branch.chars().take(48).map(plain).collect();
    let stem = stem.trim_start_matches(['.', '_', '-']);
    let stem = if stem.is_empty() { "branch" } else { stem };
    format!("{stem}-{}", short_hash(&[branch]))
}

fn head<'l>(
    text: &'l str,
    span: Range<usize>,
    context: &LineContext<'_>,
) -> std::result::Result<RecordHead<'l>, LineFault> {
    let object = parse_object(text)?;
    let write = Write::of(&object)?;
    let at = span.start;
    let blank = RecordHead {
        header: false,
        span,
        id: Cow::Owned(write_id(&object, at, context)),
        parent: ParentName::Root,
        kind: write.kind(),
        role: None,
        timestamp: object.get("timestamp").and_then(parse_pi),
        lane: None,
        more: 0,
        sidecar: true,
        moves: Moves::Nothing,
    };
    Ok(match write {
        Write::Header => RecordHead { span: blank.span, ..RecordHead::header(text.len()) },
        Write::Entry => {
            let tag = object.text("type").unwrap_or_default();
            let kind = kind_of(tag.as_str().unwrap_or_default());
            RecordHead {
                id: Cow::Owned(
                    id_of(&object, "id")
                        .ok_or_else(|| LineFault::WrongShape("has no string id".into()))?,
                ),
                parent: heads::parent_of(&object),
                kind,
                role: heads::role_of(&object, kind),
                sidecar: false,
                ..blank
            }
        }
        Write::Tip { lane, target } => RecordHead {
            lane: (lane != "main").then_some(Cow::Owned(lane)),
            moves: Moves::To(target.map(Cow::Owned)),
            ..blank
        },
        Write::Label { target, .. } => {
            RecordHead { parent: ParentName::Named(Cow::Owned(target)), ..blank }
        }
        Write::Name(_) | Write::Other(_) => blank,
    })
}

/// A write that is no entry, shown as one that stands beside the path.
fn beside(write: &Write, object: &Object<'_>, text: &str, context: &LineContext<'_>) -> Decoded {
    let mut parent_id = None;
    let mut lane = Lane::main();
    let body = match write {
        Write::Tip { lane: name, target } => {
            lane = Lane::new(name).unwrap_or_default();
            Body::Leaf { leaf_id: target.as_deref().map(EntryId::from) }
        }
        Write::Name(name) => SessionInfo {
            title: Some(name.as_ref().map(text::js_trim).unwrap_or_default()),
            ..SessionInfo::default()
        }
        .into(),
        Write::Label { target, label } => {
            parent_id = Some(EntryId::from(target.as_str()));
            Body::Label { label: label.clone(), target_id: parent_id.clone() }
        }
        Write::Header | Write::Entry => {
            Body::Custom { namespace: "pi".into(), data: record(text), aside: true }
        }
        Write::Other(namespace) => {
            Body::Custom { namespace: namespace.clone(), data: record(text), aside: true }
        }
    };
    let entry = Entry {
        id: EntryId::from(write_id(object, 0, context)),
        parent_id,
        timestamp: object.get("timestamp").and_then(parse_pi),
        lane,
        more: 0,
        body,
        extra: Vec::new(),
    };
    Decoded { entry, notes: Vec::new() }
}

fn record(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|_| Json::empty_object())
}

#[cfg(test)]
mod tests;
