//! Reading shows what the model says.

use std::collections::{BTreeMap, HashMap, HashSet};

use forkwood::blocking::Session;
use forkwood::{Body, EntryId, ForkOptions, Message, Severity};

use crate::fold::{self, Folded};
use crate::world::{Line, World};

/// Everything, through one handle for what is the same for both.
pub(crate) fn all(world: &World) {
    for who in 0..2 {
        lane(world, &world.sessions[who], &world.seen[who].lane);
    }
    let session = &world.sessions[world.lines.len() % 2];
    log(world, session);
    for line in &world.lines {
        state(world, session, &line.id);
    }
    branches(world, session);
}

fn ids<'a>(path: impl IntoIterator<Item = &'a Line>) -> Vec<EntryId> {
    path.into_iter().map(|line| line.id.clone()).collect()
}

/// What depends on where the lane stands.
fn lane(world: &World, session: &Session, lane: &str) {
    let leaf = world.lanes.get(lane);
    assert_eq!(session.current_leaf().unwrap().as_ref(), leaf);
    let path = leaf.map(|leaf| world.path(leaf)).unwrap_or_default();
    let shown: Vec<EntryId> =
        session.current_path().unwrap().into_iter().map(|entry| entry.id).collect();
    assert_eq!(shown, ids(path.iter().copied()));
    let history: Vec<Message> = path
        .iter()
        .filter_map(|line| match &line.body {
            Body::Message(body) => Some(body.message.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(session.full_history().unwrap(), history);
    context(&session.context().unwrap(), &fold::fold(&path, &world.labels));
    let latest = world.compaction_on(&path);
    let shown = session.latest_compaction().unwrap();
    assert_eq!(shown.as_ref().map(|stored| &stored.entry.id), latest.map(|line| &line.id));
    assert_eq!(shown.map(|stored| stored.entry.body), latest.map(|line| line.body.clone()));
    assert_eq!(session.compaction_floor().unwrap(), latest.and_then(|line| line.parent.clone()));
}

fn context(shown: &forkwood::Context, expected: &Folded) {
    let entry_ids: Vec<EntryId> = expected.messages.iter().map(|(id, _)| id.clone()).collect();
    let messages: Vec<Message> = expected.messages.iter().map(|(_, m)| m.clone()).collect();
    assert_eq!(shown.entry_ids(), entry_ids);
    assert_eq!(shown.messages(), messages);
    assert_eq!(shown.settings(), Some(&expected.settings));
}

/// The state and the context at one entry, which may stand beside the path.
fn state(world: &World, session: &Session, id: &EntryId) {
    let path = world.path(id);
    let expected = fold::fold(&path, &world.labels);
    let state = session.state_at(id).unwrap();
    let messages: Vec<Message> = expected.messages.iter().map(|(_, m)| m.clone()).collect();
    assert_eq!(state.messages(), messages);
    assert_eq!(state.settings(), &expected.settings);
    assert_eq!(state.label(), expected.label.as_ref());
    assert_eq!(state.leaf_id(), path.last().map(|line| &line.id));
    assert_eq!(session.settings(id).unwrap(), expected.settings);
    assert_eq!(session.label_at(id).unwrap(), expected.label);
    assert_eq!(session.path_ids(id).unwrap(), ids(path.iter().copied()));
    context(&session.context_at(id).unwrap(), &expected);
}

/// The log as a whole: entries, labels, lanes, title, no damage.
fn log(world: &World, session: &Session) {
    let facts = pollster_facts(session);
    let lanes: BTreeMap<String, EntryId> = facts
        .lanes
        .iter()
        .filter_map(|state| Some((state.lane.to_string(), state.leaf.clone()?)))
        .collect();
    assert_eq!(lanes, world.lanes);
    assert_eq!(session.labels().unwrap(), world.labels);
    assert_eq!(facts.info.title.filter(|title| !title.is_empty()), world.title);
    let is_path_or_aside = |body: &Body| !matches!(body, Body::Label { .. } | Body::Leaf { .. });
    let stored: Vec<(EntryId, Body)> = session
        .entries()
        .unwrap()
        .into_iter()
        .skip(1)
        .map(|stored| (stored.entry.id, stored.entry.body))
        .filter(|(_, body)| is_path_or_aside(body) && !matches!(body, Body::SessionInfo(_)))
        .collect();
    let lines: Vec<(EntryId, Body)> = world.lines[1..]
        .iter()
        .map(|line| (line.id.clone(), line.body.clone()))
        .filter(|(_, body)| is_path_or_aside(body))
        .collect();
    assert_eq!(stored, lines);
    let damage: Vec<_> = session
        .check()
        .unwrap()
        .into_iter()
        .filter(|finding| finding.severity == Severity::Error)
        .collect();
    assert!(damage.is_empty(), "{damage:?}");
}

fn pollster_facts(session: &Session) -> forkwood::SessionFacts {
    let mut look = session.clone();
    look.reload().unwrap();
    look.facts().clone()
}

fn branches(world: &World, session: &Session) {
    let on_path: Vec<&Line> = world.lines.iter().filter(|line| !line.sidecar).collect();
    let children = |id: &EntryId| -> Vec<EntryId> {
        ids(on_path.iter().copied().filter(|line| line.parent.as_ref() == Some(id)))
    };
    let shown = session.branches().unwrap();
    let tips: Vec<EntryId> =
        ids(on_path.iter().copied().filter(|line| children(&line.id).is_empty()));
    assert_eq!(shown.iter().map(|branch| branch.tip.clone()).collect::<Vec<_>>(), tips);
    for branch in shown {
        let path = world.path(&branch.tip);
        let fork = path.iter().rposition(|line| children(&line.id).len() > 1);
        let own = &path[fork.map_or(0, |at| at + 1)..];
        assert_eq!(branch.fork_point, fork.map(|at| path[at].id.clone()));
        assert_eq!((branch.depth, branch.own), (path.len() as u64, own.len() as u64));
        let stands: HashSet<&EntryId> = own.iter().map(|line| &line.id).collect();
        let lanes: HashSet<&str> = world
            .lanes
            .iter()
            .filter(|(_, leaf)| stands.contains(leaf))
            .map(|(lane, _)| lane.as_str())
            .collect();
        assert_eq!(branch.lanes.iter().map(|lane| lane.as_str()).collect::<HashSet<_>>(), lanes);
        let label = own.iter().rev().find_map(|line| world.labels.get(&line.id));
        assert_eq!(branch.label.as_ref(), label);
        assert_eq!(branch.current, lanes.contains(session.lane().as_str()));
    }
    for line in &on_path {
        assert_eq!(session.children(Some(&line.id)).unwrap(), children(&line.id));
    }
    assert_eq!(session.children(None).unwrap(), [world.lines[0].id.clone()]);
}

/// A fork at an entry shows what the source shows there, and so does a fork of the fork.
pub(crate) fn fork(world: &World, at: &EntryId) {
    let source = &world.sessions[0];
    let store = &world.stores[0];
    let before = world.disk.bytes(pollster_facts(source).path.unwrap().as_path());
    let first = store.fork(source, Some(at), ForkOptions::default()).unwrap();
    let second = store.fork(&first, None, ForkOptions::default()).unwrap();
    let path: Vec<EntryId> = ids(world.path(at));
    for fork in [&first, &second] {
        same_context(source, at, &path, fork);
        assert_eq!(fork.branches().unwrap().len(), 1);
        assert_eq!(fork.title(), world.title.as_ref());
    }
    let from = first.facts().info.forked_from.clone().unwrap();
    assert_eq!(from.session_id, source.id().as_str());
    assert_eq!(Some(&from.entry_id), path.last());
    assert_eq!(world.disk.bytes(pollster_facts(source).path.unwrap().as_path()), before);
    for fork in [first, second] {
        let id = fork.id().clone();
        drop(fork);
        store.delete(id.as_str()).unwrap();
    }
}

fn same_context(source: &Session, at: &EntryId, path: &[EntryId], fork: &Session) {
    let new = fork.current_path().unwrap();
    let old = source.path_to(at).unwrap();
    assert_eq!(new.len(), old.len());
    let map: HashMap<&EntryId, &EntryId> =
        path.iter().zip(&new).map(|(old, new)| (old, &new.id)).collect();
    for (old, new) in old.iter().zip(&new).skip(1) {
        assert_ne!(old.id, new.id);
        assert_eq!((old.kind(), old.timestamp), (new.kind(), new.timestamp));
    }
    let (was, is) = (source.context_at(at).unwrap(), fork.context().unwrap());
    assert_eq!(is.messages(), was.messages());
    assert_eq!(is.settings(), was.settings());
    let mapped: Vec<&EntryId> = was.entry_ids().iter().map(|id| map[id]).collect();
    assert_eq!(is.entry_ids().iter().collect::<Vec<_>>(), mapped);
    let leaf = fork.leaf().unwrap();
    assert_eq!(fork.label_at(leaf).unwrap(), source.label_at(at).unwrap());
    let labels: HashMap<EntryId, forkwood::Text> = source
        .labels()
        .unwrap()
        .into_iter()
        .filter_map(|(id, label)| Some(((*map.get(&id)?).clone(), label)))
        .collect();
    assert_eq!(fork.labels().unwrap(), labels);
    let asides = |session: &Session, on: &HashSet<EntryId>| {
        let all = session.entries().unwrap().into_iter().map(|stored| stored.entry);
        all.filter(|entry| matches!(entry.body, Body::Custom { aside: true, .. }))
            .filter_map(|entry| entry.parent_id)
            .filter(|parent| on.contains(parent))
            .collect::<Vec<_>>()
    };
    let old_asides: HashSet<EntryId> = asides(source, &path.iter().cloned().collect())
        .iter()
        .map(|parent| map[parent].clone())
        .collect();
    let all: HashSet<EntryId> = new.iter().map(|entry| entry.id.clone()).collect();
    let new_asides: HashSet<EntryId> = asides(fork, &all).into_iter().collect();
    assert_eq!(new_asides, old_asides);
}
