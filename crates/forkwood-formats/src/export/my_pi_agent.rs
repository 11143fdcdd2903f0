//! my-pi-agent's files of nine entry types.

use forkwood::core::entry::{Compaction, SessionInfo};
use forkwood::{Block, Body, Content, Entry, EntryId, Lane, Message, Result, Role};

use super::Written;
use super::loss::{LossReport, What};
use super::source::Source;
use super::told::{Kept, Told, has_surrogates, kept, made_id, speaks};
use super::tree::{Chain, Paths, copies};
use crate::my_pi_agent::encode;

pub(super) fn write(mut source: Source) -> Result<Written> {
    let mut losses = std::mem::take(&mut source.losses);
    let id = forkwood::SessionId::new(&source.id.to_string_lossy()).unwrap_or_else(|_| {
        losses.session(What::Id, 1, "the id of the session can be no file name");
        forkwood::SessionId::from_lossy(&source.id.to_string_lossy())
    });
    // The id of the session is that of its first line.
    let root = EntryId::from(id.as_str());
    let mut out = String::new();
    let mut line = |entry: &Entry| -> Result<()> {
        out.push_str(&encode::entry(entry)?);
        out.push('\n');
        Ok(())
    };
    let info = SessionInfo {
        session_id: None,
        version: None,
        generation: None,
        created_at: Some(source.created),
        metadata: source.metadata(),
        ..source.info.clone()
    };
    line(&new_entry(&source, root.clone(), None, info.into()))?;
    let paths = Paths::of(&source);
    let mut chain = Chain::default();
    let mut stands = root.clone();
    for (at, entry) in source.entries.iter().enumerate() {
        let mut entry = entry.clone();
        if matches!(&entry.body, Body::SessionInfo(_)) {
            continue;
        }
        let above = entry.parent_id.clone().unwrap_or_else(|| root.clone());
        entry.parent_id = match entry.body.is_sidecar() {
            true => chain.put(Some(&above), &entry.id),
            false => chain.behind(Some(&above)),
        };
        let mut behind = Vec::new();
        if let Body::Compaction(compaction) = &mut entry.body {
            let path = paths.to(at);
            let messages = compact(compaction, &source.entries[at], &path, &mut losses);
            behind = copies(&source, &source.entries[at], "tail", messages, &mut chain);
        }
        told(&mut entry, &mut losses);
        line(&entry)?;
        stands = entry.id.clone();
        for mut copy in behind {
            told(&mut copy, &mut losses);
            line(&copy)?;
            stands = copy.id;
        }
    }
    let leaf = chain.behind(Some(source.leaf.as_ref().unwrap_or(&root)));
    if let Some(leaf) = leaf.filter(|leaf| *leaf != stands) {
        let id = made_id(&source, &["pointer"]);
        let last = source.entries.last().and_then(|entry| entry.timestamp);
        let body = Body::Leaf { leaf_id: Some(leaf) };
        let pointer = new_entry(&source, id, Some(stands), body);
        line(&Entry { timestamp: last.or(pointer.timestamp), ..pointer })?;
    }
    super::told::lose_lanes(&source, &mut losses, "my-pi-agent");
    Ok(Written::one(format!("{id}.jsonl"), out, losses))
}

fn new_entry(source: &Source, id: EntryId, parent_id: Option<EntryId>, body: Body) -> Entry {
    Entry {
        id,
        parent_id,
        timestamp: Some(source.created),
        lane: Lane::main(),
        more: 0,
        body,
        extra: Vec::new(),
    }
}

/// Says a compaction by what it replaces. Gives the messages that must stand behind it.
fn compact(
    compaction: &mut Compaction,
    entry: &Entry,
    path: &[&Entry],
    losses: &mut LossReport,
) -> Vec<Told> {
    let at = path.len() - 1;
    if !compaction.is_boundary() {
        return Vec::new();
    }
    compaction.retained_tail = None;
    compaction.first_kept_entry_id = None;
    let kept = kept(path, at);
    let shown = forkwood::core::fold::select(&path[..at], &super::told::RULES);
    let shown: Vec<EntryId> = shown.iter().map(|item| item.entry().id.clone()).collect();
    let (replaced, messages) = match kept {
        Kept::From(first) => {
            let start = path[..at].iter().position(|entry| entry.id == first).unwrap_or(at);
            let later: Vec<&EntryId> =
                path[start..at].iter().filter(|e| speaks(e)).map(|e| &e.id).collect();
            // What an earlier compaction hid comes back in no format that only replaces.
            if later.iter().any(|id| !shown.contains(id)) {
                let why = "it brings back what an earlier one hid, which my-pi-agent cannot say";
                losses.entry(What::Compaction, &entry.id, why);
            }
            let gone: Vec<EntryId> =
                shown.iter().filter(|id| !later.contains(id)).cloned().collect();
            // A summary stands where the first of what it replaces stood.
            if gone.first().is_some_and(|first| shown.first() != Some(first)) {
                let why = "its summary comes behind messages that it leaves in my-pi-agent";
                losses.entry(What::Compaction, &entry.id, why);
            }
            (gone, Vec::new())
        }
        Kept::Nothing => (shown, Vec::new()),
        Kept::Behind(messages) => {
            let why = "the messages that it leaves stand behind it as entries of their own";
            losses.entry(What::Compaction, &entry.id, why);
            (shown, messages)
        }
        Kept::Around { before, behind } => {
            let why = "its summary comes before the messages that it leaves";
            losses.entry(What::Compaction, &entry.id, why);
            (shown, before.into_iter().chain(behind).collect())
        }
    };
    if replaced.is_empty() {
        let why = "it hides nothing, and then its summary comes last in my-pi-agent";
        losses.entry(What::Compaction, &entry.id, why);
    }
    compaction.replaces_entry_ids = replaced;
    messages
}

/// What the program has no place for, or keeps from its model.
fn told(entry: &mut Entry, losses: &mut LossReport) {
    let id = entry.id.clone();
    let why = "my-pi-agent keeps it as data of an extension";
    match &mut entry.body {
        Body::Message(body) => {
            body.foreign = None;
            message(&mut body.message, &id, losses);
        }
        Body::BranchSummary { summary, .. } if !summary.is_empty() => {
            losses.entry(What::BranchSummary, &id, "my-pi-agent keeps it from its model");
        }
        Body::ActiveToolsChange { .. } => losses.entry(What::ActiveTools, &id, why),
        Body::CustomMessage { .. } => losses.entry(What::CustomMessage, &id, why),
        Body::ContextEdit { target_id, .. } => {
            losses.entry(What::ContextEdit, &id, why);
            let why = "an edit does not reach the calls, which stand in its metadata";
            losses.entry(What::ContextEdit, target_id, why);
        }
        Body::Unknown { .. } | Body::Usage { .. } => losses.entry(What::Custom, &id, why),
        Body::Compaction(_) => {}
        _ => {}
    }
    if !entry.extra.is_empty() {
        losses.entry(What::Field, &id, "fields that Forkwood does not know");
    }
}

/// Content is one text there; calls stand in the metadata.
fn message(message: &mut Message, id: &EntryId, losses: &mut LossReport) {
    if let Role::Other(_) = message.role {
        losses.entry(What::Role, id, "my-pi-agent keeps it as data of an extension");
        return;
    }
    if message.role == Role::Developer {
        losses.entry(What::Role, id, "it is a system message there");
        message.role = Role::System;
    }
    if message.role == Role::Assistant && message.model.is_some() {
        losses.entry(What::Model, id, "it stands in the metadata of the message, and sets nothing");
    }
    if has_surrogates(&message.content) {
        losses.entry(What::Text, id, "lone surrogates are U+FFFD: its reader refuses them");
    }
    let Content::Blocks(blocks) = &message.content else { return };
    let mut texts = 0;
    for block in blocks {
        match block {
            Block::Text { extra, .. } => {
                texts += 1;
                if !extra.is_empty() {
                    losses.entry(What::Block, id, "fields of a block of text");
                }
            }
            Block::ToolCall { extra, .. } if extra.is_empty() => {}
            Block::ToolCall { .. } => losses.entry(What::Block, id, "fields of a call"),
            Block::Thinking { .. } => {
                losses.entry(What::Thinking, id, "my-pi-agent has no place for thoughts");
            }
            Block::Image(_) => losses.entry(What::Image, id, "a message there is text"),
            Block::Other(_) => losses.entry(What::Block, id, "a message there is text"),
        }
    }
    if texts > 1 {
        losses.entry(What::Shape, id, "its texts are one there");
    }
}
