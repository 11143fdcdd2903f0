use super::Text;

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
