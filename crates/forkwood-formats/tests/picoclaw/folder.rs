//! Writing in place.

use std::path::Path;

use forkwood::conversation::{ConversationStore, Identity, SessionScope};
use forkwood::storage::disk::SimDisk;
use forkwood::{ErrorKind, Message, Role};
use forkwood_formats::picoclaw::{MAX_LINE, Meta, PicoConversations};
use pollster::block_on as run;

use crate::world::{FOLDER, cases, file, load, said, store, texts};

fn case(start: &str) -> std::path::PathBuf {
    let name = |path: &std::path::PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    cases().into_iter().find(|path| name(path).starts_with(start)).unwrap()
}

const KEY: &str = "sk_v1_a0e168225b76ea005fd8e340d9c8d79c6d3df547328577fb013b8a6adb0735c4";

/// A meta file without its times.
fn timeless(text: &str) -> Meta {
    let meta = Meta::parse(text).unwrap();
    Meta { created_at: String::new(), updated_at: String::new(), ..meta }
}

#[test]
fn the_same_calls_give_the_same_bytes() {
    let theirs = load(&case("03"));
    let lines = file(&theirs, &format!("{KEY}.jsonl")).unwrap();
    let meta = file(&theirs, &format!("{KEY}.meta.json")).unwrap();
    let given = Meta::parse(&meta).unwrap();
    let disk = SimDisk::new();
    let ours = store(&disk);
    let identity = Identity { scope: given.scope(), aliases: given.aliases.clone() };
    run(ours.ensure_metadata(KEY, &identity)).unwrap();
    for line in lines.lines() {
        run(ours.add_full_message(KEY, said(line))).unwrap();
    }
    run(ours.set_summary(KEY, &given.summary)).unwrap();
    run(ours.truncate_history(KEY, 3)).unwrap();
    assert_eq!(file(&disk, &format!("{KEY}.jsonl")).unwrap(), lines);
    let written = file(&disk, &format!("{KEY}.meta.json")).unwrap();
    assert_eq!(timeless(&written), timeless(&meta));
    // And saved.
    run(ours.save(KEY)).unwrap();
    let last: Vec<&str> = lines.lines().skip(7).collect();
    assert_eq!(file(&disk, &format!("{KEY}.jsonl")).unwrap(), last.join("\n") + "\n");
    let saved = load(&case("04"));
    let theirs = timeless(&file(&saved, &format!("{KEY}.meta.json")).unwrap());
    assert_eq!(timeless(&file(&disk, &format!("{KEY}.meta.json")).unwrap()), theirs);
    // What was dropped is kept beside it.
    let archive = file(&disk, &format!(".{KEY}.jsonl.forkwood-archive")).unwrap();
    assert_eq!(archive.lines().count(), 7);
}

#[test]
fn truncating_counts_as_picoclaw_counts() {
    let disk = SimDisk::new();
    let store = store(&disk);
    for text in ["a", "b"] {
        run(store.add_message("k", Role::User, text)).unwrap();
    }
    let path = Path::new(FOLDER).join("k.jsonl");
    let mut bytes = disk.bytes(&path).unwrap();
    bytes.extend_from_slice(
        b"{\"role\":\"assistant\",\"content\":\"\",\"reasoning_content\":\"t\"}\n",
    );
    disk.put(&path, &bytes);
    for text in ["c", "d"] {
        run(store.add_message("k", Role::User, text)).unwrap();
    }
    run(store.truncate_history("k", 2)).unwrap();
    assert_eq!(texts(&store, "k"), ["c", "d"]);
    let meta = Meta::parse(&file(&disk, "k.meta.json").unwrap()).unwrap();
    assert_eq!((meta.skip, meta.count), (2, 5));
    run(store.truncate_history("k", 9)).unwrap();
    assert_eq!(texts(&store, "k"), ["c", "d"]);
    run(store.truncate_history("k", 0)).unwrap();
    assert!(texts(&store, "k").is_empty());
    run(store.truncate_history("unknown", 1)).unwrap();
    assert_eq!(file(&disk, "unknown.meta.json"), None);
}

#[test]
fn a_torn_line_swallows_nothing() {
    let disk = SimDisk::new();
    let store = store(&disk);
    run(store.add_message("k", Role::User, "one")).unwrap();
    let path = Path::new(FOLDER).join("k.jsonl");
    let mut bytes = disk.bytes(&path).unwrap();
    bytes.extend_from_slice(b"{\"role\":\"user\",\"content\":\"to");
    disk.put(&path, &bytes);
    assert_eq!(texts(&store, "k"), ["one"]);
    run(store.add_message("k", Role::User, "two")).unwrap();
    assert_eq!(texts(&store, "k"), ["one", "two"]);
    assert_eq!(file(&disk, "k.jsonl").unwrap().lines().count(), 3);
}

#[test]
fn a_line_that_picoclaw_cannot_read_is_refused() {
    let disk = SimDisk::new();
    let store = store(&disk);
    run(store.add_message("k", Role::User, "one")).unwrap();
    let before = file(&disk, "k.jsonl");
    let long = "x".repeat(MAX_LINE);
    let error = run(store.add_message("k", Role::User, &long)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    let error = run(store.set_history("k", vec![Message::user(long).into()])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert_eq!(file(&disk, "k.jsonl"), before);
}

#[test]
fn a_damaged_meta_file_hides_no_message_and_is_kept() {
    let disk = load(&case("03"));
    let name = format!("{KEY}.meta.json");
    let text = file(&disk, &name).unwrap();
    let torn = &text[..text.find("\"aliases\"").unwrap() - 10];
    disk.put(&Path::new(FOLDER).join(&name), torn.as_bytes());
    let store = store(&disk);
    assert_eq!(texts(&store, KEY), ["message 7", "message 8", "message 9"]);
    assert_eq!(run(store.get_summary(KEY)).unwrap(), "messages 0-6 summarised");
    run(store.add_message(KEY, Role::User, "more")).unwrap();
    assert_eq!(texts(&store, KEY).len(), 4);
    assert_eq!(file(&disk, &format!(".{name}.damaged")).unwrap(), torn);
}

#[test]
fn an_older_history_is_promoted_once() {
    let alias = "agent:main:pico:direct:pico:session-123";
    let disk = load(&case("08"));
    let theirs = file(&disk, &format!("{KEY}.jsonl")).unwrap();
    let meta = Meta::parse(&file(&disk, &format!("{KEY}.meta.json")).unwrap()).unwrap();
    let fresh = SimDisk::new();
    for ending in [".jsonl", ".meta.json"] {
        let name = format!("agent_main_pico_direct_pico_session-123{ending}");
        fresh.put(&Path::new(FOLDER).join(&name), file(&disk, &name).unwrap().as_bytes());
    }
    let store = store(&fresh);
    let identity = Identity { scope: meta.scope(), aliases: meta.aliases.clone() };
    let done = run(store.ensure_metadata(KEY, &identity)).unwrap();
    assert_eq!(done.promoted_from.as_deref(), Some(alias));
    let three: Vec<&str> = theirs.lines().take(3).collect();
    assert_eq!(file(&fresh, &format!("{KEY}.jsonl")).unwrap(), three.join("\n") + "\n");
    assert_eq!(run(store.get_summary(KEY)).unwrap(), "legacy summary");
    assert_eq!(run(store.resolve_key(alias)).unwrap(), KEY);
    // Cleared, it stays cleared; PicoClaw brings the old history back.
    run(store.set_history(KEY, Vec::new())).unwrap();
    run(store.set_summary(KEY, "")).unwrap();
    assert_eq!(run(store.ensure_metadata(KEY, &identity)).unwrap().promoted_from, None);
    assert!(texts(&store, KEY).is_empty());
}

#[test]
fn two_scopes_never_share_a_key() {
    let scope = |dimensions: &[(&str, &str)]| SessionScope {
        version: 1,
        agent_id: "main".into(),
        channel: "slack".into(),
        account: "default".into(),
        dimensions: dimensions.iter().map(|(name, _)| (*name).into()).collect(),
        values: dimensions.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect(),
    };
    let one = scope(&[("chat", "direct:x|sender=bob")]);
    let other = scope(&[("chat", "direct:x"), ("sender", "bob")]);
    assert_eq!(one.key(), other.key());
    let disk = SimDisk::new();
    let store = store(&disk);
    let key = one.key();
    let with = |scope| Identity { scope: Some(scope), aliases: Vec::new() };
    run(store.ensure_metadata(&key, &with(one))).unwrap();
    run(store.ensure_metadata(&key, &with(other))).unwrap_err();
}

#[test]
fn odd_keys_stay_in_the_folder() {
    let disk = SimDisk::new();
    let store = store(&disk);
    for key in ["../../x", "..", "/etc/passwd", "a\\b", "C:x"] {
        run(store.add_message(key, Role::User, "hi")).unwrap();
    }
    assert!(disk.files().iter().all(|path| path.parent() == Some(Path::new(FOLDER))));
    for key in ["", "  ", "a\0b", "a\nb", &"x".repeat(300)] {
        let error = run(store.add_message(key, Role::User, "hi")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{key:?}");
    }
}

#[test]
fn several_writers_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|threads| {
        for writer in 0..4 {
            let path = folder.path();
            threads.spawn(move || {
                let store = PicoConversations::open(path);
                for n in 0..20 {
                    run(store.add_message("a:b", Role::User, &format!("{writer}.{n}"))).unwrap();
                }
            });
        }
    });
    let store = PicoConversations::open(folder.path());
    let all = texts(&store, "a:b");
    assert_eq!(all.len(), 80);
    for writer in 0..4 {
        let own: Vec<&String> =
            all.iter().filter(|text| text.starts_with(&format!("{writer}."))).collect();
        let expected: Vec<String> = (0..20).map(|n| format!("{writer}.{n}")).collect();
        assert_eq!(own, expected.iter().collect::<Vec<_>>());
    }
    let meta = std::fs::read_to_string(folder.path().join("a_b.meta.json")).unwrap();
    assert_eq!(Meta::parse(&meta).unwrap().count, 80);
}
