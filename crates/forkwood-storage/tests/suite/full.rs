//! A disk that is full, writes less than it was given, or does not sync.

use forkwood_core::SessionId;
use forkwood_storage::disk::SimDisk;
use forkwood_storage::jsonl::JsonlStorage;
use forkwood_storage::{NewSession, Rewrite, SessionStorage};

use crate::common::*;

fn start() -> (SimDisk, JsonlStorage, SessionId) {
    let disk = SimDisk::new();
    let storage = on(&disk);
    let s = create(&storage, "s1");
    append(&storage, &s, vec![user(1, "one"), leaf(2, &id(1)), answer(3, "three")]);
    (disk, storage, s)
}

#[test]
fn a_full_disk_leaves_the_file_as_it_was() {
    let line = {
        let (disk, storage, s) = start();
        let before = disk.bytes(&sim_path(&s)).unwrap().len();
        append(&storage, &s, vec![user(4, "four"), answer(5, "five")]);
        disk.bytes(&sim_path(&s)).unwrap().len() - before
    };
    for room in 0..line {
        let (disk, storage, s) = start();
        let before = disk.bytes(&sim_path(&s));
        disk.set_room(Some(room));
        let batch = write(vec![user(4, "four"), answer(5, "five")]);
        assert_eq!(kind(run(storage.append(&s, batch.clone()))), "no_space", "{room}");
        assert_eq!(disk.bytes(&sim_path(&s)), before, "{room}");
        assert_eq!(leaf_of(&storage, &s, "main"), Some(id(3)));
        assert_eq!(heads(&storage, &s).len(), 4);
        disk.set_room(None);
        let done = run(storage.append(&s, batch)).unwrap();
        assert!(!done.repeated);
        assert_eq!(done.entries[0].parent_id, Some(id(3)));
        assert_eq!(ids(&on(&disk), &s), ids(&storage, &s));
    }
}

#[test]
fn a_sync_that_fails_acknowledges_nothing() {
    let (disk, storage, s) = start();
    let before = disk.bytes(&sim_path(&s));
    disk.fail_syncs(true);
    assert_eq!(kind(run(storage.append(&s, write(vec![user(4, "four")])))), "io");
    assert_eq!(disk.bytes(&sim_path(&s)), before);
    assert_eq!(leaf_of(&storage, &s, "main"), Some(id(3)));
    assert_eq!(leaf_of(&on(&disk), &s, "main"), Some(id(3)));
    disk.fail_syncs(false);
    append(&storage, &s, vec![user(4, "four")]);
    assert_eq!(leaf_of(&on(&disk), &s, "main"), Some(id(4)));
}

#[test]
fn a_torn_tail_stays_where_it_cannot_be_put_aside() {
    let (disk, _, s) = start();
    let torn = [disk.bytes(&sim_path(&s)).unwrap(), b"{\"id\":\"torn".to_vec()].concat();
    disk.put(&sim_path(&s), &torn);
    let storage = on(&disk);
    for room in [0, 5, 11, 40] {
        disk.set_room(Some(room));
        assert_eq!(kind(run(storage.append(&s, write(vec![user(4, "four")])))), "no_space");
        let now = disk.bytes(&sim_path(&s)).unwrap();
        assert!(now == torn || now == torn[..torn.len() - 11], "{room}");
        assert_eq!(leaf_of(&storage, &s, "main"), Some(id(3)));
        disk.set_room(None);
        disk.put(&sim_path(&s), &torn);
    }
    append(&storage, &s, vec![user(4, "four")]);
    assert_eq!(leaf_of(&on(&disk), &s, "main"), Some(id(4)));
}

#[test]
fn a_rewrite_that_fails_leaves_the_old_file_whole() {
    for rewrite in [Rewrite::Reset, Rewrite::Vacuum { prune_branches: false }] {
        for fail_syncs in [false, true] {
            let (disk, storage, s) = start();
            let before = disk.bytes(&sim_path(&s));
            let row = run(storage.facts(&s)).unwrap();
            disk.set_room(Some(50));
            disk.fail_syncs(fail_syncs);
            let wanted = if fail_syncs { ["io", "no_space"] } else { ["no_space"; 2] };
            assert!(wanted.contains(&kind(run(storage.rewrite(&s, rewrite)))));
            assert_eq!(disk.bytes(&sim_path(&s)), before);
            assert_eq!(run(storage.facts(&s)).unwrap(), row);
            disk.set_room(None);
            disk.fail_syncs(false);
            append(&storage, &s, vec![user(9, "on")]);
            run(storage.rewrite(&s, rewrite)).unwrap();
            assert_eq!(run(storage.check(&s)).unwrap(), []);
        }
    }
    let (disk, storage, _) = start();
    disk.set_room(Some(100));
    let new = NewSession { id: Some(sid("s2")), ..NewSession::default() };
    assert_eq!(kind(run(storage.create(new))), "no_space");
    assert_eq!(kind(run(storage.put_blob(&[7; 200]))), "no_space");
    disk.set_room(None);
    assert_eq!(run(storage.list(Default::default())).unwrap().total, 1);
    assert_eq!(kind(run(storage.facts(&sid("s2")))), "not_found");
    create(&storage, "s2");
}

#[test]
fn a_full_disk_can_be_purged() {
    let (disk, storage, s) = start();
    run(storage.delete(&s, false)).unwrap();
    disk.set_room(Some(0));
    run(storage.purge(Some(&s), Default::default())).unwrap();
    assert_eq!(run(storage.trashed()).unwrap(), []);
}

#[test]
fn leftovers_of_a_crashed_rewrite_go_and_nothing_else() {
    let (disk, _, s) = start();
    let folder = sim_path(&s).parent().unwrap().to_path_buf();
    let ours = [".s1.jsonl.0123456789ab.fwtmp", ".s1.jsonl.torn-5-0.0123456789ab.fwtmp"];
    let others = [
        "s1.jsonl.fwtmp",
        ".s1.jsonl.swp",
        ".s2.jsonl.0123456789ab.fwtmp",
        "s1.jsonl.bak",
        ".other.fwtmp",
        "notes.txt",
    ];
    for name in ours.iter().chain(&others) {
        disk.put(&folder.join(name), b"x");
    }
    let storage = on(&disk);
    run(storage.list(Default::default())).unwrap();
    run(storage.check(&s)).unwrap();
    assert!(ours.iter().all(|name| disk.bytes(&folder.join(name)).is_some()));
    append(&storage, &s, vec![user(9, "on")]);
    assert!(ours.iter().all(|name| disk.bytes(&folder.join(name)).is_none()));
    assert!(others.iter().all(|name| disk.bytes(&folder.join(name)).is_some()));
}
