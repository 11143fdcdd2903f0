//! Damaged files of Pi through the program: each opens, or is refused, as the rules for faults
//! say; what can be read is kept; reading changes nothing; what is appended reads back.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cases_common;

use cases_common::{Desk, name_of, session_files};

/// What becomes of a file.
enum Fate {
    /// No session; the kind of the error.
    Refused(&'static str),
    /// Its entries can be read, and a new header line makes it whole.
    Headless(&'static [&'static str]),
    /// It belongs to a program that would not take a line of ours.
    ReadOnly(usize),
    /// Path, and the kinds of what is told.
    Open(&'static [&'static str], &'static [&'static str]),
}

use Fate::{Headless, Open, ReadOnly, Refused};

const FOUR: &[&str] = &["00000001", "00000002", "00000003", "00000004"];

const FATES: &[(&str, Fate)] = &[
    ("01-empty", Refused("damaged")),
    ("02-whitespace-only", Refused("damaged")),
    ("05-garbage", Refused("unsupported")),
    ("06-no-header", Headless(FOUR)),
    ("07-torn-last-line", Open(&["00000001", "00000002", "00000003"], &["torn-tail"])),
    ("08-last-line-complete-no-newline", Open(FOUR, &["unterminated"])),
    ("12-missing-parent", Open(FOUR, &["missing-parent"])),
    ("13-duplicate-ids", Open(FOUR, &["duplicate-conflict"])),
    ("14-duplicate-header", Open(FOUR, &["duplicate-header"])),
    ("17-json-number-line", Open(FOUR, &["wrong-shape"])),
    ("18-json-array-line", Open(FOUR, &["wrong-shape"])),
    ("21-bom", Open(FOUR, &["bom"])),
    ("23-nul-run-in-middle", Open(FOUR, &["nul-run"])),
    ("24-nul-run-at-end", Open(FOUR, &["nul-run"])),
    ("25-nul-run-glued-to-next", Open(FOUR, &["nul-run"])),
    ("26-self-parent", Open(&["00000001", "00000002", "00000003"], &["cycle"])),
    ("27-cycle", Open(&["00000001", "00000002"], &["cycle"])),
    ("28-cycle-off-leaf", Open(FOUR, &["cycle", "odd-field", "odd-field"])),
    ("30-parentId-undefined", Open(&["00000001", "00000002"], &[])),
    ("31-parentId-empty-string", Open(&["00000001", "00000002"], &[])),
    (
        "33-missing-timestamp",
        Open(&["00000001", "00000002", "00000004"], &["odd-field", "odd-field"]),
    ),
    ("34-tree-order-equal-and-reversed-ts", Open(&["00000001", "00000010"], &["odd-field"])),
    ("36-message-missing", Open(&["00000001", "00000002"], &["odd-field"])),
    ("41-header-numeric-id", Headless(FOUR)),
    ("42-header-no-cwd", Open(FOUR, &[])),
    ("43-header-cwd-missing-dir", Open(FOUR, &[])),
    ("44-long-header-over-512", Open(FOUR, &[])),
    ("45-harness-v4", ReadOnly(3)),
    ("46-invalid-utf8", Open(FOUR, &["not-utf8"])),
    ("48-v1-ids-already-present", Open(&[], &["old-version"])),
    (
        "49-label-on-missing-target",
        Open(&["00000001", "00000002", "00000003", "00000004", "00000005"], &["unknown-target"]),
    ),
    ("50-deep-unicode-ls", Open(&["00000001", "00000002"], &[])),
];

/// Every reading command ends, and changes nothing. Gives whether the file can be read.
fn reads(desk: &Desk, name: &str) -> bool {
    let file = format!("./{name}");
    let mut codes = Vec::new();
    for args in [
        vec!["context", &file],
        vec!["context", &file, "--json"],
        vec!["context", &file, "--shape", "pi", "--json"],
        vec!["context", &file, "--no-bridge", "--json"],
        vec!["tree", &file],
        vec!["tree", &file, "--json"],
        vec!["show", &file],
        vec!["branches", &file],
        vec!["resume", &file],
        vec!["path", &file],
    ] {
        codes.push(desk.reading(&args).code);
    }
    desk.list(&["--dir", "."]);
    assert!(codes[..9].iter().all(|code| *code == codes[0]), "{name}: {codes:?}");
    codes[0] == 0
}

#[test]
fn each_opens_or_is_refused() {
    let mut checked = 0;
    for path in session_files("pi/bad") {
        let name = name_of(&path);
        let stem = name.trim_end_matches(".jsonl");
        let desk = Desk::new(&name);
        desk.copy(&path);
        let readable = reads(&desk, &name);
        let Some((_, fate)) = FATES.iter().find(|(case, _)| *case == stem) else { continue };
        checked += 1;
        let old = desk.bytes(&name);
        match fate {
            Refused(kind) => {
                assert!(!readable, "{name}");
                for command in ["context", "check", "tree", "show"] {
                    assert_eq!(desk.reading(&[command, &name, "--json"]).refused(), *kind);
                }
                assert_eq!(desk.run(&["append", &name, "x", "--json"]).refused(), *kind);
                let (rows, notes) = desk.list(&["--dir", "."]);
                assert!(rows.is_empty() && notes.contains(&name), "{name}: {notes}");
                assert_eq!(desk.bytes(&name), old);
            }
            Headless(path) => headless(&desk, &name, path),
            ReadOnly(length) => {
                let context = desk.pi_context(&name);
                assert_eq!(context.get("path").list().len(), *length);
                assert_eq!(desk.run(&["append", &name, "x", "--json"]).refused(), "read_only");
                assert_eq!(desk.bytes(&name), old);
            }
            Open(path, kinds) => {
                assert!(readable, "{name}");
                let context = desk.pi_context(&name);
                if !path.is_empty() {
                    assert_eq!(context.get("path").texts(), *path, "{name}");
                }
                assert_eq!(desk.kinds(&name), *kinds, "{name}");
                let (rows, _) = desk.list(&["--dir", "."]);
                assert_eq!(rows.len(), 1, "{name}");
                if kinds.contains(&"old-version") {
                    desk.append(&name, "after recovery");
                    assert!(desk.said(&name).contains(&"user after recovery".to_owned()));
                } else {
                    desk.append_reads_back(&name);
                }
            }
        }
    }
    assert!(checked >= 20, "{checked}");
}

/// No header: read-only, until a repair that keeps the old file.
fn headless(desk: &Desk, name: &str, path: &[&str]) {
    let old = desk.bytes(name);
    assert_eq!(desk.pi_context(name).get("path").texts(), path, "{name}");
    assert!(desk.kinds(name).contains(&"no-header".to_owned()), "{name}");
    assert_eq!(desk.run(&["append", name, "x", "--json"]).refused(), "read_only", "{name}");
    assert_eq!(desk.bytes(name), old);
    let before = desk.said(name);
    let repair = desk.run(&["check", name, "--repair"]);
    assert_eq!(repair.code, 0, "{name}: {} {}", repair.stdout, repair.stderr);
    let kept =
        desk.files().into_iter().any(|(path, bytes)| path != desk.file(name) && bytes == old);
    assert!(kept, "{name}: no copy of the old file in {:?}", desk.names());
    assert_eq!(desk.said(name), before, "{name}");
    assert_eq!(desk.pi_context(name).get("path").texts(), path, "{name}");
    desk.append_reads_back(name);
}

/// All of them beside a good one: it is listed, and each of the others is a row or a note.
#[test]
fn a_folder_full_of_them() {
    let desk = Desk::new("bad");
    let files = session_files("pi/bad");
    for path in &files {
        desk.copy(path);
    }
    desk.put("good.jsonl", cases_common::pi::PiFile::talk());
    let (rows, notes) = desk.list(&["--dir", "."]);
    assert!(rows.iter().any(|row| row.get("id").text() == cases_common::pi::ID));
    for path in &files {
        let name = name_of(path);
        let listed = rows.iter().any(|row| row.get("path").text().ends_with(&format!("/{name}")));
        assert!(listed != notes.contains(&format!("/{name}: ")), "{name}: {notes}");
    }
}

/// Each of them forked into the store: what is read is carried over, damage is not.
#[test]
fn forks_leave_the_damage_behind() {
    for path in session_files("pi/bad") {
        let name = name_of(&path);
        let desk = Desk::new(&name);
        desk.copy(&path);
        let old = desk.bytes(&name);
        let fork = desk.run(&["fork", &name]);
        assert_eq!(desk.bytes(&name), old);
        if fork.code != 0 {
            let stem = name.trim_end_matches(".jsonl");
            let fate = FATES.iter().find(|(case, _)| *case == stem);
            assert!(matches!(fate, None | Some((_, Refused(_)))), "{name}: {}", fork.stderr);
            continue;
        }
        let id = fork.ok().to_owned();
        let (ours, theirs) = (desk.context(&id), desk.context(&name));
        assert_eq!(ours.get("messages"), theirs.get("messages"), "{name}");
        let (found, damaged) = desk.check(&id);
        assert!(!damaged, "{name}: {found:?}");
    }
}
