//! A file of another program, or what looks like one: it is read without a panic, every entry can
//! be read and folded at, and reading changes nothing.

use std::path::Path;
use std::sync::Arc;

use forkwood_core::{Entry, SessionState};
use forkwood_formats::formats;
use forkwood_storage::disk::SimDisk;
use forkwood_storage::jsonl::{JsonlOptions, JsonlStorage};
use forkwood_storage::{Page, PathStop, SessionStorage};
use pollster::block_on as run;

/// Checks a file of this name.
pub fn check(name: &str, data: &[u8]) {
    let folder = Path::new("/sessions");
    let path = folder.join(name);
    let disk = SimDisk::volatile();
    disk.put(&path, data);
    let options =
        JsonlOptions::default().with_disk(Arc::new(disk.clone())).with_formats(&formats());
    let all = JsonlStorage::folder(folder, true, options.clone()).expect("it is there");
    let listing = run(all.list(Page::default())).expect("the folder can be read");
    assert_eq!(listing.rows.len() + listing.problems.len(), 1);
    let Ok((storage, s)) = JsonlStorage::file(&path, options) else { return };
    let facts = run(storage.facts(&s)).expect("it opened");
    let fold = |stop, at| {
        let read = run(storage.path(&s, at, stop)).expect("it is there");
        let entries: Vec<Entry> = read.entries.into_iter().map(|stored| stored.entry).collect();
        SessionState::from_path(&entries, &[], &facts.rules).messages().to_vec()
    };
    for lane in &facts.lanes {
        if let Some(leaf) = &lane.leaf {
            assert_eq!(fold(PathStop::Root, leaf), fold(PathStop::Context, leaf));
        }
    }
    run(storage.check(&s)).expect("it can be read");
    let all = run(storage.read(&s, 0, usize::MAX)).expect("every entry can be read").entries;
    for stored in &all {
        fold(PathStop::Root, &stored.entry.id);
    }
    assert_eq!(run(storage.facts(&s)).expect("it opened").lanes, facts.lanes);
    assert_eq!(disk.bytes(&path).as_deref(), Some(data), "reading wrote");
}
