//! What is read out of damaged files, and what the next append does to them.

use std::path::PathBuf;

use forkwood_core::{DiagnosticKind, EntryId, SessionId};
use forkwood_storage::disk::SimDisk;
use forkwood_storage::jsonl::JsonlStorage;
use forkwood_storage::{Page, Rewrite, SessionStorage};

use crate::common::*;

const NAME: &str = "20260101-000000-00000001";

struct Damaged {
    disk: SimDisk,
    storage: JsonlStorage,
    s: SessionId,
}

fn header() -> String {
    format!(
        r#"{{"id":"root","parentId":null,"timestamp":1.0,"type":"session_info","sessionId":"{NAME}","version":1,"generation":"g"}}"#
    )
}

fn says(id: &str, parent: &str, more: &str) -> String {
    format!(
        r#"{{"id":"{id}","parentId":"{parent}","timestamp":2.0,"type":"message",{more}"message":{{"role":"user","content":"{id}"}}}}"#
    )
}

/// A file of a header and these bytes.
fn with(rest: impl AsRef<[u8]>) -> Damaged {
    with_bytes(&[header().as_bytes(), b"\n", rest.as_ref()].concat())
}

fn with_lines(lines: &[String]) -> Damaged {
    with(lines.join("\n") + "\n")
}

fn with_bytes(bytes: &[u8]) -> Damaged {
    let disk = SimDisk::new();
    disk.put(&sim_path(&sid(NAME)), bytes);
    Damaged { storage: on(&disk), disk, s: sid(NAME) }
}

impl Damaged {
    fn ids(&self) -> Vec<String> {
        ids(&self.storage, &self.s).iter().map(ToString::to_string).collect()
    }

    fn path(&self, to: &str) -> Vec<String> {
        path(&self.storage, &self.s, &EntryId::from(to)).iter().map(ToString::to_string).collect()
    }

    fn leaf(&self) -> String {
        leaf_of(&self.storage, &self.s, "main").unwrap().to_string()
    }

    fn check(&self) -> Vec<DiagnosticKind> {
        kinds(&run(self.storage.check(&self.s)).unwrap())
    }

    fn bytes(&self) -> Vec<u8> {
        self.disk.bytes(&sim_path(&self.s)).unwrap()
    }

    /// Appends, and looks whether it reads back from the disk.
    fn goes_on(&self) {
        append(&self.storage, &self.s, vec![user(1, "after")]);
        let fresh = on(&self.disk);
        assert_eq!(ids(&fresh, &self.s).last(), Some(&id(1)));
        assert_eq!(leaf_of(&fresh, &self.s, "main"), Some(id(1)));
    }

    fn torn_files(&self) -> Vec<PathBuf> {
        let files = self.disk.files().into_iter();
        files.filter(|file| file.to_string_lossy().contains(".torn-")).collect()
    }
}

#[test]
fn a_torn_tail_is_kept_beside_the_file_and_cut() {
    let whole = says("a", "root", "") + "\n";
    for torn in ["{\"id\":\"b\",\"par", "garbage", "\0\0\0\0", "\u{fffd}\u{e9}", "[1,2", "null"] {
        let file = with(whole.clone() + torn);
        assert_eq!(file.ids(), ["root", "a"], "{torn:?}");
        assert_eq!(file.leaf(), "a");
        let before = file.bytes();
        assert_eq!(file.check().len(), 1, "{torn:?}");
        assert_eq!(file.bytes(), before);
        file.goes_on();
        assert!(file.bytes().starts_with(&before[..before.len() - torn.len()]));
        let kept = file.torn_files();
        assert_eq!(kept.len(), 1);
        assert_eq!(file.disk.bytes(&kept[0]).unwrap(), torn.as_bytes());
        assert_eq!(file.check(), []);
    }
}

#[test]
fn a_whole_last_line_gets_its_line_end() {
    let file = with(says("a", "root", ""));
    assert_eq!(file.ids(), ["root", "a"]);
    assert_eq!(file.check(), [DiagnosticKind::Unterminated]);
    let before = file.bytes();
    file.goes_on();
    assert!(file.bytes().starts_with(&[&before[..], b"\n{"].concat()));
    assert!(file.torn_files().is_empty());
    assert_eq!(file.check(), []);
}

#[test]
fn an_unfinished_batch_is_left_out_whole() {
    let lines =
        [says("a", "root", ""), says("b", "a", "\"more\":2,"), says("c", "b", "\"more\":1,")];
    let file = with_lines(&lines);
    assert_eq!((file.ids(), file.leaf()), (vec!["root".into(), "a".into()], "a".into()));
    assert_eq!(file.check(), [DiagnosticKind::UnfinishedBatch]);
    file.goes_on();
    assert_eq!(file.torn_files().len(), 1);
    let finished = with_lines(&[&lines[..], &[says("d", "c", "")]].concat());
    assert_eq!(finished.ids(), ["root", "a", "b", "c", "d"]);
    assert_eq!(finished.check(), []);
    // Others wrote behind it: it is not at the end any more, and stays.
    let followed =
        with_lines(&[&lines[..], &[says("x", "a", "\"more\":5,"), says("y", "a", "")]].concat());
    assert_eq!(followed.ids(), ["root", "a", "b", "c", "x", "y"]);
    // A damaged line counts as one of its batch.
    let broken = with_lines(&[lines[1].clone(), lines[2].clone(), "{\"id\":\"d\",".into()]);
    assert_eq!(broken.ids(), ["root", "b", "c"]);
    broken.goes_on();
    // Data that never reached the disk does not.
    let lost = with_lines(&[lines[1].clone(), "\0".repeat(100), says("d", "c", "")[..40].into()]);
    assert_eq!(lost.ids(), ["root"]);
}

#[test]
fn odd_line_ends_blanks_and_marks_are_read_around() {
    let lines = [header(), says("a", "root", ""), says("b", "a", "")];
    for (bytes, found) in [
        (lines.join("\r\n") + "\r\n", vec![]),
        (lines.join("\n\n  \n\t\n") + "\n\n", vec![]),
        (format!("\u{feff}{}\n", lines.join("\n")), vec![DiagnosticKind::Bom]),
        (format!("\n\n{}\n", lines.join("\n")), vec![]),
    ] {
        let file = with_bytes(bytes.as_bytes());
        assert_eq!(file.ids(), ["root", "a", "b"], "{bytes:?}");
        assert_eq!(file.check(), found, "{bytes:?}");
        let stored = run(file.storage.read(&file.s, 0, 10)).unwrap().entries;
        for stored in &stored {
            let offset = usize::try_from(stored.offset.unwrap()).unwrap();
            let raw = stored.raw.as_ref().unwrap();
            assert_eq!(&bytes.as_bytes()[offset..offset + raw.len()], &raw[..]);
        }
        file.goes_on();
        for rewrite in [Rewrite::Repair, Rewrite::Vacuum { prune_branches: true }] {
            run(file.storage.rewrite(&file.s, rewrite)).unwrap();
            assert_eq!(file.ids().len(), 4);
        }
        run(file.storage.rewrite(&file.s, Rewrite::Reset)).unwrap();
        assert_eq!(file.ids(), ["root"]);
    }
}

#[test]
fn one_bad_line_costs_one_record() {
    let bad: [&[u8]; 9] = [
        b"{\"id\":\"x\",",
        b"[]",
        b"null",
        b"42",
        b"\"text\"",
        b"{\"type\":\"message\"}",
        b"{\"id\":7,\"type\":\"message\"}",
        b"{\"id\":\"\",\"type\":\"message\"}",
        b"\x80\xff",
    ];
    for bad in bad {
        let (a, b) = (says("a", "root", ""), says("b", "a", ""));
        let file = with([a.as_bytes(), b"\n", bad, b"\n", b.as_bytes(), b"\n"].concat());
        let what = String::from_utf8_lossy(bad).into_owned();
        assert_eq!(file.ids(), ["root", "a", "b"], "{what}");
        assert_eq!(file.path("b"), ["root", "a", "b"], "{what}");
        let found = run(file.storage.check(&file.s)).unwrap();
        assert_eq!((found.len(), found[0].line), (1, Some(3)), "{what}: {found:?}");
        assert_eq!(found[0].offset, Some((header().len() + a.len() + 2) as u64), "{what}");
        file.goes_on();
        assert_eq!(run(file.storage.list(Page::default())).unwrap().rows[0].damage, 1, "{what}");
        run(file.storage.rewrite(&file.s, Rewrite::Vacuum { prune_branches: false })).unwrap();
        assert_eq!(file.check(), [], "{what}");
        assert_eq!(file.ids().len(), 4, "{what}");
    }
}

#[test]
fn bytes_that_are_not_utf8_are_shown_and_kept() {
    let line = says("a", "root", "").replace("\"content\":\"a\"", "\"content\":\"x?y\"");
    let mut bytes = line.into_bytes();
    let at = bytes.iter().rposition(|byte| *byte == b'?').unwrap();
    bytes[at] = 0xff;
    bytes.push(b'\n');
    let file = with(&bytes);
    assert_eq!(file.ids(), ["root", "a"]);
    assert_eq!(file.check(), [DiagnosticKind::NotUtf8]);
    let stored = &entries(&file.storage, &file.s)[1];
    assert_eq!(stored.message().unwrap().content.text(), "x\u{fffd}y");
    file.goes_on();
    assert!(file.bytes().windows(bytes.len()).any(|window| window == bytes));
}

#[test]
fn records_on_one_line_are_all_read() {
    let (a, b) = (says("a", "root", ""), says("b", "a", ""));
    for glued in [
        format!("{a}{b}\n"),
        format!("{a} \0 {b}\n"),
        format!("{}{a}\n{b}\n", "{\"id\":\"t\",\"type\":\"message\",\"message\":{\"role\":\"us"),
        format!("{}{a}\n{b}\n", "{\"id\":\"t\",\"x\":{\"a\":1}"),
        format!("\0\0\0\0{a}\n{b}\n"),
    ] {
        let file = with(&glued);
        assert_eq!(file.ids(), ["root", "a", "b"], "{glued:?}");
        assert_eq!(file.path("b"), ["root", "a", "b"]);
        assert!(!file.check().is_empty());
        file.goes_on();
        run(file.storage.rewrite(&file.s, Rewrite::Repair)).unwrap();
        assert_eq!(file.ids().len(), 4, "{glued:?}");
    }
    let raw = [a.as_bytes(), b"\x8a", b.as_bytes(), b"\n"].concat();
    let file = with(raw);
    assert_eq!(file.ids(), ["root", "a", "b"]);
    assert_eq!(entries(&file.storage, &file.s)[2].message().unwrap().content.text(), "b");
    // What is inside of a torn record is no record.
    let inside = format!("{{\"id\":\"t\",\"type\":\"custom\",\"data\":{a}");
    let file = with(format!("{b}\n{inside}"));
    assert_eq!(file.ids(), ["root", "b"]);
}
