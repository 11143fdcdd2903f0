//! A new file for a path that is copied out of a session, as Pi's 1.x writes one.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use forkwood_core::json::{self, JsonKind, Object};
use forkwood_core::{Body, Entry, EntryId, FoldRules, Lane, Text, Timestamp};
use forkwood_storage::{Result, StorageError, Stored};

use super::encode;
use super::kept::{self, Kept};
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
/// as Pi has them where it has a longer one. `rules` are those of the source: a compaction is
/// told in Pi's terms so that the context stays what it was, and the messages that one carries
/// stand after it as entries of their own.
///
/// Pi 0.73.1 writes a file without an assistant message a second time: keep such a fork in
/// memory until there is one.
///
/// # Errors
/// `unsupported` where an entry cannot be held by Pi's files.
pub fn new_fork_file(
    fork: &NewFork<'_>,
    path: &[Stored],
    labels: &[Stored],
    rules: &FoldRules,
) -> Result<String> {
    let mut out = header(fork);
    out.push('\n');
    let entries: Vec<Entry> = path.iter().map(|stored| stored.entry.clone()).collect();
    let held = path.iter().filter(|stored| !matches!(stored.entry.body, Body::Label { .. }));
    let mut ids = Ids::new(fork.session_id, held);
    // What a compaction keeps may begin at a label: then it begins at what follows that.
    let mut after_label: HashMap<&EntryId, &EntryId> = HashMap::new();
    let mut pending: Vec<&EntryId> = Vec::new();
    for stored in path {
        match stored.entry.body {
            Body::Label { .. } => pending.push(&stored.entry.id),
            _ => after_label.extend(pending.drain(..).map(|label| (label, &stored.entry.id))),
        }
    }
    let is_compaction = |entry: &Entry| matches!(entry.body, Body::Compaction(_));
    let last_compaction = entries.iter().rposition(is_compaction).unwrap_or(0);
    let mut parent: Option<EntryId> = None;
    let write = |out: &mut String, line: &str, id: EntryId, parent: &mut Option<EntryId>| {
        out.push_str(line);
        out.push('\n');
        *parent = Some(id);
    };
    for (at, stored) in path.iter().enumerate() {
        let own = &stored.entry;
        let mut tail = None;
        let mut first = None;
        match &own.body {
            Body::Label { .. } => continue,
            Body::Compaction(compaction) => {
                let named = compaction.first_kept_entry_id.as_ref();
                first = named.and_then(|named| after_label.get(named)).map(|id| (*id).clone());
                match kept::kept(&entries, at, rules) {
                    Kept::AsItSays => {}
                    Kept::From(id) => first = Some(id),
                    Kept::CannotSay if at == last_compaction => return Err(cannot_say(&own.id)),
                    // A later one decides.
                    Kept::CannotSay => {}
                }
                tail = compaction.retained_tail.as_ref();
            }
            _ => {}
        }
        let id = ids.of(&own.id);
        let line = match verbatim(stored, &id, parent.as_ref(), first.as_ref()) {
            Some(line) => Some(line),
            None => anew(own, parent.as_ref(), first, &ids.map, rules)?,
        };
        if let Some(line) = line {
            write(&mut out, &line, id, &mut parent);
        }
        for (at, message) in tail.into_iter().flatten().enumerate() {
            let id = ids.fresh(&format!("tail {} {at}", own.id));
            let entry = Entry {
                id: id.clone(),
                parent_id: parent.clone(),
                body: Body::message(message.clone()),
                extra: Vec::new(),
                ..own.clone()
            };
            if let Some(line) = encode::entry(&entry)? {
                write(&mut out, &line, id, &mut parent);
            }
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
        for stored in path.clone().filter(|stored| is_exact(stored)) {
            let id = &stored.entry.id;
            ids.used.insert(id.clone());
            ids.map.insert(id.clone(), id.clone());
        }
        for stored in path.filter(|stored| !is_exact(stored)) {
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

/// The record of an entry, where it is one of Pi: it can stand in a file of version 3 as it is,
/// or at least its fields can.
fn record_of(stored: &Stored) -> Option<(&str, Object<'_>)> {
    let text = std::str::from_utf8(stored.raw.as_deref()?).ok()?;
    let object = Object::parse(text).ok()?;
    let is_string =
        |key: &str| object.get(key).is_some_and(|raw| json::kind_of(raw) == JsonKind::String);
    let is_time = is_string("timestamp") && object.get("timestamp").and_then(parse_pi).is_some();
    let tail = matches!(&stored.entry.body, Body::Compaction(c) if c.retained_tail.is_some());
    let flat = object.get("role").is_some();
    // What marks a file as one of the harness has no place in a plain one.
    let harness = matches!(stored.entry.body, Body::Leaf { .. } | Body::ActiveToolsChange { .. });
    (is_string("type") && is_time && !flat && !tail && !harness).then_some((text, object))
}

/// Whether a record names itself as its entry is named: not in version 1, nor where damage was
/// settled.
fn is_exact(stored: &Stored) -> bool {
    record_of(stored)
        .and_then(|(_, object)| object.text("id"))
        .is_some_and(|id| id.to_string_escaped() == stored.entry.id.as_str())
}

/// A record of Pi under another parent, every other byte as it was.
fn verbatim(
    stored: &Stored,
    id: &EntryId,
    parent: Option<&EntryId>,
    first: Option<&EntryId>,
) -> Option<String> {
    let (text, object) = record_of(stored)?;
    let quoted = |id: &EntryId| Text::from(id.as_str()).to_json();
    let parent = parent.map_or_else(|| String::from("null"), quoted);
    let exact = is_exact(stored) && stored.entry.id == *id;
    let Some(old) = object.get("parentId").filter(|_| exact) else {
        return Some(rebuilt(stored, &object, &quoted(id), &parent, first));
    };
    let mut changes: Vec<(&str, String)> = Vec::new();
    if old != parent {
        changes.push((old, parent));
    }
    if let (Some(first), Some(old)) = (first, object.get("firstKeptEntryId")) {
        changes.push((old, quoted(first)));
    }
    if let Some(message) = object.get("message")
        && let Cow::Owned(new) = current_roles(message)
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

/// A record of Pi under another name, field by field.
fn rebuilt(
    stored: &Stored,
    object: &Object<'_>,
    id: &str,
    parent: &str,
    first: Option<&EntryId>,
) -> String {
    let first = match &stored.entry.body {
        Body::Compaction(compaction) => first.or(compaction.first_kept_entry_id.as_ref()),
        _ => None,
    };
    let mut out = Out::default();
    for (key, value) in object.iter() {
        match key.as_str() {
            Some("id") => out.raw("id", id),
            Some("parentId") => out.raw("parentId", parent),
            Some("firstKeptEntryIndex" | "firstKeptEntryId") if first.is_some() => &mut out,
            Some("message") => out.field(key, &current_roles(value.get())),
            _ => out.field(key, value.get()),
        };
    }
    out.raw("id", id).raw("parentId", parent);
    if let Some(first) = first {
        out.str("firstKeptEntryId", first.as_str());
    }
    out.finish()
}

fn cannot_say(compaction: &EntryId) -> StorageError {
    StorageError::unsupported(format!(
        "Pi's files cannot hold the compaction {compaction}: what it leaves in the context is no \
         unbroken end of the path; fork the session into a native one, or at an earlier entry",
    ))
}

/// An entry of another format, or one without an id of its own.
fn anew(
    entry: &Entry,
    parent: Option<&EntryId>,
    first: Option<EntryId>,
    ids: &HashMap<EntryId, EntryId>,
    rules: &FoldRules,
) -> Result<Option<String>> {
    let mut entry = entry.clone();
    // What gave no message where it comes from gives none in a file of Pi either.
    if let Body::BranchSummary { summary, details, .. } = &entry.body
        && !rules.branch_summaries
    {
        let mut data = Out::default();
        data.text("summary", summary).opt("details", details.as_ref());
        let namespace = "forkwood.branch_summary".into();
        entry.body = Body::Custom { namespace, data: data.into_json(), aside: false };
    }
    if let Body::Compaction(compaction) = &mut entry.body {
        // What it carries is written after it.
        if compaction.retained_tail.take().is_some() {
            compaction.first_kept_entry_id = None;
        } else if first.is_some() {
            compaction.first_kept_entry_id = first;
        }
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

#[cfg(test)]
mod tests;
