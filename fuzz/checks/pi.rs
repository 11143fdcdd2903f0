//! A file of Pi, or what looks like one: it is read without a panic, the quick and the full scan
//! agree, its context takes Pi's shape, and reading changes nothing.

use std::path::Path;
use std::sync::Arc;

use forkwood_formats::formats;
use forkwood_formats::pi::shape::pi_context;
use forkwood_storage::disk::SimDisk;
use forkwood_storage::jsonl::{JsonlOptions, JsonlStorage};
use forkwood_storage::{Page, PathStop, SessionStorage};
use pollster::block_on as run;

pub fn check(data: &[u8]) {
    let path = Path::new("/pi/2026-01-01T00-00-00-000Z_s1.jsonl");
    let disk = SimDisk::volatile();
    disk.put(path, data);
    let options =
        JsonlOptions::default().with_disk(Arc::new(disk.clone())).with_formats(&formats());
    let folder =
        JsonlStorage::folder(Path::new("/pi"), true, options.clone()).expect("it is there");
    let listing = run(folder.list(Page::default())).expect("the folder can be read");
    assert_eq!(listing.rows.len() + listing.problems.len(), 1);
    let Ok((storage, s)) = JsonlStorage::file(path, options.clone()) else { return };
    let facts = run(storage.facts(&s)).expect("it opened");
    let leaf = facts.lanes[0].leaf.clone();
    if let Some(leaf) = &leaf {
        for stop in [PathStop::Root, PathStop::Context] {
            let read = run(storage.path(&s, leaf, stop)).expect("the lane stands there");
            pi_context(&read.entries, &facts.rules);
        }
    }
    run(storage.check(&s)).expect("it can be read");
    assert_eq!(run(storage.facts(&s)).expect("it opened").lanes[0].leaf, leaf);
    let all = run(storage.read(&s, 0, usize::MAX)).expect("every entry can be read").entries;
    for stored in &all {
        let at = &stored.entry.id;
        let read = run(storage.path(&s, at, PathStop::Root)).expect("it was just read");
        pi_context(&read.entries, &facts.rules);
    }
    assert_eq!(disk.bytes(path).as_deref(), Some(data), "reading wrote");
}
