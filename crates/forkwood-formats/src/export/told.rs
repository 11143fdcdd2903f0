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

/// A message, and the entry behind it.
pub(super) type Told = (EntryId, Message);

/// What a compaction leaves in the context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// Its summary, then what stands before it from an entry on.
    From(EntryId),
    /// Its summary alone.
    Nothing,
    /// Its summary, then these messages.
    Behind(Vec<Told>),
    /// Messages of which the summary is not the first.
    Around {
        /// What stands before the summary.
        before: Vec<Told>,
        /// What stands behind it.
        behind: Vec<Told>,
    },
}

/// What the compaction at a place of a path leaves.
pub(super) fn kept(path: &[&Entry], at: usize) -> Kept {
    let items = select(&path[..=at], &RULES);
    let own =
        |item: &Item<'_>| matches!(item.source, Origin::Summary(entry) if entry.id == path[at].id);
    let place = items.iter().position(own).unwrap_or(0);
    let messages = |items: &[Item<'_>]| items.iter().filter_map(told).collect::<Vec<_>>();
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

/// The message of an item, and the entry behind it.
pub(super) fn told(item: &Item<'_>) -> Option<Told> {
    Some((item.entry().id.clone(), render(item)?))
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

/// Whether an id is a UUID already, in one of its spellings.
pub(super) fn is_uuid(id: &str) -> bool {
    let hex = id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit());
    hex || crate::claude_code::place::is_uuid(id)
}

fn dashed(hex: &str) -> String {
    let part = |range| hex.get(range).unwrap_or_default();
    [part(0..8), part(8..12), part(12..16), part(16..20), part(20..32)].join("-")
}

/// Whether content holds text with lone surrogates.
pub(super) fn has_surrogates(content: &Content) -> bool {
    let lone = |text: &Text| text.as_str().is_none();
    match content {
        Content::Text(text) => lone(text),
        Content::Blocks(blocks) => blocks.iter().any(|block| match block {
            Block::Text { text, .. } => lone(text),
            Block::Thinking { thinking, .. } => lone(thinking),
            _ => false,
        }),
    }
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

/// What a model sees where a session stands, with the entry behind each message, and losses of
/// whatever the path says besides.
pub(super) fn context(source: &Source, losses: &mut LossReport) -> Vec<Told> {
    let path = source.path_entries();
    let items = select(&path, &RULES);
    let shown: std::collections::HashSet<&EntryId> =
        items.iter().map(|item| &item.entry().id).collect();
    for entry in &path {
        match &entry.body {
            Body::Compaction(_) if shown.contains(&entry.id) => {
                losses.entry(What::Compaction, &entry.id, "its summary is a message of the person")
            }
            Body::Compaction(_) => {
                losses.entry(What::Compaction, &entry.id, "a later compaction hides it");
            }
            Body::BranchSummary { .. } => {
                losses.entry(What::BranchSummary, &entry.id, "it is a message of the person")
            }
            Body::CustomMessage { .. } => {
                losses.entry(What::CustomMessage, &entry.id, "it is a message of the person");
            }
            Body::ContextEdit { .. } => {
                losses.entry(What::ContextEdit, &entry.id, "the message stands as it was edited")
            }
            Body::Message(_) if !shown.contains(&entry.id) => losses.entry(
                What::Compaction,
                &entry.id,
                "a compaction or an edit hides it from the model",
            ),
            _ => {}
        }
    }
    items.iter().filter_map(told).collect()
}

/// What a format without entries of its own loses besides messages.
pub(super) fn lose_entries(source: &Source, losses: &mut LossReport, format: &str) {
    lose_branches(source, losses, format);
    for at in source.path() {
        let entry = &source.entries[at];
        let (what, why) = match &entry.body {
            Body::ModelChange { .. } => (What::Model, "changes of the model"),
            Body::ThinkingLevelChange { .. } => {
                (What::ThinkingLevel, "changes of how much a model thinks")
            }
            Body::ActiveToolsChange { .. } => (What::ActiveTools, "changes of the tools"),
            Body::Usage { .. } => (What::Usage, "usage outside a message"),
            Body::Custom { .. } | Body::Unknown { .. } => (What::Custom, "data of extensions"),
            _ => continue,
        };
        losses.entry(what, &entry.id, format!("{format} has no place for {why}"));
    }
}

/// What a format with one path loses of branches, lanes and what stands beside the path.
pub(super) fn lose_branches(source: &Source, losses: &mut LossReport, format: &str) {
    for tip in source.tips().iter().filter(|tip| Some(*tip) != source.leaf.as_ref()) {
        losses.entry(What::Branch, tip, format!("{format} has no branches; this one ends here"));
    }
    lose_lanes(source, losses, format);
    for entry in source.entries.iter().filter(|entry| entry.body.is_sidecar()) {
        let (what, why) = match &entry.body {
            Body::Label { label: Some(label), .. } if !label.is_empty() => {
                (What::Label, "bookmarks")
            }
            Body::Operation(_) => (What::Operation, "what was in flight"),
            Body::Custom { .. } => (What::Custom, "data of extensions"),
            _ => continue,
        };
        losses.entry(what, &entry.id, format!("{format} has no place for {why}"));
    }
}

/// What a format without facts of the session loses.
pub(super) fn lose_facts(source: &Source, losses: &mut LossReport, format: &str) {
    if source.title().is_some() {
        losses.session(What::Title, 1, format!("{format} has no titles"));
    }
    if source.metadata().is_some() {
        losses.session(What::Metadata, 1, format!("{format} has no data about a session"));
    }
}

/// The model that answers where a session stands.
pub(super) fn model_at_end(source: &Source) -> Option<Text> {
    let mut settings = forkwood::Settings::initial(&RULES);
    for at in source.path() {
        settings.apply(&source.entries[at], &RULES);
    }
    settings.model
}

/// The name of the file of a request. Nothing in it tells of the session.
pub(super) fn request_name(source: &Source, losses: &mut LossReport) -> String {
    let count = source.path().len() as u64;
    losses.session(What::Id, count, "a request has no ids of messages");
    losses.session(What::Time, count, "a request does not tell when something was said");
    format!("{}.json", forkwood::SessionId::from_lossy(&source.id.to_string_lossy()))
}
