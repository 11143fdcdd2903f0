//! Conversations imported from PicoClaw are conversations here: history, summary, names and scope
//! as PicoClaw shows them.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use forkwood::SessionStore;
use forkwood::conversation::{ConversationStore, key};
use forkwood::storage::disk::RealDisk;
use forkwood_formats::import::{self, Import};
use forkwood_formats::picoclaw::{PicoConversations, migrate};
use forkwood_routing::PersistentConversations;
use pollster::block_on as run;

fn shown(store: &dyn ConversationStore, key: &str) -> (Vec<String>, String) {
    let history = run(store.get_history(key)).unwrap();
    let line = |one: &forkwood::conversation::ConversationMessage| {
        format!("{}: {}", one.message.role.as_text(), one.message.content.text())
    };
    (history.iter().map(line).collect(), run(store.get_summary(key)).unwrap())
}

#[test]
fn every_case_is_the_conversation_that_its_owner_shows() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/picoclaw");
    let mut count = 0;
    let mut summaries = 0;
    let mut scopes = 0;
    for case in std::fs::read_dir(cases).unwrap().map(|case| case.unwrap().path()) {
        if !case.is_dir() {
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        let (source, root) = (dir.path().join("sessions"), dir.path().join("store"));
        std::fs::create_dir(&source).unwrap();
        for file in std::fs::read_dir(case.join("sessions")).unwrap() {
            let path = file.unwrap().path();
            std::fs::copy(&path, source.join(path.file_name().unwrap())).unwrap();
        }
        let store = SessionStore::open_root(&root).unwrap();
        let found = import::find(&RealDisk, &source, &import::tools());
        let mut import = run(Import::start(&store, Arc::new(RealDisk), Some(&root))).unwrap();
        run(import.take(&found.units, &mut |_| {})).unwrap();
        // What is imported of an older file is what its migration makes of it.
        let theirs = PicoConversations::open(&source);
        migrate(theirs.folder()).unwrap();
        let ours = PersistentConversations::open(&root).unwrap();
        for key in run(theirs.list_sessions()).unwrap() {
            let expected = shown(&theirs, &key);
            if expected.0.is_empty() && expected.1.is_empty() {
                continue;
            }
            assert_eq!(shown(&ours, &key), expected, "{} {key}", case.display());
            let meta = run(theirs.metadata(&key)).unwrap().unwrap();
            let own = run(ours.metadata(&key)).unwrap().unwrap();
            assert_eq!((&own.scope, &own.agent), (&meta.scope, &meta.agent), "{key}");
            assert_eq!(own.aliases, meta.aliases, "{key}");
            for alias in own.aliases.iter().filter(|alias| !key::is_main(alias)) {
                assert_eq!(
                    run(ours.resolve_key(alias)).unwrap(),
                    run(theirs.resolve_key(alias)).unwrap()
                );
            }
            count += 1;
            summaries += usize::from(!expected.1.is_empty());
            scopes += usize::from(own.scope.is_some());
        }
        // And they go on as such.
        for key in run(ours.list_sessions()).unwrap() {
            let before = shown(&ours, &key);
            run(ours.add_message(&key, forkwood::Role::User, "more")).unwrap();
            let after = shown(&ours, &key);
            assert_eq!(after.0[..before.0.len()], before.0);
            assert_eq!((after.0.last().unwrap().as_str(), after.1), ("user: more", before.1));
        }
    }
    assert!(count >= 10 && summaries >= 2 && scopes >= 4, "{count} {summaries} {scopes}");
}
