//! Conversations by key and alias, on the command line.

#![cfg(feature = "agent")]
#![allow(clippy::unwrap_used)]

mod common;

use common::Sandbox;
use insta::assert_snapshot;
use serde_json::Value;

const DIRECT: &str = r#"{"channel": "telegram", "chat_type": "direct", "chat_id": "7",
    "sender_id": "7", "content": "hello there"}"#;

fn inbound(sandbox: &Sandbox, message: &str) -> Value {
    let run = sandbox.run_with(&["inbound", "--provider", "scripted", "--json"], message);
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn a_message_goes_to_its_conversation_and_is_answered() {
    let sandbox = Sandbox::new();
    let first = inbound(&sandbox, DIRECT);
    let second = inbound(&sandbox, &DIRECT.replace("hello there", "and again"));
    assert_eq!(first["agentId"], "main");
    assert_eq!(first["stop"], "done");
    assert_eq!(first["sessionKey"], second["sessionKey"]);
    let key = first["sessionKey"].as_str().unwrap();
    // The same session by its id, its key, the start of it, and each of its older names.
    let shown = sandbox.ok(&["show", first["session"].as_str().unwrap()]);
    assert!(shown.contains("hello there") && shown.contains("and again"), "{shown}");
    for name in [
        key,
        &key[..12],
        "agent:main:direct:7",
        "agent:main:telegram:direct:7",
        "agent:main:telegram:default:direct:7",
    ] {
        assert_eq!(sandbox.ok(&["show", name]), shown, "{name}");
    }
    let ids = first["entryIds"].as_array().unwrap();
    let context: Value = serde_json::from_str(&sandbox.ok(&["context", key, "--json"])).unwrap();
    assert!(context["entryIds"].as_array().unwrap().contains(ids.last().unwrap()));
    // Every command takes them.
    sandbox.ok(&["append", "agent:main:direct:7", "by hand"]);
    assert!(sandbox.ok(&["show", key]).contains("by hand"));
}

#[test]
fn names_with_slashes_are_no_paths() {
    let sandbox = Sandbox::new();
    let topic = r#"{"channel": "telegram", "chat_type": "group", "chat_id": "-100",
        "topic_id": "42", "content": "in a topic"}"#;
    inbound(&sandbox, topic);
    assert!(sandbox.ok(&["show", "agent:main:telegram:group:-100/42"]).contains("in a topic"));
    let run = sandbox.run(&["show", "agent:main:telegram:group:-100/43", "--json"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("not_found"), "{}", run.stderr);
}

#[test]
fn what_is_known_of_conversations() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.shown(&["aliases"]), @r"
    --- stderr
    note: no conversations here; `forkwood list` shows all sessions
    ");
    inbound(&sandbox, DIRECT);
    inbound(&sandbox, r#"{"channel": "system", "content": "done"}"#);
    assert_snapshot!(sandbox.shown(&["aliases"]), @r"
    sk_v1_465e7eca925f8af26ad406476af00418fc9d2a6f89273a61218e440ac748494d  v=1|agent=main|channel=telegram|account=default|chat=direct:7
      agent:main:direct:7
      agent:main:telegram:direct:7
      agent:main:telegram:default:direct:7
    sk_v1_6d9217fe77c7f11d9cc992aabe81a2d09604e9c48babbda8fdad3791f9c19f3b  no scope
      agent:main:main
    ");
    assert_snapshot!(sandbox.shown(&["aliases", "agent:main:direct:7", "--json"]), @r#"{"schema":1,"sessionKey":"sk_v1_465e7eca925f8af26ad406476af00418fc9d2a6f89273a61218e440ac748494d","session":"sk_v1_465e7eca925f8af26ad406476af00418fc9d2a6f89273a61218e440ac748494d","agentId":"main","scope":{"version":1,"agent_id":"main","channel":"telegram","account":"default","dimensions":["chat"],"values":{"chat":"direct:7"}},"aliases":["agent:main:main","agent:main:direct:7","agent:main:telegram:direct:7","agent:main:telegram:default:direct:7"],"promotedFrom":null}"#);
    assert_snapshot!(sandbox.shown(&["aliases", "agent:main:direct:8"]), @r#"
    --- stderr
    error: no conversation has the key or alias "agent:main:direct:8"
    hint: `forkwood aliases` lists keys and aliases
    --- exit 1
    "#);
    assert_snapshot!(sandbox.shown(&["aliases", "--dir", "nowhere"]), @r"
    --- stderr
    error: [DIR]/nowhere: there is no such folder
    --- exit 1
    ");
    assert_snapshot!(sandbox.shown(&["aliases", "--from", "pi"]), @r"
    --- stderr
    error: conversations are kept in a store, or in a folder of PicoClaw's; --from pi is neither
    --- exit 2
    ");
}

#[test]
fn conversations_in_a_folder_of_picoclaws_are_known_by_every_name() {
    let sandbox = Sandbox::new();
    let old = r#"{"key": "agent:main:telegram:direct:7", "messages": [{"role": "user", "content": "from before"}]}"#;
    sandbox.put("pico/old.json", old.as_bytes());
    let args = ["inbound", "--provider", "scripted", "--json", "--dir", "pico"];
    assert_eq!(sandbox.run_with(&args, DIRECT).code, 0);
    let system = r#"{"channel": "system", "content": "done"}"#;
    assert_eq!(sandbox.run_with(&args, system).code, 0);
    // One that is not migrated yet is listed, too.
    sandbox.put("pico/agent_main_telegram_direct_8.json", old.replace(":7", ":8").as_bytes());
    assert_snapshot!(sandbox.shown(&["aliases", "--dir", "pico"]), @r"
    sk_v1_465e7eca925f8af26ad406476af00418fc9d2a6f89273a61218e440ac748494d  v=1|agent=main|channel=telegram|account=default|chat=direct:7
      agent:main:direct:7
      agent:main:telegram:direct:7
      agent:main:telegram:default:direct:7
      (its history was that of agent:main:telegram:direct:7)
    agent:main:telegram:direct:8  no scope
    sk_v1_6d9217fe77c7f11d9cc992aabe81a2d09604e9c48babbda8fdad3791f9c19f3b  no scope
      agent:main:main
    ");
    let shown = sandbox.ok(&["aliases", "--dir", "pico", "agent:main:direct:7", "--json"]);
    let told: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(told["promotedFrom"], "agent:main:telegram:direct:7");
    let key = told["sessionKey"].as_str().unwrap();
    // The name of the main session leads there, and to no chat that lists it.
    let main = sandbox.ok(&["show", "--dir", "pico", "agent:main:main"]);
    assert!(main.contains("done") && !main.contains("hello there"), "{main}");
    let chat = sandbox.ok(&["show", "--dir", "pico", key]);
    assert!(chat.contains("from before") && chat.contains("hello there"), "{chat}");
    assert_eq!(
        sandbox.ok(&["show", "--dir", "pico", "agent:main:telegram:default:direct:7"]),
        chat
    );
    // Looking migrates nothing.
    assert!(sandbox.path("pico/agent_main_telegram_direct_8.json").exists());
}

#[test]
fn any_text_may_be_an_alias() {
    let sandbox = Sandbox::new();
    for (name, chat) in [("cellar", "1"), ("\u{1f600} up", "2"), ("../up/here", "3")] {
        let message = DIRECT
            .replace("7", chat)
            .replace("\"content\"", &format!("\"session_key\": \"{name}\", \"content\""));
        let key = inbound(&sandbox, &message)["sessionKey"].as_str().unwrap().to_owned();
        assert_eq!(sandbox.ok(&["show", name]), sandbox.ok(&["show", &key]), "{name}");
    }
    let run = sandbox.run(&["show", "attic"]);
    assert!(run.stderr.contains("session not found: attic"), "{}", run.stderr);
}

#[test]
fn an_endless_id_does_not_keep_a_message_from_its_answer() {
    let sandbox = Sandbox::new();
    let long = "x".repeat(10_000);
    for place in [&[][..], &["--dir", "pico"]] {
        let args = [&["inbound", "--provider", "scripted", "--json"], place].concat();
        let of = |chat: &str, said: &str| {
            let message = DIRECT.replace('7', chat).replace("hello there", said);
            let run = sandbox.run_with(&args, &message);
            assert_eq!(run.code, 0, "{}", run.stderr);
            serde_json::from_str::<Value>(&run.stdout).unwrap()
        };
        let (first, second) = (of(&long, "one"), of(&long, "two"));
        let other = of(&format!("{long}y"), "three");
        assert_eq!(first["sessionKey"], second["sessionKey"]);
        assert_ne!(first["sessionKey"], other["sessionKey"]);
        let key = first["sessionKey"].as_str().unwrap();
        let shown = sandbox.ok(&[&["show"], place, &[key]].concat());
        assert!(shown.contains("one") && shown.contains("two"), "{shown}");
        assert!(!shown.contains("three"), "{shown}");
    }
}

#[test]
fn looking_makes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.run(&["aliases"]);
    sandbox.run(&["show", "agent:main:direct:7"]);
    assert!(!sandbox.path(".forkwood").exists());
}

#[test]
fn what_cannot_be_handled_is_told() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.shown_with(&["inbound", "--provider", "scripted"], "{}"), @r"
    --- stderr
    error: inbound message: `content` and `media` are empty
    --- exit 1
    ");
    assert_snapshot!(sandbox.shown_with(&["inbound"], DIRECT), @r"
    --- stderr
    error: no model is chosen, and the session names none
    hint: --provider scripted works without a key; see --provider in `--help`
    --- exit 2
    ");
    assert!(!sandbox.path(".forkwood").exists());
}

#[test]
fn a_store_that_cannot_be_used_is_told_and_the_answer_comes_all_the_same() {
    let sandbox = Sandbox::new();
    let key = inbound(&sandbox, DIRECT)["sessionKey"].as_str().unwrap().to_owned();
    std::fs::rename(sandbox.path(".forkwood"), sandbox.path("aside")).unwrap();
    sandbox.put(".forkwood", b"in the way");
    let args = ["inbound", "--provider", "scripted", "--json", "--quiet"];
    let run = sandbox.run_with(&args, &DIRECT.replace("hello there", "meanwhile"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let handled: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&handled["keptIn"], &handled["session"]), (&"json".into(), &Value::Null));
    assert_eq!(handled["sessionKey"], key.as_str());
    // Even where notes are not wanted.
    assert!(
        run.stderr.contains("warning") && run.stderr.contains(".forkwood-fallback"),
        "{}",
        run.stderr
    );
    let file =
        std::fs::read_to_string(sandbox.path(&format!(".forkwood-fallback/{key}.json"))).unwrap();
    assert!(file.contains("meanwhile"), "{file}");
    std::fs::remove_file(sandbox.path(".forkwood")).unwrap();
    std::fs::rename(sandbox.path("aside"), sandbox.path(".forkwood")).unwrap();
    let after = inbound(&sandbox, &DIRECT.replace("hello there", "and again"));
    assert_eq!(after["keptIn"], "native");
    let shown = sandbox.ok(&["show", &key]);
    let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text}: {shown}"));
    assert!(at("hello there") < at("meanwhile") && at("meanwhile") < at("and again"));
}

#[test]
fn a_folder_of_picoclaws_is_gone_on_with() {
    let sandbox = Sandbox::new();
    let old = r#"{"key": "agent:main:telegram:direct:7", "messages": [{"role": "user", "content": "from before"}]}"#;
    sandbox.put("pico/old.json", old.as_bytes());
    sandbox.put("pico/broken.json", b"{nope");
    let args = ["inbound", "--provider", "scripted", "--json", "--dir", "pico"];
    let run = sandbox.run_with(&args, DIRECT);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let handled: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(handled["keptIn"], "picoclaw");
    assert_eq!(handled["promotedFrom"], "agent:main:telegram:direct:7");
    assert!(run.stderr.contains("broken.json was not migrated"), "{}", run.stderr);
    let key = handled["sessionKey"].as_str().unwrap();
    let lines = std::fs::read_to_string(sandbox.path(&format!("pico/{key}.jsonl"))).unwrap();
    assert!(lines.contains("from before") && lines.contains("hello there"), "{lines}");
    assert!(sandbox.path("pico/old.json.migrated").exists());
    // Everything of ours has a name that is not shown.
    let names = std::fs::read_dir(sandbox.path("pico")).unwrap();
    let names: Vec<String> =
        names.map(|name| name.unwrap().file_name().to_string_lossy().into_owned()).collect();
    let theirs = [".jsonl", ".meta.json", ".json", ".json.migrated"];
    let known =
        |name: &String| name.starts_with('.') || theirs.iter().any(|end| name.ends_with(end));
    assert!(names.iter().all(known), "{names:?}");
    assert!(!sandbox.path(".forkwood").exists());
    let run = sandbox.run_with(&["inbound", "--provider", "scripted", "--from", "pi"], DIRECT);
    assert_eq!(run.code, 2, "{}", run.stderr);
}
