//! Files of Pi, with Pi itself as the judge: both generations write, open and go on with them.
//! `scripts/test.sh` installs Pi (interop/pi) and sets `FORKWOOD_INTEROP`, under which a missing Pi
//! is a failure; without it these tests do nothing.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cases_common;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use cases_common::json::Json;
use cases_common::{Desk, session_files};
use serde_json::{Value, json};

/// A running Pi.
struct Pi {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

/// Folder in the tools, and the path of the session manager in it.
const GENERATIONS: [(&str, &str); 2] = [
    ("pi-0.73.1", "@mariozechner/pi-coding-agent/dist/core/session-manager.js"),
    ("pi-1.6.0", "@earendil-works/pi-coding-agent/dist/core/session-manager.js"),
];

impl Pi {
    fn start((folder, manager): (&str, &str)) -> Pi {
        let tools = std::env::var_os("FORKWOOD_TOOLS").map_or_else(
            || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache/forkwood-tools"),
            PathBuf::from,
        );
        let modules = tools.join(folder).join("node_modules");
        let manager = modules.join(manager);
        assert!(manager.exists(), "{}: run scripts/test.sh, which installs Pi", manager.display());
        let node = ["x64", "arm64"].map(|it| modules.join(format!("node-linux-{it}/bin/node")));
        let node = node.into_iter().find(|node| node.exists()).expect("a Node beside Pi");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/pi/pi.mjs");
        let mut child = Command::new(node)
            .args([&script, &manager])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = child.stdin.take().unwrap();
        let from = BufReader::new(child.stdout.take().unwrap());
        Pi { child, to, from }
    }

    fn line(&mut self, command: &Value) -> String {
        writeln!(self.to, "{command}").unwrap();
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        line
    }

    fn ask(&mut self, command: &Value) -> Value {
        let line = self.line(command);
        let mut answer: Value = serde_json::from_str(&line).unwrap();
        assert!(answer["error"].is_null(), "{command}: {}", answer["error"].as_str().unwrap());
        answer["ok"].take()
    }

    fn read(&mut self, file: &Path) -> Value {
        self.ask(&json!({"op": "read", "file": file, "everywhere": true}))
    }
}

impl Drop for Pi {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn forkwood(desk: &Desk, args: &[&str]) -> Value {
    serde_json::from_str(desk.run(args).ok()).unwrap()
}

/// What Pi makes of a context, in Pi's shape.
fn view(context: &Value) -> Value {
    let mut view = json!({});
    for name in ["leaf", "path", "messages", "thinkingLevel", "model"] {
        view[name] = context[name].clone();
    }
    view
}

/// Both read a file alike: at the leaf and at every entry.
fn compare(desk: &Desk, pi: &mut Pi, name: &str, what: &str) {
    let file = desk.file(name);
    let before = desk.bytes(name);
    let theirs = pi.read(&file);
    assert_eq!(desk.bytes(name), before, "{what}: Pi found the file in need of a rewrite");
    let ours = forkwood(desk, &["context", name, "--shape", "pi", "--json"]);
    assert_eq!(view(&ours), view(&theirs), "{what}");
    let entries = theirs["entries"].as_array().unwrap();
    // One process an entry: of a long session, some.
    let step = entries.len().div_ceil(40).max(1);
    for (at, entry) in entries.iter().enumerate().step_by(step) {
        let entry = entry.as_str().unwrap();
        let args = ["context", name, "--at", entry, "--shape", "pi", "--json"];
        let ours = forkwood(desk, &args);
        assert_eq!(view(&ours), view(&theirs["at"][at]), "{what}: at {entry}");
    }
    let listed: Value = forkwood(desk, &["list", "--dir", ".", "--json"]);
    assert_eq!(listed["title"], theirs["name"], "{what}");
    let tree = forkwood(desk, &["tree", name, "--json"]);
    let labels: serde_json::Map<String, Value> = tree["rows"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| !row["label"].is_null())
        .map(|row| (row["id"].as_str().unwrap().to_owned(), row["label"].clone()))
        .collect();
    assert_eq!(Value::Object(labels), theirs["labels"], "{what}");
}

/// Everything that Forkwood can write into a file of Pi, with Pi reading it after each step.
fn write_everything(desk: &Desk, pi: &mut Pi, name: &str) {
    let ok = |args: &[&str]| desk.run(args).ok().to_owned();
    let entry =
        |json: &str| desk.run_with(&["append", name, "--json"], json.as_bytes()).ok().to_owned();
    let first = ok(&["append", name, "a question of ours \u{1f600}"]);
    compare(desk, pi, name, "append");
    entry(
        r#"{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"toolCall","id":"c5","name":"bash","arguments":{"command":"ls"}}],"model":"demo-model-1","provider":"demo","stopReason":"toolUse"}}"#,
    );
    compare(desk, pi, name, "a call");
    entry(
        r#"{"type":"message","message":{"role":"tool","toolCallId":"c5","toolName":"bash","content":"a.txt","isError":false}}"#,
    );
    compare(desk, pi, name, "a result");
    entry(
        r#"{"type":"message","message":{"role":"assistant","content":"There it is.","model":"demo-model-2","provider":"demo"}}"#,
    );
    compare(desk, pi, name, "an answer");
    ok(&["label", name, &first, "ours"]);
    compare(desk, pi, name, "label");
    ok(&["rename", name, "Named by us"]);
    compare(desk, pi, name, "rename");
    entry(r#"{"type":"model_change","model":"demo-model-3","provider":"demo"}"#);
    compare(desk, pi, name, "model_change");
    entry(r#"{"type":"thinking_level_change","thinkingLevel":"low"}"#);
    compare(desk, pi, name, "thinking_level_change");
    entry(r#"{"type":"custom","namespace":"ours","data":{"n":1}}"#);
    compare(desk, pi, name, "custom");
    entry(r#"{"type":"custom_message","namespace":"ours","content":"said aside","display":true}"#);
    compare(desk, pi, name, "custom_message");
    ok(&["append", name, "a second question of ours"]);
    desk.put("summary.txt", "all that was said");
    ok(&["compact", name, "--summary-file", "summary.txt"]);
    compare(desk, pi, name, "compact");
    ok(&["append", name, "after our compaction"]);
    compare(desk, pi, name, "append after compact");
    ok(&["rewind", name, &first]);
    ok(&["append", name, "another branch"]);
    compare(desk, pi, name, "append after rewind");
}

/// The generations, where other programs are asked.
fn generations() -> &'static [(&'static str, &'static str)] {
    if std::env::var_os("FORKWOOD_INTEROP").is_some() { &GENERATIONS } else { &[] }
}

fn each_generation(test: impl Fn(&mut Pi)) {
    for &generation in generations() {
        test(&mut Pi::start(generation));
    }
}

#[test]
fn what_pi_writes_is_read_as_pi_reads_it() {
    each_generation(|pi| {
        let desk = Desk::new("pi");
        let written = pi.ask(&json!({"op": "write", "dir": desk.work()}));
        let file = PathBuf::from(written["file"].as_str().unwrap());
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        let name = format!("./{name}");
        compare(&desk, pi, &name, "as written");
        write_everything(&desk, pi, &name);
        pi.ask(&json!({"op": "goOn", "file": file}));
        compare(&desk, pi, &name, "gone on with by Pi");
        write_everything(&desk, pi, &name);
    });
}

#[test]
fn forks_are_opened_by_the_other() {
    each_generation(|pi| {
        let desk = Desk::new("pi");
        let written = pi.ask(&json!({"op": "write", "dir": desk.work()}));
        let file = PathBuf::from(written["file"].as_str().unwrap());
        let theirs = pi.read(&file);
        let last = theirs["leaf"].as_str().unwrap();
        let source = file.to_str().unwrap();
        let ours = forkwood(&desk, &["fork", source, "--format", "pi", "--json"]);
        // In a folder of its own: the titles and labels are compared.
        let forks = Desk::new("forks");
        let target = forks.file("ours.jsonl");
        std::fs::copy(ours["path"].as_str().unwrap(), &target).unwrap();
        let fork = pi.read(&target);
        assert_eq!(fork["messages"], theirs["messages"]);
        compare(&forks, pi, "./ours.jsonl", "our fork");
        pi.ask(&json!({"op": "goOn", "file": target}));
        compare(&forks, pi, "./ours.jsonl", "our fork, gone on with");
        // Pi's own.
        let forked = pi.ask(&json!({"op": "fork", "file": file, "entry": last}));
        let forked = PathBuf::from(forked["file"].as_str().unwrap());
        let desk = Desk::new("their fork");
        std::fs::copy(&forked, desk.file("theirs.jsonl")).unwrap();
        compare(&desk, pi, "./theirs.jsonl", "their fork");
    });
}

/// What both make of a file, field by field. Some files hold lone surrogates.
fn views(desk: &Desk, pi: &mut Pi, name: &str) -> [Vec<Json>; 2] {
    let answer = pi.line(&json!({"op": "read", "file": desk.file(name)}));
    let answer = Json::parse(&answer).unwrap();
    assert_eq!(answer.get("error"), &Json::Null, "{name}");
    let fields = ["leaf", "path", "thinkingLevel", "model", "messages"];
    [desk.pi_context(name), answer.get("ok").clone()]
        .map(|view| fields.iter().map(|field| view.get(field).clone()).collect())
}

/// Files of both generations, of every kind there is, after Forkwood wrote into them.
#[test]
fn every_known_file_is_opened_by_pi_after_we_wrote() {
    for &generation in generations() {
        let mut pi = Pi::start(generation);
        let (mut alike, mut newer) = (0, Vec::new());
        for path in session_files("pi") {
            let desk = Desk::new("pi");
            desk.copy(&path);
            let name = format!("./{}", path.file_name().unwrap().to_str().unwrap());
            let run = desk.run(&["append", &name, "from Forkwood"]);
            if run.code != 0 {
                // Dialects that are read-only in place say so.
                assert!(run.stderr.contains("read-only"), "{name}: {}", run.stderr);
                continue;
            }
            let [ours, theirs] = views(&desk, &mut pi, &name);
            assert_eq!(ours[0], theirs[0], "{name}");
            let last = theirs.last().unwrap().list().last().unwrap().clone();
            assert_eq!(last.get("content").text(), "from Forkwood", "{name}");
            if ours == theirs {
                alike += 1;
            } else {
                newer.push(name);
            }
        }
        assert!(alike >= 10, "{alike}");
        // The older Pi passes over what only the newer one writes; files are read as the newer does.
        let old = generation.0 == "pi-0.73.1";
        newer.retain(|name| !(old && (name.contains("v16") || name.contains("newer"))));
        assert_eq!(newer, [""; 0], "{}", generation.0);
    }
}
