//! Where the lines of a format without ids stand among those that were taken before.
//!
//! The owner of such a file appends to it, drops lines from its start when it compacts, and now
//! and then replaces all of them. The entries taken before are compared by what stands on their
//! lines.

use forkwood::EntryId;

use super::LINE_DIGITS;

/// How to go on from the entries that were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineUp {
    /// The first so many lines are the last entries of the path: the others follow them.
    Continue(usize),
    /// The first so many lines stand on the path, up to the entry before this place on it, and
    /// the path then went another way: the other lines are a branch there.
    Branch(usize, usize),
}

/// The part of an id that tells what stands on the line.
pub(crate) fn key(id: &EntryId) -> &str {
    id.as_str().get(..LINE_DIGITS).unwrap_or(id.as_str())
}

/// Compares the ids of the lines now with those of the path taken before. Takes time in
/// proportion to both.
pub(crate) fn line_up(path: &[EntryId], lines: &[EntryId]) -> LineUp {
    if path.is_empty() || lines.is_empty() {
        return LineUp::Continue(0);
    }
    let fits = |a: &EntryId, b: &EntryId| key(a) == key(b);
    // How long a start of the lines ends each start of the lines, itself left out.
    let mut borders = vec![0usize; lines.len()];
    let mut matched = 0;
    for at in 1..lines.len() {
        while matched > 0 && !fits(&lines[at], &lines[matched]) {
            matched = borders[matched - 1];
        }
        if fits(&lines[at], &lines[matched]) {
            matched += 1;
        }
        borders[at] = matched;
    }
    // The longest start of the lines that stands on the path, and the one that ends it.
    let mut longest = (0, 0);
    matched = 0;
    for (id, end) in path.iter().zip(1..) {
        if matched == lines.len() {
            matched = borders[matched - 1];
        }
        while matched > 0 && !fits(id, &lines[matched]) {
            matched = borders[matched - 1];
        }
        if fits(id, &lines[matched]) {
            matched += 1;
        }
        if matched > longest.0 {
            longest = (matched, end);
        }
    }
    match matched > 0 && matched == longest.0 {
        true => LineUp::Continue(matched),
        false => LineUp::Branch(longest.0, longest.1),
    }
}

#[cfg(test)]
mod tests {
    use super::{LineUp, line_up};
    use crate::import::line_id;
    use forkwood::EntryId;

    fn ids(text: &str) -> Vec<EntryId> {
        text.chars().zip(0..).map(|(c, n)| line_id(c.to_string().as_bytes(), n)).collect()
    }

    #[test]
    fn finds_where_the_lines_go_on() {
        for (path, lines, expected) in [
            ("", "abc", LineUp::Continue(0)),
            ("abc", "abc", LineUp::Continue(3)),
            ("abc", "abcde", LineUp::Continue(3)),
            // Compacted, and compacted and gone on.
            ("abcd", "cd", LineUp::Continue(2)),
            ("abcd", "cdef", LineUp::Continue(2)),
            ("aaaa", "aa", LineUp::Continue(2)),
            ("abab", "abc", LineUp::Continue(2)),
            ("xabab", "ababc", LineUp::Continue(4)),
            // Cut back, changed, and replaced.
            ("abcd", "ab", LineUp::Branch(2, 2)),
            ("abcd", "abx", LineUp::Branch(2, 2)),
            ("abcd", "xyz", LineUp::Branch(0, 0)),
            // Compacted, then cut back.
            ("abcde", "cd", LineUp::Branch(2, 4)),
            ("abcde", "cdx", LineUp::Branch(2, 4)),
            ("abcd", "", LineUp::Continue(0)),
        ] {
            assert_eq!(line_up(&ids(path), &ids(lines)), expected, "{path} {lines}");
        }
    }
}
