//! Turns that were taken back: what follows hangs from before them.
//!
//! Codex tells only how many turns of the person go. As it counts, a turn starts with a message
//! of the person; what was said of the settings right before it goes with it, but what stands
//! before the first turn stays. Beyond a compaction there is nothing to take back.

use forkwood_core::json::Object;
use forkwood_core::{EntryKind, Role};
use forkwood_storage::jsonl::{Links, RecordHead};

use crate::fields::whole_number;

/// How many turns a line takes back.
pub(crate) fn hint(text: &str, head: &RecordHead<'_>) -> Option<String> {
    if !head.sidecar || head.kind != EntryKind::Custom {
        return None;
    }
    let line = Object::parse(text).ok()?;
    let payload = Object::parse(line.get("payload")?).ok()?;
    whole_number(payload.get("num_turns")?).map(|turns| turns.to_string())
}

pub(crate) fn relink(links: &mut Links<'_>) {
    let mut back = links.hints().filter_map(|(at, hint)| Some((at, hint.parse().ok()?))).peekable();
    // The messages that turns start with, on the path so far.
    let mut turns: Vec<u32> = Vec::new();
    let mut before: Option<u32> = None;
    let mut moved = false;
    for at in 0..links.len() {
        if links.is_sidecar(at) {
            let count: Option<usize> = back.next_if(|(line, _)| *line == at).map(|(_, n)| n);
            if let Some(count) = count.filter(|count| *count > 0 && !turns.is_empty()) {
                let keep = turns.len().saturating_sub(count);
                before = start_of(links, turns[keep], keep == 0);
                turns.truncate(keep);
                moved = true;
            }
            links.set_parent(at, before);
            continue;
        }
        links.set_parent(at, before);
        match (links.kind(at), links.role(at)) {
            (EntryKind::Message, Some(Role::User)) => turns.push(at),
            (EntryKind::Compaction, _) => turns.clear(),
            _ => {}
        }
        before = Some(at);
    }
    if let Some(leaf) = before.filter(|_| moved) {
        links.set_leaf(leaf);
    }
}

/// Where a turn starts: the entry before its message, and before what was said of the settings.
fn start_of(links: &Links<'_>, message: u32, first: bool) -> Option<u32> {
    let mut next = links.parent(message);
    while let Some(at) = next.filter(|_| !first) {
        let of_settings = match links.kind(at) {
            EntryKind::Message => {
                matches!(links.role(at), Some(Role::Developer | Role::Other(_)))
            }
            EntryKind::Compaction => false,
            _ => true,
        };
        if !of_settings {
            break;
        }
        next = links.parent(at);
    }
    next
}
