use forkwood_core::{Block, Content, EntryId, Json, Message, Role, Text};
use proptest::prelude::*;

use super::{PairChange, Paired, is_paired, pair_tools};

/// Builds messages from words: `u` a user, `a:x,y` an assistant calling x and y, `r:x` a result.
fn build(words: &str) -> (Vec<Message>, Vec<EntryId>) {
    let messages: Vec<Message> = words
        .split_whitespace()
        .map(|word| match word.split_once(':') {
            Some(("a", calls)) => Message::new(
                Role::Assistant,
                Content::Blocks(
                    calls
                        .split(',')
                        .filter(|id| !id.is_empty())
                        .map(|id| Block::tool_call(id, "tool", Json::empty_object()))
                        .collect(),
                ),
            ),
            Some(("r", call)) => Message::tool(call, "done"),
            _ => Message::user(word),
        })
        .collect();
    let ids = (0..messages.len()).map(|at| EntryId::from(format!("e{at}"))).collect();
    (messages, ids)
}

fn pair(words: &str) -> Paired {
    let (messages, ids) = build(words);
    pair_tools(&messages, &ids)
}

/// The inverse of `build`; a made-up result is `!x`.
fn show(paired: &Paired) -> String {
    let word = |message: &Message| match (&message.role, &message.tool_call_id) {
        (Role::Tool, Some(call)) if message.is_error == Some(true) => format!("!{call}"),
        (Role::Tool, Some(call)) => format!("r:{call}"),
        (Role::Assistant, _) => {
            let ids: Vec<String> =
                message.content.tool_calls().map(|(id, _, _)| id.to_string()).collect();
            format!("a:{}", ids.join(","))
        }
        _ => message.content.text().to_string(),
    };
    paired.messages.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn pairs() {
    for (given, expected) in [
        ("", ""),
        ("u a:x r:x u", "u a:x r:x u"),
        ("u a:x,y r:x r:y a:", "u a:x,y r:x r:y a:"),
        ("a:x,y r:y r:x", "a:x,y r:x r:y"),
        ("a:x u a:", "a:x !x u a:"),
        ("a:x,y r:y u", "a:x,y !x r:y u"),
        ("r:ghost u", "u"),
        ("a:x r:x r:x u", "a:x r:x u"),
        ("a:x u r:x", "a:x r:x u"),
        ("r:x a:x", "a:x r:x"),
        ("a:x r:x u a:x r:x", "a:x r:x u a:x r:x"),
        ("a:x a:x r:x", "a:x !x a:x r:x"),
    ] {
        assert_eq!(show(&pair(given)), expected, "{given}");
    }
}

#[test]
fn changes_name_the_entries() {
    let paired = pair("a:x u r:y");
    assert_eq!(
        paired.changes,
        [
            PairChange::Answered { call: "x".into(), entry: "e0".into() },
            PairChange::Dropped { call: "y".into(), entry: "e2".into() },
        ]
    );
    assert_eq!(paired.entry_ids, ["e0".into(), "e0".into(), "e1".into()]);
    assert!(pair("u a:x r:x").changes.is_empty());
}

#[test]
fn results_of_calls_in_metadata_stay_where_they_are() {
    let calls = r#"{"tool_calls":[{"id":"c9","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
    let mut asked = Message::assistant("");
    asked.metadata = Some(Json::parse(calls).unwrap());
    let messages = [Message::user("q"), asked, Message::tool("c9", "6"), Message::tool("x", "?")];
    let ids: Vec<EntryId> = ["a", "b", "c", "d"].map(EntryId::from).into();
    assert!(super::is_paired(&messages[..3]));
    let paired = pair_tools(&messages, &ids);
    assert_eq!(paired.messages, messages[..3]);
    assert_eq!(paired.changes, [PairChange::Dropped { call: "x".into(), entry: "d".into() }]);
}

#[test]
fn results_that_name_no_call_stay_where_they_are() {
    let plain = Message::new(Role::Tool, Content::Text("703".into()));
    let messages = [Message::user("q"), plain.clone()];
    assert_eq!(pair_tools(&messages, &["a".into(), "b".into()]).messages, messages);
}

proptest! {
    #[test]
    fn every_call_is_answered_once_and_in_order(
        words in proptest::collection::vec("u|a:(x|y|z)?(,(x|y|z))?|r:(x|y|z)", 0..12)
    ) {
        let paired = pair(&words.join(" "));
        prop_assert_eq!(paired.messages.len(), paired.entry_ids.len());
        let mut open: Vec<Text> = Vec::new();
        for message in &paired.messages {
            match &message.tool_call_id {
                Some(call) => {
                    prop_assert!(!open.is_empty());
                    prop_assert_eq!(&open.remove(0), call);
                }
                None => {
                    prop_assert!(open.is_empty(), "an unanswered call");
                    open = message.content.tool_calls().map(|(id, _, _)| id.clone()).collect();
                }
            }
        }
        prop_assert!(open.is_empty());
        // What is valid stays as it is.
        let again = pair_tools(&paired.messages, &paired.entry_ids);
        prop_assert!(again.changes.is_empty());
        prop_assert!(is_paired(&paired.messages));
        let (messages, _) = build(&words.join(" "));
        prop_assert_eq!(is_paired(&messages), paired.messages == messages);
        prop_assert_eq!(again.messages, paired.messages);
    }
}

#[test]
fn a_real_result_goes_before_a_stored_interruption() {
    let (mut messages, ids) = build("a:x r:x u r:x a:");
    messages[1] = Message::tool("x", super::INTERRUPTED);
    messages[1].is_error = Some(true);
    let paired = pair_tools(&messages, &ids);
    assert_eq!(paired.messages[1].content.text(), "done");
    assert_eq!(paired.entry_ids[1].as_str(), "e3");
    // The same id in a later turn keeps its own.
    let (mut messages, ids) = build("a:x r:x u a:x r:x");
    messages[1] = Message::tool("x", super::INTERRUPTED);
    messages[1].is_error = Some(true);
    let paired = pair_tools(&messages, &ids);
    assert_eq!(paired.messages, messages);
    assert!(paired.changes.is_empty());
}

#[test]
fn one_id_a_thousand_times_over_takes_linear_time() {
    let words = "a:x r:x u ".repeat(20_000);
    let paired = pair(&words);
    assert_eq!(paired.changes, []);
    let unanswered = "a:x u ".repeat(20_000) + &"r:x ".repeat(20_000);
    assert_eq!(pair(&unanswered).messages.len(), 60_000);
}
