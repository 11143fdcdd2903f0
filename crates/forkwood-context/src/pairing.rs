//! Tool calls and their results, paired as providers demand it.

use std::collections::{HashMap, HashSet, VecDeque};

use forkwood_core::{EntryId, Message, Role, Text};

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
/// one; where there is none, an error is made up. Results that no call takes are left out. Calls
/// and results that only stand in `metadata` are left as they are.
pub fn pair_tools(messages: &[Message], entry_ids: &[EntryId]) -> Paired {
    let results = results_by_call(messages);
    let taken = assign(messages, &results);
    let used: HashSet<usize> = taken.values().copied().collect();
    let entry = |at: usize| entry_ids.get(at).cloned().unwrap_or_else(|| EntryId::new(""));
    let mut out = Paired::default();
    for (at, message) in messages.iter().enumerate() {
        if let Some(call) = answers(message) {
            // Placed behind its call, or nowhere.
            if !used.contains(&at) {
                out.changes.push(PairChange::Dropped { call: call.clone(), entry: entry(at) });
            }
            continue;
        }
        out.messages.push(message.clone());
        out.entry_ids.push(entry(at));
        for (number, (call, name, _)) in calls(message).enumerate() {
            match taken.get(&(at, number)) {
                Some(&result) => {
                    if !is_adjacent(messages, at, result) {
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
    let mut open: VecDeque<&Text> = VecDeque::new();
    for message in messages {
        match answers(message) {
            Some(call) => {
                if open.pop_front() != Some(call) {
                    return false;
                }
            }
            None if !open.is_empty() => return false,
            None => open.extend(calls(message).map(|(call, _, _)| call)),
        }
    }
    open.is_empty()
}

/// The call that a message answers, if it is a result.
fn answers(message: &Message) -> Option<&Text> {
    message.tool_call_id.as_ref().filter(|_| message.role == Role::Tool)
}

/// The calls of a message; only the model calls tools.
fn calls(message: &Message) -> impl Iterator<Item = (&Text, &Text, &forkwood_core::Json)> {
    message.content.tool_calls().filter(|_| message.role == Role::Assistant)
}

fn results_by_call(messages: &[Message]) -> HashMap<&Text, Vec<usize>> {
    let mut results: HashMap<&Text, Vec<usize>> = HashMap::new();
    for (at, message) in messages.iter().enumerate() {
        if let Some(call) = answers(message) {
            results.entry(call).or_default().push(at);
        }
    }
    results
}

/// Whether nothing but results stands between a call and a result.
fn is_adjacent(messages: &[Message], call: usize, result: usize) -> bool {
    result > call && messages[call + 1..=result].iter().all(|between| answers(between).is_some())
}

/// The result that each call takes, by (position of the message, number of the call in it).
fn assign(
    messages: &[Message],
    results: &HashMap<&Text, Vec<usize>>,
) -> HashMap<(usize, usize), usize> {
    let mut taken = HashMap::new();
    let mut used = HashSet::new();
    for adjacent_only in [true, false] {
        for (at, message) in messages.iter().enumerate() {
            for (number, (call, _, _)) in calls(message).enumerate() {
                if taken.contains_key(&(at, number)) {
                    continue;
                }
                let candidates = results.get(call).map(Vec::as_slice).unwrap_or_default();
                let mut free = candidates.iter().copied().filter(|result| !used.contains(result));
                let found = if adjacent_only {
                    free.find(|result| is_adjacent(messages, at, *result))
                } else {
                    let free: Vec<usize> = free.collect();
                    free.iter().copied().find(|result| *result > at).or(free.first().copied())
                };
                if let Some(result) = found {
                    used.insert(result);
                    taken.insert((at, number), result);
                }
            }
        }
    }
    taken
}

#[cfg(test)]
mod tests;
