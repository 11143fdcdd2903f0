//! Where two paths of one tree part.

use forkwood_core::EntryId;

/// Two paths, compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathDiff<'a> {
    /// How many entries they share, from the root on.
    pub common: usize,
    /// The last entry they share; `None` where they have not even the root in common.
    pub last_common: Option<&'a EntryId>,
    /// What only the first has.
    pub left: &'a [EntryId],
    /// What only the second has.
    pub right: &'a [EntryId],
}

/// Compares two paths, root first.
pub fn paths<'a>(left: &'a [EntryId], right: &'a [EntryId]) -> PathDiff<'a> {
    let common = left.iter().zip(right).take_while(|(a, b)| a == b).count();
    PathDiff {
        common,
        last_common: left[..common].last(),
        left: &left[common..],
        right: &right[common..],
    }
}

#[cfg(test)]
mod tests;
