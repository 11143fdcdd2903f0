//! Messages as lines, there and back.

use forkwood::conversation::ConversationMessage;
use forkwood::core::message::ImageSource;
use forkwood::{Block, Content, Image, Json, Message, Role, Text, Timestamp};
use forkwood_formats::picoclaw::{decode, encode};
use proptest::prelude::*;

use crate::world::cases;

#[test]
fn every_line_of_picoclaw_comes_back_byte_for_byte() {
    let mut count = 0;
    for case in cases() {
        for name in std::fs::read_dir(case.join("sessions")).unwrap() {
            let path = name.unwrap().path();
            if path.extension().is_none_or(|ending| ending != "jsonl") {
                continue;
            }
            for line in std::fs::read_to_string(&path).unwrap().lines() {
                let Ok(decoded) = decode(line) else { continue };
                assert_eq!(encode(&decoded.message).unwrap(), line);
                // Written anew from what it means, it is the same where PicoClaw wrote it.
                let ours = line.starts_with("{\"role\"") && decoded.unknown.is_empty();
                assert_eq!(decoded.message.foreign.is_none(), ours, "{line}");
                count += 1;
            }
        }
    }
    assert!(count > 40);
}

#[test]
fn lines_are_taken_as_go_takes_them() {
    let text = |line: &str| decode(line).unwrap().message.message.content.text().to_string();
    assert_eq!(text(r#"{"ROLE":"user","Content":"x"}"#), "x");
    assert_eq!(text(r#"{"role":"user","content":"a","CONTENT":"b"}"#), "b");
    assert_eq!(text(r#"{"role":"user","content":null,"media":null}"#), "");
    for (bad, why) in [
        ("null", "no object"),
        ("{}", "no role"),
        (r#"{"role":5,"content":"x"}"#, "role is not a string"),
        (r#"{"role":"user","content":"x","created_at":"yesterday"}"#, "created_at is not a time"),
        (r#"{"role":"user","tool_calls":[{"function":{"arguments":{}}}]}"#, "arguments"),
        (r#"{"role":"user","media":"x"}"#, "not a list"),
        ("{bad", "key must be"),
    ] {
        let problem = decode(bad).unwrap_err();
        assert!(problem.contains(why), "{bad}: {problem}");
    }
}

#[test]
fn what_picoclaw_has_no_field_for_goes_along() {
    let mut message = Message::assistant("hi").by_model("m", Some("p".into()));
    message.usage = Some(Json::parse(r#"{"input":3}"#).unwrap());
    let one = ConversationMessage::from(message);
    let line = encode(&one).unwrap();
    assert!(line.starts_with(r#"{"role":"assistant","content":"hi","model_name":"m","#), "{line}");
    let again = decode(&line).unwrap();
    assert_eq!(again.message.message, one.message);
    assert!(again.unknown.is_empty());
}

fn text() -> impl Strategy<Value = Text> {
    "[a-c<&\"\\\\\u{2028}\u{e9}\n ]{0,6}".prop_map(Text::from)
}

fn block() -> impl Strategy<Value = Block> {
    prop_oneof![
        text().prop_map(Block::text),
        text().prop_map(|thinking| Block::Thinking {
            thinking,
            signature: None,
            extra: Vec::new()
        }),
        (text(), text(), prop_oneof![Just("{}"), Just("{\"a\":1}"), Just("[1]"), Just("\"x\"")])
            .prop_map(|(id, name, json)| Block::tool_call(id, name, Json::parse(json).unwrap())),
        Just(Block::Image(Image {
            source: ImageSource::Inline("aGk=".into()),
            mime_type: "image/png".into(),
            extra: Vec::new(),
        })),
    ]
}

fn message() -> impl Strategy<Value = ConversationMessage> {
    let role =
        prop_oneof![Just(Role::User), Just(Role::Assistant), Just(Role::Tool), Just(Role::System)];
    let content = prop_oneof![
        text().prop_map(Content::Text),
        prop::collection::vec(block(), 0..4).prop_map(Content::Blocks),
    ];
    let at = prop::option::of(0i64..4_000_000_000_000_000);
    (role, content, at, prop::option::of(text()), prop::option::of(any::<bool>())).prop_map(
        |(role, content, at, id, error)| {
            let mut message = Message::new(role, content);
            message.tool_call_id = id;
            message.is_error = error;
            ConversationMessage {
                message,
                created_at: at.map(Timestamp::from_micros),
                foreign: None,
            }
        },
    )
}

/// The message without the exact text of its time, which a line has and a new message has not.
fn plain(mut one: ConversationMessage) -> ConversationMessage {
    let only_time = one
        .message
        .metadata
        .as_ref()
        .and_then(Json::as_object)
        .is_some_and(|object| object.iter().all(|(key, _)| *key == "created_at"));
    if only_time {
        one.message.metadata = None;
    }
    one
}

proptest! {
    #[test]
    fn any_message_comes_back(one in message()) {
        let line = encode(&one).unwrap();
        prop_assert!(!line.contains('\n'));
        let again = decode(&line).unwrap().message;
        prop_assert_eq!(encode(&again).unwrap(), line);
        let mut expected = one.clone();
        // An empty id is none in Go.
        if expected.message.tool_call_id.as_ref().is_some_and(Text::is_empty)
            && expected.message.is_error.is_none()
        {
            expected.message.tool_call_id.clone_from(&again.message.tool_call_id);
        }
        prop_assert_eq!(plain(again), expected);
    }

    #[test]
    fn any_line_that_can_be_read_comes_back(line in r#"\{"(role|ROLE)":"(user|x)",?("content":"[a-z\\u0041]{0,4}",?)?("x":[0-9],?)?\}"#) {
        if let Ok(decoded) = decode(&line) {
            prop_assert_eq!(encode(&decoded.message).unwrap(), line);
        }
    }
}
