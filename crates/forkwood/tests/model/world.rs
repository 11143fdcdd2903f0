//! Two handles on one log, and the model of it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use forkwood::blocking::{Session, SessionStore};
use forkwood::storage::disk::Crash;
use forkwood::storage::disk::SimDisk;
use forkwood::storage::jsonl::{JsonlOptions, JsonlStorage};
use forkwood::{
    AppendOptions, Body, CreateOptions, EntryId, ErrorKind, IdSource, Lane, ManualClock,
    OnConflict, Result, Sequential, Text, Timestamp,
};

use crate::fold;
use crate::ops::{How, Op, Pick, What, Who};

pub(crate) const ROOT: &str = "/store";

/// An entry of the model.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) id: EntryId,
    pub(crate) parent: Option<EntryId>,
    pub(crate) body: Body,
    pub(crate) sidecar: bool,
}

/// One handle of the model: where it looks and what it saw.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) lane: String,
    pub(crate) leaf: Option<EntryId>,
}

pub(crate) struct World {
    pub(crate) disk: SimDisk,
    pub(crate) ids: Arc<dyn IdSource>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) stores: [SessionStore; 2],
    pub(crate) sessions: [Session; 2],
    pub(crate) lines: Vec<Line>,
    pub(crate) lanes: BTreeMap<String, EntryId>,
    pub(crate) labels: HashMap<EntryId, Text>,
    pub(crate) title: Option<Text>,
    pub(crate) seen: [Seen; 2],
}

pub(crate) fn store(
    disk: &SimDisk,
    ids: &Arc<dyn IdSource>,
    clock: &Arc<ManualClock>,
) -> SessionStore {
    let options = JsonlOptions::default()
        .with_disk(Arc::new(disk.clone()))
        .with_clock(Arc::clone(clock) as Arc<dyn forkwood::Clock>);
    let storage = JsonlStorage::store(Path::new(ROOT), options).unwrap();
    forkwood::SessionStore::new(Arc::new(storage)).with_ids(Arc::clone(ids)).into()
}

impl World {
    pub(crate) fn new() -> World {
        let disk = SimDisk::new();
        let ids: Arc<dyn IdSource> = Arc::new(Sequential::new("e"));
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_800_000_000_000)));
        let stores = [store(&disk, &ids, &clock), store(&disk, &ids, &clock)];
        let first = stores[0].create(CreateOptions::default()).unwrap();
        let second = stores[1].open(first.id().as_str()).unwrap();
        let root = first.entries().unwrap().remove(0).entry;
        let leaf = Some(root.id.clone());
        let seen = Seen { lane: "main".into(), leaf };
        World {
            disk,
            ids,
            clock,
            stores,
            sessions: [first, second],
            lines: vec![Line {
                id: root.id.clone(),
                parent: None,
                body: root.body,
                sidecar: false,
            }],
            lanes: BTreeMap::from([("main".into(), root.id)]),
            labels: HashMap::new(),
            title: None,
            seen: [seen.clone(), seen],
        }
    }

    pub(crate) fn line(&self, id: &EntryId) -> Option<&Line> {
        self.lines.iter().find(|line| line.id == *id)
    }

    pub(crate) fn pick(&self, pick: Pick) -> EntryId {
        self.lines[pick % self.lines.len()].id.clone()
    }

    /// The path to an entry; at what stands beside it, to its ancestor on it.
    pub(crate) fn path(&self, id: &EntryId) -> Vec<&Line> {
        let mut path = Vec::new();
        let mut next = Some(id.clone());
        while let Some(line) = next.and_then(|id| self.line(&id)) {
            if !line.sidecar {
                path.push(line);
            }
            next = line.parent.clone();
        }
        path.reverse();
        path
    }

    fn path_entry(&self, id: &EntryId) -> EntryId {
        self.path(id).last().unwrap().id.clone()
    }

    pub(crate) fn compaction_on<'a>(&self, path: &[&'a Line]) -> Option<&'a Line> {
        path.iter().rev().find(|line| matches!(line.body, Body::Compaction(_))).copied()
    }

    fn actual(&self, who: Who) -> Option<EntryId> {
        self.lanes.get(&self.seen[who].lane).cloned()
    }

    /// What a write that expects its lane where the handle saw it must come to.
    fn outcome(&self, who: Who, branch: bool) -> Outcome {
        let seen = &self.seen[who].leaf;
        if self.actual(who) == *seen {
            Outcome::Fine
        } else if !branch {
            Outcome::Refused(ErrorKind::Conflict)
        } else if seen.as_ref().is_some_and(|seen| self.line(seen).is_none()) {
            Outcome::Refused(ErrorKind::NotFound)
        } else {
            Outcome::Branched
        }
    }

    /// Takes entries that were written as new, hanging from `start`.
    fn take(&mut self, who: Who, start: Option<EntryId>, written: Vec<(EntryId, Body)>) {
        let mut leaf = start;
        for (id, body) in written {
            let sidecar = body.is_sidecar();
            self.lines.push(Line { id: id.clone(), parent: leaf.clone(), body, sidecar });
            if !sidecar {
                leaf = Some(id);
            }
        }
        self.seen[who].lane = self.sessions[who].lane().to_string();
        self.seen[who].leaf.clone_from(&leaf);
        if let Some(leaf) = leaf {
            self.lanes.insert(self.seen[who].lane.clone(), leaf);
        }
        assert_eq!(self.sessions[who].leaf(), self.seen[who].leaf.as_ref());
    }

    /// After a write that was refused, nothing is different.
    fn refused<T: std::fmt::Debug>(&self, who: Who, kind: ErrorKind, result: Result<T>) {
        assert_eq!(result.unwrap_err().kind(), kind);
        assert_eq!(self.sessions[who].leaf(), self.seen[who].leaf.as_ref());
        assert_eq!(self.sessions[who].lane().as_str(), self.seen[who].lane);
    }

    pub(crate) fn run(&mut self, op: &Op) {
        self.clock.advance(1_000_000);
        // A handle whose lane went with a reset goes back to main.
        for who in 0..2 {
            if !self.lanes.contains_key(&self.seen[who].lane) {
                self.use_lane(who, "main");
            }
        }
        match op {
            Op::Append { who, what, parent, branch } => {
                self.append(*who, std::slice::from_ref(what), *parent, *branch);
            }
            Op::Batch { who, what } => self.append(*who, what, None, false),
            Op::Compact { who, how } => self.compact(*who, how),
            Op::Rewind { who, to, past, branch } => self.rewind(*who, *to, *past, *branch),
            Op::Label { who, on, label } => self.label(*who, *on, *label),
            Op::Rename { who, title } => {
                self.sessions[*who].rename(*title).unwrap();
                self.title = (!title.is_empty()).then(|| (*title).into());
            }
            Op::CreateLane { who, lane, at } => {
                let (name, at) = (Lane::new(lane).unwrap(), self.pick(*at));
                let result = self.sessions[*who].create_lane(name, &at);
                match self.lanes.contains_key(*lane) {
                    true => assert_eq!(result.unwrap_err().kind(), ErrorKind::Exists),
                    false => {
                        result.unwrap();
                        self.lanes.insert((*lane).into(), self.path_entry(&at));
                    }
                }
            }
            Op::MoveLane { who, lane, to } => self.move_lane(*who, lane, *to),
            Op::UseLane { who, lane } => self.use_lane(*who, lane),
            Op::Reload { who } => {
                self.sessions[*who].reload().unwrap();
                self.seen[*who].leaf = self.actual(*who);
            }
            Op::Fork { at } => crate::check::fork(self, &self.pick(*at)),
            Op::Reopen { who } => self.reopen(*who),
            Op::Crash => {
                self.disk.crash(Crash::HARD);
                self.reopen(0);
                self.reopen(1);
            }
            Op::Vacuum { who, prune } => {
                self.sessions[*who].vacuum(*prune).unwrap();
                if *prune {
                    self.prune();
                }
            }
            Op::Reset { who } => {
                self.sessions[*who].reset().unwrap();
                self.lines.truncate(1);
                self.lanes = BTreeMap::from([("main".into(), self.lines[0].id.clone())]);
                self.labels.clear();
                self.title = self.sessions[*who].title().cloned();
                self.seen[*who].leaf = self.actual(*who);
            }
        }
        for who in 0..2 {
            assert_eq!(self.sessions[who].leaf(), self.seen[who].leaf.as_ref());
        }
    }

    fn append(&mut self, who: Who, what: &[What], parent: Option<Pick>, branch: bool) {
        let bodies: Vec<Body> = what.iter().map(|what| what.body(|pick| self.pick(pick))).collect();
        let options = AppendOptions {
            parent: parent.map(|parent| self.pick(parent)),
            on_conflict: branch.then_some(OnConflict::Branch),
            ..AppendOptions::default()
        };
        let start = match &options.parent {
            Some(parent) => Some(self.path_entry(parent)),
            None => self.seen[who].leaf.clone(),
        };
        let beside = options.parent.is_none() && bodies.iter().all(Body::is_sidecar);
        let result = self.sessions[who].append_batch(bodies.clone(), options);
        if beside {
            for (entry, body) in result.unwrap().entries.into_iter().zip(bodies) {
                let parent = self.actual(who);
                self.lines.push(Line { id: entry.id, parent, body, sidecar: true });
            }
            return;
        }
        match self.outcome(who, branch) {
            Outcome::Refused(kind) => self.refused(who, kind, result),
            outcome => {
                let ids = result.unwrap().entries.into_iter().map(|entry| entry.id);
                self.check_lane(who, outcome);
                self.take(who, start, ids.zip(bodies).collect());
            }
        }
    }

    /// A conflict that branched went to a lane of its own.
    fn check_lane(&self, who: Who, outcome: Outcome) {
        let lane = self.sessions[who].lane().as_str();
        match outcome {
            Outcome::Branched => {
                assert!(lane.starts_with(&format!("{}-", self.seen[who].lane)), "{lane}");
                assert!(!self.lanes.contains_key(lane), "{lane}");
            }
            _ => assert_eq!(lane, self.seen[who].lane),
        }
    }

    fn compact(&mut self, who: Who, how: &How) {
        let mut compaction = how.compaction(|pick| self.pick(pick));
        let result = self.sessions[who].add_compaction(compaction.clone());
        let seen = self.seen[who].leaf.clone().unwrap();
        let off_path = self.line(&seen).is_some()
            && compaction
                .first_kept_entry_id
                .as_ref()
                .is_some_and(|first| !self.path(&seen).iter().any(|line| line.id == *first));
        if off_path {
            return self.refused(who, ErrorKind::Invalid, result);
        }
        if let Outcome::Refused(kind) = self.outcome(who, false) {
            return self.refused(who, kind, result);
        }
        let id = result.unwrap();
        if compaction.replaces_entry_ids.is_empty() && !compaction.is_boundary() {
            compaction.first_kept_entry_id = Some(id.clone());
        }
        let settings = fold::settings(&self.path(&seen));
        compaction.state = Some(forkwood::core::entry::CompactionState {
            model: settings.model,
            provider: settings.provider,
            thinking_level: settings.thinking_level,
            active_tool_names: settings.active_tool_names,
        });
        self.take(who, Some(seen), vec![(id, Body::Compaction(compaction))]);
    }

    fn rewind(&mut self, who: Who, to: Pick, past: bool, branch: bool) {
        let to = self.pick(to);
        let target = self.path_entry(&to);
        let policy = if branch { OnConflict::Branch } else { OnConflict::Fail };
        self.sessions[who].set_on_conflict(policy);
        let result = match past {
            true => self.sessions[who].rewind_past_compaction(&to),
            false => self.sessions[who].rewind(&to),
        };
        self.sessions[who].set_on_conflict(OnConflict::Fail);
        if !past
            && let Some(leaf) = self.actual(who)
            && self.before_floor(&leaf, &target)
        {
            return self.refused(who, ErrorKind::BeforeFloor, result);
        }
        match self.outcome(who, branch) {
            Outcome::Refused(kind) => self.refused(who, kind, result),
            outcome => {
                result.unwrap();
                self.check_lane(who, outcome);
                self.take(who, Some(target), Vec::new());
            }
        }
    }

    /// Whether an entry lies before the floor that holds a lane which stands at `leaf`.
    fn before_floor(&self, leaf: &EntryId, target: &EntryId) -> bool {
        let Some(compaction) = self.compaction_on(&self.path(leaf)) else { return false };
        let Some(floor) = &compaction.parent else { return false };
        floor != target && self.path(floor).iter().any(|line| line.id == *target)
    }

    fn label(&mut self, who: Who, on: Pick, label: Option<&'static str>) {
        let on = self.pick(on);
        let target = self.path_entry(&on);
        let before = self.sessions[who].leaf().cloned();
        let label: Option<Text> = label.map(Text::from);
        let id = self.sessions[who].label(&on, label.clone()).unwrap();
        assert_eq!(self.sessions[who].leaf(), before.as_ref(), "a label moves nothing");
        match label.clone().filter(|label| !label.is_empty()) {
            Some(label) => self.labels.insert(target.clone(), label),
            None => self.labels.remove(&target),
        };
        self.lines.push(Line {
            id,
            parent: self.actual(who),
            body: Body::Label { label, target_id: Some(target) },
            sidecar: true,
        });
    }

    fn move_lane(&mut self, who: Who, lane: &str, to: Pick) {
        let to = self.pick(to);
        let result = self.sessions[who].move_lane(&Lane::new(lane).unwrap(), &to);
        if !self.lanes.contains_key(lane) {
            return self.refused(who, ErrorKind::NotFound, result);
        }
        let target = self.path_entry(&to);
        if let Some(leaf) = self.lanes.get(lane).cloned()
            && self.before_floor(&leaf, &target)
        {
            return self.refused(who, ErrorKind::BeforeFloor, result);
        }
        result.unwrap();
        self.lanes.insert(lane.into(), target.clone());
        if self.seen[who].lane == lane {
            self.seen[who].leaf = Some(target);
        }
    }

    fn use_lane(&mut self, who: Who, lane: &str) {
        let result = self.sessions[who].use_lane(Lane::new(lane).unwrap());
        match self.lanes.get(lane) {
            None => self.refused(who, ErrorKind::NotFound, result),
            Some(leaf) => {
                result.unwrap();
                self.seen[who] = Seen { lane: lane.into(), leaf: Some(leaf.clone()) };
            }
        }
    }

    fn reopen(&mut self, who: Who) {
        self.stores[who] = store(&self.disk, &self.ids, &self.clock);
        self.sessions[who] = self.stores[who].open(self.sessions[who].id().as_str()).unwrap();
        self.seen[who] = Seen { lane: "main".into(), leaf: self.lanes.get("main").cloned() };
    }

    /// What no lane and no label reaches goes.
    fn prune(&mut self) {
        let starts = self.lanes.values().chain(self.labels.keys());
        let reached: Vec<EntryId> =
            starts.flat_map(|start| self.path(start)).map(|line| line.id.clone()).collect();
        let stays: Vec<bool> = self
            .lines
            .iter()
            .map(|line| match (&line.body, line.sidecar) {
                (_, false) => reached.contains(&line.id),
                (Body::Label { target_id: Some(target), .. }, _) => reached.contains(target),
                _ => line.parent.as_ref().is_some_and(|parent| reached.contains(parent)),
            })
            .collect();
        let mut stays = stays.into_iter();
        self.lines.retain(|_| stays.next().unwrap());
        // Whether the lines of labels that say nothing any more go as well is left open.
        let there: Vec<EntryId> =
            self.sessions[0].heads().unwrap().into_iter().map(|head| head.id).collect();
        self.lines
            .retain(|line| !matches!(line.body, Body::Label { .. }) || there.contains(&line.id));
        let there: Vec<EntryId> = self.lines.iter().map(|line| line.id.clone()).collect();
        for line in &mut self.lines {
            if let Body::Label { target_id: Some(target), .. } = &line.body
                && !line.parent.as_ref().is_some_and(|parent| there.contains(parent))
            {
                line.parent = Some(target.clone());
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    Fine,
    Branched,
    Refused(ErrorKind),
}
