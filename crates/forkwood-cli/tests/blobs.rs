//! Blobs, as the program tells of them.

#![allow(clippy::unwrap_used)]

mod common;

use common::Sandbox;

const NEW: &str = "20010910-000000-11111111";

#[test]
fn a_missing_blob_is_told_by_context_and_check_and_a_path_finds_those_there() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["new", "--id", NEW]);
    let data = "QUJD".repeat(30_000);
    let entry = format!(
        r#"{{"type":"message","message":{{"role":"user","content":[{{"type":"image","base64":"{data}","mimeType":"image/png"}}]}}}}"#
    );
    let run = sandbox.run_with(&["append", NEW, "--entry", "-"], &format!("{entry}\n"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let path = format!(".forkwood/sessions/{NEW}.jsonl");
    for query in [NEW, &path] {
        assert!(sandbox.ok(&["context", query, "--json"]).contains(&data), "{query}");
        assert_eq!(sandbox.run(&["check", query]).code, 0, "{query}");
    }
    std::fs::remove_dir_all(sandbox.path(".forkwood/blobs")).unwrap();
    for query in [NEW, &path] {
        assert!(sandbox.ok(&["context", query, "--json"]).contains("\"missing-blob\""), "{query}");
        let shown = sandbox.run(&["context", query]);
        assert!(shown.stderr.contains("is not in the store"), "{}", shown.stderr);
        let check = sandbox.run(&["check", query, "--json"]);
        assert_eq!(check.code, 1, "{query}");
        assert!(check.stdout.contains("\"missing-blob\""), "{}", check.stdout);
    }
}
