//! A random history against a naive model: entries by id, and a pointer for each lane.

use std::collections::{BTreeMap, HashMap};

use forkwood_core::{Body, EntryId, Lane};
use forkwood_storage::{Append, Expect, OnConflict, Rewrite};
use proptest::prelude::*;

use crate::common::*;

#[derive(Clone, Debug)]
enum Op {
    Write { lane: u8, expect: u8, branch: bool, count: u8, second: bool },
    Leaf { lane: u8, to: u8, then: bool, second: bool },
    Label { to: u8, clear: bool },
    Retry { at: u8 },
    Vacuum { prune: bool },
    Reset,
    Reopen,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0u8..3, any::<u8>(), any::<bool>(), 1u8..4, any::<bool>()).prop_map(
            |(lane, expect, branch, count, second)| Op::Write { lane, expect, branch, count, second }
        ),
        3 => (0u8..3, any::<u8>(), any::<bool>(), any::<bool>())
            .prop_map(|(lane, to, then, second)| Op::Leaf { lane, to, then, second }),
        1 => (any::<u8>(), any::<bool>()).prop_map(|(to, clear)| Op::Label { to, clear }),
        1 => any::<u8>().prop_map(|at| Op::Retry { at }),
        1 => any::<bool>().prop_map(|prune| Op::Vacuum { prune }),
        1 => Just(Op::Reset),
        1 => Just(Op::Reopen),
    ]
}

struct Known {
    parent: Option<EntryId>,
    body: Body,
    beside: bool,
}

#[derive(Default)]
struct Model {
    order: Vec<EntryId>,
    entries: HashMap<EntryId, Known>,
    lanes: BTreeMap<Lane, Option<EntryId>>,
    next: u64,
}

impl Model {
    fn pick(&self, at: u8) -> EntryId {
        self.order[usize::from(at) % self.order.len()].clone()
    }

    fn anchor(&self, of: &EntryId) -> EntryId {
        let known = &self.entries[of];
        if known.beside { known.parent.clone().unwrap() } else { of.clone() }
    }

    fn add(&mut self, lane: &Lane, draft: &forkwood_core::Draft) -> Option<EntryId> {
        let stands = self.lanes.get(lane).cloned().flatten();
        let beside = draft.body.is_sidecar();
        let target = match &draft.body {
            Body::Leaf { leaf_id: Some(to) } => Some(self.anchor(to)),
            _ => None,
        };
        let parent = stands.clone().or_else(|| target.clone()).or(Some(self.order[0].clone()));
        let now = target.or(if beside { stands } else { Some(draft.id.clone()) });
        self.lanes.insert(lane.clone(), now);
        self.order.push(draft.id.clone());
        let known = Known { parent: parent.clone(), body: draft.body.clone(), beside };
        self.entries.insert(draft.id.clone(), known);
        parent
    }

    fn path(&self, to: &EntryId) -> Vec<EntryId> {
        let mut path = vec![self.anchor(to)];
        while let Some(up) = self.entries[path.last().unwrap()].parent.clone() {
            path.push(up);
        }
        path.reverse();
        path
    }
}

fn lane_of(n: u8) -> Lane {
    match n {
        0 => Lane::main(),
        n => lane(&format!("lane-{n}")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(60), failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_storage_is_what_the_model_says(ops in proptest::collection::vec(op(), 1..40)) {
        let mut store = Store::sim();
        let s = store.session("s1");
        let mut other = store.second().unwrap();
        let mut model = Model::default();
        let header = entries(store.storage.as_ref(), &s).remove(0);
        let known = Known { parent: None, body: header.body, beside: false };
        model.order.push(header.id.clone());
        model.entries.insert(header.id.clone(), known);
        model.lanes.insert(Lane::main(), Some(header.id.clone()));
        let mut done: Vec<(Append, forkwood_storage::Appended)> = Vec::new();
        for op in ops {
            let storage = store.storage.as_ref();
            match op {
                Op::Write { lane, expect, branch, count, second } => {
                    let lane = lane_of(lane);
                    let stands = model.lanes.get(&lane).cloned().flatten();
                    let expect = match expect % 4 {
                        0 | 1 => Expect::Any,
                        2 => Expect::At(model.pick(expect)),
                        _ => stands.clone().map_or(Expect::NoLane, Expect::At),
                    };
                    let drafts: Vec<_> = (0..count).map(|_| { model.next += 1; user(model.next, "x") }).collect();
                    let on_conflict = if branch { OnConflict::Branch } else { OnConflict::Fail };
                    let append = Append { lane: lane.clone(), expect: expect.clone(), on_conflict, ..Append::any(drafts.clone()) };
                    let writer = if second { other.as_ref() } else { storage };
                    let answer = run(writer.append(&s, append.clone()));
                    let holds = match &expect {
                        Expect::Any => true,
                        Expect::NoLane => stands.is_none(),
                        Expect::At(at) => stands.as_ref() == Some(at),
                    };
                    if !holds && !branch {
                        prop_assert_eq!(answer.unwrap_err().kind().as_str(), "conflict");
                        continue;
                    }
                    let answer = answer.unwrap();
                    if !holds {
                        prop_assert!(!model.lanes.contains_key(&answer.lane));
                        let Expect::At(at) = &expect else { unreachable!() };
                        model.lanes.insert(answer.lane.clone(), Some(model.anchor(at)));
                    } else {
                        prop_assert_eq!(&answer.lane, &lane);
                    }
                    for (draft, entry) in drafts.iter().zip(&answer.entries) {
                        prop_assert_eq!(&model.add(&answer.lane, draft), &entry.parent_id);
                    }
                    prop_assert_eq!(&model.lanes[&answer.lane], &answer.leaf);
                    done.push((append, answer));
                }
                Op::Leaf { lane, to, then, second } => {
                    let lane = lane_of(lane);
                    model.next += 2;
                    let to = model.pick(to);
                    let mut drafts = vec![leaf(model.next - 1, &to)];
                    if then {
                        drafts.push(user(model.next, "x"));
                    }
                    let writer = if second { other.as_ref() } else { storage };
                    let append = Append { lane: lane.clone(), ..write(drafts.clone()) };
                    let answer = run(writer.append(&s, append.clone())).unwrap();
                    for (draft, entry) in drafts.iter().zip(&answer.entries) {
                        prop_assert_eq!(&model.add(&lane, draft), &entry.parent_id);
                    }
                    prop_assert_eq!(&model.lanes[&lane], &answer.leaf);
                    done.push((append, answer));
                }
                Op::Label { to, clear } => {
                    model.next += 1;
                    let mut draft = label(model.next, "l", Some(&model.pick(to)));
                    if clear && let Body::Label { label, .. } = &mut draft.body {
                        *label = None;
                    }
                    let append = write(vec![draft.clone()]);
                    let answer = run(storage.append(&s, append.clone())).unwrap();
                    model.add(&Lane::main(), &draft);
                    done.push((append, answer));
                }
                Op::Retry { at } if !done.is_empty() => {
                    let (append, first) = &done[usize::from(at) % done.len()];
                    let again = run(other.append(&s, append.clone())).unwrap();
                    prop_assert!(again.repeated);
                    prop_assert_eq!((&again.entries, &again.lane, &again.leaf), (&first.entries, &first.lane, &first.leaf));
                }
                Op::Retry { .. } => {}
                Op::Vacuum { prune } => {
                    run(storage.rewrite(&s, Rewrite::Vacuum { prune_branches: prune })).unwrap();
                    // What goes are pointer lines, and what no lane and no label reaches.
                    let there = ids(storage, &s);
                    let reached: Vec<_> = model.lanes.values().flatten().flat_map(|leaf| model.path(leaf)).collect();
                    for id in &model.order {
                        let is_leaf = matches!(model.entries[id].body, Body::Leaf { .. });
                        let may_go = is_leaf || (prune && !reached.contains(id));
                        prop_assert!(there.contains(id) || may_go, "{} went", id);
                    }
                    if prune {
                        // And nothing that stays names what went.
                        prop_assert_eq!(run(storage.check(&s)).unwrap(), []);
                    }
                    model.order.retain(|id| there.contains(id));
                    for entry in entries(storage, &s) {
                        let known = model.entries.get_mut(&entry.id).unwrap();
                        if known.beside {
                            known.parent = entry.parent_id;
                        }
                    }
                    done.clear();
                }
                Op::Reset => {
                    run(other.rewrite(&s, Rewrite::Reset)).unwrap();
                    model.order.truncate(1);
                    model.lanes = BTreeMap::from([(Lane::main(), Some(header.id.clone()))]);
                    done.clear();
                }
                Op::Reopen => {
                    other = store.second().unwrap();
                    store.storage = store.second().unwrap();
                }
            }
        }
        let fresh = store.second().unwrap();
        for storage in [store.storage.as_ref(), other.as_ref(), fresh.as_ref()] {
            prop_assert_eq!(&ids(storage, &s), &model.order);
            for entry in &entries(storage, &s)[1..] {
                let known = &model.entries[&entry.id];
                prop_assert_eq!((&entry.parent_id, &entry.body), (&known.parent, &known.body));
            }
            for (lane, leaf) in &model.lanes {
                let now = leaf_of(storage, &s, lane.as_str());
                prop_assert_eq!(&now, leaf, "lane {}", lane);
                if let Some(leaf) = leaf {
                    prop_assert_eq!(path(storage, &s, leaf), model.path(leaf));
                }
            }
            prop_assert_eq!(run(storage.check(&s)).unwrap(), []);
        }
    }
}
