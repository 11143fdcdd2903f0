//! An import that stops anywhere is finished by the next one, and nothing is there twice.

use forkwood::storage::disk::Crash;
use forkwood::{Session, Stored};

use crate::world::{World, context, entries};

const HEADER: &str = r#"{"type":"session","version":3,"id":"s-1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#;

fn source(count: usize) -> String {
    let mut text = format!("{HEADER}\n");
    for at in 1..=count {
        let parent = match at {
            1 => "null".to_owned(),
            // A branch on the way.
            4 => "\"00000001\"".to_owned(),
            _ => format!("\"{:08x}\"", at - 1),
        };
        text.push_str(&format!(
            r#"{{"type":"message","id":"{at:08x}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":"m{at}","timestamp":1}}}}"#
        ));
        text.push('\n');
    }
    text
}

/// What stands on paths, by id and parent.
fn tree(session: &Session) -> Vec<(String, Option<String>)> {
    let path = |stored: &&Stored| !stored.entry.body.is_sidecar();
    let all = entries(session);
    let first = all[0].entry.id.clone();
    let name = |id: &forkwood::EntryId| (*id != first).then(|| id.to_string());
    let mut tree: Vec<_> = all
        .iter()
        .filter(path)
        .map(|stored| (stored.entry.id.to_string(), stored.entry.parent_id.as_ref().and_then(name)))
        .collect();
    tree.sort();
    tree
}

fn finished(world: &World, count: usize) -> (Vec<(String, Option<String>)>, Vec<String>) {
    let session = world.session();
    let tree = tree(&session);
    assert_eq!(tree.len(), count);
    (tree, context(&session))
}

/// Stops at every change, and goes on after a crash that left more or less behind.
fn stops_anywhere(start: &World, count: usize) {
    let whole = World { disk: start.disk.copy() };
    whole.import();
    let expected = finished(&whole, count);
    let crashes = [
        Crash::HARD,
        Crash { unsynced_bytes: 40, unsynced_names: true, zeroed: false },
        Crash { unsynced_bytes: usize::MAX, unsynced_names: true, zeroed: false },
    ];
    for stop in 0.. {
        let mut done = false;
        for crash in crashes {
            let world = World { disk: start.disk.copy() };
            world.disk.stop_at_change(Some(stop));
            let reports = world.try_import();
            done = reports.is_ok_and(|reports| reports.iter().all(|r| r.error.is_none()));
            world.disk.crash(crash);
            world.import();
            assert_eq!(finished(&world, count), expected, "stopped at {stop}, {crash:?}");
            world.expect(forkwood_formats::import::Outcome::Unchanged);
        }
        if done {
            assert!(stop > 5, "{stop} changes are too few to be all");
            return;
        }
    }
}

#[test]
fn a_first_import_can_stop_anywhere() {
    let world = World::new();
    world.put("a.jsonl", source(6));
    stops_anywhere(&world, 6);
}

#[test]
fn a_later_import_can_stop_anywhere() {
    let world = World::new();
    world.put("a.jsonl", source(3));
    world.import();
    world.put("a.jsonl", source(7));
    stops_anywhere(&world, 7);
}
