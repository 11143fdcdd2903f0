//! One JSON file a conversation: what a start falls back to, and the way back from there. Names in
//! brackets are those of PicoClaw's own tests at `cf67dd3`.

use std::path::Path;

use forkwood::conversation::{ConversationStore, Identity, SessionScope};
use forkwood::storage::disk::{Crash, SimDisk};
use forkwood::{ErrorKind, Message, Role};
use forkwood_formats::picoclaw::{JsonConversations, PicoConversations, migrate};
use pollster::block_on as run;

use crate::world::{FOLDER, cases, file, load, options, store};

fn json(disk: &SimDisk) -> JsonConversations {
    JsonConversations::open_with(Path::new(FOLDER), options(disk))
}

fn texts(store: &dyn ConversationStore, key: &str) -> Vec<String> {
    let history = run(store.get_history(key)).unwrap();
    history.iter().map(|one| one.message.content.text().to_string()).collect()
}

fn say(store: &dyn ConversationStore, key: &str, text: &str) {
    run(store.add_message(key, Role::User, text)).unwrap();
}

/// What a conversation shows.
fn shown(store: &dyn ConversationStore, key: &str) -> (Vec<String>, String) {
    (texts(store, key), run(store.get_summary(key)).unwrap())
}

#[test]
fn a_conversation_is_a_file_that_picoclaw_reads() {
    // [Save_WithColonInKey, AddAndGetHistory, Summary, SetHistory, SessionIsolation, EmptySession]
    let disk = SimDisk::new();
    let store = json(&disk);
    assert!(texts(&store, "telegram:123456").is_empty());
    assert!(disk.files().is_empty(), "reading made something");
    say(&store, "telegram:123456", "hi <there>");
    run(store.set_summary("telegram:123456", "so far")).unwrap();
    say(&store, "foo/bar", "other");
    let text = file(&disk, "telegram_123456.json").unwrap();
    let start = "{\n  \"key\": \"telegram:123456\",\n  \"messages\": [\n    {\n      \"role\": \"user\",\n      \"content\": \"hi \\u003cthere\\u003e\",\n      \"created_at\": \"2027-01-15T08:00:00.5Z\"\n    }\n  ],\n  \"summary\": \"so far\",\n  \"created\": \"2027-01-15T08:00:00.5Z\",\n  \"updated\": \"2027-01-15T08:00:00.5Z\"";
    assert!(text.starts_with(start), "{text}");
    assert!(file(&disk, "foo_bar.json").is_some());
    let again = json(&disk);
    assert_eq!(
        shown(&again, "telegram:123456"),
        (vec!["hi <there>".to_owned()], "so far".to_owned())
    );
    assert_eq!(run(again.list_sessions()).unwrap(), ["foo/bar", "telegram:123456"]);
    run(again.set_history("telegram:123456", vec![Message::user("new").into()])).unwrap();
    assert_eq!(shown(&store, "telegram:123456"), (vec!["new".to_owned()], "so far".to_owned()));
    for n in 0..5 {
        say(&again, "foo/bar", &n.to_string());
    }
    run(again.truncate_history("foo/bar", 2)).unwrap();
    run(again.save("foo/bar")).unwrap();
    assert_eq!(texts(&again, "foo/bar"), ["3", "4"]);
    run(again.truncate_history("unknown", 2)).unwrap();
    assert_eq!(file(&disk, "unknown.json"), None);
}

#[test]
fn odd_keys_are_refused_or_stay_in_the_folder() {
    // [Save_RejectsPathTraversal, SanitizeFilename]
    let disk = SimDisk::new();
    let store = json(&disk);
    for key in ["", " ", ".", "..", "a\0b", &"x".repeat(300)] {
        let error = run(store.add_message(key, Role::User, "x")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{key:?}");
    }
    for key in ["../../x", "/etc/passwd", "a\\b", "C:x"] {
        say(&store, key, "x");
    }
    assert!(disk.files().iter().all(|path| path.parent() == Some(Path::new(FOLDER))));
    assert_eq!(migrate(store.folder()).unwrap().migrated.len(), 4);
}

#[test]
fn the_older_files_read_as_after_their_migration() {
    // [LoadSessions_NormalizesMissingCreatedAt]: a message without a time is read like any other.
    let case = cases().into_iter().find(|path| path.ends_with("09-legacy-json")).unwrap();
    let before = load(&case);
    let after = load(&case);
    let done = migrate(store(&after).folder()).unwrap();
    assert!(done.migrated.len() >= 3);
    for one in done.migrated {
        assert_eq!(shown(&json(&before), &one.key), shown(&store(&after), &one.key), "{}", one.key);
    }
    let error = run(json(&before).get_history("broken")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
}

fn ask(chat: &str) -> (String, Identity) {
    let scope = SessionScope {
        version: 1,
        agent_id: "main".to_owned(),
        channel: "x".to_owned(),
        account: "default".to_owned(),
        dimensions: vec!["chat".to_owned()],
        values: [("chat".to_owned(), format!("direct:{chat}"))].into(),
    };
    let aliases = vec!["agent:main:main".to_owned(), format!("agent:main:direct:{chat}")];
    (scope.key(), Identity { scope: Some(scope), aliases })
}

#[test]
fn names_lead_to_it_and_an_older_history_is_taken_over_once() {
    let disk = SimDisk::new();
    let store = json(&disk);
    let (key, identity) = ask("7");
    say(&store, "agent:main:direct:7", "old");
    say(&store, "agent:main:main", "of the main session");
    let ensured = run(store.ensure_metadata(&key, &identity)).unwrap();
    assert_eq!(ensured.promoted_from.as_deref(), Some("agent:main:direct:7"));
    let again = json(&disk);
    assert_eq!(run(again.resolve_key("agent:main:direct:7")).unwrap(), key);
    assert_eq!(run(again.resolve_key("agent:main:main")).unwrap(), "agent:main:main");
    assert_eq!(texts(&again, "agent:main:direct:7"), ["old"]);
    let meta = run(again.metadata(&key)).unwrap().unwrap();
    assert_eq!((meta.scope, meta.agent.as_deref()), (identity.scope.clone(), Some("main")));
    // Cleared, it stays so.
    run(again.set_history(&key, Vec::new())).unwrap();
    assert_eq!(run(again.ensure_metadata(&key, &identity)).unwrap().promoted_from, None);
    assert!(texts(&again, &key).is_empty());
    let of = |chat: &str, sender: &str| {
        let mut scope = ask("7").1.scope.unwrap();
        scope.dimensions.push("sender".to_owned());
        scope.values =
            [("chat".to_owned(), chat.to_owned()), ("sender".to_owned(), sender.to_owned())].into();
        Identity { scope: Some(scope), aliases: Vec::new() }
    };
    let (one, other) = (of("a", "b|sender=c"), of("a|sender=b", "c"));
    let key = one.scope.clone().unwrap().key();
    run(again.ensure_metadata(&key, &one)).unwrap();
    let error = run(again.ensure_metadata(&key, &other)).unwrap_err();
    assert_eq!(error.kind().as_str(), "scopes_meet");
}

/// A folder in which a conversation was gone on with, some of it hidden.
fn with_newer() -> SimDisk {
    let disk = SimDisk::new();
    let newer = store(&disk);
    let (key, identity) = ask("7");
    run(newer.ensure_metadata(&key, &identity)).unwrap();
    for text in ["a", "b", "c"] {
        say(&newer, &key, text);
    }
    run(newer.set_summary(&key, "s")).unwrap();
    run(newer.truncate_history(&key, 2)).unwrap();
    disk
}

#[test]
fn there_and_back_loses_nothing() {
    // In PicoClaw the conversation is empty in the fallback, and the way back leaves one message.
    let (key, _) = ask("7");
    type Change = fn(&JsonConversations, &str);
    let changes: [Change; 4] = [
        |store, key| say(store, key, "d"),
        |store, key| {
            say(store, key, "d");
            run(store.truncate_history(key, 1)).unwrap();
            run(store.set_summary(key, "")).unwrap();
        },
        |store, key| run(store.set_history(key, vec![Message::user("x").into()])).unwrap(),
        |store, key| run(store.set_history(key, Vec::new())).unwrap(),
    ];
    for (number, change) in changes.iter().enumerate() {
        let disk = with_newer();
        let before = disk.bytes(&Path::new(FOLDER).join(format!("{key}.jsonl")));
        let fallback = json(&disk);
        assert_eq!(shown(&fallback, &key), (vec!["b".into(), "c".into()], "s".into()));
        change(&fallback, &key);
        let there = shown(&json(&disk), &key);
        // The newer files are as they were.
        assert_eq!(disk.bytes(&Path::new(FOLDER).join(format!("{key}.jsonl"))), before);
        for stop in 0.. {
            let disk = disk.copy();
            disk.stop_at_change(Some(stop));
            let finished = migrate(store(&disk).folder()).is_ok();
            disk.crash(Crash::HARD);
            migrate(store(&disk).folder()).unwrap();
            assert_eq!(shown(&store(&disk), &key), there, "{number}, stopped at {stop}");
            assert_eq!(file(&disk, &format!("{key}.json")), None);
            let names = run(store(&disk).metadata(&key)).unwrap().unwrap();
            assert!(names.aliases.len() == 2 && names.scope.is_some());
            if finished {
                break;
            }
        }
    }
}

#[test]
fn files_that_say_different_things_are_told_and_not_chosen_between() {
    let disk = with_newer();
    let (key, _) = ask("7");
    let other = format!(r#"{{"key":"{key}","messages":[{{"role":"user","content":"else"}}]}}"#);
    disk.put(&Path::new(FOLDER).join(format!("{key}.json")), other.as_bytes());
    let store = json(&disk);
    let error = run(store.get_history(&key)).unwrap_err();
    assert!(error.to_string().contains("move one away"), "{error}");
    run(store.add_message(&key, Role::User, "x")).unwrap_err();
    assert_eq!(file(&disk, &format!("{key}.json")), Some(other));
    // One that says less is an older state: the newer files are gone on from.
    let less = format!(r#"{{"key":"{key}","messages":[{{"role":"user","content":"b"}}]}}"#);
    disk.put(&Path::new(FOLDER).join(format!("{key}.json")), less.as_bytes());
    assert_eq!(texts(&json(&disk), &key), ["b", "c"]);
}

#[test]
fn a_crash_leaves_what_was_or_what_was_to_be() {
    let start = SimDisk::new();
    let store = json(&start);
    for text in ["a", "b", "c"] {
        say(&store, "k", text);
    }
    run(store.set_summary("k", "s")).unwrap();
    let calls: [fn(&JsonConversations) -> forkwood::Result<()>; 4] = [
        |store| run(store.add_message("k", Role::User, "d")).map(|_| ()),
        |store| run(store.truncate_history("k", 1)),
        |store| run(store.set_history("k", vec![Message::user("x").into()])),
        |store| run(store.set_summary("k", "t")),
    ];
    for call in calls {
        let done = start.copy();
        call(&json(&done)).unwrap();
        let (before, after) = (shown(&json(&start), "k"), shown(&json(&done), "k"));
        for stop in 0.. {
            let mut finished = false;
            for unsynced_bytes in [0, 30, usize::MAX] {
                for unsynced_names in [false, true] {
                    let disk = start.copy();
                    disk.stop_at_change(Some(stop));
                    finished = call(&json(&disk)).is_ok();
                    disk.crash(Crash { unsynced_bytes, unsynced_names, zeroed: false });
                    let now = shown(&json(&disk), "k");
                    assert!(now == after || !finished && now == before, "{stop}: {now:?}");
                }
            }
            if finished {
                break;
            }
        }
    }
}

#[test]
fn several_writers_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|threads| {
        for writer in 0..4 {
            let path = folder.path();
            threads.spawn(move || {
                let store = JsonConversations::open(path);
                (0..10).for_each(|n| say(&store, "a:b", &format!("{writer}.{n}")));
            });
        }
    });
    let all = texts(&JsonConversations::open(folder.path()), "a:b");
    assert_eq!(all.len(), 40);
    migrate(PicoConversations::open(folder.path()).folder()).unwrap();
    assert_eq!(texts(&PicoConversations::open(folder.path()), "a:b"), all);
}
