//! The cases distilled from reports on other tools: `case.json` beside the inputs.

use std::path::PathBuf;
use std::process::Command;

use super::json::Json;
use super::{Desk, cases, fixtures};

/// A case laid out in a folder.
pub(crate) struct Fault {
    pub(crate) desk: Desk,
    pub(crate) case: Json,
    folder: PathBuf,
}

/// Lays out a case by its number.
pub(crate) fn fault(number: &str) -> Fault {
    let prefix = format!("{number}-");
    let find = |base: PathBuf| {
        let entries = std::fs::read_dir(base).ok()?;
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.into_iter().find(|path| super::name_of(path).starts_with(&prefix))
    };
    let folder = find(fixtures().join("faults"));
    let folder = folder.or_else(|| find(cases()?.join("faults"))).expect("the case");
    let case = std::fs::read_to_string(folder.join("case.json")).unwrap();
    let desk = Desk::new(&super::name_of(&folder));
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap() != "case.json" {
            desk.copy(&path);
        }
    }
    Fault { desk, case: Json::parse(&case).unwrap(), folder }
}

/// How `check` calls what a case calls so.
fn kind_of(problem: &str) -> &str {
    match problem {
        "torn+salvaged" => "salvaged",
        "v1" | "v2" => "old-version",
        other => other,
    }
}

impl Fault {
    pub(crate) fn facts(&self, file: &str) -> &Json {
        let facts = self.case.get("facts").get(file);
        assert!(!facts.is_null(), "{file}");
        facts
    }

    /// Holds a file against what the case says of it: entries, leaf, path and problems. None of
    /// it is lost, and nothing changes.
    pub(crate) fn holds(&self, file: &str) {
        let facts = self.facts(file);
        let session = format!("./{file}");
        let tree = self.desk.read(&["tree", &session, "--json"]);
        let entries = facts.get("readable_entries").number();
        assert_eq!(tree.get("rows").list().len() as i64, entries, "{file}: entries");
        let context = self.desk.context(&session);
        if facts.has("leaf") {
            assert_eq!(tree.get("leaf"), facts.get("leaf"), "{file}");
            assert_eq!(context.get("leaf"), facts.get("leaf"), "{file}");
        }
        if facts.has("path") {
            assert_eq!(context.get("path"), facts.get("path"), "{file}");
        }
        fit_for_a_provider(&context);
        let (found, _) = self.desk.check(&session);
        let mut said: Vec<&str> = found.iter().map(|found| found.kind.as_str()).collect();
        said.retain(|kind| !BESIDES.contains(kind));
        let problems = facts.get("problems").texts();
        let mut wanted: Vec<&str> = problems.iter().map(|problem| kind_of(problem)).collect();
        wanted.sort_unstable();
        said.sort_unstable();
        if !wanted.contains(&"cycle") {
            assert_eq!(said, wanted, "{file}: {found:?}");
        } else {
            assert!(said.iter().all(|kind| *kind == "cycle"), "{file}: {found:?}");
        }
        let (damaged, found) = (self.desk.reading(&["check", &session]).code == 1, found);
        let errors = ["torn-tail", "salvaged", "nul-run", "cycle", "wrong-shape", "bad-json"];
        let wanted = found.iter().any(|found| errors.contains(&found.kind.as_str()));
        assert!(damaged || !wanted, "{file}: {found:?}");
    }

    /// A script of the case that is no input.
    pub(crate) fn script(&self, name: &str) -> String {
        self.folder.join(name).canonicalize().unwrap().to_str().unwrap().to_owned()
    }

    /// Runs `sh SCRIPT ARGS` in the working folder.
    pub(crate) fn sh(&self, script: &str, args: &[&str]) {
        let mut command = Command::new("sh");
        command.arg(self.script(script)).args(args);
        self.desk.prepare(&mut command);
        assert!(command.status().unwrap().success(), "{script}");
    }

    /// Runs `python3 make.py ARGS` in the working folder and gives what it printed. `None` where
    /// there is no Python.
    pub(crate) fn make(&self, args: &[&str]) -> Option<String> {
        let mut command = Command::new("python3");
        command.arg(self.script("make.py")).args(args).current_dir(self.desk.work());
        let output = command.output().ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8(output.stdout).unwrap())
    }
}

/// What `check` tells besides damage, and the cases do not count.
const BESIDES: &[&str] = &[
    "unanswered-tool-call",
    "orphan-tool-result",
    "unknown-type",
    "unknown-field",
    "odd-field",
    "siblings",
    "left-out",
];

/// Whether a larger, slower run was asked for.
pub(crate) fn full() -> bool {
    std::env::var_os("FORKWOOD_TEST_FULL").is_some_and(|value| value == "1")
}

/// Every call is answered once, right behind it; nothing is answered that was not called.
pub(crate) fn fit_for_a_provider(context: &Json) {
    let mut open: Vec<String> = Vec::new();
    for message in context.get("messages").list() {
        // Some formats keep the call that a result answers elsewhere.
        if message.get("role").text() == "tool" && !message.get("toolCallId").is_null() {
            let call = message.get("toolCallId").text();
            assert!(!open.is_empty() && open.remove(0) == call, "a result of {call} out of place");
            continue;
        }
        assert!(open.is_empty(), "{open:?} have no result");
        let blocks = message.get("content").list().iter();
        let calls = blocks.filter(|block| block.get("type").text() == "toolCall");
        // One without an id is no call; what makes a request of the context leaves it out.
        open = calls.filter_map(|block| block.get("id").as_text()).collect();
    }
    assert!(open.is_empty(), "{open:?} have no result");
    assert_eq!(context.get("messages").list().len(), context.get("entryIds").list().len());
}
