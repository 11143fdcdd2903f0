//! More faults of each kind: entries that point nowhere, or say what nobody expects. The inputs
//! are made here.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cases_common;

use cases_common::Desk;
use cases_common::faults::fit_for_a_provider;
use cases_common::pi::{PiFile, REST};

fn with(kind: &str, fields: &str) -> PiFile {
    PiFile::talk().entry(kind, "00000005", "00000004", fields)
}

/// What Pi would send, and the kinds of what is told.
fn check(name: &str, file: PiFile, said: &[&str], kinds: &[&str]) -> Desk {
    let desk = Desk::with(name, file);
    assert_eq!(desk.said("s.jsonl"), said, "{name}");
    assert_eq!(desk.kinds("s.jsonl"), kinds, "{name}");
    for command in ["show", "tree", "context", "branches", "resume"] {
        desk.reading(&[command, "./s.jsonl"]).ok();
    }
    fit_for_a_provider(&desk.context("s.jsonl"));
    let (rows, _) = desk.list(&["--dir", "."]);
    match rows[0].get("dialect").text().as_str() {
        "pi-v3" => drop(desk.append_reads_back("s.jsonl")),
        _ => assert_eq!(desk.run(&["append", "./s.jsonl", "x", "--json"]).refused(), "read_only"),
    }
    desk
}

const TALK: [&str; 4] = ["user q1", "assistant a1", "user q2", "assistant a2"];

#[test]
fn compactions_that_keep_from_nowhere() {
    let nothing = ["compactionSummary S", "user after"];
    let compact = |first: &str| {
        PiFile::talk()
            .user("0000000b", "00000002", "other")
            .entry(
                "compaction",
                "00000005",
                "00000004",
                &format!(r#""summary":"S","tokensBefore":5{first}"#),
            )
            .user("00000006", "00000005", "after")
    };
    let kept = |id: &str| format!(r#","firstKeptEntryId":"{id}""#);
    check("missing", compact(&kept("nope")), &nothing, &["unknown-target"]);
    check("after it", compact(&kept("00000006")), &nothing, &["unknown-target"]);
    check("elsewhere", compact(&kept("0000000b")), &nothing, &["unknown-target"]);
    check("itself", compact(&kept("00000005")), &nothing, &[]);
    check("null", compact(r#","firstKeptEntryId":null"#), &nothing, &[]);
    let all = ["compactionSummary S", "user q2", "assistant a2", "user after"];
    check("good", compact(&kept("00000003")), &all, &[]);
    check("without", compact(""), &nothing, &[]);
}

#[test]
fn compactions_with_a_tail_of_their_own_are_the_harness() {
    let file = with(
        "compaction",
        r#""summary":"S","retainedTail":[{"role":"user","content":"tail","timestamp":5}],"tokensBefore":5"#,
    );
    let file = file.user("00000006", "00000005", "after");
    check("tail", file, &["compactionSummary S", "user tail", "user after"], &[]);
}

#[test]
fn pointers_of_the_harness() {
    let desk = check("null", with("leaf", r#""targetId":null"#), &[], &[]);
    assert!(desk.pi_context("s.jsonl").get("leaf").is_null());
    check("missing", with("leaf", r#""targetId":"nope""#), &TALK, &["unknown-target"]);
    check("back", with("leaf", r#""targetId":"00000002""#), &TALK[..2], &[]);
}

#[test]
fn edits() {
    let edit = |file: PiFile, id: &str, parent: &str, replacement: &str| {
        file.entry(
            "context_edit",
            id,
            parent,
            &format!(r#""targetId":"00000001","replacement":{replacement}"#),
        )
    };
    let gone = edit(PiFile::talk(), "00000005", "00000004", "null");
    check("removed", gone.clone(), &TALK[1..], &[]);
    let back = edit(gone, "00000006", "00000005", r#"{"content":"back"}"#);
    check("back", back, &["user back", TALK[1], TALK[2], TALK[3]], &[]);
    let nowhere = with("context_edit", r#""targetId":"nope","replacement":null"#);
    check("nowhere", nowhere, &TALK, &["unknown-target"]);
    // An edit on another branch changes nothing here.
    let aside = PiFile::talk()
        .entry(
            "context_edit",
            "00000005",
            "00000002",
            r#""targetId":"00000001","replacement":null"#,
        )
        .user("00000006", "00000004", "on");
    check("aside", aside, &[TALK[0], TALK[1], TALK[2], TALK[3], "user on"], &[]);
}

#[test]
fn settings_that_say_nothing() {
    for (kind, fields) in [
        ("thinking_level_change", r#""thinkingLevel":null"#),
        ("thinking_level_change", ""),
        ("model_change", ""),
        ("compaction", ""),
        ("branch_summary", ""),
        ("custom_message", ""),
        ("custom", ""),
        ("usage", ""),
        ("label", r#""targetId":null,"label":"x""#),
    ] {
        check(kind, with(kind, fields), &TALK, &["odd-field"]);
    }
    let desk = check("model", with("model_change", r#""modelId":"m9""#), &TALK, &[]);
    assert_eq!(desk.pi_context("s.jsonl").get("model").get("modelId").text(), "m9");
    let desk = check("unknown", with("later", r#""a":{"b":[1e400]}"#), &TALK, &["unknown-type"]);
    assert!(String::from_utf8(desk.bytes("s.jsonl")).unwrap().contains(r#""a":{"b":[1e400]}"#));
}

#[test]
fn messages_of_odd_shape() {
    let odd = |message: &str| PiFile::talk().message("00000005", "00000004", message);
    for message in [
        r#"{"role":"user","content":5}"#,
        r#"{"role":"user","content":[null,5,"x",{"type":"text"},{"type":"image"}]}"#,
        r#"{"role":"user"}"#,
        r#"{"role":"alien","content":"x"}"#,
        r#"{"role":"assistant","content":[{"type":"toolCall","name":"bash"}]}"#,
        r#"{"role":"assistant","content":[{"type":"toolCall","id":7,"name":null,"arguments":"x"}]}"#,
        r#"{"role":"toolResult","content":[]}"#,
        r#"{"role":"bashExecution"}"#,
        r#"{"role":"user","content":"x","timestamp":1e999}"#,
        r#"{"role":["user"],"content":"x"}"#,
        r#"{}"#,
    ] {
        let desk = Desk::with(message, odd(message));
        let context = desk.pi_context("s.jsonl");
        assert_eq!(context.get("path").list().len(), 5, "{message}");
        fit_for_a_provider(&desk.context("s.jsonl"));
        for command in ["show", "tree", "context", "check", "branches", "resume"] {
            desk.reading(&[command, "./s.jsonl"]);
        }
        desk.append_reads_back("s.jsonl");
        let fork = desk.run(&["fork", "./s.jsonl"]).ok().to_owned();
        assert!(!desk.check(&fork).1, "{message}");
    }
}

#[test]
fn times_that_are_none() {
    for time in
        ["1777626001000", "\"yesterday\"", "null", "\"+275760-09-13T00:00:00.000Z\"", "-1", "{}"]
    {
        let lines = PiFile::talk().lines.join("\n").replace("\"2026-05-01T09:00:01.000Z\"", time);
        let desk = Desk::with(time, lines + "\n");
        assert_eq!(desk.said("s.jsonl"), TALK, "{time}");
        assert_eq!(desk.list(&["--dir", "."]).0.len(), 1, "{time}");
        desk.reading(&["show", "./s.jsonl"]).ok();
        desk.append_reads_back("s.jsonl");
    }
}

/// Several calls, some answered late, twice, or out of order.
#[test]
fn tool_calls_in_disorder() {
    let call = |ids: &[&str]| {
        let calls: Vec<String> = ids
            .iter()
            .map(|id| {
                format!(r#"{{"type":"toolCall","id":"{id}","name":"bash","arguments":{{}}}}"#)
            })
            .collect();
        format!(r#"{{"role":"assistant","content":[{}],{REST},"timestamp":1}}"#, calls.join(","))
    };
    let result = |id: &str| {
        format!(
            r#"{{"role":"toolResult","toolCallId":"{id}","toolName":"bash","content":[{{"type":"text","text":"r-{id}"}}],"isError":false,"timestamp":1}}"#
        )
    };
    let user = r#"{"role":"user","content":"u","timestamp":1}"#.to_owned();
    for (name, messages) in [
        ("late", vec![call(&["a"]), user.clone(), result("a")]),
        ("twice", vec![call(&["a"]), result("a"), result("a"), user.clone()]),
        ("other order", vec![call(&["a", "b"]), result("b"), result("a")]),
        ("one of two", vec![call(&["a", "b"]), result("b"), user.clone()]),
        ("before", vec![result("a"), call(&["a"]), user.clone()]),
        ("same id again", vec![call(&["a"]), result("a"), user.clone(), call(&["a"]), result("a")]),
        ("open at the end", vec![user.clone(), call(&["a", "b"])]),
        ("two turns", vec![call(&["a"]), call(&["b"]), result("b"), result("a")]),
    ] {
        let mut file = PiFile::new();
        let mut parent = String::new();
        for (at, message) in messages.iter().enumerate() {
            let id = format!("{:08x}", at + 1);
            file = file.message(&id, &parent, message);
            parent = id;
        }
        let desk = Desk::with(name, file);
        fit_for_a_provider(&desk.context("s.jsonl"));
        assert_eq!(
            desk.pi_context("s.jsonl").get("messages").list().len(),
            messages.len(),
            "{name}"
        );
        desk.append_reads_back("s.jsonl");
        fit_for_a_provider(&desk.context("s.jsonl"));
    }
}

/// Titles and labels are data: no terminal acts on them, and nothing is lost of them.
#[test]
fn titles_and_labels_that_act() {
    let acts = r"\u001b]0;owned\u0007\u001b[31mred\u009b2J\u202egnp.exe\u200f\r\nnext\ud83d";
    let file = with("session_info", &format!(r#""name":"{acts}""#))
        .entry(
            "label",
            "00000006",
            "00000005",
            &format!(r#""targetId":"00000001","label":"{acts}""#),
        )
        .user("00000007", "00000006", acts);
    let desk = Desk::with("acts", file);
    for args in [
        vec!["list", "--dir", "."],
        vec!["show", "./s.jsonl"],
        vec!["tree", "./s.jsonl"],
        vec!["context", "./s.jsonl"],
        vec!["branches", "./s.jsonl"],
        vec!["resume", "./s.jsonl"],
        vec!["check", "./s.jsonl"],
        vec!["list", "--dir", ".", "--json"],
        vec!["tree", "./s.jsonl", "--json"],
        vec!["context", "./s.jsonl", "--json"],
        vec!["show", "./s.jsonl", "--json"],
    ] {
        let run = desk.reading(&args);
        let acts = |c: char| {
            (c.is_control() && c != '\n')
                || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
        };
        assert!(!run.ok().contains(acts), "{args:?}: {:?}", run.stdout);
        assert!(!run.stderr.contains(acts), "{args:?}: {:?}", run.stderr);
    }
    let title = "plain \u{1f600} \u{5b57} \u{5d0}";
    desk.run(&["rename", "./s.jsonl", title]).ok();
    assert_eq!(desk.list(&["--dir", "."]).0[0].get("title").text(), title);
    desk.run(&["rename", "./s.jsonl", ""]).ok();
    assert!(desk.list(&["--dir", "."]).0[0].get("title").is_null());
    for name in ["\"\"", "null", "7", "\"  \\n \""] {
        let desk = Desk::with(name, with("session_info", &format!(r#""name":{name}"#)));
        assert!(desk.list(&["--dir", "."]).0[0].get("title").is_null(), "{name}");
    }
}

#[test]
fn many_siblings() {
    let count = if cases_common::faults::full() { 10_000 } else { 2_000 };
    let mut file = PiFile::new().user("00000000", "", "root");
    for at in 1..=count {
        file = file.user(&format!("{at:08x}"), "00000000", &format!("s{at}"));
    }
    let desk = Desk::with("siblings", file);
    assert_eq!(desk.said("s.jsonl"), ["user root".to_owned(), format!("user s{count}")]);
    let tree = desk.read(&["tree", "./s.jsonl", "--json"]);
    assert_eq!(tree.get("rows").list().len(), count + 1);
    let branches = desk.read(&["branches", "./s.jsonl", "--json"]);
    assert_eq!(branches.get("branches").list().len(), count);
    desk.reading(&["tree", "./s.jsonl"]).ok();
    desk.append_reads_back("s.jsonl");
}

#[test]
fn a_deep_chain() {
    let count = if cases_common::faults::full() { 50_000 } else { 5_000 };
    let mut file = PiFile::new().user("00000000", "", "root");
    for at in 1..=count {
        file = file.user(&format!("{at:08x}"), &format!("{:08x}", at - 1), "x");
    }
    let desk = Desk::with("deep", file);
    let context = desk.context("s.jsonl");
    assert_eq!(context.get("messages").list().len(), count + 1);
    let tree = desk.reading(&["tree", "./s.jsonl"]);
    assert!(tree.ok().lines().all(|line| line.len() < 300));
    desk.run(&["rewind", "./s.jsonl", "00000001"]).ok();
    assert_eq!(desk.said("s.jsonl").len(), 2);
    desk.append_reads_back("s.jsonl");
    // A ring through all of them.
    let lines = String::from_utf8(desk.bytes("s.jsonl")).unwrap();
    let ring = lines.replacen("\"parentId\":null", &format!("\"parentId\":\"{count:08x}\""), 1);
    let desk = Desk::with("ring", ring);
    assert!(desk.kinds("s.jsonl").contains(&"cycle".to_owned()));
    desk.append_reads_back("s.jsonl");
}
