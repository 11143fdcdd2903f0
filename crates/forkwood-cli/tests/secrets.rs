//! `forkwood check --secrets`

#![allow(clippy::unwrap_used)]

mod common;

use common::Sandbox;
use serde_json::Value;

/// Made up; put together so that no scanner takes this file for a leak.
fn token() -> String {
    format!("gh{}_{}", "p", "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzA1b")
}

fn session(sandbox: &Sandbox) {
    let text = format!("caf\\u00e9 {} and /home/alice/x", token());
    let pi = format!(
        "{}\n{}\n",
        r#"{"type":"session","version":3,"id":"s-1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#,
        format_args!(
            r#"{{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":"{text}","timestamp":1}}}}"#
        )
    );
    sandbox.put("pi/a.jsonl", pi.as_bytes());
}

#[test]
fn secrets_are_told_by_place_and_never_shown() {
    let sandbox = Sandbox::new();
    session(&sandbox);
    let file = std::fs::read_to_string(sandbox.path("pi/a.jsonl")).unwrap();
    let run = sandbox.run(&["check", "pi/a.jsonl", "--secrets", "--json"]);
    assert_eq!(run.code, 1);
    let found: Vec<Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = found.iter().map(|f| (f["rule"].as_str().unwrap(), &f["line"])).collect();
    assert_eq!(told, [("github-token", &Value::from(2)), ("home-path", &Value::from(2))]);
    assert_eq!(found[0]["session"], "s-1");
    assert_eq!(found[0]["entry"], "00000001");
    let at = |found: &Value| usize::try_from(found["offset"].as_u64().unwrap()).unwrap();
    assert!(file[at(&found[0])..].starts_with(&token()), "{}", &file[at(&found[0])..]);
    assert!(file[at(&found[1])..].starts_with("/home/alice"));
    let people = sandbox.run(&["check", "--secrets", "--dir", "pi"]);
    assert!(people.stdout.contains("github-token: s-1: line 2"), "{}", people.stdout);
    assert!(people.stderr.contains("1 github-token, 1 home-path in 1 session"));
    for text in [run.stdout, people.stdout, people.stderr] {
        assert!(!text.contains(&token()[..12]) && !text.contains("alice"), "{text}");
    }
    let skipped = sandbox.ok(&[
        "check",
        "--secrets",
        "--dir",
        "pi",
        "--skip",
        "home-path",
        "--skip",
        "github-token",
    ]);
    assert_eq!(skipped, "");
}

#[test]
fn a_store_without_secrets() {
    let sandbox = Sandbox::with_samples();
    let run = sandbox.run(&["check", "--secrets"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.stdout);
    assert!(run.stderr.contains("no secrets were found"), "{}", run.stderr);
}

#[test]
fn rules_are_listed() {
    let sandbox = Sandbox::new();
    let rules = sandbox.ok(&["check", "--secrets", "--rules"]);
    for rule in ["private-key ", "anthropic-key ", "home-path ", "named-secret "] {
        assert!(rules.lines().any(|line| line.starts_with(rule)), "{rule}");
    }
    let json = sandbox.ok(&["check", "--secrets", "--rules", "--json"]);
    assert_eq!(json.lines().count(), rules.lines().count());
    assert_eq!(sandbox.run(&["check"]).code, 2);
    assert_eq!(sandbox.run(&["check", "--rules"]).code, 2);
    assert_eq!(sandbox.run(&["check", "a", "b"]).code, 2);
    assert_eq!(sandbox.run(&["check", "--secrets", "--skip", "nothing"]).code, 2);
}

#[test]
fn what_goes_out_redacted_holds_no_secret() {
    let sandbox = Sandbox::new();
    session(&sandbox);
    for format in ["jsonl", "json", "markdown", "html", "pi", "my-pi-agent"] {
        let args = ["export", "pi/a.jsonl", "--to", format];
        let plain = sandbox.run(&args);
        assert!(
            plain.stdout.contains(&token()) && plain.stdout.contains("/home/alice"),
            "{format}"
        );
        let run = sandbox.run(&[&args[..], &["--redact"]].concat());
        assert_eq!(run.code, 0, "{format}: {}", run.stderr);
        assert!(!run.stdout.contains(&token()[..12]), "{format}");
        assert!(!run.stdout.contains("alice") && run.stdout.contains("redacted:github-token"));
        assert!(run.stderr.contains("redacted (1): github-token: taken out"), "{}", run.stderr);
    }
    let out = ["export", "pi/a.jsonl", "--to", "jsonl", "-o", "out.jsonl", "--redact", "--json"];
    let told = sandbox.ok(&out);
    assert!(told.contains(r#""redacted":2"#), "{told}");
    assert_eq!(sandbox.ok(&["check", "--secrets", "out.jsonl"]), "");
    assert!(sandbox.ok(&["show", "out.jsonl"]).contains("~/x"));
}
