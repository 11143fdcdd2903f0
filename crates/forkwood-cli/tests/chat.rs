//! `forkwood chat` with the provider that needs neither key nor network.

#![cfg(feature = "agent")]
#![allow(clippy::unwrap_used)]

mod common;

use common::{Run, Sandbox};
use serde_json::Value;

const SCRIPTED: &[&str] = &["--provider", "scripted"];

fn chat(sandbox: &Sandbox, args: &[&str], lines: &str) -> Run {
    let args: Vec<&str> = ["chat"].iter().chain(args).chain(SCRIPTED).copied().collect();
    sandbox.run_with(&args, lines)
}

fn events(sandbox: &Sandbox, args: &[&str], lines: &str) -> Vec<Value> {
    let args: Vec<&str> = args.iter().chain(&["--json"]).copied().collect();
    let run = chat(sandbox, &args, lines);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn all<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["event"] == kind).collect()
}

fn the<'a>(events: &'a [Value], kind: &str) -> &'a Value {
    all(events, kind).last().copied().unwrap_or_else(|| panic!("no {kind}: {events:?}"))
}

fn session(events: &[Value]) -> String {
    the(events, "session")["session"].as_str().unwrap().to_owned()
}

fn said(sandbox: &Sandbox, id: &str) -> Vec<String> {
    let context: Value = serde_json::from_str(&sandbox.ok(&["context", id, "--json"])).unwrap();
    let messages = context["messages"].as_array().unwrap();
    messages.iter().map(|message| message["content"].to_string()).collect()
}

#[test]
fn an_answer_goes_to_stdout_and_the_rest_to_stderr() {
    let sandbox = Sandbox::new();
    let run = chat(&sandbox, &[], "hi\n");
    assert_eq!((run.code, run.stdout.as_str()), (0, "You said: hi\n"));
    assert!(run.stderr.starts_with("session "), "{}", run.stderr);
}

#[test]
fn every_event_is_a_line_of_json() {
    let sandbox = Sandbox::new();
    let events = events(&sandbox, &[], "hi");
    assert!(events.iter().all(|event| event["schema"] == 1));
    let kinds: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["session", "saved", "turn", "text", "text", "text", "saved", "end"]);
    let end = the(&events, "end");
    assert_eq!((&end["stop"], &end["text"]), (&"done".into(), &"You said: hi".into()));
    assert_eq!(end["leaf"], events[6]["entry"]);
    assert_eq!(said(&sandbox, &session(&events)), [r#""hi""#, r#""You said: hi""#]);
}

#[test]
fn nothing_said_makes_nothing() {
    let sandbox = Sandbox::new();
    for lines in ["", "\n \n", "/help\n/quit\nhi\n"] {
        let run = chat(&sandbox, &[], lines);
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    assert!(sandbox.files().is_empty());
    let run = sandbox.run_with(&["chat"], "hi\n");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--provider scripted"), "{}", run.stderr);
    assert_eq!(chat(&sandbox, &["--continue"], "hi\n").code, 1);
    assert!(sandbox.files().is_empty());
}

#[test]
fn a_session_goes_on_by_id_and_as_the_newest() {
    let sandbox = Sandbox::new();
    let id = session(&events(&sandbox, &[], "one\n"));
    let second = sandbox.run_with(&["chat", &id, "--json"], "two\n");
    assert_eq!(second.code, 0, "its model is in the session: {}", second.stderr);
    let third = events(&sandbox, &["--continue"], "three\n");
    assert_eq!(session(&third), id);
    assert_eq!(said(&sandbox, &id).len(), 6);
}

#[test]
fn tools_are_off_unless_they_are_named() {
    let sandbox = Sandbox::new();
    sandbox.put("notes.txt", b"Buy milk.\n");
    let call = "call read {\"path\":\"notes.txt\"}\n";
    let off = events(&sandbox, &[], call);
    assert_eq!(the(&off, "tool_result")["isError"], true);
    let on = events(&sandbox, &["--tools", "read,list"], call);
    let result = the(&on, "tool_result");
    assert_eq!(result["isError"], false);
    assert!(result["text"].as_str().unwrap().contains("Buy milk."));
    assert_eq!(the(&on, "tool")["arguments"]["path"], "notes.txt");
    let people = chat(&sandbox, &["--tools", "read"], call);
    assert!(people.stderr.contains("-> read {\"path\":\"notes.txt\"}"), "{}", people.stderr);
    assert!(people.stdout.starts_with("The tool says:"), "{}", people.stdout);
    // Commands are another matter.
    let run = chat(&sandbox, &["--tools", "read,bash"], "hi\n");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--allow-bash"), "{}", run.stderr);
    let bash = "call bash {\"command\":\"echo made by bash\"}\n";
    let off = events(&sandbox, &["--tools", "read"], bash);
    assert_eq!(the(&off, "tool_result")["isError"], true);
    let on = events(&sandbox, &["--allow-bash"], bash);
    // Where the system cannot confine it, it says so instead.
    let text = the(&on, "tool_result")["text"].as_str().unwrap().to_owned();
    assert!(text.contains("made by bash") || text.contains("Landlock"), "{text}");
}

#[test]
fn rewind_grows_a_branch_and_tree_shows_it() {
    let sandbox = Sandbox::new();
    let id = session(&events(&sandbox, &[], "one\ntwo\n"));
    let shown: Value = serde_json::from_str(&sandbox.ok(&["show", &id, "--json"])).unwrap();
    let first = shown["entries"][3]["id"].as_str().unwrap().to_owned();
    let moved = events(&sandbox, &[&id], &format!("/rewind {first}\nthree\n/tree\n"));
    assert_eq!(the(&moved, "rewind")["leaf"], first.as_str());
    assert!(the(&moved, "rewind")["summary"].is_null());
    let rows = the(&moved, "tree")["rows"].as_array().unwrap().clone();
    let fork = rows.iter().find(|row| row["id"] == first.as_str()).unwrap();
    assert_eq!(fork["forkPoint"], true);
    let said = said(&sandbox, &id);
    assert_eq!(said.len(), 4);
    assert!(!said.iter().any(|text| text.contains("two")), "{said:?}");
}

#[test]
fn a_branch_is_summed_up_only_where_that_is_asked_for() {
    let sandbox = Sandbox::new();
    let id = session(&events(&sandbox, &[], "one\ntwo\n"));
    let shown: Value = serde_json::from_str(&sandbox.ok(&["show", &id, "--json"])).unwrap();
    let first = shown["entries"][3]["id"].as_str().unwrap().to_owned();
    let moved = events(&sandbox, &[&id], &format!("/rewind {first} --summary\nthree\n"));
    let summary = the(&moved, "rewind")["summary"].as_str().unwrap().to_owned();
    assert_eq!(the(&moved, "rewind")["leaf"], summary.as_str());
    let said = said(&sandbox, &id);
    assert!(said[2].contains("The user explored a different conversation branch"), "{said:?}");
    assert!(said[2].contains("scripted provider"), "{said:?}");
    let shown: Value = serde_json::from_str(&sandbox.ok(&["show", &id, "--json"])).unwrap();
    let entries = shown["entries"].as_array().unwrap();
    let entry = entries.iter().find(|entry| entry["id"] == summary.as_str()).unwrap();
    assert_eq!(entry["type"], "branch_summary");
    assert_eq!(entry["parentId"], first.as_str());
}

#[test]
fn fork_goes_on_in_a_copy_and_resume_comes_back() {
    let sandbox = Sandbox::new();
    let forked = events(&sandbox, &[], "one\n/fork\ntwo\n");
    let sessions = all(&forked, "session");
    let (old, new) = (sessions[0]["session"].as_str().unwrap(), session(&forked));
    assert_ne!(old, new);
    assert_eq!((said(&sandbox, old).len(), said(&sandbox, &new).len()), (2, 4));
    let back = events(&sandbox, &[&new], &format!("/resume {old}\nthree\n/resume\n"));
    assert_eq!(session(&back), old);
    assert_eq!(said(&sandbox, old).len(), 4);
    let listed = the(&back, "sessions")["sessions"].as_array().unwrap().len();
    assert_eq!(listed, 2, "nothing waits, so the sessions are listed");
}

#[test]
fn labels_models_levels_and_tokens() {
    let sandbox = Sandbox::new();
    let done = events(
        &sandbox,
        &[],
        "one\n/label good start\ntwo\n/label good second\n/model other-model\n/thinking high\n\
         three\n/cost\n",
    );
    let id = session(&done);
    let labels = all(&done, "label");
    assert_eq!(labels[0]["label"], "good start");
    // Two words again: no entry is called "good".
    assert_eq!(labels[1]["label"], "good second");
    assert_ne!(labels[0]["entry"], labels[1]["entry"]);
    let thinking = the(&done, "thinking");
    assert_eq!(thinking["thinkingLevel"], "high");
    assert_eq!(thinking["model"]["modelId"], "other-model");
    assert_eq!(the(&done, "turn")["model"], "other-model");
    let cost = the(&done, "cost");
    assert_eq!(cost["branch"]["requests"], 3);
    assert!(cost["session"]["usage"]["totalTokens"].as_u64().unwrap() > 0);
    let cleared = events(&sandbox, &[&id], "/label --clear good start\n");
    assert!(the(&cleared, "label")["label"].is_null());
    assert_eq!(the(&cleared, "label")["entry"], labels[0]["entry"]);
}

/// Settings made before count from the first message on.
#[test]
fn a_new_chat_has_no_session_until_something_is_said() {
    let sandbox = Sandbox::new();
    let looked = events(&sandbox, &[], "/tree\n/cost\n/model\n/thinking low\n/resume\n/help\n");
    assert_eq!(the(&looked, "tree")["rows"].as_array().unwrap().len(), 0);
    assert_eq!(the(&looked, "cost")["session"]["requests"], 0);
    assert!(all(&looked, "session").is_empty(), "{looked:?}");
    for line in ["/rewind x", "/fork", "/label x", "/export x.md"] {
        let run = chat(&sandbox, &["--json"], &format!("{line}\n"));
        assert_eq!(run.code, 2, "{line}: {}", run.stderr);
        assert!(run.stderr.contains("nothing was said yet"), "{line}: {}", run.stderr);
    }
    assert_eq!(sandbox.ok(&["list", "--json"]), "", "nothing was made");
    assert_eq!(sandbox.files(), [], "not even a folder");
    let set = events(&sandbox, &[], "/model other-model\n/thinking low\none\n/thinking\n");
    assert_eq!(the(&set, "turn")["model"], "other-model");
    assert_eq!(all(&set, "thinking")[1]["thinkingLevel"], "low");
    let old = session(&set);
    let back = events(&sandbox, &[], &format!("/tree\n/resume {old}\ntwo\n"));
    assert_eq!(session(&back), old);
    assert_eq!(said(&sandbox, &old).len(), 4);
    assert_eq!(sandbox.ok(&["list", "--json"]).lines().count(), 1);
}

#[test]
fn compact_sums_up_and_the_talk_goes_on() {
    let sandbox = Sandbox::new();
    let done = events(&sandbox, &[], "one\ntwo\n/compact the plans\nthree\n");
    let entry = the(&done, "compacted")["entry"].as_str().unwrap().to_owned();
    let said = said(&sandbox, &session(&done));
    assert_eq!(said.len(), 3);
    assert!(said[0].contains("Previous conversation summary"), "{said:?}");
    assert!(sandbox.ok(&["tree", &session(&done), "--json"]).contains(&entry));
    // A summary asks for no answer.
    let after = events(&sandbox, &[], "one\n/compact\n/resume\n");
    assert_eq!(all(&after, "sessions").len(), 1);
    assert_eq!(all(&after, "end").len(), 1, "{after:?}");
    let nothing = chat(&sandbox, &["--json"], "/compact\n");
    assert_eq!(nothing.code, 1);
    assert!(nothing.stderr.contains("nothing_to_compact"), "{}", nothing.stderr);
    assert!(nothing.stdout.contains(r#""event":"error","kind":"nothing_to_compact""#));
}

#[test]
fn export_writes_the_branch_to_a_new_file() {
    let sandbox = Sandbox::new();
    let done =
        events(&sandbox, &[], "one\n/export talk.md\n/export talk.jsonl\n/export talk.json\n");
    assert_eq!(all(&done, "export").len(), 3);
    let read = |name: &str| std::fs::read_to_string(sandbox.path(name)).unwrap();
    assert!(read("talk.md").contains("## user\n\none\n"), "{}", read("talk.md"));
    let whole: Value = serde_json::from_str(&read("talk.json")).unwrap();
    assert_eq!(whole["entries"].as_array().unwrap().len(), 4);
    let again = chat(&sandbox, &[&session(&done)], "/export talk.md\n");
    assert_eq!(again.code, 1, "what is there is not written over");
}

#[test]
fn an_exported_session_opens_by_itself_with_all_that_was_said() {
    let sandbox = Sandbox::new();
    let done = events(&sandbox, &[], "one\n/label here\n");
    let id = session(&done);
    let data = "QUJD".repeat(30_000);
    let large = format!(r#"{{"base64":"{data}","mimeType":"image/png"}}"#);
    let entries = format!(
        r#"{{"type":"message","message":{{"role":"user","content":[{{"type":"image",{}]}}}}
{{"type":"custom","namespace":"n","data":{{"shots":[{large}]}}}}
"#,
        &large[1..]
    );
    assert_eq!(sandbox.run_with(&["append", &id, "--entry", "-"], &entries).code, 0);
    let run = chat(&sandbox, &[&id], "two\n/export talk.jsonl\n/export talk.json\n");
    assert_eq!(run.code, 0, "{}", run.stderr);
    // Away from the store that holds its blobs.
    let talk = std::fs::read_to_string(sandbox.path("talk.jsonl")).unwrap();
    let away = Sandbox::new();
    away.put("talk.jsonl", talk.as_bytes());
    let check = away.ok(&["check", "./talk.jsonl"]);
    assert!(!check.contains("error") && !check.contains("warning"), "{check}");
    assert_eq!(said(&away, "./talk.jsonl"), said(&sandbox, &id));
    assert_eq!(said(&away, "./talk.jsonl").len(), 5);
    assert_eq!(talk.matches(&data).count(), 2, "an image and a payload");
    assert!(away.ok(&["tree", "./talk.jsonl"]).contains("[here]"));
    let whole = std::fs::read_to_string(sandbox.path("talk.json")).unwrap();
    assert_eq!(whole.matches(&data).count(), 2);
    let whole: Value = serde_json::from_str(&whole).unwrap();
    assert!(whole["entries"].as_array().unwrap().iter().all(|entry| entry.get("more").is_none()));
    // From another format as well.
    let pi = include_bytes!("../../../fixtures/pi/07-model-thinking.jsonl");
    sandbox.put("pi.jsonl", pi);
    let run = chat(&sandbox, &["./pi.jsonl"], "more\n/export of-pi.jsonl\n");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(sandbox.ok(&["check", "./of-pi.jsonl"]), "");
    assert_eq!(said(&sandbox, "./of-pi.jsonl"), said(&sandbox, "./pi.jsonl"));
}

#[test]
fn a_command_that_is_none_ends_a_pipe_with_a_usage_error() {
    let sandbox = Sandbox::new();
    let run = chat(&sandbox, &[], "/nothing\nhi\n");
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("/help"), "{}", run.stderr);
    let two = chat(&sandbox, &[], "//etc\n");
    assert_eq!(two.stdout, "You said: /etc\n");
}

#[test]
fn escapes_of_a_terminal_come_out_harmless() {
    let sandbox = Sandbox::new();
    let run = chat(&sandbox, &[], "a \u{1b}[31m\u{9b}2J\u{202e}b\n");
    assert_eq!(run.stdout, "You said: a ^[[31m<U+009B>2J<U+202E>b\n");
    let json = chat(&sandbox, &["--json"], "a \u{1b}[31m\u{9b}2J\u{202e}b\n");
    assert!(!json.stdout.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{}", json.stdout);
}

#[test]
fn files_of_pi_are_talked_in_where_they_lie() {
    let sandbox = Sandbox::with_samples();
    let before = std::fs::read_to_string(sandbox.path("pi/pi.jsonl")).unwrap();
    events(&sandbox, &["pi/pi.jsonl"], "hi\n");
    let after = std::fs::read_to_string(sandbox.path("pi/pi.jsonl")).unwrap();
    let new: Vec<Value> = after
        .strip_prefix(&before)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let types: Vec<&str> = new
        .iter()
        .filter(|line| line["customType"] != "forkwood.operation")
        .map(|line| line["type"].as_str().unwrap())
        .collect();
    assert_eq!(types, ["model_change", "message", "message"]);
}

#[test]
fn what_is_no_text_in_a_pipe_is_told_as_an_event_too() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    command.args(["chat", "--provider", "scripted", "--json"]).write_stdin(b"one\n\xff\n");
    let run = command.output().unwrap();
    assert_eq!(run.status.code(), Some(1));
    let stdout = String::from_utf8(run.stdout).unwrap();
    let last = stdout.lines().last().unwrap();
    assert!(last.contains(r#""event":"error","kind":"invalid""#), "{last}");
    assert!(stdout.contains("You said: one"), "what was said before is answered");
}
