//! What PicoClaw's tests of its stores say (`memory/jsonl_test.go`, `session/jsonl_backend_test.go`).

use forkwood::conversation::{ConversationMessage, ConversationStore, is_transient_thought};
use forkwood::{Block, Content, Image, Json, Message, Role, Text, Timestamp};

use crate::common::*;

#[test]
fn a_message_comes_back_and_makes_its_conversation() {
    // [AddMessage_BasicRoundtrip, AutoCreatesSession, NewJSONLStore_CreatesDirectory]
    let place = Place::new();
    let store = &place.store;
    assert!(run(store.get_history("unknown")).unwrap().is_empty());
    assert!(run(store.list_sessions()).unwrap().is_empty());
    assert!(place.disk.files().is_empty(), "reading makes nothing");
    let id = run(store.add_message("k", Role::User, "Hello")).unwrap().unwrap();
    run(store.add_message("k", Role::Assistant, "Hi!")).unwrap();
    let history = run(store.get_history("k")).unwrap();
    let told: Vec<_> = history.iter().map(|one| (one.message.role.clone(), text_of(one))).collect();
    assert_eq!(told, [(Role::User, "Hello".to_owned()), (Role::Assistant, "Hi!".to_owned())]);
    let session = run(store.session("k")).unwrap();
    assert_eq!(run(session.get(&id)).unwrap().entry.message(), Some(&Message::user("Hello")));
    assert_eq!(run(store.list_sessions()).unwrap(), ["k"]);
}

#[test]
fn a_full_message_keeps_tool_calls_ids_and_model() {
    // [AddFullMessage_WithToolCalls, PreservesModelName, ToolCallID]
    let place = Place::new();
    let arguments = Json::parse(r#"{"path":"a<b","n":1e400}"#).unwrap();
    let call = Message::new(
        Role::Assistant,
        Content::Blocks(vec![
            Block::text("Looking."),
            Block::tool_call("call_1", "read_file", arguments),
        ]),
    )
    .by_model("gpt-5", None);
    let mut answer = Message::tool("call_1", "contents");
    answer.metadata = Some(Json::parse(r#"{"attachments":[{"ref":"media://1"}]}"#).unwrap());
    for message in [&call, &answer] {
        run(place.store.add_full_message("k", message.clone().into())).unwrap();
    }
    let history = run(place.again().get_history("k")).unwrap();
    let back: Vec<&Message> = history.iter().map(|one| &one.message).collect();
    assert_eq!(back, [&call, &answer]);
}

#[test]
fn large_images_come_back_whole() {
    let place = Place::new();
    let data = Text::from("QUJD".repeat(30_000).as_str());
    let source = forkwood::core::message::ImageSource::Inline(data);
    let image = Image { source, mime_type: "image/png".into(), extra: vec![] };
    let message = Message::new(Role::User, Content::Blocks(vec![Block::Image(image)]));
    run(place.store.add_full_message("k", message.clone().into())).unwrap();
    run(place.store.add_message("k", Role::User, "last")).unwrap();
    let history = run(place.store.get_history("k")).unwrap();
    assert_eq!(history[0].message, message);
    // It is kept beside the log, and so it is after the histories were replaced.
    run(place.store.set_history("k", history)).unwrap();
    assert_eq!(run(place.store.get_history("k")).unwrap()[0].message, message);
    let session = run(place.store.session("k")).unwrap();
    assert!(session.facts().end < 10_000);
}

#[test]
fn thoughts_without_words_are_not_kept() {
    // [AddFullMessage_DropsTransientAssistantThought, SetHistory_DropsTransientAssistantThought]
    let place = Place::new();
    let store = &place.store;
    assert_eq!(run(store.add_full_message("k", thought())).unwrap(), None);
    assert!(run(store.list_sessions()).unwrap().is_empty());
    let mut three = said(&["a", "b"]);
    three.insert(1, thought());
    run(store.set_history("k", three)).unwrap();
    assert_eq!(texts(store, "k"), ["a", "b"]);
    let session = run(store.session("k")).unwrap();
    let stored = run(session.entries()).unwrap();
    assert!(!stored.iter().any(|one| one.entry.message().is_some_and(is_transient_thought)));
}

#[test]
fn order_is_that_of_adding() {
    // [GetHistory_Ordering]
    let place = Place::new();
    let all: Vec<String> = (0..40).map(|n| n.to_string()).collect();
    all.iter().for_each(|text| say(&place.store, "k", text));
    assert_eq!(texts(&place.store, "k"), all);
}

#[test]
fn a_summary_is_set_replaced_cleared_and_never_shown() {
    // [SetSummary_GetSummary, Summary]
    let place = Place::new();
    let store = &place.store;
    assert_eq!(run(store.get_summary("k")).unwrap(), "");
    say(store, "k", "a");
    for summary in ["first", "second", " kept as it is\n", ""] {
        run(store.set_summary("k", summary)).unwrap();
        assert_eq!(run(store.get_summary("k")).unwrap(), summary);
        assert_eq!(texts(store, "k"), ["a"]);
    }
    let session = run(store.session("k")).unwrap();
    assert_eq!(run(session.context()).unwrap().messages(), [Message::user("a")]);
}

#[test]
fn the_last_are_kept() {
    // [TruncateHistory_KeepLast, KeepZero, KeepMoreThanExists]
    let place = Place::new();
    let store = &place.store;
    let ten = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    ten.iter().for_each(|text| say(store, "k", text));
    run(store.truncate_history("k", 12)).unwrap();
    assert_eq!(texts(store, "k"), ten);
    run(store.truncate_history("k", 4)).unwrap();
    assert_eq!(texts(store, "k"), ["g", "h", "i", "j"]);
    // A second one counts what is shown, not what is there.
    say(store, "k", "k");
    run(store.truncate_history("k", 2)).unwrap();
    assert_eq!(texts(store, "k"), ["j", "k"]);
    run(store.truncate_history("k", 0)).unwrap();
    assert!(texts(store, "k").is_empty());
    say(store, "k", "l");
    assert_eq!(texts(store, "k"), ["l"]);
    run(store.truncate_history("unknown", 0)).unwrap();
    assert_eq!(run(store.list_sessions()).unwrap(), ["k"]);
}

#[test]
fn thoughts_that_others_wrote_do_not_count_as_kept() {
    // [TruncateHistory_IgnoresTransientThoughtForKeepLast]
    let place = Place::new();
    let store = &place.store;
    say(store, "k", "a");
    say(store, "k", "b");
    let mut session = run(store.session("k")).unwrap();
    run(session.append(thought().message)).unwrap();
    say(store, "k", "c");
    say(store, "k", "d");
    assert_eq!(texts(store, "k"), ["a", "b", "c", "d"]);
    run(store.truncate_history("k", 2)).unwrap();
    assert_eq!(texts(store, "k"), ["c", "d"]);
    run(store.truncate_history("k", 1)).unwrap();
    assert_eq!(texts(store, "k"), ["d"]);
}

#[test]
fn a_history_is_replaced_whole_and_forgets_what_was_cut() {
    // [SetHistory_ReplacesAll, SetHistory_ResetsSkip, SetHistory]
    let place = Place::new();
    let store = &place.store;
    ["a", "b", "c"].iter().for_each(|text| say(store, "k", text));
    run(store.set_summary("k", "of before")).unwrap();
    run(store.truncate_history("k", 1)).unwrap();
    run(store.set_history("k", said(&["x", "y"]))).unwrap();
    assert_eq!(texts(store, "k"), ["x", "y"]);
    assert_eq!(run(store.get_summary("k")).unwrap(), "of before");
    say(store, "k", "z");
    assert_eq!(texts(store, "k"), ["x", "y", "z"]);
    run(store.set_history("k", Vec::new())).unwrap();
    assert!(texts(store, "k").is_empty());
    run(store.set_history("new", said(&["n"]))).unwrap();
    assert_eq!(texts(store, "new"), ["n"]);
}

#[test]
fn saving_changes_nothing_that_is_shown() {
    // [Compact_RemovesSkippedMessages, Compact_NoOpWhenNoSkip, Compact_ThenAppend, TruncateAndSave]
    let place = Place::new();
    let store = &place.store;
    let ten = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    ten.iter().for_each(|text| say(store, "k", text));
    run(store.save("k")).unwrap();
    assert_eq!(texts(store, "k"), ten);
    run(store.truncate_history("k", 3)).unwrap();
    run(store.save("k")).unwrap();
    assert_eq!(texts(store, "k"), ["h", "i", "j"]);
    say(store, "k", "new");
    assert_eq!(texts(&place.again(), "k"), ["h", "i", "j", "new"]);
    run(store.save("unknown")).unwrap();
    run(store.close()).unwrap();
}

#[test]
fn twenty_messages_are_summed_up() {
    // [SummarizeFlow]
    let place = Place::new();
    let store = &place.store;
    (0..20).for_each(|n| say(store, "k", &format!("msg {n}")));
    run(store.set_summary("k", "sixteen messages")).unwrap();
    run(store.truncate_history("k", 4)).unwrap();
    run(store.save("k")).unwrap();
    assert_eq!(texts(store, "k"), ["msg 16", "msg 17", "msg 18", "msg 19"]);
    let other = place.again();
    assert_eq!(run(other.get_summary("k")).unwrap(), "sixteen messages");
}

#[test]
fn another_store_sees_history_and_summary() {
    // [Persistence_AcrossInstances]
    let place = Place::new();
    say(&place.store, "k", "a");
    run(place.store.set_summary("k", "s")).unwrap();
    let other = place.again();
    assert_eq!(
        (texts(&other, "k"), run(other.get_summary("k")).unwrap()),
        (vec!["a".into()], "s".into())
    );
    say(&other, "k", "b");
    assert_eq!(texts(&place.store, "k"), ["a", "b"]);
}

#[test]
fn conversations_do_not_mix() {
    // [MultipleSessions_Isolation, SessionIsolation, ColonInKey]; in PicoClaw the last three share
    // one file.
    let place = Place::new();
    let store = &place.store;
    let keys =
        ["one", "telegram:123", "telegram/123", "telegram_123", "../../etc/passwd", "\u{e9}"];
    for key in keys {
        say(store, key, key);
    }
    for key in keys {
        assert_eq!(texts(store, key), [key]);
    }
    assert!(place.disk.files().iter().all(|path| path.starts_with(ROOT)));
    let mut listed = run(store.list_sessions()).unwrap();
    // In the order of PicoClaw's file names.
    assert_eq!(listed[0], "../../etc/passwd");
    listed.sort_unstable();
    let mut all = keys.map(str::to_owned).to_vec();
    all.sort_unstable();
    assert_eq!(listed, all);
}

#[test]
fn times_are_kept_and_set_where_there_is_none() {
    // [Store_SetsCreatedAtWhenNil, Store_PreservesExistingCreatedAt]
    let place = Place::new();
    let store = &place.store;
    let old = Some(Timestamp::from_millis(1_500_000_000_123));
    let dated = |at| ConversationMessage { created_at: at, ..Message::user("x").into() };
    run(store.add_message("k", Role::User, "x")).unwrap();
    place.clock.advance(1_000_000);
    run(store.add_full_message("k", dated(None))).unwrap();
    run(store.add_full_message("k", dated(old))).unwrap();
    let later = Timestamp::from_micros(START.as_micros() + 1_000_000);
    let times = |key: &str| -> Vec<_> {
        run(store.get_history(key)).unwrap().iter().map(|one| one.created_at).collect()
    };
    assert_eq!(times("k"), [Some(START), Some(later), old]);
    run(store.set_history("k", vec![dated(old), dated(None)])).unwrap();
    assert_eq!(times("k"), [old, Some(later)]);
}

#[test]
fn what_a_foreign_record_says_is_kept_beside_the_message() {
    let place = Place::new();
    let raw = Json::parse(r#"{"role":"user","content":"x","system_parts":[]}"#).unwrap();
    let foreign = Some(forkwood::core::entry::Foreign { format: "picoclaw".into(), raw });
    let message = ConversationMessage { foreign: foreign.clone(), ..Message::user("x").into() };
    run(place.store.add_full_message("k", message)).unwrap();
    assert_eq!(run(place.store.get_history("k")).unwrap()[0].foreign, foreign);
}

#[test]
fn half_a_line_at_the_end_is_read_around_and_swallows_nothing() {
    // [CrashRecovery_PartialLine]. PicoClaw glues the next message to the torn line and loses it.
    let place = Place::new();
    say(&place.store, "k", "a");
    let path = run(place.store.session("k")).unwrap().facts().path.clone().unwrap();
    let mut bytes = place.disk.bytes(&path).unwrap();
    bytes.extend_from_slice(br#"{"id":"torn","parentId":"#);
    place.disk.put(&path, &bytes);
    let other = place.again();
    assert_eq!(texts(&other, "k"), ["a"]);
    say(&other, "k", "b");
    assert_eq!(texts(&other, "k"), ["a", "b"]);
}

#[test]
fn a_blank_or_endless_key_is_refused() {
    let place = Place::new();
    let kind = |key: &str| run(place.store.add_message(key, Role::User, "x")).unwrap_err().kind();
    assert_eq!(kind(" \n").as_str(), "invalid");
    assert_eq!(kind(&"k".repeat(5000)).as_str(), "too_large");
    assert!(place.disk.files().is_empty());
    // Keys are trimmed.
    say(&place.store, " k ", "x");
    assert_eq!(texts(&place.store, "k"), ["x"]);
}

#[test]
fn many_at_once_all_arrive() {
    // [Concurrent_AddAndRead, Concurrent_SummarizeRace]
    let place = Place::new();
    let store = &place.store;
    std::thread::scope(|scope| {
        for thread in 0..10 {
            scope.spawn(move || {
                for n in 0..20 {
                    say(store, "k", &format!("{thread} {n}"));
                    let shown = run(store.get_history("k")).unwrap();
                    assert!(shown.iter().any(|one| text_of(one) == format!("{thread} {n}")));
                }
            });
        }
    });
    assert_eq!(texts(store, "k").len(), 200);
    std::thread::scope(|scope| {
        scope.spawn(|| (0..50).for_each(|n| say(store, "k", &format!("late {n}"))));
        scope.spawn(|| {
            for n in 0..20 {
                run(store.set_summary("k", &format!("summary {n}"))).unwrap();
                run(store.truncate_history("k", 4)).unwrap();
            }
        });
    });
    assert_eq!(run(store.get_summary("k")).unwrap(), "summary 19");
    let session = run(store.session("k")).unwrap();
    assert_eq!(run(session.full_history()).unwrap().len(), 250);
    assert_eq!(texts(store, "k").last().unwrap(), "late 49");
}
