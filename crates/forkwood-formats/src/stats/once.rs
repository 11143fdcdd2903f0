//! What was counted already.

use std::collections::{HashMap, HashSet};

use forkwood::Text;
use sha2::{Digest, Sha256};

use super::Spent;

/// A hash; two things of a family that have the same are the same.
type Key = u128;

/// What was counted in a family of sessions.
#[derive(Debug, Default)]
pub(super) struct Once {
    seen: HashSet<Key>,
    /// What was counted of each answer that has an id.
    answers: HashMap<Key, Spent>,
    /// How often the same was met in the session at hand.
    times: HashMap<Key, u32>,
}

impl Once {
    pub(super) fn start_session(&mut self) {
        self.times.clear();
    }

    /// `Some` where it was not met before in the family.
    pub(super) fn first(&mut self, parts: &[&[u8]]) -> Option<()> {
        self.seen.insert(key(parts)).then_some(())
    }

    /// The same, for what has no time: the second of two equal ones in one session is another
    /// one, and the second of two equal ones in another session is that one again.
    pub(super) fn first_of_same(&mut self, parts: &[&[u8]]) -> Option<()> {
        let times = self.times.entry(key(parts)).or_insert(0);
        *times += 1;
        let nth = times.to_le_bytes();
        let mut parts = parts.to_vec();
        parts.push(&nth);
        self.first(&parts)
    }

    /// What was counted of an answer before; from now on it counts as `spent`, where that is
    /// more.
    pub(super) fn answer(&mut self, id: &Text, spent: Spent) -> Option<Spent> {
        let key = key(&[id.as_wtf8()]);
        let before = self.answers.get(&key).copied();
        let mut now = before.unwrap_or_default();
        now.add(&spent.beyond(&before.unwrap_or_default()));
        self.answers.insert(key, now);
        before
    }
}

fn key(parts: &[&[u8]]) -> Key {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let digest = hash.finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Key::from_le_bytes(bytes)
}
