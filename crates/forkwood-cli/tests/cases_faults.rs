//! Faults that people reported of other tools, through the program: cases 01 to 16.
//! Export and cost steps belong to the formats issue, search and serve steps to later ones.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cases_common;

use cases_common::Desk;
use cases_common::faults::{fault, fit_for_a_provider};
use cases_common::json::Json;
use cases_common::pi::said;
use forkwood::blocking::SessionStore;
use forkwood::{ErrorKind, Message};

fn open(desk: &Desk, name: &str) -> forkwood::blocking::Session {
    SessionStore::open_file(&desk.file(name), &forkwood_formats::formats()).unwrap()
}

#[test]
fn case_01_torn_tail_mid_utf8() {
    let case = fault("01");
    case.holds("session.jsonl");
    let (found, damaged) = case.desk.check("session.jsonl");
    assert!(damaged);
    let offset = case.facts("session.jsonl").get("torn_offset").number();
    assert_eq!(found[0].offset.unwrap() as i64, offset);
    case.desk.append_reads_back("session.jsonl");
    let context = case.desk.pi_context("session.jsonl");
    let tree = case.desk.read(&["tree", "session.jsonl", "--json"]);
    let last = tree.get("rows").list().last().unwrap().clone();
    assert_eq!(last.get("id"), context.get("leaf"));
    assert_eq!(last.get("parentId").text(), "01000006");
    // The fragment stays, as one damaged line.
    assert_eq!(case.desk.check("session.jsonl").0.len(), 1);
    let shown = case.desk.reading(&["show", "session.jsonl"]);
    assert!(shown.ok().contains("after recovery"));
    assert!(shown.stderr.contains("damaged"), "{}", shown.stderr);
}

#[test]
fn case_02_torn_then_glued_append() {
    let case = fault("02");
    case.holds("session.jsonl");
    let context = case.desk.pi_context("session.jsonl");
    assert_eq!(context.get("path").texts(), ["02000001", "02000002", "02bbbbbb", "02cccccc"]);
    case.desk.append_reads_back("session.jsonl");
}

#[test]
fn case_04_nul_tail() {
    let case = fault("04");
    let (rows, _) = case.desk.list(&["--dir", "."]);
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].get("state").text(), "damaged");
    case.holds("session.jsonl");
    let (found, _) = case.desk.check("session.jsonl");
    assert!(found[0].message.contains("1728"), "{found:?}");
    case.desk.append_reads_back("session.jsonl");
    let tree = case.desk.read(&["tree", "session.jsonl", "--json"]);
    assert_eq!(tree.get("rows").list().len(), 5);
    let id = rows[0].get("id").text();
    assert!(case.desk.reading(&["resume", "--dir", ".", &id]).ok().contains("after recovery"));
}

#[test]
fn case_06_all_nul_file_beside_good() {
    let case = fault("06");
    let (rows, notes) = case.desk.list(&["--dir", "."]);
    assert_eq!(rows.len(), 1);
    assert!(notes.contains("broken.jsonl: damaged") && notes.contains("NUL"), "{notes}");
    case.holds("2026-05-01T09-06-00-000Z_01940000-0000-7000-8000-000000000006.jsonl");
    let run = case.desk.reading(&["context", "./broken.jsonl", "--json"]);
    assert_eq!(run.refused(), "damaged");
}

#[test]
fn case_07_empty_file() {
    let case = fault("07");
    let (rows, notes) = case.desk.list(&["--dir", "."]);
    assert_eq!(rows.len(), 1);
    assert!(notes.contains("empty.jsonl: empty"), "{notes}");
    let run = case.desk.run(&["append", "./empty.jsonl", "after recovery", "--json"]);
    assert_eq!(run.refused(), "damaged");
    assert!(run.stderr.contains("empty"), "{}", run.stderr);
    assert_eq!(case.desk.bytes("empty.jsonl"), b"");
}

#[test]
fn case_08_damaged_header() {
    let case = fault("08");
    let desk = &case.desk;
    let old = desk.bytes("session.jsonl");
    assert_eq!(desk.list(&["--dir", "."]).0.len(), 1);
    case.holds("session.jsonl");
    assert_eq!(desk.run(&["append", "./session.jsonl", "x", "--json"]).refused(), "read_only");
    assert_eq!(desk.bytes("session.jsonl"), old);
    assert_eq!(desk.run(&["check", "./session.jsonl", "--repair"]).code, 0);
    let kept = desk.files().into_iter().filter(|(_, bytes)| *bytes == old).count();
    assert_eq!(kept, 1, "{:?}", desk.names());
    let tree = desk.read(&["tree", "./session.jsonl", "--json"]);
    assert_eq!(tree.get("rows").list().len(), 8);
    desk.append_reads_back("session.jsonl");
    // Deleting it is possible, and can be taken back.
    let before = desk.bytes("session.jsonl");
    desk.run(&["rm", "./session.jsonl"]).ok();
    assert!(!desk.file("session.jsonl").exists());
    assert!(desk.files().values().any(|bytes| *bytes == before));
}

#[test]
fn case_09_not_a_session_file() {
    let case = fault("09");
    let desk = &case.desk;
    let old = desk.bytes("service.log");
    for args in [
        vec!["context", "./service.log", "--json"],
        vec!["check", "./service.log", "--json"],
        vec!["append", "./service.log", "hi", "--json"],
        vec!["rename", "./service.log", "hi", "--json"],
        vec!["check", "./service.log", "--repair", "--json"],
        vec!["vacuum", "./service.log", "--json"],
        vec!["reset", "./service.log", "--json"],
        vec!["rm", "./service.log", "--json"],
    ] {
        let run = desk.run(&args);
        assert_eq!(run.refused(), "unsupported", "{args:?}");
        assert!(run.stderr.contains("service.log"), "{}", run.stderr);
        assert_eq!(desk.bytes("service.log"), old, "{args:?}");
    }
}

#[test]
fn case_10_headerless_file() {
    let case = fault("10");
    let desk = &case.desk;
    case.holds("session.jsonl");
    case.holds("good.jsonl");
    let mut a = open(desk, "good.jsonl");
    std::fs::remove_file(desk.file("good.jsonl")).unwrap();
    let error = a.append(Message::user("on")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Gone, "{error}");
    assert!(!desk.file("good.jsonl").exists());
    let run = desk.run(&["append", "./good.jsonl", "on", "--json"]);
    assert_eq!(run.refused(), "not_found");
    assert!(!desk.file("good.jsonl").exists());
}

#[test]
fn case_11_two_writers_siblings() {
    let case = fault("11");
    let desk = &case.desk;
    case.holds("session.jsonl");
    let branches = desk.read(&["branches", "./session.jsonl", "--json"]);
    let branches = branches.get("branches").list();
    let mut tips: Vec<String> = branches.iter().map(|branch| branch.get("tip").text()).collect();
    tips.sort();
    assert_eq!(tips, case.facts("session.jsonl").get("leaves").texts());
    assert!(branches.iter().all(|branch| branch.get("forkPoint").text() == "0b000002"));
    for text in said(&desk.pi_context("session.jsonl")) {
        assert!(!text.contains("writer B"), "{text}");
    }
    // Two writers that stand at the same entry: the second learns of the first.
    let (mut a, mut b) = (open(desk, "session.jsonl"), open(desk, "session.jsonl"));
    let first = a.append(Message::user("from A")).unwrap();
    let old = desk.bytes("session.jsonl");
    let error = b.append(Message::user("from B")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    let run = desk.run(&["append", "./session.jsonl", "x", "--expect", "0ba00003", "--json"]);
    assert_eq!(run.refused(), "conflict");
    assert!(run.stderr.contains(first.as_str()), "{}", run.stderr);
    assert_eq!(desk.bytes("session.jsonl"), old);
}

#[test]
fn case_13_duplicate_ids() {
    let case = fault("13");
    let desk = &case.desk;
    case.holds("identical.jsonl");
    case.holds("conflict.jsonl");
    let tree = desk.read(&["tree", "./conflict.jsonl", "--json"]);
    let ids: Vec<String> = tree.get("rows").list().iter().map(|row| row.get("id").text()).collect();
    assert_eq!(ids, ["0d000001@2", "0d000001", "0d000002", "0d000003"]);
    // Each of the two can be looked at.
    for (id, text) in [("0d000001@2", "legacy question"), ("0d000001", "same id, other text")] {
        let context =
            desk.read(&["context", "./conflict.jsonl", "--at", id, "--shape", "pi", "--json"]);
        assert!(said(&context)[0].contains(text), "{:?}", said(&context));
    }
    desk.append_reads_back("identical.jsonl");
    desk.append_reads_back("conflict.jsonl");
}

#[test]
fn case_14_parent_cycle() {
    let case = fault("14");
    let desk = &case.desk;
    case.holds("session.jsonl");
    let (found, _) = desk.check("session.jsonl");
    let named: Vec<Option<String>> = found.into_iter().map(|found| found.entry).collect();
    assert!(named.contains(&Some("0e000005".into())), "{named:?}");
    let shown = desk.reading(&["tree", "./session.jsonl"]);
    for id in ["0e000001", "0e000002", "0e000003", "0e000004", "0e000005"] {
        assert!(shown.ok().contains(id), "{}", shown.stdout);
    }
    desk.append_reads_back("session.jsonl");
}

#[test]
fn case_16_tool_call_without_result() {
    let case = fault("16");
    let desk = &case.desk;
    case.holds("call-only.jsonl");
    case.holds("result-only.jsonl");
    for (file, kind, entry, call) in [
        ("./call-only.jsonl", "unanswered-tool-call", "10000004", "call_open_1"),
        ("./result-only.jsonl", "orphan-tool-result", "11000004", "call_ghost"),
    ] {
        let (found, _) = desk.check(file);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].kind.as_str(), found[0].entry.as_deref()), (kind, Some(entry)));
        let context = desk.context(file);
        fit_for_a_provider(&context);
        let told = context.get("diagnostics").list();
        let told: Vec<(String, String)> =
            told.iter().map(|one| (one.get("kind").text(), one.get("entry").text())).collect();
        assert!(told.contains(&(kind.to_owned(), entry.to_owned())), "{told:?}");
        let raw = desk.read(&["context", file, "--raw", "--json"]);
        assert_ne!(raw.get("messages"), context.get("messages"));
        let pi = desk.pi_context(file);
        assert_eq!(raw.get("messages").list().len(), pi.get("messages").list().len());
        let people = desk.reading(&["context", file]);
        people.ok();
        assert!(people.stderr.contains(call), "{}", people.stderr);
    }
    let context = desk.context("./call-only.jsonl");
    let made_up = |message: &&Json| message.get("toolCallId").text() == "call_open_1";
    let result = context.get("messages").list().iter().find(made_up).unwrap();
    assert_eq!(result.get("isError"), &Json::Bool(true));
    assert!(result.get("content").text().contains("interrupted"));
    let ghost = desk.context("./result-only.jsonl");
    assert!(!ghost.get("messages").stringify().contains("call_ghost"));
}
