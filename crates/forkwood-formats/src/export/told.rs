//! What a compaction leaves of a path, and other things that several formats ask.

use std::collections::HashMap;

use forkwood::core::fold::{Item, Source as Origin, render, select};
use forkwood::core::message::ImageSource;
use forkwood::{Block, Body, Content, Entry, EntryId, Message, Role, Text};
use sha2::{Digest, Sha256};

use super::loss::{LossReport, What};
use super::source::Source;

/// How a session that is read back folds.
pub(super) const RULES: forkwood::core::FoldRules = forkwood::core::FoldRules::NATIVE;

/// What a compaction leaves in the context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// Its summary, then what stands before it from an entry on.
    From(EntryId),
    /// Its summary alone.
    Nothing,
    /// Its summary, then these messages.
    Behind(Vec<Message>),
    /// Messages of which the summary is not the first.
    Around {
        /// What stands before the summary.
        before: Vec<Message>,
        /// What stands behind it.
        behind: Vec<Message>,
    },
}

/// What the compaction at a place of a path leaves.
pub(super) fn kept(path: &[&Entry], at: usize) -> Kept {
    let items = select(&path[..=at], &RULES);
    let own =
        |item: &Item<'_>| matches!(item.source, Origin::Summary(entry) if entry.id == path[at].id);
    let place = items.iter().position(own).unwrap_or(0);
    let messages = |items: &[Item<'_>]| items.iter().filter_map(render).collect::<Vec<_>>();
    let behind = items.get(place + 1..).unwrap_or_default();
    if place > 0 {
        return Kept::Around { before: messages(&items[..place]), behind: messages(behind) };
    }
    let Some(first) = behind.first() else { return Kept::Nothing };
    let Origin::Entry(first) = first.source else { return Kept::Behind(messages(behind)) };
    let start = path[..at].iter().position(|entry| entry.id == first.id);
    let speaking = path[start.unwrap_or(at)..at].iter().filter(|entry| speaks(entry));
    let unbroken = speaking.map(|entry| &entry.id).eq(behind.iter().map(|item| &item.entry().id));
    let whole = behind.iter().all(|item| matches!(item.source, Origin::Entry(_)));
    match unbroken && whole {
        true => Kept::From(first.id.clone()),
        false => Kept::Behind(messages(behind)),
    }
}

/// Whether an entry gives a message.
pub(super) fn speaks(entry: &Entry) -> bool {
    match &entry.body {
        Body::Message(_) | Body::CustomMessage { .. } => true,
        Body::BranchSummary { summary, .. } => !summary.is_empty(),
        _ => false,
    }
}

/// An id for what has none, the same for the same session.
pub(super) fn made_id(source: &Source, parts: &[&str]) -> EntryId {
    let mut hash = Sha256::new();
    hash.update(source.id.as_wtf8());
    for part in parts {
        hash.update([0]);
        hash.update(part.as_bytes());
    }
    EntryId::from(hex(&hash.finalize()[..16]))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A UUID for an id: its own where it is one, with or without dashes, else one made of it.
pub fn uuid_of(session: &Text, id: &str) -> String {
    let plain: String = id.chars().filter(|c| *c != '-').collect();
    let own = plain.len() == 32 && plain.bytes().all(|b| b.is_ascii_hexdigit());
    let dashes = !id.contains('-') || crate::claude_code::place::is_uuid(id);
    if own && dashes {
        return dashed(&plain.to_ascii_lowercase());
    }
    let mut hash = Sha256::new();
    hash.update(session.as_wtf8());
    hash.update([0]);
    hash.update(id.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.finalize()[..16]);
    // Version 8 is for ids that a program makes in its own way.
    bytes[6] = (bytes[6] & 0x0f) | 0x80;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    dashed(&hex(&bytes))
}

fn dashed(hex: &str) -> String {
    let part = |range| hex.get(range).unwrap_or_default();
    [part(0..8), part(8..12), part(12..16), part(16..20), part(20..32)].join("-")
}

/// The entries, ready for a format that holds images inline and names the tool of each result.
pub(super) fn prepare(source: &mut Source) {
    let losses = &mut source.losses;
    let mut tools: HashMap<Text, Text> = HashMap::new();
    for entry in &mut source.entries {
        let id = entry.id.clone();
        for content in contents(&mut entry.body) {
            if let Content::Blocks(blocks) = content {
                blocks.iter_mut().for_each(|block| name_missing(block, &id, losses));
            }
        }
        let Body::Message(body) = &mut entry.body else { continue };
        let message = &mut body.message;
        for (call, name, _) in message.content.tool_calls() {
            tools.insert(call.clone(), name.clone());
        }
        if message.role == Role::Tool
            && message.tool_name.is_none()
            && let Some(call) = &message.tool_call_id
        {
            message.tool_name = tools.get(call).cloned();
        }
    }
}

fn contents(body: &mut Body) -> Vec<&mut Content> {
    match body {
        Body::Message(body) => vec![&mut body.message.content],
        Body::CustomMessage { content, .. }
        | Body::ContextEdit { replacement: Some(content), .. } => vec![content],
        Body::Compaction(compaction) => {
            let tail = compaction.retained_tail.iter_mut().flatten();
            tail.map(|message| &mut message.content).collect()
        }
        _ => Vec::new(),
    }
}

/// An image whose bytes are not there becomes a line of text.
fn name_missing(block: &mut Block, entry: &EntryId, losses: &mut LossReport) {
    let Block::Image(image) = &*block else { return };
    let ImageSource::Blob { name, .. } = &image.source else { return };
    let text = Text::concat([&"[missing image: ".into(), name, &"]".into()]);
    losses.entry(What::Image, entry, "its bytes are missing in the store");
    *block = Block::text(text);
}

/// What a format without lanes loses of them.
pub(super) fn lose_lanes(source: &Source, losses: &mut LossReport, format: &str) {
    for state in &source.lanes {
        losses.session(What::Lane, 1, format!("{format} has no lanes: {}", state.lane));
    }
}
