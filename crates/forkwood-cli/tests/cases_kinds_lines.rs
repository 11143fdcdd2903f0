//! More faults of each kind: lines, headers and ids as crashes, copies and other programs leave
//! them. The inputs are made here.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cases_common;

use cases_common::Desk;
use cases_common::pi::{ID, PiFile};

/// A talk of four entries, `00000001` to `00000004`, whose lines are put together anew.
fn lines() -> Vec<String> {
    PiFile::talk().lines
}

fn joined(lines: &[&str]) -> Vec<u8> {
    lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect()
}

const FOUR: [&str; 4] = ["00000001", "00000002", "00000003", "00000004"];

/// Opens, keeps these entries on its path, tells of these findings, and takes an append.
fn opens(name: &str, bytes: impl Into<Vec<u8>>, path: &[&str], kinds: &[&str]) -> Desk {
    let desk = Desk::with(name, bytes);
    let context = desk.pi_context("s.jsonl");
    assert_eq!(context.get("path").texts(), path, "{name}");
    assert_eq!(context.get("session").text(), ID, "{name}");
    assert_eq!(desk.kinds("s.jsonl"), kinds, "{name}");
    for command in ["show", "tree", "context", "branches", "resume"] {
        desk.reading(&[command, "./s.jsonl"]).ok();
    }
    let (rows, notes) = desk.list(&["--dir", "."]);
    assert_eq!((rows.len(), notes.as_str()), (1, ""), "{name}");
    desk.append_reads_back("s.jsonl");
    desk
}

#[test]
fn a_line_torn_in_the_middle_of_the_file() {
    let l = lines();
    for cut in [1, 20, 90, l[3].len() - 1] {
        let bytes = joined(&[&l[0], &l[1], &l[2], &l[3][..cut], &l[4]]);
        opens(
            "torn",
            bytes,
            &["00000001", "00000002", "00000004"],
            &["bad-json", "missing-parent"],
        );
    }
}

/// What is cut at any byte opens with all that was whole, and goes on.
#[test]
fn a_file_cut_at_any_byte_of_its_end() {
    let whole: Vec<u8> = PiFile::talk().into();
    let last = whole.len() - lines()[4].len() - 1;
    for cut in (last..whole.len()).step_by(7).chain([last + 1, whole.len() - 2, whole.len() - 1]) {
        let desk = Desk::with(&format!("cut at {cut}"), &whole[..cut]);
        let left = if cut == whole.len() - 1 { 4 } else { 3 };
        assert_eq!(desk.pi_context("s.jsonl").get("path").texts(), FOUR[..left], "{cut}");
        desk.append_reads_back("s.jsonl");
    }
}

/// What a crash leaves of a header that was just being written.
#[test]
fn a_header_that_was_cut() {
    let header = &lines()[0];
    for cut in [2, 10, 60, header.len() - 1] {
        let desk = Desk::with("cut header", &header[..cut]);
        for args in [["context", "./s.jsonl", "--json"], ["check", "./s.jsonl", "--json"]] {
            assert_eq!(desk.reading(&args).refused(), "damaged", "{cut}");
        }
        assert_eq!(desk.run(&["append", "./s.jsonl", "x", "--json"]).refused(), "damaged");
        assert_eq!(desk.bytes("s.jsonl"), &header.as_bytes()[..cut]);
        let (rows, notes) = desk.list(&["--dir", "."]);
        assert!(rows.is_empty() && notes.contains("s.jsonl: damaged"), "{notes}");
    }
}

#[test]
fn records_glued_to_each_other() {
    let l = lines();
    let two = format!("{}{}", l[0], l[0]);
    opens(
        "headers",
        joined(&[&two, &l[1], &l[2], &l[3], &l[4]]),
        &FOUR,
        &["salvaged", "duplicate-header"],
    );
    let both = format!("{}{}", l[0], l[1]);
    opens("header and entry", joined(&[&both, &l[2], &l[3], &l[4]]), &FOUR, &["salvaged"]);
    let pair = format!("{}{}", l[2], l[3]);
    let desk = opens("entries", joined(&[&l[0], &l[1], &pair, &l[4]]), &FOUR, &["salvaged"]);
    let old = desk.bytes("s.jsonl");
    let repair = desk.run(&["check", "./s.jsonl", "--repair"]);
    assert_eq!(repair.code, 0, "{}", repair.stdout);
    assert!(repair.stderr.contains("line 3"), "{}", repair.stderr);
    assert!(desk.files().values().any(|bytes| *bytes == old), "{:?}", desk.names());
    assert_eq!(desk.kinds("s.jsonl"), [""; 0]);
    let three = format!("{}{}{}", l[1], l[2], l[3]);
    opens("three", joined(&[&l[0], &three, &l[4]]), &FOUR, &["salvaged"]);
}

#[test]
fn a_header_alone_starts_a_talk() {
    let header = lines().remove(0);
    for bytes in [header.clone(), format!("{header}\n"), format!("{header}\r\n\n")] {
        let desk = Desk::with("header", bytes);
        assert!(desk.pi_context("s.jsonl").get("leaf").is_null());
        assert_eq!(desk.reading(&["check", "./s.jsonl"]).code, 0);
        desk.reading(&["tree", "./s.jsonl"]).ok();
        desk.append_reads_back("s.jsonl");
    }
}

#[test]
fn line_ends_of_other_systems() {
    let l = lines();
    opens("crlf", l.join("\r\n") + "\r\n", &FOUR, &[]);
    opens("blank lines", format!("\n\n{}\n\n\n", l.join("\n\n")), &FOUR, &[]);
    opens("spaces", format!("  {}\n \t \n", l.join(" \n\t ")), &FOUR, &[]);
    // Of a file without any line feed the records are read one by one.
    opens("cr", l.join("\r") + "\r", &FOUR, &["salvaged"]);
}

#[test]
fn nuls_inside_a_line() {
    let l = lines();
    let nuls = "\0".repeat(50);
    let holed = format!("{}{nuls}{}", &l[2][..80], &l[2][130..]);
    let path = ["00000001", "00000003", "00000004"];
    opens(
        "hole",
        joined(&[&l[0], &l[1], &holed, &l[3], &l[4]]),
        &path,
        &["bad-json", "missing-parent"],
    );
    let behind = format!("{}{nuls}", l[4]);
    let desk = Desk::with("behind", joined(&[&l[0], &l[1], &l[2], &l[3], &behind]));
    assert_eq!(desk.pi_context("s.jsonl").get("path").texts(), FOUR);
    desk.append_reads_back("s.jsonl");
}

#[test]
fn parents_and_children_in_any_order() {
    let l = lines();
    opens("later", joined(&[&l[0], &l[1], &l[3], &l[2], &l[4]]), &FOUR, &[]);
    let desk = Desk::with("backwards", joined(&[&l[0], &l[4], &l[3], &l[2], &l[1]]));
    // The last line is where a file of Pi stands.
    assert_eq!(desk.pi_context("s.jsonl").get("path").texts(), ["00000001"]);
    let at = desk.read(&["context", "./s.jsonl", "--at", "00000004", "--json"]);
    assert_eq!(at.get("path").texts(), FOUR);
}

#[test]
fn odd_ids() {
    let long = "x".repeat(5000);
    let file = PiFile::new().user(&long, "", "q").assistant("00000002", &long, "a");
    opens("long", file, &[&long, "00000002"], &[]);
    let file = PiFile::new()
        .user("abcdef01", "", "q")
        .assistant("ABCDEF01", "abcdef01", "a")
        .user("00000003", "ABCDEF01", "q2");
    let desk = opens("case", file, &["abcdef01", "ABCDEF01", "00000003"], &[]);
    for id in ["abcdef01", "ABCDEF01"] {
        let at = desk.read(&["context", "./s.jsonl", "--at", id, "--json"]);
        assert_eq!(at.get("leaf").text(), id);
    }
    let file = PiFile::new().user("../x", "", "q").assistant("a b", "../x", "a");
    opens("path", file, &["../x", "a b"], &[]);
    let file = PiFile::new().user("00000001", "", "q").assistant("000000010", "00000001", "a");
    let desk = opens("prefix", file, &["00000001", "000000010"], &[]);
    let at = desk.read(&["context", "./s.jsonl", "--at", "00000001", "--json"]);
    assert_eq!(at.get("leaf").text(), "00000001", "an exact id beats a prefix");
    let file = PiFile::talk().user("", "00000004", "no id");
    opens("empty", file, &FOUR, &["wrong-shape"]);
    let file = PiFile::talk().line(r#"{"type":"message","id":"00000005","id":"00000006","parentId":"00000004","timestamp":"2026-05-01T09:00:05.000Z","message":{"role":"user","content":"x"}}"#);
    let path = [&FOUR[..], &["00000006"]].concat();
    opens("two ids", file, &path, &[]);
}

#[test]
fn odd_headers() {
    let l = lines();
    let with = |from: &str, to: &str| {
        let header = l[0].replace(from, to);
        assert_ne!(header, l[0]);
        joined(&[&header, &l[1], &l[2], &l[3], &l[4]])
    };
    for (from, to) in [
        (r#","cwd":"/proj/demo""#, ""),
        (r#""/proj/demo""#, "5"),
        ("/proj/demo", "proj/demo"),
        ("/proj/demo", ""),
        (r#""version":3"#, r#""version":3.0"#),
        (r#""version":3"#, r#""version":"3""#),
        ("2026-05-01T09:00:00.000Z", "yesterday"),
        (r#""type":"session""#, r#""more":[1,{"a":null}],"type":"session""#),
    ] {
        opens(to, with(from, to), &FOUR, &[]);
    }
    // Without a version, or with one below 2, Pi reads the first one.
    for to in ["", r#""version":null,"#, r#""version":0,"#] {
        let desk = Desk::with(to, with(r#""version":3,"#, to));
        assert_eq!(desk.said("s.jsonl").len(), 4, "{to}");
        assert_eq!(desk.kinds("s.jsonl"), ["old-version"], "{to}");
    }
    for version in ["4", "99", "3.5", "1e9"] {
        let desk = Desk::with(version, with(r#""version":3"#, &format!(r#""version":{version}"#)));
        assert_eq!(desk.said("s.jsonl").len(), 4);
        let run = desk.run(&["append", "./s.jsonl", "x", "--json"]);
        assert_eq!(run.refused(), "newer_version", "{version}");
    }
    let desk = Desk::with("second", joined(&[&l[1], &l[0], &l[2], &l[3], &l[4]]));
    assert_eq!(desk.pi_context("s.jsonl").get("path").texts(), FOUR);
    assert_eq!(desk.run(&["append", "./s.jsonl", "x", "--json"]).refused(), "read_only");
    opens(
        "last",
        joined(&[&l[0], &l[1], &l[2], &l[3], &l[4], &l[0]]),
        &FOUR,
        &["duplicate-header"],
    );
}

/// Every byte of a file turned into another one: it opens or is refused, and keeps what it can.
#[test]
fn flipped_bytes() {
    let whole: Vec<u8> = PiFile::talk().into();
    let step = if cases_common::faults::full() { 1 } else { 37 };
    for at in (0..whole.len()).step_by(step) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x15;
        let desk = Desk::with(&format!("flip {at}"), bytes.clone());
        let run = desk.reading(&["context", "./s.jsonl", "--shape", "pi", "--json"]);
        let header = lines()[0].len();
        assert!(run.code == 0 || at < header, "{at}: {}", run.stderr);
        if run.code == 0 && at > header {
            assert!(run.json().get("messages").list().len() >= 2, "{at}: {}", run.stdout);
            let new = desk.run(&["append", "./s.jsonl", "after"]);
            assert!(desk.bytes("s.jsonl").starts_with(&bytes), "{at}");
            new.ok();
        }
    }
}
