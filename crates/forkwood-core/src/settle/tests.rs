use proptest::prelude::*;

use super::{Cut, CutReason, Link, Parent, Settled, depths, settle};

fn link(parent: Parent) -> Link {
    Link { parent, lane: 0, sidecar: false }
}

fn at(p: u32) -> Link {
    link(Parent::At(p))
}

fn run(links: &[Link]) -> Settled {
    settle(links, true)
}

#[test]
fn an_undamaged_log_is_left_alone() {
    let settled = run(&[link(Parent::Root), at(0), at(0), at(2)]);
    assert_eq!(settled.parents, [None, Some(0), Some(0), Some(2)]);
    assert!(settled.cuts.is_empty());
}

#[test]
fn a_missing_parent_is_bridged_to_the_entry_before() {
    let settled = run(&[link(Parent::Root), at(0), link(Parent::Missing), at(2)]);
    assert_eq!(settled.parents[2], Some(1));
    assert_eq!(
        settled.cuts,
        [Cut { at: 2, reason: CutReason::Missing, bridged_to: Some(1), gained: 2 }]
    );
}

#[test]
fn bridges_stay_in_their_lane() {
    let side = Link { parent: Parent::Missing, lane: 1, sidecar: false };
    assert_eq!(run(&[link(Parent::Root), side]).parents, [None, None]);
}

#[test]
fn a_ring_is_cut_at_its_first_entry() {
    // 1 -> 3 -> 2 -> 1 by parent links, and 4 is its own parent.
    let settled = run(&[link(Parent::Root), at(3), at(1), at(2), at(4)]);
    assert_eq!(settled.parents, [None, Some(0), Some(1), Some(2), Some(3)]);
    assert!(settled.cuts.iter().all(|c| c.reason == CutReason::Cycle));
    assert_eq!(settled.cuts.iter().map(|c| c.at).collect::<Vec<_>>(), [1, 4]);
}

#[test]
fn without_bridges_cut_entries_are_roots() {
    let settled = settle(&[link(Parent::Root), link(Parent::Missing), at(2)], false);
    assert_eq!(settled.parents, [None, None, None]);
}

#[test]
fn a_sidecar_is_no_parent() {
    let label = Link { parent: Parent::At(0), lane: 0, sidecar: true };
    assert_eq!(run(&[link(Parent::Root), label, at(1)]).parents[2], Some(0));
}

#[test]
fn a_bridge_never_closes_a_ring() {
    // 0 points forward to 2, whose parent is missing: 2 cannot be bridged to 0 or 1.
    let settled = run(&[at(2), at(0), link(Parent::Missing)]);
    assert_eq!(settled.parents, [Some(2), Some(0), None]);
}

fn any_link(count: u32) -> impl Strategy<Value = Link> {
    let parent = prop_oneof![
        1 => Just(Parent::Root),
        2 => Just(Parent::Missing),
        8 => (0..count).prop_map(Parent::At),
    ];
    (parent, 0..3u16, proptest::bool::weighted(0.2)).prop_map(|(parent, lane, sidecar)| Link {
        parent,
        lane,
        sidecar,
    })
}

proptest! {
    /// Whatever the links, the result is a forest of path entries, and nothing is lost.
    #[test]
    fn every_log_becomes_a_forest(
        links in (1..60u32).prop_flat_map(|n| proptest::collection::vec(any_link(n), n as usize)),
        bridge in any::<bool>(),
    ) {
        let settled = settle(&links, bridge);
        prop_assert_eq!(settled.parents.len(), links.len());
        for (start, _) in links.iter().enumerate() {
            let mut steps = 0;
            let mut at = start;
            while let Some(up) = settled.parents[at] {
                prop_assert!(!links[up as usize].sidecar);
                at = up as usize;
                steps += 1;
                prop_assert!(steps <= links.len(), "a ring is left");
            }
            prop_assert_eq!(depths(&settled.parents)[start], steps as u32);
        }
        // A link that was fine and not on a ring stays.
        for (i, link) in links.iter().enumerate() {
            if let Parent::At(p) = link.parent
                && !links[p as usize].sidecar
                && !settled.cuts.iter().any(|c| c.at as usize == i)
            {
                prop_assert_eq!(settled.parents[i], Some(p));
            }
        }
    }
}

/// Chains of sidecars that name each other cost no more than their length.
#[test]
fn long_chains_and_rings_of_sidecars() {
    const COUNT: u32 = 200_000;
    let sidecar = |parent| Link { parent, lane: 0, sidecar: true };
    let mut links: Vec<Link> = vec![Link { parent: Parent::Root, lane: 0, sidecar: false }];
    links.extend((2..=COUNT).map(|next| sidecar(Parent::At(next))));
    links.push(sidecar(Parent::At(0)));
    let settled = settle(&links, true);
    assert!(settled.parents[1..].iter().all(|parent| *parent == Some(0)));
    assert!(settled.cuts.is_empty());
    links[COUNT as usize].parent = Parent::At(1);
    let settled = settle(&links, false);
    assert!(settled.parents.iter().all(Option::is_none));
}
