//! The native format, version 1. See `docs/format.md`.

use std::borrow::Cow;
use std::sync::LazyLock;

use forkwood_core::entry::codec::{self, Reader};
use forkwood_core::json::Object;
use forkwood_core::{
    Body, Diagnostic, DiagnosticKind, Entry, EntryId, EntryKind, FoldRules, Json, Lane, Role, Text,
    Timestamp,
};
use memchr::memmem::Finder;

use super::dialect::{
    Decoded, FileStart, Format, Header, IdStyle, LineContext, LineFault, LostHeader, Moves,
    ParentName, Policy, Recognised, RecordHead,
};
use super::quick::{Quick, QuickParent};
use crate::Result;

/// The version of the native format that this program writes.
pub const VERSION: u64 = 1;

/// The name of the native dialect.
pub const NAME: &str = "native";

static START: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"{\"id\":"));
static LANE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"lane\""));
static MORE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"more\""));

/// The native format.
#[derive(Clone, Copy, Debug, Default)]
pub struct Native;

impl Format for Native {
    fn name(&self) -> &'static str {
        NAME
    }

    fn recognise(&self, start: &FileStart<'_>) -> Option<Recognised> {
        let (number, first) = start.lines.first()?;
        let text = String::from_utf8_lossy(first);
        let mut reader = Reader::lossless();
        let info = match codec::decode(&text, &mut reader).map(|entry| entry.body) {
            Ok(forkwood_core::Body::SessionInfo(info))
                if info.version.is_some() && info.session_id.is_some() =>
            {
                info
            }
            // A header of another kind: my-pi-agent's first line is one.
            Ok(forkwood_core::Body::SessionInfo(_)) => return None,
            _ => return headless(start, *number),
        };
        let version = info.version.unwrap_or(VERSION);
        let mut header = Header {
            session_id: info.session_id.clone().unwrap_or_default(),
            forked_from: info.forked_from.as_ref().map(|from| from.session_id.clone()),
            info,
            ..Header::default()
        };
        if version > VERSION {
            header.newer_version = Some(version.to_string());
            header.diagnostics.push(
                Diagnostic::new(
                    DiagnosticKind::FutureVersion,
                    format!(
                        "version {version} is newer than {VERSION}; the file is read-only here"
                    ),
                )
                .at(*number, 0),
            );
        }
        Some(Recognised { header, dialect: std::sync::Arc::new(Native) })
    }
}

/// A native file whose first line is damaged: the lines after it are plainly native entries.
fn headless(start: &FileStart<'_>, number: u64) -> Option<Recognised> {
    let native = |line: &[u8]| {
        Quick::parse(line).is_some_and(|quick| {
            EntryKind::from_tag(quick.kind) != EntryKind::Unknown
                && quick.timestamp.is_some_and(|t| !t.starts_with('"'))
                && line.starts_with(b"{\"id\":")
                // A UUID of version 7; my-pi-agent's are of version 4.
                && quick.id.len() == 32
                && quick.id.as_bytes().get(12) == Some(&b'7')
        })
    };
    let rest = start.lines.iter().filter(|(_, line)| native(line)).count();
    let fits = rest > 0 && rest + 1 >= start.lines.len();
    fits.then(|| Recognised {
        header: Header {
            read_only: Some(
                "its header line is damaged; `forkwood check --repair` writes a new one".into(),
            ),
            diagnostics: vec![
                Diagnostic::new(
                    DiagnosticKind::NoHeader,
                    "the header line cannot be read; the entries after it can",
                )
                .at(number, 0),
            ],
            ..Header::default()
        },
        dialect: std::sync::Arc::new(Native),
    })
}

impl super::dialect::Dialect for Native {
    fn name(&self) -> &'static str {
        NAME
    }

    fn rules(&self) -> FoldRules {
        FoldRules::NATIVE
    }

    fn policy(&self) -> Policy {
        Policy {
            cut_torn_tail: true,
            batches: true,
            lanes: true,
            pointer_lines: true,
            ids: IdStyle::Uuid,
            one_root: true,
            bare_header: true,
        }
    }

    fn heads<'l>(
        &self,
        line: &'l [u8],
        context: &LineContext<'_>,
        quick: bool,
        out: &mut Vec<RecordHead<'l>>,
    ) -> std::result::Result<(), LineFault> {
        if quick
            && let Some(found) = Quick::parse(line)
            && let Some(head) = quick_head(line, &found, context.ordinal == 0)
        {
            out.push(head);
            return Ok(());
        }
        if quick {
            return Err(LineFault::NeedWhole);
        }
        let text = as_text(line)?;
        let head = whole_head(text, context.ordinal == 0)?;
        out.push(head);
        Ok(())
    }

    fn decode(
        &self,
        record: &[u8],
        _context: &LineContext<'_>,
    ) -> std::result::Result<Decoded, LineFault> {
        decode_native(record)
    }

    fn encode(&self, entry: &Entry) -> Result<Option<String>> {
        Ok(Some(codec::encode(entry)))
    }

    fn header_line(&self, lost: &LostHeader<'_>) -> Option<String> {
        let info = forkwood_core::entry::SessionInfo {
            session_id: Some(lost.session_id.into()),
            version: Some(VERSION),
            created_at: Some(lost.created),
            ..Default::default()
        };
        let entry = Entry {
            id: lost.root.cloned().unwrap_or_else(|| lost.session_id.into()),
            parent_id: None,
            timestamp: Some(lost.created),
            lane: forkwood_core::Lane::main(),
            more: 0,
            body: info.into(),
            extra: Vec::new(),
        };
        Some(codec::encode(&entry))
    }

    fn is_header(&self, record: &[u8]) -> bool {
        let decoded = codec::decode(&String::from_utf8_lossy(record), &mut Reader::lossless());
        decoded.is_ok_and(|entry| match entry.body {
            Body::SessionInfo(info) => info.version.is_some() && info.session_id.is_some(),
            _ => false,
        })
    }
}

/// The whole line as text, checked to be UTF-8. The engine replaces other bytes before.
///
/// # Errors
/// [`LineFault::NotJson`] where it is not UTF-8.
pub fn as_text(line: &[u8]) -> std::result::Result<&str, LineFault> {
    std::str::from_utf8(line).map_err(|error| LineFault::NotJson(error.to_string()))
}

/// Reads an entry in Forkwood's own form.
///
/// # Errors
/// A [`LineFault`] where it is no entry.
pub fn decode_native(record: &[u8]) -> std::result::Result<Decoded, LineFault> {
    let text = as_text(record)?;
    let mut reader = Reader::lossless();
    let fault = match codec::decode(text, &mut reader) {
        Ok(entry) => return Ok(Decoded { entry, notes: reader.into_notes() }),
        Err(error) => error.to_string(),
    };
    let entry = undecoded(text).ok_or_else(|| LineFault::WrongShape(fault.clone()))?;
    Ok(Decoded { entry, notes: vec![(DiagnosticKind::OddField, fault)] })
}

/// An entry whose body cannot be read, with all its fields as they stand.
fn undecoded(text: &str) -> Option<Entry> {
    const BASE: [&str; 7] = ["id", "parentId", "parent_id", "timestamp", "type", "lane", "more"];
    let head = whole_head(text, false).ok()?;
    let object = Object::parse(text).ok()?;
    let extra = object.iter().filter(|(key, _)| !key.as_str().is_some_and(|k| BASE.contains(&k)));
    Some(Entry {
        id: EntryId::new(&head.id),
        parent_id: match &head.parent {
            ParentName::Named(name) => Some(EntryId::new(name)),
            _ => None,
        },
        timestamp: head.timestamp,
        lane: head.lane.and_then(|lane| Lane::new(&lane).ok()).unwrap_or_default(),
        more: head.more,
        body: Body::Unknown { tag: object.text("type")? },
        extra: extra.map(|(key, raw)| (key.clone(), Json::from_raw(raw))).collect(),
    })
}

fn quick_head<'l>(line: &'l [u8], found: &Quick<'l>, first: bool) -> Option<RecordHead<'l>> {
    let kind = EntryKind::from_tag(found.kind);
    // Another record may have been glued to this one, or to what is left of it.
    if START.find(&line[1..]).is_some() {
        return None;
    }
    // A writer that puts base fields behind the body needs the whole line read.
    let behind = |key: &Finder<'_>| key.find(line).is_some();
    if (found.lane.is_none() && behind(&LANE)) || (found.more == 0 && behind(&MORE)) {
        return None;
    }
    // These say more in their body than the start of the line tells, and they are short.
    if matches!(kind, EntryKind::Leaf | EntryKind::Custom | EntryKind::Unknown) {
        return None;
    }
    if kind == EntryKind::Message && found.role.is_none() {
        return None;
    }
    let parent = match found.parent {
        // It may stand behind the body.
        QuickParent::Absent => return None,
        QuickParent::Id("") | QuickParent::Null => ParentName::Root,
        QuickParent::Id(id) => ParentName::Named(Cow::Borrowed(id)),
    };
    let sidecar = is_sidecar(kind, false, first);
    Some(RecordHead {
        header: false,
        span: 0..line.len(),
        id: Cow::Borrowed(found.id),
        parent,
        kind,
        role: found.role.map(|role| Role::from_text(&role.into())),
        timestamp: found.timestamp.and_then(seconds),
        lane: found.lane.map(Cow::Borrowed),
        more: found.more,
        sidecar,
        moves: if sidecar { Moves::Nothing } else { Moves::ToSelf },
    })
}

/// A whole number as the codec reads it: `2`, and `2.0`.
fn whole_number(json: &str) -> Option<u32> {
    let number: f64 = serde_json::from_str(json).ok()?;
    let fits = number.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&number);
    fits.then(|| number.min(f64::from(u32::MAX)) as u32)
}

fn seconds(json: &str) -> Option<Timestamp> {
    Timestamp::parse_seconds(json.trim_matches('"'))
}

/// Whether a type stands beside the path of a native file.
fn is_sidecar(kind: EntryKind, aside: bool, first: bool) -> bool {
    match kind {
        EntryKind::Label | EntryKind::Leaf | EntryKind::Operation => true,
        EntryKind::SessionInfo => !first,
        EntryKind::Custom => aside,
        _ => false,
    }
}

/// A field in either spelling; camelCase wins.
pub fn either<'j>(object: &Object<'j>, camel: &str, snake: &str) -> Option<&'j str> {
    object.get(camel).or_else(|| object.get(snake)).filter(|json| *json != "null")
}

fn whole_head(text: &str, first: bool) -> std::result::Result<RecordHead<'_>, LineFault> {
    let object = Object::parse(text).map_err(|error| {
        if forkwood_core::json::is_valid(text.as_bytes()) {
            LineFault::WrongShape("is JSON, but no object".into())
        } else {
            LineFault::NotJson(error.to_string())
        }
    })?;
    let string = |key: &str| -> Option<String> {
        object.text(key).map(|text| text.to_string_escaped().into_owned())
    };
    let id = string("id").filter(|id| !id.is_empty());
    let id = id.ok_or_else(|| LineFault::WrongShape("has no string id".into()))?;
    let tag = string("type").ok_or_else(|| LineFault::WrongShape("has no string type".into()))?;
    let text_at = |camel: &str, snake: &str| -> Option<Cow<'_, str>> {
        let text: Text = forkwood_core::json::text_of(either(&object, camel, snake)?)?;
        let text = text.to_string_escaped().into_owned();
        (!text.is_empty()).then_some(Cow::Owned(text))
    };
    let kind = EntryKind::from_tag(&tag);
    let aside = object.get("aside") == Some("true");
    let sidecar = is_sidecar(kind, aside, first);
    let moves = match kind {
        EntryKind::Leaf => match text_at("leafId", "leaf_id") {
            Some(target) => Moves::To(Some(target)),
            None => Moves::Nothing,
        },
        _ if sidecar => Moves::Nothing,
        _ => Moves::ToSelf,
    };
    let message = object.get("message").and_then(|json| Object::parse(json).ok());
    Ok(RecordHead {
        header: false,
        span: 0..text.len(),
        id: Cow::Owned(id),
        parent: text_at("parentId", "parent_id").map_or(ParentName::Root, ParentName::Named),
        kind,
        role: message.and_then(|m| m.text("role")).map(|role| Role::from_text(&role)),
        timestamp: object.get("timestamp").and_then(seconds),
        lane: text_at("lane", "lane"),
        more: object.get("more").and_then(whole_number).unwrap_or(0),
        sidecar,
        moves,
    })
}
