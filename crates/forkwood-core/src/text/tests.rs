use proptest::prelude::*;

use super::{Text, unquote};

fn parse(json: &str) -> Text {
    serde_json::from_str(json).unwrap()
}

#[test]
fn lone_surrogates_survive_a_round_trip() {
    let text = parse(r#""a\ud83d b\udc00""#);
    assert_eq!(text.as_str(), None);
    assert_eq!(text.to_string_lossy(), "a\u{fffd} b\u{fffd}");
    assert_eq!(serde_json::to_string(&text).unwrap(), r#""a\ud83d b\udc00""#);
}

#[test]
fn escaped_pairs_become_one_character() {
    assert_eq!(parse(r#""\ud83d\ude00""#).as_str(), Some("\u{1f600}"));
}

#[test]
fn halves_that_meet_are_joined() {
    let joined = Text::concat([&parse(r#""\ud83d""#), &parse(r#""\ude00""#)]);
    assert_eq!(joined.as_str(), Some("\u{1f600}"));
}

#[test]
fn escaped_form_is_injective() {
    assert_ne!(parse(r#""\ud83d""#).to_string_escaped(), parse(r#""\ud83e""#).to_string_escaped());
}

#[test]
fn not_a_string_is_an_error() {
    for json in ["1", "null", "[1,2]", "{}"] {
        assert!(serde_json::from_str::<Text>(json).is_err(), "{json}");
    }
}

/// Pieces of JSON strings, and what may stand in none.
fn piece() -> impl Strategy<Value = String> {
    let fixed = vec![
        "\\n",
        "\\\"",
        "\\\\",
        "\\/",
        "\\b\\f\\r\\t",
        "\\u0041",
        "\\u00e9",
        "\\uFFFF",
        "\\u0000",
        "\\ud83d",
        "\\ude00",
        "\\ud83d\\ude00",
        "\\ud83d\\u0041",
        "\u{1f600}",
        "\u{e9}",
        "\"",
        "\\",
        "\\x",
        "\\u12",
        "\\u+123",
        " ",
    ];
    prop_oneof![
        3 => "[a-z]{0,3}",
        3 => prop::sample::select(fixed).prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn a_long_text_says_the_same_as_a_short_one(pieces in prop::collection::vec(piece(), 0..8)) {
        for json in [format!("\"{}\"", pieces.concat()), pieces.concat()] {
            let parsed: Option<Text> = serde_json::from_str(&json).ok();
            prop_assert_eq!(unquote(&json), parsed.clone(), "{}", json);
            // The same beyond the length from which it is decoded in place.
            if parsed.is_some() && json.starts_with('"') {
                let long = format!("\"{}{}", "x".repeat(70_000), &json[1..]);
                let expected: Text = serde_json::from_str(&long).unwrap();
                prop_assert_eq!(crate::json::text_of(&long), Some(expected));
            }
        }
    }
}
