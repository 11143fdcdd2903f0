//! What PicoClaw's own tests ask of its stores and of its migration, asked of both of ours: the names
//! in brackets are theirs at `cf67dd3`. What is not here has its test beside the subject.

use std::path::Path;

use forkwood::conversation::{ConversationStore, Identity, SessionScope};
use forkwood::storage::disk::SimDisk;
use forkwood::{Message, Role};
use forkwood_formats::picoclaw::{JsonConversations, Meta, encode, migrate};
use pollster::block_on as run;

use crate::world::{FOLDER, file, options, said, store};

fn texts(store: &dyn ConversationStore, key: &str) -> Vec<String> {
    let history = run(store.get_history(key)).unwrap();
    history.iter().map(|one| one.message.content.text().to_string()).collect()
}

fn say(store: &dyn ConversationStore, key: &str, texts: &[&str]) {
    for text in texts {
        run(store.add_message(key, Role::User, text)).unwrap();
    }
}

/// Asks it of a store over PicoClaw's files and of one over JSON files. The store is opened anew by
/// the second function.
fn of_both(ask: impl Fn(&dyn Fn() -> Box<dyn ConversationStore>)) {
    let disk = SimDisk::new();
    ask(&|| Box::new(store(&disk)));
    let disk = SimDisk::new();
    ask(&|| Box::new(JsonConversations::open_with(Path::new(FOLDER), options(&disk))));
}

#[test]
fn messages() {
    // [AddMessage_BasicRoundtrip, AutoCreatesSession, GetHistory_EmptySession, GetHistory_Ordering,
    // MultipleSessions_Isolation, Persistence_AcrossInstances]
    of_both(|open| {
        let store = open();
        assert!(texts(&*store, "s1").is_empty());
        run(store.add_message("s1", Role::User, "hello")).unwrap();
        run(store.add_message("s1", Role::Assistant, "hi")).unwrap();
        say(&*store, "s2", &["other"]);
        run(store.set_summary("s1", "sum")).unwrap();
        let again = open();
        assert_eq!(texts(&*again, "s1"), ["hello", "hi"]);
        let history = run(again.get_history("s1")).unwrap();
        assert_eq!(history[1].message.role, Role::Assistant);
        assert_eq!(texts(&*again, "s2"), ["other"]);
        assert_eq!(run(again.get_summary("s1")).unwrap(), "sum");
        assert_eq!(run(again.get_summary("s2")).unwrap(), "");
    });
}

#[test]
fn full_messages() {
    // [AddFullMessage_WithToolCalls, PreservesModelName, ToolCallID, Store_SetsCreatedAtWhenNil,
    // Store_PreservesExistingCreatedAt]
    let calls = r#"{"role":"assistant","content":"","model_name":"m","created_at":"2026-01-01T00:00:00Z","tool_calls":[{"id":"c1","type":"function","function":{"name":"web","arguments":"{\"q\":1}"}}]}"#;
    let result =
        r#"{"role":"tool","content":"r","created_at":"2026-01-01T00:00:01Z","tool_call_id":"c1"}"#;
    of_both(|open| {
        let store = open();
        for line in [calls, result] {
            run(store.add_full_message("k", said(line))).unwrap();
        }
        run(store.add_message("k", Role::User, "now")).unwrap();
        let history = run(open().get_history("k")).unwrap();
        assert_eq!(encode(&history[0]).unwrap(), calls);
        assert_eq!(encode(&history[1]).unwrap(), result);
        assert!(history[2].created_at.is_some());
        let new = vec![Message::user("x").into(), said(result)];
        run(store.set_history("k", new)).unwrap();
        let history = run(open().get_history("k")).unwrap();
        assert!(history[0].created_at.is_some());
        assert_eq!(encode(&history[1]).unwrap(), result);
    });
}

#[test]
fn thoughts() {
    // [AddFullMessage_DropsTransientAssistantThought, SetHistory_DropsTransientAssistantThought]
    let thought = || said(r#"{"role":"assistant","content":"","reasoning_content":"hm"}"#);
    of_both(|open| {
        let store = open();
        assert_eq!(run(store.add_full_message("k", thought())).unwrap(), None);
        assert!(texts(&*open(), "k").is_empty());
        let three = vec![Message::user("a").into(), thought(), Message::user("b").into()];
        run(store.set_history("k", three)).unwrap();
        assert_eq!(texts(&*open(), "k"), ["a", "b"]);
    });
    let disk = SimDisk::new();
    let three = vec![Message::user("a").into(), thought(), Message::user("b").into()];
    run(store(&disk).set_history("k", three)).unwrap();
    assert_eq!(file(&disk, "k.jsonl").unwrap().lines().count(), 2);
}

#[test]
fn truncating_and_replacing() {
    // [TruncateHistory_KeepLast, KeepZero, KeepMoreThanExists, SetHistory_ReplacesAll,
    // SetHistory_ResetsSkip, SetSummary_GetSummary, TruncateAndSave]
    of_both(|open| {
        let store = open();
        let ten = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        say(&*store, "ten", &ten);
        run(store.truncate_history("ten", 4)).unwrap();
        assert_eq!(texts(&*open(), "ten"), ["g", "h", "i", "j"]);
        run(store.save("ten")).unwrap();
        assert_eq!(texts(&*open(), "ten"), ["g", "h", "i", "j"]);
        say(&*store, "ten", &["k"]);
        assert_eq!(texts(&*open(), "ten"), ["g", "h", "i", "j", "k"]);
        say(&*store, "three", &["a", "b", "c"]);
        run(store.truncate_history("three", 9)).unwrap();
        assert_eq!(texts(&*open(), "three"), ["a", "b", "c"]);
        run(store.truncate_history("three", 0)).unwrap();
        assert!(texts(&*open(), "three").is_empty());
        run(store.set_history("three", vec![Message::user("new").into()])).unwrap();
        assert_eq!(texts(&*open(), "three"), ["new"]);
        for summary in ["", "first", "second", ""] {
            run(store.set_summary("three", summary)).unwrap();
            assert_eq!(run(open().get_summary("three")).unwrap(), summary);
        }
    });
}

#[test]
fn compacting() {
    // [Compact_RemovesSkippedMessages, Compact_NoOpWhenNoSkip, Compact_ThenAppend]
    let disk = SimDisk::new();
    let store = store(&disk);
    say(&store, "k", &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    let whole = file(&disk, "k.jsonl");
    run(store.save("k")).unwrap();
    assert_eq!(file(&disk, "k.jsonl"), whole);
    run(store.truncate_history("k", 3)).unwrap();
    assert_eq!(file(&disk, "k.jsonl"), whole);
    run(store.save("k")).unwrap();
    assert_eq!(file(&disk, "k.jsonl").unwrap().lines().count(), 3);
    say(&store, "k", &["new"]);
    assert_eq!(texts(&store, "k"), ["7", "8", "9", "new"]);
}

#[test]
fn twenty_messages_are_summed_up() {
    // [SummarizeFlow]
    of_both(|open| {
        let store = open();
        (0..20).for_each(|n| say(&*store, "k", &[&format!("msg {n}")]));
        run(store.set_summary("k", "sum")).unwrap();
        run(store.truncate_history("k", 4)).unwrap();
        run(store.save("k")).unwrap();
        assert_eq!(texts(&*open(), "k"), ["msg 16", "msg 17", "msg 18", "msg 19"]);
        assert_eq!(run(open().get_summary("k")).unwrap(), "sum");
    });
}

#[test]
fn a_count_that_is_behind_does_not_matter() {
    // [TruncateHistory_StaleMetaCount]: a crash between the line and the meta file.
    let disk = SimDisk::new();
    let store = store(&disk);
    say(&store, "k", &["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]);
    let path = Path::new(FOLDER).join("k.jsonl");
    let mut bytes = disk.bytes(&path).unwrap();
    bytes.extend_from_slice(b"{\"role\":\"user\",\"content\":\"orphan\"}\n");
    disk.put(&path, &bytes);
    assert_eq!(Meta::parse(&file(&disk, "k.meta.json").unwrap()).unwrap().count, 10);
    run(store.truncate_history("k", 4)).unwrap();
    assert_eq!(texts(&store, "k"), ["h", "i", "j", "orphan"]);
    assert_eq!(Meta::parse(&file(&disk, "k.meta.json").unwrap()).unwrap().count, 11);
}

fn identity(aliases: &[&str]) -> Identity {
    let scope = SessionScope {
        version: 1,
        agent_id: "Support".to_owned(),
        channel: "telegram".to_owned(),
        account: "default".to_owned(),
        dimensions: vec!["chat".to_owned()],
        values: [("chat".to_owned(), "direct:7".to_owned())].into(),
    };
    Identity { scope: Some(scope), aliases: aliases.iter().map(|&alias| alias.into()).collect() }
}

#[test]
fn names() {
    // [SessionMetaScopeAndAliasesPersist, ResolveSessionKeyByAlias, ResolveAliasAndPersistMetadata,
    // ResolveAgentID_PrefersSessionScope, ResolveAgentID_FallsBackToLegacyKey]
    of_both(|open| {
        let store = open();
        let given = identity(&["legacy:key", "sk_v1_a", "legacy:key", " ", "other:key"]);
        assert_eq!(run(store.ensure_metadata("sk_v1_a", &given)).unwrap().key, "sk_v1_a");
        let meta = run(open().metadata("legacy:key")).unwrap().unwrap();
        assert_eq!(meta.aliases, ["legacy:key", "other:key"]);
        assert_eq!(meta.scope, given.scope);
        say(&*store, "legacy:key", &["through"]);
        assert_eq!(texts(&*open(), "sk_v1_a"), ["through"]);
        assert_eq!(run(open().resolve_key("other:key")).unwrap(), "sk_v1_a");
        assert_eq!(run(open().scope("other:key")).unwrap(), given.scope);
        assert_eq!(run(open().agent("legacy:key")).unwrap().as_deref(), Some("support"));
        assert_eq!(run(open().agent("agent:Ops:x:y")).unwrap().as_deref(), Some("ops"));
        // Known to nobody, it stays what it is; case counts.
        assert_eq!(run(open().resolve_key(" Legacy:key ")).unwrap(), "Legacy:key");
        // Scope and aliases are replaced as a whole.
        run(store.ensure_metadata("sk_v1_a", &Identity::default())).unwrap();
        let meta = run(open().metadata("sk_v1_a")).unwrap().unwrap();
        assert!(meta.aliases.is_empty() && meta.scope.is_none());
    });
}

#[test]
fn which_name_wins() {
    // [ResolveSessionKeyByAlias_PrefersMetadataOverLegacyFile]
    of_both(|open| {
        let store = open();
        say(&*store, "legacy:key", &["old"]);
        say(&*store, "sk_v1_a", &["new"]);
        run(store.ensure_metadata("sk_v1_a", &identity(&["legacy:key", "plain"]))).unwrap();
        assert_eq!(run(open().resolve_key("legacy:key")).unwrap(), "sk_v1_a");
        // A key without `:`, `/` or `\` is taken at its word where it is there, and only then.
        assert_eq!(run(open().resolve_key("plain")).unwrap(), "sk_v1_a");
        let other = open();
        say(&*other, "sk_v1_b", &["x"]);
        assert_eq!(run(open().resolve_key("sk_v1_b")).unwrap(), "sk_v1_b");
    });
    let disk = SimDisk::new();
    let store = store(&disk);
    run(store.ensure_metadata("sk_v1_a", &identity(&["plain"]))).unwrap();
    disk.put(&Path::new(FOLDER).join("plain.jsonl"), b"{\"role\":\"user\",\"content\":\"x\"}\n");
    assert_eq!(run(store.resolve_key("plain")).unwrap(), "plain");
    // Of several that list an alias, the first by the name of its file.
    for key in ["sk_v1_z", "sk_v1_m"] {
        run(store.ensure_metadata(key, &identity(&["two:of"]))).unwrap();
    }
    assert_eq!(run(store.resolve_key("two:of")).unwrap(), "sk_v1_m");
}

#[test]
fn the_name_of_a_main_session_leads_to_it_once_it_is_there() {
    // PicoClaw gives the first chat that lists it.
    of_both(|open| {
        let store = open();
        let main = forkwood::conversation::key::main_key("support");
        run(store.ensure_metadata("sk_v1_a", &identity(&["agent:support:main"]))).unwrap();
        say(&*store, "sk_v1_a", &["private"]);
        assert_eq!(run(open().resolve_key("agent:support:main")).unwrap(), "agent:support:main");
        assert!(texts(&*open(), "agent:support:main").is_empty());
        say(&*store, &main, &["of the system"]);
        assert_eq!(run(open().resolve_key("agent:support:main")).unwrap(), main);
        assert_eq!(texts(&*open(), "agent:support:main"), ["of the system"]);
    });
}

#[test]
fn a_damaged_meta_file_hides_no_other() {
    // [ResolveSessionKey_DirectHitSkipsCorruptMetadata,
    // ResolveSessionKey_SkipsCorruptMetadataDuringAliasScan]
    let disk = SimDisk::new();
    let store = store(&disk);
    run(store.ensure_metadata("sk_v1_a", &identity(&["legacy:key"]))).unwrap();
    disk.put(&Path::new(FOLDER).join("broken.meta.json"), b"{nope");
    for (query, found) in [("legacy:key", "sk_v1_a"), ("sk_v1_a", "sk_v1_a"), ("broken", "broken")]
    {
        assert_eq!(run(store.resolve_key(query)).unwrap(), found);
    }
    assert_eq!(run(store.list_sessions()).unwrap(), ["sk_v1_a"]);
}

#[test]
fn promoting() {
    // [EnsureSessionMetadata_PromotesLegacyAliasHistory, PromotesLegacyPicoDirectAliasHistory,
    // DoesNotOverwriteNonEmptyCanonicalHistory]
    for old in ["agent:main:telegram:direct:7", "agent:main:pico:direct:pico:session-1"] {
        of_both(|open| {
            let store = open();
            say(&*store, old, &["one", "two"]);
            run(store.set_summary(old, "sum")).unwrap();
            say(&*store, "agent:main:main", &["main"]);
            let given = identity(&["agent:main:main", "agent:main:direct:7", old]);
            let done = run(store.ensure_metadata("sk_v1_a", &given)).unwrap();
            assert_eq!(done.promoted_from.as_deref(), Some(old));
            assert_eq!(texts(&*open(), "sk_v1_a"), ["one", "two"]);
            assert_eq!(run(open().get_summary("sk_v1_a")).unwrap(), "sum");
            say(&*store, "sk_v1_b", &["mine"]);
            let done = run(store.ensure_metadata("sk_v1_b", &given)).unwrap();
            assert_eq!(done.promoted_from, None);
            assert_eq!(texts(&*open(), "sk_v1_b"), ["mine"]);
        });
    }
}

#[test]
fn promotions_that_cross_come_to_an_end() {
    // In PicoClaw two that need each other's locks wait for ever.
    let folder = tempfile::tempdir().unwrap();
    for json in [false, true] {
        let open = || -> Box<dyn ConversationStore> {
            let path = folder.path().join(if json { "json" } else { "lines" });
            match json {
                true => Box::new(JsonConversations::open(&path)),
                false => Box::new(forkwood_formats::picoclaw::PicoConversations::open(&path)),
            }
        };
        for n in 0..10 {
            say(&*open(), &format!("old:{n}"), &["x"]);
        }
        std::thread::scope(|threads| {
            for turned in [false, true] {
                let open = &open;
                threads.spawn(move || {
                    for n in 0..10 {
                        let (a, b) = (format!("sk_v1_a{n}"), format!("sk_v1_b{n}"));
                        let (key, alias) = if turned { (b, a) } else { (a, b) };
                        let aliases = [alias.as_str(), &format!("old:{n}")].map(String::from);
                        let given = Identity { scope: None, aliases: aliases.to_vec() };
                        run(open().ensure_metadata(&key, &given)).unwrap();
                    }
                });
            }
        });
        for n in 0..10 {
            let found = texts(&*open(), &format!("old:{n}"));
            assert_eq!(found, ["x"], "{n}");
        }
    }
}

#[test]
fn many_at_once() {
    // [Concurrent_AddAndRead, Concurrent_SummarizeRace]
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|threads| {
        for writer in 0..6 {
            let path = folder.path();
            threads.spawn(move || {
                let store = forkwood_formats::picoclaw::PicoConversations::open(path);
                for n in 0..10 {
                    match writer {
                        0 => {
                            run(store.set_summary("sum", &format!("s{n}"))).unwrap();
                            run(store.truncate_history("sum", 3)).unwrap();
                            run(store.save("sum")).unwrap();
                        }
                        1 => drop(run(store.get_history("all")).unwrap()),
                        _ => {
                            say(&store, "all", &["x"]);
                            say(&store, "sum", &["x"]);
                        }
                    }
                }
            });
        }
    });
    let store = forkwood_formats::picoclaw::PicoConversations::open(folder.path());
    assert_eq!(texts(&store, "all").len(), 40);
    // What was cut is in the archive: nothing of what was acknowledged is gone.
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    let kept = read("sum.jsonl").lines().count();
    assert_eq!(kept + read(".sum.jsonl.forkwood-archive").lines().count(), 40);
}

fn older(key: &str, messages: &str) -> String {
    let at = "2026-01-01T00:00:00Z";
    format!(
        r#"{{"key":"{key}","messages":[{messages}],"summary":"sum","created":"{at}","updated":"{at}"}}"#
    )
}

#[test]
fn migrating() {
    // [Basic, WithToolCalls, MultipleFiles, ColonInKey, SkipsMetaJSONFiles, RetryAfterCrash,
    // Idempotent, RenamesFiles]
    let disk = SimDisk::new();
    let put = |name: &str, text: &str| disk.put(&Path::new(FOLDER).join(name), text.as_bytes());
    let call = r#"{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"web","arguments":"{}"}}]},{"role":"tool","content":"r","tool_call_id":"c1"}"#;
    let two = r#"{"role":"user","content":"a"},{"role":"assistant","content":"b"}"#;
    put("calls.json", &older("calls", call));
    put("telegram_123.json", &older("telegram:123", two));
    put("plain.json", &older("plain", two));
    let store = store(&disk);
    say(&store, "newer", &["x"]);
    run(store.set_summary("newer", "kept")).unwrap();
    let meta = file(&disk, "newer.meta.json");
    assert_eq!(migrate(store.folder()).unwrap().migrated.len(), 3);
    assert_eq!(file(&disk, "newer.meta.json"), meta);
    assert_eq!(texts(&store, "newer"), ["x"]);
    for key in ["telegram:123", "plain"] {
        assert_eq!(texts(&store, key), ["a", "b"]);
        assert_eq!(run(store.get_summary(key)).unwrap(), "sum");
    }
    assert!(file(&disk, "telegram_123.jsonl").is_some());
    let history = run(store.get_history("calls")).unwrap();
    assert!(encode(&history[0]).unwrap().contains(r#""name":"web""#));
    assert!(encode(&history[1]).unwrap().contains(r#""tool_call_id":"c1""#));
    assert_eq!(migrate(store.folder()).unwrap().migrated.len(), 0);
    // As after a crash that came before the rename.
    put("plain.json", &older("plain", two));
    assert_eq!(migrate(store.folder()).unwrap().migrated.len(), 1);
    assert_eq!(texts(&store, "plain"), ["a", "b"]);
    assert_eq!(file(&disk, "plain.json"), None);
}
