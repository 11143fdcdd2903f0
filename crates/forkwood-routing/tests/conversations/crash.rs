//! The machine stops at every step. What was acknowledged is there afterwards; what was not is
//! there whole or not at all; and the same call again brings it to its end.

use std::collections::BTreeSet;
use std::sync::Arc;

use forkwood::conversation::ConversationStore;
use forkwood::conversation::native::session_id;
use forkwood::storage::disk::{Crash, SimDisk};
use forkwood::{Durability, ManualClock, Result};
use forkwood_routing::{ConversationOptions, PersistentConversations};

use crate::common::*;
use crate::spy::Spy;

const LEGACY: &str = "agent:main:direct:7";

const CRASHES: [Crash; 4] = [
    Crash::HARD,
    Crash { unsynced_bytes: 40, unsynced_names: true, zeroed: false },
    Crash { unsynced_bytes: usize::MAX, unsynced_names: true, zeroed: false },
    Crash { unsynced_bytes: usize::MAX, unsynced_names: false, zeroed: true },
];

/// What a conversation shows: messages and summary.
type Shown = (Vec<String>, String);

fn shown(store: &PersistentConversations, key: &str) -> Shown {
    (texts(store, key), run(store.get_summary(key)).unwrap())
}

fn as_shown(texts: &[&str], summary: &str) -> Shown {
    (texts.iter().map(|text| (*text).to_owned()).collect(), summary.to_owned())
}

/// Every message of every session, on whatever branch.
fn everything(store: &PersistentConversations) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for key in run(store.list_sessions()).unwrap() {
        // Not through the key: an alias would lead elsewhere.
        let id = session_id(&key).unwrap();
        let session = run(store.sessions().open(id.as_str())).unwrap();
        for stored in run(session.entries()).unwrap() {
            let message = stored.entry.message().map(|one| one.content.text());
            found.extend(message.map(|text| text.to_string_lossy().into_owned()));
        }
        // What was being written may be left at the end; it is cut before the next write.
        let torn = ["torn-tail", "unfinished-batch", "nul-run"];
        let mut findings = run(session.check()).unwrap();
        findings.retain(|finding| finding.severity == forkwood::Severity::Error);
        assert!(findings.iter().all(|one| torn.contains(&one.kind.as_str())), "{findings:?}");
    }
    found
}

/// Stops a call at every change it makes, in every way, and looks at what is left.
fn stopped_everywhere(
    prepare: impl Fn(&PersistentConversations),
    call: impl Fn(&PersistentConversations) -> Result<()>,
    look: impl Fn(&PersistentConversations, bool, &str),
) {
    let before = Place::new();
    prepare(&before.store);
    let all = everything(&before.store);
    let mut stops = 0;
    for crash in CRASHES {
        for stop in 0.. {
            let disk = before.disk.copy();
            let place = Place::on(&disk);
            disk.stop_at_change(Some(stop));
            let done = call(&place.store);
            disk.crash(crash);
            let told = format!("stopped at {stop}, {crash:?}: {done:?}");
            let after = Place::on(&disk);
            look(&after.store, done.is_ok(), &told);
            assert!(everything(&after.store).is_superset(&all), "{told}");
            // Once more, and it is done.
            call(&after.store).unwrap();
            look(&Place::on(&disk).store, true, &told);
            stops += 1;
            if done.is_ok() {
                break;
            }
            assert!(stop < 200, "it never ends");
        }
    }
    assert!(stops > CRASHES.len(), "there was nothing to stop");
}

#[test]
fn a_truncation() {
    let texts = ["a", "b", "c", "d"];
    stopped_everywhere(
        |store| {
            texts.iter().for_each(|text| say(store, "k", text));
            run(store.set_summary("k", "s")).unwrap();
        },
        |store| run(store.truncate_history("k", 2)),
        |store, done, told| {
            let now = shown(store, "k");
            let cut = now == as_shown(&["c", "d"], "s");
            assert!(cut || !done && now == as_shown(&texts, "s"), "{told}: {now:?}");
        },
    );
}

#[test]
fn a_new_history() {
    // In PicoClaw the lines that were cut come back, or the new history is lost.
    stopped_everywhere(
        |store| {
            ["a", "b", "c"].iter().for_each(|text| say(store, "k", text));
            run(store.set_summary("k", "s")).unwrap();
            run(store.truncate_history("k", 1)).unwrap();
        },
        |store| run(store.set_history("k", said(&["x", "y"]))),
        |store, done, told| {
            let now = shown(store, "k");
            let new = now == as_shown(&["x", "y"], "s");
            assert!(new || !done && now == as_shown(&["c"], "s"), "{told}: {now:?}");
        },
    );
}

#[test]
fn a_summary() {
    stopped_everywhere(
        |store| {
            say(store, "k", "a");
            run(store.set_summary("k", "old")).unwrap();
        },
        |store| run(store.set_summary("k", "new")),
        |store, done, told| {
            let now = shown(store, "k");
            let new = now == as_shown(&["a"], "new");
            assert!(new || !done && now == as_shown(&["a"], "old"), "{told}: {now:?}");
        },
    );
}

#[test]
fn a_first_message() {
    stopped_everywhere(
        |store| say(store, "other", "o"),
        |store| run(store.set_history("k", said(&["x"]))),
        |store, done, told| {
            let now = shown(store, "k");
            assert!(now == as_shown(&["x"], "") || !done && now.0.is_empty(), "{told}: {now:?}");
            assert_eq!(texts(store, "other"), ["o"]);
        },
    );
}

/// The old history is seen under both names, or under the old one alone; never under none.
fn promoted(store: &PersistentConversations, done: bool, told: &str) {
    let key = scope("7").key();
    let whole = as_shown(&["a", "b", "c"], "s");
    assert_eq!(shown(store, LEGACY), whole, "{told}");
    let now = shown(store, &key);
    assert!(now == whole || !done && now == as_shown(&[], ""), "{told}: {now:?}");
    if now == whole {
        assert_eq!(run(store.resolve_key(LEGACY)).unwrap(), key, "{told}");
    }
}

fn old_history(store: &PersistentConversations) {
    ["a", "b", "c"].iter().for_each(|text| say(store, LEGACY, text));
    run(store.set_summary(LEGACY, "s")).unwrap();
}

fn promote(store: &PersistentConversations) -> Result<()> {
    run(store.ensure_metadata(&scope("7").key(), &identity("7"))).map(|_| ())
}

#[test]
fn a_promotion_into_a_new_conversation() {
    stopped_everywhere(old_history, promote, promoted);
}

#[test]
fn a_promotion_into_one_that_was_made_before() {
    let made = |store: &PersistentConversations| {
        run(store.session(&scope("7").key())).unwrap();
        old_history(store);
    };
    stopped_everywhere(made, promote, promoted);
}

#[test]
fn a_promotion_and_the_turn_after_it() {
    // The message that came in is there once, after the history, wherever the machine stopped.
    stopped_everywhere(
        old_history,
        |store| {
            promote(store)?;
            let key = scope("7").key();
            if !texts(store, &key).contains(&"turn".to_owned()) {
                run(store.add_message(&key, forkwood::Role::User, "turn"))?;
            }
            Ok(())
        },
        |store, done, told| {
            let now = texts(store, &scope("7").key());
            let all = ["a", "b", "c", "turn"];
            let fine = now == all || !done && (now == all[..3] || now.is_empty());
            assert!(fine, "{told}: {now:?}");
        },
    );
}

#[test]
fn what_was_saved_is_on_disk_even_where_writes_are_not_waited_for() {
    let lazy = |disk: &SimDisk| {
        let options = ConversationOptions::default()
            .with_disk(Arc::new(disk.clone()))
            .with_durability(Durability::Os);
        PersistentConversations::open_with(ROOT.as_ref(), options).unwrap()
    };
    let disk = SimDisk::new();
    let store = lazy(&disk);
    ["a", "b"].iter().for_each(|text| say(&store, "k", text));
    run(store.truncate_history("k", 1)).unwrap();
    let unsaved = disk.copy();
    unsaved.crash(Crash::HARD);
    assert!(texts(&lazy(&unsaved), "k").is_empty(), "it was on disk before it was saved");
    for stop in 0..3 {
        let stopped = disk.copy();
        stopped.stop_at_change(Some(stop));
        let saved = run(lazy(&stopped).save("k"));
        stopped.crash(Crash::HARD);
        let now = texts(&lazy(&stopped), "k");
        assert!(now == ["b"] || saved.is_err() && now.is_empty(), "{saved:?}: {now:?}");
    }
    run(store.save("k")).unwrap();
    disk.crash(Crash::HARD);
    assert_eq!(texts(&lazy(&disk), "k"), ["b"]);
}

#[test]
fn a_full_disk_refuses_and_loses_nothing() {
    let place = Place::new();
    let store = &place.store;
    ["a", "b"].iter().for_each(|text| say(store, "k", text));
    old_history(store);
    for room in [0, 10, 100] {
        let disk = place.disk.copy();
        let store = Place::on(&disk).store;
        disk.set_room(Some(room));
        let calls = [
            run(store.add_message("k", forkwood::Role::User, "x")).map(|_| ()),
            run(store.truncate_history("k", 1)),
            run(store.set_history("k", said(&["y"]))),
            run(store.set_summary("k", "z")),
            promote(&store),
        ];
        for refused in calls {
            assert_eq!(refused.unwrap_err().kind().as_str(), "no_space");
        }
        disk.set_room(None);
        assert_eq!(shown(&store, "k"), as_shown(&["a", "b"], ""));
        promote(&store).unwrap();
        promoted(&store, true, "after the disk had room again");
    }
}

/// Another process that found its conversation before the promotion, and adds to it after.
#[test]
fn who_was_on_the_way_to_the_old_conversation_is_heard_in_the_new_one() {
    // Before each step of the promotion, until it tells the old conversation that it moved.
    let mut caught = 0;
    for step in 0..16 {
        let place = Place::new();
        old_history(&place.store);
        let spy = Spy::on(&place.disk);
        let clock = Arc::new(ManualClock::new(START));
        let promoter = open(Arc::new(spy.clone()), &clock);
        let late = place.again();
        spy.before_lock(step, move || {
            let id = session_id(LEGACY).unwrap();
            let mut session = run(late.sessions().open(id.as_str())).unwrap();
            let moved = session.facts().info.metadata.as_ref().unwrap().get().contains("movedTo");
            if !moved {
                run(session.append(forkwood::Message::user("late"))).unwrap();
            }
        });
        promote(&promoter).unwrap();
        let all = everything(&place.store);
        if all.contains("late") {
            caught += 1;
            let now = texts(&place.store, &scope("7").key());
            assert_eq!(now, ["a", "b", "c", "late"], "before step {step}");
        }
    }
    assert!(caught >= 3, "the steps were not met: {caught}");
}

#[test]
fn who_adds_to_the_old_conversation_after_it_moved_adds_to_the_new_one() {
    for step in 0..4 {
        let place = Place::new();
        old_history(&place.store);
        let spy = Spy::on(&place.disk);
        let clock = Arc::new(ManualClock::new(START));
        let writer = open(Arc::new(spy.clone()), &clock);
        let other = place.again();
        spy.before_lock(step, move || promote(&other).unwrap());
        say(&writer, LEGACY, "late");
        if !spy.happened() {
            assert!(step > 0, "the writer takes no lock");
            break;
        }
        let now = texts(&place.store, &scope("7").key());
        assert_eq!(now, ["a", "b", "c", "late"], "before step {step}");
    }
}
