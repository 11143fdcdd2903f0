use std::sync::Arc;

use forkwood_core::entry::Compaction;
use forkwood_core::json::Object;
use forkwood_core::message::ImageSource;
use forkwood_core::{
    Block, Body, Content, DiagnosticKind, Entry, EntryId, EntryKind, Image, Json, Lane, Message,
    Role, Text, Timestamp,
};
use forkwood_storage::Stored;
use forkwood_storage::jsonl::{
    Dialect, LineContext, LineFault, Moves, ParentName, Recognised, RecordHead,
};

use super::shape::pi_context;
use super::{PiFormat, RULES};
use crate::tests::ask;

pub(crate) const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-15T09:00:00.000Z","cwd":"/w"}"#;

pub(crate) fn line(id: &str, parent: &str, kind: &str, rest: &str) -> String {
    let parent = if parent.is_empty() { "null".into() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"type":"{kind}","id":"{id}","parentId":{parent},"timestamp":"2026-01-15T09:00:01.000Z",{rest}}}"#
    )
}

pub(crate) fn message(id: &str, parent: &str, message: &str) -> String {
    line(id, parent, "message", &format!("\"message\":{message}"))
}

pub(crate) fn found(lines: &[&str]) -> Recognised {
    ask(&PiFormat, lines).unwrap()
}

pub(crate) fn dialect(lines: &[&str]) -> Arc<dyn Dialect> {
    found(lines).dialect
}

pub(crate) fn at(line: u64) -> LineContext<'static> {
    LineContext { line, ordinal: line - 1, line_of: &|ordinal| Some(ordinal + 1) }
}

fn head<'l>(dialect: &dyn Dialect, line: &'l str) -> RecordHead<'l> {
    let mut out = Vec::new();
    dialect.heads(line.as_bytes(), &at(2), false, &mut out).unwrap();
    out.remove(0)
}

pub(crate) fn decode(line: &str) -> Entry {
    dialect(&[HEADER]).decode(line.as_bytes(), &at(2)).unwrap().entry
}

fn body(message: &str) -> Message {
    match decode(&self::message("a", "", message)).body {
        Body::Message(body) => body.message,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn stored(raw: &str, dialect: &dyn Dialect) -> Stored {
    let entry = dialect.decode(raw.as_bytes(), &at(2)).unwrap().entry;
    Stored { entry, seq: 0, line: None, offset: None, raw: Some(raw.as_bytes().into()) }
}

pub(crate) fn native(id: &str, parent: Option<&str>, body: impl Into<Body>) -> Stored {
    let entry = Entry {
        id: id.into(),
        parent_id: parent.map(EntryId::from),
        timestamp: Some(Timestamp::from_millis(1_768_467_600_500)),
        lane: Lane::main(),
        more: 0,
        body: body.into(),
        extra: Vec::new(),
    };
    Stored { entry, seq: 0, line: None, offset: None, raw: None }
}

#[test]
fn tells_the_harness_from_the_agent() {
    let leaf = line("l", "a", "leaf", r#""targetId":"a""#);
    let system = message("a", "", r#"{"role":"system","content":"s","timestamp":1}"#);
    let tail = line("c", "a", "compaction", r#""summary":"s","retainedTail":[]"#);
    let with_metadata = HEADER.replace("\"cwd\"", "\"metadata\":{\"k\":1},\"cwd\"");
    let quote =
        message("q", "", r#"{"role":"user","content":"say \"leaf\" and \"retainedTail\""}"#);
    for (lines, name, read_only) in [
        (vec![HEADER, &quote], "pi-v3", false),
        (vec![HEADER, &leaf], "pi-harness-v3", true),
        (vec![HEADER, &tail], "pi-harness-v3", true),
        (vec![&with_metadata], "pi-harness-v3", true),
        (vec![&with_metadata, &system, &leaf], "pi-v3", false),
        (vec![HEADER, &leaf, &system], "pi-v3", false),
    ] {
        let found = found(&lines);
        assert_eq!(found.dialect.name(), name, "{lines:?}");
        assert_eq!(found.header.read_only.is_some(), read_only, "{lines:?}");
    }
    // Where nothing in the window told, a pointer is still a pointer, and a tail a tail.
    let plain = dialect(&[HEADER]);
    assert_eq!(head(&*plain, &leaf).moves, Moves::To(Some("a".into())));
    assert!(head(&*plain, &leaf).sidecar);
    let agent = dialect(&[&with_metadata, &system]);
    assert_eq!(head(&*agent, &leaf).moves, Moves::ToSelf);
    assert!(!head(&*agent, &leaf).sidecar);
    let kept = |dialect: &dyn Dialect| match stored(&tail, dialect).entry.body {
        Body::Compaction(c) => (c.first_kept_entry_id, c.retained_tail.map(|t| t.len())),
        other => panic!("{other:?}"),
    };
    assert_eq!(kept(&*plain), (None, Some(0)));
    assert_eq!(kept(&*agent), (Some("c".into()), None));
}

#[test]
fn a_newer_version_is_read_as_the_newest_known() {
    let newer = HEADER.replace("\"version\":3", "\"version\":4");
    let found = found(&[&newer]);
    assert_eq!(found.header.newer_version.as_deref(), Some("4"));
    assert_eq!(found.header.diagnostics[0].kind, DiagnosticKind::FutureVersion);
    assert_eq!(found.dialect.name(), "pi-v3");
}

#[test]
fn names_the_entries_of_version_1() {
    let header = HEADER.replace("\"version\":3,", "");
    let found = found(&[&header]);
    assert_eq!(found.header.diagnostics[0].kind, DiagnosticKind::OldVersion);
    let v1 = found.dialect;
    assert_eq!((v1.name(), v1.needs_migration()), ("pi-v1", true));
    let user = r#"{"type":"message","id":"stale","timestamp":"2026-01-15T09:00:01.000Z","message":{"role":"user","content":"x"}}"#;
    let head = head(&*v1, user);
    // sha256("s\n2")
    assert_eq!(head.id, super::migrate::short_hash(&["s", "2"]));
    assert_eq!(head.parent, ParentName::Previous);
    let compaction = |index: &str| {
        let raw = format!(
            r#"{{"type":"compaction","timestamp":"2026-01-15T09:00:07.000Z","summary":"c","firstKeptEntryIndex":{index},"tokensBefore":5}}"#
        );
        match v1.decode(raw.as_bytes(), &at(5)).unwrap().entry.body {
            Body::Compaction(c) => c.first_kept_entry_id.unwrap(),
            other => panic!("{other:?}"),
        }
    };
    let id = |line: &str| EntryId::from(super::migrate::short_hash(&["s", line]));
    assert_eq!(compaction("2"), id("3"));
    // The header, itself and what is not there yet keep nothing: its own id.
    for index in ["0", "4", "99", "1.5", "\"2\""] {
        assert_eq!(compaction(index), id("5"), "{index}");
    }
    // A fork by Pi of such a file says version 3 and has no ids either.
    let bare = user.replace("\"id\":\"stale\",", "");
    assert_eq!(dialect(&[HEADER, &bare]).name(), "pi-v1");
    assert_eq!(dialect(&["{lost", &bare]).name(), "pi-v1");
}

#[test]
fn whatever_has_no_place_in_a_message_stays() {
    let m = body(
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t","thinkingSignature":"z","redacted":true},{"type":"toolCall","id":"c","name":"n","arguments":{"a":1}},{"type":"hologram"}],"api":"x","provider":"p","model":"m","usage":{"input":1},"stopReason":"stop","responseId":"r","timestamp":7}"#,
    );
    assert_eq!(
        (m.role, m.model, m.provider),
        (Role::Assistant, Some("m".into()), Some("p".into()))
    );
    assert_eq!(m.metadata.unwrap().get(), r#"{"pi":{"api":"x","responseId":"r","timestamp":7}}"#);
    let Content::Blocks(blocks) = m.content else { panic!() };
    assert!(matches!(&blocks[0], Block::Thinking { signature: Some(s), extra, .. }
        if *s == "z" && extra.len() == 1));
    assert!(matches!(&blocks[1], Block::ToolCall { .. }));
    assert!(matches!(&blocks[2], Block::Other(_)));

    let m = body(
        r#"{"role":"bashExecution","command":"ls","output":"","exitCode":2,"cancelled":false,"truncated":true,"fullOutputPath":"/o","excludeFromContext":true,"timestamp":7}"#,
    );
    let text = "Ran `ls`\n(no output)\n\nCommand exited with code 2\n\n[Output truncated. Full output: /o]";
    assert_eq!((m.role, m.content), (Role::User, Content::Text(text.into())));
    let metadata = m.metadata.unwrap();
    let metadata = metadata.as_object().unwrap();
    assert_eq!(metadata.get("excludeFromContext"), Some("true"));

    let m = body(r#"{"role":"user","content":null}"#);
    assert_eq!((m.content, m.metadata), (Content::Blocks(vec![]), None));
    let m = body(
        r#"{"role":"user","content":[{"type":"image","data":"aaaa","mimeType":"image/png"}]}"#,
    );
    assert!(matches!(&m.content, Content::Blocks(b)
        if matches!(&b[0], Block::Image(Image { source: ImageSource::Inline(d), .. }) if *d == "aaaa")));

    let raw = r#"{"role":"weather","content":"rain","mm":3}"#;
    let Body::Message(odd) = decode(&message("a", "", raw)).body else { panic!() };
    assert_eq!(odd.message.role, Role::Other("weather".into()));
    assert_eq!(odd.foreign.unwrap().raw.get(), raw);
}

#[test]
fn an_odd_body_keeps_its_fields() {
    for (kind, rest) in [
        ("message", r#""message":null"#),
        ("message", r#""message":{"content":"no role"}"#),
        ("compaction", r#""summary":7,"firstKeptEntryId":"x""#),
        ("label", r#""label":"no target""#),
        ("usage", r#""kind":"x""#),
        ("context_edit", r#""targetId":"a""#),
        ("turn_boundary", r#""turn":1"#),
        ("operation", r#""operationId":"o""#),
    ] {
        let raw = line("a", "", kind, rest);
        let decoded = dialect(&[HEADER]).decode(raw.as_bytes(), &at(2)).unwrap();
        assert!(matches!(decoded.entry.body, Body::Unknown { .. }), "{raw}");
        assert!(!decoded.notes.is_empty(), "{raw}");
        let out = super::encode::entry(&decoded.entry).unwrap().unwrap();
        assert_eq!(out, raw);
    }
    // A field of another type than it should have is kept too, and one that is not known.
    let raw = line(
        "a",
        "",
        "compaction",
        r#""summary":"s","firstKeptEntryId":"k","tokensBefore":-1,"details":null,"x":[1]"#,
    );
    let entry = decode(&raw);
    let keys: Vec<String> = entry.extra.iter().map(|(key, _)| key.to_string()).collect();
    assert_eq!(keys, ["tokensBefore", "details", "x"]);
}

#[test]
fn clears_and_trims_as_pi_does() {
    let label = |rest: &str| match decode(&line("a", "", "label", rest)).body {
        Body::Label { label, .. } => label,
        other => panic!("{other:?}"),
    };
    assert_eq!(label(r#""targetId":"x","label":"  kept  ""#), Some("  kept  ".into()));
    assert_eq!(label(r#""targetId":"x","label":"""#), None);
    assert_eq!(label(r#""targetId":"x""#), None);
    let name = |rest: &str| match decode(&line("a", "", "session_info", rest)).body {
        Body::SessionInfo(info) => info.title.unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(name(r#""name":"\ufeff\u00a0 n\u0085""#), Text::from("n\u{85}"));
    assert_eq!(name(r#""name":"  ""#), "");
    assert_eq!(name(r#""name":7"#), "");
}

#[test]
fn wrong_lines_are_told_apart() {
    let dialect = dialect(&[HEADER]);
    let fault = |line: &str| dialect.heads(line.as_bytes(), &at(3), false, &mut Vec::new());
    for line in [
        "null",
        "42",
        "\"x\"",
        "[1]",
        "{}",
        r#"{"type":"message"}"#,
        r#"{"id":"x"}"#,
        r#"{"type":"message","id":7}"#,
    ] {
        assert!(matches!(fault(line), Err(LineFault::WrongShape(_))), "{line}");
    }
    for line in ["{", "nul", "{\"type\":\"message\"}x", ""] {
        assert!(matches!(fault(line), Err(LineFault::NotJson(_))), "{line}");
    }
    assert!(head(&*dialect, HEADER).header);
    assert_eq!(
        head(&*dialect, r#"{"type":"x","id":"a","parentId":7}"#).parent,
        ParentName::Named("7".into())
    );
    for parent in ["", "\"parentId\":null,", "\"parentId\":\"\","] {
        let line = format!("{{\"type\":\"x\",{parent}\"id\":\"a\"}}");
        assert_eq!(head(&*dialect, &line).parent, ParentName::Root);
    }
}

#[test]
fn nesting_does_not_matter() {
    let deep = format!("{}1{}", "[".repeat(31_000), "]".repeat(31_000));
    let raw = message(
        "a",
        "",
        &format!(
            r#"{{"role":"toolResult","toolCallId":"c","toolName":"t","content":[],"details":{deep},"isError":false,"timestamp":1}}"#
        ),
    );
    let run = move || {
        let dialect = dialect(&[HEADER]);
        assert_eq!(head(&*dialect, &raw).kind, EntryKind::Message);
        let one = stored(&raw, &*dialect);
        let context = pi_context(std::slice::from_ref(&one), &RULES);
        assert!(raw.contains(&context[0].json));
        let line = dialect.encode(&one.entry).unwrap().unwrap();
        assert!(line.contains(&deep));
    };
    // A small stack: nothing here may go down with the nesting.
    std::thread::Builder::new().stack_size(256 * 1024).spawn(run).unwrap().join().unwrap();
}

#[test]
fn writes_what_pi_asks_for() {
    let dialect = dialect(&[HEADER]);
    let write = |body: Body| dialect.encode(&native("a1", Some("p"), body).entry);
    let line = |body: Body| write(body).unwrap().unwrap();
    let base = r#""id":"a1","parentId":"p","timestamp":"2026-01-15T09:00:00.500Z""#;
    let call = Json::parse(r#"{"x":1}"#).unwrap();
    let mut asked = Message::new(
        Role::Assistant,
        Content::Blocks(vec![Block::text("hm"), Block::tool_call("c", "t", call)]),
    );
    asked.usage = Some(Json::parse(r#"{"input_tokens":3,"output":2}"#).unwrap());
    assert_eq!(
        line(asked.into()),
        format!(
            r#"{{"type":"message",{base},"message":{{"role":"assistant","content":[{{"type":"text","text":"hm"}},{{"type":"toolCall","id":"c","name":"t","arguments":{{"x":1}}}}],"api":"unknown","provider":"unknown","model":"unknown","usage":{{"input":3,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":5,"cost":{{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"input_tokens":3}},"stopReason":"toolUse","timestamp":1768467600500}}}}"#
        )
    );
    assert_eq!(
        line(Message::tool("c", "done").into()),
        format!(
            r#"{{"type":"message",{base},"message":{{"role":"toolResult","toolCallId":"c","toolName":"unknown","content":[{{"type":"text","text":"done"}}],"isError":false,"timestamp":1768467600500}}}}"#
        )
    );
    assert_eq!(
        line(Message::new(Role::System, Content::Text("rules".into())).into()),
        format!(
            r#"{{"type":"custom_message",{base},"customType":"forkwood.system","content":"rules","display":false,"details":{{"message":{{"role":"system","content":"rules"}}}}}}"#
        )
    );
    assert!(
        line(Body::ModelChange { model: "m".into(), provider: None })
            .ends_with(r#""provider":"unknown","modelId":"m"}"#)
    );
    assert!(
        line(Compaction { summary: "s".into(), ..Compaction::default() }.into())
            .ends_with(r#""summary":"s","firstKeptEntryId":"a1","tokensBefore":0}"#)
    );
    assert!(
        line(Body::BranchSummary { summary: "b".into(), from_id: None, details: None })
            .ends_with(r#""fromId":"root","summary":"b"}"#)
    );
    assert!(line(Body::Label { label: None, target_id: None }).ends_with(r#""targetId":"p"}"#));
    assert_eq!(write(Body::Leaf { leaf_id: Some("p".into()) }).unwrap(), None);
    let tail = Compaction { retained_tail: Some(vec![]), ..Compaction::default() };
    assert!(write(tail.into()).unwrap_err().to_string().contains("retainedTail"));
    let blob = ImageSource::Blob { name: "sha256-0".into(), bytes: 9 };
    let image = Image { source: blob, mime_type: "image/png".into(), extra: vec![] };
    let seen = Message::new(Role::User, Content::Blocks(vec![Block::Image(image)]));
    assert!(write(seen.into()).unwrap_err().to_string().contains("sha256-0"));
}

#[test]
fn reads_its_own_words_back() {
    let dialect = dialect(&[HEADER]);
    let mut rules = Message::new(Role::Developer, Content::Text("rules".into()));
    rules.metadata = Some(Json::parse(r#"{"k":1}"#).unwrap());
    let mut said = Message::user("x");
    said.metadata = Some(Json::parse(r#"{"k":{"pi":1}}"#).unwrap());
    said.extra = vec![("later".into(), Json::parse("[1]").unwrap())];
    let operation = forkwood_core::entry::Operation {
        operation_id: "o".into(),
        phase: "started".into(),
        kind: "run".into(),
        outcome: None,
        data: Some(Json::parse("7").unwrap()),
    };
    let mut info = forkwood_core::entry::SessionInfo {
        metadata: Some(Json::parse(r#"{"pinned":true}"#).unwrap()),
        ..Default::default()
    };
    let untitled = info.clone();
    info.title = Some("t".into());
    for body in [
        Body::message(rules),
        Body::Operation(operation),
        Body::ActiveToolsChange { active_tool_names: vec!["a".into()] },
        info.into(),
        untitled.into(),
        Body::Compaction(Compaction {
            summary: "s".into(),
            replaces_entry_ids: vec!["x".into()],
            first_kept_entry_id: Some("k".into()),
            state: Some(forkwood_core::entry::CompactionState {
                model: Some("m".into()),
                ..Default::default()
            }),
            tokens_before: Some(1),
            tokens_after: Some(2),
            ..Compaction::default()
        }),
    ] {
        let line = dialect.encode(&native("a", None, body.clone()).entry).unwrap().unwrap();
        assert_eq!(decode(&line).body, body, "{line}");
    }
    // A message has a time of Pi's own once it was there, and a field that Pi does not know
    // stands with Pi's; both come out again.
    let line = dialect.encode(&native("a", None, said).entry).unwrap().unwrap();
    let again = dialect.encode(&decode(&line)).unwrap().unwrap();
    let order = |line: &str| {
        let object = Object::parse(line).unwrap();
        let inner = Object::parse(object.get("message").unwrap()).unwrap();
        let mut keys: Vec<String> = inner.iter().map(|(k, v)| format!("{k}{}", v.get())).collect();
        keys.sort();
        keys
    };
    assert_eq!(order(&again), order(&line));
    assert!(line.contains(r#""metadata":{"k":{"pi":1}},"later":[1]"#));
}

#[test]
fn shapes_what_is_edited_or_odd() {
    let dialect = dialect(&[HEADER]);
    let edit = |id: &str, parent: &str, target: &str, text: &str| {
        line(
            id,
            parent,
            "context_edit",
            &format!(r#""targetId":"{target}","replacement":{{"content":"{text}"}}"#),
        )
    };
    let lines = [
        message("u", "", r#"{"role":"user","content":null,"timestamp":1}"#),
        message(
            "h",
            "u",
            r#"{"role":"hookMessage","customType":"c","content":"x","display":true}"#,
        ),
        message("r", "h", r#"{"role":"toolResult","toolCallId":"c","content":[],"isError":false}"#),
        line("m", "r", "custom_message", r#""customType":"t","content":null,"display":false"#),
        message("b", "m", r#"{"role":"bashExecution","command":"ls","output":"o"}"#),
        edit("1", "b", "r", "R"),
        edit("2", "1", "u", "U"),
        edit("3", "2", "b", "B"),
    ];
    let path: Vec<Stored> = lines.iter().map(|line| stored(line, &*dialect)).collect();
    let context: Vec<String> = pi_context(&path, &RULES).into_iter().map(|m| m.json).collect();
    assert_eq!(
        context,
        [
            r#"{"role":"user","content":"U","timestamp":1}"#,
            r#"{"role":"custom","customType":"c","content":"x","display":true}"#,
            r#"{"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":"R"}],"isError":false}"#,
            r#"{"role":"custom","customType":"t","content":[],"display":false,"timestamp":1768467601000}"#,
            r#"{"role":"bashExecution","command":"ls","output":"o"}"#,
        ]
    );
    // The system messages of what is kept give way, whether or not another one stands in.
    let lines = [
        message("s", "", r#"{"role":"system","content":"old"}"#),
        line("c", "s", "compaction", r#""summary":"","firstKeptEntryId":"s","tokensBefore":1.5"#),
    ];
    let path: Vec<Stored> = lines.iter().map(|line| stored(line, &*dialect)).collect();
    let context: Vec<String> = pi_context(&path, &RULES).into_iter().map(|m| m.json).collect();
    assert_eq!(
        context,
        [
            r#"{"role":"compactionSummary","summary":"","tokensBefore":1.5,"timestamp":1768467601000}"#
        ]
    );
}

#[test]
fn shapes_a_native_session() {
    let path = [
        native("1", None, Message::user("q")),
        native("2", Some("1"), Message::assistant("a")),
        native(
            "3",
            Some("2"),
            Body::CustomMessage {
                namespace: "n".into(),
                content: Content::Text("c".into()),
                display: true,
            },
        ),
    ];
    let context = pi_context(&path, &forkwood_core::FoldRules::NATIVE);
    let roles: Vec<&str> = context.iter().map(|m| &m.json[..14]).collect();
    assert_eq!(roles, [r#"{"role":"user""#, r#"{"role":"assis"#, r#"{"role":"custo"#]);
    assert_eq!(context[1].entry_id.as_str(), "2");
}
