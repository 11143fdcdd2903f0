//! What every storage does, by one body of code.

use forkwood_core::{Body, Draft, Message};
use forkwood_storage::{Append, Cursor, Expect, NewSession};

use crate::common::*;

#[test]
fn entries_come_back_in_order_whatever_the_page() {
    each(|store| {
        let (storage, s) = (store.storage.as_ref(), store.session("s1"));
        append(storage, &s, vec![user(1, "one")]);
        let batch = append(storage, &s, vec![answer(2, "two"), user(3, "three"), answer(4, "4")]);
        append(storage, &s, vec![title(5, "named"), user(6, "six")]);
        let expected: Vec<_> = [root(storage, &s)].into_iter().chain((1..=6).map(id)).collect();
        assert_eq!(ids(storage, &s), expected);
        assert_eq!(
            batch.entries.iter().map(|e| &e.id).collect::<Vec<_>>(),
            [&id(2), &id(3), &id(4)]
        );
        assert_eq!(batch.entries[0].parent_id, Some(id(1)));
        assert_eq!(batch.entries[2].parent_id, Some(id(3)));
        assert_eq!(batch.leaf, Some(id(4)));
        for limit in [1, 2, 3, 7, 100] {
            let (mut from, mut seen) = (0, Vec::new());
            loop {
                let page = run(storage.read(&s, from, limit)).unwrap();
                assert!(page.entries.len() <= limit);
                seen.extend(page.entries.iter().map(|stored| stored.entry.id.clone()));
                match page.next {
                    Some(next) => from = next,
                    None => break,
                }
            }
            assert_eq!(seen, expected, "limit {limit}");
        }
        let all = run(storage.read(&s, 0, 100)).unwrap().entries;
        assert!(all.windows(2).all(|pair| pair[0].seq < pair[1].seq));
        for (at, stored) in all.iter().enumerate() {
            let rest = run(storage.read(&s, stored.seq, 100)).unwrap().entries;
            assert_eq!(rest.len(), all.len() - at - 1);
        }
        let facts = run(storage.facts(&s)).unwrap();
        assert_eq!(facts.end, all.last().unwrap().seq);
        assert_eq!(facts.info.title.as_ref().unwrap(), "named");
        assert_eq!(facts.entries, 7);
        let got = run(storage.get(&s, &[id(3), id(77), id(1)])).unwrap();
        assert_eq!(got[0].as_ref().unwrap().entry.id, id(3));
        assert!(got[1].is_none());
        assert_eq!(got[2].as_ref().unwrap().entry.message(), Some(&Message::user("one")));
    });
}

#[test]
fn a_writer_is_refused_where_its_lane_moved() {
    each(|store| {
        let (storage, s) = (store.storage.as_ref(), store.session("s1"));
        let root = root(storage, &s);
        run(storage.append(&s, at(&root, vec![user(1, "one")]))).unwrap();
        let before = store.bytes(&s);
        assert_eq!(kind(run(storage.append(&s, at(&root, vec![user(2, "two")])))), "conflict");
        let none = Append { expect: Expect::NoLane, ..Append::any(vec![user(2, "two")]) };
        assert_eq!(kind(run(storage.append(&s, none.clone()))), "conflict");
        let elsewhere = Append { lane: lane("side"), ..at(&root, vec![user(2, "two")]) };
        assert_eq!(kind(run(storage.append(&s, elsewhere))), "conflict");
        assert_eq!(store.bytes(&s), before);
        assert_eq!(leaf_of(storage, &s, "main"), Some(id(1)));
        assert_eq!(heads(storage, &s).len(), 2);
        let side =
            Append { lane: lane("side"), drafts: vec![leaf(2, &root), user(3, "3")], ..none };
        let done = run(storage.append(&s, side)).unwrap();
        assert_eq!((done.lane.as_str(), done.leaf), ("side", Some(id(3))));
        assert_eq!(path(storage, &s, &id(3)), [root.clone(), id(3)]);
        assert_eq!(leaf_of(storage, &s, "main"), Some(id(1)));
        assert_eq!(leaf_of(storage, &s, "side"), Some(id(3)));
    });
}

#[test]
fn a_conflict_can_go_to_a_lane_of_its_own() {
    each(|store| {
        let (storage, s) = (store.storage.as_ref(), store.session("s1"));
        let root = root(storage, &s);
        append(storage, &s, vec![user(1, "one"), answer(2, "two")]);
        let late = branching(at(&id(1), vec![user(0xabcd_1234, "late"), answer(4, "yes")]));
        let done = run(storage.append(&s, late.clone())).unwrap();
        assert_eq!(done.lane.as_str(), "main-abcd1234");
        assert_eq!(done.entries[0].parent_id, Some(id(1)));
        assert_eq!(done.leaf, Some(id(4)));
        assert_eq!(leaf_of(storage, &s, "main"), Some(id(2)));
        assert_eq!(path(storage, &s, &id(4)), [root.clone(), id(1), id(0xabcd_1234), id(4)]);
        let again = run(storage.append(&s, late)).unwrap();
        assert_eq!((again.lane.as_str(), &again.leaf), ("main-abcd1234", &done.leaf));
        assert_eq!(again.entries, done.entries);
        assert!(again.repeated);
        // Another entry whose id ends alike has a lane of its own all the same.
        let alike = Draft::new("other-abcd1234".into(), Message::user("alike"));
        let alike = run(storage.append(&s, branching(at(&root, vec![alike])))).unwrap();
        assert_ne!(alike.lane.as_str(), "main-abcd1234");
        assert_eq!(alike.entries[0].parent_id, Some(root.clone()));
        assert_eq!(leaf_of(storage, &s, "main-abcd1234"), Some(id(4)));
        // Nobody can have been at an entry that is not there.
        let nowhere = branching(at(&id(99), vec![user(9, "x")]));
        assert_eq!(kind(run(storage.append(&s, nowhere))), "not_found");
        // Without a conflict it stays where it is.
        let fine = run(storage.append(&s, branching(at(&id(2), vec![user(10, "x")])))).unwrap();
        assert_eq!(fine.lane.as_str(), "main");
    });
}

#[test]
fn pointers_move_lanes_and_never_stand_at_what_is_beside_the_path() {
    each(|store| {
        let (storage, s) = (store.storage.as_ref(), store.session("s1"));
        let root = root(storage, &s);
        append(storage, &s, vec![user(1, "one"), answer(2, "two")]);
        let moved = append(storage, &s, vec![leaf(3, &id(1)), user(4, "other")]);
        assert_eq!(moved.entries[0].parent_id, Some(id(2)));
        assert_eq!(moved.entries[1].parent_id, Some(id(1)));
        assert_eq!(path(storage, &s, &id(4)), [root.clone(), id(1), id(4)]);
        append(storage, &s, vec![label(5, "here", Some(&id(2))), custom(6, "{}", true)]);
        assert_eq!(leaf_of(storage, &s, "main"), Some(id(4)));
        // To a label, that is: to the entry the label stands beside.
        let beside = append(storage, &s, vec![leaf(7, &id(5))]);
        assert_eq!(beside.leaf, Some(id(4)));
        let next = append(storage, &s, vec![label(8, "x", None), leaf(9, &id(8)), user(10, "on")]);
        assert_eq!(next.entries[2].parent_id, Some(id(4)));
        assert_eq!(path(storage, &s, &id(10)), [root.clone(), id(1), id(4), id(10)]);
        assert_eq!(path(storage, &s, &id(8)), [root.clone(), id(1), id(4)]);
        assert_eq!(kind(run(storage.append(&s, write(vec![leaf(11, &id(99))])))), "not_found");
        let later = write(vec![leaf(11, &id(12)), user(12, "x")]);
        assert_eq!(kind(run(storage.append(&s, later))), "not_found");
        let nowhere = Draft::new(id(11), Body::Leaf { leaf_id: None });
        assert_eq!(kind(run(storage.append(&s, write(vec![nowhere])))), "invalid");
        let unknown = write(vec![label(11, "x", Some(&id(99)))]);
        assert_eq!(kind(run(storage.append(&s, unknown))), "not_found");
        assert_eq!(run(storage.check(&s)).unwrap(), []);
    });
}

#[test]
fn a_new_lane_hangs_from_the_root_unless_told_otherwise() {
    each(|store| {
        let (storage, s) = (store.storage.as_ref(), store.session("s1"));
        let root = root(storage, &s);
        append(storage, &s, vec![user(1, "one")]);
        for (n, expect) in [(2, Expect::Any), (3, Expect::NoLane)] {
            let lane = lane(&format!("l{n}"));
            let new = Append { lane, expect, ..Append::any(vec![user(n, "x")]) };
            let done = run(storage.append(&s, new)).unwrap();
            assert_eq!(done.entries[0].parent_id, Some(root.clone()));
        }
        assert_eq!(run(storage.check(&s)).unwrap(), []);
    });
}

#[test]
fn a_retry_gets_the_first_answer_and_writes_nothing() {
    each(|store| {
        let (storage, s) = (store.storage.as_ref(), store.session("s1"));
        let root = root(storage, &s);
        let writes = [
            at(&root, vec![user(1, "one")]),
            at(&id(1), vec![answer(2, "two"), user(3, "three")]),
            at(&id(3), vec![leaf(4, &id(1)), user(5, "five"), label(6, "l", Some(&id(2)))]),
            at(&id(5), vec![label(7, "l", None)]),
            Append { lane: lane("side"), ..write(vec![leaf(8, &id(2)), user(9, "nine")]) },
            at(&id(5), vec![leaf(10, &id(7))]),
        ];
        let first: Vec<_> =
            writes.iter().map(|w| run(storage.append(&s, w.clone())).unwrap()).collect();
        append(storage, &s, vec![user(20, "more")]);
        let before = store.bytes(&s);
        let second = store.second();
        for storage in [Some(storage), second.as_deref()].into_iter().flatten() {
            for (write, first) in writes.iter().zip(&first) {
                let again = run(storage.append(&s, write.clone())).unwrap();
                assert!(again.repeated);
                assert_eq!(again.entries, first.entries);
                assert_eq!((again.lane, again.leaf), (first.lane.clone(), first.leaf.clone()));
            }
        }
        for refused in [
            vec![user(1, "something else")],
            vec![answer(2, "two"), user(3, "else")],
            vec![answer(2, "two"), user(30, "new")],
            vec![user(30, "new"), answer(2, "two")],
            vec![user(30, "new"), user(30, "new")],
        ] {
            assert_eq!(kind(run(storage.append(&s, write(refused)))), "exists");
        }
        assert_eq!(kind(run(storage.append(&s, write(Vec::new())))), "invalid");
        let empty = Draft::new("".into(), Message::user("x"));
        assert_eq!(kind(run(storage.append(&s, write(vec![empty])))), "invalid");
        assert_eq!(store.bytes(&s), before);
    });
}

#[test]
fn sidecars_are_found_by_what_they_name() {
    each(|store| {
        let (storage, s) = (store.storage.as_ref(), store.session("s1"));
        append(storage, &s, vec![user(1, "one"), answer(2, "two")]);
        append(storage, &s, vec![label(3, "a", Some(&id(1))), label(4, "b", None)]);
        append(storage, &s, vec![custom(5, "{}", true), custom(6, "{}", false), title(7, "t")]);
        append(storage, &s, vec![leaf(8, &id(1))]);
        let found = |targets: &[_]| -> Vec<_> {
            let found = run(storage.sidecars(&s, targets)).unwrap();
            found.into_iter().map(|stored| stored.entry.id).collect()
        };
        assert_eq!(found(&[]), [id(3), id(4), id(5), id(7), id(8)]);
        assert_eq!(found(&[id(1)]), [id(3), id(8)]);
        assert_eq!(found(&[id(2)]), [id(4), id(5)]);
        assert_eq!(found(&[id(6), id(2)]), [id(4), id(5), id(7)]);
        assert!(found(&[id(99)]).is_empty());
    });
}

#[test]
fn a_session_can_start_with_entries() {
    each(|store| {
        let storage = store.storage.as_ref();
        let s = store.session("s1");
        append(storage, &s, vec![user(1, "one"), answer(2, "two"), label(3, "l", Some(&id(1)))]);
        let mut copied = entries(storage, &s).split_off(1);
        copied[0].parent_id = None;
        let new = |name: &str, entries| NewSession {
            id: Some(sid(name)),
            entries,
            ..NewSession::default()
        };
        let facts = run(storage.create(new("fork", copied.clone()))).unwrap();
        assert_eq!(facts.entries, 4);
        let fork = facts.id;
        assert_eq!(path(storage, &fork, &id(2)), [root(storage, &fork), id(1), id(2)]);
        assert_eq!(leaf_of(storage, &fork, "main"), Some(id(2)));
        assert_eq!(run(storage.check(&fork)).unwrap(), []);
        append(storage, &fork, vec![user(9, "on")]);
        assert_eq!(kind(run(storage.create(new("fork", Vec::new())))), "exists");
        let twice = [copied.clone(), copied.clone()].concat();
        assert_eq!(kind(run(storage.create(new("twice", twice)))), "exists");
        copied[1].parent_id = Some(id(77));
        assert_eq!(kind(run(storage.create(new("lost", copied)))), "missing_parent");
        assert_eq!(run(storage.list(Default::default())).unwrap().total, 2);
    });
}

#[test]
fn ids_of_sessions_are_found_by_prefix_and_never_leave_the_store() {
    each(|store| {
        let storage = store.storage.as_ref();
        for name in ["20260101-000000-aaaa1111", "20260101-000000-aabb2222", "20260202-1-cc"] {
            store.session(name);
        }
        let found = |prefix: &str| -> Vec<String> {
            let found = run(storage.find(prefix)).unwrap();
            found.iter().map(ToString::to_string).collect()
        };
        assert_eq!(found("20260202-1-cc"), ["20260202-1-cc"]);
        assert_eq!(found("aabb"), ["20260101-000000-aabb2222"]);
        assert_eq!(found("aa").len(), 2);
        assert_eq!(found("2026").len(), 3);
        for hostile in ["../", "/etc/passwd", "..", ".", "a/b", "\0", "*", "%2e%2e", "\u{e9}"] {
            assert!(found(hostile).is_empty(), "{hostile:?}");
        }
        assert_eq!(kind(run(storage.find(""))), "invalid");
        assert_eq!(kind(run(storage.facts(&sid("nothing")))), "not_found");
        assert_eq!(kind(run(storage.heads(&sid("nothing")))), "not_found");
        assert_eq!(
            kind(run(storage.append(&sid("nothing"), write(vec![user(1, "x")])))),
            "not_found"
        );
        assert_eq!(kind(run(storage.delete(&sid("nothing"), false))), "not_found");
        assert_eq!(kind(run(storage.restore(&sid("nothing")))), "not_found");
        assert!(run(storage.watch(&sid("nothing"), Cursor::start("x"))).is_err());
    });
}
