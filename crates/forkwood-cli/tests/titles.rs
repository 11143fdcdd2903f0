//! What a change of title tells.

#![allow(clippy::unwrap_used)]

mod common;

use common::Sandbox;
use serde_json::Value;

#[test]
fn a_new_title_is_told_with_the_entry_that_says_so() {
    let sandbox = Sandbox::with_samples();
    let native = "20010909-014640-0a0b0c0d";
    for (session, file) in [
        (native, format!(".forkwood/sessions/{native}.jsonl")),
        ("./pi/pi.jsonl", "pi/pi.jsonl".into()),
    ] {
        let told: Value =
            serde_json::from_str(&sandbox.ok(&["rename", session, "Second", "--json"])).unwrap();
        let text = std::fs::read_to_string(sandbox.path(&file)).unwrap();
        let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert_eq!(told["id"], last["id"], "{session}");
        assert_eq!(told["title"], "Second");
    }
}
