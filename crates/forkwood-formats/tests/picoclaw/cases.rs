//! Folders that PicoClaw wrote, against what PicoClaw says of them.

use std::path::Path;

use forkwood::conversation::{ConversationStore, key};
use forkwood_formats::picoclaw::{encode, migrate};
use pollster::block_on as run;
use serde_json::Value;

use crate::world::{cases, load, store};

fn expected(case: &Path) -> Value {
    let text = std::fs::read_to_string(case.with_extension("expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// PicoClaw reads `null` as a message by nobody that says nothing. Here it is left out.
fn is_nothing(message: &Value) -> bool {
    message["role"] == "" && message["content"] == ""
}

fn check(name: &str, store: &forkwood_formats::picoclaw::PicoConversations, said: &Value) {
    let listed: Vec<String> =
        serde_json::from_value(said["list_sessions"].clone()).unwrap_or_default();
    assert_eq!(run(store.list_sessions()).unwrap(), listed, "{name}");
    for (query, found) in said["lookups"].as_object().into_iter().flatten() {
        let ours = run(store.resolve_key(query)).unwrap();
        // PicoClaw gives the alias of the main session to some chat that lists it.
        let theirs = if key::is_main(query) { query } else { found["backend"].as_str().unwrap() };
        assert_eq!(ours, theirs, "{name}: {query}");
    }
    for (key, said) in said["sessions"].as_object().into_iter().flatten() {
        let history = run(store.get_history(key)).unwrap();
        let ours: Vec<Value> = history
            .iter()
            .map(|one| serde_json::from_str(&encode(one).unwrap()).unwrap())
            .collect();
        let mut theirs: Vec<Value> = said["history"].as_array().unwrap().clone();
        let all = theirs.len();
        theirs.retain(|message| !is_nothing(message));
        assert!(all == theirs.len() || name.starts_with("06"), "{name}");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let (mut ours, mut theirs) = (ours.clone(), theirs.clone());
            if key == "nokey" {
                // A message without a time gets that of the migration from PicoClaw, and that of
                // its conversation here.
                ours["created_at"] = Value::Null;
                theirs["created_at"] = Value::Null;
            }
            // Unknown keys, and keys in another case, stay as they are.
            if ours.as_object().unwrap().keys().all(|key| theirs.get(key).is_some()) {
                assert_eq!(ours, theirs, "{name}: {key}");
            }
        }
        assert_eq!(ours.len(), theirs.len(), "{name}: {key}");
        let contents = |messages: &[Value]| -> Vec<Value> {
            messages.iter().map(|message| message["content"].clone()).collect()
        };
        assert_eq!(contents(&ours), contents(&theirs), "{name}: {key}");
        let summary = run(store.get_summary(key)).unwrap();
        assert_eq!(summary, said["summary"].as_str().unwrap(), "{name}: {key}");
        let scope = run(store.scope(key)).unwrap();
        let scope = scope.map_or(Value::Null, |scope| serde_json::to_value(scope).unwrap());
        assert_eq!(scope, said["scope"], "{name}: {key}");
        let agent = run(store.agent(key)).unwrap().unwrap_or_default();
        assert_eq!(agent, said["agent_id"].as_str().unwrap(), "{name}: {key}");
        let resolved = run(store.resolve_key(key)).unwrap();
        if !key::is_main(key) {
            assert_eq!(key::file_base(&resolved), said["file_base"].as_str().unwrap(), "{name}");
        }
    }
}

#[test]
fn every_folder_reads_as_picoclaw_reads_it() {
    for case in cases() {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let disk = load(&case);
        let before: Vec<_> =
            disk.files().into_iter().map(|p| (p.clone(), disk.bytes(&p))).collect();
        let said = expected(&case);
        check(&name, &store(&disk), &said);
        let after: Vec<_> = disk.files().into_iter().map(|p| (p.clone(), disk.bytes(&p))).collect();
        assert_eq!(before, after, "{name}: reading wrote");
        if let Some(said) = said.get("after_migration") {
            let store = store(&disk);
            let done = migrate(store.folder()).unwrap();
            assert_eq!(done.migrated.len() as u64, said["migrated"].as_u64().unwrap(), "{name}");
            check(&name, &store, said);
            let mut files: Vec<String> = disk
                .files()
                .iter()
                .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
                .filter(|name| !name.starts_with('.'))
                .collect();
            files.sort();
            let theirs: Vec<String> = serde_json::from_value(said["files"].clone()).unwrap();
            assert_eq!(files, theirs, "{name}");
        }
    }
}

#[test]
fn every_meta_file_is_written_as_picoclaw_writes_it() {
    let mut count = 0;
    for case in cases() {
        for name in std::fs::read_dir(case.join("sessions")).unwrap() {
            let path = name.unwrap().path();
            if path.to_string_lossy().ends_with(".meta.json") {
                let text = std::fs::read_to_string(&path).unwrap();
                let meta = forkwood_formats::picoclaw::Meta::parse(&text).unwrap();
                assert_eq!(meta.to_text(), text, "{}", path.display());
                count += 1;
            }
        }
    }
    assert!(count >= 10);
}
