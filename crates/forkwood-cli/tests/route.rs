//! `forkwood route`: the conversation of a message.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::Sandbox;
use insta::assert_snapshot;
use serde_json::{Value, json};

#[test]
fn every_vector_of_picoclaw() {
    let sandbox = Sandbox::new();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/picoclaw/vectors.json");
    let file: Value = serde_json::from_slice(&std::fs::read(own).unwrap()).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    assert!(vectors.len() > 50);
    let empty = |value: &Value| if value.is_null() { json!([]) } else { value.clone() };
    for vector in vectors {
        sandbox.put("config.json", vector["config"].to_string().as_bytes());
        let mut inbound = json!({ "context": vector["context"] });
        if let Some(given) = vector.get("session_key") {
            inbound["session_key"] = given.clone();
        }
        let args = ["route", "--config", "config.json", "--json"];
        let run = sandbox.run_with(&args, &inbound.to_string());
        assert_eq!(run.code, 0, "{}: {}", vector["name"], run.stderr);
        let expect = &vector["expect"];
        let answer: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(
            answer,
            json!({
                "schema": 1,
                "agentId": expect["agent_id"],
                "matchedBy": expect["matched_by"],
                "scope": expect["scope"],
                "signature": expect["signature"],
                "sessionKey": expect["session_key"],
                "sessionAliases": empty(&expect["session_aliases"]),
                "mainSessionKey": expect["main_session_key"],
                "mainAliases": empty(&expect["main_aliases"]),
                "effectiveKey": expect["effective_key"],
                "effectiveAliases": empty(&expect["ensure_aliases"]),
            }),
            "{}",
            vector["name"]
        );
    }
}

#[test]
fn for_people_with_the_reason() {
    let sandbox = Sandbox::new();
    let topic = r#"{"channel": "telegram", "chat_id": "-100", "chat_type": "group",
        "topic_id": "42", "sender_id": "7"}"#;
    assert_snapshot!(sandbox.shown_with(&["route"], topic), @r"
    agent     main
    reason    no rules; one conversation for each chat
    scope     v=1|agent=main|channel=telegram|account=default|chat=group:-100/42
    session   the one of its scope
    key       sk_v1_6b3e796f09b79a80ac22a51bc2e52f1e059fb6ba4309a7c0f2ea7cda260aa80b
    aliases   agent:main:main
              agent:main:telegram:group:-100/42
    main      sk_v1_6d9217fe77c7f11d9cc992aabe81a2d09604e9c48babbda8fdad3791f9c19f3b
    ");
    sandbox.put(
        "bot.toml",
        b"[[agents.list]]\nid = \"main\"\n[[agents.list]]\nid = \"support\"\n\
          [[agents.dispatch.rules]]\nname = \"Help\"\nagent = \"support\"\n\
          when = { channel = \"telegram\" }\nsession_dimensions = [\"chat\", \"sender\", \"floor\"]\n",
    );
    assert_snapshot!(sandbox.shown_with(&["route", "-c", "bot.toml"], topic), @r"
    agent     support
    reason    the rule `help` fits; one conversation for each chat and sender
    scope     v=1|agent=support|channel=telegram|account=default|chat=group:-100/42|sender=7
    session   the one of its scope
    key       sk_v1_96b78b5e02480187ac83bfacab232e9fadba31d3bdf8c0f2c57335d8bc279199
    aliases   agent:support:main
              agent:support:telegram:group:-100/42
    main      sk_v1_4181bcefd00dfc2054d6a967dc52d51d00fc0543c38aa4716bde944b8256b852
    --- stderr
    note: bot.toml: line 9: agents.dispatch.rules[0].session_dimensions[2]: `floor` is none of space, chat, topic, sender; it is left out
    ");
    let system = r#"{"channel": "system", "session_key": "later", "content": "done"}"#;
    assert_snapshot!(sandbox.shown_with(&["route", "-c", "bot.toml"], system), @r"
    agent     main
    reason    a system message: the main session of the default agent
    scope     v=1|agent=main|channel=system|account=default
    session   the main session of the agent
    key       sk_v1_6d9217fe77c7f11d9cc992aabe81a2d09604e9c48babbda8fdad3791f9c19f3b
    aliases   agent:main:main
    main      sk_v1_6d9217fe77c7f11d9cc992aabe81a2d09604e9c48babbda8fdad3791f9c19f3b
    --- stderr
    note: bot.toml: line 9: agents.dispatch.rules[0].session_dimensions[2]: `floor` is none of space, chat, topic, sender; it is left out
    ");
    let named = "{\"sessionKey\": \"agent:x\\u001b[31m:main\"}";
    assert_snapshot!(sandbox.shown_with(&["route", "-c", "bot.toml"], named), @r"
    agent     main
    reason    no rule fits: the default agent; one conversation for each chat
    scope     v=1|agent=main|channel=unknown|account=default
    session   the one that the message names
    key       agent:x^[[31m:main
    aliases   agent:main:main
    main      sk_v1_6d9217fe77c7f11d9cc992aabe81a2d09604e9c48babbda8fdad3791f9c19f3b
    --- stderr
    note: bot.toml: line 9: agents.dispatch.rules[0].session_dimensions[2]: `floor` is none of space, chat, topic, sender; it is left out
    ");
}

#[test]
fn what_is_wrong_is_named() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.shown_with(&["route"], r#"{"chanel": "x"}"#), @r"
    --- stderr
    error: inbound message: `context.chanel`: unknown field `chanel`, expected one of `channel`, `account`, `chatType`, `chat_type`, `chatId`, `chat_id`, `topicId`, `topic_id`, `spaceType`, `space_type`, `spaceId`, `space_id`, `senderId`, `sender_id`, `messageId`, `message_id`, `mentioned`, `replyToMessageId`, `reply_to_message_id`, `replyToSenderId`, `reply_to_sender_id`, `replyHandles`, `reply_handles`, `raw`
    --- exit 1
    ");
    assert_snapshot!(sandbox.shown_with(&["route", "--json"], "no"), @r#"
    --- stderr
    {"kind":"invalid","message":"inbound message: expected ident at line 1 column 2","hint":null,"retryable":false}
    --- exit 1
    "#);
    assert_snapshot!(sandbox.shown_with(&["route", "-c", "none.toml"], "{}"), @r"
    --- stderr
    error: cannot read none.toml: No such file or directory (os error 2)
    --- exit 1
    ");
    sandbox.put(
        "bad.toml",
        b"[session]\n[session.identity_links]\na = [\"slack:u1\"]\nb = [\"slack:u1\"]\n",
    );
    assert_snapshot!(sandbox.shown_with(&["route", "-c", "bad.toml"], "{}"), @r"
    --- stderr
    error: bad.toml: the routing configuration cannot be used:
    line 4: session.identity_links: `slack:u1` of `b` and `slack:u1` of `a` (line 3) can be one sender: nobody could tell which name counts
    --- exit 1
    ");
}

/// `FORKWOOD_UPDATE=1 cargo test` writes the schema.
#[test]
fn the_published_schema_is_up_to_date() {
    let sandbox = Sandbox::new();
    let printed = sandbox.ok(&["route", "--schema"]);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/routing.schema.json");
    if std::env::var_os("FORKWOOD_UPDATE").is_some() {
        std::fs::write(&path, format!("{}\n", printed.trim_end())).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(kept.trim_end(), printed.trim_end(), "run the test with FORKWOOD_UPDATE=1");
    let schema: Value = serde_json::from_str(&kept).unwrap();
    assert!(schema["properties"]["session"].is_object());
}
