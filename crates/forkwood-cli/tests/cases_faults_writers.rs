//! Faults that people reported of other tools, through the program: cases 51 and 53, in which
//! writes stop part way and many write at once.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cases_common;

use std::collections::HashMap;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use cases_common::faults::{fault, full};
use cases_common::json::Json;
use cases_common::{Desk, pi, wait};

/// Runs the program under the file size limit of the case.
fn limited(case: &cases_common::faults::Fault, args: &[&str]) -> cases_common::Run {
    let mut command = Command::new("sh");
    command.arg(case.script("run.sh")).arg(env!("CARGO_BIN_EXE_forkwood")).args(args);
    case.desk.prepare(&mut command);
    case.desk.watched(command, b"", args)
}

#[test]
fn case_51_disk_full_append() {
    let case = fault("51");
    let desk = &case.desk;
    std::fs::remove_file(desk.file("run.sh")).unwrap();
    let old = desk.bytes("session.jsonl");
    let before = desk.said("session.jsonl");
    let big = "x".repeat(4000);
    for _ in 0..2 {
        let run = limited(&case, &["append", "./session.jsonl", &big, "--json"]);
        let kind = run.refused();
        assert!(["no_space", "too_large", "io"].contains(&kind.as_str()), "{kind}");
        let left = desk.bytes("session.jsonl");
        assert!(left.starts_with(&old));
        assert_eq!(desk.said("session.jsonl"), before);
        assert!(left == old || desk.kinds("session.jsonl") == ["torn-tail"]);
    }
    // A small one fits still.
    limited(&case, &["append", "./session.jsonl", "small"]).ok();
    desk.run(&["append", "./session.jsonl", &big]).ok();
    let mut wanted = before;
    wanted.extend(["user small".to_owned(), format!("user {big}")]);
    assert_eq!(desk.said("session.jsonl"), wanted);
    assert!(desk.bytes("session.jsonl").starts_with(&old));
}

/// A rewrite that finds no room leaves the old file whole.
#[test]
fn case_51_disk_full_rewrite() {
    let case = fault("51");
    let desk = &case.desk;
    let native = desk.run(&["new"]).ok().to_owned();
    for at in 0..6 {
        desk.run(&["append", &native, &format!("{at}{}", "y".repeat(600))]).ok();
    }
    let path = desk.run(&["path", &native]).ok().to_owned();
    let old = std::fs::read(&path).unwrap();
    let mut v1 = String::from(
        "{\"type\":\"session\",\"id\":\"01940000-0000-7000-8000-0000000000a1\",\"timestamp\":\"2026-05-01T09:00:00.000Z\",\"cwd\":\"/proj/demo\"}\n",
    );
    while v1.len() < 1900 {
        v1 += "{\"type\":\"message\",\"timestamp\":\"2026-05-01T09:00:01.000Z\",\"message\":{\"role\":\"user\",\"content\":\"old\",\"timestamp\":1777626001000}}\n";
    }
    desk.put("v1.jsonl", v1.clone());
    for args in [
        vec!["vacuum", native.as_str(), "--json"],
        vec!["fork", &native, "--json"],
        vec!["append", "./v1.jsonl", "on", "--json"],
    ] {
        let run = limited(&case, &args);
        if run.code != 0 {
            run.refused();
        }
        assert_eq!(std::fs::read(&path).unwrap(), old, "{args:?}");
        assert_eq!(desk.bytes("v1.jsonl"), v1.as_bytes(), "{args:?}");
    }
    assert_eq!(desk.context(&native).get("messages").list().len(), 6);
    assert_eq!(desk.listed(&[]), [native.as_str()], "half a fork is no session");
    desk.run(&["append", "./v1.jsonl", "on"]).ok();
    assert!(desk.said("v1.jsonl").contains(&"user on".to_owned()));
}

/// The text of a record of a writer: its name, then letters up to a size of the case.
fn text(writer: usize, at: usize, sizes: &[usize]) -> String {
    let name = format!("w{writer}-{at}.");
    let size = sizes[(writer + at) % sizes.len()];
    format!("{name}{}", "abcdefghij".repeat(size / 10).get(name.len()..).unwrap_or_default())
}

struct Stress<'a> {
    desk: &'a Desk,
    session: &'a str,
    sizes: Vec<usize>,
    each: usize,
}

impl Stress<'_> {
    fn appender(&self, text: &str) -> std::process::Child {
        let mut command = self.desk.command();
        let options = ["append", self.session, "-", "--expect", "any"];
        command.args(options).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // One that was killed reads no more.
        drop(std::io::Write::write_all(&mut stdin, text.as_bytes()));
        child
    }

    /// Appends one after another; every eleventh is killed. Gives ids and texts that were
    /// acknowledged, and how many were not.
    fn write(&self, writer: usize) -> (Vec<(String, String)>, usize) {
        let mut done = Vec::new();
        let mut killed = 0;
        for at in 0..self.each {
            let text = text(writer, at, &self.sizes);
            let mut child = self.appender(&text);
            if at % 11 == writer {
                child.kill().unwrap();
            }
            let status = wait(&mut child).expect("an append hangs");
            let output = child.wait_with_output().unwrap();
            match status.code() {
                Some(0) => {
                    let id = String::from_utf8(output.stdout).unwrap();
                    done.push((id.trim().to_owned(), text));
                }
                Some(code) => panic!("{code}: {}", String::from_utf8_lossy(&output.stderr)),
                None => killed += 1,
            }
        }
        (done, killed)
    }

    /// Reads over and over: never half a record, never an error.
    fn read(&self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            let context = self.desk.run(&["context", self.session, "--raw", "--json"]).json();
            for message in context.get("messages").list() {
                whole(&message.get("content").text(), &self.sizes);
            }
        }
    }
}

/// Whether a text is one that a writer writes, all of it.
fn whole(said: &str, sizes: &[usize]) {
    let Some(name) = said.strip_prefix('w').and_then(|rest| rest.split_once('.')) else {
        assert!(!said.contains("abcdefghij"), "a piece of a record");
        return;
    };
    let (writer, at) = name.0.split_once('-').unwrap();
    assert_eq!(said, text(writer.parse().unwrap(), at.parse().unwrap(), sizes));
}

fn stress(desk: &Desk, session: &str) {
    let case = fault("53");
    let step = &case.case.get("steps").list()[0];
    let sizes: Vec<usize> =
        step.get("sizes").list().iter().map(|size| size.number() as usize).collect();
    let (writers, readers) = (step.get("writers").number() as usize, 2);
    let each = if full() { step.get("records_each").number() as usize } else { 12 };
    let stress = Stress { desk, session, sizes, each };
    let stop = AtomicBool::new(false);
    let (done, killed) = std::thread::scope(|scope| {
        let reading: Vec<_> = (0..readers).map(|_| scope.spawn(|| stress.read(&stop))).collect();
        let writing: Vec<_> = (0..writers)
            .map(|at| {
                let stress = &stress;
                scope.spawn(move || stress.write(at))
            })
            .collect();
        let written: Vec<_> = writing.into_iter().map(|one| one.join()).collect();
        stop.store(true, Ordering::Relaxed);
        reading.into_iter().for_each(|one| one.join().unwrap());
        let mut done = Vec::new();
        let mut killed = 0;
        for one in written {
            let (some, few) = one.unwrap();
            done.extend(some);
            killed += few;
        }
        (done, killed)
    });
    assert!(done.len() + killed == writers * each && killed > 0);
    // What was acknowledged is there, once and whole; what was not is whole, or told as torn.
    let lines = desk.read(&["tree", session, "--json"]);
    let mut ids: HashMap<String, usize> = HashMap::new();
    for row in lines.get("rows").list() {
        *ids.entry(row.get("id").text()).or_default() += 1;
    }
    assert!(ids.values().all(|times| *times == 1));
    let context = desk.read(&["context", session, "--raw", "--json"]);
    let on_path: HashMap<String, String> = context
        .get("entryIds")
        .list()
        .iter()
        .zip(context.get("messages").list())
        .map(|(id, message)| (id.text(), message.get("content").text()))
        .collect();
    for (id, text) in &done {
        assert_eq!(on_path.get(id), Some(text), "{id} was acknowledged");
    }
    on_path.values().for_each(|said| whole(said, &stress.sizes));
    let (found, _) = desk.check(session);
    assert!(found.iter().all(|one| one.kind == "torn-tail"), "{found:?}");
    desk.run(&["append", session, "after"]).ok();
}

#[test]
fn case_53_many_writers_of_a_native_session() {
    let desk = Desk::new("53");
    let id = desk.run(&["new"]).ok().to_owned();
    stress(&desk, &id);
}

#[test]
fn case_53_many_writers_of_a_file_of_pi() {
    let desk = Desk::with("53 pi", pi::PiFile::talk());
    stress(&desk, "./s.jsonl");
    // Nothing of it is a line that Pi would not take.
    let old: Vec<u8> = pi::PiFile::talk().into();
    let new = desk.bytes("s.jsonl");
    let count = String::from_utf8(new.clone()).unwrap().lines().count();
    let lines = pi::plain_lines(&old, &new, count - 5);
    let mut parents: Vec<String> = lines.iter().map(|line| line.get("parentId").text()).collect();
    parents.sort();
    parents.dedup();
    assert_eq!(parents.len(), lines.len(), "one chain, no branches");
    assert!(lines.iter().all(|line| matches!(line, Json::Map(_))));
}
