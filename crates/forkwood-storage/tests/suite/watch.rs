//! Watching a session that others write.

use forkwood_core::{DiagnosticKind, SessionId};
use forkwood_storage::disk::SimDisk;
use forkwood_storage::{Cursor, Rewrite, SessionStorage, Watch, WatchEvent};

use crate::common::*;

/// Everything that is to be told now, shortened.
fn told(watch: &mut dyn Watch) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(event) = watch.poll_event().unwrap() {
        all.push(match event {
            WatchEvent::Entry(stored) => stored.entry.id.to_string(),
            WatchEvent::Damage(finding) => format!("{} {}", finding.kind, finding.line.unwrap()),
            WatchEvent::Reset => "reset".into(),
            WatchEvent::Gone => {
                all.push("gone".into());
                return all;
            }
        });
        assert!(all.len() < 1000, "it goes on for ever");
    }
    all
}

fn from_start(storage: &dyn SessionStorage, s: &SessionId) -> Box<dyn Watch> {
    let generation = run(storage.facts(s)).unwrap().generation;
    run(storage.watch(s, Cursor::start(generation))).unwrap()
}

fn strings(ids: impl IntoIterator<Item = u64>) -> Vec<String> {
    ids.into_iter().map(|n| id(n).to_string()).collect()
}

#[test]
fn what_others_write_is_told_once_and_in_order() {
    each(|store| {
        let (storage, s) = (store.storage.as_ref(), store.session("s1"));
        let mut watch = from_start(storage, &s);
        assert_eq!(told(watch.as_mut()), [root(storage, &s).to_string()]);
        append(storage, &s, vec![user(1, "one"), answer(2, "two")]);
        let second = store.second();
        let other = second.as_deref().unwrap_or(storage);
        append(other, &s, vec![user(3, "three")]);
        assert_eq!(told(watch.as_mut()), strings([1, 2, 3]));
        assert_eq!(told(watch.as_mut()), Vec::<String>::new());
        let cursor = Cursor::parse(&watch.cursor().to_string()).unwrap();
        assert_eq!(cursor, watch.cursor());
        append(other, &s, vec![leaf(4, &id(1)), user(5, "five")]);
        let mut resumed = run(other.watch(&s, cursor)).unwrap();
        assert_eq!(told(resumed.as_mut()), strings([4, 5]));
        assert_eq!(told(watch.as_mut()), strings([4, 5]));
        assert_eq!(run(watch.poll_event_later(other, &s)), id(6).to_string());
    });
}

/// Waiting for what comes next.
trait Later {
    async fn poll_event_later(&mut self, other: &dyn SessionStorage, s: &SessionId) -> String;
}

impl Later for Box<dyn Watch> {
    async fn poll_event_later(&mut self, other: &dyn SessionStorage, s: &SessionId) -> String {
        other.append(s, write(vec![user(6, "six")])).await.unwrap();
        match self.next_event().await.unwrap() {
            WatchEvent::Entry(stored) => stored.entry.id.to_string(),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn another_log_starts_again_and_a_deleted_one_is_gone() {
    each(|store| {
        let (storage, s) = (store.storage.as_ref(), store.session("s1"));
        append(storage, &s, vec![user(1, "one"), leaf(2, &id(1)), user(3, "three")]);
        let second = store.second();
        let other = second.as_deref().unwrap_or(storage);
        let mut watch = from_start(storage, &s);
        assert_eq!(told(watch.as_mut()).len(), 4);
        run(other.rewrite(&s, Rewrite::Vacuum { prune_branches: false })).unwrap();
        let root = root(storage, &s).to_string();
        let expected = [vec!["reset".into(), root.clone()], strings([1, 3])].concat();
        assert_eq!(told(watch.as_mut()), expected);
        let stale = watch.cursor();
        run(other.rewrite(&s, Rewrite::Reset)).unwrap();
        assert_eq!(told(watch.as_mut()), ["reset".to_owned(), root.clone()]);
        let mut resumed = run(storage.watch(&s, stale)).unwrap();
        assert_eq!(told(resumed.as_mut()), ["reset".to_owned(), root]);
        run(other.delete(&s, false)).unwrap();
        assert_eq!(told(watch.as_mut()), ["gone"]);
        assert_eq!(told(watch.as_mut()), ["gone"]);
        assert_eq!(told(resumed.as_mut()), ["gone"]);
        let bad = Cursor { generation: String::new(), seq: 0, id: String::new() };
        assert!(run(storage.watch(&s, bad)).is_err());
    });
}

fn extend(disk: &SimDisk, s: &SessionId, bytes: &[u8]) {
    use forkwood_storage::disk::Disk;
    disk.open_append(&sim_path(s)).unwrap().append(bytes).unwrap();
}

#[test]
fn damage_is_told_in_its_place_and_a_line_being_written_is_none() {
    let disk = SimDisk::new();
    let storage = on(&disk);
    let s = create(&storage, "s1");
    let mut watch = from_start(&storage, &s);
    assert_eq!(told(watch.as_mut()).len(), 1);
    let line = |n: u64| {
        format!(r#"{{"id":"{}","parentId":"x","timestamp":1.0,"type":"label","label":"l"}}"#, id(n))
            + "\n"
    };
    let (start, end) = (line(1)[..40].to_owned(), line(1)[40..].to_owned());
    extend(&disk, &s, start.as_bytes());
    assert_eq!(told(watch.as_mut()), Vec::<String>::new());
    extend(&disk, &s, end.as_bytes());
    assert_eq!(told(watch.as_mut()), strings([1]));
    extend(&disk, &s, format!("oops\n{}nothing\n", line(2)).as_bytes());
    assert_eq!(told(watch.as_mut()), ["bad-json 3", id(2).as_str(), "bad-json 5"]);
    assert_eq!(told(watch.as_mut()), Vec::<String>::new());
    extend(&disk, &s, line(3).as_bytes());
    assert_eq!(told(watch.as_mut()), strings([3]));
    // One that starts later is told what lies behind its cursor only.
    let mut all = from_start(&storage, &s);
    let root = root(&storage, &s).to_string();
    let expected =
        [root, id(1).to_string(), "bad-json 3".into(), id(2).to_string(), "bad-json 5".into()];
    assert_eq!(told(all.as_mut())[..5], expected);
    // A body that turns out damaged when it is read.
    let broken = line(4).replace("\"label\":\"l\"", "\"label\":l");
    extend(&disk, &s, format!("{broken}{}", line(5)).as_bytes());
    assert_eq!(told(watch.as_mut()), ["bad-json 7", id(5).as_str()]);
    let found = kinds(&run(storage.check(&s)).unwrap());
    assert_eq!(found.iter().filter(|kind| **kind == DiagnosticKind::BadJson).count(), 3);
}

#[test]
fn a_file_that_was_cut_or_replaced_starts_again() {
    let disk = SimDisk::new();
    let storage = on(&disk);
    let s = create(&storage, "s1");
    append(&storage, &s, vec![user(1, "one")]);
    let short = disk.bytes(&sim_path(&s)).unwrap();
    append(&storage, &s, vec![user(2, "two")]);
    let mut watch = from_start(&storage, &s);
    assert_eq!(told(watch.as_mut()).len(), 3);
    disk.put(&sim_path(&s), &short);
    assert_eq!(told(watch.as_mut()).len(), 3);
    append(&storage, &s, vec![user(3, "three")]);
    assert_eq!(told(watch.as_mut()), strings([3]));
    // Another entry of the same length where the last one stood.
    let other = String::from_utf8(disk.bytes(&sim_path(&s)).unwrap()).unwrap();
    let other = other.replace(id(3).as_str(), id(4).as_str());
    disk.put(&sim_path(&s), other.as_bytes());
    assert_eq!(told(watch.as_mut())[0], "reset");
}
