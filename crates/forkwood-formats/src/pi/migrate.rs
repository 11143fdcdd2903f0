//! Files of versions 1 and 2, read and rewritten as Pi itself would migrate them.
//!
//! Version 1 has no ids: each entry follows the one before it, and a compaction names the first
//! kept entry by its index, the header counting as 0. Pi gives random ids on every open of such
//! a file until it is rewritten; here they are derived from the header id and the line number,
//! so that they are the same at every open.

use forkwood_core::json::Object;
use forkwood_core::{EntryId, Text};
use forkwood_storage::jsonl::{LineContext, LineFault};
use sha2::{Digest, Sha256};

use super::Flavour;
use super::decode::Given;
use crate::fields::{Out, parse_object, whole_number};

/// The ids of a file without ids.
#[derive(Clone, Copy, Debug)]
pub(crate) struct V1Ids<'a> {
    pub(crate) session_id: &'a str,
}

impl V1Ids<'_> {
    /// The id of the entry on a line.
    pub(crate) fn of(&self, line: u64) -> String {
        short_hash(&[self.session_id, &line.to_string()])
    }

    /// The entry before this one. The header, if it stands first, is none.
    fn parent(&self, context: &LineContext<'_>) -> Option<EntryId> {
        let before = context.ordinal.checked_sub(1).filter(|ordinal| *ordinal > 0)?;
        (context.line_of)(before).map(|line| EntryId::from(self.of(line)))
    }

    /// The entry that an index of a compaction names: one that stands before it.
    fn at(&self, index: u64, context: &LineContext<'_>) -> Option<EntryId> {
        let named = (index > 0 && index < context.ordinal).then_some(index)?;
        (context.line_of)(named).map(|line| EntryId::from(self.of(line)))
    }

    /// What an entry of such a file is called.
    pub(crate) fn given(&self, record: &str, context: &LineContext<'_>) -> Given {
        let index = Object::parse(record)
            .ok()
            .and_then(|object| object.get("firstKeptEntryIndex").and_then(whole_number));
        Given {
            id: Some(EntryId::from(self.of(context.line))),
            parent: self.parent(context),
            first_kept: index.and_then(|index| self.at(index, context)),
        }
    }
}

/// The first eight hex digits of the SHA-256 of some texts, one a line.
pub(crate) fn short_hash(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            hash.update("\n");
        }
        hash.update(part);
    }
    hash.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

/// One line as Pi's migration to version 3 writes it: fields keep their place, new ones come
/// last.
///
/// # Errors
/// A [`LineFault`] where the line is no object; Pi drops such lines, and so must the caller.
pub(crate) fn migrate(
    text: &str,
    flavour: Flavour,
    ids: &V1Ids<'_>,
    context: &LineContext<'_>,
) -> Result<String, LineFault> {
    let object = parse_object(text)?;
    let mut out = Out::default();
    if object.text("type").is_some_and(|tag| tag == "session") {
        for (key, value) in object.iter() {
            out.field(key, if *key == "version" { "3" } else { value.get() });
        }
        out.raw("version", "3");
        return Ok(out.finish());
    }
    let given = match flavour {
        Flavour::V1 => ids.given(text, context),
        _ => Given::default(),
    };
    let quoted = |id: &EntryId| Text::from(id.as_str()).to_json();
    let id = given.id.as_ref().map(quoted);
    let parent = given.parent.as_ref().map_or("null".into(), quoted);
    for (key, value) in object.iter() {
        let name = key.as_str().unwrap_or_default();
        match name {
            "id" | "parentId" if id.is_some() => {
                let new = if name == "id" { id.as_deref().unwrap_or_default() } else { &parent };
                out.field(key, new);
            }
            "firstKeptEntryIndex" if flavour == Flavour::V1 => {}
            "firstKeptEntryId" if given.first_kept.is_some() => {}
            "message" => {
                out.field(key, &current_roles(value.get()));
            }
            _ => {
                out.field(key, value.get());
            }
        }
    }
    if let Some(id) = &id {
        out.raw("id", id).raw("parentId", &parent);
    }
    if let Some(first) = &given.first_kept {
        out.raw("firstKeptEntryId", &quoted(first));
    }
    Ok(out.finish())
}

/// A message with the role that version 3 has for it.
pub(crate) fn current_roles(message: &str) -> std::borrow::Cow<'_, str> {
    let hook = |object: &Object<'_>| object.text("role").is_some_and(|role| role == "hookMessage");
    match Object::parse(message) {
        Ok(object) if hook(&object) => {
            let mut out = Out::default();
            for (key, value) in object.iter() {
                out.field(key, if *key == "role" { "\"custom\"" } else { value.get() });
            }
            out.finish().into()
        }
        _ => message.into(),
    }
}
