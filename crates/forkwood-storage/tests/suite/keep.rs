//! The trash, sub-agents' sessions, and blobs.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use forkwood_core::{SessionId, Timestamp};
use forkwood_storage::disk::{Disk, DiskFile, LockGuard, Meta, RealDisk};
use forkwood_storage::jsonl::{JsonlOptions, JsonlStorage};
use forkwood_storage::{NewSession, Page, SessionStorage};

use crate::common::*;

#[test]
fn deletion_goes_to_the_trash_and_everything_comes_back() {
    each(|store| {
        let (storage, s) = (store.storage.as_ref(), store.session("s1"));
        append(storage, &s, vec![user(1, "one"), label(2, "l", Some(&id(1)))]);
        let sub = subagent(storage, &s, "task");
        let before = entries(storage, &s);
        let gone = run(storage.delete(&s, true)).unwrap();
        assert_eq!(gone.id, s);
        assert_eq!(run(storage.trashed()).unwrap(), [gone]);
        assert_eq!(kind(run(storage.facts(&s))), "not_found");
        assert_eq!(kind(run(storage.facts(&sub))), "not_found");
        assert_eq!(kind(run(storage.append(&s, write(vec![user(3, "x")])))), "not_found");
        assert_eq!(run(storage.list(Page::default())).unwrap().total, 0);
        assert!(run(storage.find("s1")).unwrap().is_empty());
        let facts = run(storage.restore(&s)).unwrap();
        assert_eq!(facts.leaf(&lane("main")), Some(&id(1)));
        assert_eq!(entries(storage, &s), before);
        assert_eq!(run(storage.facts(&sub)).unwrap().id, sub);
        assert_eq!(run(storage.trashed()).unwrap(), []);
        assert_eq!(kind(run(storage.restore(&s))), "not_found");
        append(storage, &s, vec![user(3, "three")]);
    });
}

#[test]
fn of_two_who_delete_a_session_the_second_is_told_and_leaves_nothing() {
    let store = Store::real();
    let (first, root) = (store.storage.as_ref(), store.root());
    let second = JsonlStorage::store(&root, options(&store.clock)).unwrap();
    let s = store.session("s1");
    append(first, &s, vec![user(1, "x")]);
    // The second has it open, as one has that waits for the lock.
    assert_eq!(leaf_of(&second, &s, "main"), Some(id(1)));
    run(first.delete(&s, false)).unwrap();
    let before = [all_names(&root.join("sessions")), all_names(&root.join("trash"))];
    assert_eq!(kind(run(second.delete(&s, false))), "gone");
    assert_eq!(kind(run(second.delete(&s, false))), "not_found");
    assert_eq!([all_names(&root.join("sessions")), all_names(&root.join("trash"))], before);
    run(second.restore(&s)).unwrap();
    assert_eq!(leaf_of(&second, &s, "main"), Some(id(1)));
    run(second.delete(&s, false)).unwrap();
    assert_eq!(run(first.trashed()).unwrap().len(), 1);
}

#[test]
fn what_lies_in_the_trash_is_never_overwritten_and_overwrites_nothing() {
    each(|store| {
        let storage = store.storage.as_ref();
        for n in 1..=3 {
            // At the same time, by the same name.
            let s = store.session("s1");
            append(storage, &s, vec![user(n, "x")]);
            run(storage.delete(&s, false)).unwrap();
        }
        let s = store.session("s1");
        append(storage, &s, vec![user(4, "x")]);
        assert_eq!(run(storage.trashed()).unwrap().len(), 3);
        assert_eq!(kind(run(storage.restore(&s))), "exists");
        assert_eq!(leaf_of(storage, &s, "main"), Some(id(4)));
        run(storage.delete(&s, false)).unwrap();
        let mut found = Vec::new();
        for _ in 0..4 {
            run(storage.restore(&s)).unwrap();
            found.push(leaf_of(storage, &s, "main").unwrap());
            run(storage.delete(&s, false)).unwrap();
            run(storage.purge(Some(&s), Timestamp::default())).unwrap();
        }
        found.sort();
        assert_eq!(found, (1..=4).map(id).collect::<Vec<_>>());
        assert_eq!(kind(run(storage.purge(Some(&s), Timestamp::default()))), "not_found");
    });
}

#[test]
fn a_purge_takes_what_is_old_and_what_resets_left() {
    each(|store| {
        let storage = store.storage.as_ref();
        let (a, b) = (store.session("a"), store.session("b"));
        append(storage, &b, vec![user(1, "x")]);
        run(storage.delete(&a, false)).unwrap();
        run(storage.rewrite(&b, forkwood_storage::Rewrite::Reset)).unwrap();
        append(storage, &b, vec![user(1, "x")]);
        run(storage.rewrite(&b, forkwood_storage::Rewrite::Reset)).unwrap();
        store.clock.advance(1_000_000);
        let between = forkwood_core::Clock::now(store.clock.as_ref());
        run(storage.delete(&b, false)).unwrap();
        // The logs that resets left lie in the trash like deleted sessions.
        assert_eq!(run(storage.trashed()).unwrap().len(), 4);
        let purged = run(storage.purge(None, between)).unwrap();
        let mut purged: Vec<_> = purged.iter().map(|gone| &gone.id).collect();
        purged.sort();
        assert_eq!(purged, [&a, &b, &b]);
        assert_eq!(run(storage.trashed()).unwrap().len(), 1);
        if store.name == "real" {
            let left = fs::read_dir(store.root().join("trash")).unwrap();
            let folders = left.filter(|entry| entry.as_ref().unwrap().path().is_dir());
            assert_eq!(folders.count(), 1);
        }
        run(storage.restore(&b)).unwrap();
        assert_eq!(heads(storage, &b).len(), 1);
    });
}

#[test]
fn a_store_that_moved_gives_back_what_it_took() {
    let store = Store::real();
    let s = store.session("s1");
    run(store.storage.delete(&s, false)).unwrap();
    let moved = store.root().with_file_name("moved");
    fs::rename(store.root(), &moved).unwrap();
    let storage = JsonlStorage::store(&moved, options(&store.clock)).unwrap();
    run(storage.restore(&s)).unwrap();
    assert_eq!(heads(&storage, &s).len(), 1);
    run(storage.delete(&s, false)).unwrap();
    let item = run(storage.trashed()).unwrap().remove(0).path.unwrap();
    let origin = item.with_file_name("origin");
    let text = fs::read_to_string(&origin).unwrap();
    for hostile in ["../../out.jsonl", "/tmp/forkwood-out.jsonl", "x/../../../s1.jsonl"] {
        fs::write(&origin, text.replace("s1.jsonl", hostile)).unwrap();
        assert!(run(storage.restore(&s)).is_err(), "{hostile}");
    }
    assert!(!Path::new("/tmp/forkwood-out.jsonl").exists());
}

#[test]
fn a_session_that_is_held_open_is_not_deleted_when_idle_only() {
    let store = Store::real();
    let s = store.session("s1");
    append(store.storage.as_ref(), &s, vec![user(1, "x")]);
    let other = store.second().unwrap();
    assert_eq!(kind(run(other.delete(&s, true))), "locked");
    drop(other);
    run(store.storage.delete(&s, false)).unwrap();
}

#[test]
fn sub_agents_of_sub_agents_go_to_the_trash_and_come_back() {
    each(|store| {
        let (storage, s) = (store.storage.as_ref(), store.session("s1"));
        let stays = store.session("s2");
        let other = subagent(storage, &stays, "other");
        let mut line = vec![s.clone()];
        for depth in 0..3 {
            line.push(subagent(storage, &line[depth], "task"));
            append(storage, &line[depth + 1], vec![user(1, &format!("depth {depth}"))]);
        }
        for top in 0..line.len() {
            let before: Vec<_> = line.iter().map(|id| entries(storage, id)).collect();
            run(storage.delete(&line[top], false)).unwrap();
            for (depth, id) in line.iter().enumerate() {
                assert_eq!(run(storage.facts(id)).is_ok(), depth < top, "{top} {depth}");
            }
            if store.name == "real" {
                let mut left = all_names(&store.root().join("sessions"));
                left.retain(|name| !name.starts_with('.'));
                assert!(line[top + 1..].iter().all(|id| !left.iter().any(|n| n == id.as_str())));
            }
            assert!(run(storage.facts(&other)).is_ok());
            run(storage.restore(&line[top])).unwrap();
            let after: Vec<_> = line.iter().map(|id| entries(storage, id)).collect();
            assert_eq!(after, before, "{top}");
            if store.name == "real" {
                let left = all_names(&store.root().join("trash"));
                assert_eq!(left, ["deletions.log"], "nothing stays in the trash");
            }
        }
        run(storage.delete(&s, false)).unwrap();
        run(storage.purge(Some(&s), Timestamp::default())).unwrap();
        assert!(line.iter().all(|id| run(storage.facts(id)).is_err()));
    });
}

fn all_names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn whether_somebody_works_on_a_session_is_told_without_a_trace() {
    let store = Store::real();
    let s = store.session("s1");
    let (storage, other) = (store.storage.as_ref(), store.second().unwrap());
    let folder = store.root().join("sessions");
    let names = all_names(&folder);
    assert!(run(other.is_idle(&s)).unwrap());
    assert_eq!(all_names(&folder), names, "no lock file was made");
    append(storage, &s, vec![user(1, "x")]);
    assert!(!run(other.is_idle(&s)).unwrap(), "its writer holds it open");
    assert!(run(storage.is_idle(&s)).unwrap(), "nobody else does");
    assert!(run(other.is_idle(&s)).unwrap());
    let held = RealDisk.lock(&folder.join(".s1.jsonl.lock"), false, Duration::ZERO).unwrap();
    assert!(!run(other.is_idle(&s)).unwrap(), "somebody writes");
    drop(held);
    assert!(run(other.is_idle(&s)).unwrap());
    assert_eq!(kind(run(other.is_idle(&sid("s9")))), "not_found");
}

fn subagent(storage: &dyn SessionStorage, parent: &SessionId, task: &str) -> SessionId {
    let subagent_of = Some((parent.clone(), task.to_owned()));
    run(storage.create(NewSession { subagent_of, ..NewSession::default() })).unwrap().id
}

#[test]
fn subagents_are_listed_under_their_parent_and_never_overwritten() {
    each(|store| {
        let storage = store.storage.as_ref();
        let (a, b) = (store.session("a"), store.session("b"));
        let subs: Vec<_> = ["task", "task", "task", "task-2", "other"]
            .iter()
            .enumerate()
            .map(|(n, task)| {
                let sub = subagent(storage, &a, task);
                append(storage, &sub, vec![user(n as u64 + 1, "x")]);
                sub
            })
            .collect();
        for (n, sub) in subs.iter().enumerate() {
            assert_eq!(leaf_of(storage, sub, "main"), Some(id(n as u64 + 1)));
            assert_eq!(run(storage.find(sub.as_str())).unwrap(), std::slice::from_ref(sub));
        }
        let listed = |parent: Option<&SessionId>| {
            let page = Page { parent: parent.cloned(), ..Page::default() };
            let mut rows: Vec<_> =
                run(storage.list(page)).unwrap().rows.into_iter().map(|row| row.id).collect();
            rows.sort();
            rows
        };
        let mut expected = subs.clone();
        expected.sort();
        assert_eq!(listed(Some(&a)), expected);
        assert_eq!(listed(Some(&b)), []);
        assert_eq!(listed(None), [a.clone(), b.clone()]);
        let new = |parent: &SessionId, task: &str| NewSession {
            subagent_of: Some((parent.clone(), task.to_owned())),
            ..NewSession::default()
        };
        for task in ["../up", "", "a/b", ".", "x\0y"] {
            assert_eq!(kind(run(storage.create(new(&a, task)))), "invalid", "{task:?}");
        }
        assert_eq!(kind(run(storage.create(new(&sid("nobody"), "t")))), "not_found");
        let taken = NewSession { id: Some(subs[0].clone()), ..NewSession::default() };
        assert_eq!(kind(run(storage.create(taken))), "exists");
        run(storage.delete(&subs[1], false)).unwrap();
        assert_eq!(listed(Some(&a)).len(), 4);
        run(storage.restore(&subs[1])).unwrap();
        assert_eq!(listed(Some(&a)), expected);
    });
}

#[test]
fn bytes_are_kept_once_and_told_when_they_are_wrong() {
    each(|store| {
        let storage = store.storage.as_ref();
        let name = run(storage.put_blob(b"picture")).unwrap();
        assert_eq!(run(storage.put_blob(b"picture")).unwrap(), name);
        assert_eq!(run(storage.get_blob(&name)).unwrap().unwrap(), b"picture");
        let other = format!("sha256-{}", "0".repeat(64));
        assert_eq!(run(storage.get_blob(&other)).unwrap(), None);
        for bad in ["", "sha256-x", "../../etc/passwd", &name.to_uppercase()] {
            assert_eq!(kind(run(storage.get_blob(bad))), "invalid");
        }
        if store.name == "real" {
            let path = blob(&store.root(), &name);
            let folder: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
            assert_eq!(folder.len(), 1);
            fs::write(&path, b"pictur?").unwrap();
            assert_eq!(kind(run(storage.get_blob(&name))), "damaged");
            // Who has the right bytes mends it.
            run(storage.put_blob(b"picture")).unwrap();
            assert_eq!(run(storage.get_blob(&name)).unwrap().unwrap(), b"picture");
        }
    });
}

fn blob(root: &Path, name: &str) -> std::path::PathBuf {
    root.join("blobs").join(&name[7..9]).join(name)
}

fn age(path: &Path) {
    let old = SystemTime::now() - Duration::from_secs(3 * 24 * 3600);
    File::options().append(true).open(path).unwrap().set_modified(old).unwrap();
}

/// A store with a blob for each place that can name one, all of them old.
fn store_with_blobs(disk: Arc<dyn Disk>) -> (tempfile::TempDir, JsonlStorage, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    let storage = JsonlStorage::store(&root, JsonlOptions::default().with_disk(disk)).unwrap();
    let put = |bytes: &str| run(storage.put_blob(bytes.as_bytes())).unwrap();
    let names: Vec<String> =
        ["session", "subagent", "trash", "backup", "torn", "nobody", "young"].map(put).into();
    let names_one = |n: u64, name: &str| user(n, &format!("see {name}"));
    let s = create(&storage, "s1");
    append(&storage, &s, vec![names_one(1, &names[0])]);
    let sub = subagent(&storage, &s, "t");
    append(&storage, &sub, vec![names_one(1, &names[1])]);
    let gone = create(&storage, "gone");
    append(&storage, &gone, vec![names_one(1, &names[2])]);
    run(storage.delete(&gone, false)).unwrap();
    let sessions = root.join("sessions");
    fs::write(sessions.join("x.jsonl.vacuum.bak"), format!("..{}..", names[3])).unwrap();
    // Where two windows of reading meet.
    let mut torn = vec![b'x'; 1024 * 1024 - 30];
    torn.extend_from_slice(names[4].as_bytes());
    torn.extend(vec![b'y'; 100]);
    fs::write(sessions.join("x.jsonl.torn-5-0"), torn).unwrap();
    names[..6].iter().for_each(|name| age(&blob(&root, name)));
    (dir, storage, names)
}

#[test]
fn a_purge_removes_blobs_that_nothing_names() {
    let (dir, storage, names) = store_with_blobs(Arc::new(RealDisk));
    run(storage.purge(None, Timestamp::default())).unwrap();
    for (at, name) in names.iter().enumerate() {
        let there = run(storage.get_blob(name)).unwrap().is_some();
        assert_eq!(there, at != 5, "{at}");
    }
    let gone = sid("gone");
    run(storage.purge(Some(&gone), Timestamp::default())).unwrap();
    assert_eq!(run(storage.get_blob(&names[2])).unwrap(), None);
    assert!(run(storage.get_blob(&names[0])).unwrap().is_some());
    // Put again, an old one is young: the entry that names it is still to be written.
    let name = run(storage.put_blob(b"nobody")).unwrap();
    age(&blob(&dir.path().join("root"), &name));
    run(storage.put_blob(b"nobody")).unwrap();
    run(storage.purge(None, Timestamp::default())).unwrap();
    assert!(run(storage.get_blob(&name)).unwrap().is_some());
}

#[test]
fn a_purge_that_cannot_read_a_session_removes_no_blob() {
    for unreadable in ["s1.jsonl", "agent-t.jsonl", "x.jsonl.vacuum.bak", "x.jsonl.torn-5-0"] {
        let (dir, _, names) = store_with_blobs(Arc::new(RealDisk));
        let disk = Arc::new(Unreadable(unreadable));
        let root = dir.path().join("root");
        let storage = JsonlStorage::store(&root, JsonlOptions::default().with_disk(disk)).unwrap();
        assert_eq!(kind(run(storage.purge(None, Timestamp::default()))), "io", "{unreadable}");
        for name in &names {
            assert!(run(storage.get_blob(name)).unwrap().is_some(), "{unreadable}");
        }
    }
}

/// A disk on which one file cannot be opened, whoever asks.
#[derive(Debug)]
pub(crate) struct Unreadable(pub(crate) &'static str);

impl Unreadable {
    fn refuse(&self, path: &Path) -> io::Result<()> {
        match path.ends_with(self.0) {
            true => Err(io::ErrorKind::PermissionDenied.into()),
            false => Ok(()),
        }
    }
}

impl Disk for Unreadable {
    fn open_read(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.refuse(path)?;
        RealDisk.open_read(path)
    }
    fn open_append(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.refuse(path)?;
        RealDisk.open_append(path)
    }
    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        RealDisk.create_new(path)
    }
    fn meta(&self, path: &Path) -> io::Result<Meta> {
        Disk::meta(&RealDisk, path)
    }
    fn create_folders(&self, path: &Path) -> io::Result<()> {
        RealDisk.create_folders(path)
    }
    fn names(&self, folder: &Path) -> io::Result<Vec<std::ffi::OsString>> {
        RealDisk.names(folder)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.link(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }
    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove_folder(path)
    }
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        RealDisk.sync_folder(folder)
    }
    fn lock(&self, path: &Path, shared: bool, wait: Duration) -> io::Result<Box<dyn LockGuard>> {
        RealDisk.lock(path, shared, wait)
    }
}
