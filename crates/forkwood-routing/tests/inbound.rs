//! Messages as they come in.

#![allow(clippy::unwrap_used)]

use forkwood_routing::config::Language;
use forkwood_routing::{Config, Inbound, Router};

fn router(config: &str) -> Router {
    Router::new(Config::parse(config, Language::Toml).unwrap().config)
}

#[test]
fn all_that_a_channel_tells_is_taken() {
    let inbound = Inbound::from_json(
        r#"{"context": {"channel": "telegram", "chat_id": "1", "chat_type": "direct",
              "sender_id": "7", "message_id": "m2", "mentioned": true, "reply_to_message_id": "m1",
              "reply_to_sender_id": "8", "reply_handles": {"thread": "t"}, "raw": {"is_bot": "no"}},
            "sender": {"platform": "telegram", "platform_id": "7", "canonical_id": "telegram:7",
              "username": "ann", "display_name": "Ann"},
            "content": "look", "media": ["media://a"], "media_scope": "turn", "session_key": ""}"#,
    )
    .unwrap();
    assert_eq!(inbound.sender.display_name, "Ann");
    assert_eq!(inbound.media, ["media://a"]);
    assert_eq!(inbound.context.raw["is_bot"], "no");
    let written = serde_json::to_string(&inbound).unwrap();
    assert_eq!(Inbound::from_json(&written).unwrap(), inbound);
}

#[test]
fn camel_case_flat_and_null_mean_the_same() {
    let nested = Inbound::from_json(
        r#"{"context": {"channel": "slack", "chat_id": "c", "sender_id": "u"}, "content": "hi",
            "session_key": "agent:a:main"}"#,
    )
    .unwrap();
    let flat = Inbound::from_json(
        r#"{"channel": "slack", "chatId": "c", "senderId": "u", "topicId": null, "content": "hi",
            "sessionKey": "agent:a:main", "media": null}"#,
    )
    .unwrap();
    assert_eq!(flat, nested);
}

#[test]
fn what_is_not_known_is_named() {
    for (text, named) in [
        (r#"{"context": {"channel": "x", "chanel": "y"}}"#, "chanel"),
        (r#"{"channel": "x", "chanel": "y"}"#, "chanel"),
        (r#"{"context": {}, "channel": "x"}"#, "channel"),
        (r#"{"context": {"mentioned": "yes"}}"#, "bool"),
        (r#"{"channel": 5}"#, "`context.channel`: invalid type: integer"),
        (r#"{"context": {"channel": "x"}, "media": "y"}"#, "`media`: invalid type"),
        (r#"{"context": "x"}"#, "`context`: invalid type"),
        ("[]", "map"),
        ("", "EOF"),
    ] {
        let message = Inbound::from_json(text).unwrap_err().to_string();
        assert!(message.contains(named), "{text}: {message}");
    }
}

#[test]
fn half_a_character_is_taken_as_go_takes_it() {
    for (json, text) in [
        (r"a\ud83d", "a\u{fffd}"),
        (r"\ude00b", "\u{fffd}b"),
        (r"\ud83d\ude00", "\u{1f600}"),
        (r"\ud83d\ud83d\ude00", "\u{fffd}\u{1f600}"),
        (r"\\ud83d", r"\ud83d"),
        (r"\\\ud83d\n", "\\\u{fffd}\n"),
        (r"\ud83d\u0041", "\u{fffd}A"),
        ("\u{e9}\\u00e9", "\u{e9}\u{e9}"),
    ] {
        let message = Inbound::from_json(&format!(r#"{{"content": "{json}"}}"#)).unwrap();
        assert_eq!(message.content, text, "{json}");
    }
    for broken in
        [r#"{"content": "\ud8"#, r#"{"content": "\"#, r#"{"content": "\u+123"}"#, "\\\u{e9}"]
    {
        Inbound::from_json(broken).unwrap_err();
    }
}

#[test]
fn system_messages_run_on_the_main_session_of_the_default_agent() {
    let router = router(
        "[[agents.list]]\nid = \"one\"\n[[agents.list]]\nid = \"two\"\ndefault = true\n\
         [[agents.dispatch.rules]]\nagent = \"one\"\nwhen = { channel = \"system\" }\n",
    );
    let resolve = |channel: &str| {
        let text =
            format!(r#"{{"channel": "{channel}", "chat_id": "telegram:1", "content": "x"}}"#);
        router.resolve(&Inbound::from_json(&text).unwrap())
    };
    let system = resolve(" System ");
    assert_eq!(system.route.agent_id, "two");
    assert_eq!(system.route.matched_by, "system");
    assert_eq!(system.session_key, system.allocation.main_session_key);
    assert_eq!(system.aliases, ["agent:two:main"]);
    assert_eq!(system.scope, None);
    let other = resolve("telegram");
    assert_ne!(other.session_key, other.allocation.main_session_key);
    assert_eq!(other.scope, Some(other.allocation.scope));
}
