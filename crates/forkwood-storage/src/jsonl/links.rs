//! Links that follow from a whole file and not from its lines one by one.

use forkwood_core::{EntryId, EntryKind, Role};

use super::dialect::{Dialect, RecordHead};
use super::index::{Index, NONE};
use crate::disk::{DiskFile, read_from};

/// The entries of a file and their parents, for [`Dialect::relink`]. Entries are numbered in the
/// order of the file.
pub struct Links<'a> {
    index: &'a Index,
    parents: &'a mut [Option<u32>],
    leaf: Option<u32>,
}

impl std::fmt::Debug for Links<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Links({} entries)", self.parents.len())
    }
}

impl<'a> Links<'a> {
    /// How many entries there are.
    pub fn len(&self) -> u32 {
        self.parents.len() as u32
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    /// The number of an entry.
    pub fn find(&self, id: &str) -> Option<u32> {
        self.index.find(id)
    }

    /// The id of an entry.
    pub fn id(&self, at: u32) -> EntryId {
        self.index.id(at)
    }

    /// The type of an entry.
    pub fn kind(&self, at: u32) -> EntryKind {
        self.index.rec(at).kind
    }

    /// Who speaks, where it is a message.
    pub fn role(&self, at: u32) -> Option<Role> {
        self.index.role(at)
    }

    /// The line that an entry stands on.
    pub fn line(&self, at: u32) -> u32 {
        self.index.rec(at).line
    }

    /// Whether an entry stands beside the path.
    pub fn is_sidecar(&self, at: u32) -> bool {
        self.index.is_sidecar(at)
    }

    /// The parent of an entry, as it is now.
    pub fn parent(&self, at: u32) -> Option<u32> {
        *self.parents.get(at as usize)?
    }

    /// Sets the parent of an entry. One that stands beside the path cannot be a parent.
    pub fn set_parent(&mut self, at: u32, parent: Option<u32>) {
        let fine = parent.is_none_or(|up| up < self.len() && !self.is_sidecar(up));
        if fine && let Some(slot) = self.parents.get_mut(at as usize) {
            *slot = parent;
        }
    }

    /// What [`Dialect::hint`] said, in the order of the file.
    pub fn hints(&self) -> impl Iterator<Item = (u32, &'a str)> + use<'a> {
        self.index.hints.iter().map(|(at, hint)| (*at, hint.as_str()))
    }

    /// Where `main` stands.
    pub fn leaf(&self) -> Option<u32> {
        self.leaf
    }

    /// Puts `main` somewhere else.
    pub fn set_leaf(&mut self, leaf: u32) {
        if leaf < self.len() {
            self.leaf = Some(leaf);
        }
    }
}

/// What the dialect wants to know again when all is read, by the ids of entries.
pub(super) fn hints(
    dialect: &dyn Dialect,
    line: &[u8],
    heads: &[RecordHead<'_>],
) -> Vec<(String, String)> {
    let line = if dialect.relinks() { std::str::from_utf8(line).ok() } else { None };
    let Some(line) = line else { return Vec::new() };
    heads.iter().filter_map(|head| Some((head.id.to_string(), dialect.hint(line, head)?))).collect()
}

impl Index {
    /// Keeps hints of entries that were just added.
    pub(super) fn note(&mut self, hints: Vec<(String, String)>) {
        for (id, hint) in hints {
            let at = self.known(&id);
            self.hints.extend(at.map(|at| (at, hint)));
        }
    }
}

/// Lets the dialect set parents. Gives where `main` stands, if it stands anywhere. What the
/// dialect made is dropped whole where it closed a ring.
pub(super) fn relink(
    index: &Index,
    parents: &mut [Option<u32>],
    dialect: &dyn Dialect,
) -> Option<u32> {
    let before = parents.to_vec();
    let leaf = Some(index.lanes()[0].leaf).filter(|leaf| *leaf != NONE);
    let mut links = Links { index, parents, leaf };
    dialect.relink(&mut links);
    let leaf_now = links.leaf;
    if has_ring(parents) {
        parents.copy_from_slice(&before);
        return leaf;
    }
    leaf_now
}

/// Whether any walk along parents comes back to where it was.
fn has_ring(parents: &[Option<u32>]) -> bool {
    let mut walk_of = vec![0u32; parents.len()];
    for start in 0..parents.len() {
        let walk = start as u32 + 1;
        let mut at = start;
        while walk_of[at] == 0 {
            walk_of[at] = walk;
            match parents[at] {
                Some(up) => at = up as usize,
                None => break,
            }
        }
        // Met in this very walk, and not because it ended there.
        if walk_of[at] == walk && parents[at].is_some() {
            return true;
        }
    }
    false
}

/// The line that a record starts in, without its line end, and where in it the record starts.
pub(super) fn whole_line(file: &dyn DiskFile, record: u64, end: u64) -> Option<(Vec<u8>, usize)> {
    const STEP: u64 = 64 * 1024;
    let mut start = record;
    loop {
        let from = start.saturating_sub(STEP);
        let piece = read_from(file, from, start - from).ok()?;
        if let Some(at) = memchr::memrchr(b'\n', &piece) {
            start = from + at as u64 + 1;
            break;
        }
        start = from;
        if start == 0 {
            break;
        }
    }
    let mut stop = record;
    while stop < end {
        let piece = read_from(file, stop, STEP.min(end - stop)).ok()?;
        if let Some(at) = memchr::memchr(b'\n', &piece) {
            stop += at as u64;
            break;
        }
        stop += piece.len() as u64;
        if piece.is_empty() {
            break;
        }
    }
    let line = read_from(file, start, stop - start).ok()?;
    Some((line, usize::try_from(record - start).ok()?))
}

#[cfg(test)]
mod tests {
    use super::{has_ring, whole_line};
    use crate::disk::{Disk, SimDisk};
    use std::path::Path;

    #[test]
    fn rings_are_found() {
        assert!(!has_ring(&[]));
        assert!(!has_ring(&[None, Some(0), Some(1), Some(1), Some(5), None]));
        assert!(has_ring(&[Some(0)]));
        assert!(has_ring(&[None, Some(2), Some(1)]));
        assert!(has_ring(&[Some(3), Some(0), None, Some(1)]));
        assert!(!has_ring(&[Some(1), Some(2), None]));
    }

    #[test]
    fn a_line_is_found_around_a_record() {
        let long = "x".repeat(200_000);
        let text = format!("first\n{long}\nlast");
        let disk = SimDisk::volatile();
        disk.put(Path::new("/f"), text.as_bytes());
        let file = disk.open_read(Path::new("/f")).unwrap();
        let end = text.len() as u64;
        assert_eq!(whole_line(file.as_ref(), 2, end), Some((b"first".to_vec(), 2)));
        assert_eq!(whole_line(file.as_ref(), 6, end), Some((long.clone().into_bytes(), 0)));
        assert_eq!(whole_line(file.as_ref(), 150_000, end), Some((long.into_bytes(), 149_994)));
        assert_eq!(whole_line(file.as_ref(), end - 1, end), Some((b"last".to_vec(), 3)));
    }
}
