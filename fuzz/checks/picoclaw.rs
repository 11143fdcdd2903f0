//! A conversation of PicoClaw's, or what looks like one: it is read without a panic, reading writes
//! nothing, and what is written goes on from what was read.

use std::path::Path;
use std::sync::Arc;

use forkwood::conversation::ConversationStore;
use forkwood::{Message, Role};
use forkwood_formats::import;
use forkwood_formats::picoclaw::{FolderOptions, PicoConversations, migrate, read};
use forkwood_storage::disk::{Disk, SimDisk};
use pollster::block_on as run;

const FOLDER: &str = "/sessions";

/// Checks bytes: up to the first NUL a meta file, then lines; all of them are an older file, too.
pub fn check(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == 0);
    let (meta, lines) = data.split_at(end.unwrap_or(0));
    let lines = lines.strip_prefix(b"\0").unwrap_or(lines);
    newer(meta, lines);
    older(data);
}

fn store(disk: &SimDisk) -> PicoConversations {
    let options = FolderOptions { disk: Arc::new(disk.clone()), ..FolderOptions::default() };
    PicoConversations::open_with(Path::new(FOLDER), options)
}

fn texts(store: &PicoConversations) -> Vec<String> {
    let history = run(store.get_history("k")).expect("it can be read");
    history.iter().map(|one| one.message.content.text().to_string_lossy().into_owned()).collect()
}

fn newer(meta: &[u8], lines: &[u8]) {
    let disk = SimDisk::volatile();
    let path = Path::new(FOLDER).join("k.jsonl");
    disk.put(&path, lines);
    if !meta.is_empty() {
        disk.put(&Path::new(FOLDER).join("k.meta.json"), meta);
    }
    let conversation = read(&disk, &path).expect("a damaged line is a finding");
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    for (tool, unit) in import::find(&disk, Path::new(FOLDER), &import::tools()).units {
        // What it makes of it is the matter of other tests; here it must come to an end.
        let _ = run(import::snapshot(&tool, &unit, &shared));
    }
    let store = store(&disk);
    let before = texts(&store);
    assert_eq!(before.len(), conversation.history().len());
    assert_eq!(disk.bytes(&path).as_deref(), Some(lines), "reading wrote");
    let hidden = conversation.meta.hidden();
    run(store.add_message("k", Role::User, "added")).expect("one can go on");
    let mut expected = before;
    // More may be hidden than there is: as with PicoClaw, that takes what comes next.
    if hidden <= conversation.lines.len() as u64 {
        expected.push("added".to_owned());
        assert_eq!(texts(&store), expected);
    }
    let whole = texts(&store);
    run(store.truncate_history("k", 2)).expect("it can be cut");
    let cut = texts(&store);
    assert_eq!(cut, whole[whole.len().saturating_sub(2)..]);
    run(store.save("k")).expect("it can be saved");
    assert_eq!(texts(&store), cut, "saving changed what is shown");
    let new = vec![Message::user("new").into()];
    run(store.set_history("k", new)).expect("it can be replaced");
    assert_eq!(texts(&store), ["new"]);
}

fn older(data: &[u8]) {
    let disk = SimDisk::volatile();
    let path = Path::new(FOLDER).join("k.json");
    disk.put(&path, data);
    let done = migrate(store(&disk).folder()).expect("what cannot be read is passed over");
    assert_eq!(done.migrated.len() + done.skipped.len(), 1);
    let kept = done.migrated.first().map_or(path, |one| one.kept.clone());
    assert_eq!(disk.bytes(&kept).as_deref(), Some(data), "the original is gone");
    if let Some(one) = done.migrated.first() {
        let shown = run(store(&disk).get_history(&one.key)).expect("it can be read");
        assert_eq!(shown.len(), one.messages);
    }
}
