//! Nine-type files of my-pi-agent, and Tau's.

use std::borrow::Cow;

use forkwood_core::entry::codec::{self, Reader};
use forkwood_core::json::Object;
use forkwood_core::{
    Body, DiagnosticKind, Entry, EntryId, EntryKind, FoldRules, Json, Message, Role, Text,
    Timestamp,
};
use forkwood_storage::jsonl::quick::{Quick, QuickParent};
use forkwood_storage::jsonl::{
    Decoded, Dialect, LineContext, LineFault, LostHeader, Moves, ParentName, Policy, RecordHead,
    as_text, decode_native,
};
use forkwood_storage::{Result, StorageError};

use super::recognise::seconds;
use super::{OWN, POLICY, RULES, encode};
use crate::fields::{Out, id_of, parse_object};

/// How to read and write a nine-type file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NineTypes {
    /// Whether the first line says where the session stood when it was written.
    pub(crate) facade: bool,
    /// When it was written: what is as old moves nothing.
    pub(crate) settled: Option<Timestamp>,
    /// Whether it is a file of Tau.
    pub(crate) tau: bool,
}

impl NineTypes {
    fn moves<'l>(&self, timestamp: Option<Timestamp>) -> Moves<'l> {
        let old = match (timestamp, self.settled) {
            (Some(at), Some(settled)) => at <= settled,
            _ => true,
        };
        if self.facade && old { Moves::Nothing } else { Moves::ToSelf }
    }

    fn quick<'l>(&self, line: &'l [u8]) -> Option<RecordHead<'l>> {
        let found = Quick::parse(line)?;
        let kind = EntryKind::from_tag(found.kind);
        if matches!(kind, EntryKind::Leaf | EntryKind::Unknown) {
            return None;
        }
        if kind == EntryKind::Custom && !is_plainly_foreign(line) {
            return None;
        }
        let message = kind == EntryKind::Message;
        if message && found.role.is_none() {
            return None;
        }
        let parent = match found.parent {
            QuickParent::Id("") | QuickParent::Null => ParentName::Root,
            QuickParent::Id(id) => ParentName::Named(Cow::Borrowed(id)),
            // It may stand behind the body.
            QuickParent::Absent => return None,
        };
        let timestamp = Some(seconds(found.timestamp?)?);
        Some(RecordHead {
            header: false,
            span: 0..line.len(),
            id: Cow::Borrowed(found.id),
            parent,
            kind,
            role: found.role.filter(|_| message).map(|role| head_role(&role.into())),
            timestamp,
            lane: None,
            more: 0,
            sidecar: false,
            moves: self.moves(timestamp),
        })
    }

    fn whole<'l>(&self, text: &'l str) -> std::result::Result<RecordHead<'l>, LineFault> {
        let object = parse_object(text)?;
        let missing = |what: &str| LineFault::WrongShape(format!("has no string {what}"));
        let id = id_of(&object, "id").ok_or_else(|| missing("id"))?;
        let tag = object.text("type").ok_or_else(|| missing("type"))?;
        let kind = match EntryKind::from_tag(tag.as_str().unwrap_or_default()) {
            EntryKind::Custom => own_kind(&object).unwrap_or(EntryKind::Custom),
            other => other,
        };
        let parent = id_of(&object, "parentId").or_else(|| id_of(&object, "parent_id"));
        let timestamp = object.get("timestamp").and_then(seconds);
        let message = object.get("message").and_then(|raw| Object::parse(raw).ok());
        let sidecar = kind == EntryKind::Leaf;
        Ok(RecordHead {
            header: false,
            span: 0..text.len(),
            id: Cow::Owned(id),
            parent: parent.map_or(ParentName::Root, |id| ParentName::Named(Cow::Owned(id))),
            kind,
            role: message.and_then(|message| message.text("role")).map(|role| head_role(&role)),
            timestamp,
            lane: None,
            more: 0,
            sidecar,
            moves: if sidecar { self.pointer(&object) } else { self.moves(timestamp) },
        })
    }

    fn pointer<'l>(&self, object: &Object<'_>) -> Moves<'l> {
        let target = pointer_of(object);
        match target {
            Some(_) => Moves::To(target.map(Cow::Owned)),
            // Tau's may point to before the first entry.
            None if self.tau && object.get("entry_id") == Some("null") => Moves::To(None),
            None => Moves::Nothing,
        }
    }
}

/// Whether a `custom` entry tells at a glance that it holds no entry of another type.
fn is_plainly_foreign(line: &[u8]) -> bool {
    const KEY: &[u8] = b"\"namespace\":\"";
    memchr::memmem::find(line, KEY).is_some_and(|at| {
        let value = &line[at + KEY.len()..];
        value.len() >= OWN.len() && !value.starts_with(OWN.as_bytes())
    })
}

/// What a `custom` entry that Forkwood wrote stands for, where an index is to know it: what was
/// in flight, and settings.
fn own_kind(object: &Object<'_>) -> Option<EntryKind> {
    let namespace = object.text("namespace")?;
    let kind = EntryKind::from_tag(namespace.as_str()?.strip_prefix(OWN)?);
    matches!(kind, EntryKind::Operation | EntryKind::ActiveToolsChange).then_some(kind)
}

/// Where a pointer goes, in any spelling that this family of programs has for it.
fn pointer_of(object: &Object<'_>) -> Option<String> {
    ["leafId", "leaf_id", "entryId", "entry_id", "targetId"]
        .iter()
        .find_map(|key| id_of(object, key))
}

fn head_role(name: &Text) -> Role {
    match name.as_str() {
        Some("toolResult") => Role::Tool,
        _ => Role::from_text(name),
    }
}

impl Dialect for NineTypes {
    fn name(&self) -> &'static str {
        if self.tau { "tau" } else { "my-pi-agent" }
    }

    fn rules(&self) -> FoldRules {
        if self.tau { FoldRules { branch_summaries: true, ..RULES } } else { RULES }
    }

    fn policy(&self) -> Policy {
        POLICY
    }

    fn heads<'l>(
        &self,
        line: &'l [u8],
        _context: &LineContext<'_>,
        quick: bool,
        out: &mut Vec<RecordHead<'l>>,
    ) -> std::result::Result<(), LineFault> {
        if quick {
            out.push(self.quick(line).ok_or(LineFault::NeedWhole)?);
        } else {
            out.push(self.whole(as_text(line)?)?);
        }
        Ok(())
    }

    fn decode(
        &self,
        record: &[u8],
        _context: &LineContext<'_>,
    ) -> std::result::Result<Decoded, LineFault> {
        let mut decoded = decode_native(record)?;
        let object = parse_object(as_text(record)?)?;
        let entry = &mut decoded.entry;
        match entry.body {
            Body::Unknown { .. } => self.as_pointer(&object, &mut decoded),
            Body::Compaction(_) => take_metadata(&mut decoded),
            Body::Custom { .. } => restore(entry),
            Body::Message(ref mut body) if self.tau => {
                let pi = object.get("message").and_then(crate::pi::decode_message);
                *body = pi.unwrap_or_else(|| body.clone());
                decoded.notes.retain(|(kind, _)| !about_message(*kind));
            }
            Body::Message(ref mut body) => lift_tool_fields(&mut body.message),
            _ => {}
        }
        Ok(decoded)
    }

    fn encode(&self, entry: &Entry) -> Result<Option<String>> {
        if self.tau {
            return Err(StorageError::unsupported(
                "Tau's files are only read; fork the session into a new one",
            ));
        }
        encode::entry(entry).map(Some)
    }

    fn header_line(&self, lost: &LostHeader<'_>) -> Option<String> {
        let mut out = Out::default();
        // Its header is an entry, whose id is the session's.
        out.str("id", lost.root.map_or(lost.session_id, EntryId::as_str))
            .raw("timestamp", &lost.created.to_string())
            .str("type", "session_info")
            .raw("createdAt", &lost.created.to_string())
            .raw("metadata", "{}");
        (!self.tau).then(|| out.finish())
    }

    fn is_header(&self, record: &[u8]) -> bool {
        let text = String::from_utf8_lossy(record);
        Object::parse(&text).is_ok_and(|object| {
            let tag = object.text("type").unwrap_or_default();
            EntryKind::from_tag(tag.as_str().unwrap_or_default()) == EntryKind::SessionInfo
                && object.text("id").is_some_and(|id| !id.is_empty())
        })
    }
}

impl NineTypes {
    /// A pointer in another spelling than the codec's own.
    fn as_pointer(&self, object: &Object<'_>, decoded: &mut Decoded) {
        let is_leaf = object.text("type").is_some_and(|tag| tag == "leaf");
        let target = pointer_of(object);
        if is_leaf && (target.is_some() || self.tau) {
            decoded.entry.body = Body::Leaf { leaf_id: target.map(EntryId::from) };
            decoded.entry.extra.retain(|(key, _)| {
                !["entryId", "entry_id", "targetId"].iter().any(|name| *key == *name)
            });
            decoded.notes.clear();
        }
    }
}

/// What the codec says of fields that Pi's messages have.
fn about_message(kind: DiagnosticKind) -> bool {
    matches!(kind, DiagnosticKind::UnknownField | DiagnosticKind::OddField)
}

/// The metadata of a compaction are its details.
fn take_metadata(decoded: &mut Decoded) {
    let Body::Compaction(compaction) = &mut decoded.entry.body else { return };
    let extra = &mut decoded.entry.extra;
    if let Some(at) = extra.iter().position(|(key, _)| *key == "metadata")
        && compaction.details.is_none()
    {
        compaction.details = Some(extra.remove(at).1);
        let known = |message: &str| message.ends_with("unknown field metadata");
        decoded.notes.retain(|(_, message)| !known(message));
    }
}

/// The call that a tool message answers, where the metadata name it. They stay as they are.
pub(crate) fn lift_tool_fields(message: &mut Message) {
    if message.role != Role::Tool {
        return;
    }
    let Some(metadata) = message.metadata.as_ref().and_then(Json::as_object) else { return };
    if message.tool_call_id.is_none() {
        message.tool_call_id = metadata.text("tool_call_id");
    }
    if message.is_error.is_none() {
        message.is_error = metadata.get("is_error").and_then(|raw| raw.parse().ok());
    }
}

/// An entry of another type that Forkwood wrote as a custom one.
fn restore(entry: &mut Entry) {
    let Body::Custom { namespace, data, .. } = &entry.body else { return };
    let Some(tag) = namespace.as_str().and_then(|name| name.strip_prefix(OWN)) else { return };
    if EntryKind::from_tag(tag) == EntryKind::Unknown {
        return;
    }
    let Some(fields) = data.as_object() else { return };
    let mut out = Out::default();
    out.str("id", entry.id.as_str()).str("type", tag);
    out.rest(fields.iter().map(|(key, value)| (key, value.get())));
    let mut reader = Reader::lossless();
    if let Ok(own) = codec::decode(&out.finish(), &mut reader)
        && !matches!(own.body, Body::Unknown { .. })
    {
        entry.body = own.body;
        entry.extra.extend(own.extra);
    }
}
