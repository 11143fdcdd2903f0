//! Faults that people reported of other tools, through the program: cases 20 to 33.
//! Export and cost steps belong to the formats issue, search and serve steps to later ones.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cases_common;

use cases_common::Desk;
use cases_common::faults::{fault, fit_for_a_provider, full};
use cases_common::json::Json;
use cases_common::pi::said;

#[test]
fn case_20_lone_surrogate() {
    let case = fault("20");
    let desk = &case.desk;
    case.holds("session.jsonl");
    let old = desk.bytes("session.jsonl");
    let escapes = ["\\ud83d", "\\ude00"];
    for args in [
        vec!["context", "./session.jsonl", "--json"],
        vec!["context", "./session.jsonl", "--shape", "pi", "--json"],
        vec!["show", "./session.jsonl", "--json"],
    ] {
        let run = desk.reading(&args);
        assert!(escapes.iter().any(|escape| run.ok().contains(escape)), "{args:?}: {}", run.stdout);
    }
    // What people see is UTF-8; the runner checks that.
    for command in ["show", "tree", "context"] {
        desk.reading(&[command, "./session.jsonl"]).ok();
    }
    desk.append_reads_back("session.jsonl");
    assert!(desk.bytes("session.jsonl").starts_with(&old));
    // A copy keeps the escapes.
    let fork = desk.run(&["fork", "./session.jsonl"]).ok().to_owned();
    let copy = desk.run(&["path", &fork]).ok().to_owned();
    let copy = std::fs::read_to_string(copy).unwrap();
    assert!(escapes.iter().all(|escape| copy.contains(escape)));
    desk.context(&fork);
}

#[test]
fn case_22_crlf_and_blank_lines() {
    let case = fault("22");
    case.holds("session.jsonl");
    assert_eq!(case.desk.reading(&["check", "./session.jsonl"]).code, 0);
    case.desk.append_reads_back("session.jsonl");
    let tree = case.desk.read(&["tree", "./session.jsonl", "--json"]);
    assert_eq!(tree.get("rows").list().len(), 5);
    assert_eq!(case.desk.kinds("session.jsonl"), [""; 0]);
}

#[test]
fn case_23_bom() {
    let case = fault("23");
    let desk = &case.desk;
    let (rows, notes) = desk.list(&["--dir", "."]);
    assert_eq!(rows.len(), 2);
    assert!(notes.contains("utf16.jsonl: damaged: is UTF-16"), "{notes}");
    case.holds("bom.jsonl");
    let utf16 = desk.bytes("utf16.jsonl");
    assert_eq!(desk.run(&["append", "./utf16.jsonl", "x", "--json"]).refused(), "damaged");
    assert_eq!(desk.bytes("utf16.jsonl"), utf16);
    desk.append_reads_back("bom.jsonl");
    assert!(desk.bytes("bom.jsonl").starts_with(b"\xef\xbb\xbf{"));
}

#[test]
fn case_24_huge_line() {
    let case = fault("24");
    let desk = &case.desk;
    let size = if full() { 80 << 20 } else { 2 << 20 };
    if case.make(&["session.jsonl", &size.to_string()]).is_none() {
        return;
    }
    let (rows, _) = desk.list(&["--dir", "."]);
    assert_eq!(rows[0].get("firstUser").text(), "show the whole diff");
    let context = desk.context("./session.jsonl");
    assert_eq!(context.get("path").list().len(), 4);
    fit_for_a_provider(&context);
    for command in ["show", "tree", "context"] {
        let shown = desk.reading(&[command, "./session.jsonl"]);
        assert!(shown.ok().len() < 64 * 1024, "{command}: {}", shown.stdout.len());
    }
    let shown = desk.reading(&["show", "./session.jsonl"]);
    let told = shown.ok().contains("MB") || shown.stdout.contains("MiB");
    assert!(told, "the size of the big text: {}", shown.stdout);
    let whole = desk.reading(&["show", "./session.jsonl", "--full"]);
    assert!(whole.ok().len() > size / 2 && whole.stdout.contains("+ line 000000001"));
}

#[test]
fn case_25_huge_file() {
    let case = fault("25");
    let desk = &case.desk;
    let messages = if full() { 9100 } else { 1200 };
    let bytes = (messages * 14_000).min(if full() { 128_000_000 } else { 3_000_000 });
    if case.make(&["session.jsonl", &messages.to_string(), &bytes.to_string()]).is_none() {
        return;
    }
    let (rows, _) = desk.list(&["--dir", "."]);
    assert_eq!(rows[0].get("messages").number(), messages);
    assert_eq!(rows[0].get("entries").number(), messages + 3);
    let again = desk.list(&["--dir", "."]).0;
    assert_eq!(again, rows);
    // The summary, the entry that it keeps, and what follows it.
    let context = desk.context("./session.jsonl");
    let sent = context.get("messages").list();
    assert_eq!(sent.len() as i64, 2 + messages - 1 - 3 * messages / 4);
    let summary = sent[0].get("content").text();
    assert!(summary.contains(&format!("summary at {}", 3 * messages / 4)), "{summary}");
    let tree = desk.read(&["tree", "./session.jsonl", "--json"]);
    assert_eq!(tree.get("rows").list().len() as i64, messages + 3);
}

#[test]
fn case_26_many_files() {
    let case = fault("26");
    let desk = &case.desk;
    let files = if full() { 3000 } else { 120 };
    if case.make(&["store", &files.to_string(), "2000"]).is_none() {
        return;
    }
    let first = desk.list(&["--dir", "store", "--recursive"]);
    assert_eq!(first.0.len(), files);
    assert_eq!(first.1, "");
    assert_eq!(desk.list(&["--dir", "store", "--recursive"]), first);
    let few = desk.list(&["--dir", "store", "--recursive", "-n", "7"]).0;
    assert_eq!(few, first.0[..7]);
    // The index is a cache: what changes on disk is seen, and without it all is as before.
    let path = first.0[3].get("path").text();
    desk.run(&["append", &path, "one more"]).ok();
    let second = desk.list(&["--dir", "store", "--recursive"]).0;
    assert_eq!(second[0].get("path").text(), path);
    assert_eq!(second[0].get("messages").number(), first.0[3].get("messages").number() + 1);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(desk.list(&["--dir", "store", "--recursive"]).0.len(), files - 1);
    let cwd = desk.listed(&["--dir", "store", "--recursive", "--cwd", "/proj/p07"]);
    assert_eq!(cwd.len(), files / 40);
}

#[test]
fn case_27_deep_nesting() {
    let case = fault("27");
    let desk = &case.desk;
    case.holds("depth-200.jsonl");
    desk.append_reads_back("depth-200.jsonl");
    let old = desk.bytes("depth-31000.jsonl");
    let file = "./depth-31000.jsonl";
    let tree = desk.read(&["tree", file, "--json"]);
    assert_eq!(tree.get("rows").list().len(), 4);
    assert_eq!(tree.get("leaf").text(), "1d000004");
    // Deeper than a test should parse: only whether it comes out.
    for args in [
        vec!["context", file, "--json"],
        vec!["context", file, "--shape", "pi", "--json"],
        vec!["show", file, "--json"],
        vec!["show", file],
        vec!["check", file],
        vec!["list", "--dir", "."],
    ] {
        desk.reading(&args).ok();
    }
    desk.append(file, "after recovery");
    assert!(desk.bytes("depth-31000.jsonl").starts_with(&old));
    assert_eq!(desk.read(&["tree", file, "--json"]).get("rows").list().len(), 5);
    let fork = desk.run(&["fork", file]).ok().to_owned();
    // Its own header, and the thinking level that the file's owner takes as given.
    assert_eq!(desk.read(&["tree", &fork, "--json"]).get("rows").list().len(), 7);
}

#[test]
fn case_29_future_version() {
    let case = fault("29");
    let desk = &case.desk;
    case.holds("session.jsonl");
    let old = desk.bytes("session.jsonl");
    let shown = desk.reading(&["tree", "./session.jsonl", "--json"]);
    assert!(shown.ok().contains("turn_boundary"), "{}", shown.stdout);
    for args in [
        vec!["append", "./session.jsonl", "x", "--json"],
        vec!["label", "./session.jsonl", "1f000001", "x", "--json"],
        vec!["rename", "./session.jsonl", "x", "--json"],
        vec!["rewind", "./session.jsonl", "1f000001", "--json"],
        vec!["vacuum", "./session.jsonl", "--json"],
        vec!["reset", "./session.jsonl", "--json"],
    ] {
        let run = desk.run(&args);
        assert_eq!(run.refused(), "newer_version", "{args:?}");
        assert!(run.stderr.contains("newer version"), "{}", run.stderr);
        assert_eq!(desk.bytes("session.jsonl"), old, "{args:?}");
    }
    assert_eq!(desk.names(), ["session.jsonl"]);
    // What is not understood survives in a fork.
    let fork = desk.run(&["fork", "./session.jsonl"]).ok().to_owned();
    assert_eq!(
        desk.context(&fork).get("messages"),
        desk.context("./session.jsonl").get("messages")
    );
}

#[test]
fn case_30_migration_v1_v2() {
    let case = fault("30");
    let desk = &case.desk;
    case.holds("v1.jsonl");
    case.holds("v2.jsonl");
    let v1 = desk.pi_context("./v1.jsonl");
    assert_eq!(said(&v1)[..2], ["compactionSummary old summary", "user old question 2"]);
    assert!(said(&desk.pi_context("./v2.jsonl"))[2].starts_with("custom "));
    for (name, said_before) in
        [("v1.jsonl", desk.said("v1.jsonl")), ("v2.jsonl", desk.said("v2.jsonl"))]
    {
        let old = desk.bytes(name);
        desk.append(name, "on");
        let kept: Vec<String> = desk
            .names()
            .into_iter()
            .filter(|other| other.starts_with(name) && other.ends_with(".bak"))
            .collect();
        assert_eq!(kept.len(), 1);
        assert_eq!(desk.bytes(&kept[0]), old);
        let mut wanted = said_before;
        wanted.push("user on".to_owned());
        assert_eq!(desk.said(name), wanted);
        // The backup is no session of its own in the list.
        desk.append_reads_back(name);
    }
    assert_eq!(desk.listed(&["--dir", "."]).len(), 2);
}

/// What a crash leaves of a migration: the old or the new content, never a mix.
#[test]
fn case_30_leftovers_of_a_migration() {
    let case = fault("30");
    let desk = &case.desk;
    let old = desk.bytes("v1.jsonl");
    let before = desk.said("v1.jsonl");
    // A temporary file of a process that is gone, cut short.
    desk.put("v1.jsonl.tmp-999999-1", &old[..old.len() / 2]);
    desk.put("v1.jsonl.v1.bak", &old[..10]);
    assert_eq!(desk.said("v1.jsonl"), before);
    assert_eq!(desk.listed(&["--dir", "."]).len(), 2);
    desk.append("v1.jsonl", "on");
    assert_eq!(desk.said("v1.jsonl").len(), before.len() + 1);
    // The backup of someone else is not written over.
    assert_eq!(desk.bytes("v1.jsonl.v1.bak"), &old[..10]);
    assert_eq!(desk.files().values().filter(|bytes| **bytes == old).count(), 1);
}

#[test]
fn case_31_valid_json_wrong_shape() {
    let case = fault("31");
    let desk = &case.desk;
    case.holds("session.jsonl");
    let (found, damaged) = desk.check("session.jsonl");
    assert!(damaged);
    let lines: Vec<u64> =
        found.iter().filter(|one| one.kind == "wrong-shape").filter_map(|one| one.line).collect();
    assert_eq!(lines, [4, 5, 6, 7, 8, 9, 10, 11, 12]);
    let tree = desk.read(&["tree", "./session.jsonl", "--json"]);
    assert!(tree.get("rows").list().iter().any(|row| row.get("id").text() == "22eeeeee"));
    let at = desk.read(&["context", "./session.jsonl", "--at", "22eeeeee", "--json"]);
    assert_eq!(at.get("leaf").text(), "22eeeeee");
    for command in ["show", "tree", "context", "branches", "resume"] {
        desk.reading(&[command, "./session.jsonl"]).ok();
    }
    let (rows, _) = desk.list(&["--dir", "."]);
    assert_eq!(rows[0].get("damage").number(), 9);
    desk.append_reads_back("session.jsonl");
}

fn cwds(desk: &Desk, cwd: &str) -> Vec<Json> {
    desk.list(&["--dir", "store", "--recursive", "--cwd", cwd]).0
}

#[test]
fn case_33_cwd_collision() {
    let case = fault("33");
    let desk = &case.desk;
    assert_eq!(desk.list(&["--dir", "store", "--recursive"]).0.len(), 8);
    for cwd in ["/proj/a/b-c", "/proj/my_project", "/proj/\u{c678}\u{c8fc}/app", "/proj/a b"] {
        let rows = cwds(desk, cwd);
        assert_eq!(rows.len(), 1, "{cwd}");
        assert_eq!(rows[0].get("cwd").text(), cwd);
    }
    assert_eq!(cwds(desk, "/proj/my_project/").len(), 1);
    assert_eq!(cwds(desk, "/proj").len(), 0);
}

/// Folders whose names fold to one: each has its own store.
#[test]
fn case_33_path_pairs() {
    let desk = Desk::new("pairs");
    let pairs = [
        ("proj/a/b-c", "proj/a-b/c", true),
        ("proj/my_project", "proj/my-project", true),
        ("proj/\u{c678}\u{c8fc}/app", "proj/\u{ac1c}\u{c778}/app", true),
        ("proj/a b", "proj/a-b", true),
        ("proj/demo", "proj/demo/", false),
        ("rf", "x/rf", true),
    ];
    for (one, other, differ) in pairs {
        for folder in [one, other] {
            std::fs::create_dir_all(desk.file(folder)).unwrap();
        }
        let id = desk.run(&["new", "-C", one, "--title", one]).ok().to_owned();
        assert!(desk.listed(&["-C", one]).contains(&id));
        assert_eq!(desk.listed(&["-C", other]).contains(&id), !differ, "{one} {other}");
        let path = desk.run(&["path", "-C", one, &id]).ok().to_owned();
        let inside = std::path::Path::new(&path).strip_prefix(desk.work().canonicalize().unwrap());
        for part in inside.unwrap() {
            assert!(!part.to_string_lossy().starts_with('-'), "{path}");
        }
    }
}
