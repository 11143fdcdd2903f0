//! What is known of a log without its bodies: about 60 bytes an entry.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use forkwood_core::settle::{self, CutReason, Link, Parent};
use forkwood_core::{Diagnostic, DiagnosticKind, EntryId, EntryKind, Lane, Role, Timestamp};
use hashbrown::HashTable;

use super::arena::{IdArena, IdRef};
use super::dialect::{Dialect, Moves, ParentName, RecordHead};
use super::links;

pub(super) const NONE: u32 = u32::MAX;

/// At most so many findings are kept of one scan.
const MAX_FINDINGS: usize = 1000;

/// One entry of the index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rec {
    /// Where its record starts.
    pub offset: u64,
    /// The length of its record.
    pub len: u32,
    /// Its parent as the file has it, [`NONE`] for a root and while it is not known.
    parent: u32,
    id: IdRef,
    /// Its line.
    pub line: u32,
    /// Its lane, as an index.
    pub lane: u16,
    pub kind: EntryKind,
    role: u8,
    flags: u8,
}

const SIDECAR: u8 = 1;
const RENAMED: u8 = 2;
const EXPLICIT_ROOT: u8 = 4;

/// A lane and where it stands.
#[derive(Clone, Debug)]
pub(super) struct LaneRec {
    pub lane: Lane,
    pub leaf: u32,
    /// Whether anything named it.
    pub known: bool,
}

/// A record to be added.
#[derive(Debug)]
pub(super) struct Place {
    pub offset: u64,
    pub len: u32,
    pub line: u32,
}

#[derive(Debug)]
pub(super) struct Index {
    recs: Vec<Rec>,
    ids: IdArena,
    table: HashTable<u32>,
    hasher: RandomState,
    lanes: Vec<LaneRec>,
    lane_numbers: HashMap<Lane, u16>,
    /// Entries whose parent is not known, with the name of it.
    unresolved: HashMap<u32, String>,
    /// Ids that are waited for, and by whom.
    waiting: HashMap<String, Vec<u32>>,
    /// Parents that settling gave, where they differ from what the file says.
    settled: HashMap<u32, u32>,
    /// Whether a parent stands behind its child anywhere.
    forward: bool,
    dirty: bool,
    pub infos: Vec<u32>,
    pub findings: Vec<Diagnostic>,
    more_findings: u64,
    /// Findings about links, made anew each time links are settled.
    link_findings: Vec<Diagnostic>,
    /// Whether a record moved `main`.
    pub main_moved: bool,
    pub counts: Counts,
    /// What the dialect noted for settling links.
    pub hints: Vec<(u32, String)>,
}

/// What lists show, counted while reading.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub messages: u64,
    pub user: u64,
    pub assistant: u64,
    /// The first message of the user.
    pub first_user: Option<u32>,
    /// The newest message of the user or the model, by the entry's time.
    pub newest: Option<(Option<Timestamp>, u32)>,
}

impl Counts {
    fn take(&mut self, head: &RecordHead<'_>, at: u32) {
        if head.kind != EntryKind::Message {
            return;
        }
        self.messages += 1;
        match head.role {
            Some(Role::User) => {
                self.user += 1;
                self.first_user.get_or_insert(at);
            }
            Some(Role::Assistant) => self.assistant += 1,
            _ => return,
        }
        if self.newest.is_none_or(|(newest, _)| head.timestamp >= newest) {
            self.newest = Some((head.timestamp, at));
        }
    }
}

impl Index {
    pub(super) fn new() -> Index {
        Index {
            recs: Vec::new(),
            ids: IdArena::default(),
            table: HashTable::new(),
            hasher: RandomState::new(),
            lanes: vec![LaneRec { lane: Lane::main(), leaf: NONE, known: true }],
            lane_numbers: HashMap::from([(Lane::main(), 0)]),
            unresolved: HashMap::new(),
            waiting: HashMap::new(),
            settled: HashMap::new(),
            forward: false,
            dirty: false,
            infos: Vec::new(),
            findings: Vec::new(),
            more_findings: 0,
            link_findings: Vec::new(),
            main_moved: false,
            counts: Counts::default(),
            hints: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.recs.len() as u32
    }

    pub(super) fn rec(&self, at: u32) -> &Rec {
        &self.recs[at as usize]
    }

    pub(super) fn recs(&self) -> &[Rec] {
        &self.recs
    }

    pub(super) fn is_sidecar(&self, at: u32) -> bool {
        self.recs[at as usize].flags & SIDECAR != 0
    }

    pub(super) fn role(&self, at: u32) -> Option<Role> {
        role_from(self.recs[at as usize].role)
    }

    pub(super) fn id(&self, at: u32) -> EntryId {
        let rec = self.rec(at);
        let id = self.ids.get(rec.id);
        if rec.flags & RENAMED != 0 {
            EntryId::from(format!("{id}@{}", rec.line))
        } else {
            EntryId::from(id)
        }
    }

    /// The settled parent.
    pub(super) fn parent(&self, at: u32) -> Option<u32> {
        let parent = self.settled.get(&at).copied().unwrap_or(self.recs[at as usize].parent);
        (parent != NONE).then_some(parent)
    }

    pub(super) fn parent_id(&self, at: u32) -> Option<EntryId> {
        self.parent(at).map(|parent| self.id(parent))
    }

    /// The entry of an id, `id@line` included.
    pub(super) fn find(&self, id: &str) -> Option<u32> {
        if let Some(at) = self.find_exact(id) {
            return Some(at);
        }
        let (base, line) = id.rsplit_once('@')?;
        let line: u32 = line.parse().ok()?;
        let from = self.recs.partition_point(|rec| rec.line < line);
        (from as u32..self.len())
            .take_while(|at| self.rec(*at).line == line)
            .find(|at| self.rec(*at).flags & RENAMED != 0 && self.ids.is(self.rec(*at).id, base))
    }

    fn find_exact(&self, id: &str) -> Option<u32> {
        let hash = self.hasher.hash_one(id);
        self.table.find(hash, |at| self.ids.is(self.recs[*at as usize].id, id)).copied()
    }

    /// Whether a record of this id is there already.
    pub(super) fn known(&self, id: &str) -> Option<u32> {
        self.find_exact(id)
    }

    pub(super) fn lanes(&self) -> &[LaneRec] {
        &self.lanes
    }

    /// The state of a lane that something named.
    pub(super) fn lane(&self, lane: &Lane) -> Option<&LaneRec> {
        self.lane_numbers.get(lane).map(|at| &self.lanes[usize::from(*at)])
    }

    /// Whether a record names this parent, as the scan took it.
    pub(super) fn has_parent(&self, at: u32, name: Option<&str>) -> bool {
        let parent = self.rec(at).parent;
        match name {
            None => parent == NONE,
            Some(name) => self.find(name).and_then(|found| self.above(found)) == Some(parent),
        }
    }

    /// Forgets what was found from an offset on: the tail that is read again.
    pub(super) fn forget_findings_from(&mut self, offset: u64) {
        self.findings.retain(|finding| finding.offset.is_none_or(|at| at < offset));
    }

    fn lane_index(&mut self, name: Option<&str>) -> u16 {
        let lane = match name {
            None => return 0,
            Some(name) => match Lane::new(name) {
                Ok(lane) => lane,
                Err(_) => return 0,
            },
        };
        if let Some(at) = self.lane_numbers.get(&lane) {
            return *at;
        }
        if self.lanes.len() >= usize::from(u16::MAX) {
            return 0;
        }
        let at = self.lanes.len() as u16;
        self.lane_numbers.insert(lane.clone(), at);
        self.lanes.push(LaneRec { lane, leaf: NONE, known: true });
        at
    }

    pub(super) fn report(&mut self, finding: Diagnostic) {
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(finding);
        } else {
            self.more_findings += 1;
        }
    }

    /// Adds a record. `renames` is an earlier one with the same id and other bytes. Gives false
    /// where the index is full.
    pub(super) fn add(
        &mut self,
        head: &RecordHead<'_>,
        place: Place,
        renames: Option<u32>,
    ) -> bool {
        let at = self.len();
        let Some(id) = self.ids.push(&head.id).filter(|_| at < NONE - 1) else { return false };
        let lane = self.lane_index(head.lane.as_deref());
        let mut flags = if head.sidecar { SIDECAR } else { 0 };
        let mut parent = NONE;
        let mut unknown: Option<String> = None;
        match &head.parent {
            ParentName::Root => flags |= EXPLICIT_ROOT,
            ParentName::Previous => match at.checked_sub(1) {
                Some(before) => parent = before,
                None => flags |= EXPLICIT_ROOT,
            },
            ParentName::Named(name) => match self.find(name).map(|found| self.above(found)) {
                Some(Some(found)) => parent = found,
                _ => unknown = Some(name.clone().into_owned()),
            },
        }
        self.reserve();
        self.recs.push(Rec {
            offset: place.offset,
            len: place.len,
            parent,
            id,
            line: place.line,
            lane,
            kind: head.kind,
            role: role_code(head.role.as_ref()),
            flags,
        });
        if let Some(name) = unknown {
            self.waiting.entry(name.clone()).or_default().push(at);
            self.unresolved.insert(at, name);
            self.dirty = true;
        }
        let hash = self.hasher.hash_one(head.id.as_ref());
        if let Some(earlier) = renames {
            self.recs[earlier as usize].flags |= RENAMED;
            if let Ok(entry) = self.table.find_entry(hash, |known| *known == earlier) {
                entry.remove();
            }
        }
        let Index { table, hasher, ids, recs, .. } = self;
        table.insert_unique(hash, at, |known| {
            hasher.hash_one(ids.get(recs[*known as usize].id).as_str())
        });
        for child in self.waiting.remove(head.id.as_ref()).unwrap_or_default() {
            self.recs[child as usize].parent = at;
            self.unresolved.remove(&child);
            self.forward = true;
            self.dirty = true;
        }
        if head.kind == EntryKind::SessionInfo {
            self.infos.push(at);
        }
        self.counts.take(head, at);
        self.replay(head, at, lane);
        true
    }

    fn reserve(&mut self) {
        if self.recs.len() == self.recs.capacity() {
            self.recs.reserve_exact((self.recs.len() / 8).max(64));
        }
    }

    /// An entry, or the nearest path entry above a sidecar.
    pub(super) fn above(&self, at: u32) -> Option<u32> {
        if !self.is_sidecar(at) {
            return Some(at);
        }
        // A sidecar's own parent was found in the same way, so that one step is enough, but for
        // files whose sidecars were linked forward.
        let mut next = self.parent(at);
        for _ in 0..64 {
            match next {
                Some(up) if self.is_sidecar(up) => next = self.parent(up),
                other => return other,
            }
        }
        None
    }

    fn replay(&mut self, head: &RecordHead<'_>, at: u32, lane: u16) {
        let leaf = match &head.moves {
            Moves::Nothing => return,
            Moves::ToSelf => at,
            Moves::To(None) => NONE,
            Moves::To(Some(target)) => {
                match self.find(target).and_then(|found| self.above(found)) {
                    Some(found) => found,
                    None => {
                        let rec = *self.rec(at);
                        let finding = Diagnostic::new(
                            DiagnosticKind::UnknownTarget,
                            format!(
                                "the pointer names {target}, which is not there; it moves nothing"
                            ),
                        );
                        let id = self.id(at);
                        self.report(finding.at(u64::from(rec.line), rec.offset).of(id));
                        return;
                    }
                }
            }
        };
        self.main_moved |= lane == 0;
        self.lanes[usize::from(lane)].leaf = leaf;
    }

    /// Puts `main` somewhere, as a header or a pointer file says.
    pub(super) fn set_main(&mut self, leaf: Option<u32>) {
        self.lanes[0].leaf = leaf.unwrap_or(NONE);
    }

    /// Whether links have to be settled: a parent is missing or stands behind its child.
    pub(super) fn is_unsettled(&self) -> bool {
        self.dirty
    }

    /// Settles links, if there is anything to settle.
    pub(super) fn settle(&mut self, bridge: bool, dialect: &dyn Dialect) {
        if !std::mem::take(&mut self.dirty) && !dialect.relinks() {
            return;
        }
        let links: Vec<Link> = (0..self.len())
            .map(|at| {
                let rec = self.rec(at);
                let parent = if rec.parent != NONE {
                    Parent::At(rec.parent)
                } else if self.unresolved.contains_key(&at) {
                    Parent::Missing
                } else {
                    Parent::Root
                };
                Link { parent, lane: rec.lane, sidecar: rec.flags & SIDECAR != 0 }
            })
            .collect();
        let mut settled = settle::settle(&links, bridge);
        if dialect.relinks()
            && let Some(leaf) = links::relink(self, &mut settled.parents, dialect)
        {
            self.set_main(Some(leaf));
        }
        self.settled.clear();
        for (at, parent) in settled.parents.iter().enumerate() {
            let parent = parent.unwrap_or(NONE);
            if parent != self.recs[at].parent {
                self.settled.insert(at as u32, parent);
            }
        }
        self.link_findings = settled.cuts.iter().take(MAX_FINDINGS).map(|cut| {
            let what = match cut.reason {
                CutReason::Missing => {
                    let name = self.unresolved.get(&cut.at).cloned().unwrap_or_default();
                    format!("its parent {name} is not in the file")
                }
                CutReason::Cycle => "its parent links form a ring, which is cut here".to_owned(),
            };
            let done = match cut.bridged_to {
                Some(to) => format!(
                    "it is shown after {}, the entry before it; its owner's program would leave {} entries out of the context",
                    self.id(to), cut.gained
                ),
                None => "it is shown as a root".to_owned(),
            };
            let kind = match cut.reason {
                CutReason::Missing => DiagnosticKind::MissingParent,
                CutReason::Cycle => DiagnosticKind::Cycle,
            };
            let rec = self.rec(cut.at);
            Diagnostic::new(kind, format!("{what}; {done}"))
                .at(u64::from(rec.line), rec.offset)
                .of(self.id(cut.at))
        }).collect();
    }

    /// Everything found so far.
    pub(super) fn all_findings(&self) -> Vec<Diagnostic> {
        let mut all = self.findings.clone();
        all.extend(self.link_findings.iter().cloned());
        if self.more_findings > 0 {
            all.push(Diagnostic::new(
                DiagnosticKind::More,
                format!("{} more findings are not listed", self.more_findings),
            ));
        }
        all
    }

    /// The path to an entry, root first; at a sidecar, to its path ancestor.
    pub(super) fn path(&self, to: u32) -> Vec<u32> {
        let mut path = Vec::new();
        let mut next = self.above(to);
        while let Some(at) = next
            && path.len() <= self.recs.len()
        {
            path.push(at);
            next = self.parent(at);
        }
        path.reverse();
        path
    }
}

fn role_code(role: Option<&Role>) -> u8 {
    match role {
        None => 0,
        Some(Role::System) => 1,
        Some(Role::Developer) => 2,
        Some(Role::User) => 3,
        Some(Role::Assistant) => 4,
        Some(Role::Tool) => 5,
        Some(Role::Other(_)) => 6,
    }
}

fn role_from(code: u8) -> Option<Role> {
    match code {
        1 => Some(Role::System),
        2 => Some(Role::Developer),
        3 => Some(Role::User),
        4 => Some(Role::Assistant),
        5 => Some(Role::Tool),
        6 => Some(Role::Other("other".into())),
        _ => None,
    }
}
