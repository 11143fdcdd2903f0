//! A new file for a path that is copied out of a session, as Pi's 1.x writes one.

use std::collections::{HashMap, HashSet};

use forkwood_core::json::{self, JsonKind, Object};
use forkwood_core::{Body, Entry, EntryId, Lane, Text, Timestamp};
use forkwood_storage::{Result, Stored};

use super::encode;
use super::migrate::{current_roles, short_hash};
use crate::fields::Out;
use crate::time::parse_pi;

/// The session that the file is to hold.
#[derive(Clone, Copy, Debug)]
pub struct NewFork<'a> {
    /// Its id.
    pub session_id: &'a str,
    /// When it is made.
    pub created: Timestamp,
    /// The working folder it belongs to.
    pub cwd: &'a str,
    /// The file it is copied from, as an absolute path.
    pub parent_session: Option<&'a str>,
}

/// The text of a new file of version 3: a header, the entries of `path` (root first) chained
/// one to the next, and the labels of those entries after them.
///
/// `labels` are all label entries of the source in file order, wherever they stand; labels that
/// stand on the path are left out of it. A record of Pi keeps its bytes but for its parent (and
/// what version 3 calls otherwise); an entry of any other format is written anew, under an id
/// as Pi has them where it has a longer one.
///
/// Pi 0.73.1 writes a file without an assistant message a second time: keep such a fork in
/// memory until there is one.
///
/// # Errors
/// `unsupported` where an entry cannot be held by Pi's files.
pub fn new_fork_file(fork: &NewFork<'_>, path: &[Stored], labels: &[Stored]) -> Result<String> {
    let mut out = header(fork);
    out.push('\n');
    let kept: Vec<&Stored> =
        path.iter().filter(|stored| !matches!(stored.entry.body, Body::Label { .. })).collect();
    let mut ids = Ids::new(fork.session_id, kept.iter().map(|stored| *stored));
    // What a compaction keeps may begin at a label: then it begins at what follows that.
    let mut after_label: HashMap<&EntryId, &EntryId> = HashMap::new();
    let mut pending: Vec<&EntryId> = Vec::new();
    for stored in path {
        match stored.entry.body {
            Body::Label { .. } => pending.push(&stored.entry.id),
            _ => after_label.extend(pending.drain(..).map(|label| (label, &stored.entry.id))),
        }
    }
    let mut parent: Option<EntryId> = None;
    for stored in &kept {
        let first = match &stored.entry.body {
            Body::Compaction(compaction) => compaction
                .first_kept_entry_id
                .as_ref()
                .and_then(|first| after_label.get(first))
                .map(|first| (*first).clone()),
            _ => None,
        };
        let line = match verbatim(stored, parent.as_ref(), first.as_ref()) {
            Some(line) => Some(line),
            None => anew(stored, parent.as_ref(), first, &ids.map)?,
        };
        if let Some(line) = line {
            out.push_str(&line);
            out.push('\n');
            parent = Some(ids.of(&stored.entry.id));
        }
    }
    for (target, label, at) in last_labels(labels) {
        let Some(target) = ids.map.get(&target).cloned() else { continue };
        let id = ids.fresh(&format!("label {target}"));
        let entry = Entry {
            id: id.clone(),
            parent_id: parent.replace(id),
            timestamp: at,
            lane: Lane::main(),
            more: 0,
            body: Body::Label { label: Some(label), target_id: Some(target) },
            extra: Vec::new(),
        };
        if let Some(line) = encode::entry(&entry)? {
            out.push_str(&line);
            out.push('\n');
        }
    }
    Ok(out)
}

/// The header line of a new file of version 3.
pub fn header(fork: &NewFork<'_>) -> String {
    let mut out = Out::default();
    out.str("type", "session")
        .raw("version", "3")
        .str("id", fork.session_id)
        .str("timestamp", &crate::time::iso(fork.created))
        .str("cwd", fork.cwd);
    if let Some(parent) = fork.parent_session {
        out.str("parentSession", parent);
    }
    out.finish()
}

/// The ids of the new file: those of the old one where they are as short as Pi's.
struct Ids<'a> {
    seed: &'a str,
    map: HashMap<EntryId, EntryId>,
    used: HashSet<EntryId>,
}

impl<'a> Ids<'a> {
    fn new(seed: &'a str, path: impl Iterator<Item = &'a Stored> + Clone) -> Ids<'a> {
        let mut ids = Ids { seed, map: HashMap::new(), used: HashSet::new() };
        for stored in path.clone().filter(|stored| record_of(stored).is_some()) {
            let id = &stored.entry.id;
            ids.used.insert(id.clone());
            ids.map.insert(id.clone(), id.clone());
        }
        for stored in path.filter(|stored| record_of(stored).is_none()) {
            let id = &stored.entry.id;
            let short = id.as_str().len() <= 8 && !ids.used.contains(id);
            let new = if short { id.clone() } else { ids.fresh(id.as_str()) };
            ids.used.insert(new.clone());
            ids.map.insert(id.clone(), new);
        }
        ids
    }

    /// An id that nothing has yet. The same for the same file.
    fn fresh(&mut self, name: &str) -> EntryId {
        let mut round = 0u32;
        loop {
            let id = EntryId::from(short_hash(&[self.seed, name, &round.to_string()]));
            if self.used.insert(id.clone()) {
                return id;
            }
            round += 1;
        }
    }

    fn of(&self, id: &EntryId) -> EntryId {
        self.map.get(id).unwrap_or(id).clone()
    }
}

/// The record of an entry, where it can stand in a file of version 3 as it is.
fn record_of(stored: &Stored) -> Option<&str> {
    let text = std::str::from_utf8(stored.raw.as_deref()?).ok()?;
    let object = Object::parse(text).ok()?;
    let id = object.text("id")?;
    let own = id.to_string_escaped() == stored.entry.id.as_str();
    let is_string = |key: &str| object.get(key).is_some_and(|r| json::kind_of(r) == JsonKind::String);
    let tail = matches!(&stored.entry.body, Body::Compaction(c) if c.retained_tail.is_some());
    let is_time = is_string("timestamp") && object.get("timestamp").and_then(parse_pi).is_some();
    (own && is_string("type") && is_time && object.get("role").is_none() && !tail)
        .then_some(text)
}

/// A record of Pi under another parent, every other byte as it was.
fn verbatim(stored: &Stored, parent: Option<&EntryId>, first: Option<&EntryId>) -> Option<String> {
    let text = record_of(stored)?;
    let object = Object::parse(text).ok()?;
    let quoted = |id: &EntryId| Text::from(id.as_str()).to_json();
    let parent = parent.map_or_else(|| String::from("null"), quoted);
    let mut changes: Vec<(&str, String)> = Vec::new();
    let old = object.get("parentId")?;
    if old != parent {
        changes.push((old, parent));
    }
    if let (Some(first), Some(old)) = (first, object.get("firstKeptEntryId")) {
        changes.push((old, quoted(first)));
    }
    if let Some(message) = object.get("message")
        && let std::borrow::Cow::Owned(new) = current_roles(message)
    {
        changes.push((message, new));
    }
    // A value is a part of the text it was read from.
    let at = |part: &str| (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    changes.sort_by_key(|(old, _)| at(old));
    let mut line = String::with_capacity(text.len() + 16);
    let mut done = 0;
    for (old, new) in changes {
        line.push_str(text.get(done..at(old))?);
        line.push_str(&new);
        done = at(old) + old.len();
    }
    line.push_str(text.get(done..)?);
    Some(line)
}

/// An entry of another format, or one without an id of its own.
fn anew(
    stored: &Stored,
    parent: Option<&EntryId>,
    first: Option<EntryId>,
    ids: &HashMap<EntryId, EntryId>,
) -> Result<Option<String>> {
    let mut entry = stored.entry.clone();
    if let (Body::Compaction(compaction), Some(first)) = (&mut entry.body, first) {
        compaction.first_kept_entry_id = Some(first);
    }
    // A file of Pi has a header of its own; a native one opens with an entry that is one.
    if matches!(&entry.body, Body::SessionInfo(info) if info.version.is_some()) {
        return Ok(None);
    }
    entry.remap(ids);
    entry.parent_id = parent.cloned();
    encode::entry(&entry)
}

/// The labels that count, each with its time, in the order in which their targets got one.
fn last_labels(labels: &[Stored]) -> Vec<(EntryId, Text, Option<Timestamp>)> {
    let mut out: Vec<(EntryId, Text, Option<Timestamp>)> = Vec::new();
    let mut at: HashMap<&EntryId, usize> = HashMap::new();
    for stored in labels {
        let Body::Label { label, target_id } = &stored.entry.body else { continue };
        let Some(target) = target_id.as_ref().or(stored.entry.parent_id.as_ref()) else { continue };
        match (label.as_ref().filter(|label| !label.is_empty()), at.get(target).copied()) {
            (Some(label), Some(place)) => {
                out[place] = (target.clone(), label.clone(), stored.entry.timestamp);
            }
            (Some(label), None) => {
                at.insert(target, out.len());
                out.push((target.clone(), label.clone(), stored.entry.timestamp));
            }
            (None, _) => {
                // A hole: a later label of the same target stands at the end again.
                if let Some(place) = at.remove(target) {
                    out[place].1 = Text::default();
                }
            }
        }
    }
    out.retain(|(_, label, _)| !label.is_empty());
    out
}
