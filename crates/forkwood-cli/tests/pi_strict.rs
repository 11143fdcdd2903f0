//! Writing to files of Pi: what Pi would read as something else is refused, or told in its terms.

#![allow(clippy::unwrap_used)]

mod common;

use common::Sandbox;

const PI: &str = "pi/pi.jsonl";
const V1: &str = concat!(
    r#"{"type":"session","id":"01940000-0000-7000-8000-0000000000bb","timestamp":"2001-09-09T01:46:40.000Z","cwd":"/proj/demo"}"#,
    "\n",
    r#"{"type":"message","timestamp":"2001-09-09T01:47:00.000Z","message":{"role":"user","content":"one","timestamp":1000000020000}}"#,
    "\n",
    r#"{"type":"message","timestamp":"2001-09-09T01:47:10.000Z","message":{"role":"assistant","content":[{"type":"text","text":"two"}],"provider":"demo","model":"m","stopReason":"stop","timestamp":1000000030000}}"#,
    "\n",
);

fn bytes(sandbox: &Sandbox, name: &str) -> Vec<u8> {
    std::fs::read(sandbox.path(name)).unwrap()
}

/// What the program says of a run with `--json` that must be refused.
fn refused(sandbox: &Sandbox, args: &[&str], kind: &str) -> String {
    let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    let run = sandbox.run(&args);
    assert_ne!(run.code, 0, "{args:?}: {}", run.stdout);
    assert!(run.stderr.contains(&format!("\"kind\":\"{kind}\"")), "{args:?}: {}", run.stderr);
    run.stderr
}

fn compaction(replaces: &[&str]) -> String {
    let ids: Vec<String> = replaces.iter().map(|id| format!("\"{id}\"")).collect();
    format!(
        r#"{{"type":"compaction","summary":"In short.","replacesEntryIds":[{}]}}"#,
        ids.join(",")
    )
}

#[test]
fn a_compaction_that_pi_cannot_hold_is_refused() {
    let sandbox = Sandbox::with_samples();
    let before = bytes(&sandbox, PI);
    // The first message would stay before the summary.
    let said =
        refused(&sandbox, &["append", PI, "--entry", &compaction(&["aa000002"])], "unsupported");
    assert!(said.contains("firstKeptEntryId"), "{said}");
    assert_eq!(bytes(&sandbox, PI), before);
}

#[test]
fn a_compaction_of_the_start_of_the_path_is_told_in_pis_terms() {
    for (replaces, kept) in [(&["aa000001"][..], "aa000002"), (&["aa000001", "aa000002"], "")] {
        let sandbox = Sandbox::with_samples();
        let entry = compaction(replaces);
        let args = ["append", PI, "--id", "bb000001", "--entry", entry.as_str()];
        sandbox.ok(&args);
        let text = String::from_utf8(bytes(&sandbox, PI)).unwrap();
        let kept = if kept.is_empty() { "bb000001" } else { kept };
        let line = text.lines().last().unwrap();
        assert!(line.contains(&format!("\"firstKeptEntryId\":\"{kept}\"")), "{line}");
        let context = sandbox.ok(&["context", PI]);
        assert!(context.contains("In short.") && !context.contains("Hello\n"), "{context}");
        assert_eq!(context.contains("Hello you"), kept == "aa000002", "{context}");
        // A retry is the same write.
        let again = sandbox.run(&args);
        assert!(again.stderr.contains("it was there already"), "{}", again.stderr);
        assert_eq!(String::from_utf8(bytes(&sandbox, PI)).unwrap(), text);
    }
}

#[test]
fn ids_that_pi_does_not_make_are_refused() {
    let sandbox = Sandbox::with_samples();
    let before = bytes(&sandbox, PI);
    for id in ["x", "aa00000", "aa0000011", "zz000001", "01940000000070008000000000000001"] {
        let said = refused(&sandbox, &["append", PI, "hi", "--id", id], "invalid");
        assert!(said.contains(id) && said.contains("8 hex digits"), "{said}");
        let entry = format!(
            r#"{{"id":"{id}","type":"message","message":{{"role":"user","content":"x"}}}}"#
        );
        refused(&sandbox, &["append", PI, "--entry", &entry], "invalid");
    }
    assert_eq!(bytes(&sandbox, PI), before);
    sandbox.ok(&["append", PI, "hi", "--id", "bb000001"]);
}

#[test]
fn a_file_of_pi_is_not_emptied() {
    let sandbox = Sandbox::with_samples();
    let before = sandbox.files();
    let said = refused(&sandbox, &["reset", PI], "unsupported");
    assert!(said.contains("delete the session"), "{said}");
    assert_eq!(sandbox.files(), before);
}

#[test]
fn rewinding_a_file_of_version_1_leaves_it_as_it_is() {
    let sandbox = Sandbox::new();
    sandbox.put("pi/v1.jsonl", V1.as_bytes());
    let heads = sandbox.ok(&["tree", "pi/v1.jsonl", "--json"]);
    let first = heads.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    assert_eq!(sandbox.ok(&["rewind", "pi/v1.jsonl", &first]), first);
    assert_eq!(bytes(&sandbox, "pi/v1.jsonl"), V1.as_bytes());
    let mut names: Vec<String> = std::fs::read_dir(sandbox.path("pi"))
        .unwrap()
        .map(|item| item.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| !name.ends_with(".lock"))
        .collect();
    names.sort();
    assert_eq!(names, [".v1.jsonl.forkwood", "v1.jsonl"]);
    let context = sandbox.ok(&["context", "pi/v1.jsonl"]);
    assert!(context.contains("one") && !context.contains("two"), "{context}");
    // The next append goes on from there, and migrates.
    sandbox.ok(&["append", "pi/v1.jsonl", "three"]);
    let context = sandbox.ok(&["context", "pi/v1.jsonl"]);
    assert!(context.contains("three") && !context.contains("two"), "{context}");
    let text = String::from_utf8(bytes(&sandbox, "pi/v1.jsonl")).unwrap();
    assert!(text.contains("\"version\":3"), "{text}");
}
