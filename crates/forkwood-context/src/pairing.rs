//! Tool calls and their results, paired as providers demand it.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use forkwood_core::{Content, EntryId, Message, Role, Text, json};

/// What an interrupted call is answered with.
pub const INTERRUPTED: &str = "Tool call interrupted: no result was recorded.";

/// A context whose tool calls are paired.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Paired {
    /// The messages.
    pub messages: Vec<Message>,
    /// The entry behind each; behind a made-up result, the entry of its call.
    pub entry_ids: Vec<EntryId>,
    /// What was changed.
    pub changes: Vec<PairChange>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PairChange {
    /// A call had no result; an error stands in its place.
    Answered {
        /// The call.
        call: Text,
        /// The entry that holds it.
        entry: EntryId,
    },
    /// A result had no call, or its call had one already; it is left out.
    Dropped {
        /// The call that it names.
        call: Text,
        /// The entry that holds it.
        entry: EntryId,
    },
    /// A result stood elsewhere and was put behind its call.
    Moved {
        /// The call.
        call: Text,
        /// The entry that holds the result.
        entry: EntryId,
    },
}

/// Makes every tool call answered once, right behind it and in call order.
///
/// A result next to its call is taken first, then the first unused one after it, then any unused
/// one; real ones go before those that only say that the call was interrupted; where there is
/// none, an error is made up. Results that no call takes are left out. Calls
/// and results that only stand in `metadata` are left as they are.
pub fn pair_tools(messages: &[Message], entry_ids: &[EntryId]) -> Paired {
    let told = told_calls(messages);
    let ends = run_ends(messages);
    let taken = assign(messages, &ends);
    let used: HashSet<usize> = taken.values().copied().collect();
    let entry = |at: usize| entry_ids.get(at).cloned().unwrap_or_else(|| EntryId::new(""));
    let mut out = Paired::default();
    for (at, message) in messages.iter().enumerate() {
        if let Some(call) = answers(message) {
            // Placed behind its call, or nowhere; where only metadata calls, as it stands.
            if !used.contains(&at) && told.contains(call) {
                out.messages.push(message.clone());
                out.entry_ids.push(entry(at));
            } else if !used.contains(&at) {
                out.changes.push(PairChange::Dropped { call: call.clone(), entry: entry(at) });
            }
            continue;
        }
        out.messages.push(message.clone());
        out.entry_ids.push(entry(at));
        for (number, (call, name, _)) in calls(message).enumerate() {
            match taken.get(&(at, number)) {
                Some(&result) => {
                    if !(at + 1..ends[at + 1]).contains(&result) {
                        out.changes
                            .push(PairChange::Moved { call: call.clone(), entry: entry(result) });
                    }
                    out.messages.push(messages[result].clone());
                    out.entry_ids.push(entry(result));
                }
                None => {
                    let mut made_up = Message::tool(call.clone(), INTERRUPTED);
                    made_up.tool_name = Some(name.clone());
                    made_up.is_error = Some(true);
                    out.messages.push(made_up);
                    out.entry_ids.push(entry(at));
                    out.changes.push(PairChange::Answered { call: call.clone(), entry: entry(at) });
                }
            }
        }
    }
    out
}

/// Whether [`pair_tools`] would leave the messages as they are: every call has its result right
/// behind it, in call order, and no other results stand anywhere.
pub fn is_paired(messages: &[Message]) -> bool {
    let told = told_calls(messages);
    let mut open: VecDeque<&Text> = VecDeque::new();
    for message in messages {
        match answers(message) {
            Some(call) if open.front() == Some(&call) => {
                open.pop_front();
            }
            Some(call) if open.is_empty() && told.contains(call) => {}
            Some(_) => return false,
            None if !open.is_empty() => return false,
            None => open.extend(calls(message).map(|(call, _, _)| call)),
        }
    }
    open.is_empty()
}

/// The calls that stand in metadata alone, as my-pi-agent keeps them.
fn told_calls(messages: &[Message]) -> HashSet<Text> {
    let mut told = HashSet::new();
    for metadata in messages.iter().filter_map(|message| message.metadata.as_ref()) {
        let Some(object) = metadata.as_object() else { continue };
        let calls = object.get("tool_calls").and_then(json::elements).unwrap_or_default();
        told.extend(
            calls.iter().filter_map(|call| json::Object::parse(call.get()).ok()?.text("id")),
        );
    }
    told
}

/// The call that a message answers, if it is a result.
fn answers(message: &Message) -> Option<&Text> {
    message.tool_call_id.as_ref().filter(|_| message.role == Role::Tool)
}

/// The calls of a message; only the model calls tools.
fn calls(message: &Message) -> impl Iterator<Item = (&Text, &Text, &forkwood_core::Json)> {
    message.content.tool_calls().filter(|_| message.role == Role::Assistant)
}

/// For each position, the end of the run of results that starts there.
fn run_ends(messages: &[Message]) -> Vec<usize> {
    let mut ends = vec![messages.len(); messages.len() + 1];
    for at in (0..messages.len()).rev() {
        ends[at] = if answers(&messages[at]).is_some() { ends[at + 1] } else { at };
    }
    ends
}

/// The result that each call takes, by (position of the message, number of the call in it). One
/// that says that the call was interrupted is taken where there is no real one.
fn assign(messages: &[Message], ends: &[usize]) -> HashMap<(usize, usize), usize> {
    let mut free: [HashMap<&Text, BTreeSet<usize>>; 2] = Default::default();
    for (at, message) in messages.iter().enumerate() {
        if let Some(call) = answers(message) {
            let kind = usize::from(is_interruption(message));
            free[kind].entry(call).or_default().insert(at);
        }
    }
    let mut taken = HashMap::new();
    for free in &mut free {
        for adjacent_only in [true, false] {
            take(messages, ends, free, adjacent_only, &mut taken);
        }
    }
    taken
}

/// One pass over the calls that have none yet.
fn take<'a>(
    messages: &'a [Message],
    ends: &[usize],
    free: &mut HashMap<&'a Text, BTreeSet<usize>>,
    adjacent_only: bool,
    taken: &mut HashMap<(usize, usize), usize>,
) {
    if free.is_empty() {
        return;
    }
    for (at, message) in messages.iter().enumerate() {
        for (number, (call, _, _)) in calls(message).enumerate() {
            if taken.contains_key(&(at, number)) {
                continue;
            }
            let Some(results) = free.get_mut(call) else { continue };
            let found = if adjacent_only {
                results.range(at + 1..ends[at + 1]).next().copied()
            } else {
                results.range(at + 1..).next().or(results.first()).copied()
            };
            if let Some(result) = found {
                results.remove(&result);
                taken.insert((at, number), result);
            }
        }
    }
}

/// Whether a result only says that there is none: in our words, or in those of my-pi-agent.
fn is_interruption(message: &Message) -> bool {
    message.is_error == Some(true)
        && matches!(
            &message.content,
            Content::Text(text) if *text == INTERRUPTED || *text == "Tool call interrupted by user"
        )
}

/// The positions of each call and of the result that it takes.
pub(crate) fn pairs(messages: &[Message]) -> impl Iterator<Item = (usize, usize)> {
    assign(messages, &run_ends(messages)).into_iter().map(|((call, _), result)| (call, result))
}

#[cfg(test)]
mod tests;
