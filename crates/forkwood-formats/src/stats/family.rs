//! Which sessions share history.

use std::collections::HashMap;

use forkwood::{SessionFacts, Text};

use crate::import::Origin;

/// The names that a session goes by, and those of what it was made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kin(Vec<String>);

impl Kin {
    /// Reads what a session says of itself: its id here and in its header, what it was forked
    /// from, and where it was imported from.
    pub fn of(facts: &SessionFacts) -> Kin {
        let mut names = vec![facts.id.as_str().to_owned()];
        let mut add = |text: Option<&Text>| {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                names.push(stem(&text.to_string_lossy()).to_owned());
            }
        };
        add(Some(&facts.shown_id));
        add(facts.forked_from.as_ref());
        add(facts.info.forked_from.as_ref().map(|from| &from.session_id));
        if let Some(origin) = Origin::of_metadata(facts.info.metadata.as_ref()) {
            add(Some(&origin.source_id));
            add(origin.forked_from.as_ref());
        }
        names.sort();
        names.dedup();
        Kin(names)
    }

    /// The names as given.
    pub fn named(names: impl IntoIterator<Item = String>) -> Kin {
        Kin(names.into_iter().collect())
    }
}

/// Some formats name a file where others name an id.
fn stem(name: &str) -> &str {
    match name.rsplit_once(['/', '\\']) {
        // Pi: `<time>_<id>.jsonl`.
        Some((_, file)) => {
            let file = file.strip_suffix(".jsonl").unwrap_or(file);
            file.rsplit_once('_').map_or(file, |(_, id)| id)
        }
        None => name,
    }
}

/// Puts sessions that share a name together. Gives the places of each family, in the order in
/// which its first one stands.
pub fn families(kin: &[Kin]) -> Vec<Vec<usize>> {
    let mut leads: Vec<usize> = (0..kin.len()).collect();
    let mut holders: HashMap<&str, usize> = HashMap::new();
    for (at, Kin(names)) in kin.iter().enumerate() {
        for name in names {
            match holders.get(name.as_str()) {
                Some(other) => {
                    let (a, b) = (lead(&mut leads, *other), lead(&mut leads, at));
                    // The first of them leads.
                    leads[a.max(b)] = a.min(b);
                }
                None => {
                    holders.insert(name, at);
                }
            }
        }
    }
    let mut families: Vec<Vec<usize>> = Vec::new();
    let mut places: HashMap<usize, usize> = HashMap::new();
    for at in 0..kin.len() {
        let lead = lead(&mut leads, at);
        let place = *places.entry(lead).or_insert_with(|| {
            families.push(Vec::new());
            families.len() - 1
        });
        families[place].push(at);
    }
    families
}

/// The lead of a session; the way there is shortened.
fn lead(leads: &mut [usize], mut at: usize) -> usize {
    while leads[at] != at {
        leads[at] = leads[leads[at]];
        at = leads[at];
    }
    at
}

#[cfg(test)]
mod tests {
    use super::{Kin, families, stem};

    #[test]
    fn sessions_that_share_a_name_are_one_family() {
        let kin: Vec<Kin> = [&["a"][..], &["b"], &["c", "a"], &["d", "x"], &["e", "x", "c"]]
            .iter()
            .map(|names| Kin::named(names.iter().map(|name| (*name).to_owned())))
            .collect();
        assert_eq!(families(&kin), [vec![0, 2, 3, 4], vec![1]]);
        assert!(families(&[]).is_empty());
    }

    #[test]
    fn a_file_stands_for_its_session() {
        assert_eq!(stem("/home/me/.pi/2026-01-01T00-00-00-000Z_abc.jsonl"), "abc");
        assert_eq!(stem("abc"), "abc");
    }
}
