//! A crash at any step of a write leaves what was there before, or what was to be.

use forkwood::conversation::{ConversationStore, Identity};
use forkwood::storage::disk::{Crash, SimDisk};
use forkwood::{Message, Result, Role};
use forkwood_formats::picoclaw::PicoConversations;
use pollster::block_on as run;

use crate::world::{file, store, texts};

const CRASHES: [Crash; 3] = [
    Crash::HARD,
    Crash { unsynced_bytes: 20, unsynced_names: true, zeroed: false },
    Crash { unsynced_bytes: usize::MAX, unsynced_names: true, zeroed: false },
];

/// What a conversation shows.
fn shown(disk: &SimDisk) -> (Vec<String>, String) {
    let store = store(disk);
    (texts(&store, "k"), run(store.get_summary("k")).unwrap())
}

fn start() -> SimDisk {
    let disk = SimDisk::new();
    let store = store(&disk);
    for n in 0..6 {
        run(store.add_message("k", Role::User, &format!("m{n}"))).unwrap();
    }
    run(store.set_summary("k", "s")).unwrap();
    run(store.truncate_history("k", 4)).unwrap();
    disk
}

fn at_every_step(start: &SimDisk, call: impl Fn(&PicoConversations) -> Result<()>) {
    let done = start.copy();
    call(&store(&done)).unwrap();
    let (before, after) = (shown(start), shown(&done));
    for stop in 0.. {
        let mut finished = false;
        for crash in CRASHES {
            let disk = start.copy();
            disk.stop_at_change(Some(stop));
            finished = call(&store(&disk)).is_ok();
            disk.crash(crash);
            let now = shown(&disk);
            assert!(now == before || now == after, "stopped at {stop}, {crash:?}: {now:?}");
            assert!(!finished || now == after, "acknowledged and lost at {stop}, {crash:?}");
            // And the conversation goes on, with the step finished or undone for good.
            run(store(&disk).add_message("k", Role::User, "next")).unwrap();
            let mut expected = now.clone();
            expected.0.push("next".to_owned());
            assert_eq!(shown(&disk), expected, "after {stop}, {crash:?}");
            assert_eq!(file(&disk, ".k.jsonl.forkwood-next"), None);
        }
        if finished {
            assert!(stop > 2);
            return;
        }
    }
}

#[test]
fn adding_a_message() {
    at_every_step(&start(), |store| {
        run(store.add_message("k", Role::Assistant, "new")).map(|_| ())
    });
}

#[test]
fn the_first_message() {
    at_every_step(&SimDisk::new(), |store| {
        run(store.add_message("k", Role::User, "new")).map(|_| ())
    });
}

#[test]
fn truncating_and_summing_up() {
    at_every_step(&start(), |store| run(store.truncate_history("k", 1)));
    at_every_step(&start(), |store| run(store.set_summary("k", "other")));
}

#[test]
fn compacting() {
    at_every_step(&start(), |store| run(store.save("k")));
}

#[test]
fn replacing_the_history() {
    at_every_step(&start(), |store| {
        let messages = ["x", "y"].map(|text| Message::user(text).into());
        run(store.set_history("k", messages.to_vec()))
    });
    at_every_step(&start(), |store| {
        // As PicoClaw does when a turn is broken off: the history is cut back.
        let mut history = run(store.get_history("k"))?;
        history.truncate(2);
        run(store.set_history("k", history))
    });
    at_every_step(&start(), |store| run(store.set_history("k", Vec::new())));
}

#[test]
fn promoting() {
    let disk = start();
    let key = "sk_v1_new";
    let identity = Identity { scope: None, aliases: vec!["k".into()] };
    let promoted = (shown(&disk).0, "s".to_owned());
    for stop in 0.. {
        let mut finished = false;
        for crash in CRASHES {
            let disk = disk.copy();
            disk.stop_at_change(Some(stop));
            finished = run(store(&disk).ensure_metadata(key, &identity)).is_ok();
            disk.crash(crash);
            // The next turn asks again.
            let store = store(&disk);
            run(store.ensure_metadata(key, &identity)).unwrap();
            let now = (texts(&store, key), run(store.get_summary(key)).unwrap());
            assert_eq!(now, promoted, "stopped at {stop}, {crash:?}");
        }
        if finished {
            break;
        }
    }
}

#[test]
fn picoclaw_may_write_between_a_crash_and_the_next_start() {
    for stop in 0..40 {
        let disk = start();
        disk.stop_at_change(Some(stop));
        let finished = run(store(&disk).save("k")).is_ok();
        disk.crash(Crash::HARD);
        let path = std::path::Path::new(crate::world::FOLDER).join("k.jsonl");
        let mut bytes = disk.bytes(&path).unwrap();
        bytes.extend_from_slice(b"{\"role\":\"user\",\"content\":\"theirs\"}\n");
        disk.put(&path, &bytes);
        run(store(&disk).add_message("k", Role::User, "ours")).unwrap();
        let (texts, _) = shown(&disk);
        assert_eq!(texts[texts.len() - 2..], ["theirs", "ours"], "{stop}");
        assert!(texts.len() == 6, "{stop}: {texts:?}");
        if finished {
            return;
        }
    }
}
