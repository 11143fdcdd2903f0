//! `forkwood chat` in files of other programs: what a killed process left open, and compactions.

#![cfg(feature = "agent")]
#![allow(clippy::unwrap_used)]

mod common;

use common::{Run, Sandbox};
use serde_json::Value;

const PI: &[u8] = include_bytes!("../../../fixtures/pi/01-linear.jsonl");
const MY_PI: &[u8] = include_bytes!("../../../fixtures/my-pi-agent/new/new-01-linear-tools.jsonl");

fn chat(sandbox: &Sandbox, file: &str, more: &[&str], lines: &str) -> Run {
    let args = ["chat", file, "--provider", "scripted", "--tools", "write"];
    let args: Vec<&str> = args.iter().chain(more).copied().collect();
    sandbox.run_with(&args, lines)
}

fn context(sandbox: &Sandbox, file: &str) -> Vec<Value> {
    let context: Value = serde_json::from_str(&sandbox.ok(&["context", file, "--json"])).unwrap();
    context["messages"].as_array().unwrap().clone()
}

/// A run that is cut off where a process would have been killed: once its tool had started.
fn killed(sandbox: &Sandbox, file: &str) {
    let run = chat(sandbox, file, &[], "call write {\"path\":\"a.txt\",\"content\":\"x\"}\n");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let text = std::fs::read_to_string(sandbox.path(file)).unwrap();
    let started = text.lines().position(|line| line.contains(r#""replay":"never""#)).unwrap();
    let kept: Vec<&str> = text.lines().take(started + 1).collect();
    sandbox.put(file, (kept.join("\n") + "\n").as_bytes());
}

fn each(check: impl Fn(&Sandbox, &str)) {
    for (name, bytes) in [("pi.jsonl", PI), ("my-pi.jsonl", MY_PI)] {
        let sandbox = Sandbox::new();
        sandbox.put(name, bytes);
        check(&sandbox, &format!("./{name}"));
    }
}

#[test]
fn a_killed_run_goes_on_in_a_file_of_another_program() {
    each(|sandbox, file| {
        killed(sandbox, file);
        std::fs::remove_file(sandbox.path("a.txt")).unwrap();
        let run = chat(sandbox, file, &[], "/resume\n");
        assert_eq!(run.code, 0, "{file}: {}", run.stderr);
        assert!(run.stderr.contains("the last run was interrupted"), "{file}: {}", run.stderr);
        assert!(run.stdout.contains("Tool call interrupted"), "{file}: {}", run.stdout);
        assert!(!sandbox.path("a.txt").exists(), "{file}: it must not run twice");
        // It is over, and stays so.
        let run = chat(sandbox, file, &[], "next\n");
        assert!(!run.stderr.contains("interrupted"), "{file}: {}", run.stderr);
        assert_eq!(run.stdout, "You said: next\n", "{file}");
    });
}

#[test]
fn what_was_open_is_answered_when_something_new_is_said() {
    each(|sandbox, file| {
        killed(sandbox, file);
        let run = chat(sandbox, file, &[], "next\n");
        assert_eq!((run.code, run.stdout.as_str()), (0, "You said: next\n"), "{file}");
        let text = std::fs::read_to_string(sandbox.path(file)).unwrap();
        assert!(text.contains("Tool call interrupted"), "{file}: the answer is in the file");
    });
}

#[test]
fn a_fork_of_a_killed_run_has_nothing_in_flight() {
    each(|sandbox, file| {
        killed(sandbox, file);
        let fork = sandbox.ok(&["fork", file]);
        let run = chat(sandbox, fork.trim(), &[], "/tree\n");
        assert_eq!(run.code, 0, "{file}: {}", run.stderr);
        assert!(!run.stderr.contains("interrupted"), "{file}: {}", run.stderr);
        assert!(!run.stdout.contains("operation"), "{file}: {}", run.stdout);
    });
}

#[test]
fn no_tool_writes_the_file_of_the_session() {
    each(|sandbox, file| {
        let call = format!("call write {{\"path\":\"{file}\",\"content\":\"x\"}}\n");
        let run = chat(sandbox, file, &[], &call);
        assert!(run.stdout.contains("sessions are not written by tools"), "{}", run.stdout);
    });
}

#[test]
fn long_talks_are_compacted_in_place_and_by_hand() {
    each(|sandbox, file| {
        let lines: String = (0..12).map(|n| format!("{n} {}\n", "word ".repeat(200))).collect();
        let run = chat(sandbox, file, &["--budget", "2000"], &lines);
        assert_eq!(run.code, 0, "{file}: {}", run.stderr);
        assert!(run.stderr.contains("compacted: "), "{file}: {}", run.stderr);
        let now = context(sandbox, file);
        assert!(now.len() < 12, "{file}: {} messages", now.len());
        let first = now[0]["content"].to_string();
        assert!(first.contains("A summary by the scripted provider"), "{file}: {first}");
        let summaries = now.iter().filter(|message| {
            message["content"].to_string().contains("A summary by the scripted provider")
        });
        assert_eq!(summaries.count(), 1, "{file}: a summary stands for the one before it");

        let run = chat(sandbox, file, &[], "/compact\nafter\n");
        assert_eq!(run.code, 0, "{file}: {}", run.stderr);
        assert_eq!(context(sandbox, file).len(), 3, "{file}");
        sandbox.put("summary.txt", b"All in one.");
        sandbox.ok(&["compact", file, "--summary-file", "summary.txt"]);
        let whole = context(sandbox, file);
        assert_eq!(whole.len(), 1, "{file}: {whole:?}");
        assert!(whole[0]["content"].to_string().contains("All in one."), "{file}");
        let check = sandbox.run(&["check", file]);
        assert!(!check.stdout.contains("error"), "{file}: {}", check.stdout);
    });
}

/// While a tool runs, another program goes elsewhere in the file.
#[test]
fn results_are_kept_behind_their_calls_where_another_program_moves_the_file() {
    let sandbox = Sandbox::new();
    sandbox.put("pi.jsonl", PI);
    let before = context(&sandbox, "./pi.jsonl");
    let told: Value =
        serde_json::from_str(&sandbox.ok(&["context", "./pi.jsonl", "--json"])).unwrap();
    let first = told["entryIds"][0].as_str().unwrap();
    let program = assert_cmd::cargo::cargo_bin("forkwood");
    let command = format!("{} rewind ./pi.jsonl {first} && echo took effect", program.display());
    let call = serde_json::json!({ "command": command });
    let args = ["chat", "./pi.jsonl", "--provider", "scripted", "--allow-bash", "--json"];
    let run = sandbox.run_with(&args, &format!("call bash {call}\n"));
    if run.stdout.contains("Landlock") {
        return;
    }
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    let error: Value = serde_json::from_str(run.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(error["kind"], "conflict", "{error}");
    let message = error["message"].as_str().unwrap();
    let end = message.rsplit(' ').next().unwrap();
    assert!(message.contains("kept behind their calls"), "{message}");
    // What the tool did is known there; the file stands where the other took it.
    let kept: Value =
        serde_json::from_str(&sandbox.ok(&["context", "./pi.jsonl", "--at", end, "--json"]))
            .unwrap();
    let kept = kept["messages"].as_array().unwrap().clone();
    let last = kept.last().unwrap();
    assert_eq!(last["role"], "tool", "{kept:?}");
    assert!(last.to_string().contains("took effect"), "{last}");
    assert_eq!(kept.len(), before.len() + 3, "question, call, result: {kept:?}");
    assert_eq!(context(&sandbox, "./pi.jsonl").len(), 1);
    let after = chat(&sandbox, "./pi.jsonl", &[], "again\n");
    assert_eq!((after.code, after.stdout.as_str()), (0, "You said: again\n"), "{}", after.stderr);
    assert_eq!(context(&sandbox, "./pi.jsonl").len(), 3);
}
