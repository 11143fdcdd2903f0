//! What lies in the folders of a store: modes, and things that are no sessions.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use forkwood_core::Timestamp;
use forkwood_storage::jsonl::{JsonlOptions, JsonlStorage};
use forkwood_storage::{NewSession, Page, Rewrite, SessionStorage};

use crate::common::*;
use crate::keep::Unreadable;

fn all_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_path_buf()];
    let mut at = 0;
    while at < found.len() {
        if found[at].is_dir() {
            let below = fs::read_dir(&found[at]).unwrap().map(|entry| entry.unwrap().path());
            found.extend(below.collect::<Vec<_>>());
        }
        at += 1;
    }
    found
}

/// Does everything that makes a file, in a process with the usual umask.
#[test]
fn what_is_made_is_for_its_owner_only() {
    const MARK: &str = "FORKWOOD_TEST_MODES";
    let Some(root) = std::env::var_os(MARK).map(PathBuf::from) else {
        let dir = tempfile::tempdir().unwrap();
        let me = std::env::current_exe().unwrap();
        let done = Command::new("sh")
            .args([
                "-c",
                "umask 022; exec \"$0\" --exact files::what_is_made_is_for_its_owner_only",
            ])
            .arg(me)
            .env(MARK, dir.path().join("root"))
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
        return;
    };
    let storage = JsonlStorage::store(&root, JsonlOptions::default()).unwrap();
    let s = create(&storage, "s1");
    append(&storage, &s, vec![user(1, "one"), leaf(2, &id(1)), user(3, "three")]);
    run(storage.put_blob(b"bytes")).unwrap();
    let path = run(storage.facts(&s)).unwrap().path.unwrap();
    let torn = [fs::read(&path).unwrap(), b"{\"torn".to_vec()].concat();
    fs::write(&path, torn).unwrap();
    append(&storage, &s, vec![user(4, "four")]);
    run(storage.rewrite(&s, Rewrite::Vacuum { prune_branches: false })).unwrap();
    run(storage.rewrite(&s, Rewrite::Reset)).unwrap();
    let subagent_of = Some((s.clone(), "t".to_owned()));
    run(storage.create(NewSession { subagent_of, ..NewSession::default() })).unwrap();
    let gone = create(&storage, "gone");
    append(&storage, &gone, vec![user(1, "x")]);
    run(storage.delete(&gone, false)).unwrap();
    let again = create(&storage, "again");
    run(storage.delete(&again, false)).unwrap();
    run(storage.restore(&again)).unwrap();
    run(storage.purge(None, Timestamp::default())).unwrap();
    let mut count = BTreeMap::new();
    for path in all_below(&root) {
        let mode = fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o777;
        let wanted = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, wanted, "{}", path.display());
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        for part in [".lock", ".torn-", ".bak", "sha256-", "origin", "deletions.log", "agent-"] {
            *count.entry(part).or_insert(0) += usize::from(name.contains(part));
        }
    }
    assert!(count.values().all(|count| *count > 0), "{count:?}");
}

fn make(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
}

#[test]
fn what_is_no_session_is_named_and_hides_nothing() {
    let store = Store::real();
    let good = store.session("20260101-000000-00000001");
    append(store.storage.as_ref(), &good, vec![user(1, "hello")]);
    let sessions = store.root().join("sessions");
    let outside = store.root().with_file_name("outside.jsonl");
    fs::copy(sessions.join(format!("{good}.jsonl")), &outside).unwrap();
    fs::create_dir(sessions.join("folder.jsonl")).unwrap();
    std::os::unix::fs::symlink(&outside, sessions.join("link.jsonl")).unwrap();
    assert!(Command::new("mkfifo").arg(sessions.join("pipe.jsonl")).status().unwrap().success());
    make(&sessions.join("empty.jsonl"), b"");
    make(&sessions.join("blank.jsonl"), b"\n \n");
    make(&sessions.join("zeros.jsonl"), &[0; 3000]);
    make(&sessions.join("foreign.jsonl"), b"name,age\nanna,7\n");
    make(&sessions.join("utf16.jsonl"), b"\xff\xfe{\0}\0");
    make(&sessions.join("secret.jsonl"), b"{}");
    make(&sessions.join("notes.txt"), b"no session");
    make(&sessions.join(".hidden.jsonl"), b"no session");
    let before: Vec<_> = all_below(&store.root());
    let options = JsonlOptions::default().with_disk(Arc::new(Unreadable("secret.jsonl")));
    let storage = JsonlStorage::store(&store.root(), options).unwrap();
    let listing = run(storage.list(Page::default())).unwrap();
    assert_eq!(listing.rows.iter().map(|row| &row.id).collect::<Vec<_>>(), [&good]);
    let problems: BTreeMap<String, &str> = listing
        .problems
        .iter()
        .map(|problem| {
            assert!(!problem.message.is_empty());
            (problem.path.file_stem().unwrap().to_string_lossy().into_owned(), problem.kind)
        })
        .collect();
    let expected = BTreeMap::from([
        ("folder", "folder"),
        ("link", "link"),
        ("pipe", "special"),
        ("empty", "empty"),
        ("blank", "damaged"),
        ("zeros", "damaged"),
        ("foreign", "foreign"),
        ("utf16", "damaged"),
        ("secret", "unreadable"),
    ]);
    let expected = expected.into_iter().map(|(name, kind)| (name.to_owned(), kind)).collect();
    assert_eq!(problems, expected);
    assert_eq!(run(storage.find("2026")).unwrap(), std::slice::from_ref(&good));
    assert_eq!(heads(&storage, &good).len(), 2);
    assert_eq!(all_below(&store.root()), before);
    for name in ["pipe", "link", "folder", "empty", "zeros", "foreign"] {
        let path = sessions.join(format!("{name}.jsonl"));
        if name != "link" {
            assert!(JsonlStorage::file(&path, JsonlOptions::default()).is_err(), "{name}");
        }
        assert!(run(storage.facts(&sid(name))).is_err(), "{name}");
        assert!(run(storage.append(&sid(name), write(vec![user(1, "x")]))).is_err(), "{name}");
    }
    assert_eq!(all_below(&store.root()), before);
}

#[test]
fn looking_makes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    let storage = JsonlStorage::store(&root, JsonlOptions::default()).unwrap();
    assert_eq!(run(storage.list(Page::default())).unwrap(), Default::default());
    assert!(run(storage.find("x")).unwrap().is_empty());
    assert!(run(storage.facts(&sid("x"))).is_err());
    assert_eq!(run(storage.trashed()).unwrap(), []);
    assert!(run(storage.purge(None, Timestamp::default())).unwrap().is_empty());
    assert!(!root.exists());
    let s = create(&storage, "s1");
    let before = all_below(dir.path());
    let other = JsonlStorage::store(&root, JsonlOptions::default()).unwrap();
    run(other.list(Page::default())).unwrap();
    run(other.check(&s)).unwrap();
    assert_eq!(all_below(dir.path()), before);
    let file = run(other.facts(&s)).unwrap().path.unwrap();
    assert!(JsonlStorage::store(&file, JsonlOptions::default()).is_err());
    assert!(JsonlStorage::folder(&root.join("nowhere"), true, JsonlOptions::default()).is_err());
    let (alone, id) = JsonlStorage::file(&file, JsonlOptions::default()).unwrap();
    assert_eq!(id, s);
    assert_eq!(kind(run(alone.create(NewSession::default()))), "unsupported");
    // In a store it shares the blobs; outside there is no place for any.
    assert!(run(alone.put_blob(b"x")).is_ok());
    let outside = dir.path().join("outside.jsonl");
    fs::copy(&file, &outside).unwrap();
    let (alone, _) = JsonlStorage::file(&outside, JsonlOptions::default()).unwrap();
    assert_eq!(kind(run(alone.put_blob(b"x"))), "unsupported");
    assert_eq!(kind(run(alone.get_blob(&forkwood_storage::blob::name_of(b"x")))), "unsupported");
}

#[test]
fn a_header_cannot_lead_out_of_the_store() {
    let store = Store::real();
    let s = store.session("s1");
    let sessions = store.root().join("sessions");
    let text = fs::read_to_string(sessions.join("s1.jsonl")).unwrap();
    for (name, hostile) in [("a", "../../out"), ("b", "/etc/passwd"), ("c", ""), ("d", "x\\u0000y")]
    {
        make(
            &sessions.join(format!("{name}.jsonl")),
            text.replace("\"s1\"", &format!("\"{hostile}\"")).as_bytes(),
        );
    }
    let rows = run(store.storage.list(Page::default())).unwrap().rows;
    assert_eq!(rows.len(), 5);
    for row in &rows {
        append(store.storage.as_ref(), &row.id, vec![user(1, "x")]);
        run(store.storage.delete(&row.id, false)).unwrap();
        run(store.storage.restore(&row.id)).unwrap();
    }
    assert_eq!(run(store.storage.list(Page::default())).unwrap().rows.len(), 5);
    assert!(fs::read_dir(store.root().parent().unwrap()).unwrap().count() == 1);
    assert_eq!(heads(store.storage.as_ref(), &s).len(), 2);
}

#[test]
fn a_lock_file_that_was_left_locks_nothing_and_a_held_one_does() {
    let store = Store::real();
    let s = store.session("s1");
    let lock = store.root().join("sessions").join(".s1.jsonl.lock");
    make(&lock, b"left by a process that is no more");
    append(store.storage.as_ref(), &s, vec![user(1, "x")]);
    let holder = fs::File::open(&lock).unwrap();
    holder.lock().unwrap();
    let options = JsonlOptions::default().with_lock_wait(Duration::from_millis(20));
    let hasty = JsonlStorage::store(&store.root(), options).unwrap();
    assert_eq!(kind(run(hasty.append(&s, write(vec![user(2, "x")])))), "locked");
    assert_eq!(heads(&hasty, &s).len(), 2);
    holder.unlock().unwrap();
    append(&hasty, &s, vec![user(2, "x")]);
}
