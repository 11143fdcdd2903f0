//! Who a sender is: several ids of one person under one name (PicoClaw `session/key.go`).

use std::collections::{BTreeMap, HashMap};

use crate::text::{fold, lower};

/// The identity links of a configuration, ready to be asked.
#[derive(Debug, Clone, Default)]
pub struct IdentityLinks {
    /// Sorted: the order that decides when two names claim one id. PicoClaw has none there (it
    /// walks a Go map); a configuration that needs it is refused when it is loaded.
    names: Vec<String>,
    ids: HashMap<String, usize>,
}

/// A sender after the links were asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// The linked name, else the id in lowercase; empty where there is no sender.
    pub id: String,
    /// Whether a link named it.
    pub linked: bool,
}

impl IdentityLinks {
    /// Takes in name -> ids. Blank names and ids are skipped.
    pub fn new(links: &BTreeMap<String, Vec<String>>) -> Self {
        let mut folded: Vec<(String, &Vec<String>)> =
            links.iter().map(|(name, ids)| (fold(name), ids)).collect();
        folded.retain(|(name, _)| !name.is_empty());
        folded.sort();
        let mut made = Self::default();
        for (rank, (name, ids)) in folded.into_iter().enumerate() {
            made.names.push(name);
            for id in ids.iter().map(|id| fold(id)).filter(|id| !id.is_empty()) {
                made.ids.entry(id).or_insert(rank);
            }
        }
        made
    }

    /// The person behind an id on a channel. An id fits a link as it stands, with its channel
    /// before it (`slack:u1`), and without what stands before its first colon.
    pub fn person(&self, channel: &str, raw: &str) -> Person {
        let id = fold(raw);
        if id.is_empty() {
            return Person { id, linked: false };
        }
        let channel = fold(channel);
        let qualified = (!channel.is_empty()).then(|| format!("{channel}:{id}"));
        let forms = [Some(id.as_str()), qualified.as_deref(), tail(&id)];
        let rank = forms.into_iter().flatten().filter_map(|form| self.ids.get(form)).min();
        match rank.and_then(|rank| self.names.get(*rank)) {
            Some(name) => Person { id: name.clone(), linked: true },
            None => Person { id, linked: false },
        }
    }
}

/// What stands after the first colon, where there is text on both sides.
pub(crate) fn tail(id: &str) -> Option<&str> {
    id.split_once(':').filter(|(head, tail)| !head.is_empty() && !tail.is_empty()).map(|p| p.1)
}

/// Whether some sender could match both ids: they are equal, or one is the other without its
/// channel.
pub(crate) fn overlap(one: &str, other: &str) -> bool {
    let (one, other) = (lower(one), lower(other));
    let within = |short: &str, long: &str| {
        let once = tail(long);
        once == Some(short) || once.and_then(tail) == Some(short)
    };
    one == other || within(&one, &other) || within(&other, &one)
}
