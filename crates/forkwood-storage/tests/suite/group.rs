//! Writers that share syncs, and threads that share files.

use std::collections::HashSet;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use forkwood_storage::disk::{Crash, Disk, SimDisk};
use forkwood_storage::jsonl::JsonlStorage;
use forkwood_storage::{Append, Durability, SessionStorage};

use crate::common::*;

const THREADS: u64 = 8;
const EACH: u64 = 25;

fn grouped(append: Append) -> Append {
    Append { durability: Durability::Group(Duration::from_millis(1)), ..append }
}

#[test]
fn writers_share_syncs_and_all_are_on_disk() {
    let disk = SimDisk::new();
    let storage = on(&disk);
    let s = create(&storage, "s1");
    let (_, before) = disk.counts();
    let start = Barrier::new(THREADS as usize);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (storage, s, start) = (&storage, &s, &start);
            scope.spawn(move || {
                start.wait();
                for n in 0..EACH {
                    let n = thread * 1000 + n * 2 + 1;
                    let batch = grouped(Append::any(vec![user(n, "said"), answer(n + 1, "done")]));
                    let done = run(storage.append(s, batch)).unwrap();
                    assert_eq!(done.entries[1].parent_id, Some(id(n)));
                    assert!(!done.repeated);
                }
            });
        }
    });
    let (_, after) = disk.counts();
    assert!(after - before < THREADS * EACH, "{} syncs", after - before);
    disk.crash(Crash::HARD);
    let storage = on(&disk);
    let there = ids(&storage, &s);
    assert_eq!(there.len() as u64, 1 + THREADS * EACH * 2);
    assert_eq!(there.iter().collect::<HashSet<_>>().len(), there.len());
    let leaf = leaf_of(&storage, &s, "main").unwrap();
    assert_eq!(path(&storage, &s, &leaf), there);
    assert_eq!(run(storage.check(&s)).unwrap(), []);
}

#[test]
fn conflicts_in_a_group_are_answered_one_by_one() {
    let disk = SimDisk::new();
    let storage = on(&disk);
    let s = create(&storage, "s1");
    for round in 0..10 {
        let expected = leaf_of(&storage, &s, "main").unwrap();
        let start = Barrier::new(THREADS as usize);
        let answers: Vec<_> = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let (storage, s, start, expected) = (&storage, &s, &start, &expected);
                    scope.spawn(move || {
                        let n = 1 + round * 100 + thread;
                        let append = grouped(at(expected, vec![user(n, "mine")]));
                        start.wait();
                        (id(n), run(storage.append(s, append)))
                    })
                })
                .collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        let won: Vec<_> = answers.iter().filter(|(_, answer)| answer.is_ok()).collect();
        assert_eq!(won.len(), 1);
        assert_eq!(leaf_of(&storage, &s, "main").as_ref(), Some(&won[0].0));
        for (_, answer) in answers.iter().filter(|(_, answer)| answer.is_err()) {
            assert_eq!(answer.as_ref().unwrap_err().kind().as_str(), "conflict");
        }
    }
    assert_eq!(heads(&storage, &s).len(), 11);
}

#[test]
fn the_same_write_by_many_at_once_is_one_write() {
    let disk = SimDisk::new();
    let storage = on(&disk);
    let s = create(&storage, "s1");
    let start = Barrier::new(THREADS as usize);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..THREADS)
            .map(|_| {
                let (storage, s, start) = (&storage, &s, &start);
                scope.spawn(move || {
                    start.wait();
                    let batch = grouped(Append::any(vec![user(1, "one"), answer(2, "two")]));
                    run(storage.append(s, batch)).unwrap()
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    assert_eq!(heads(&storage, &s).len(), 3);
    assert!(answers.iter().all(|answer| answer.entries == answers[0].entries));
    assert!(answers.iter().all(|answer| answer.leaf == Some(id(2))));
    assert_eq!(answers.iter().filter(|answer| !answer.repeated).count(), 1);
    let seqs: Vec<_> = heads(&storage, &s).iter().map(|head| head.seq).collect();
    assert_eq!(answers[0].entries[1].seq, seqs[2]);
}

#[test]
fn a_group_that_fails_fails_for_all_and_leaves_nothing() {
    let disk = SimDisk::new();
    let storage = on(&disk);
    let s = create(&storage, "s1");
    let before = disk.bytes(&sim_path(&s));
    disk.fail_syncs(true);
    std::thread::scope(|scope| {
        for n in 1..=4 {
            let (storage, s) = (&storage, &s);
            scope.spawn(move || {
                let append = grouped(Append::any(vec![user(n, "x")]));
                assert_eq!(kind(run(storage.append(s, append))), "io");
            });
        }
    });
    assert_eq!(disk.bytes(&sim_path(&s)), before);
    disk.fail_syncs(false);
    run(storage.append(&s, grouped(Append::any(vec![user(1, "x")])))).unwrap();
}

/// A writer that waits for another process keeps no reader of its own process waiting.
#[test]
fn readers_do_not_wait_for_a_writer_that_waits() {
    let disk = SimDisk::new();
    let patient =
        options(&clock()).with_disk(Arc::new(disk.clone())).with_lock_wait(Duration::from_secs(60));
    let storage = JsonlStorage::store(ROOT.as_ref(), patient).unwrap();
    let s = create(&storage, "s1");
    let lock = sim_path(&s).with_file_name(format!(".{s}.jsonl.lock"));
    let held = disk.lock(&lock, false, Duration::ZERO).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| run(storage.append(&s, write(vec![user(1, "x")]))));
        for _ in 0..20 {
            assert_eq!(heads(&storage, &s).len(), 1);
            std::thread::yield_now();
        }
        drop(held);
        writer.join().unwrap().unwrap();
    });
    assert_eq!(heads(&storage, &s).len(), 2);
    let hasty = options(&clock())
        .with_disk(Arc::new(disk.clone()))
        .with_lock_wait(Duration::from_millis(1));
    let hasty = JsonlStorage::store(ROOT.as_ref(), hasty).unwrap();
    let _held = disk.lock(&lock, false, Duration::ZERO).unwrap();
    assert_eq!(kind(run(hasty.append(&s, write(vec![user(2, "x")])))), "locked");
    assert_eq!(kind(run(hasty.append(&s, grouped(write(vec![user(2, "x")]))))), "locked");
    assert_eq!(kind(run(hasty.delete(&s, false))), "locked");
    assert_eq!(heads(&hasty, &s).len(), 2);
}
