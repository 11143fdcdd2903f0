//! `forkwood export` and `forkwood convert`.

#![allow(clippy::unwrap_used)]

mod common;

use common::Sandbox;
use serde_json::Value;

/// A session with two branches, a label and a title.
fn session(sandbox: &Sandbox) -> (String, Vec<String>) {
    let id = sandbox.ok(&["new", "--title", "Plans"]);
    let one = sandbox.ok(&["append", &id, "one"]);
    let two = sandbox.ok(&["append", &id, "--role", "assistant", "two"]);
    sandbox.ok(&["rewind", &id, &one]);
    sandbox.ok(&["label", &id, &one, "mark"]);
    let three = sandbox.ok(&["append", &id, "--role", "assistant", "three\u{1b}[2J"]);
    (id, vec![one, two, three])
}

fn read(sandbox: &Sandbox, name: &str) -> String {
    std::fs::read_to_string(sandbox.path(name)).unwrap()
}

#[test]
fn an_exported_session_opens_by_its_path() {
    let sandbox = Sandbox::new();
    let (id, entries) = session(&sandbox);
    let path = sandbox.ok(&["export", &id, "--to", "jsonl"]);
    assert!(!path.contains("\"two\""), "the other branch is not asked for");
    sandbox.ok(&["export", &id, "--to", "jsonl", "--all-branches", "-o", "all.jsonl"]);
    assert_eq!(sandbox.ok(&["check", "all.jsonl"]), "");
    let context = |session: &str| -> Value {
        let context = sandbox.ok(&["context", session, "--json"]);
        let context: Value = serde_json::from_str(&context).unwrap();
        serde_json::json!([context["leaf"], context["messages"], context["entryIds"]])
    };
    assert_eq!(context("all.jsonl"), context(&id));
    let branches = |session: &str| sandbox.ok(&["branches", session]).lines().count();
    assert_eq!(branches("all.jsonl"), branches(&id));
    assert!(sandbox.ok(&["tree", "all.jsonl"]).contains("[mark]"));
    let at = sandbox.ok(&["export", &id, "--to", "json", "--at", &entries[1]]);
    let at: Value = serde_json::from_str(&at).unwrap();
    assert_eq!(at["leaf"], entries[1].as_str());
    assert_eq!(at["title"], "Plans");
    let none = sandbox.run(&["export", &id, "--to", "json", "--at", "nope"]);
    assert_eq!(none.code, 1);
}

#[test]
fn files_are_private_and_never_written_over() {
    let sandbox = Sandbox::new();
    let (id, _) = session(&sandbox);
    sandbox.ok(&["export", &id, "--to", "markdown", "-o", "new/talk.md"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |name: &str| {
            std::fs::metadata(sandbox.path(name)).unwrap().permissions().mode() & 0o777
        };
        assert_eq!((mode("new/talk.md"), mode("new")), (0o600, 0o700));
    }
    let before = read(&sandbox, "new/talk.md");
    let again = sandbox.run(&["export", &id, "--to", "json", "-o", "new/talk.md"]);
    assert_eq!(again.code, 1);
    assert!(again.stderr.contains("--force"), "{}", again.stderr);
    assert_eq!(read(&sandbox, "new/talk.md"), before);
    sandbox.ok(&["export", &id, "--to", "json", "-o", "new/talk.md", "--force"]);
    assert!(read(&sandbox, "new/talk.md").starts_with("{\"schema\":1"));
    assert_eq!(std::fs::read_dir(sandbox.path("new")).unwrap().count(), 1);
}

#[test]
fn a_transcript_tells_every_branch_that_is_asked_for() {
    let sandbox = Sandbox::new();
    let (id, _) = session(&sandbox);
    let path = sandbox.ok(&["export", &id, "--to", "markdown"]);
    assert!(path.starts_with("# Plans\n"), "{path}");
    assert!(path.contains("## user [mark]\n\none\n"), "{path}");
    assert!(path.contains("three^[[2J") && !path.contains("two"), "{path}");
    let all = sandbox.ok(&["export", &id, "--to", "markdown", "--all-branches"]);
    assert_eq!(all.matches("\none\n").count(), 1, "what branches share is told once: {all}");
    assert!(all.contains("# Branch 2, behind: user: one"), "{all}");
    assert!(all.contains("two"), "{all}");
}

#[test]
fn what_is_lost_is_told() {
    let sandbox = Sandbox::new();
    let (id, entries) = session(&sandbox);
    let run = sandbox.run(&["export", &id, "--to", "pi", "-o", "out.jsonl"]);
    assert_eq!(run.code, 0);
    assert!(run.stderr.contains("model (1): Pi wants to know"), "{}", run.stderr);
    assert!(run.stderr.contains(&entries[2]), "{}", run.stderr);
    let report = sandbox.ok(&["export", &id, "--to", "pi", "-o", "out.jsonl", "--force", "--json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["session"], id.as_str());
    assert_eq!(report["losses"]["counts"]["model"], 1);
    assert_eq!(report["losses"]["losses"][0]["entryIds"][0], entries[2].as_str());
    assert!(report["paths"][0].as_str().unwrap().ends_with("out.jsonl"));
    let piped = sandbox.run(&["export", &id, "--to", "pi", "--json"]);
    assert!(piped.stdout.starts_with("{\"type\":\"session\""), "{}", piped.stdout);
    let report: Value = serde_json::from_str(piped.stderr.trim()).unwrap();
    assert_eq!(report["counts"]["model"], 1);
    let quiet = sandbox.run(&["export", &id, "--to", "pi", "-q"]);
    assert_eq!(quiet.stderr, "");
}

#[test]
fn a_folder_gets_files_as_their_owner_names_them() {
    let sandbox = Sandbox::new();
    let (id, _) = session(&sandbox);
    std::fs::create_dir(sandbox.path("sessions")).unwrap();
    let report = sandbox.ok(&["export", &id, "--to", "pi", "-o", "sessions", "--json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let path = report["paths"][0].as_str().unwrap();
    assert!(path.contains("/sessions/--") && path.ends_with(&format!("_{id}.jsonl")), "{path}");
    assert!(sandbox.ok(&["list", "--dir", "sessions"]).contains("Plans"));
}

#[test]
fn a_file_becomes_one_of_another_format() {
    let sandbox = Sandbox::new();
    let pi = include_bytes!("../../../fixtures/pi/02-branched.jsonl");
    sandbox.put("in.jsonl", pi);
    sandbox.ok(&["convert", "in.jsonl", "out.jsonl", "--to", "jsonl"]);
    assert_eq!(read(&sandbox, "in.jsonl").as_bytes(), pi, "the source is only read");
    let texts = |path: &str| {
        let context: Value =
            serde_json::from_str(&sandbox.ok(&["context", path, "--json"])).unwrap();
        (context["leaf"].clone(), context["entryIds"].clone())
    };
    assert_eq!(texts("out.jsonl"), texts("in.jsonl"));
    sandbox.ok(&["convert", "out.jsonl", "--to", "pi", "-o", "back.jsonl"]);
    assert_eq!(texts("back.jsonl"), texts("in.jsonl"));
    let branches = |path: &str| sandbox.ok(&["branches", path, "--json"]).lines().count();
    assert_eq!(branches("back.jsonl"), branches("in.jsonl"));
    assert_eq!(sandbox.run(&["convert", "none.jsonl", "x", "--to", "pi"]).code, 1);
    assert_eq!(sandbox.run(&["convert", "in.jsonl", "x", "--to", "x"]).code, 2);
}

#[test]
fn a_conversation_of_picoclaw_is_two_files() {
    let sandbox = Sandbox::new();
    let (id, _) = session(&sandbox);
    sandbox.ok(&["export", &id, "--to", "picoclaw", "-o", "talk.jsonl"]);
    assert!(read(&sandbox, "talk.meta.json").contains("\"count\": 2"));
    assert!(sandbox.ok(&["context", "talk.jsonl"]).contains("three"));
    let piped = sandbox.run(&["export", &id, "--to", "picoclaw"]);
    assert!(piped.stderr.contains("1 more files belong to it"), "{}", piped.stderr);
}

#[test]
fn sessions_lie_where_their_owners_look_for_them() {
    let sandbox = Sandbox::new();
    let (id, _) = session(&sandbox);
    for (format, folder) in [("claude", ".claude/projects"), ("codex", ".codex/sessions")] {
        std::fs::create_dir_all(sandbox.path("home").join(folder)).unwrap();
        let folder = format!("home/{folder}");
        sandbox.ok(&["export", &id, "--to", format, "--all-branches", "-o", &folder]);
        let list = sandbox.ok(&["list", "--from", format]);
        assert!(list.contains("Plans") || list.contains("one"), "{format}: {list}");
    }
    let claude = sandbox.ok(&["list", "--from", "claude", "--json"]);
    let row: Value = serde_json::from_str(&claude).unwrap();
    let path = row["path"].as_str().unwrap();
    let folder = row["cwd"].as_str().unwrap();
    let folder: String =
        folder.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    assert!(path.contains(&format!("/projects/{folder}/")), "{path}");
}

#[test]
fn a_request_is_what_a_model_would_be_sent() {
    let sandbox = Sandbox::new();
    let (id, _) = session(&sandbox);
    for format in ["openai-chat", "openai-responses", "anthropic"] {
        let name = format!("{format}.json");
        sandbox.ok(&["export", &id, "--to", format, "-o", &name]);
        let import = sandbox.ok(&["import", &name, "--from", format, "--json"]);
        assert!(import.contains(r#""outcome":"new""#), "{import}");
        let report: Value = serde_json::from_str(&import).unwrap();
        let context = sandbox.ok(&["context", report["session"].as_str().unwrap()]);
        assert!(context.contains("one") && context.contains("three^[[2J"), "{context}");
        assert!(sandbox.ok(&["import", &name, "--json"]).contains(r#""outcome":"unchanged""#));
    }
    let list = sandbox.run(&["list", "--from", "anthropic"]);
    assert_eq!(list.code, 1);
    assert!(list.stderr.contains("name a path"), "{}", list.stderr);
}

#[cfg(unix)]
#[test]
fn what_cannot_be_written_whole_is_not_written_and_replaces_nothing() {
    let sandbox = Sandbox::new();
    let (id, _) = session(&sandbox);
    sandbox.put("page.html", b"what was there");
    let program = assert_cmd::cargo::cargo_bin("forkwood");
    // Files may be 1 kB at most, and writing more is an error.
    let limited = |args: &str| {
        let line = format!("trap '' XFSZ; ulimit -f 2; exec {} {args}", program.display());
        let run = std::process::Command::new("sh")
            .args(["-c", &line])
            .current_dir(sandbox.path(""))
            .env_remove("FORKWOOD_DIR")
            .env("HOME", sandbox.path("home"))
            .output()
            .unwrap();
        assert_eq!(run.status.code(), Some(1), "{}", String::from_utf8_lossy(&run.stderr));
    };
    limited(&format!("export {id} --to html -o page.html --force"));
    assert_eq!(read(&sandbox, "page.html"), "what was there");
    limited(&format!("export {id} --to html -o new.html"));
    let names: Vec<_> = std::fs::read_dir(sandbox.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("page") || name.starts_with("new"))
        .collect();
    assert_eq!(names, ["page.html"]);
}
