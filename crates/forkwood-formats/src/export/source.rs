//! A session as it goes out: whole, in one form, whatever it was read from.

use std::collections::{HashMap, HashSet, VecDeque};

use forkwood::storage::LaneState;
use forkwood::{
    Body, Entry, EntryId, Error, Json, Lane, Result, Session, SessionInfo, Text, Timestamp, blobs,
};

use super::loss::{LossReport, What};
use crate::fields::Out;

/// How much of a session goes out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// The path to where the session stands.
    #[default]
    Current,
    /// The path to an entry.
    At(EntryId),
    /// Every branch.
    AllBranches,
}

/// A session as it goes out.
///
/// Its entries are in an order in which each stands behind its parent. None is a header or a
/// pointer, parents are path entries, and labels name their targets.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Its id, as its own format has it.
    pub id: Text,
    /// Title, folder, times, metadata, and whose sub-agent it is.
    pub info: SessionInfo,
    /// When it was made; the time of its first entry where nobody says.
    pub created: Timestamp,
    /// Its entries.
    pub entries: Vec<Entry>,
    /// Where it stands; `None` = before the first entry.
    pub leaf: Option<EntryId>,
    /// Its other lanes, and where they stand; none where one path goes out.
    pub lanes: Vec<LaneState>,
    /// Whether every branch goes out.
    pub whole: bool,
    /// What this form itself cannot hold.
    pub losses: LossReport,
    /// Whether it comes from a file in our own form.
    pub native: bool,
}

/// Reads a session, bytes of blobs included.
///
/// # Errors
/// `not_found` where the scope names no entry; where the log cannot be read.
pub async fn gather(session: &Session, scope: &Scope) -> Result<Source> {
    // As it is now, whatever the handle saw.
    let facts = session.storage().facts(session.id()).await?;
    let stored = session.entries().await?;
    let mut beside = Beside::default();
    let mut entries = Vec::with_capacity(stored.len());
    for stored in stored {
        let mut entry = stored.entry;
        beside.enter(&entry);
        if is_header(&entry) || matches!(entry.body, Body::Leaf { .. }) {
            continue;
        }
        blobs::inline_body(session.storage().as_ref(), &mut entry.body).await?;
        if let Body::BranchSummary { summary, details, .. } = &entry.body
            && !facts.rules.branch_summaries
        {
            // What says nothing to a model where it comes from says nothing anywhere.
            let mut data = Out::default();
            data.text("summary", summary).opt("details", details.as_ref());
            let namespace = "forkwood.hidden_branch_summary".into();
            entry.body = Body::Custom { namespace, data: data.into_json(), aside: false };
        }
        entry.more = 0;
        entries.push(entry);
    }
    for entry in &mut entries {
        entry.parent_id = beside.path_entry(entry.parent_id.as_ref());
        match &mut entry.body {
            Body::Label { label, target_id } => {
                let target = target_id.clone().or_else(|| entry.parent_id.clone());
                let target = beside.path_entry(target.as_ref());
                if target.as_ref().is_some_and(|target| !beside.seen.contains(target)) {
                    entry.body = crate::import::unplaced_label(label.as_ref(), target.as_ref());
                } else {
                    *target_id = target;
                }
            }
            Body::Compaction(compaction) => {
                if let Some(first) = &mut compaction.first_kept_entry_id
                    && let Some(next) = beside.next.get(first)
                {
                    *first = next.clone();
                }
            }
            _ => {}
        }
    }
    let entries = parents_first(entries);
    let main = beside.path_entry(facts.leaf(&Lane::main()));
    let created = facts.info.created_at.or_else(|| entries.iter().find_map(|e| e.timestamp));
    let mut source = Source {
        id: facts.shown_id.clone(),
        created: created.unwrap_or_default(),
        info: facts.info,
        entries,
        leaf: main,
        lanes: Vec::new(),
        whole: false,
        losses: LossReport::default(),
        native: facts.dialect == "native",
    };
    source.take_labels_of_the_header();
    match scope {
        Scope::AllBranches => {
            source.whole = true;
            let lanes = facts.lanes.into_iter().filter(|state| !state.lane.is_main());
            source.lanes = lanes
                .map(|state| LaneState { leaf: beside.path_entry(state.leaf.as_ref()), ..state })
                .collect();
        }
        Scope::Current => source.narrow(),
        Scope::At(entry) => {
            if !beside.seen.contains(entry) {
                return Err(Error::EntryNotFound {
                    session: facts.shown_id.to_string(),
                    entry: entry.to_string(),
                });
            }
            source.leaf = beside.path_entry(Some(entry));
            source.narrow();
        }
    }
    Ok(source)
}

/// Whether an entry is the header of a native session.
fn is_header(entry: &Entry) -> bool {
    matches!(&entry.body, Body::SessionInfo(info) if info.version.is_some() || entry.parent_id.is_none())
}

/// What stands beside the path here and may stand on it where it comes from.
#[derive(Default)]
struct Beside {
    seen: HashSet<EntryId>,
    /// For an entry beside the path, and for a header: the path entry above it.
    anchors: HashMap<EntryId, Option<EntryId>>,
    parents: HashMap<EntryId, Option<EntryId>>,
    /// The path entry that follows it.
    next: HashMap<EntryId, EntryId>,
}

impl Beside {
    fn enter(&mut self, entry: &Entry) {
        self.seen.insert(entry.id.clone());
        if entry.body.is_sidecar() {
            let above = self.path_entry(entry.parent_id.as_ref());
            self.anchors.insert(entry.id.clone(), above);
            self.parents.insert(entry.id.clone(), entry.parent_id.clone());
            return;
        }
        let mut beside = entry.parent_id.clone();
        while let Some(id) = beside.take().filter(|id| !self.next.contains_key(id)) {
            if let Some(above) = self.parents.get(&id) {
                beside.clone_from(above);
                self.next.insert(id, entry.id.clone());
            }
        }
    }

    /// An entry itself, or the path entry above it.
    fn path_entry(&self, id: Option<&EntryId>) -> Option<EntryId> {
        let id = id?;
        self.anchors.get(id).cloned().unwrap_or_else(|| Some(id.clone()))
    }
}

/// The same entries, each behind its parent. One whose parent never comes is a root.
fn parents_first(entries: Vec<Entry>) -> Vec<Entry> {
    let ids: HashSet<EntryId> = entries.iter().map(|entry| entry.id.clone()).collect();
    let mut told: HashSet<EntryId> = HashSet::new();
    let mut waiting: HashMap<EntryId, Vec<Entry>> = HashMap::new();
    let mut out = Vec::with_capacity(entries.len());
    for mut entry in entries {
        if entry.parent_id.as_ref().is_some_and(|parent| !ids.contains(parent)) {
            entry.parent_id = None;
        }
        match entry.parent_id.clone().filter(|parent| !told.contains(parent)) {
            Some(parent) => waiting.entry(parent).or_default().push(entry),
            None => {
                let mut ready = VecDeque::from([entry]);
                while let Some(entry) = ready.pop_front() {
                    told.insert(entry.id.clone());
                    ready.extend(waiting.remove(&entry.id).unwrap_or_default());
                    out.push(entry);
                }
            }
        }
    }
    out
}

impl Source {
    /// The path to where it stands, root first, as places in `entries`.
    pub fn path(&self) -> Vec<usize> {
        self.path_to(self.leaf.as_ref())
    }

    /// The path to an entry, root first, as places in `entries`.
    pub fn path_to(&self, entry: Option<&EntryId>) -> Vec<usize> {
        let at: HashMap<&EntryId, usize> =
            self.entries.iter().enumerate().map(|(at, entry)| (&entry.id, at)).collect();
        let mut path = Vec::new();
        let mut next = entry.and_then(|entry| at.get(entry)).copied();
        while let Some(here) = next {
            path.push(here);
            // Each entry stands behind its parent.
            next = self.entries[here]
                .parent_id
                .as_ref()
                .and_then(|parent| at.get(parent).copied())
                .filter(|above| *above < here);
        }
        path.reverse();
        path
    }

    /// The path to where it stands, as entries.
    pub fn path_entries(&self) -> Vec<Entry> {
        self.path().into_iter().map(|at| self.entries[at].clone()).collect()
    }

    /// A header is no entry in other formats: what marks it marks nothing.
    fn take_labels_of_the_header(&mut self) {
        let losses = &mut self.losses;
        self.entries.retain(|entry| {
            let Body::Label { label, target_id: None } = &entry.body else { return true };
            if label.is_some() {
                losses.entry(
                    What::Label,
                    &entry.id,
                    "it marks the start of the session, not an entry",
                );
            }
            false
        });
    }

    /// Leaves the path to where it stands, and what stands beside it.
    fn narrow(&mut self) {
        let path: HashSet<usize> = self.path().into_iter().collect();
        let on_path: HashSet<EntryId> =
            path.iter().map(|at| self.entries[*at].id.clone()).collect();
        let labels = self.last_labels();
        let mut at = 0;
        self.entries.retain_mut(|entry| {
            let place = at;
            at += 1;
            entry.lane = Lane::main();
            let anchored = entry.parent_id.as_ref().is_none_or(|parent| on_path.contains(parent));
            match &entry.body {
                Body::Label { target_id: Some(target), .. } => {
                    let counts = labels.get(target) == Some(&entry.id) && on_path.contains(target);
                    if counts && !anchored {
                        entry.parent_id = Some(target.clone());
                    }
                    counts
                }
                // The header has the title; what was in flight is none of a path.
                Body::Label { .. } | Body::SessionInfo(_) | Body::Operation(_) => false,
                Body::Custom { aside: true, .. } => anchored && entry.parent_id.is_some(),
                _ => path.contains(&place),
            }
        });
    }

    /// For each labelled entry, the line that counts; a label that was cleared has none.
    pub fn last_labels(&self) -> HashMap<EntryId, EntryId> {
        let mut last = HashMap::new();
        for entry in &self.entries {
            if let Body::Label { label, target_id: Some(target) } = &entry.body {
                match label.as_ref().is_some_and(|label| !label.is_empty()) {
                    true => last.insert(target.clone(), entry.id.clone()),
                    false => last.remove(target),
                };
            }
        }
        last
    }

    /// The title, where there is one.
    pub fn title(&self) -> Option<&Text> {
        self.info.title.as_ref().filter(|title| !title.is_empty())
    }

    /// The working folder; nothing where none is known.
    pub fn cwd(&self) -> Text {
        self.info.cwd.clone().unwrap_or_default()
    }

    /// The metadata, without what the import noted in it.
    pub(super) fn metadata(&self) -> Option<Json> {
        let object = self.info.metadata.as_ref()?.as_object()?;
        let mut out = Out::default();
        let others = object.iter().filter(|(key, _)| **key != crate::import::ORIGIN_KEY);
        out.rest(others.map(|(key, value)| (key, value.get())));
        (!out.is_empty()).then(|| out.into_json())
    }

    /// The entries that no path entry follows: the ends of branches.
    pub fn tips(&self) -> Vec<EntryId> {
        let on_path = |entry: &&Entry| !entry.body.is_sidecar();
        let followed: HashSet<&EntryId> =
            self.entries.iter().filter(on_path).filter_map(|e| e.parent_id.as_ref()).collect();
        let path = self.entries.iter().filter(on_path);
        path.filter(|entry| !followed.contains(&entry.id)).map(|e| e.id.clone()).collect()
    }
}
