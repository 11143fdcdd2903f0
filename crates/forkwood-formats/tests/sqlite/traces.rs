//! Reading leaves no trace, and sees what is only in the log of a database.

use std::sync::Arc;

use forkwood::storage::disk::{Disk, RealDisk};
use forkwood_formats::import::{self, Outcome};
use rusqlite::Connection;

use crate::world::{copied, files, open, outcomes, store, take};

const ADD: &str = "INSERT INTO agent_messages (session_id, message_data) \
                   VALUES ('talk', '{\"role\":\"user\",\"content\":\"in the log\"}')";

fn last_text(store: &forkwood::SessionStore) -> String {
    let session = open(store, "talk");
    let context = pollster::block_on(session.context()).unwrap();
    context.messages().last().unwrap().content.text().to_string()
}

#[test]
fn a_database_at_rest() {
    let (folder, path) = copied("openai-agents/plain.db");
    let before = files(folder.path());
    take(&store(), folder.path());
    assert_eq!(files(folder.path()), before);
    // In a folder in which nothing can be made, too.
    let meta = std::fs::metadata(folder.path()).unwrap();
    let mut permissions = meta.permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(folder.path(), permissions).unwrap();
    let reports = take(&store(), &path);
    std::fs::set_permissions(folder.path(), meta.permissions()).unwrap();
    assert_eq!(outcomes(&reports), [Outcome::New; 2]);
}

#[test]
fn a_database_that_a_program_has_open() {
    let (folder, path) = copied("openai-agents/plain.db");
    let writer = Connection::open(&path).unwrap();
    writer.pragma_update(None, "journal_mode", "WAL").unwrap();
    writer.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    writer.execute(ADD, ()).unwrap();
    let before = files(folder.path());
    assert_eq!(before.len(), 3, "the database and its log are in use");
    let store = store();
    take(&store, folder.path());
    assert_eq!(last_text(&store), "in the log");
    assert_eq!(files(folder.path()), before);
    // What is not committed is not there.
    let more = ADD.replace("in the log", "not yet");
    writer.execute_batch(&format!("BEGIN; {more}")).unwrap();
    take(&store, folder.path());
    assert_eq!(last_text(&store), "in the log");
    writer.execute_batch("COMMIT").unwrap();
    take(&store, folder.path());
    assert_eq!(last_text(&store), "not yet");
}

#[test]
fn a_database_whose_program_died() {
    let (folder, path) = copied("openai-agents/plain.db");
    let there = tempfile::tempdir().unwrap();
    {
        let writer = Connection::open(&path).unwrap();
        writer.pragma_update(None, "journal_mode", "WAL").unwrap();
        writer.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
        writer.execute(ADD, ()).unwrap();
        for (file, bytes) in files(folder.path()) {
            let name = file.file_name().unwrap().to_str().unwrap();
            if !name.ends_with("-shm") {
                std::fs::write(there.path().join(name), bytes).unwrap();
            }
        }
    }
    let before = files(there.path());
    assert_eq!(before.len(), 2);
    let store = store();
    take(&store, there.path());
    assert_eq!(last_text(&store), "in the log");
    assert_eq!(files(there.path()), before);
}

#[test]
fn what_is_no_database_is_told() {
    let (folder, path) = copied("openai-agents/plain.db");
    let bytes = std::fs::read(&path).unwrap();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    for (name, bytes) in [
        ("cut.db", &bytes[..bytes.len() / 2]),
        ("empty.db", &[]),
        ("text.db", b"SQLite format 3\0 and nothing else"),
        ("lie.sqlite", b"{}"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let found = import::find(disk.as_ref(), &path, &import::tools());
        for (tool, unit) in found.units {
            // It may look like one; then what can be read is read, or it is an error.
            let _ = pollster::block_on(import::snapshot(&tool, &unit, &disk));
        }
    }
    // Any byte may be another one.
    let store = store();
    for at in (0..bytes.len()).step_by(97) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x5a;
        std::fs::write(&path, changed).unwrap();
        take(&store, &path);
    }
}
