//! Sessions that other tools keep in databases, by every command.

#![cfg(feature = "sqlite")]
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::Sandbox;

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name);
    std::fs::read(path).unwrap()
}

#[test]
fn sessions_of_the_openai_agents_sdk() {
    let sandbox = Sandbox::new();
    sandbox.put("their/plain.db", &fixture("openai-agents/plain.db"));
    sandbox.put("their/advanced.db", &fixture("openai-agents/advanced.db"));
    let before = sandbox.files();
    let list = sandbox.ok(&["list", "--dir", "their", "--json"]);
    assert_eq!(list.lines().count(), 3, "{list}");
    assert!(list.contains(r#""dialect":"openai-agents-advanced""#), "{list}");
    let several = sandbox.run(&["show", "their/plain.db"]);
    assert_eq!(several.code, 1);
    assert!(several.stderr.contains("holds 2 sessions"), "{}", several.stderr);
    assert!(sandbox.ok(&["show", "--dir", "their", "talk"]).contains("It is sunny."));
    assert!(sandbox.ok(&["show", "--dir", "their", "user 42"]).contains("three"));
    let tree = sandbox.ok(&["tree", "their/advanced.db"]);
    assert!(tree.contains("second, otherwise") && tree.contains("other"), "{tree}");
    let stats = sandbox.ok(&["stats", "--dir", "their", "--json"]);
    let all = stats.lines().last().unwrap();
    assert!(all.contains(r#""requests":2,"input":20,"output":7,"cacheRead":10"#), "{all}");
    let appended = sandbox.run(&["append", "their/advanced.db", "no"]);
    assert_eq!(appended.code, 1);
    assert_eq!(sandbox.files(), before, "reading wrote");
    let import = sandbox.ok(&["import", "their", "--json"]);
    assert_eq!(import.matches(r#""outcome":"new""#).count(), 3, "{import}");
    let again = sandbox.ok(&["import", "--from", "openai-agents", "their", "--json"]);
    assert_eq!(again.matches(r#""outcome":"unchanged""#).count(), 3, "{again}");
    assert!(sandbox.ok(&["context", "tree", "--json"]).contains("answer four"));
}
