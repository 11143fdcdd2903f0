//! Session ids in lists, with the part that is enough to type.

use forkwood_view::sanitise;

use crate::style::{self, paint};

/// How long a prefix of the last part of each id must be to name it alone; 0 where only the
/// whole id does.
///
/// A query is held against ids and against the last parts of ids, so that both have to differ.
pub(crate) fn unique_tails(ids: &[&str]) -> Vec<usize> {
    let mut keys: Vec<(&str, usize)> = Vec::with_capacity(ids.len() * 2);
    for (owner, id) in ids.iter().enumerate() {
        keys.push((id, owner));
        keys.push((tail(id), owner));
    }
    keys.sort_unstable();
    let mut needed = vec![0; ids.len()];
    for (at, &(key, owner)) in keys.iter().enumerate() {
        if key.len() != tail(ids[owner]).len() {
            continue;
        }
        // Neighbours in order share the most; those of the same owner do not count.
        let before = keys[..at].iter().rev().find(|(_, other)| *other != owner);
        let after = keys[at + 1..].iter().find(|(_, other)| *other != owner);
        let shared =
            [before, after].into_iter().flatten().map(|(other, _)| shared(key, other)).max();
        let enough = shared.unwrap_or(0) + 1;
        if enough <= key.len() {
            needed[owner] = enough;
        }
    }
    needed
}

/// What stands after the last dash.
fn tail(id: &str) -> &str {
    id.rsplit('-').next().unwrap_or(id)
}

/// Bytes that two texts have in common at their start.
fn shared(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}

/// An id with the unique part of its tail set off.
pub(crate) fn painted(id: &str, unique: usize) -> String {
    let start = id.len() - tail(id).len();
    let end = start + unique;
    let part = |from: usize, to: usize| sanitise::line(id.get(from..to).unwrap_or_default());
    if unique == 0 || !id.is_ascii() {
        return paint(style::ID, sanitise::line(id));
    }
    let mut out = String::new();
    for (style, text) in [
        (style::DIM, part(0, start)),
        (style::ID, part(start, end)),
        (style::DIM, part(end, id.len())),
    ] {
        if !text.is_empty() {
            out.push_str(&paint(style, text));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::unique_tails;

    #[test]
    fn finds_the_shortest_unique_part() {
        let check = |ids: &[&str], expect: &[usize]| {
            assert_eq!(unique_tails(ids), expect, "{ids:?}");
        };
        check(&[], &[]);
        check(&["20261120-080541-7c3e91d4"], &[1]);
        check(&["20261120-080541-7c3e91d4", "20261120-080542-7c4e91d4"], &[3, 3]);
        // The start of an id counts as well as the start of a last part.
        check(&["20261120-080541-2a", "20261120-080542-bb"], &[2, 1]);
        // One that is the start of another cannot be named by its last part.
        check(&["x-abc", "y-abcd"], &[0, 4]);
        check(&["same", "same"], &[0, 0]);
    }
}
