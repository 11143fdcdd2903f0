//! Aliases: who a conversation is, and how it is found.

use std::path::Path;

use forkwood::conversation::key::{main_alias, main_key};
use forkwood::conversation::native::{ConversationRecord, session_id};
use forkwood::conversation::{ConversationStore, Identity};
use forkwood::{CreateOptions, Json, SessionStore};

use crate::common::*;

const LEGACY: &str = "agent:main:direct:7";

fn resolved(store: &dyn ConversationStore, key: &str) -> String {
    run(store.resolve_key(key)).unwrap()
}

fn aliases(names: &[&str]) -> Identity {
    Identity { scope: None, aliases: names.iter().map(|name| (*name).to_owned()).collect() }
}

#[test]
fn scope_and_aliases_are_kept_and_read_through_an_alias() {
    // [SessionMetaScopeAndAliasesPersist, ResolveAliasAndPersistMetadata, ResolveSessionKeyByAlias]
    let place = Place::new();
    let store = &place.store;
    let key = scope("7").key();
    let mut identity = identity("7");
    identity.aliases.extend([
        LEGACY.to_owned(),
        key.clone(),
        " ".to_owned(),
        "Legacy:Key".to_owned(),
    ]);
    let ensured = run(store.ensure_metadata(&key, &identity)).unwrap();
    assert_eq!((&ensured.key, &ensured.promoted_from), (&key, &None));
    let other = place.again();
    let meta = run(other.metadata(LEGACY)).unwrap().unwrap();
    let names = ["main", "direct:7", "telegram:direct:7", "telegram:default:direct:7"];
    let mut wanted: Vec<String> = names.iter().map(|name| format!("agent:main:{name}")).collect();
    wanted.push("Legacy:Key".to_owned());
    assert_eq!((meta.key, meta.scope, meta.aliases), (key.clone(), Some(scope("7")), wanted));
    assert_eq!((meta.agent.as_deref(), meta.created_at), (Some("main"), Some(START)));
    say(&other, LEGACY, "through the alias");
    assert_eq!(texts(store, &key), ["through the alias"]);
    assert_eq!(run(store.list_sessions()).unwrap(), std::slice::from_ref(&key));
    // Aliases are taken letter by letter.
    assert_eq!(resolved(store, "Legacy:Key"), key);
    assert_eq!(resolved(store, "legacy:key"), "legacy:key");
    assert_eq!(run(store.metadata("legacy:key")).unwrap(), None);
}

#[test]
fn what_steering_needs_is_there_by_key_and_alias() {
    // [ResolveAgentID_PrefersSessionScope, ResolveAgentID_FallsBackToLegacyKey]
    let place = Place::new();
    let store = &place.store;
    let mut identity = identity("7");
    identity.scope.as_mut().unwrap().agent_id = "Support".to_owned();
    let key = run(store.ensure_metadata("sk_v1_steered", &identity)).unwrap().key;
    let other = place.again();
    for name in [key.as_str(), LEGACY] {
        assert_eq!(run(other.scope(name)).unwrap(), identity.scope);
        assert_eq!(run(other.agent(name)).unwrap().as_deref(), Some("support"));
    }
    say(store, "agent:Ops:cron-1", "x");
    for name in ["agent:Ops:cron-1", "agent:ops:never-seen"] {
        assert_eq!(run(other.scope(name)).unwrap(), None);
        assert_eq!(run(other.agent(name)).unwrap().as_deref(), Some("ops"));
    }
    assert_eq!(run(other.agent("sk_v1_unknown")).unwrap(), None);
}

#[test]
fn scope_and_aliases_are_replaced_and_what_is_the_same_is_not_written() {
    let place = Place::new();
    let store = &place.store;
    run(store.ensure_metadata("k", &aliases(&["a:1", "a:2"]))).unwrap();
    say(store, "k", "x");
    let writes = place.disk.changes();
    run(store.ensure_metadata("k", &aliases(&["a:1", "a:2"]))).unwrap();
    run(place.again().ensure_metadata("k", &aliases(&["a:1", "a:2"]))).unwrap();
    assert_eq!(place.disk.changes(), writes);
    run(store.ensure_metadata("k", &aliases(&["a:2", "a:3"]))).unwrap();
    assert_eq!(["a:1", "a:2", "a:3"].map(|name| resolved(store, name)), ["a:1", "k", "k"]);
    // What others keep in the metadata stays, and so does the scope where none is given.
    let mut session = run(store.session("k")).unwrap();
    let record = ConversationRecord::of(&session.facts().info).unwrap();
    let pinned = Json::parse(r#"{"pinned":true}"#).unwrap();
    run(session.set_metadata(record.to_metadata(Some(&pinned)).unwrap())).unwrap();
    run(store.ensure_metadata("k", &identity("7"))).unwrap();
    run(store.ensure_metadata("k", &aliases(&["a:4"]))).unwrap();
    let info = run(store.session("k")).unwrap().facts().info.clone();
    let metadata = info.metadata.unwrap();
    assert!(
        metadata.get().starts_with(r#"{"pinned":true,"conversation":{"key":"k","#),
        "{metadata:?}"
    );
    assert_eq!(run(store.scope("k")).unwrap(), Some(scope("7")));
}

#[test]
fn an_alias_wins_over_a_conversation_of_that_name_but_a_plain_name_does_not_give_way() {
    // [ResolveSessionKeyByAlias_PrefersMetadataOverLegacyFile,
    // ResolveSessionKey_DirectHitSkipsCorruptMetadata]
    let place = Place::new();
    let store = &place.store;
    say(store, "legacy:key", "old");
    say(store, "plain", "old");
    say(store, "k", "new");
    run(store.ensure_metadata("k", &aliases(&["legacy:key", "plain"]))).unwrap();
    assert_eq!(texts(store, "legacy:key"), ["new"]);
    assert_eq!(texts(store, "plain"), ["old"]);
}

#[test]
fn of_several_that_claim_an_alias_the_first_by_file_name_counts() {
    let place = Place::new();
    let store = &place.store;
    for key in ["b", "a:x", "a", "c"] {
        say(store, key, key);
        run(store.ensure_metadata(key, &aliases(&["shared:alias"]))).unwrap();
    }
    // PicoClaw's file of a:x is a_x.
    assert_eq!(resolved(store, "shared:alias"), "a");
    run(store.ensure_metadata("a", &aliases(&[]))).unwrap();
    assert_eq!(resolved(&place.again(), "shared:alias"), "a:x");
    run(store.sessions().delete(session_id("a:x").unwrap().as_str())).unwrap();
    assert_eq!(resolved(store, "shared:alias"), "b");
}

#[test]
fn the_alias_of_a_main_session_is_never_a_chat() {
    // PicoClaw gives the first chat by file name: all of them list it.
    let place = Place::new();
    let store = &place.store;
    let key = scope("7").key();
    run(store.ensure_metadata(&key, &identity("7"))).unwrap();
    say(store, &key, "private");
    assert_eq!(resolved(store, &main_alias("main")), main_key("main"));
    assert!(texts(store, "agent:main:main").is_empty());
    say(store, "agent:main:main", "of the system");
    assert_eq!(texts(store, &main_key("main")), ["of the system"]);
    assert_eq!(resolved(store, "agent:support:main"), main_key("support"));
    // One that is there under the name itself goes on until the main session is there.
    let old = Place::new();
    let id = session_id("agent:main:main").unwrap();
    let record = ConversationRecord::new("agent:main:main").to_metadata(None).unwrap();
    let options =
        CreateOptions { id: Some(id), metadata: Some(record), ..CreateOptions::default() };
    run(old.store.sessions().create(options)).unwrap();
    assert_eq!(resolved(&old.store, "agent:main:main"), "agent:main:main");
    say(&old.store, &main_key("main"), "x");
    assert_eq!(resolved(&old.store, "agent:main:main"), main_key("main"));
}

#[test]
fn what_another_process_did_is_seen() {
    let place = Place::new();
    let (one, other) = (&place.store, place.again());
    for round in 0..3 {
        let (key, alias) = (format!("k{round}"), format!("alias:{round}"));
        assert_eq!(resolved(one, &alias), alias);
        run(other.ensure_metadata(&key, &aliases(&[&alias]))).unwrap();
        assert_eq!(resolved(one, &alias), key);
    }
    assert_eq!(run(one.list_sessions()).unwrap(), ["k0", "k1", "k2"]);
}

#[test]
fn sessions_that_came_by_other_ways_are_seen() {
    // As by an import, out of the trash, or copied into the folder.
    let place = Place::new();
    let store = &place.store;
    assert_eq!(resolved(store, "alias:1"), "alias:1");
    let mut record = ConversationRecord::new("agent:main:came");
    record.identify(None, vec!["alias:1".to_owned()]);
    let id = session_id(&record.key).unwrap();
    let metadata = Some(record.to_metadata(None).unwrap());
    let options = CreateOptions { id: Some(id.clone()), metadata, ..CreateOptions::default() };
    run(store.sessions().create(options)).unwrap();
    assert_eq!(resolved(store, "alias:1"), "agent:main:came");
    run(store.sessions().delete(id.as_str())).unwrap();
    assert_eq!(resolved(store, "alias:1"), "alias:1");
    assert!(run(store.list_sessions()).unwrap().is_empty());
    run(store.sessions().restore(id.as_str())).unwrap();
    assert_eq!(resolved(store, "alias:1"), "agent:main:came");
    assert_eq!(run(store.list_sessions()).unwrap(), ["agent:main:came"]);
}

#[test]
fn the_index_is_a_cache_that_may_be_lost_or_damaged() {
    let place = Place::new();
    for n in 0..20 {
        let alias = format!("alias:{n}");
        run(place.store.ensure_metadata(&format!("k{n}"), &aliases(&[&alias]))).unwrap();
    }
    let file = Path::new(ROOT).join("conversations/aliases.jsonl");
    let good = place.disk.bytes(&file).unwrap();
    let half = good[..good.len() / 2].to_vec();
    let zeroes = [half.clone(), vec![0; good.len() - half.len()]].concat();
    let lies = good.iter().map(|b| if *b == b'1' { b'2' } else { *b }).collect();
    for bytes in [Vec::new(), half, zeroes, lies, b"{\"key\":1}\n".to_vec(), vec![b'\n'; 9], good] {
        place.disk.put(&file, &bytes);
        for store in [&place.again(), &place.store] {
            for n in 0..20 {
                assert_eq!(resolved(store, &format!("alias:{n}")), format!("k{n}"), "{bytes:?}");
            }
            assert_eq!(run(store.list_sessions()).unwrap().len(), 20);
        }
    }
}

#[test]
fn the_index_does_not_grow_with_what_was_superseded() {
    let place = Place::new();
    say(&place.store, "k", "x");
    for n in 0..400 {
        run(place.store.ensure_metadata("k", &aliases(&[&format!("alias:{n}")]))).unwrap();
    }
    let file = Path::new(ROOT).join("conversations/aliases.jsonl");
    let lines = || {
        let bytes = place.disk.bytes(&file).unwrap();
        bytes.iter().filter(|byte| **byte == b'\n').count()
    };
    assert!(lines() < 300, "{}", lines());
    let other = place.again();
    assert_eq!(resolved(&other, "alias:399"), "k");
    assert_eq!(resolved(&other, "alias:398"), "alias:398");
    assert_eq!(resolved(&place.store, "alias:399"), "k");
}

#[test]
fn one_bad_session_hides_no_other() {
    // [ResolveSessionKey_SkipsCorruptMetadataDuringAliasScan]
    let place = Place::new();
    let bad = session_id("bad").unwrap();
    place.disk.put(&Path::new(ROOT).join(format!("sessions/{bad}.jsonl")), b"not JSON at all");
    run(place.store.ensure_metadata("k", &aliases(&["alias:1"]))).unwrap();
    assert_eq!(resolved(&place.again(), "alias:1"), "k");
    assert_eq!(run(place.store.list_sessions()).unwrap(), ["k"]);
    let error = run(place.store.get_history("bad")).unwrap_err();
    assert_eq!(error.kind().as_str(), "damaged");
    assert!(error.to_string().contains("forkwood check"), "{error}");
}

#[test]
fn a_session_that_says_nothing_of_the_key_is_not_taken() {
    let place = Place::new();
    let options = CreateOptions { id: Some(session_id("k").unwrap()), ..CreateOptions::default() };
    let sessions: &SessionStore = place.store.sessions();
    run(sessions.create(options)).unwrap();
    let error = run(place.store.add_message("k", forkwood::Role::User, "x")).unwrap_err();
    assert_eq!(error.kind().as_str(), "invalid");
    assert!(error.to_string().contains("move it away"), "{error}");
    // Sessions that are no conversations are none of ours.
    run(sessions.create(CreateOptions::default())).unwrap();
    assert!(run(place.store.list_sessions()).unwrap().is_empty());
}
