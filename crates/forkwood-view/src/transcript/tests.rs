use forkwood_core::Role;
use forkwood_core::entry::codec::{Reader, decode};

use super::{Block, BlockKind, Cut, Limits, Part, block};

fn shown(fields: &str, limits: Limits) -> Option<Block> {
    let json = format!(r#"{{"id":"e1","parentId":"e0",{fields}}}"#);
    block(&decode(&json, &mut Reader::lossless()).unwrap(), limits)
}

fn all(text: &str) -> Cut {
    Cut { text: text.to_owned(), left_out: 0 }
}

#[test]
fn a_message_becomes_parts() {
    let block = shown(
        r#""type":"message","message":{"role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"one\ntwo\u001b[0m"},{"type":"toolCall","id":"c","name":"bash","arguments":{"cmd":"ls"}},{"type":"image","base64":"AAAAAAAA","mimeType":"image/png"},{"type":"odd","x":1}]}"#,
        Limits::default(),
    )
    .unwrap();
    assert_eq!(
        block.kind,
        BlockKind::Speaker { role: Role::Assistant, name: Some("m".into()), failed: false }
    );
    assert_eq!(
        block.parts,
        [
            Part::Thinking(all("hm")),
            Part::Text(all("one\ntwo^[[0m")),
            Part::ToolCall { name: "bash".into(), arguments: all(r#"{"cmd":"ls"}"#) },
            Part::Image { mime_type: "image/png".into(), bytes: 6 },
            Part::Other(all(r#"{"type":"odd","x":1}"#)),
        ]
    );
}

#[test]
fn long_texts_are_cut_with_their_size() {
    let long = "x".repeat(5_000);
    let block = shown(
        &format!(
            r#""type":"message","message":{{"role":"tool","toolCallId":"c","toolName":"bash","isError":true,"content":"{long}"}}"#
        ),
        Limits { said: 10, tools: 100 },
    )
    .unwrap();
    let [Part::Text(cut)] = &block.parts[..] else { panic!("{block:?}") };
    assert_eq!((cut.text.len(), cut.left_out), (100, 4_900));
    assert_eq!(cut.rest().unwrap(), "[4.9 kB more]");
    assert_eq!(
        block.kind,
        BlockKind::Speaker { role: Role::Tool, name: Some("bash".into()), failed: true }
    );
}

#[test]
fn other_entries_are_dividers_notes_or_nothing() {
    let check = |fields: &str, kind: Option<BlockKind>| {
        assert_eq!(shown(fields, Limits::NONE).map(|block| block.kind), kind, "{fields}");
    };
    let divider = |title: &str| Some(BlockKind::Divider(title.to_owned()));
    let note = |text: &str| Some(BlockKind::Note(text.to_owned()));
    check(
        r#""type":"compaction","summary":"s","tokensBefore":45000,"tokensAfter":900"#,
        divider("compaction, 45,000 tokens before, 900 after"),
    );
    check(r#""type":"branch_summary","summary":"s""#, divider("summary of another branch"));
    check(r#""type":"model_change","model":"m","provider":"p""#, note("model: p/m"));
    check(r#""type":"session_info","title":"T""#, note("title: T"));
    check(r#""type":"session_info","sessionId":"s","version":1"#, None);
    check(r#""type":"custom","namespace":"x","data":{}"#, None);
    check(r#""type":"custom_message","namespace":"x","content":"hi","display":false"#, None);
    check(r#""type":"later","x":1"#, note("later"));
}
