//! The older files, one a session.

use std::path::Path;

use forkwood::conversation::ConversationStore;
use forkwood::storage::disk::{Crash, SimDisk};
use forkwood_formats::picoclaw::{Migration, migrate};
use pollster::block_on as run;

use crate::world::{FOLDER, file, store, texts};

fn older(key: &str, texts: &[&str]) -> String {
    let messages: Vec<String> = texts
        .iter()
        .map(|text| format!("    {{ \"role\": \"user\",\n \"content\": \"{text}\" }}"))
        .collect();
    format!(
        "{{\n  \"key\": \"{key}\",\n  \"messages\": [\n{}\n  ],\n  \"summary\": \"about {key}\",\n  \"created\": \"2026-01-01T00:00:00Z\",\n  \"updated\": \"2026-01-02T00:00:00Z\"\n}}",
        messages.join(",\n")
    )
}

fn put(disk: &SimDisk, name: &str, text: &str) {
    disk.put(&Path::new(FOLDER).join(name), text.as_bytes());
}

fn start() -> SimDisk {
    let disk = SimDisk::new();
    put(&disk, "a_1.json", &older("a:1", &["one", "two"]));
    put(&disk, "b.json", &older("b", &["three"]));
    put(&disk, "broken.json", "{nope");
    disk
}

fn done(disk: &SimDisk) -> Migration {
    migrate(store(disk).folder()).unwrap()
}

fn is_complete(disk: &SimDisk) {
    let store = store(disk);
    assert_eq!(texts(&store, "a:1"), ["one", "two"]);
    assert_eq!(texts(&store, "b"), ["three"]);
    assert_eq!(run(store.get_summary("a:1")).unwrap(), "about a:1");
    let before = start();
    for name in ["a_1.json", "b.json"] {
        assert_eq!(file(disk, name), None);
        assert_eq!(file(disk, &format!("{name}.migrated")), file(&before, name));
    }
    assert_eq!(file(disk, "broken.json").as_deref(), Some("{nope"));
}

#[test]
fn every_file_that_can_be_read_is_migrated_once() {
    let disk = start();
    let first = done(&disk);
    assert_eq!(first.migrated.iter().map(|one| one.key.as_str()).collect::<Vec<_>>(), ["a:1", "b"]);
    assert_eq!(first.migrated[0].messages, 2);
    assert_eq!(first.skipped.len(), 1);
    is_complete(&disk);
    assert!(done(&disk).migrated.is_empty());
    is_complete(&disk);
}

#[test]
fn a_folder_that_is_not_there_has_none() {
    assert_eq!(done(&SimDisk::new()), Migration::default());
}

#[test]
fn it_can_stop_anywhere() {
    let crashes = [
        Crash::HARD,
        Crash { unsynced_bytes: 30, unsynced_names: true, zeroed: false },
        Crash { unsynced_bytes: usize::MAX, unsynced_names: true, zeroed: false },
    ];
    for stop in 0.. {
        let mut finished = false;
        for crash in crashes {
            let disk = start();
            disk.stop_at_change(Some(stop));
            finished = migrate(store(&disk).folder()).is_ok();
            disk.crash(crash);
            // Every original is there, whole, under one of its names.
            for name in ["a_1.json", "b.json"] {
                let original = file(&start(), name);
                let kept = file(&disk, name).or_else(|| file(&disk, &format!("{name}.migrated")));
                assert_eq!(kept, original, "{stop} {crash:?}");
            }
            done(&disk);
            is_complete(&disk);
        }
        if finished {
            assert!(stop > 20, "{stop}");
            return;
        }
    }
}

#[test]
fn a_run_that_fails_leaves_the_older_files_and_nothing_else() {
    for room in (0..1200).step_by(40) {
        let disk = start();
        disk.set_room(Some(room));
        let result = migrate(store(&disk).folder());
        disk.set_room(None);
        if result.is_ok() {
            assert!(room > 200);
            return is_complete(&disk);
        }
        for name in ["a_1.json", "b.json"] {
            assert_eq!(file(&disk, name), file(&start(), name));
        }
        assert_eq!(file(&disk, "a_1.jsonl"), None, "{room}");
        assert_eq!(file(&disk, "b.jsonl"), None, "{room}");
        assert_eq!(file(&disk, "a_1.meta.json"), None, "{room}");
    }
    panic!("no room was enough");
}

#[test]
fn what_is_no_session_is_left_alone() {
    // PicoClaw makes an empty session of each, and gives the file another name.
    let disk = SimDisk::new();
    let others = [
        ("package.json", r#"{"name":"x","version":"1.0.0"}"#),
        ("empty.json", "{}"),
        ("request.json", r#"{"model":"m","messages":[{"role":"user","content":"x"}]}"#),
        ("list.json", "[]"),
    ];
    for (name, text) in others {
        put(&disk, name, text);
    }
    let migration = done(&disk);
    assert!(migration.migrated.is_empty());
    assert_eq!(migration.skipped.len(), 4);
    for (name, text) in others {
        assert_eq!(file(&disk, name).as_deref(), Some(text));
    }
    assert_eq!(disk.files().len(), 4);
}

#[test]
fn newer_lines_are_never_overwritten() {
    let disk = start();
    done(&disk);
    // As after a rename that did not happen, and messages since.
    put(&disk, "b.json", &older("b", &["three"]));
    run(store(&disk).add_message("b", forkwood::Role::User, "since")).unwrap();
    assert_eq!(done(&disk).migrated.len(), 1);
    assert_eq!(texts(&store(&disk), "b"), ["three", "since"]);
    // Another conversation under that name, and an object that is no session.
    put(&disk, "b.json", &older("b", &["else"]));
    put(&disk, "a_1.json", "{}");
    let migration = done(&disk);
    assert_eq!(texts(&store(&disk), "b"), ["three", "since"]);
    assert_eq!(texts(&store(&disk), "a:1"), ["one", "two"]);
    assert!(
        migration
            .skipped
            .iter()
            .any(|(path, why)| { path.ends_with("b.json") && why.contains("newer lines") })
    );
    assert!(file(&disk, "b.json").is_some());
}

#[test]
fn an_older_file_that_was_gone_on_with_after_a_stop_is_taken_whole() {
    let disk = start();
    done(&disk);
    // The fallback wrote on in the older file before the migration was finished.
    put(&disk, "b.json", &older("b", &["three", "four"]));
    done(&disk);
    assert_eq!(texts(&store(&disk), "b"), ["three", "four"]);
}

#[test]
fn many_that_start_at_once_migrate_once_and_all_of_them_can_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..6).map(|n| format!("chat:{n}")).collect();
    for (name, n) in names.iter().zip(0..) {
        std::fs::write(folder.path().join(format!("{n}.json")), older(name, &["one"])).unwrap();
    }
    let together = std::sync::Barrier::new(8);
    let migrated = std::thread::scope(|threads| {
        let start = |writer: usize| {
            let (folder, names, together) = (folder.path(), &names, &together);
            threads.spawn(move || {
                let store = forkwood_formats::picoclaw::PicoConversations::open(folder);
                together.wait();
                let done = migrate(store.folder()).unwrap();
                assert_eq!(done.skipped, []);
                for name in names {
                    let said = format!("from {writer}");
                    run(store.add_message(name, forkwood::Role::User, &said)).unwrap();
                }
                done.migrated.len()
            })
        };
        let all: Vec<_> = (0..8).map(start).collect();
        all.into_iter().map(|one| one.join().unwrap()).sum::<usize>()
    });
    assert_eq!(migrated, names.len());
    let store = forkwood_formats::picoclaw::PicoConversations::open(folder.path());
    for name in &names {
        let mut said = texts(&store, name);
        assert_eq!(said[0], "one");
        said.sort();
        let mut expected: Vec<String> = (0..8).map(|writer| format!("from {writer}")).collect();
        expected.push("one".to_owned());
        assert_eq!(said, expected, "{name}");
    }
}
