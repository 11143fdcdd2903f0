//! What Claude Code makes of answers in a row.
//!
//! It writes an answer a block a line, so answers that follow each other are one to it: their
//! results all stand behind the last of them, in the order of the file, with the one that the
//! conversation goes on behind at the end. Where lines stood otherwise, that is told. The rules
//! are those of the reader (`claude_code::relink`), over the lines as they were written.

use std::collections::{HashMap, HashSet};

use forkwood::{Body, Entry, EntryId, Message, Role, Text};

/// What a line is to those rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Answer,
    /// A result, or the results of the calls from this one on.
    Result(Option<Text>),
    /// A record that no message is.
    Beside,
    Other,
}

impl Kind {
    pub(super) fn of(entry: &Entry) -> Kind {
        match &entry.body {
            Body::Message(body) => Kind::of_message(&body.message),
            Body::Custom { .. } => Kind::Beside,
            _ => Kind::Other,
        }
    }

    pub(super) fn of_message(message: &Message) -> Kind {
        match message.role {
            Role::Assistant => Kind::Answer,
            Role::Tool => Kind::Result(message.tool_call_id.clone()),
            _ => Kind::Other,
        }
    }
}

/// A line as it was written.
#[derive(Debug)]
pub(super) struct Laid {
    /// The entry whose id the line has, and what it hangs from.
    pub(super) id: EntryId,
    pub(super) parent: Option<EntryId>,
    /// The entry that it is told of: another one, where the line is a copy.
    pub(super) of: EntryId,
    pub(super) kind: Kind,
}

/// What stands elsewhere when a file is read.
#[derive(Debug, Default)]
pub(super) struct Moved {
    /// The entries of lines that hang from another one than they say.
    pub(super) entries: Vec<EntryId>,
    /// Whether the session stands elsewhere than at the last line.
    pub(super) leaf: bool,
}

/// What the reader moves.
pub(super) fn moved(lines: &[Laid]) -> Moved {
    let places: HashMap<&EntryId, usize> =
        lines.iter().enumerate().map(|(at, line)| (&line.id, at)).collect();
    let parents: Vec<Option<usize>> = lines
        .iter()
        .map(|line| line.parent.as_ref().and_then(|parent| places.get(parent).copied()))
        .collect();
    let above = messages_above(lines, &parents);
    let rows = rows(lines, &above);
    let followed: HashSet<usize> = parents.iter().flatten().copied().collect();

    let mut now: HashMap<usize, usize> = HashMap::new();
    let mut ends: HashMap<usize, usize> = HashMap::new();
    let mut moved = Moved::default();
    for mut row in rows {
        row.results.sort_by_key(|result| followed.contains(result));
        let (Some(last_answer), Some(last)) = (row.answers.last(), row.results.last()) else {
            continue;
        };
        if row.results.len() == 1 && above[*last] == Some(*last_answer) {
            continue;
        }
        let mut before = *last_answer;
        for result in &row.results {
            now.insert(*result, before);
            ends.insert(*result, *last);
            before = *result;
        }
        let leaf = lines.len().checked_sub(1);
        let is_leaf = |at: &usize| Some(*at) == leaf && at != last;
        moved.leaf |= row.answers.iter().chain(&row.results).any(is_leaf);
    }
    for (at, parent) in parents.iter().enumerate() {
        let behind = parent.and_then(|parent| ends.get(&parent).copied());
        let reads = now.get(&at).copied().or(behind).or(*parent);
        if reads != *parent {
            moved.entries.push(lines[at].of.clone());
        }
    }
    moved
}

/// The message that each line hangs from, records between left out.
fn messages_above(lines: &[Laid], parents: &[Option<usize>]) -> Vec<Option<usize>> {
    let mut above: Vec<Option<usize>> = Vec::with_capacity(lines.len());
    for (at, parent) in parents.iter().enumerate() {
        // What a line hangs from stands before it.
        let parent = parent.filter(|parent| *parent < at);
        above.push(match parent {
            Some(parent) if lines[parent].kind == Kind::Beside => above[parent],
            parent => parent,
        });
    }
    above
}

/// Answers in a row, and the results that hang from them.
#[derive(Default)]
struct Row {
    answers: Vec<usize>,
    results: Vec<usize>,
}

fn rows(lines: &[Laid], above: &[Option<usize>]) -> Vec<Row> {
    let is_answer = |at: &usize| lines[*at].kind == Kind::Answer;
    // Two answers behind one are branches, and no row.
    let mut follows: HashMap<usize, Option<usize>> = HashMap::new();
    for at in (0..lines.len()).filter(is_answer) {
        if let Some(up) = above[at].filter(is_answer) {
            follows.entry(up).and_modify(|next| *next = None).or_insert(Some(at));
        }
    }
    let mut rows: Vec<Row> = Vec::new();
    let mut row_of: HashMap<usize, usize> = HashMap::new();
    let mut answered: HashSet<(usize, Option<&Text>)> = HashSet::new();
    for (at, line) in lines.iter().enumerate() {
        let up = above[at];
        let row = up.and_then(|up| row_of.get(&up).copied());
        match &line.kind {
            Kind::Answer => {
                let goes_on = up.and_then(|up| follows.get(&up)) == Some(&Some(at));
                let row = row.filter(|_| goes_on).unwrap_or_else(|| {
                    rows.push(Row::default());
                    rows.len() - 1
                });
                rows[row].answers.push(at);
                row_of.insert(at, row);
            }
            // A second result of a call is another branch.
            Kind::Result(call) => {
                if let Some(row) = row
                    && answered.insert((row, call.as_ref()))
                {
                    rows[row].results.push(at);
                }
            }
            _ => {}
        }
    }
    rows
}
