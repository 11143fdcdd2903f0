use forkwood_core::{Block, Content, Json, Message, Role, Text};

use super::{Target, survives};
use crate::Api;

fn thinking(text: &str, signature: Option<&str>, redacted: bool) -> Block {
    let extra =
        if redacted { vec![("redacted".into(), Json::parse("true").unwrap())] } else { Vec::new() };
    Block::Thinking { thinking: text.into(), signature: signature.map(Text::from), extra }
}

fn shown(block: Block, api: Api, model: &str, provider: &str) -> bool {
    let message = Message::new(Role::Assistant, Content::Blocks(vec![block.clone()]))
        .by_model("m1", Some("p1".into()));
    let (model, provider) = (Text::from(model), Text::from(provider));
    survives(&message, &block, &Target { api, model: Some(&model), provider: Some(&provider) })
}

const ITEM: &str = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}"#;

#[test]
fn by_protocol() {
    let cases: [(Block, [bool; 3]); 7] = [
        // Chat, responses, Anthropic.
        (thinking("t", None, false), [false, false, false]),
        (thinking("t", Some(""), false), [false, false, false]),
        (thinking("t", Some("c2lnbmVk"), false), [false, false, true]),
        (thinking("", Some("c2lnbmVk"), true), [false, false, true]),
        (thinking(" ", Some("c2lnbmVk"), false), [false, false, false]),
        (thinking("t", Some(ITEM), false), [false, true, false]),
        (thinking("t", Some("reasoning_content"), false), [true, false, false]),
    ];
    for (block, wanted) in cases {
        let got = Api::ALL.map(|api| shown(block.clone(), api, "m1", "p1"));
        assert_eq!(got, wanted, "{block:?}");
        // Another model, or the same name elsewhere, did not think it.
        assert_eq!(Api::ALL.map(|api| shown(block.clone(), api, "m2", "p1")), [false; 3]);
        assert_eq!(Api::ALL.map(|api| shown(block.clone(), api, "m1", "p2")), [false; 3]);
    }
}

#[test]
fn an_item_that_the_provider_did_not_keep_is_not_named() {
    let bare = thinking("t", Some(r#"{"type":"reasoning","id":"rs_1","summary":[]}"#), false);
    assert!(!shown(bare, Api::OpenAiResponses, "m1", "p1"));
}

#[test]
fn who_spoke_may_be_unknown() {
    let block = thinking("t", Some("c2lnbmVk"), false);
    let message = Message::new(Role::Assistant, Content::Blocks(vec![block.clone()]));
    let model = Text::from("m9");
    let target = Target { api: Api::Anthropic, model: Some(&model), provider: None };
    assert!(survives(&message, &block, &target));
}
