//! The shape of the tree: children, branches, tool calls without results.

use std::collections::{HashMap, HashSet};

use forkwood_core::{Body, Diagnostic, DiagnosticKind, EntryId, EntryKind, Lane, Role, Text};
use forkwood_storage::Head;

use super::Session;
use crate::Result;

/// One branch: a tip, and where it leaves the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The path entry without a path child, by which the branch is named.
    pub tip: EntryId,
    /// The nearest entry on its path that has other children too; `None` where there is none.
    pub fork_point: Option<EntryId>,
    /// How many entries stand on its path, root and tip included.
    pub depth: u64,
    /// How many of them are its own, after the fork point.
    pub own: u64,
    /// The lanes that stand on its own part.
    pub lanes: Vec<Lane>,
    /// The label nearest its tip, on its own part.
    pub label: Option<Text>,
    /// Whether the lane of the session stands on its own part.
    pub current: bool,
}

impl Session {
    /// The path children of an entry, in log order; the roots for `None`. An unknown entry, and
    /// one beside the path, has none.
    ///
    /// # Errors
    /// Where the log cannot be read.
    pub async fn children(&self, entry: Option<&EntryId>) -> Result<Vec<EntryId>> {
        let heads = self.heads().await?;
        Ok(heads
            .into_iter()
            .filter(|head| !head.sidecar && head.parent_id.as_ref() == entry)
            .map(|head| head.id)
            .collect())
    }

    /// Every branch, in log order of its tip.
    ///
    /// # Errors
    /// Where the log cannot be read.
    pub async fn branches(&self) -> Result<Vec<Branch>> {
        let heads: Vec<Head> =
            self.heads().await?.into_iter().filter(|head| !head.sidecar).collect();
        let facts = self.storage.facts(self.id()).await?;
        let labels = self.labels().await?;
        let at: HashMap<&EntryId, usize> =
            heads.iter().enumerate().map(|(i, head)| (&head.id, i)).collect();
        let parents: Vec<Option<usize>> = heads
            .iter()
            .map(|head| head.parent_id.as_ref().and_then(|parent| at.get(parent).copied()))
            .collect();
        let mut children = vec![0u32; heads.len()];
        for parent in parents.iter().flatten() {
            children[*parent] += 1;
        }
        let depths = forkwood_core::settle::depths(
            &parents.iter().map(|p| p.map(|p| p as u32)).collect::<Vec<_>>(),
        );
        let mut lanes_at: HashMap<usize, Vec<Lane>> = HashMap::new();
        for state in &facts.lanes {
            if let Some(i) = state.leaf.as_ref().and_then(|leaf| at.get(leaf)) {
                lanes_at.entry(*i).or_default().push(state.lane.clone());
            }
        }
        let current = facts.leaf(&self.lane).and_then(|leaf| at.get(leaf).copied());
        let tips = (0..heads.len()).filter(|&i| children[i] == 0);
        Ok(tips
            .map(|tip| {
                let mut branch = Branch {
                    tip: heads[tip].id.clone(),
                    fork_point: None,
                    depth: u64::from(depths[tip]) + 1,
                    own: 0,
                    lanes: Vec::new(),
                    label: None,
                    current: false,
                };
                let mut next = Some(tip);
                while let Some(i) = next {
                    if children[i] > 1 {
                        branch.fork_point = Some(heads[i].id.clone());
                        break;
                    }
                    branch.own += 1;
                    branch.lanes.extend(lanes_at.get(&i).cloned().unwrap_or_default());
                    branch.current |= current == Some(i);
                    if branch.label.is_none() {
                        branch.label = labels.get(&heads[i].id).cloned();
                    }
                    next = parents[i];
                }
                branch
            })
            .collect())
    }
}

/// Tool calls that nothing answers, and answers to calls that are not there, over all branches.
pub(super) async fn tool_findings(session: &Session) -> Result<Vec<Diagnostic>> {
    let heads = session.heads().await?;
    let speaks = |head: &&Head| {
        head.kind == EntryKind::Message
            && !matches!(head.role, Some(Role::User | Role::System | Role::Developer))
    };
    let ids: Vec<EntryId> = heads.iter().filter(speaks).map(|head| head.id.clone()).collect();
    let mut calls: Vec<(Text, EntryId)> = Vec::new();
    let mut answers: Vec<(Text, EntryId)> = Vec::new();
    // In portions, so that a long session is not held in memory at once.
    for portion in ids.chunks(512) {
        for stored in session.storage().get(session.id(), portion).await?.into_iter().flatten() {
            let Body::Message(body) = stored.entry.body else { continue };
            for id in call_ids(&body.message) {
                calls.push((id, stored.entry.id.clone()));
            }
            let answer = body.message.tool_call_id.clone().or_else(|| {
                metadata_field(&body.message, "tool_call_id")
                    .filter(|_| body.message.role == Role::Tool)
            });
            if body.message.role == Role::Tool
                && let Some(id) = answer
            {
                answers.push((id, stored.entry.id));
            }
        }
    }
    let called: HashSet<&Text> = calls.iter().map(|(id, _)| id).collect();
    let answered: HashSet<&Text> = answers.iter().map(|(id, _)| id).collect();
    let place: HashMap<&EntryId, &Head> = heads.iter().map(|head| (&head.id, head)).collect();
    let finding = |kind, id: &Text, entry: &EntryId, what: &str| {
        let mut found = Diagnostic::new(kind, format!("tool call {id:?} {what}")).of(entry.clone());
        if let Some(head) = place.get(entry) {
            found.line = head.line;
            found.offset = head.line.map(|_| head.seq.saturating_sub(head.bytes + 1));
        }
        found
    };
    let open = calls
        .iter()
        .filter(|(id, _)| !answered.contains(id))
        .map(|(id, entry)| finding(DiagnosticKind::UnansweredToolCall, id, entry, "has no result"));
    let orphans = answers.iter().filter(|(id, _)| !called.contains(id)).map(|(id, entry)| {
        finding(
            DiagnosticKind::OrphanToolResult,
            id,
            entry,
            "is answered here, but nothing called it",
        )
    });
    Ok(open.chain(orphans).collect())
}

fn call_ids(message: &forkwood_core::Message) -> Vec<Text> {
    let mut ids: Vec<Text> = message.content.tool_calls().map(|(id, _, _)| id.clone()).collect();
    if let Some(metadata) = &message.metadata
        && let Some(object) = metadata.as_object()
        && let Some(items) = object.get("tool_calls").and_then(forkwood_core::json::elements)
    {
        ids.extend(
            items
                .iter()
                .filter_map(|item| forkwood_core::json::Object::parse(item.get()).ok()?.text("id")),
        );
    }
    ids
}

fn metadata_field(message: &forkwood_core::Message, key: &str) -> Option<Text> {
    message.metadata.as_ref()?.as_object()?.text(key)
}
