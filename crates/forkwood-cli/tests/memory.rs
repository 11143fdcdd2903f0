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
fn peak(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

/// A context, its JSON included, costs the line as it stands and the text in it, and no more.
#[test]
fn a_long_line_is_not_held_three_times() {
    let sandbox = Sandbox::new();
    let text = "a line of output\\n".repeat(LINE / 18);
    let lines = [
        r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#.to_owned(),
        r#"{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"go"}}"#.to_owned(),
        format!(r#"{{"type":"message","id":"00000002","parentId":"00000001","timestamp":"2026-01-01T00:00:02.000Z","message":{{"role":"user","content":[{{"type":"text","text":"{text}"}}]}}}}"#),
    ];
    sandbox.put("pi.jsonl", format!("{}\n", lines.join("\n")).as_bytes());
    let mut native = sandbox.ok(&["fork", "./pi.jsonl"]);
    native = native.lines().last().unwrap().to_owned();
    for session in ["./pi.jsonl", native.as_str()] {
        for command in ["show", "context"] {
            let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("forkwood"))
                .args([command, session, "--json"])
                .current_dir(sandbox.path("."))
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            // In the midst of the long line it waits for its reader.
            let mut out = child.stdout.take().unwrap();
            let mut start = vec![0; 1 << 20];
            out.read_exact(&mut start).unwrap();
            let most = peak(child.id());
            std::io::copy(&mut out, &mut std::io::sink()).unwrap();
            assert!(child.wait().unwrap().success());
            assert!(most < 3 * LINE, "{command} {session}: {} MB", most >> 20);
        }
    }
}
