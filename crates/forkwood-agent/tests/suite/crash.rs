//! The machine stops at every change of the disk, and the agent goes on.

use std::path::Path;
use std::sync::Arc;

use forkwood::storage::disk::{Crash, SimDisk};
use forkwood::storage::jsonl::{JsonlOptions, JsonlStorage};
use forkwood::{CreateOptions, Message, SessionStore};

use crate::script::{Log, agent, check, conversation, go};

fn store(disk: &SimDisk) -> SessionStore {
    let options = JsonlOptions::default().with_disk(Arc::new(disk.clone()));
    SessionStore::new(Arc::new(JsonlStorage::store(Path::new("/store"), options).unwrap()))
}

async fn fresh() -> (SimDisk, String) {
    let disk = SimDisk::new();
    let session = store(&disk).create(CreateOptions::default()).await.unwrap();
    (disk, session.id().to_string())
}

/// One life of the process. True where it came to the end.
async fn live(disk: &SimDisk, id: &str, log: &Log) -> bool {
    let store = store(disk);
    let Ok(session) = store.open(id).await else { return false };
    let looked_at = disk.clone();
    // What a hard crash would leave when a tool starts must tell of it.
    let mut agent = agent(&store, session, log, move |call| {
        let left = looked_at.copy();
        left.crash(Crash::HARD);
        let wanted = format!("\"toolCallId\":\"{call}\"");
        let told = left.files().iter().any(|file| {
            let bytes = left.bytes(file).unwrap_or_default();
            String::from_utf8_lossy(&bytes)
                .lines()
                .any(|line| line.contains(&wanted) && line.contains("\"started\""))
        });
        assert!(told, "{call} starts before the disk knows of it");
    })
    .await;
    go(&mut agent).await.is_ok()
}

async fn whole() -> (Vec<Message>, u64) {
    let (disk, id) = fresh().await;
    let log = Log::default();
    let before = disk.changes();
    assert!(live(&disk, &id, &log).await);
    let store = store(&disk);
    let session = store.open(&id).await.unwrap();
    let messages = conversation(&session).await;
    check(&store, &session, &messages, &log, "whole").await;
    assert_eq!(log.lock().unwrap().len(), 7);
    (messages, disk.changes() - before)
}

const CRASHES: [Crash; 3] = [
    Crash::HARD,
    Crash { unsynced_bytes: 37, unsynced_names: true, zeroed: false },
    Crash { unsynced_bytes: usize::MAX, unsynced_names: true, zeroed: false },
];

async fn finish(disk: &SimDisk, id: &str, whole: &[Message], log: &Log, what: &str) {
    assert!(live(disk, id, log).await, "{what}: it does not come to its end");
    let store = store(disk);
    let session = store.open(id).await.unwrap();
    check(&store, &session, whole, log, what).await;
    // And there is nothing left to do.
    let changes = disk.changes();
    assert!(live(disk, id, log).await, "{what}");
    assert_eq!(disk.changes(), changes, "{what}: resumed again, it wrote something");
}

#[tokio::test]
async fn a_run_that_stops_at_any_change_of_the_disk_goes_on() {
    let full = std::env::var_os("FORKWOOD_TEST_FULL").is_some();
    let (messages, changes) = whole().await;
    let (base, id) = fresh().await;
    for stop in 0..=changes {
        for (which, crash) in CRASHES.into_iter().enumerate() {
            let now = which == 0 || which as u64 == stop % 4;
            if !full && !now {
                continue;
            }
            let what = format!("stopped at change {stop}, crash {which}");
            let disk = base.copy();
            let log = Log::default();
            disk.stop_at_change(Some(stop));
            live(&disk, &id, &log).await;
            disk.crash(crash);
            finish(&disk, &id, &messages, &log, &what).await;
        }
    }
}

#[tokio::test]
async fn a_resumed_run_may_stop_too() {
    let full = std::env::var_os("FORKWOOD_TEST_FULL").is_some();
    let (messages, changes) = whole().await;
    let (base, id) = fresh().await;
    let step = if full { 3 } else { 11 };
    let mut tried = 0;
    for first in (0..changes).step_by(step) {
        for second in (0..changes).step_by(step) {
            let what = format!("stopped at changes {first} and {second}");
            let disk = base.copy();
            let log = Log::default();
            for stop in [first, second] {
                disk.stop_at_change(Some(stop));
                live(&disk, &id, &log).await;
                disk.crash(CRASHES[tried % CRASHES.len()]);
                tried += 1;
            }
            finish(&disk, &id, &messages, &log, &what).await;
        }
    }
}
