//! Links that Claude Code sets when it loads a whole file.
//!
//! *Compactions.* A boundary is a root in the file and names what was said before it as its
//! logical parent: here it follows that. Where it preserved messages (a segment from a head to a
//! tail), its owner hangs them from the summary and hangs what followed the summary from the
//! tail. The boundary then stands where the head stood, so that the path tells everything in the
//! order in which the model sees it.
//!
//! *Parallel calls.* An answer is written a block a line, each hanging from the one before. The
//! result of a call hangs from the line of the call, and the conversation goes on behind one of
//! the results: a plain walk up from there would miss the other calls and results. Its owner
//! puts them back. Here the results of one answer follow its last line, one behind the other, and
//! what hangs from any of them hangs from the last.

use std::collections::{HashMap, HashSet};

use forkwood_core::json::Object;
use forkwood_core::{EntryKind, Role, Text};
use forkwood_storage::jsonl::{Links, RecordHead};

use super::line::is_result;
use super::parts::blocks;
use crate::fields::id_of;

/// Between the pieces of a hint: no id of this program holds it.
const BETWEEN: char = '\n';

/// For a boundary: logical parent, head, anchor and tail. For results: the calls they answer.
pub(crate) fn hint(text: &str, head: &RecordHead<'_>) -> Option<String> {
    match (head.kind, &head.role) {
        (EntryKind::Compaction, _) => boundary(&Object::parse(text).ok()?),
        (EntryKind::Message, Some(Role::Tool)) => {
            // One result, or those of the line.
            let part = Object::parse(text.get(head.span.clone())?).ok()?;
            if is_result(&part) {
                return id_of(&part, "tool_use_id");
            }
            let calls: Vec<String> = blocks(&part)?
                .into_iter()
                .filter_map(|block| id_of(&Object::parse(block).ok()?, "tool_use_id"))
                .collect();
            Some(calls.join(&BETWEEN.to_string()))
        }
        _ => None,
    }
}

fn boundary(line: &Object<'_>) -> Option<String> {
    let logical = id_of(line, "logicalParentUuid").unwrap_or_default();
    let kept = || {
        let metadata = Object::parse(line.get("compactMetadata")?).ok()?;
        if let Some(segment) = metadata.get("preservedSegment") {
            let segment = Object::parse(segment).ok()?;
            let id = |key: &str| id_of(&segment, key);
            return Some([id("headUuid")?, id("anchorUuid")?, id("tailUuid")?]);
        }
        let preserved = Object::parse(metadata.get("preservedMessages")?).ok()?;
        let ids = forkwood_core::json::elements(preserved.get("uuids")?)?;
        let id = |raw: &str| {
            let text: Text = forkwood_core::json::text_of(raw)?;
            Some(text.to_string_escaped().into_owned())
        };
        Some([id(ids.first()?.get())?, id_of(&preserved, "anchorUuid")?, id(ids.last()?.get())?])
    };
    let mut pieces = vec![logical];
    pieces.extend(kept().into_iter().flatten());
    Some(pieces.join(&BETWEEN.to_string()))
}

pub(crate) fn relink(links: &mut Links<'_>) {
    compactions(links);
    parallel_calls(links);
}

/// Messages that a compaction preserved.
struct Segment {
    boundary: u32,
    head: u32,
    anchor: u32,
    tail: u32,
}

fn compactions(links: &mut Links<'_>) {
    let mut segments = Vec::new();
    let hints: Vec<(u32, Vec<Option<u32>>)> = links
        .hints()
        .filter(|(at, _)| links.kind(*at) == EntryKind::Compaction)
        .map(|(at, hint)| (at, hint.split(BETWEEN).map(|id| links.find(id)).collect()))
        .collect();
    // However many compactions there are, all walks together stay in proportion to the file.
    let mut steps = 4 * u64::from(links.len());
    for (boundary, named) in hints {
        if links.parent(boundary).is_none()
            && let Some(Some(before)) = named.first()
            // What is behind it in the file would make a ring.
            && *before < boundary
        {
            links.set_parent(boundary, Some(*before));
        }
        if let [_, Some(head), Some(anchor), Some(tail)] = named[..]
            && is_above(links, head, tail, &mut steps)
            && tail < boundary
            && anchor >= boundary
        {
            segments.push(Segment { boundary, head, anchor, tail });
        }
    }
    if segments.is_empty() {
        return;
    }
    let by_anchor: HashMap<u32, usize> =
        segments.iter().enumerate().map(|(at, segment)| (segment.anchor, at)).collect();
    for at in 0..links.len() {
        let Some(segment) = links.parent(at).and_then(|up| by_anchor.get(&up)) else { continue };
        let Segment { boundary, head, tail, .. } = segments[*segment];
        if at != head && at > boundary {
            links.set_parent(at, Some(tail));
        }
    }
    for Segment { boundary, head, anchor, .. } in segments {
        let before = links.parent(head);
        links.set_parent(boundary, before);
        links.set_parent(head, Some(anchor));
    }
}

/// Whether an entry is another one or stands above it.
fn is_above(links: &Links<'_>, above: u32, from: u32, steps: &mut u64) -> bool {
    let mut next = Some(from);
    while let Some(at) = next
        && *steps > 0
    {
        if at == above {
            return true;
        }
        next = links.parent(at);
        *steps -= 1;
    }
    false
}

/// The message that each entry hangs from, entries that are none between left out.
fn messages_above(links: &Links<'_>) -> Vec<Option<u32>> {
    const UNKNOWN: u32 = u32::MAX;
    let count = links.len() as usize;
    // For each entry that is no message: the message above it.
    let mut above: Vec<u32> = vec![UNKNOWN; count];
    let mut chain = Vec::new();
    let mut out = Vec::with_capacity(count);
    for start in 0..links.len() {
        let mut next = links.parent(start);
        let found = loop {
            let Some(at) = next else { break None };
            if links.kind(at) != EntryKind::Custom {
                break Some(at);
            }
            if above[at as usize] != UNKNOWN {
                break above[at as usize].checked_sub(1);
            }
            above[at as usize] = 0;
            chain.push(at);
            next = links.parent(at);
        };
        for at in chain.drain(..) {
            above[at as usize] = found.map_or(0, |found| found + 1);
        }
        out.push(found);
    }
    out
}

/// The lines of one answer, and the results that hang from them.
#[derive(Default)]
struct Answer {
    lines: Vec<u32>,
    results: Vec<u32>,
}

fn parallel_calls(links: &mut Links<'_>) {
    let roles: Vec<Option<Role>> = (0..links.len()).map(|at| links.role(at)).collect();
    let speaks = |at: u32| roles[at as usize] == Some(Role::Assistant);
    let answers = |at: u32| roles[at as usize] == Some(Role::Tool);
    if !roles.contains(&Some(Role::Tool)) {
        return;
    }
    let above = messages_above(links);
    // Which line of an answer follows another one; two that do are branches, and no answer.
    let mut follows: HashMap<u32, Option<u32>> = HashMap::new();
    for at in (0..links.len()).filter(|at| speaks(*at)) {
        if let Some(up) = above[at as usize].filter(|up| speaks(*up)) {
            follows.entry(up).and_modify(|next| *next = None).or_insert(Some(at));
        }
    }
    let follower = |at: u32| follows.get(&at).copied().flatten();
    let mut answer_of: HashMap<u32, usize> = HashMap::new();
    let mut all: Vec<Answer> = Vec::new();
    for start in (0..links.len()).filter(|at| speaks(*at)) {
        let first = above[start as usize].is_none_or(|up| follower(up) != Some(start));
        if !first {
            continue;
        }
        let mut answer = Answer::default();
        let mut next = Some(start);
        while let Some(at) = next
            && answer_of.insert(at, all.len()).is_none()
        {
            answer.lines.push(at);
            next = follower(at);
        }
        all.push(answer);
    }
    let calls: HashMap<u32, &str> = links.hints().collect();
    let mut answered: HashSet<(usize, &str)> = HashSet::new();
    for at in (0..links.len()).filter(|at| answers(*at)) {
        let of = above[at as usize].and_then(|up| answer_of.get(&up));
        if let Some(of) = of
            // A second answer to a call is another branch.
            && answered.insert((*of, calls.get(&at).copied().unwrap_or_default()))
        {
            all[*of].results.push(at);
        }
    }
    // The last message of each line of results: what follows hangs from that.
    let end = |links: &Links<'_>, at: u32| {
        let mut last = at;
        while last + 1 < links.len()
            && links.line(last + 1) == links.line(at)
            && links.parent(last + 1) == Some(last)
        {
            last += 1;
        }
        last
    };
    let mut moved: HashMap<u32, u32> = HashMap::new();
    let mut starts: HashSet<u32> = HashSet::new();
    let mut parents: Vec<(u32, u32)> = Vec::new();
    let followed: HashSet<u32> = (0..links.len()).filter_map(|at| links.parent(at)).collect();
    for answer in &mut all {
        // The one that the conversation goes on behind comes last, as its owner has it.
        answer.results.sort_by_key(|result| followed.contains(&end(links, *result)));
        let (Some(last_line), Some(last)) = (answer.lines.last(), answer.results.last()) else {
            continue;
        };
        let plain = answer.results.len() == 1 && above[*last as usize] == Some(*last_line);
        if plain {
            continue;
        }
        let last_end = end(links, *last);
        let mut before = *last_line;
        for result in &answer.results {
            starts.insert(*result);
            parents.push((*result, before));
            before = end(links, *result);
            moved.insert(before, last_end);
        }
        if let Some(leaf) = links.leaf()
            && (answer.lines.contains(&leaf)
                || answer.results.iter().any(|r| end(links, *r) == leaf))
        {
            links.set_leaf(last_end);
        }
    }
    for at in 0..links.len() {
        if let Some(to) = links.parent(at).and_then(|up| moved.get(&up))
            && !starts.contains(&at)
            && !links.is_sidecar(at)
        {
            parents.push((at, *to));
        }
    }
    for (at, parent) in parents {
        links.set_parent(at, Some(parent));
    }
}
