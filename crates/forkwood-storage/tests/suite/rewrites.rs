//! What rewrites keep: the title and metadata of a session, and old files for their owner only.

use std::path::Path;

use forkwood_core::entry::SessionInfo;
use forkwood_core::{Draft, Json};
use forkwood_storage::{NewSession, Rewrite};

use crate::common::*;

fn info(title: Option<&str>, metadata: Option<&str>) -> SessionInfo {
    SessionInfo {
        title: title.map(Into::into),
        metadata: metadata.map(|json| Json::parse(json).unwrap()),
        ..SessionInfo::default()
    }
}

#[test]
fn a_reset_keeps_the_title_and_metadata_as_they_are_now() {
    each(|store| {
        let storage = store.storage.as_ref();
        let info_at_first = info(Some("first"), Some(r#"{"a":1}"#));
        let new = NewSession { info: info_at_first, ..NewSession::default() };
        let s = run(storage.create(new)).unwrap().id;
        append(storage, &s, vec![user(1, "one"), title(2, "second")]);
        append(storage, &s, vec![Draft::new(id(3), info(None, Some(r#"{"pinned":true}"#)))]);
        let before = run(storage.facts(&s)).unwrap().info;
        for _ in 0..2 {
            run(storage.rewrite(&s, Rewrite::Reset)).unwrap();
            assert_eq!(heads(storage, &s).len(), 1);
            let now = run(storage.facts(&s)).unwrap().info;
            assert_eq!(now.title, Some("second".into()));
            assert_eq!(now.metadata, Some(Json::parse(r#"{"pinned":true}"#).unwrap()));
            assert_eq!((&now.session_id, now.created_at), (&before.session_id, before.created_at));
            assert_eq!(run(storage.check(&s)).unwrap(), []);
        }
        // A title that was taken away does not come back.
        append(storage, &s, vec![title(4, "")]);
        run(storage.rewrite(&s, Rewrite::Reset)).unwrap();
        let now = run(storage.facts(&s)).unwrap().info;
        assert!(now.title.is_none_or(|title| title.is_empty()));
    });
}

#[cfg(unix)]
#[test]
fn old_files_that_are_kept_are_for_their_owner_only() {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let store = Store::real();
    let storage = store.storage.as_ref();
    for (rewrite, name) in [
        (Rewrite::Vacuum { prune_branches: false }, "a"),
        (Rewrite::Reset, "b"),
        (Rewrite::Repair, "c"),
    ] {
        let s = store.session(name);
        append(storage, &s, vec![user(1, "one"), leaf(2, &id(1)), answer(3, "two")]);
        let path = run(storage.facts(&s)).unwrap().path.unwrap();
        if name == "c" {
            // A record behind a fragment, as two writers leave them.
            let text = fs::read_to_string(&path).unwrap();
            let last = text.lines().last().unwrap();
            fs::write(&path, text.replacen(last, &format!("{{\"id\":\"x{last}"), 1)).unwrap();
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let kept = run(storage.rewrite(&s, rewrite)).unwrap().backup.unwrap();
        assert_eq!((mode(&kept), mode(&path)), (0o600, 0o600), "{name}");
    }
}
