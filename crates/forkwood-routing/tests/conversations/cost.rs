//! What a call costs: by what is shown, not by what there is.

use std::path::Path;
use std::sync::Arc;

use forkwood::conversation::native::session_id;
use forkwood::conversation::{ConversationStore, Identity};
use forkwood::storage::disk::SimDisk;
use forkwood::{ManualClock, Message};

use crate::common::*;
use crate::spy::Spy;

/// Bytes read by a call.
fn reads(spy: &Spy, call: impl FnOnce()) -> u64 {
    spy.reset();
    call();
    spy.bytes_read()
}

#[test]
fn reading_and_writing_cost_what_is_shown() {
    let spy = Spy::on(&SimDisk::volatile());
    let clock = Arc::new(ManualClock::new(START));
    let store = open(Arc::new(spy.clone()), &clock);
    let mut costs = Vec::new();
    for round in 1..=3_u32 {
        // Messages by models without providers: nothing that settles what they are set to.
        let long = "x".repeat(200);
        let batch: Vec<_> = (0..200 * 4_u32.pow(round - 1))
            .map(|_| Message::assistant(long.as_str()).by_model("m", None).into())
            .collect();
        run(store.set_history("k", batch)).unwrap();
        run(store.set_summary("k", "s")).unwrap();
        run(store.truncate_history("k", 4)).unwrap();
        let history = reads(&spy, || assert_eq!(run(store.get_history("k")).unwrap().len(), 4));
        let summary = reads(&spy, || assert_eq!(run(store.get_summary("k")).unwrap(), "s"));
        let add = reads(&spy, || say(&store, "k", "y"));
        let cut = reads(&spy, || run(store.truncate_history("k", 4)).unwrap());
        let turn = reads(&spy, || {
            run(store.ensure_metadata("k", &identity("7"))).unwrap();
        });
        costs.push([history, summary, add, cut, turn]);
    }
    let (first, last) = (&costs[0], &costs[2]);
    for (before, after) in first.iter().zip(last) {
        // Sixteen times as much was said, and a few kilobytes are read as at first.
        assert!(*after < 30_000 && *after < before + before / 2 + 5_000, "{costs:?}");
    }
}

#[test]
fn an_alias_among_many_is_found_without_looking_at_the_others() {
    let disk = SimDisk::volatile();
    let clock = Arc::new(ManualClock::new(START));
    let many = 300;
    let writer = open(Arc::new(disk.clone()), &clock);
    for n in 0..many {
        let aliases = vec!["agent:main:main".to_owned(), format!("agent:main:direct:{n}")];
        run(writer.ensure_metadata(&format!("k{n}"), &Identity { scope: None, aliases })).unwrap();
    }
    let spy = Spy::on(&disk);
    let store = open(Arc::new(spy.clone()), &clock);
    // The start: one file is read and one folder listed; no session is opened but the one found.
    let find = |n: usize| {
        spy.reset();
        let found = run(store.resolve_key(&format!("agent:main:direct:{n}"))).unwrap();
        assert_eq!(found, format!("k{n}"));
        spy.opened()
    };
    let session = |n: usize| {
        Path::new(ROOT).join(format!("sessions/{}.jsonl", session_id(&format!("k{n}")).unwrap()))
    };
    let index = Path::new(ROOT).join("conversations/aliases.jsonl");
    assert_eq!(find(7), [index, session(7)]);
    assert_eq!(spy.listed(), 1);
    // After it: nothing but the session itself.
    for n in [299, 0, 123] {
        let opened = find(n);
        assert!(opened.iter().all(|path| *path == session(n)), "{opened:?}");
        assert_eq!((spy.listed(), opened.len()), (0, 1));
    }
    // A canonical key that is new needs no look at the others either.
    spy.reset();
    let new = scope("new").key();
    assert_eq!(run(store.resolve_key(&new)).unwrap(), new);
    assert_eq!((spy.listed(), spy.opened().len()), (0, 0));
    // The first write looks once for what a crash may have left in the folder.
    for n in 0..3 {
        say(&store, &scope(&format!("new {n}")).key(), "x");
        assert_eq!(spy.listed(), 1);
    }
}

#[test]
fn among_a_hundred_thousand_an_alias_is_found_by_looking_at_one_session() {
    const MANY: usize = 100_000;
    let disk = SimDisk::volatile();
    let clock = Arc::new(ManualClock::new(START));
    let writer = open(Arc::new(disk.clone()), &clock);
    let wanted = Identity { scope: None, aliases: vec!["agent:main:direct:wanted".to_owned()] };
    run(writer.ensure_metadata("k0", &wanted)).unwrap();
    // What a store with so many conversations has in its index, each with the aliases of a chat.
    let index = Path::new(ROOT).join("conversations/aliases.jsonl");
    let mut lines = String::from_utf8(disk.bytes(&index).unwrap()).unwrap();
    for n in 1..MANY {
        let names = ["agent:main:main", "agent:main:direct:{}", "agent:main:telegram:direct:{}"];
        let aliases = names.map(|name| format!("\"{}\"", name.replace("{}", &n.to_string())));
        lines.push_str(&format!("{{\"key\":\"k{n}\",\"aliases\":[{}]}}\n", aliases.join(",")));
    }
    disk.put(&index, lines.as_bytes());
    let spy = Spy::on(&disk);
    let store = open(Arc::new(spy.clone()), &clock);
    // The start reads the index once.
    assert_eq!(run(store.resolve_key("agent:main:direct:wanted")).unwrap(), "k0");
    assert!(spy.bytes_read() >= lines.len() as u64);
    for _ in 0..3 {
        spy.reset();
        assert_eq!(run(store.resolve_key("agent:main:direct:wanted")).unwrap(), "k0");
        let session = format!("sessions/{}.jsonl", session_id("k0").unwrap());
        assert!(spy.opened().iter().all(|path| *path == Path::new(ROOT).join(&session)));
        assert!(spy.bytes_read() < 4096, "{} bytes", spy.bytes_read());
        assert_eq!(spy.listed(), 0);
    }
}
