//! More faults of each kind: files that are links, pipes, gone, copied or not ours to write. The
//! inputs are made here.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cases_common;

use std::os::unix::fs::{MetadataExt, symlink};
use std::process::Command;

use cases_common::json::Json;
use cases_common::pi::{ID, PiFile};
use cases_common::{Desk, mode};
use forkwood::blocking::SessionStore;
use forkwood::{ErrorKind, Message};

#[test]
fn links_pipes_and_folders() {
    let desk = Desk::with("links", PiFile::talk());
    symlink("s.jsonl", desk.file("link.jsonl")).unwrap();
    symlink("nowhere.jsonl", desk.file("dangling.jsonl")).unwrap();
    symlink("/etc/passwd", desk.file("out.jsonl")).unwrap();
    symlink(".", desk.file("loop.jsonl")).unwrap();
    std::fs::create_dir(desk.file("folder.jsonl")).unwrap();
    assert!(Command::new("mkfifo").arg(desk.file("pipe.jsonl")).status().unwrap().success());
    let (rows, notes) = desk.list(&["--dir", "."]);
    assert_eq!(rows.len(), 1);
    for name in ["link", "dangling", "out", "loop", "folder", "pipe"] {
        assert!(notes.contains(&format!("/{name}.jsonl: ")), "{name}: {notes}");
    }
    assert!(!notes.contains("root:"), "{notes}");
    for name in ["dangling", "out", "loop", "folder", "pipe"] {
        let file = format!("./{name}.jsonl");
        for args in [vec!["context", &file], vec!["append", &file, "x"], vec!["check", &file]] {
            let run = desk.run(&args);
            assert_eq!(run.code, 1, "{args:?}");
            assert!(!run.stderr.contains("root:"), "{args:?}: {}", run.stderr);
        }
    }
    assert!(!desk.file("nowhere.jsonl").exists());
    for device in ["/dev/null", "/dev/zero"] {
        assert_eq!(desk.run(&["context", device]).code, 1);
        assert_eq!(desk.run(&["append", device, "x"]).code, 1);
    }
    // A link that somebody names is followed, and stays one.
    desk.append("./link.jsonl", "by the link");
    assert!(desk.said("./s.jsonl").contains(&"user by the link".to_owned()));
    assert!(desk.file("link.jsonl").symlink_metadata().unwrap().is_symlink());
    desk.run(&["check", "./link.jsonl", "--repair"]).ok();
    assert!(desk.file("link.jsonl").symlink_metadata().unwrap().is_symlink());
}

/// A file that another program replaced, emptied, cut or took away under an open session.
#[test]
fn files_that_change_under_an_open_session() {
    let old = PiFile::talk();
    let open = |desk: &Desk| {
        let formats = forkwood_formats::formats();
        SessionStore::open_file(&desk.file("s.jsonl"), &formats).unwrap()
    };
    let desk = Desk::with("gone", old.clone());
    let mut session = open(&desk);
    std::fs::remove_file(desk.file("s.jsonl")).unwrap();
    let error = session.append(Message::user("x")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Gone);
    assert!(!desk.file("s.jsonl").exists());

    let desk = Desk::with("other session", old.clone());
    let mut session = open(&desk);
    let other = old.text().replace(ID, "01940000-0000-7000-8000-00000000beef").replace("q1", "Q1");
    desk.put("new.jsonl", other.clone());
    std::fs::rename(desk.file("new.jsonl"), desk.file("s.jsonl")).unwrap();
    drop(session.append(Message::user("x")));
    assert!(desk.bytes("s.jsonl").starts_with(other.as_bytes()));
    desk.pi_context("s.jsonl");

    let desk = Desk::with("longer", old.clone());
    let mut session = open(&desk);
    desk.put("new.jsonl", old.clone().user("00000005", "00000004", "theirs"));
    std::fs::rename(desk.file("new.jsonl"), desk.file("s.jsonl")).unwrap();
    let error = session.append(Message::user("x")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert_eq!(desk.said("s.jsonl").last().unwrap(), "user theirs");

    let desk = Desk::with("emptied", old.clone());
    let mut session = open(&desk);
    std::fs::write(desk.file("s.jsonl"), b"").unwrap();
    session.append(Message::user("x")).unwrap_err();
    assert_eq!(desk.bytes("s.jsonl"), b"");

    let desk = Desk::with("cut", old.clone());
    let mut session = open(&desk);
    let bytes: Vec<u8> = old.into();
    std::fs::write(desk.file("s.jsonl"), &bytes[..bytes.len() - 100]).unwrap();
    let error = session.append(Message::user("x")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    desk.append_reads_back("s.jsonl");
}

#[test]
fn copies_with_one_id() {
    let desk = Desk::new("copies");
    desk.put("a.jsonl", PiFile::talk());
    desk.put("b.jsonl", PiFile::talk().user("00000005", "00000004", "only in b"));
    let rows = desk.list(&["--dir", "."]).0;
    assert_eq!(rows.len(), 2);
    for args in [
        vec!["context", "--dir", ".", ID, "--json"],
        vec!["append", "--dir", ".", ID, "x", "--json"],
        vec!["rm", "--dir", ".", ID, "--json"],
    ] {
        let run = desk.run(&args);
        assert_eq!(run.refused(), "ambiguous", "{args:?}");
        assert!(run.stderr.contains("a.jsonl") && run.stderr.contains("b.jsonl"), "{}", run.stderr);
    }
    let prune = ["prune", "--dir", ".", "--older-than", "1d", "--json"];
    assert_eq!(desk.run(&prune).json().get("removed").list(), []);
    // By their paths, each is one.
    desk.append("./b.jsonl", "on");
    assert_eq!(desk.said("./a.jsonl").len(), 4);
    assert_eq!(desk.said("./b.jsonl").len(), 6);
}

#[test]
fn an_id_that_starts_another() {
    let desk = Desk::new("prefixes");
    for id in ["abc", "abcdef", "abcdef-1"] {
        let text = PiFile::talk().text().replace(ID, id);
        desk.put(&format!("x_{id}.jsonl"), text);
    }
    for id in ["abc", "abcdef", "abcdef-1"] {
        let context = desk.read(&["context", "--dir", ".", id, "--json"]);
        assert_eq!(context.get("session").text(), id);
    }
    let run = desk.reading(&["context", "--dir", ".", "ab", "--json"]);
    assert_eq!(run.refused(), "ambiguous");
}

/// A folder without the right to write: reading goes on, writing says why, nothing is left.
#[test]
fn a_folder_that_cannot_be_written() {
    if std::path::Path::new("/proc/self").metadata().is_ok_and(|meta| meta.uid() == 0) {
        // Root may write anywhere.
        return;
    }
    let desk = Desk::new("read-only");
    desk.put("ro/s.jsonl", PiFile::talk());
    mode(&desk.file("ro/s.jsonl"), 0o400);
    mode(&desk.file("ro"), 0o500);
    desk.context("./ro/s.jsonl");
    let run = desk.run(&["append", "./ro/s.jsonl", "x", "--json"]);
    assert!(["io", "read_only"].contains(&run.refused().as_str()), "{}", run.stderr);
    mode(&desk.file("ro"), 0o700);
    assert_eq!(desk.names(), ["ro", "ro/s.jsonl"]);
}

/// Names that other tools trip over.
#[test]
fn names_of_files() {
    let desk = Desk::new("names");
    let names = [
        "with space.jsonl",
        "-rf.jsonl",
        "\u{5b57}\u{1f600}.jsonl",
        "a'b\"c.jsonl",
        "x%2e.jsonl",
        "#.jsonl",
    ];
    for (at, name) in names.iter().enumerate() {
        let id = format!("01940000-0000-7000-8000-0000000000{at:02x}");
        desk.put(name, PiFile::talk().text().replace(ID, &id));
    }
    desk.put("shouting.JSONL", PiFile::talk());
    desk.put(".hidden.jsonl", PiFile::talk());
    desk.put("s.jsonl~", PiFile::talk());
    desk.put("s.jsonl.bak", PiFile::talk());
    let listed = desk.list(&["--dir", "."]).0;
    let mut paths: Vec<String> = listed.iter().map(|row| row.get("path").text()).collect();
    paths.sort();
    let folder = desk.work().canonicalize().unwrap();
    let mut wanted: Vec<String> =
        names.iter().map(|name| folder.join(name).to_str().unwrap().to_owned()).collect();
    wanted.sort();
    assert_eq!(paths, wanted);
    for name in names {
        desk.append(&format!("./{name}"), "on");
        assert_eq!(desk.said(&format!("./{name}")).len(), 5, "{name}");
    }
}

/// A name that is not UTF-8 hides nothing else.
#[test]
fn a_name_that_is_no_text() {
    use std::os::unix::ffi::OsStrExt;
    let desk = Desk::with("bytes", PiFile::talk());
    let name = std::ffi::OsStr::from_bytes(b"odd\xff.jsonl");
    let text = PiFile::talk().text().replace(ID, "01940000-0000-7000-8000-00000000beef");
    // Some file systems hold no such names.
    if std::fs::write(desk.work().join(name), text).is_err() {
        return;
    }
    let run = desk.run(&["list", "--json", "--dir", "."]);
    assert!(run.ok().contains(ID), "{}", run.stdout);
}

/// The context of a large file is what follows its last compaction, and no more is printed.
#[test]
fn a_large_file_after_a_compaction() {
    let (count, size) = if cases_common::faults::full() { (10_000, 10_000) } else { (400, 4_000) };
    let mut file = PiFile::new();
    let mut parent = String::new();
    for at in 0..count {
        let id = format!("{at:08x}");
        file = file.user(&id, &parent, &format!("{at} {}", "x".repeat(size)));
        parent = id;
    }
    let fields = format!(r#""summary":"all of it","firstKeptEntryId":"{parent}","tokensBefore":1"#);
    file =
        file.entry("compaction", "c0000000", &parent, &fields).user("c0000001", "c0000000", "end");
    let desk = Desk::with("large", file);
    let context = desk.context("s.jsonl");
    let messages: Vec<&Json> = context.get("messages").list().iter().collect();
    assert_eq!(messages.len(), 3);
    assert_eq!(messages[2].get("content").text(), "end");
    desk.append_reads_back("s.jsonl");
    let before = desk.run(&["rewind", "./s.jsonl", "00000001"]);
    assert_eq!(before.code, 0, "files of Pi know no floor: {}", before.stderr);
}
