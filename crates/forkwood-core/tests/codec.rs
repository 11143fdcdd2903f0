//! Whatever stands in a line is kept, and whatever is written is read back as the same.

#![allow(clippy::unwrap_used)]

use forkwood_core::entry::codec::{Reader, decode, decode_strict, encode};
use forkwood_core::entry::{Compaction, CompactionState, Operation, SessionInfo};
use forkwood_core::json::Object;
use forkwood_core::{
    Block, Body, Content, DiagnosticKind, Entry, EntryId, Json, Lane, Message, Role, Text,
    Timestamp,
};
use proptest::prelude::*;

fn text() -> impl Strategy<Value = Text> {
    prop_oneof![
        4 => "\\PC{0,8}".prop_map(Text::from),
        1 => prop::sample::select(vec!["", "\u{0}", "\n", "\"\\", "\u{2028}", "\u{1f600}"])
            .prop_map(Text::from),
        // Half of a pair, as JavaScript writes it.
        1 => prop::sample::select(vec![r#""\ud83d""#, r#""a\udc00b""#])
            .prop_map(|json| serde_json::from_str(json).unwrap()),
    ]
}

fn id() -> impl Strategy<Value = EntryId> {
    "[ -~]{1,6}".prop_map(EntryId::from)
}

/// Any JSON value, as text.
fn any_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("1e400".to_owned()),
        Just("-0.50".to_owned()),
        any::<u32>().prop_map(|n| n.to_string()),
        text().prop_map(|text| text.to_json()),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|all| format!("[{}]", all.join(","))),
            prop::collection::vec((text(), inner), 0..4).prop_map(|all| {
                let fields: Vec<String> =
                    all.iter().map(|(key, value)| format!("{}:{value}", key.to_json())).collect();
                format!("{{{}}}", fields.join(","))
            }),
        ]
    })
}

/// Absent and `null` are the same: only what is there.
fn some_json() -> impl Strategy<Value = Json> {
    any_json().prop_filter_map("null", |json| (json != "null").then(|| Json::parse(&json).unwrap()))
}

fn opt<T: std::fmt::Debug>(inner: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    prop::option::of(inner)
}

fn content() -> impl Strategy<Value = Content> {
    let block = prop_oneof![
        text().prop_map(Block::text),
        (text(), text(), some_json()).prop_map(|(id, name, json)| Block::tool_call(id, name, json)),
        (text(), opt(text())).prop_map(|(thinking, signature)| Block::Thinking {
            thinking,
            signature,
            extra: Vec::new()
        }),
    ];
    prop_oneof![
        text().prop_map(Content::Text),
        prop::collection::vec(block, 0..3).prop_map(Content::Blocks),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let role = prop::sample::select(vec![Role::System, Role::User, Role::Assistant, Role::Tool]);
    (role, content(), opt(text()), opt(any::<bool>()), opt(some_json()), opt(text())).prop_map(
        |(role, content, call, is_error, json, model)| Message {
            tool_call_id: call.clone(),
            tool_name: call,
            is_error,
            model: model.clone(),
            provider: model.clone(),
            usage: json.clone(),
            stop_reason: model,
            metadata: json,
            ..Message::new(role, content)
        },
    )
}

fn compaction() -> impl Strategy<Value = Compaction> {
    let state =
        (opt(text()), opt(prop::collection::vec(text(), 0..3))).prop_map(|(model, tools)| {
            CompactionState {
                model: model.clone(),
                provider: model.clone(),
                thinking_level: model,
                active_tool_names: tools,
            }
        });
    (
        (text(), prop::collection::vec(id(), 0..3), opt(id()), opt(state)),
        (opt(0..u64::MAX), opt(prop::collection::vec(message(), 0..2)), opt(some_json())),
    )
        .prop_map(|((summary, replaces, first, state), (tokens, tail, json))| Compaction {
            summary,
            replaces_entry_ids: replaces,
            first_kept_entry_id: first,
            state,
            tokens_before: tokens,
            tokens_after: tokens,
            retained_tail: tail,
            usage: json.clone(),
            details: json,
        })
}

fn body() -> impl Strategy<Value = Body> {
    let object = || Just(Json::parse(r#"{"a":[1e400,null]}"#).unwrap());
    prop_oneof![
        4 => message().prop_map(Body::from),
        1 => (opt(text()), opt(object())).prop_map(|(title, metadata)| {
            SessionInfo { title, metadata, ..SessionInfo::default() }.into()
        }),
        1 => (text(), opt(text()))
            .prop_map(|(model, provider)| Body::ModelChange { model, provider }),
        1 => text().prop_map(|thinking_level| Body::ThinkingLevelChange { thinking_level }),
        1 => prop::collection::vec(text(), 0..3)
            .prop_map(|active_tool_names| Body::ActiveToolsChange { active_tool_names }),
        2 => compaction().prop_map(Body::Compaction),
        1 => (text(), opt(id()), opt(some_json()))
            .prop_map(|(summary, from_id, details)| Body::BranchSummary { summary, from_id, details }),
        1 => (opt(text()), opt(id())).prop_map(|(label, target_id)| Body::Label { label, target_id }),
        1 => id().prop_map(|id| Body::Leaf { leaf_id: Some(id) }),
        1 => (text(), object(), any::<bool>())
            .prop_map(|(namespace, data, aside)| Body::Custom { namespace, data, aside }),
        1 => (text(), content(), any::<bool>()).prop_map(|(namespace, content, display)| {
            Body::CustomMessage { namespace, content, display }
        }),
        1 => (id(), opt(content()))
            .prop_map(|(target_id, replacement)| Body::ContextEdit { target_id, replacement }),
        1 => (text(), some_json()).prop_map(|(text, usage)| Body::Usage {
            kind: text.clone(),
            provider: text.clone(),
            model: text,
            usage
        }),
        1 => (text(), opt(text()), opt(some_json())).prop_map(|(text, outcome, data)| {
            Body::Operation(Operation {
                operation_id: text.clone(),
                phase: text.clone(),
                kind: text,
                outcome,
                data,
            })
        }),
    ]
}

fn entry() -> impl Strategy<Value = Entry> {
    let time = opt((0..4_000_000_000_000_000i64).prop_map(Timestamp::from_micros));
    (id(), opt(id()), time, any::<bool>(), 0..3u32, body()).prop_map(
        |(id, parent_id, timestamp, side, more, body)| Entry {
            id,
            parent_id,
            timestamp,
            lane: if side { Lane::new("side").unwrap() } else { Lane::main() },
            more,
            body,
            extra: Vec::new(),
        },
    )
}

/// Every field name that some type knows, in both spellings.
const KEYS: &[&str] = &[
    "message",
    "model",
    "provider",
    "thinkingLevel",
    "thinking_level",
    "activeToolNames",
    "summary",
    "replacesEntryIds",
    "replaces_entry_ids",
    "firstKeptEntryId",
    "tokensBefore",
    "retainedTail",
    "details",
    "usage",
    "fromId",
    "label",
    "targetId",
    "leafId",
    "namespace",
    "data",
    "aside",
    "content",
    "display",
    "replacement",
    "kind",
    "operationId",
    "phase",
    "outcome",
    "title",
    "cwd",
    "createdAt",
    "metadata",
    "forkedFrom",
    "spawnDepth",
    "foreign",
    "future",
    "",
];

const TYPES: &[&str] = &[
    "session_info",
    "message",
    "modelChange",
    "thinking_level_change",
    "active_tools_change",
    "compaction",
    "branchSummary",
    "label",
    "leaf",
    "custom",
    "custom_message",
    "context_edit",
    "usage",
    "operation",
    "wish",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(entry in entry()) {
        let line = encode(&entry);
        prop_assert!(!line.contains('\n'), "a line stays one line");
        let mut reader = Reader::lossless();
        let read = decode(&line, &mut reader).unwrap();
        prop_assert_eq!(&read, &entry);
        prop_assert!(reader.into_notes().is_empty());
        prop_assert_eq!(encode(&read), line.clone());
        // What an API writes may also enter through one, but for the base fields of a storage.
        let alone = Entry { lane: Lane::main(), more: 0, ..entry.clone() };
        let strict = decode_strict(&encode(&alone)).unwrap();
        prop_assert_eq!(strict.body, entry.body.clone());
        prop_assert!(entry.body.check().is_ok());
    }

    #[test]
    fn whatever_stands_in_a_line_is_kept(
        tag in prop::sample::select(TYPES),
        fields in prop::collection::btree_map(prop::sample::select(KEYS), any_json(), 0..7),
    ) {
        let mut line = format!(r#"{{"id":"a","parentId":"p","type":"{tag}""#);
        for (key, value) in &fields {
            line.push_str(&format!(",{}:{value}", Text::from(*key).to_json()));
        }
        line.push('}');
        let entry = decode(&line, &mut Reader::lossless()).unwrap();
        let again = encode(&entry);
        let read = Object::parse(&again).unwrap();
        let get = |camel: &str, snake: &str| read.get(camel).or_else(|| read.get(snake));
        for (key, value) in &fields {
            let names_an_entry = key.ends_with("Id") || key.ends_with("_id");
            // Absent and null are the same, as is an id without letters, and of two spellings one
            // counts.
            if value == "null" || (names_an_entry && value == "\"\"") || key.contains("hinking") || key.contains("eplaces") {
                continue;
            }
            let kept = get(key, key).unwrap_or_else(|| panic!("{key} is lost: {line} {again}"));
            // Of what is a message, blocks or an object of ours, the fields are looked at elsewhere.
            if !["message", "retainedTail", "content", "replacement", "foreign", "forkedFrom", "createdAt"].contains(key) {
                let stood = Json::parse(value).unwrap();
                let now = Json::parse(kept).unwrap();
                match (stood.as_text(), now.as_text()) {
                    // An id with a lone surrogate is written escaped, and is the same id.
                    (Some(stood), Some(now)) if names_an_entry => {
                        prop_assert_eq!(EntryId::from_text(&stood), EntryId::from_text(&now));
                    }
                    _ => prop_assert_eq!(kept, stood.get()),
                }
            }
        }
        // And it settles: a second time nothing changes.
        prop_assert_eq!(encode(&decode(&again, &mut Reader::lossless()).unwrap()), again);
    }

    #[test]
    fn no_line_makes_it_panic(line in "\\PC{0,40}", cut in any::<prop::sample::Index>(), entry in entry()) {
        let _ = decode(&line, &mut Reader::lossless());
        let _ = decode_strict(&line);
        let good = encode(&entry);
        let at = cut.index(good.len());
        if let Some(half) = good.get(..at) {
            prop_assert!(decode(half, &mut Reader::lossless()).is_err());
        }
    }
}

#[test]
fn a_field_of_the_wrong_kind_is_kept_and_told() {
    for (line, named) in [
        (
            r#"{"id":"a","parentId":null,"type":"model_change","model":"m","provider":5}"#,
            "provider",
        ),
        (r#"{"id":"a","parentId":null,"type":"label","label":5}"#, "label"),
        (
            r#"{"id":"a","parentId":null,"type":"compaction","summary":"s","replacesEntryIds":[],"retainedTail":[null]}"#,
            "retainedTail",
        ),
        (
            r#"{"id":"a","parentId":null,"type":"session_info","forkedFrom":{"sessionId":"s"}}"#,
            "forkedFrom",
        ),
    ] {
        let mut reader = Reader::lossless();
        let entry = decode(line, &mut reader).unwrap();
        let notes = reader.into_notes();
        assert_eq!(notes.iter().filter(|(_, note)| note.contains(named)).count(), 1, "{notes:?}");
        let again = encode(&entry);
        let (kept, stood) = (Object::parse(&again).unwrap(), Object::parse(line).unwrap());
        assert_eq!(kept.get(named), stood.get(named), "{again}");
        assert!(decode_strict(line).is_err());
    }
    // An odd parent or time is told, and not written back: links are settled.
    let line = r#"{"id":"a","parentId":7,"timestamp":"soon","type":"leaf","leafId":"b"}"#;
    let mut reader = Reader::lossless();
    let entry = decode(line, &mut reader).unwrap();
    assert_eq!(reader.into_notes().len(), 2);
    assert_eq!(encode(&entry), r#"{"id":"a","parentId":null,"type":"leaf","leafId":"b"}"#);
}

#[test]
fn unknown_fields_inside_known_ones_survive_and_are_reported() {
    let head = r#"{"id":"a","parentId":null,"type":"#;
    for (rest, inside) in [
        (
            r#""compaction","summary":"s","state":{"model":"m","later":[1e400],"thinkingLevel":"x"}"#,
            r#""state":{"model":"m","later":[1e400],"thinkingLevel":"x"}"#,
        ),
        (
            r#""session_info","sessionId":"s","version":1,"forkedFrom":{"sessionId":"o","entryId":"e","later":{}}"#,
            r#""forkedFrom":{"sessionId":"o","entryId":"e","later":{}}"#,
        ),
        (
            r#""context_edit","targetId":"t","replacement":{"later":0,"content":"new"}"#,
            r#""replacement":{"later":0,"content":"new"}"#,
        ),
        (
            r#""message","message":{"role":"user","content":"x"},"foreign":{"format":"pi","raw":{"r":1},"later":""}"#,
            r#""foreign":{"format":"pi","raw":{"r":1},"later":""}"#,
        ),
    ] {
        let line = format!("{head}{rest}}}");
        let mut reader = Reader::lossless();
        let entry = decode(&line, &mut reader).unwrap();
        let notes = reader.into_notes();
        assert_eq!(notes.len(), 1, "{line}: {notes:?}");
        assert_eq!(notes[0].0, DiagnosticKind::UnknownField);
        assert!(notes[0].1.contains("later"), "{notes:?}");
        match &entry.body {
            Body::Compaction(compaction) => {
                assert_eq!(compaction.state.as_ref().unwrap().model, Some("m".into()));
            }
            Body::SessionInfo(info) => {
                assert_eq!(info.forked_from.as_ref().unwrap().entry_id, EntryId::from("e"));
            }
            Body::ContextEdit { replacement, .. } => {
                assert_eq!(*replacement, Some(Content::Text("new".into())));
            }
            Body::Message(body) => {
                assert_eq!(body.foreign.as_ref().unwrap().raw.get(), r#"{"r":1}"#)
            }
            other => panic!("{other:?}"),
        }
        let written = encode(&entry);
        assert_eq!(written.matches(inside).count(), 1, "{written}");
        assert_eq!(decode(&written, &mut Reader::lossless()).unwrap(), entry);
        // Nothing of it enters through an API.
        let refused = decode_strict(&line).unwrap_err().to_string();
        assert!(refused.contains("later"), "{refused}");
    }
}

#[test]
fn inner_fields_are_read_in_either_spelling() {
    let line =
        r#"{"id":"a","type":"session_info","forked_from":{"session_id":"o","entry_id":"e"}}"#;
    let mut reader = Reader::lossless();
    let entry = decode(line, &mut reader).unwrap();
    assert_eq!(reader.into_notes(), []);
    assert!(encode(&entry).contains(r#""forkedFrom":{"sessionId":"o","entryId":"e"}"#));
}
