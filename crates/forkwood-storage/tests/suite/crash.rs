//! The machine stops: at every change of the disk, with every way of losing what was not synced.
//! What was acknowledged is there afterwards, once and whole; what was not is there whole or not
//! at all; and writing goes on.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use forkwood_core::{Body, Draft, EntryId, Lane, Timestamp};
use forkwood_storage::disk::{Crash, SimDisk};
use forkwood_storage::jsonl::{JsonlOptions, JsonlStorage};
use forkwood_storage::{Append, Durability, Rewrite, SessionStorage};

use crate::common::*;

/// What happens to a session, by plan.
#[derive(Clone, Copy, Debug)]
enum Op {
    Create,
    Write { lane: &'static str, count: u64 },
    Rewind { back: u64 },
    Label,
    Compact,
    Grouped,
    Blob,
    Vacuum,
    Repair,
    Reset,
    DeleteAndRestore,
    DeleteAndPurge,
}

/// Repeatable numbers that look random.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

fn plan(seed: u64, length: usize) -> Vec<Op> {
    let mut dice = Dice(seed * 0x9e37_79b9 + 88_172_645);
    let mut ops = vec![Op::Create, Op::Write { lane: "main", count: 1 }];
    while ops.len() < length {
        ops.push(match dice.roll(16) {
            0..=2 => Op::Write { lane: "main", count: 1 },
            3..=4 => Op::Write { lane: "main", count: 1 + dice.roll(4) },
            5 => Op::Write { lane: "side", count: 1 + dice.roll(2) },
            6..=7 => Op::Rewind { back: dice.roll(5) },
            8 => Op::Label,
            9 => Op::Compact,
            10 => Op::Grouped,
            11 => Op::Blob,
            12 => Op::Vacuum,
            13 => Op::Repair,
            14 if dice.roll(3) == 0 => Op::Reset,
            15 if dice.roll(3) == 0 => Op::DeleteAndPurge,
            15 => Op::DeleteAndRestore,
            _ => Op::Label,
        });
    }
    ops
}

/// What was acknowledged.
#[derive(Clone, Debug, Default)]
struct Model {
    created: bool,
    /// What every entry says, pointer lines left out: a vacuum may drop them.
    bodies: HashMap<EntryId, Body>,
    parents: HashMap<EntryId, Option<EntryId>>,
    lanes: BTreeMap<Lane, Option<EntryId>>,
    blobs: Vec<String>,
    /// What the write in flight says.
    flying: Vec<Draft>,
    resetting: bool,
    purging: bool,
    next: u64,
}

/// With the clock of the machine: what is put in the trash later is newer.
fn on(disk: &SimDisk) -> JsonlStorage {
    let options = JsonlOptions::default().with_disk(Arc::new(disk.clone()));
    JsonlStorage::store(ROOT.as_ref(), options).unwrap()
}

fn session() -> forkwood_core::SessionId {
    sid("20260101-000000-00000001")
}

impl Model {
    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// One step; an error where the machine stopped meanwhile.
    fn step(&mut self, storage: &dyn SessionStorage, op: Op) -> forkwood_storage::Result<()> {
        let s = session();
        self.flying.clear();
        let main = self.lanes.get(&Lane::main()).cloned().flatten();
        match op {
            Op::Create => {
                let new =
                    forkwood_storage::NewSession { id: Some(s.clone()), ..Default::default() };
                run(storage.create(new))?;
                self.created = true;
                let header = &run(storage.heads(&s))?[0];
                self.parents.insert(header.id.clone(), None);
                self.lanes.insert(Lane::main(), Some(header.id.clone()));
            }
            Op::Write { lane, count } => {
                let drafts = (0..count).map(|_| user(self.fresh(), "said")).collect();
                return self.append(storage, lane, drafts, Durability::Sync);
            }
            Op::Grouped => {
                let drafts = vec![answer(self.fresh(), "grouped"), user(self.fresh(), "x")];
                return self.append(storage, "main", drafts, Durability::Group(Duration::ZERO));
            }
            Op::Rewind { back } => {
                let mut to = main.clone();
                for _ in 0..back {
                    to = to.clone().and_then(|at| self.parents[&at].clone()).or(to);
                }
                let Some(to) = to else { return Ok(()) };
                let drafts = vec![leaf(self.fresh(), &to), user(self.fresh(), "elsewhere")];
                let count = if back % 2 == 0 { 1 } else { 2 };
                let drafts = drafts.into_iter().take(count).collect();
                return self.append(storage, "main", drafts, Durability::Sync);
            }
            Op::Label => {
                let drafts = vec![label(self.fresh(), "marked", main.as_ref())];
                return self.append(storage, "main", drafts, Durability::Sync);
            }
            Op::Compact => {
                let drafts = vec![compaction(self.fresh(), "short", main.as_ref())];
                return self.append(storage, "main", drafts, Durability::Sync);
            }
            Op::Blob => {
                let bytes = self.fresh().to_string();
                self.blobs.push(run(storage.put_blob(bytes.as_bytes()))?);
            }
            Op::Vacuum => {
                run(storage.rewrite(&s, Rewrite::Vacuum { prune_branches: false }))?;
            }
            Op::Repair => {
                run(storage.rewrite(&s, Rewrite::Repair))?;
            }
            Op::Reset => {
                self.resetting = true;
                run(storage.rewrite(&s, Rewrite::Reset))?;
                self.resetting = false;
                self.forget(&run(storage.heads(&s))?[0].id);
            }
            Op::DeleteAndRestore => {
                run(storage.delete(&s, false))?;
                run(storage.restore(&s))?;
            }
            Op::DeleteAndPurge => {
                self.purging = true;
                run(storage.delete(&s, false))?;
                // No entry names them.
                self.blobs.clear();
                run(storage.purge(Some(&s), Timestamp::default()))?;
                *self = Model { next: self.next, ..Model::default() };
                return self.step(storage, Op::Create);
            }
        }
        Ok(())
    }

    fn append(
        &mut self,
        storage: &dyn SessionStorage,
        lane: &str,
        drafts: Vec<Draft>,
        durability: Durability,
    ) -> forkwood_storage::Result<()> {
        self.flying.clone_from(&drafts);
        let lane = Lane::new(lane)?;
        let append = Append { lane: lane.clone(), durability, ..Append::any(drafts) };
        let done = run(storage.append(&session(), append))?;
        for (draft, entry) in std::mem::take(&mut self.flying).into_iter().zip(done.entries) {
            if !matches!(draft.body, Body::Leaf { .. }) {
                self.parents.insert(draft.id.clone(), entry.parent_id);
                self.bodies.insert(draft.id, draft.body);
            }
        }
        self.lanes.insert(lane, done.leaf);
        Ok(())
    }

    fn forget(&mut self, header: &EntryId) {
        self.bodies.clear();
        self.parents = HashMap::from([(header.clone(), None)]);
        self.lanes = BTreeMap::from([(Lane::main(), Some(header.clone()))]);
    }

    fn path(&self, to: &EntryId) -> Vec<EntryId> {
        let mut path = vec![to.clone()];
        while let Some(Some(up)) = path.last().map(|at| self.parents[at].clone()) {
            path.push(up);
        }
        path.reverse();
        path
    }

    /// Looks at what is there after a crash, writes, and looks again.
    fn verify(&self, disk: &SimDisk, how: &str) {
        let s = session();
        let storage = on(disk);
        // What a reset put aside may come back in the place of what was being purged.
        let mut purged = false;
        if run(storage.facts(&s)).is_err() {
            purged = self.purging;
            if !self.created || run(storage.restore(&s)).is_err() {
                assert!(!self.created || self.purging, "{how}: the session is lost");
                create(&storage, s.as_str());
                return;
            }
        }
        let there = ids(&storage, &s);
        let mut seen = std::collections::HashSet::new();
        assert!(there.iter().all(|id| seen.insert(id)), "{how}: an entry is there twice");
        let reset = self.resetting && there.len() == 1;
        if !reset && !purged && self.created {
            for (id, body) in &self.bodies {
                let found = run(storage.get(&s, std::slice::from_ref(id))).unwrap().remove(0);
                let found = found.unwrap_or_else(|| panic!("{how}: {id} was acknowledged"));
                assert_eq!(found.entry.body, *body, "{how}");
                assert_eq!(found.entry.parent_id, self.parents[id], "{how}");
            }
            let flown = self.flying.iter().filter(|draft| seen.contains(&draft.id)).count();
            assert!(flown == 0 || flown == self.flying.len(), "{how}: half a batch is there");
            for (lane, leaf) in &self.lanes {
                let now = leaf_of(&storage, &s, lane.as_str());
                if flown == 0 {
                    assert_eq!(now, *leaf, "{how}: lane {lane}");
                    if let Some(leaf) = leaf {
                        assert_eq!(path(&storage, &s, leaf), self.path(leaf), "{how}");
                    }
                }
            }
        }
        for blob in &self.blobs {
            assert!(run(storage.get_blob(blob)).unwrap().is_some(), "{how}: {blob}");
        }
        let before = leaf_of(&storage, &s, "main");
        let done = append(&storage, &s, vec![user(900_001, "after"), answer(900_002, "all")]);
        assert_eq!(done.entries[0].parent_id, before, "{how}");
        let again = on(disk);
        assert_eq!(&ids(&again, &s)[there.len()..], [id(900_001), id(900_002)], "{how}");
        let left = disk.files();
        let leftover = left.iter().find(|f| {
            f.parent() == sim_path(&s).parent() && f.to_string_lossy().ends_with(".fwtmp")
        });
        assert_eq!(leftover, None, "{how}: a leftover stays");
        let found = run(again.check(&s)).unwrap();
        assert!(found.iter().all(|finding| !finding.is_damage()), "{how}: {found:?}");
    }
}

fn crashes(cuts: &[usize]) -> Vec<Crash> {
    let mut all = Vec::new();
    for &unsynced_bytes in cuts {
        for zeroed in [false, true] {
            for unsynced_names in [false, true] {
                all.push(Crash { unsynced_bytes, unsynced_names, zeroed });
            }
        }
    }
    all
}

#[test]
fn the_machine_stops_at_any_change_of_the_disk() {
    let full = std::env::var_os("FORKWOOD_TEST_FULL").is_some();
    let (seeds, length) = if full { (200, 60) } else { (6, 18) };
    for seed in 0..seeds {
        let ops = plan(seed, length);
        for stop in 0.. {
            let disk = SimDisk::new();
            let mut model = Model::default();
            disk.stop_at_change(Some(stop));
            let storage = on(&disk);
            let stopped = ops.iter().find(|op| model.step(&storage, **op).is_err());
            drop(storage);
            for (at, crash) in crashes(&[0, 40, usize::MAX]).into_iter().enumerate() {
                // With nothing unsynced on disk, NUL bytes do not differ; and half will do.
                if (!full && (at as u64 + stop).is_multiple_of(2)) || at == 2 || at == 3 {
                    continue;
                }
                let disk = disk.copy();
                disk.crash(crash);
                model.verify(&disk, &format!("seed {seed}, change {stop}, {stopped:?}, {crash:?}"));
            }
            if stopped.is_none() {
                break;
            }
        }
    }
}

#[test]
fn what_was_not_synced_is_lost_from_the_end_and_never_in_part() {
    let s = session();
    let disk = SimDisk::new();
    let storage = on(&disk);
    create(&storage, s.as_str());
    append(&storage, &s, vec![user(1, "synced")]);
    let synced = disk.bytes(&sim_path(&s)).unwrap().len();
    let os = |drafts| Append { durability: Durability::Os, ..Append::any(drafts) };
    let writes = [
        vec![user(2, "two")],
        vec![answer(3, "three"), user(4, "four"), custom(5, r#"{"id":"x","type":"leaf"}"#, false)],
        vec![leaf(6, &id(1)), user(7, "seven")],
        vec![label(8, "l", Some(&id(2)))],
        vec![compaction(9, "short", None), user(10, "ten")],
    ];
    for write in &writes {
        run(storage.append(&s, os(write.clone()))).unwrap();
    }
    let unsynced = disk.bytes(&sim_path(&s)).unwrap().len() - synced;
    for crash in crashes(&(0..=unsynced).collect::<Vec<_>>()) {
        let disk = disk.copy();
        disk.crash(crash);
        let storage = on(&disk);
        let there = ids(&storage, &s);
        let whole: Vec<usize> = std::iter::once(0)
            .chain(writes.iter().scan(0, |sum, write| {
                *sum += write.len();
                Some(*sum)
            }))
            .collect();
        let expected: Vec<_> = (1..=10).map(id).collect();
        assert!(whole.contains(&(there.len() - 2)), "{crash:?}: {there:?}");
        assert_eq!(&there[1..], &expected[..there.len() - 1], "{crash:?}");
        append(&storage, &s, vec![user(90, "after")]);
        assert_eq!(ids(&on(&disk), &s).len(), there.len() + 1);
        let found = run(on(&disk).check(&s)).unwrap();
        assert!(found.iter().all(|finding| !finding.is_damage()), "{crash:?}: {found:?}");
    }
}
