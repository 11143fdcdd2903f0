//! The heads of Pi's entries: id, parent, type and so on.

use std::borrow::Cow;

use forkwood_core::EntryKind;
use forkwood_core::json::{self, JsonKind, Object};
use forkwood_storage::jsonl::quick::{Quick, QuickParent};
use forkwood_storage::jsonl::{LineContext, LineFault, Moves, ParentName, RecordHead};

use super::decode::kind_of;
use super::message::head_role;
use super::migrate::V1Ids;
use super::{Flavour, INFO_TYPE, OPERATION_TYPE, TOOLS_TYPE};
use crate::fields::{id_of, parse_object};

/// How the types of Forkwood's own `custom` entries start.
const OWN: &[u8] = b"forkwood.";

/// Reads the start of a line, where it is written the way Pi writes it.
pub(crate) fn quick(line: &[u8], flavour: Flavour) -> Option<RecordHead<'_>> {
    let found = Quick::parse(line)?;
    if found.kind == "session" {
        return Some(RecordHead::header(line.len()));
    }
    let kind = kind_of(found.kind);
    // Where a `leaf` points to stands in its body. A type of later days may be anything.
    let tells_more =
        kind == EntryKind::Unknown || (kind == EntryKind::Leaf && flavour.has_pointer());
    if flavour == Flavour::V1 || tells_more {
        return None;
    }
    let parent = match found.parent {
        QuickParent::Id("") | QuickParent::Null => ParentName::Root,
        QuickParent::Id(id) => ParentName::Named(Cow::Borrowed(id)),
        // It may stand behind the body.
        QuickParent::Absent => return None,
    };
    if kind == EntryKind::Custom && !is_plainly_foreign(line) {
        return None;
    }
    let message = kind == EntryKind::Message;
    if message && found.role.is_none() {
        return None;
    }
    Some(RecordHead {
        header: false,
        span: 0..line.len(),
        id: Cow::Borrowed(found.id),
        parent,
        kind,
        role: found.role.filter(|_| message).map(|role| head_role(&role.into())),
        timestamp: Some(crate::time::parse_pi(found.timestamp?)?),
        lane: None,
        more: 0,
        sidecar: false,
        moves: Moves::ToSelf,
    })
}

/// Whether the start of a `custom` entry tells that it is none of Forkwood's own.
fn is_plainly_foreign(line: &[u8]) -> bool {
    const KEY: &[u8] = b"\"customType\":\"";
    memchr::memmem::find(line, KEY).is_some_and(|at| {
        let value = &line[at + KEY.len()..];
        value.len() >= OWN.len() && !value.starts_with(OWN)
    })
}

/// What a `custom` entry that Forkwood wrote stands for.
fn own_kind(object: &Object<'_>) -> Option<EntryKind> {
    match object.text("customType")?.as_str()? {
        OPERATION_TYPE => Some(EntryKind::Operation),
        TOOLS_TYPE => Some(EntryKind::ActiveToolsChange),
        INFO_TYPE => Some(EntryKind::SessionInfo),
        _ => None,
    }
}

/// Reads a whole line.
///
/// # Errors
/// A [`LineFault`] where it is no entry.
pub(crate) fn whole<'l>(
    text: &'l str,
    flavour: Flavour,
    ids: &V1Ids<'_>,
    context: &LineContext<'_>,
) -> Result<RecordHead<'l>, LineFault> {
    let object = parse_object(text)?;
    let tag =
        object.text("type").ok_or_else(|| LineFault::WrongShape("has no string type".into()))?;
    if tag == "session" {
        return Ok(RecordHead::header(text.len()));
    }
    let (id, parent) = match flavour {
        Flavour::V1 => (ids.of(context.line), ParentName::Previous),
        _ => {
            let id = id_of(&object, "id")
                .ok_or_else(|| LineFault::WrongShape("has no string id".into()))?;
            (id, parent_of(&object))
        }
    };
    let kind = match kind_of(tag.as_str().unwrap_or_default()) {
        EntryKind::Custom => own_kind(&object).unwrap_or(EntryKind::Custom),
        kind => kind,
    };
    let pointer = kind == EntryKind::Leaf && flavour.has_pointer();
    Ok(RecordHead {
        header: false,
        span: 0..text.len(),
        id: Cow::Owned(id),
        parent,
        kind,
        role: role_of(&object, kind),
        timestamp: object.get("timestamp").and_then(crate::time::parse_pi),
        lane: None,
        more: 0,
        sidecar: pointer,
        moves: if pointer { pointer_moves(&object) } else { Moves::ToSelf },
    })
}

/// The parent that an entry names. What is no string names no entry, and says so.
pub(crate) fn parent_of<'l>(object: &Object<'_>) -> ParentName<'l> {
    match object.get("parentId") {
        None | Some("null" | "\"\"") => ParentName::Root,
        Some(raw) => match id_of(object, "parentId") {
            Some(id) => ParentName::Named(Cow::Owned(id)),
            None => ParentName::Named(Cow::Owned(raw.to_owned())),
        },
    }
}

/// Who speaks, where the entry is a message.
pub(crate) fn role_of(object: &Object<'_>, kind: EntryKind) -> Option<forkwood_core::Role> {
    if kind != EntryKind::Message {
        return None;
    }
    let message = Object::parse(object.get("message")?).ok()?;
    message.text("role").map(|role| head_role(&role))
}

fn pointer_moves<'l>(object: &Object<'_>) -> Moves<'l> {
    match object.get("targetId") {
        Some(raw) if json::kind_of(raw) == JsonKind::Null => Moves::To(None),
        Some(_) => match id_of(object, "targetId") {
            Some(target) => Moves::To(Some(Cow::Owned(target))),
            None => Moves::Nothing,
        },
        None => Moves::Nothing,
    }
}

#[cfg(test)]
mod tests;
