//! What a person says that models cost is written down with what they took.

#![cfg(feature = "agent")]
#![allow(clippy::unwrap_used)]

mod common;
mod llm;

use common::{Run, Sandbox};
use llm::{Reply, Server};
use serde_json::Value;

const PRICES: &str = "\
[models.m]
input = 1000
output = 2000

[models.\"anthropic/m\"]
input = 500
output = 1000
cache_read = 50
";

fn run(sandbox: &Sandbox, server: &Server, args: &[&str], lines: &str) -> Run {
    let provider = args.iter().find(|arg| **arg == "anthropic");
    let url = match provider {
        Some(_) => server.url.clone(),
        None => format!("{}/v1", server.url),
    };
    let mut command = sandbox.command();
    command.args(args).args(["--model", "m", "--base-url", &url]);
    for key in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"] {
        command.env(key, "key");
    }
    let output = command.env("NO_PROXY", "127.0.0.1").write_stdin(lines).output().unwrap();
    Run {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code().unwrap(),
    }
}

fn lines(run: &Run) -> Vec<Value> {
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn the(run: &Run, kind: &str) -> Value {
    lines(run).into_iter().rfind(|event| event["event"] == kind).unwrap()
}

/// The usages that the log of the only session has.
fn usages(sandbox: &Sandbox) -> Vec<Value> {
    let folder = std::fs::read_dir(sandbox.path(".forkwood/sessions")).unwrap();
    let mut files = folder.map(|file| file.unwrap().path());
    let log = files.find(|path| path.extension().is_some_and(|it| it == "jsonl")).unwrap();
    let log = std::fs::read_to_string(log).unwrap();
    let entries = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries
        .flat_map(|entry| [entry["usage"].clone(), entry["message"]["usage"].clone()])
        .filter(|usage| !usage.is_null())
        .collect()
}

/// Eleven tokens in and three out, each time.
#[test]
fn answers_and_summaries_of_compactions_and_branches_alike() {
    let sandbox = Sandbox::new();
    sandbox.put("prices.toml", PRICES.as_bytes());
    let server = Server::start([
        Reply::openai(&["One."]),
        Reply::openai(&["Two."]),
        Reply::openai(&["They spoke."]),
        Reply::openai(&["They left."]),
    ]);
    let chat = ["chat", "--json", "--provider", "openai", "--prices", "prices.toml"];
    let first = run(&sandbox, &server, &chat, "a\nb\n/compact\n/cost\n");
    let session = the(&first, "session")["session"].as_str().unwrap().to_owned();
    let first_user = lines(&first)[1]["entry"].as_str().unwrap().to_owned();
    let spent = |run: &Run, of: &str| {
        let cost = the(run, "cost")[of].clone();
        (cost["priced"].as_u64().unwrap(), (cost["cost"].as_f64().unwrap() * 1e6).round())
    };
    assert_eq!(spent(&first, "branch"), (3, 51_000.0));
    let leave = format!("/rewind {first_user} --summary --past-compaction\n/cost\n");
    let args = [&chat[..], &[session.as_str()]].concat();
    let left = run(&sandbox, &server, &args, &leave);
    assert_eq!(spent(&left, "session"), (4, 68_000.0));
    let usages = usages(&sandbox);
    assert_eq!(usages.len(), 4, "{usages:?}");
    for usage in usages {
        let cost = &usage["cost"];
        assert_eq!((usage["input"].as_u64(), usage["output"].as_u64()), (Some(11), Some(3)));
        assert_eq!((cost["input"].as_f64(), cost["output"].as_f64()), (Some(0.011), Some(0.006)));
        assert_eq!(
            (cost["cacheRead"].as_f64(), cost["cacheWrite"].as_f64()),
            (Some(0.0), Some(0.0))
        );
        assert_eq!((cost["total"].as_f64().unwrap() * 1e6).round(), 17_000.0);
    }
    // What else adds up sees it too.
    let stats = sandbox.ok(&["stats", "--json"]);
    let all: Value = serde_json::from_str(stats.lines().last().unwrap()).unwrap();
    assert_eq!((all["cost"].as_f64().unwrap() * 1e6).round(), 68_000.0, "{stats}");
}

#[test]
fn the_usual_file_counts_and_a_provider_may_have_prices_of_its_own() {
    let sandbox = Sandbox::new();
    sandbox.put("home/.config/forkwood/prices.toml", PRICES.as_bytes());
    let server = Server::start([Reply::anthropic(&["One."]), Reply::anthropic(&["Short."])]);
    let chat = ["chat", "--provider", "anthropic"];
    let first = run(&sandbox, &server, &chat, "a\n/cost\n");
    assert!(first.stdout.contains("11 tokens in, 3 out, cost $0.0085\n"), "{}", first.stdout);
    let id = sandbox.ok(&["list", "--json"]);
    let id: Value = serde_json::from_str(id.lines().next().unwrap()).unwrap();
    let compact = ["compact", id["id"].as_str().unwrap(), "--provider", "anthropic", "--json"];
    let compacted = run(&sandbox, &server, &compact, "");
    assert_eq!(lines(&compacted)[0]["usage"]["cost"]["input"], 0.0055);
}

#[test]
fn what_nobody_priced_has_no_cost() {
    let sandbox = Sandbox::new();
    let server = Server::start([Reply::openai(&["One."])]);
    let done = run(&sandbox, &server, &["chat", "--json", "--provider", "openai"], "a\n/cost\n");
    assert!(the(&done, "cost")["session"]["cost"].is_null());
    assert!(usages(&sandbox)[0].get("cost").is_none());
}

#[test]
fn a_wrong_file_is_told_with_its_line_before_anything_happens() {
    let sandbox = Sandbox::new();
    sandbox.put("bad.toml", b"[models.m]\ninput = 1\noutput = -2\n");
    let server = Server::start([]);
    for (file, told) in
        [("bad.toml", "bad.toml: line 3: "), ("none.toml", "none.toml"), (".", "no file")]
    {
        let args = ["chat", "--json", "--provider", "openai", "--prices", file];
        let run = run(&sandbox, &server, &args, "a\n");
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert!(run.stderr.contains(told), "{}", run.stderr);
    }
    assert!(server.requests().is_empty());
    assert_eq!(sandbox.files().len(), 1, "no session");
}
