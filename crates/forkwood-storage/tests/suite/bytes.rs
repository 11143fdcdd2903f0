//! A session file cut at every byte, and with every byte changed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forkwood_core::entry::Operation;
use forkwood_core::{Block, Body, Content, Draft, EntryId, Json, Message, Role};
use forkwood_storage::disk::SimDisk;
use forkwood_storage::jsonl::JsonlStorage;
use forkwood_storage::{Append, LaneState, Page, PathStop, SessionStorage};

use crate::common::*;

const NAME: &str = "20260101-000000-00000001";

fn full() -> bool {
    std::env::var_os("FORKWOOD_TEST_FULL").is_some()
}

struct File {
    path: PathBuf,
    bytes: Vec<u8>,
    /// Start and end of each line, its line end left out.
    lines: Vec<(usize, usize)>,
    /// The id and body of the entry of each line.
    entries: Vec<(EntryId, Body)>,
    /// The lines that must be there for this one to be: those of its batch.
    batches: Vec<(usize, usize)>,
}

/// A small session with every type of entry, batches and lanes.
fn file() -> File {
    let disk = SimDisk::new();
    let storage = on(&disk);
    let s = create(&storage, NAME);
    let json = |text: &str| Json::parse(text).unwrap();
    let body = |n: u64, body: Body| Draft::new(id(n), body);
    let call = Block::tool_call("call_1", "read", json(r#"{"path":"a"}"#));
    let mut says = Message::new(Role::Assistant, Content::Blocks(vec![Block::text("hm"), call]));
    says.model = Some("m".into());
    let mut batches = vec![(0, 0)];
    let mut writes = vec![
        vec![user(1, "h\u{e9}llo {\"id\":\"x\"}")],
        vec![
            body(2, Body::ModelChange { model: "m".into(), provider: Some("p".into()) }),
            body(3, Body::ThinkingLevelChange { thinking_level: "low".into() }),
            body(4, Body::ActiveToolsChange { active_tool_names: vec!["read".into()] }),
        ],
        vec![Draft::new(id(5), says)],
        vec![Draft::new(id(6), Message::tool("call_1", "ok")), label(7, "l", Some(&id(1)))],
        vec![compaction(8, "short", Some(&id(5)))],
        vec![body(9, Body::BranchSummary { summary: "b".into(), from_id: None, details: None })],
        vec![custom(10, r#"{"id":"in","type":"leaf","leafId":"e"}"#, false)],
        vec![custom(11, "{}", true)],
        vec![body(
            12,
            Body::CustomMessage {
                namespace: "t".into(),
                content: Content::Text("c".into()),
                display: true,
            },
        )],
        vec![body(13, Body::ContextEdit { target_id: id(1), replacement: None })],
        vec![body(
            14,
            Body::Usage {
                kind: "k".into(),
                provider: "p".into(),
                model: "m".into(),
                usage: json(r#"{"in":1}"#),
            },
        )],
        vec![body(
            15,
            Body::Operation(Operation {
                operation_id: "o".into(),
                phase: "started".into(),
                kind: "run".into(),
                outcome: None,
                data: None,
            }),
        )],
        vec![title(16, "named")],
    ];
    writes.push(vec![leaf(17, &id(5)), user(18, "again")]);
    for drafts in writes {
        batches.extend(vec![(batches.len(), batches.len() + drafts.len() - 1); drafts.len()]);
        append(&storage, &s, drafts);
    }
    let side = Append { lane: lane("side"), ..write(vec![leaf(19, &id(1)), user(20, "side")]) };
    batches.extend([(batches.len(), batches.len() + 1); 2]);
    run(storage.append(&s, side)).unwrap();
    let mut bytes = disk.bytes(&sim_path(&s)).unwrap();
    if !full() {
        // Short ids: fewer bytes to go through.
        let text = String::from_utf8(bytes).unwrap();
        bytes = text.replace("0192f0c1a2b3700000000000000000", "").into_bytes();
    }
    disk.put(&sim_path(&s), &bytes);
    let mut lines = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let start = lines.last().map_or(0, |(_, end)| end + 1);
        lines.push((start, start + line.len() - 1));
    }
    let entries = entries(&storage, &s).into_iter().map(|entry| (entry.id, entry.body)).collect();
    File { path: sim_path(&s), bytes, lines, entries, batches }
}

/// Where the lanes stand, and the paths to there.
type View = (Vec<LaneState>, Vec<Vec<EntryId>>);

fn view(storage: &dyn SessionStorage, s: &forkwood_core::SessionId) -> View {
    let lanes = lanes(storage, s);
    let paths = lanes.iter().filter_map(|state| state.leaf.as_ref());
    let paths = paths.map(|leaf| path(storage, s, leaf)).collect();
    for leaf in lanes.iter().filter_map(|state| state.leaf.as_ref()) {
        run(storage.path(s, leaf, PathStop::Context)).unwrap();
    }
    (lanes, paths)
}

fn open(disk: &SimDisk, path: &Path) -> Option<(JsonlStorage, forkwood_core::SessionId)> {
    JsonlStorage::file(path, options(&clock()).with_disk(Arc::new(disk.clone()))).ok()
}

impl File {
    /// Looks at damaged bytes in every way. `touched` are the bytes that differ or are gone.
    fn try_bytes(&self, bytes: &[u8], touched: std::ops::Range<usize>, what: &str) {
        let disk = SimDisk::volatile();
        disk.put(&self.path, bytes);
        let listing = run(on(&disk).list(Page::default())).unwrap();
        assert_eq!(listing.rows.len() + listing.problems.len(), 1, "{what}");
        let header_end = self.lines[0].1;
        let Some((quick, s)) = open(&disk, &self.path) else {
            assert!(touched.start <= header_end, "{what}: does not open");
            assert_eq!(listing.problems.len(), 1, "{what}");
            return;
        };
        assert_eq!(listing.rows.len(), 1, "{what}");
        let first_heads = heads(&quick, &s);
        let seen = view(&quick, &s);
        let (full, _) = open(&disk, &self.path).unwrap();
        let findings = run(full.check(&s)).unwrap();
        let checked = view(&full, &s);
        assert_eq!(seen, checked, "{what}");
        let last_heads = heads(&full, &s);
        let damaged = findings.iter().any(|finding| finding.is_damage());
        if !damaged {
            assert_eq!(first_heads, last_heads, "{what}");
        }
        // Until a body is asked for, an entry whose start is well may be told of.
        let quick_ids: HashMap<_, _> = first_heads.iter().map(|head| (&head.id, head)).collect();
        for head in &last_heads {
            let before = quick_ids.get(&head.id);
            assert!(before.is_some_and(|before| before.seq == head.seq), "{what}: {head:?}");
        }
        self.intact(&quick, &s, bytes, &touched, what);
        assert_eq!(disk.bytes(&self.path).unwrap(), bytes, "{what}: reading wrote");
        let writable = run(quick.facts(&s)).unwrap().read_only.is_none();
        if !writable {
            assert!(touched.start <= header_end, "{what}");
            return;
        }
        let before = checked.0[0].leaf.clone();
        let done = append(&full, &s, vec![user(900, "after"), answer(901, "all")]);
        assert_eq!(done.entries[0].parent_id, before, "{what}");
        let (again, _) = open(&disk, &self.path).unwrap();
        for storage in [&again, &quick] {
            assert_eq!(leaf_of(storage, &s, "main"), Some(id(901)), "{what}");
            let there = ids(storage, &s);
            assert_eq!(&there[there.len() - 2..], [id(900), id(901)], "{what}");
        }
        self.intact(&again, &s, bytes, &touched, what);
    }

    /// Every entry whose line and whose batch were not touched is there and says what it said.
    fn intact(
        &self,
        storage: &dyn SessionStorage,
        s: &forkwood_core::SessionId,
        bytes: &[u8],
        touched: &std::ops::Range<usize>,
        what: &str,
    ) {
        let end = self.bytes.len().min(bytes.len().max(touched.end));
        let whole = |line: usize| {
            let (start, stop) = self.lines[line];
            let hit = touched.start <= stop && touched.end > start;
            // The line end before it may be what was changed.
            let glued = start > 0 && touched.contains(&(start - 1));
            !hit && !glued && stop < end
        };
        let cut = touched.end == self.bytes.len() && touched.len() > 1;
        let fine: Vec<usize> = (0..self.entries.len())
            .filter(|line| {
                let (first, last) = self.batches[*line];
                whole(*line) && (!cut || (first..=last).all(whole))
            })
            .collect();
        let asked: Vec<EntryId> = fine.iter().map(|line| self.entries[*line].0.clone()).collect();
        let found = run(storage.get(s, &asked)).unwrap();
        for (line, found) in fine.into_iter().zip(found) {
            let (id, body) = &self.entries[line];
            let mut found = found;
            if found.as_ref().is_none_or(|found| found.entry.body != *body) {
                // Where another line took its id, it is known by its line.
                let renamed = EntryId::from(format!("{id}@{}", line + 1));
                found = run(storage.get(s, &[renamed])).unwrap().remove(0);
            }
            let found = found.unwrap_or_else(|| panic!("{what}: line {} is lost", line + 1));
            assert_eq!(found.entry.body, *body, "{what}");
        }
    }
}

#[test]
fn cut_at_every_byte() {
    let file = file();
    let end = file.bytes.len();
    for cut in 1..end {
        file.try_bytes(&file.bytes[..cut], cut..end, &format!("cut at {cut}"));
    }
    let disk = SimDisk::new();
    disk.put(&file.path, b"");
    assert!(open(&disk, &file.path).is_none());
    assert_eq!(run(on(&disk).list(Page::default())).unwrap().problems[0].kind, "empty");
}

/// Changes every byte. Without `FORKWOOD_TEST_FULL` every fourth one: the four tests together
/// change each byte once, in one of four ways.
fn flip(turn: usize, change: impl Fn(u8) -> u8, what: &str) {
    let full = full();
    let file = file();
    let mut bytes = file.bytes.clone();
    for at in (0..bytes.len()).filter(|at| full || at % 4 == turn) {
        let before = bytes[at];
        bytes[at] = change(before);
        if bytes[at] != before {
            file.try_bytes(&bytes, at..at + 1, &format!("byte {at} {what}"));
        }
        bytes[at] = before;
    }
}

#[test]
fn the_lowest_bit_of_every_byte_flips() {
    flip(0, |byte| byte ^ 1, "with its lowest bit flipped");
}

#[test]
fn the_highest_bit_of_every_byte_flips() {
    flip(1, |byte| byte ^ 0x80, "with its highest bit flipped");
}

#[test]
fn every_byte_becomes_nul() {
    flip(2, |_| 0, "set to NUL");
}

#[test]
fn every_byte_becomes_a_line_end() {
    flip(3, |_| b'\n', "set to LF");
}
