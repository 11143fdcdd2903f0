//! How much memory a very long line takes.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod common;

use std::io::Read;
use std::process::Stdio;

use common::Sandbox;

/// The bytes of the long line.
const LINE: usize = 24 << 20;

/// The most memory that a process had so far, in bytes.
fn peak(process: u32) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024)
}

/// The most memory that a command takes; one with a long answer waits in its midst for its reader.
fn most_of(sandbox: &Sandbox, command: &str, session: &str) -> usize {
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("forkwood"))
        .args([command, session, "--json"])
        .current_dir(sandbox.path("."))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    std::io::copy(&mut out.by_ref().take(1 << 20), &mut std::io::sink()).unwrap();
    let most = peak(child.id()).unwrap();
    std::io::copy(&mut out, &mut std::io::sink()).unwrap();
    assert!(child.wait().unwrap().success());
    most
}

/// A Pi file of three entries, the last with a text of so many bytes.
fn pi_file(bytes: usize) -> String {
    let text = "a line of output\\n".repeat(bytes / 18);
    [
        r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#.to_owned(),
        r#"{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"go"}}"#.to_owned(),
        format!(r#"{{"type":"message","id":"00000002","parentId":"00000001","timestamp":"2026-01-01T00:00:02.000Z","message":{{"role":"user","content":[{{"type":"text","text":"{text}"}}]}}}}"#),
        String::new(),
    ]
    .join("\n")
}

/// A context, its JSON included, costs the line as it stands and the text in it, and no more.
#[test]
fn a_long_line_is_not_held_three_times() {
    let sandbox = Sandbox::new();
    sandbox.put("small.jsonl", pi_file(2 << 20).as_bytes());
    sandbox.put("pi.jsonl", pi_file(LINE).as_bytes());
    let native = sandbox.ok(&["fork", "./pi.jsonl"]);
    let native = native.lines().last().unwrap();
    for command in ["show", "context"] {
        // What the program itself takes.
        let own = most_of(&sandbox, command, "./small.jsonl");
        assert!(own > 0);
        for session in ["./pi.jsonl", native] {
            let most = most_of(&sandbox, command, session) - own;
            assert!(most < 3 * LINE, "{command} {session}: {} MB", most >> 20);
        }
    }
}
