//! Deciding what a write becomes, before anything is written.

use std::collections::HashMap;

use forkwood_core::entry::codec;
use forkwood_core::json::ObjectWriter;
use forkwood_core::{Body, Entry, EntryId, Lane, Timestamp};

use super::dialect::Policy;
use super::file::{SessionFile, Trouble};
use super::index::NONE;
use crate::{
    Append, Appended, AppendedEntry, Capabilities, Expect, OnConflict, Result, StorageError,
};

/// The longest entry that is written, in bytes of its line.
pub(super) const MAX_ENTRY_BYTES: u64 = 1 << 30;

/// What a write becomes.
#[derive(Debug)]
pub(super) struct Planned {
    /// The entries, each with its line; `None` where the format has no line for it.
    pub lines: Vec<(Entry, Option<String>)>,
    /// The lane it goes to.
    pub lane: Lane,
    /// Where that lane stands afterwards.
    pub leaf: Option<EntryId>,
}

/// Either something to write, or the answer already.
#[derive(Debug)]
pub(super) enum Decision {
    Write(Planned),
    Done(Appended),
}

/// The state that writes of one group build on: the file, and what the group adds to it.
#[derive(Default)]
pub(super) struct Overlay {
    leaves: HashMap<Lane, Option<EntryId>>,
    added: HashMap<EntryId, (String, AppendedEntry)>,
}

impl Overlay {
    /// Decides one write. Nothing of it takes effect where this is an error.
    pub(super) fn decide(
        &mut self,
        file: &SessionFile,
        append: &Append,
        now: Timestamp,
    ) -> std::result::Result<Decision, Trouble> {
        if append.drafts.is_empty() {
            return Err(StorageError::invalid("there is nothing to append").into());
        }
        if let Some(done) = self.repeated(file, append)? {
            return Ok(Decision::Done(done));
        }
        let policy = file.dialect.policy();
        if !policy.lanes && !append.lane.is_main() {
            return Err(StorageError::unsupported(format!(
                "{}: the format {} has one lane, main; there is no lane {}",
                file.path.display(),
                file.dialect.name(),
                append.lane
            ))
            .into());
        }
        let (lane, start) = self.lane_for(file, append, policy)?;
        let planned = self.plan(file, append, lane, start, policy, now)?;
        self.leaves.insert(planned.lane.clone(), planned.leaf.clone());
        for (entry, _) in &planned.lines {
            let appended =
                AppendedEntry { seq: 0, id: entry.id.clone(), parent_id: entry.parent_id.clone() };
            self.added.insert(entry.id.clone(), (fingerprint(&entry.body), appended));
        }
        Ok(Decision::Write(planned))
    }

    fn leaf(&self, file: &SessionFile, lane: &Lane) -> (bool, Option<EntryId>) {
        if let Some(leaf) = self.leaves.get(lane) {
            return (true, leaf.clone());
        }
        match file.index.lanes().iter().find(|known| known.lane == *lane) {
            Some(known) => (known.known, (known.leaf != NONE).then(|| file.index.id(known.leaf))),
            None => (false, None),
        }
    }

    /// The lane to write to, and where its first entry hangs.
    fn lane_for(
        &self,
        file: &SessionFile,
        append: &Append,
        policy: Policy,
    ) -> Result<(Lane, Option<EntryId>)> {
        let (known, actual) = self.leaf(file, &append.lane);
        let expected = match &append.expect {
            Expect::Any => return Ok((append.lane.clone(), actual)),
            Expect::NoLane => None,
            Expect::At(expected) => Some(expected.clone()),
        };
        if actual == expected && (known || expected.is_none()) {
            return Ok((append.lane.clone(), actual));
        }
        if append.on_conflict == OnConflict::Branch && policy.lanes {
            // Where the writer expected to be is where it goes on, on a lane of its own.
            if let Some(expected) = &expected {
                file.require(expected)?;
            }
            let first = append.drafts.iter().find(|draft| !draft.body.is_sidecar());
            let name = first.unwrap_or(&append.drafts[0]);
            return Ok((append.lane.for_conflict(&name.id), expected));
        }
        Err(StorageError::Conflict {
            session: file.id.to_string(),
            lane: append.lane.to_string(),
            expected,
            actual,
        })
    }

    fn plan(
        &self,
        file: &SessionFile,
        append: &Append,
        lane: Lane,
        start: Option<EntryId>,
        policy: Policy,
        now: Timestamp,
    ) -> Result<Planned> {
        let mut leaf = start;
        let mut lines = Vec::with_capacity(append.drafts.len());
        let count = append.drafts.len() as u32;
        let mut ids = std::collections::HashSet::new();
        for (at, draft) in append.drafts.iter().enumerate() {
            if !ids.insert(&draft.id) {
                return Err(StorageError::EntryExists {
                    session: file.id.to_string(),
                    entry: draft.id.clone(),
                });
            }
            let mut parent_id = leaf.clone();
            if let Body::Leaf { leaf_id: Some(target) } = &draft.body {
                if !self.added.contains_key(target) && !ids.contains(target) {
                    file.require(target)?;
                }
                // A lane that is made here leaves no position; its first line hangs from where
                // it starts.
                parent_id = parent_id.or_else(|| Some(target.clone()));
            }
            if let Body::Label { target_id: Some(target), .. } = &draft.body
                && !self.added.contains_key(target)
                && !ids.contains(target)
            {
                file.require(target)?;
            }
            let entry = Entry {
                id: draft.id.clone(),
                parent_id,
                timestamp: Some(draft.timestamp.unwrap_or(now)),
                lane: lane.clone(),
                more: if policy.batches { count - 1 - at as u32 } else { 0 },
                body: draft.body.clone(),
                extra: Vec::new(),
            };
            let line = file.dialect.encode(&entry)?;
            if let Some(line) = &line {
                check_line(line)?;
            }
            leaf = match &draft.body {
                Body::Leaf { leaf_id } => leaf_id.clone(),
                body if policy.pointer_lines && body.is_sidecar() && moves_nothing(file, body) => {
                    leaf
                }
                _ => Some(draft.id.clone()),
            };
            lines.push((entry, line));
        }
        Ok(Planned { lines, lane, leaf })
    }

    /// The answer to a write whose entries are all there already, with the same bodies.
    fn repeated(
        &self,
        file: &SessionFile,
        append: &Append,
    ) -> std::result::Result<Option<Appended>, Trouble> {
        let mut entries = Vec::new();
        for draft in &append.drafts {
            let found = match self.added.get(&draft.id) {
                Some((body, appended)) => (*body == fingerprint(&draft.body), appended.clone()),
                None => match file.index.find(draft.id.as_str()) {
                    Some(at) => {
                        let stored = file.stored(at)?;
                        let appended = AppendedEntry {
                            seq: stored.seq,
                            id: stored.entry.id,
                            parent_id: stored.entry.parent_id,
                        };
                        (same_body(file, &stored.entry.body, &draft.body), appended)
                    }
                    None => continue,
                },
            };
            match found {
                (true, appended) => entries.push(appended),
                (false, appended) => {
                    return Err(StorageError::EntryExists {
                        session: file.id.to_string(),
                        entry: appended.id,
                    }
                    .into());
                }
            }
        }
        if entries.is_empty() {
            return Ok(None);
        }
        if entries.len() < append.drafts.len()
            && append.drafts.iter().any(|draft| {
                file.index.find(draft.id.as_str()).is_none()
                    && !self.added.contains_key(&draft.id)
                    && (file.dialect.policy().pointer_lines
                        || !matches!(draft.body, Body::Leaf { .. }))
            })
        {
            return Err(StorageError::EntryExists {
                session: file.id.to_string(),
                entry: entries[0].id.clone(),
            }
            .into());
        }
        // The first answer named the lane that the entries went to and where it stood then.
        let last = entries.last().and_then(|last| file.index.find(last.id.as_str()));
        let lane = last.map_or_else(
            || append.lane.clone(),
            |at| file.index.lanes()[usize::from(file.index.rec(at).lane)].lane.clone(),
        );
        let leaf = match append
            .drafts
            .iter()
            .rev()
            .find(|draft| !draft.body.is_sidecar() || matches!(draft.body, Body::Leaf { .. }))
        {
            Some(draft) => match &draft.body {
                Body::Leaf { leaf_id } => leaf_id.clone(),
                _ => Some(draft.id.clone()),
            },
            None => self.leaf(file, &lane).1,
        };
        Ok(Some(Appended { entries, lane, leaf, repeated: true }))
    }
}

/// In my-pi-agent's files, labels and the like stand on the path.
fn moves_nothing(file: &SessionFile, body: &Body) -> bool {
    file.dialect.name() == super::native::NAME || matches!(body, Body::Leaf { .. })
}

/// A line must stay one line, and short enough to be read again.
fn check_line(line: &str) -> Result<()> {
    if line.len() as u64 > MAX_ENTRY_BYTES {
        return Err(StorageError::TooLarge {
            what: "an entry".to_owned(),
            size: line.len() as u64,
            limit: MAX_ENTRY_BYTES,
        });
    }
    if line.contains('\n') {
        return Err(StorageError::invalid("an entry must not hold a raw line end"));
    }
    Ok(())
}

/// Two bodies are the same write where these are the same.
fn fingerprint(body: &Body) -> String {
    let mut out = ObjectWriter::new();
    out.text("type", &body.tag());
    codec::encode_body(&mut out, body);
    out.finish()
}

/// Compares a stored body with a draft, as the format would have kept it.
fn same_body(file: &SessionFile, stored: &Body, draft: &Body) -> bool {
    if fingerprint(stored) == fingerprint(draft) {
        return true;
    }
    if file.dialect.name() == super::native::NAME {
        return false;
    }
    // A foreign format keeps less or other than was given: both are sent through it.
    let through = |body: &Body| {
        let entry = Entry {
            id: EntryId::new("00000000"),
            parent_id: None,
            timestamp: Some(Timestamp::default()),
            lane: Lane::main(),
            more: 0,
            body: body.clone(),
            extra: Vec::new(),
        };
        file.dialect.encode(&entry).ok().flatten()
    };
    matches!((through(stored), through(draft)), (Some(a), Some(b)) if a == b)
}

/// What files can do.
pub(super) fn capabilities(native: bool) -> Capabilities {
    Capabilities {
        durable: true,
        atomic_batches: native,
        shared: true,
        lanes: native,
        rewrite: true,
        blobs: native,
        trash: true,
        max_entry_bytes: MAX_ENTRY_BYTES,
    }
}
