//! Every change is an entry: nothing is destroyed, and every earlier state can be reached.

use forkwood::conversation::ConversationStore;
use forkwood::{Body, Compaction, Message, Session, Text};

use crate::common::*;

fn session(place: &Place) -> Session {
    run(place.store.session("k")).unwrap()
}

/// What is shown at an entry.
fn at(session: &Session, entry: &forkwood::EntryId) -> Vec<String> {
    let context = run(session.context_at(entry)).unwrap();
    let text = |one: &Message| one.content.text().to_string_lossy().into_owned();
    context.messages().iter().map(text).collect()
}

#[test]
fn a_truncation_is_a_compaction_with_an_empty_summary() {
    let place = Place::new();
    let store = &place.store;
    ["a", "b", "c"].iter().for_each(|text| say(store, "k", text));
    run(store.truncate_history("k", 2)).unwrap();
    let session = session(&place);
    let compaction = run(session.latest_compaction()).unwrap().unwrap().entry;
    let Body::Compaction(Compaction { summary, first_kept_entry_id, .. }) = &compaction.body else {
        panic!("{compaction:?}");
    };
    assert_eq!(*summary, Text::from(""));
    let kept = run(session.get(first_kept_entry_id.as_ref().unwrap())).unwrap();
    assert_eq!(kept.entry.message(), Some(&Message::user("b")));
    assert!(run(session.check()).unwrap().is_empty());
}

#[test]
fn every_earlier_state_can_be_reached() {
    let place = Place::new();
    let store = &place.store;
    let mut states = Vec::new();
    let mut keep = |summary: &str| {
        let session = run(store.session("k")).unwrap();
        states.push((session.leaf().unwrap().clone(), texts(store, "k"), summary.to_owned()));
    };
    ["a", "b", "c", "d"].iter().for_each(|text| say(store, "k", text));
    keep("");
    run(store.set_summary("k", "one")).unwrap();
    run(store.truncate_history("k", 2)).unwrap();
    keep("one");
    run(store.set_history("k", said(&["x", "y", "z"]))).unwrap();
    keep("one");
    run(store.set_summary("k", "two")).unwrap();
    run(store.truncate_history("k", 1)).unwrap();
    run(store.save("k")).unwrap();
    keep("two");
    run(store.set_history("k", Vec::new())).unwrap();
    keep("two");
    for (leaf, shown, summary) in states {
        assert_eq!(at(&session(&place), &leaf), shown);
        // Rewound there, the conversation is what it was, its summary too.
        run(session(&place).rewind_past_compaction(&leaf)).unwrap();
        assert_eq!(texts(store, "k"), shown);
        assert_eq!(run(store.get_summary("k")).unwrap(), summary);
    }
}

#[test]
fn a_new_history_is_a_branch_from_the_root_with_the_old_settings() {
    let place = Place::new();
    let store = &place.store;
    say(store, "k", "a");
    let mut other = session(&place);
    run(other.append(Body::ThinkingLevelChange { thinking_level: "high".into() })).unwrap();
    run(other.append(Message::assistant("b").by_model("m1", Some("p1".into())))).unwrap();
    let old = other.leaf().unwrap().clone();
    run(store.set_history("k", said(&["x"]))).unwrap();
    let session = session(&place);
    assert_eq!(run(session.branches()).unwrap().len(), 2);
    let path = run(session.current_path()).unwrap();
    assert_eq!(path[0].parent_id, None);
    assert!(!path.iter().any(|entry| entry.id == old));
    let settings = run(session.settings(session.leaf().unwrap())).unwrap();
    let told = (settings.model, settings.provider, settings.thinking_level);
    assert_eq!(told, (Some("m1".into()), Some("p1".into()), Some("high".into())));
    assert_eq!(at(&session, &old), ["a", "b"]);
}

#[test]
fn only_vacuum_destroys_and_it_keeps_what_is_shown() {
    let place = Place::new();
    let store = &place.store;
    ["a", "b"].iter().for_each(|text| say(store, "k", text));
    run(store.set_summary("k", "s")).unwrap();
    run(store.set_history("k", said(&["x", "y"]))).unwrap();
    run(store.truncate_history("k", 1)).unwrap();
    run(store.ensure_metadata("k", &identity("1"))).unwrap();
    let done = run(store.vacuum("k", true)).unwrap();
    assert!(done.entries.1 < done.entries.0 && done.backup.is_some());
    let other = place.again();
    assert_eq!(
        (texts(&other, "k"), run(other.get_summary("k")).unwrap()),
        (vec!["y".into()], "s".into())
    );
    assert_eq!(run(other.scope("k")).unwrap(), Some(scope("1")));
    assert_eq!(run(other.resolve_key("agent:main:direct:1")).unwrap(), "k");
    assert_eq!(run(session(&place).branches()).unwrap().len(), 1);
    let missing = run(store.vacuum("unknown", true)).unwrap_err();
    assert_eq!(missing.kind().as_str(), "not_found");
}

#[test]
fn compactions_by_others_are_shown_and_hide_no_summary() {
    let place = Place::new();
    let store = &place.store;
    ["a", "b", "c"].iter().for_each(|text| say(store, "k", text));
    run(store.set_summary("k", "ours")).unwrap();
    let mut other = session(&place);
    let compaction = Compaction { summary: "theirs".into(), ..Compaction::default() };
    run(other.add_compaction(compaction)).unwrap();
    ["d", "e"].iter().for_each(|text| say(store, "k", text));
    let theirs = "Previous conversation summary:\ntheirs";
    assert_eq!(texts(store, "k"), [theirs, "d", "e"]);
    assert_eq!(run(store.get_summary("k")).unwrap(), "ours");
    run(store.truncate_history("k", 2)).unwrap();
    assert_eq!(texts(store, "k"), ["d", "e"]);
    assert_eq!(run(store.get_summary("k")).unwrap(), "ours");
    // One in place, in the middle of what is kept.
    let mut other = session(&place);
    let (_, ids) = run(other.context()).unwrap().into_parts();
    let compaction = Compaction {
        summary: "d".into(),
        replaces_entry_ids: vec![ids[0].clone()],
        ..Compaction::default()
    };
    run(other.add_compaction(compaction)).unwrap();
    say(store, "k", "f");
    run(store.truncate_history("k", 4)).unwrap();
    assert_eq!(texts(store, "k").len(), 3);
    say(store, "k", "g");
    run(store.truncate_history("k", 4)).unwrap();
    let in_place = "Previous conversation summary:\nd";
    assert_eq!(texts(store, "k"), [in_place, "e", "f", "g"]);
    say(store, "k", "h");
    run(store.set_history("k", Vec::new())).unwrap();
    run(session(&place).rewind_past_compaction(other.leaf().unwrap())).unwrap();
    say(store, "k", "i");
    run(store.truncate_history("k", 3)).unwrap();
    assert_eq!(texts(store, "k"), [in_place, "e", "i"]);
    run(store.truncate_history("k", 1)).unwrap();
    assert_eq!(texts(store, "k"), ["i"]);
}
