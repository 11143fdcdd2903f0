//! A fork of a file that folds by other rules says in entries what those rules add: a native
//! session has its own rules only.

use std::collections::{HashMap, HashSet};

use forkwood_core::{
    Body, Entry, EntryId, FoldRules, IdSource, Lane, SessionState, Settings, Text,
};

/// What the source says at the place where it is forked.
pub(super) struct Wanted {
    rules: FoldRules,
    /// The entries behind its messages.
    speaking: HashSet<EntryId>,
    settings: Settings,
    label: Option<Text>,
    /// The thinking level that the format starts with, where the path says nothing of it.
    default_thinking: Option<Text>,
}

impl Wanted {
    /// Folds the path by the rules of its format; `None` where these are the native ones.
    pub(super) fn of(path: &[Entry], beside: &[Entry], rules: &FoldRules) -> Option<Wanted> {
        if *rules == FoldRules::NATIVE {
            return None;
        }
        let state = SessionState::from_path(path, beside, rules);
        let says = |entry: &Entry| matches!(entry.body, Body::ThinkingLevelChange { .. });
        let default = rules.default_thinking_level.filter(|_| !path.iter().any(says));
        Some(Wanted {
            rules: *rules,
            speaking: state.entry_ids().iter().cloned().collect(),
            settings: state.settings().clone(),
            label: state.label().cloned(),
            default_thinking: default.map(Text::from),
        })
    }

    /// Makes the copies fold to it. `new_ids`: what became of the ids of the path.
    pub(super) fn grant(
        &self,
        copies: &mut Vec<Entry>,
        new_ids: &HashMap<EntryId, EntryId>,
        ids: &dyn IdSource,
    ) {
        if !self.rules.branch_summaries {
            forget_silent(copies);
        }
        if let Some(thinking_level) = self.default_thinking.clone() {
            let body = Body::ThinkingLevelChange { thinking_level };
            let entry = made(ids, None, body, copies.first());
            for root in copies.iter_mut().filter(|copy| copy.parent_id.is_none()) {
                root.parent_id = Some(entry.id.clone());
            }
            copies.insert(0, entry);
        }
        let speaking: HashSet<&EntryId> =
            self.speaking.iter().filter_map(|id| new_ids.get(id)).collect();
        let state = native(copies);
        let mut told = HashSet::new();
        for target_id in state.entry_ids().iter().filter(|id| !speaking.contains(id)) {
            if told.insert(target_id) {
                let target_id = target_id.clone();
                push(copies, ids, Body::ContextEdit { target_id, replacement: None });
            }
        }
        self.set(copies, state.settings(), ids);
        self.mark(copies, ids);
    }

    /// The model in force, where messages that name theirs would say another.
    fn set(&self, copies: &mut Vec<Entry>, found: &Settings, ids: &dyn IdSource) {
        let wanted = &self.settings;
        if (&wanted.model, &wanted.provider) == (&found.model, &found.provider) {
            return;
        }
        if let Some(model) = wanted.model.clone() {
            push(copies, ids, Body::ModelChange { model, provider: wanted.provider.clone() });
        }
    }

    /// The label in force. Where the last label of the path counts, wherever it points, it is put
    /// on the last entry of the fork; where that one cleared it, no label is in force.
    fn mark(&self, copies: &mut Vec<Entry>, ids: &dyn IdSource) {
        if native(copies).label() == self.label.as_ref() {
            return;
        }
        match &self.label {
            Some(label) => {
                let target_id = last_on_path(copies).map(|entry| entry.id.clone());
                let body = Body::Label { label: Some(label.clone()), target_id: target_id.clone() };
                copies.push(made(ids, target_id, body, copies.last()));
            }
            None => copies.retain(|copy| !matches!(copy.body, Body::Label { .. })),
        }
    }
}

/// A branch summary that gives no message is nothing that a compaction could stand in place of.
fn forget_silent(copies: &mut [Entry]) {
    let silent: HashSet<EntryId> = copies
        .iter()
        .filter(|copy| matches!(copy.body, Body::BranchSummary { .. }))
        .map(|copy| copy.id.clone())
        .collect();
    for copy in copies {
        if let Body::Compaction(compaction) = &mut copy.body {
            compaction.replaces_entry_ids.retain(|id| !silent.contains(id));
        }
    }
}

fn native(copies: &[Entry]) -> SessionState {
    let path: Vec<Entry> = copies.iter().filter(|copy| !copy.body.is_sidecar()).cloned().collect();
    SessionState::from_path(&path, copies, &FoldRules::NATIVE)
}

fn last_on_path(copies: &[Entry]) -> Option<&Entry> {
    copies.iter().rfind(|copy| !copy.body.is_sidecar())
}

/// Goes on from the last entry of the path.
fn push(copies: &mut Vec<Entry>, ids: &dyn IdSource, body: Body) {
    let parent = last_on_path(copies).map(|entry| entry.id.clone());
    copies.push(made(ids, parent, body, copies.last()));
}

/// An entry with the time of one beside it, so that the fork is as old as its source.
fn made(ids: &dyn IdSource, parent_id: Option<EntryId>, body: Body, near: Option<&Entry>) -> Entry {
    Entry {
        id: ids.next_id(),
        parent_id,
        timestamp: near.and_then(|entry| entry.timestamp),
        lane: Lane::main(),
        more: 0,
        body,
        extra: Vec::new(),
    }
}
