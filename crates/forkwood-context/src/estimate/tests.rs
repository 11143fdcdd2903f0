use forkwood_core::message::ImageSource;
use forkwood_core::{Block, Content, Image, Json, Message, Role, Text};

use super::{
    Estimator, Front, IMAGE_CHARS, RATIO_RANGE, add_usage, conversation_chars, output_tokens,
    prompt_tokens, tokens_of_chars,
};
use crate::ToolSpec;

fn image() -> Block {
    Block::Image(Image {
        source: ImageSource::Inline("AAAA".into()),
        mime_type: "image/png".into(),
        extra: Vec::new(),
    })
}

#[test]
fn grows_with_what_is_said() {
    let mut messages = Vec::new();
    let mut last = 0;
    for at in 0..50 {
        messages.push(Message::user("x".repeat(at * 7)));
        let now = Estimator::new().estimate(&messages);
        assert!(now > last);
        last = now;
    }
}

#[test]
fn images_and_schemas_count() {
    let plain = conversation_chars(&[Message::user("")]);
    let blocks = vec![image(), image()];
    let pictures = conversation_chars(&[Message::new(Role::User, Content::Blocks(blocks))]);
    assert_eq!(pictures, plain + 2 * IMAGE_CHARS);
    let system = Text::from("You help.");
    let tool = ToolSpec {
        name: "read".into(),
        description: "Reads a file.".into(),
        schema: Json::parse(r#"{"type": "object", "properties": {"path": {"type": "string"}}}"#)
            .unwrap(),
    };
    let none = Estimator::chars(Some(Front { system: &system, tools: &[] }), &[]);
    let one = Estimator::chars(Some(Front { system: &system, tools: &[tool] }), &[]);
    // {"name": "read", "description": "Reads a file.", "parameters": {...}} and ", "
    assert_eq!(one - none, 43 + 6 + 15 + 62);
}

#[test]
fn learns_a_ratio_and_holds_it_within_reason() {
    let mut estimator = Estimator::new();
    estimator.record_usage(0, 100);
    estimator.record_usage(100, 0);
    assert_eq!(estimator.ratio(), None);
    estimator.record_usage(1_000, 500);
    assert_eq!(estimator.ratio(), Some(0.5));
    estimator.record_usage(1_000, 1);
    assert_eq!(estimator.ratio(), Some(RATIO_RANGE.0));
    estimator.record_usage(1_000, 1_000_000);
    assert_eq!(estimator.ratio(), Some(RATIO_RANGE.1));
    estimator.set_ratio(Some(f64::NAN));
    assert_eq!(estimator.ratio(), None);
    // Banker's rounding, and never nothing.
    assert_eq!([1, 3, 5].map(|chars| tokens_of_chars(chars, Some(0.5))), [1, 2, 2]);
    assert_eq!([0, 7, 8].map(|chars| tokens_of_chars(chars, None)), [1, 1, 2]);
}

#[test]
fn lone_surrogates_and_escapes() {
    let lone: Text = serde_json::from_str(r#""a\ud83d""#).unwrap();
    let one = conversation_chars(&[Message::user(lone)]);
    assert_eq!(one, conversation_chars(&[Message::user("ab")]));
    let call = |arguments: &str| {
        let block = Block::tool_call("i", "n", Json::parse(arguments).unwrap());
        conversation_chars(&[Message::new(Role::Assistant, Content::Blocks(vec![block]))])
    };
    let empty = call("{}");
    // As Python has them in a string: {\"a\": 1}, {\"a\": \"\\n\"}, {\"a\": \"\\\"\\\\\"}
    assert_eq!(call(r#"{"a":1}"#), empty + 8);
    assert_eq!(call(r#"{"a":"\n"}"#), empty + 14);
    assert_eq!(call(r#"{"a":"\"\\"}"#), empty + 19);
    assert_eq!(call("{\"a\":\"\\ud83d\\ude00\\u00e9\\ud83d\"}"), empty + 14);
}

#[test]
fn reports_of_every_kind() {
    for (usage, prompt, output) in [
        (r#"{"input":10,"output":3,"cacheRead":5,"cacheWrite":2,"totalTokens":20}"#, 17, 3),
        (r#"{"prompt_tokens":12,"completion_tokens":4,"prompt_tokens_details":{}}"#, 12, 4),
        (r#"{"input_tokens":7,"cache_read_input_tokens":90,"output_tokens":1}"#, 97, 1),
        (
            r#"{"input_tokens":70,"input_tokens_details":{"cached_tokens":60},"output_tokens":1}"#,
            70,
            1,
        ),
        (r#"{"promptTokenCount":8,"candidatesTokenCount":2}"#, 8, 2),
    ] {
        let usage = Json::parse(usage).unwrap();
        assert_eq!(prompt_tokens(&usage), Some(prompt));
        assert_eq!(output_tokens(&usage), Some(output));
    }
    assert_eq!(prompt_tokens(&Json::null()), None);
    let one = Json::parse(r#"{"input":1,"cost":{"total":0.25},"note":"a"}"#).unwrap();
    let two = Json::parse(r#"{"input":2,"output":5,"cost":{"total":0.5}}"#).unwrap();
    assert_eq!(
        add_usage(Some(one.clone()), Some(two)).unwrap().get(),
        r#"{"input":3,"cost":{"total":0.75},"note":"a","output":5}"#
    );
    assert_eq!(add_usage(Some(one.clone()), None), Some(one));
}

#[cfg(feature = "exact")]
mod exact {
    use super::*;

    #[test]
    fn counts_as_the_encoding_does() {
        let estimator = Estimator::new();
        let gpt: Text = "gpt-4o".into();
        let meter = estimator.meter(Some(&gpt), true);
        assert!(meter.is_exact());
        assert_eq!(meter.text(&"hello world".into()), 2);
        assert_eq!(meter.text(&"tiktoken is great!".into()), 6);
        assert_eq!(meter.message(&Message::user("hello world")), 6);
        let blocks = vec![Block::text("hello world"), image()];
        assert_eq!(meter.message(&Message::new(Role::User, Content::Blocks(blocks))), 1_006);
        // Twice, from memory.
        assert_eq!(meter.text(&"hello world".into()), 2);
    }

    #[test]
    fn other_models_and_other_wishes_are_estimated() {
        let estimator = Estimator::new();
        for (model, exact) in [("claude-sonnet-4-5", true), ("gpt-4o", false)] {
            let model = Text::from(model);
            assert!(!estimator.meter(Some(&model), exact).is_exact());
        }
        let prefixed: Text = "openai/gpt-4o-mini".into();
        assert!(estimator.meter(Some(&prefixed), true).is_exact());
    }

    #[test]
    fn long_runs_take_linear_time() {
        let estimator = Estimator::new();
        let gpt: Text = "gpt-4o".into();
        let meter = estimator.meter(Some(&gpt), true);
        let many = meter.text(&"a".repeat(100_000).into());
        assert!((10_000..100_000).contains(&many), "{many}");
        assert!(meter.text(&" ".repeat(100_000).into()) < 10_000);
    }
}
