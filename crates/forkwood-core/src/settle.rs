//! Settling broken parent links, so that every log becomes a forest.
//!
//! The rules (see ARCHITECTURE.md, "Rules of the log", 7): a ring is cut at its entry that
//! stands first in the file. An entry whose parent was cut or is missing is bridged to the
//! nearest readable path entry before it of the same lane, else it is a root. The child of a
//! sidecar has the sidecar's nearest path ancestor as parent. Every walk is bounded.

use std::collections::{HashMap, HashSet};

/// What an entry says of its parent, as positions in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parent {
    /// It is a root by its own word.
    Root,
    /// The entry at this position.
    At(u32),
    /// An entry that is not in the file.
    Missing,
}

/// One entry, reduced to what settling needs.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Its parent.
    pub parent: Parent,
    /// Its lane, as any number.
    pub lane: u16,
    /// Whether it stands beside the path.
    pub sidecar: bool,
}

/// Why a link was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutReason {
    /// The parent is not in the file.
    Missing,
    /// The link closed a ring.
    Cycle,
}

/// A link that was cut, and what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The position of the entry.
    pub at: u32,
    /// Why.
    pub reason: CutReason,
    /// The parent it has now; `None` = a root.
    pub bridged_to: Option<u32>,
    /// How many entries stand before it on its path thanks to the bridge, which its owner's
    /// program would leave out.
    pub gained: u32,
}

/// The settled forest.
#[derive(Clone, Debug, Default)]
pub struct Settled {
    /// The parent of each entry; `None` = a root.
    pub parents: Vec<Option<u32>>,
    /// The cuts, in file order.
    pub cuts: Vec<Cut>,
}

/// How far back a bridge looks for an entry that is no descendant of its own.
const BRIDGE_WINDOW: usize = 4096;

/// Settles links. With `bridge` false, cut and orphaned entries become roots: the view of a
/// program that knows no bridges.
pub fn settle(links: &[Link], bridge: bool) -> Settled {
    let mut parents = climb_all(links);
    let mut cuts: Vec<Cut> = Vec::new();
    let mut on_ring: HashSet<u32> = HashSet::new();
    for at in ring_cuts(&parents) {
        parents[at as usize] = None;
        on_ring.insert(at);
        cuts.push(Cut { at, reason: CutReason::Cycle, bridged_to: None, gained: 0 });
    }
    for (i, link) in links.iter().enumerate() {
        let orphan = match link.parent {
            Parent::Missing => true,
            // A child of a sidecar that is itself an orphan has no ancestor either.
            Parent::At(p) => parents[i].is_none() && links[p as usize].sidecar,
            Parent::Root => false,
        };
        if orphan && !on_ring.contains(&(i as u32)) {
            parents[i] = None;
            cuts.push(Cut {
                at: i as u32,
                reason: CutReason::Missing,
                bridged_to: None,
                gained: 0,
            });
        }
    }
    cuts.sort_by_key(|cut| cut.at);
    if bridge && !cuts.is_empty() {
        bridge_cuts(links, &mut parents, &mut cuts);
    }
    Settled { parents, cuts }
}

/// The nearest path ancestor above each entry: sidecars between are skipped. Each sidecar is
/// looked through once, however long the chains are.
fn climb_all(links: &[Link]) -> Vec<Option<u32>> {
    // What stands above a sidecar; a ring of sidecars alone has nothing above it.
    let mut above: HashMap<u32, Option<u32>> = HashMap::new();
    let mut chain = Vec::new();
    let mut climb = |start: usize| {
        let mut at = start;
        let found = loop {
            match links[at].parent {
                Parent::Root | Parent::Missing => break None,
                Parent::At(p) if (p as usize) >= links.len() => break None,
                Parent::At(p) if !links[p as usize].sidecar => break Some(p),
                Parent::At(p) => match above.get(&p) {
                    Some(known) => break *known,
                    None => {
                        above.insert(p, None);
                        chain.push(p);
                        at = p as usize;
                    }
                },
            }
        };
        above.extend(chain.drain(..).map(|sidecar| (sidecar, found)));
        found
    };
    (0..links.len()).map(&mut climb).collect()
}

/// For each ring, the position of its member that stands first.
fn ring_cuts(parents: &[Option<u32>]) -> Vec<u32> {
    const UNSEEN: u32 = 0;
    let mut walk_of = vec![UNSEEN; parents.len()];
    let mut cuts = Vec::new();
    let mut walk = UNSEEN;
    for start in 0..parents.len() {
        if walk_of[start] != UNSEEN {
            continue;
        }
        walk += 1;
        let mut at = start;
        loop {
            walk_of[at] = walk;
            let Some(next) = parents[at].map(|p| p as usize) else { break };
            if walk_of[next] == UNSEEN {
                at = next;
            } else {
                if walk_of[next] == walk {
                    let mut first = next as u32;
                    let mut member = next;
                    while let Some(up) = parents[member] {
                        first = first.min(up);
                        member = up as usize;
                        if member == next {
                            break;
                        }
                    }
                    cuts.push(first);
                }
                break;
            }
        }
    }
    cuts
}

/// Gives each cut entry the nearest earlier path entry of its lane that does not descend from it.
fn bridge_cuts(links: &[Link], parents: &mut [Option<u32>], cuts: &mut [Cut]) {
    let mut roots = Roots::of(parents);
    let mut last_of_lane: HashMap<u16, Vec<u32>> = HashMap::new();
    let mut filled = 0;
    for cut in cuts.iter_mut() {
        for (i, link) in links.iter().enumerate().take(cut.at as usize).skip(filled) {
            if !link.sidecar {
                last_of_lane.entry(link.lane).or_default().push(i as u32);
            }
        }
        filled = filled.max(cut.at as usize);
        let Some(before) = last_of_lane.get(&links[cut.at as usize].lane) else { continue };
        let found = before
            .iter()
            .rev()
            .take(BRIDGE_WINDOW)
            .find(|&&candidate| roots.find(candidate) != cut.at);
        if let Some(&candidate) = found {
            parents[cut.at as usize] = Some(candidate);
            let root = roots.find(candidate);
            roots.join(cut.at, root);
            cut.bridged_to = Some(candidate);
        }
    }
    let depths = depths(parents);
    for cut in cuts.iter_mut() {
        cut.gained = cut.bridged_to.map_or(0, |to| depths[to as usize] + 1);
    }
}

/// Finds the root of an entry while roots are joined; paths are shortened on the way.
struct Roots(Vec<u32>);

impl Roots {
    fn of(parents: &[Option<u32>]) -> Roots {
        Roots(parents.iter().enumerate().map(|(i, p)| p.unwrap_or(i as u32)).collect())
    }

    fn find(&mut self, mut at: u32) -> u32 {
        while self.0[at as usize] != at {
            let up = self.0[self.0[at as usize] as usize];
            self.0[at as usize] = up;
            at = up;
        }
        at
    }

    fn join(&mut self, root: u32, under: u32) {
        self.0[root as usize] = under;
    }
}

/// The number of ancestors of each entry of a forest.
pub fn depths(parents: &[Option<u32>]) -> Vec<u32> {
    const UNKNOWN: u32 = u32::MAX;
    let mut depths = vec![UNKNOWN; parents.len()];
    let mut chain = Vec::new();
    for start in 0..parents.len() {
        let mut at = start;
        while depths[at] == UNKNOWN {
            chain.push(at);
            match parents[at] {
                Some(up) => at = up as usize,
                None => break,
            }
        }
        while let Some(member) = chain.pop() {
            depths[member] = parents[member].map_or(0, |up| depths[up as usize] + 1);
        }
    }
    depths
}

#[cfg(test)]
mod tests;
