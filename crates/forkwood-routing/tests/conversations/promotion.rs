//! The history of an older name, taken over once.

use forkwood::conversation::key::{main_alias, main_key};
use forkwood::conversation::native::{ConversationRecord, session_id};
use forkwood::conversation::{ConversationStore, Identity};
use forkwood::{Block, Content, Json, Message, Role};

use crate::common::*;

const LEGACY: &str = "agent:main:direct:7";

fn aliases(names: &[&str]) -> Identity {
    Identity { scope: None, aliases: names.iter().map(|name| (*name).to_owned()).collect() }
}

fn promote(store: &dyn ConversationStore) -> (String, Option<String>) {
    let ensured = run(store.ensure_metadata(&scope("7").key(), &identity("7"))).unwrap();
    (ensured.key, ensured.promoted_from)
}

#[test]
fn history_and_summary_of_an_older_name_are_taken_over() {
    // [EnsureSessionMetadata_PromotesLegacyAliasHistory]
    let place = Place::new();
    let store = &place.store;
    say(store, LEGACY, "a");
    let arguments = Json::parse(r#"{"q":1}"#).unwrap();
    let call = Message::new(
        Role::Assistant,
        Content::Blocks(vec![Block::tool_call("c1", "look", arguments)]),
    );
    run(store.add_full_message(LEGACY, call.clone().into())).unwrap();
    run(store.set_summary(LEGACY, " of before \n")).unwrap();
    place.clock.advance(5_000_000);
    let (key, from) = promote(store);
    assert_eq!(from.as_deref(), Some(LEGACY));
    let other = place.again();
    let history = run(other.get_history(&key)).unwrap();
    assert_eq!(
        history.iter().map(|one| &one.message).collect::<Vec<_>>(),
        [&Message::user("a"), &call]
    );
    // The times are those of then.
    assert!(history.iter().all(|one| one.created_at == Some(START)));
    assert_eq!(run(other.get_summary(&key)).unwrap(), "of before");
    let meta = run(other.metadata(&key)).unwrap().unwrap();
    assert_eq!(meta.promoted_from.as_deref(), Some(LEGACY));
    // The old name leads there, and the old conversation stays as it was.
    assert_eq!(run(other.resolve_key(LEGACY)).unwrap(), key);
    let source = run(store.sessions().open(session_id(LEGACY).unwrap().as_str())).unwrap();
    assert_eq!(run(source.context()).unwrap().messages().len(), 2);
    // The second time there is nothing to do.
    let changes = place.disk.changes();
    assert_eq!(promote(&other), (key, None));
    assert_eq!(place.disk.changes(), changes);
}

#[test]
fn picos_older_chats_are_taken_over_too() {
    // [EnsureSessionMetadata_PromotesLegacyPicoDirectAliasHistory]
    let place = Place::new();
    let alias = "agent:main:pico:direct:pico:session-123";
    say(&place.store, alias, "a");
    let ensured = run(place.store.ensure_metadata("sk_v1_pico", &aliases(&[alias]))).unwrap();
    assert_eq!(ensured.promoted_from.as_deref(), Some(alias));
    assert_eq!(texts(&place.store, "sk_v1_pico"), ["a"]);
}

#[test]
fn a_conversation_that_is_there_is_never_overwritten() {
    // [EnsureSessionMetadata_DoesNotOverwriteNonEmptyCanonicalHistory]
    for fill in 0..2 {
        let place = Place::new();
        let store = &place.store;
        let key = scope("7").key();
        say(store, LEGACY, "old");
        match fill {
            0 => say(store, &key, "new"),
            _ => run(store.set_summary(&key, "new")).unwrap(),
        }
        let before = (texts(store, &key), run(store.get_summary(&key)).unwrap());
        assert_eq!(promote(store), (key.clone(), None));
        assert_eq!((texts(store, &key), run(store.get_summary(&key)).unwrap()), before);
        let source = run(store.sessions().open(session_id(LEGACY).unwrap().as_str())).unwrap();
        assert_eq!(run(source.context()).unwrap().messages(), [Message::user("old")]);
    }
}

#[test]
fn the_first_alias_that_has_something_counts_and_empty_ones_are_passed_over() {
    let place = Place::new();
    let store = &place.store;
    say(store, "a:emptied", "x");
    run(store.set_history("a:emptied", Vec::new())).unwrap();
    run(store.set_summary("a:summed", "only a summary")).unwrap();
    say(store, "a:full", "y");
    let names = aliases(&["a:none", "a:emptied", "a:summed", "a:full"]);
    let ensured = run(store.ensure_metadata("k", &names)).unwrap();
    assert_eq!(ensured.promoted_from.as_deref(), Some("a:summed"));
    assert!(texts(store, "k").is_empty());
    assert_eq!(run(store.get_summary("k")).unwrap(), "only a summary");
}

#[test]
fn main_sessions_are_nobodys_history() {
    let place = Place::new();
    let store = &place.store;
    say(store, &main_key("main"), "of the system");
    say(store, &main_key("support"), "of the system");
    let record = ConversationRecord::new("agent:old:main").to_metadata(None).unwrap();
    let options = forkwood::CreateOptions {
        id: Some(session_id("agent:old:main").unwrap()),
        metadata: Some(record),
        ..Default::default()
    };
    let mut old = run(store.sessions().create(options)).unwrap();
    run(old.append(Message::user("of the system"))).unwrap();
    let mut identity = identity("7");
    identity.scope.as_mut().unwrap().agent_id = "support".to_owned();
    let (main, support) = (main_key("main"), main_key("support"));
    identity.aliases = [&main_alias("main"), &main, &support, "agent:old:main"]
        .map(|name| (*name).to_owned())
        .to_vec();
    let ensured = run(store.ensure_metadata("k", &identity)).unwrap();
    assert_eq!(ensured.promoted_from, None);
    assert!(texts(store, "k").is_empty());
}

#[test]
fn a_cleared_history_does_not_come_back() {
    // PicoClaw promotes again: the conversation is empty and the old one still there.
    let place = Place::new();
    let store = &place.store;
    say(store, LEGACY, "old");
    let (key, _) = promote(store);
    run(store.set_history(&key, Vec::new())).unwrap();
    assert_eq!(promote(store), (key.clone(), None));
    assert!(texts(store, &key).is_empty());
    // Nor where nothing was promoted before it was cleared.
    say(store, "b:old", "old");
    say(store, "b", "x");
    run(store.set_history("b", Vec::new())).unwrap();
    let ensured = run(store.ensure_metadata("b", &aliases(&["b:old"]))).unwrap();
    assert_eq!((ensured.promoted_from, texts(store, "b")), (None, Vec::new()));
    // Nor where a rewind led back to the start.
    let mut session = run(store.session("b")).unwrap();
    let root = run(session.heads()).unwrap()[0].id.clone();
    run(session.rewind(&root)).unwrap();
    let ensured = run(store.ensure_metadata("b", &aliases(&["b:old"]))).unwrap();
    assert_eq!((ensured.promoted_from, texts(store, "b")), (None, Vec::new()));
}

#[test]
fn a_history_is_taken_over_by_one_alone() {
    // In PicoClaw every session that shares the alias gets a copy, each run of a cron job too.
    let place = Place::new();
    let store = &place.store;
    say(store, "a:old", "old");
    let first = run(store.ensure_metadata("one", &aliases(&["a:old"]))).unwrap();
    assert_eq!(first.promoted_from.as_deref(), Some("a:old"));
    let second = run(store.ensure_metadata("two", &aliases(&["a:old"]))).unwrap();
    assert_eq!(second.promoted_from, None);
    assert!(texts(store, "two").is_empty());
    // What was deleted stays so.
    run(store.sessions().delete(session_id("one").unwrap().as_str())).unwrap();
    let again = run(store.ensure_metadata("one", &aliases(&["a:old"]))).unwrap();
    assert_eq!((again.promoted_from, texts(store, "one")), (None, Vec::new()));
}

#[test]
fn a_conversation_that_was_made_but_never_used_takes_over_too() {
    let place = Place::new();
    let store = &place.store;
    let key = scope("7").key();
    run(store.session(&key)).unwrap();
    run(store.ensure_metadata(&key, &Identity { scope: Some(scope("7")), aliases: vec![] }))
        .unwrap();
    // In the order of things the old name is used meanwhile.
    say(store, LEGACY, "a");
    say(store, LEGACY, "b");
    assert_eq!(promote(store).1.as_deref(), Some(LEGACY));
    assert_eq!(texts(store, &key), ["a", "b"]);
}

#[test]
fn what_is_cut_off_in_the_old_one_stays_there() {
    let place = Place::new();
    let store = &place.store;
    ["a", "b", "c"].iter().for_each(|text| say(store, LEGACY, text));
    run(store.truncate_history(LEGACY, 1)).unwrap();
    let (key, _) = promote(store);
    assert_eq!(texts(store, &key), ["c"]);
    let source = run(store.sessions().open(session_id(LEGACY).unwrap().as_str())).unwrap();
    assert_eq!(run(source.full_history()).unwrap().len(), 3);
}

#[test]
fn first_messages_at_once_promote_once_and_lose_nothing() {
    for _ in 0..8 {
        let place = Place::new();
        ["a", "b"].iter().for_each(|text| say(&place.store, LEGACY, text));
        let key = scope("7").key();
        let stores: Vec<_> = (0..4).map(|_| place.again()).collect();
        let promoted: Vec<Option<String>> = std::thread::scope(|scope| {
            let turns: Vec<_> = stores
                .iter()
                .enumerate()
                .map(|(n, store)| {
                    scope.spawn(move || {
                        let (key, promoted) = promote(store);
                        say(store, &key, &format!("turn {n}"));
                        promoted
                    })
                })
                .collect();
            turns.into_iter().map(|turn| turn.join().unwrap()).collect()
        });
        assert_eq!(promoted.iter().flatten().count(), 1, "{promoted:?}");
        let mut shown = texts(&place.store, &key);
        assert_eq!(shown[..2], ["a", "b"]);
        shown[2..].sort();
        assert_eq!(shown[2..], ["turn 0", "turn 1", "turn 2", "turn 3"]);
    }
}

#[test]
fn who_goes_on_under_the_old_name_meanwhile_is_heard_in_the_new_one() {
    for _ in 0..8 {
        let place = Place::new();
        say(&place.store, LEGACY, "0");
        let (writer, other) = (place.again(), place.again());
        std::thread::scope(|scope| {
            scope.spawn(|| (1..40).for_each(|n| say(&writer, LEGACY, &n.to_string())));
            scope.spawn(|| promote(&other));
        });
        let key = scope("7").key();
        let shown = texts(&place.store, &key);
        let mut numbers: Vec<u32> = shown.iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(numbers.len(), 40, "{shown:?}");
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq(0..40), "{shown:?}");
    }
}

#[test]
fn two_conversations_that_share_aliases_never_wait_for_each_other() {
    // PicoClaw locks pairs in the order of the keys and not of the locks, and hangs for good.
    let place = Place::new();
    let names: Vec<String> = (0..12).map(|n| format!("a:{n}")).collect();
    names.iter().for_each(|name| say(&place.store, name, name));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = place.again();
            let mut names = names.clone();
            if thread % 2 == 1 {
                names.reverse();
            }
            scope.spawn(move || {
                for n in 0..3 {
                    let identity = Identity { scope: None, aliases: names.clone() };
                    let key = format!("k{thread}-{n}");
                    run(store.ensure_metadata(&key, &identity)).unwrap();
                }
            });
        }
    });
    // Each took another one.
    let keys = run(place.store.list_sessions()).unwrap();
    let mut taken: Vec<String> = keys
        .iter()
        .filter(|key| key.starts_with('k'))
        .flat_map(|key| texts(&place.store, key))
        .collect();
    taken.sort_by_key(|name| name[2..].parse::<u32>().unwrap());
    assert_eq!(taken, names);
}
