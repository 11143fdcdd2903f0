//! One run at a time.

use std::fs;

use forkwood_core::Timestamp;
use forkwood_storage::Page;
use forkwood_storage::jsonl::JsonlStorage;

use crate::common::*;

#[test]
fn one_at_a_time_has_the_right_to_run() {
    each(|store| {
        let (storage, s, other) = (store.storage.as_ref(), store.session("s1"), store.second());
        let another = store.session("s2");
        assert!(!run(storage.is_claimed(&s)).unwrap());
        let claim = run(storage.claim(&s)).unwrap();
        assert_eq!(kind(run(storage.claim(&s))), "locked");
        assert!(run(storage.is_claimed(&s)).unwrap());
        if let Some(other) = &other {
            let error = run(other.claim(&s)).unwrap_err();
            assert_eq!(error.kind().as_str(), "locked");
            assert!(error.to_string().contains("an agent is at work"), "{error}");
            assert!(run(other.is_claimed(&s)).unwrap());
            assert!(!run(other.is_idle(&s)).unwrap(), "who tidies up leaves it");
        }
        // It is about runs, not about writing, and about this session alone.
        append(storage, &s, vec![user(1, "x")]);
        drop(run(storage.claim(&another)).unwrap());
        drop(claim);
        assert!(!run(storage.is_claimed(&s)).unwrap());
        drop(run(other.as_deref().unwrap_or(storage).claim(&s)).unwrap());
        assert_eq!(kind(run(storage.claim(&sid("s9")))), "not_found");
    });
}

#[test]
fn the_lock_of_the_runs_is_never_listed_and_goes_with_the_session() {
    let store = Store::real();
    let s = store.session("s1");
    let storage = store.storage.as_ref();
    let folder = store.root().join("sessions");
    let lock = folder.join(".s1.jsonl.run.lock");
    run(storage.is_claimed(&s)).unwrap();
    assert!(!lock.exists(), "looking makes none");
    drop(run(storage.claim(&s)).unwrap());
    let listing = run(storage.list(Page::default())).unwrap();
    assert_eq!((listing.rows.len(), listing.problems.len()), (1, 0));
    let claim = run(storage.claim(&s)).unwrap();
    run(storage.delete(&s, false)).unwrap();
    assert!(!lock.exists());
    drop(claim);
    run(storage.restore(&s)).unwrap();
    drop(run(storage.claim(&s)).unwrap());
    run(storage.delete(&s, false)).unwrap();
    run(storage.purge(Some(&s), Timestamp::from_millis(i64::MAX / 1000))).unwrap();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn what_cannot_be_written_is_not_claimed() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x.jsonl");
    let header = r#"{"id":"a","parentId":null,"timestamp":1.0,"type":"session_info","sessionId":"s1","version":99}"#;
    fs::write(&file, format!("{header}\n")).unwrap();
    let (storage, id) = JsonlStorage::file(&file, options(&clock())).unwrap();
    let storage: &dyn forkwood_storage::SessionStorage = &storage;
    assert_eq!(kind(run(storage.claim(&id))), "newer_version");
    assert!(!run(storage.is_claimed(&id)).unwrap());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}
