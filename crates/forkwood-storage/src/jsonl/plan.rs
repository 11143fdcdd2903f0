//! Deciding what a write becomes, before anything is written.

use std::borrow::Cow;
use std::collections::HashMap;

use forkwood_core::entry::codec;
use forkwood_core::json::ObjectWriter;
use forkwood_core::{Body, Draft, Entry, EntryId, Lane, Timestamp};

use super::dialect::{IdStyle, Policy};
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
    /// Where a pointer to each entry would stand.
    anchors: Vec<Option<EntryId>>,
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
    added: HashMap<EntryId, Added>,
}

/// An entry that a group adds.
struct Added {
    entry: Entry,
    appended: AppendedEntry,
    lane: Lane,
    /// Where a pointer to it stands: itself, or the path entry above a sidecar.
    anchor: Option<EntryId>,
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
        if append.drafts.iter().any(|draft| draft.id.as_str().is_empty()) {
            return Err(StorageError::invalid("an entry needs an id that is not empty").into());
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
        for (entry, anchor) in planned.lines.iter().map(|(entry, _)| entry).zip(&planned.anchors) {
            let appended =
                AppendedEntry { seq: 0, id: entry.id.clone(), parent_id: entry.parent_id.clone() };
            let added = Added {
                entry: entry.clone(),
                appended,
                lane: planned.lane.clone(),
                anchor: anchor.clone(),
            };
            self.added.insert(entry.id.clone(), added);
        }
        Ok(Decision::Write(planned))
    }

    fn leaf(&self, file: &SessionFile, lane: &Lane) -> (bool, Option<EntryId>) {
        if let Some(leaf) = self.leaves.get(lane) {
            return (true, leaf.clone());
        }
        match file.index.lane(lane) {
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
            let start = match &expected {
                Some(expected) => Some(self.anchor(file, &HashMap::new(), expected)?),
                None => None,
            };
            let first = append.drafts.iter().find(|draft| !draft.body.is_sidecar());
            let name = first.unwrap_or(&append.drafts[0]);
            return Ok((self.new_lane(file, append.lane.for_conflict(&name.id))?, start));
        }
        Err(StorageError::Conflict {
            session: file.id.to_string(),
            lane: append.lane.to_string(),
            expected,
            actual,
        })
    }

    /// A lane of this name that nothing named before.
    fn new_lane(&self, file: &SessionFile, name: Lane) -> Result<Lane> {
        let taken = |lane: &Lane| file.index.lane(lane).is_some() || self.leaves.contains_key(lane);
        let mut lane = name.clone();
        for n in 2.. {
            if !taken(&lane) {
                break;
            }
            let end = format!("-{n}");
            let stem = &name.as_str()[..name.as_str().len().min(64 - end.len())];
            lane = Lane::new(&format!("{stem}{end}"))?;
        }
        Ok(lane)
    }

    /// Where a pointer to an entry stands: at it, or at the path entry above a sidecar.
    fn anchor(
        &self,
        file: &SessionFile,
        batch: &HashMap<&EntryId, Option<EntryId>>,
        target: &EntryId,
    ) -> Result<EntryId> {
        let anchor = match (batch.get(target), self.added.get(target)) {
            (Some(anchor), _) => anchor.clone(),
            (None, Some(added)) => added.anchor.clone(),
            (None, None) => {
                let at = file.require(target)?;
                file.index.above(at).map(|at| file.index.id(at))
            }
        };
        anchor.ok_or_else(|| {
            StorageError::invalid(format!("{target} stands beside the path, and no entry above it"))
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
    ) -> std::result::Result<Planned, Trouble> {
        let mut leaf = start;
        let mut lines: Vec<(Entry, Option<String>)> = Vec::with_capacity(append.drafts.len());
        let count = append.drafts.len() as u32;
        // Only one root: what has no parent otherwise hangs from it.
        let root = (policy.one_root && file.index.len() > 0).then(|| file.index.id(0));
        let native = file.dialect.name() == super::native::NAME;
        let mut anchors = HashMap::new();
        for (at, draft) in append.drafts.iter().enumerate() {
            if anchors.contains_key(&draft.id) {
                return Err(StorageError::EntryExists {
                    session: file.id.to_string(),
                    entry: draft.id.clone(),
                }
                .into());
            }
            let mut parent_id = leaf.clone();
            let mut moved_to = None;
            match &draft.body {
                Body::Leaf { leaf_id: Some(target) } => {
                    let anchor = self.anchor(file, &anchors, target)?;
                    // A lane that is made here leaves no position; its first line hangs from
                    // where it starts.
                    parent_id = parent_id.or_else(|| Some(anchor.clone()));
                    moved_to = Some(anchor);
                }
                Body::Leaf { leaf_id: None } if native => {
                    return Err(StorageError::invalid("a leaf needs the id of an entry").into());
                }
                Body::Label { target_id: Some(target), .. }
                    if !self.added.contains_key(target) && !anchors.contains_key(target) =>
                {
                    file.require(target)?;
                }
                _ => {}
            }
            let parent_id = parent_id.or_else(|| root.clone());
            let body = self.fitted(file, &lines, parent_id.as_ref(), draft)?;
            let entry = Entry {
                id: draft.id.clone(),
                parent_id,
                timestamp: Some(draft.timestamp.unwrap_or(now)),
                lane: lane.clone(),
                more: if policy.batches { count - 1 - at as u32 } else { 0 },
                body: body.into_owned(),
                extra: draft.extra.clone(),
            };
            let line = file.dialect.encode(&entry)?;
            if let Some(line) = &line {
                check_id(&draft.id, policy)?;
                check_line(line)?;
            }
            let beside =
                policy.pointer_lines && draft.body.is_sidecar() && moves_nothing(file, &draft.body);
            let anchor = match &draft.body {
                _ if beside => entry.parent_id.clone(),
                Body::Leaf { .. } => moved_to.clone(),
                _ => Some(draft.id.clone()),
            };
            leaf = match &draft.body {
                Body::Leaf { .. } => moved_to,
                _ if beside => leaf,
                _ => Some(draft.id.clone()),
            };
            anchors.insert(&draft.id, anchor);
            lines.push((entry, line));
        }
        let anchors = append.drafts.iter().map(|draft| anchors.remove(&draft.id).flatten());
        let anchors = anchors.collect();
        Ok(Planned { lines, lane, leaf, anchors })
    }

    /// The body of a draft as the format can say it, below an entry.
    fn fitted<'d>(
        &self,
        file: &SessionFile,
        batch: &[(Entry, Option<String>)],
        parent: Option<&EntryId>,
        draft: &'d Draft,
    ) -> std::result::Result<Cow<'d, Body>, Trouble> {
        let mut trouble = None;
        let fitted = file.dialect.fit(draft, &mut || {
            let path = self.path(file, batch, parent);
            path.map_err(|error| match error {
                Trouble::Storage(error) => error,
                Trouble::NeedFull => {
                    trouble = Some(Trouble::NeedFull);
                    StorageError::invalid("the path cannot be read")
                }
            })
        });
        match (trouble, fitted) {
            (Some(trouble), _) => Err(trouble),
            (None, Ok(Some(body))) => Ok(Cow::Owned(body)),
            (None, Ok(None)) => Ok(Cow::Borrowed(&draft.body)),
            (None, Err(error)) => Err(error.into()),
        }
    }

    /// The path to an entry, root first: of the batch, of the group, of the file.
    fn path(
        &self,
        file: &SessionFile,
        batch: &[(Entry, Option<String>)],
        to: Option<&EntryId>,
    ) -> std::result::Result<Vec<Entry>, Trouble> {
        let mut path = Vec::new();
        let mut next = to.cloned();
        while let Some(id) = next.take() {
            let new = batch.iter().map(|(entry, _)| entry).find(|entry| entry.id == id);
            if let Some(entry) = new.or_else(|| self.added.get(&id).map(|added| &added.entry)) {
                next.clone_from(&entry.parent_id);
                path.push(entry.clone());
                continue;
            }
            // From here on all of it stands in the file.
            let mut at = file.index.find(id.as_str()).and_then(|at| file.index.above(at));
            while let Some(found) = at {
                path.push(file.stored(found)?.entry);
                at = file.index.parent(found).and_then(|parent| file.index.above(parent));
            }
        }
        path.reverse();
        Ok(path)
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
                Some(added) => {
                    (same_body(file, &added.entry.body, &draft.body), added.appended.clone())
                }
                None => match file.index.find(draft.id.as_str()) {
                    Some(at) => {
                        let stored = file.stored(at)?;
                        let parent = stored.entry.parent_id.as_ref();
                        let body = self.fitted(file, &[], parent, draft)?;
                        let appended = AppendedEntry {
                            seq: stored.seq,
                            id: stored.entry.id,
                            parent_id: stored.entry.parent_id,
                        };
                        (same_body(file, &stored.entry.body, &body), appended)
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
        let last = entries.last();
        let lane = last.and_then(|last| match self.added.get(&last.id) {
            Some(added) => Some(added.lane.clone()),
            None => {
                let at = file.index.find(last.id.as_str())?;
                Some(file.index.lanes()[usize::from(file.index.rec(at).lane)].lane.clone())
            }
        });
        let lane = lane.unwrap_or_else(|| append.lane.clone());
        let moving = append.drafts.iter().rev().find(|draft| {
            matches!(draft.body, Body::Leaf { .. })
                || !(draft.body.is_sidecar() && moves_nothing(file, &draft.body))
        });
        let leaf = match moving.map(|draft| (&draft.id, &draft.body)) {
            Some((_, Body::Leaf { leaf_id: Some(target) })) => {
                Some(self.anchor(file, &HashMap::new(), target)?)
            }
            Some((_, Body::Leaf { leaf_id: None })) => None,
            Some((id, _)) => Some(id.clone()),
            // A sidecar's parent is where its lane stood.
            None => last.and_then(|last| last.parent_id.clone()),
        };
        Ok(Some(Appended { entries, lane, leaf, repeated: true }))
    }
}

/// In my-pi-agent's files, labels and the like stand on the path.
fn moves_nothing(file: &SessionFile, body: &Body) -> bool {
    file.dialect.name() == super::native::NAME || matches!(body, Body::Leaf { .. })
}

/// An id that a caller chose must look as those of the format do: its owner knows no others.
fn check_id(id: &EntryId, policy: Policy) -> Result<()> {
    let short = |id: &str| id.len() == 8 && id.bytes().all(|b| b.is_ascii_hexdigit());
    match policy.ids {
        IdStyle::Hex8 if !short(id.as_str()) => Err(StorageError::invalid(format!(
            "entry.id: {:?} is no id for a file of this format, whose ids are 8 hex digits",
            id.as_str()
        ))),
        IdStyle::Hex8 | IdStyle::Uuid => Ok(()),
    }
}

/// A line must stay one line, and short enough to be read again.
pub(super) fn check_line(line: &str) -> Result<()> {
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
