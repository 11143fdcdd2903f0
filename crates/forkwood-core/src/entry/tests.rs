use super::codec::{Reader, decode, decode_strict, encode, set_apart};
use super::{Body, EntryKind};
use crate::{DiagnosticKind, Json, Text};

/// Reads, and gives back the line and the kinds of what was odd.
fn round(json: &str) -> (String, Vec<DiagnosticKind>) {
    let mut reader = Reader::lossless();
    let entry = decode(json, &mut reader).unwrap();
    (encode(&entry), reader.into_notes().into_iter().map(|(kind, _)| kind).collect())
}

#[test]
fn every_type_reads_and_writes_as_documented() {
    let base = r#""id":"a","parentId":"r","timestamp":1788000000.25,"type":"#;
    let bodies = [
        r#""session_info","sessionId":"20261130-081501-9f86d081","version":1,"generation":"00ff00ff","title":"t","cwd":"/w","createdAt":1.0,"metadata":{"k":[1,2.50]},"forkedFrom":{"sessionId":"s","entryId":"e"},"agentType":"reviewer","spawnDepth":1,"parentSessionId":"p""#,
        r#""message","message":{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"x"},{"type":"image","base64":"aGk=","mimeType":"image/png"},{"type":"image","blob":"sha256-00","bytes":70000,"mimeType":"image/png"},{"type":"toolCall","id":"c","name":"n","arguments":{"a":1e400}}],"model":"m","provider":"p","usage":{"input":1},"stopReason":"stop","metadata":{"z":null}},"foreign":{"format":"pi","raw":{"api":1}}"#,
        r#""message","message":{"role":"tool","content":"703","toolCallId":"c","toolName":"n","isError":false}"#,
        r#""model_change","model":"m","provider":"p""#,
        r#""thinking_level_change","thinkingLevel":"high""#,
        r#""active_tools_change","activeToolNames":["read","bash"]"#,
        r#""compaction","summary":"s","replacesEntryIds":["x"],"firstKeptEntryId":"y","state":{"model":"m","provider":"p","thinkingLevel":"off","activeToolNames":[]},"tokensBefore":9,"tokensAfter":1,"retainedTail":[{"role":"user","content":"k"}],"usage":{"u":1},"details":{"d":1}"#,
        r#""branch_summary","summary":"s","fromId":"f","details":{}"#,
        r#""label","label":"v1","targetId":"t""#,
        r#""label","label":null"#,
        r#""leaf","leafId":"l""#,
        r#""custom","namespace":"n","data":{"a":[1,null]},"aside":true"#,
        r#""custom_message","namespace":"n","content":"c","display":false"#,
        r#""context_edit","targetId":"t","replacement":null"#,
        r#""context_edit","targetId":"t","replacement":{"content":"c"}"#,
        r#""usage","kind":"warm","provider":"p","model":"m","usage":{"input":1}"#,
        r#""operation","operationId":"o","phase":"finished","kind":"tool","outcome":"ok","data":{"a":1}"#,
    ];
    for body in bodies {
        let line = format!("{{{base}{body}}}");
        assert_eq!(round(&line), (line.clone(), vec![]), "{line}");
        let strict = decode_strict(&line).unwrap();
        assert_eq!(strict.id.unwrap().as_str(), "a");
    }
}

#[test]
fn both_spellings_are_read_and_one_is_written() {
    let (line, notes) = round(
        r#"{"type":"thinkingLevelChange","id":"a","parent_id":"r","timestamp":"3","thinking_level":"low"}"#,
    );
    assert_eq!(
        line,
        r#"{"id":"a","parentId":"r","timestamp":3.0,"type":"thinking_level_change","thinkingLevel":"low"}"#
    );
    assert!(notes.is_empty());
}

#[test]
fn two_spellings_at_once_are_reported_and_camel_case_wins() {
    let (line, notes) =
        round(r#"{"id":"a","parent_id":"snake","parentId":"camel","type":"leaf","leafId":"l"}"#);
    assert!(line.contains(r#""parentId":"camel""#) && !line.contains("snake"));
    assert_eq!(notes, [DiagnosticKind::BothSpellings]);
}

#[test]
fn unknown_types_and_fields_are_kept() {
    let line = r#"{"id":"a","parentId":null,"type":"future","payload":{"b":[1,2]},"n":1.50}"#;
    let (again, notes) = round(line);
    assert_eq!(again, line);
    assert!(notes.contains(&DiagnosticKind::UnknownType));
    let line = r#"{"id":"a","parentId":null,"type":"leaf","leafId":"l","new":"\ud83d"}"#;
    assert_eq!(round(line), (line.to_owned(), vec![DiagnosticKind::UnknownField]));
}

#[test]
fn a_foreign_field_with_a_name_of_ours_is_set_apart() {
    let extra = |keys: &[&str]| -> Vec<(Text, Json)> {
        keys.iter().map(|key| ((*key).into(), Json::parse("7").unwrap())).collect()
    };
    let body = Body::ModelChange { model: "m".into(), provider: None };
    let mut entry =
        decode(r#"{"id":"a","type":"model_change","model":"m"}"#, &mut Reader::lossless()).unwrap();
    entry.extra = extra(&["more", "parent_id", "lane", "kept"]);
    let line = r#"{"id":"a","parentId":null,"type":"model_change","model":"m","foreign.more":7,"foreign.parent_id":7,"foreign.lane":7,"kept":7}"#;
    // By these a line hangs together; whoever sets nothing apart cannot break it.
    assert_eq!(encode(&entry), line);
    entry.extra = extra(&["model", "provider", "summary"]);
    set_apart(&body, &mut entry.extra);
    let line = r#"{"id":"a","parentId":null,"type":"model_change","model":"m","foreign.model":7,"foreign.provider":7,"summary":7}"#;
    assert_eq!(encode(&entry), line);
    let (again, notes) = round(line);
    assert_eq!(again, line);
    assert!(notes.iter().all(|kind| *kind == DiagnosticKind::UnknownField));
}

#[test]
fn a_known_type_without_its_field_is_kept_whole() {
    let line = r#"{"id":"a","parentId":"p","type":"message","message":null}"#;
    let mut reader = Reader::lossless();
    let entry = decode(line, &mut reader).unwrap();
    assert!(matches!(entry.body, Body::Unknown { .. }));
    assert_eq!(entry.kind(), EntryKind::Unknown);
    assert_eq!(encode(&entry), line);
}

#[test]
fn no_id_or_no_type_is_no_entry() {
    for line in [
        "null",
        "42",
        "[1]",
        "{}",
        r#"{"type":"message"}"#,
        r#"{"id":"a"}"#,
        r#"{"id":7,"type":"leaf","leafId":"x"}"#,
    ] {
        assert!(decode(line, &mut Reader::lossless()).is_err(), "{line}");
    }
}

#[test]
fn the_api_refuses_what_it_does_not_know_and_names_it() {
    for (line, named) in [
        (r#"{"type":"message","message":{"role":"user","content":"x","colour":1}}"#, "colour"),
        (r#"{"type":"message","message":{"role":"robot","content":"x"}}"#, "robot"),
        (r#"{"type":"message","message":{"role":"user"}}"#, "content"),
        (r#"{"type":"message","message":{"role":"user","content":[{"type":"video"}]}}"#, "block"),
        (r#"{"type":"wish"}"#, "wish"),
        (r#"{"type":"custom","namespace":"n","data":{},"size":3}"#, "size"),
        (r#"{"type":"label","label":5}"#, "label"),
        (r#"{"type":"compaction"}"#, "compaction"),
        (r#"{"type":"leaf","leafId":"a","leaf_id":"a"}"#, "leafId and leaf_id"),
        (r#"{"type":"leaf","leafId":null,"leaf_id":"a"}"#, "leafId and leaf_id"),
        (r#"{"type":"leaf","leafId":"a","leafId":"b"}"#, "leafId stands more than once"),
        (r#"{"type":"label","label":"x","targetId":""}"#, "targetId: must not be empty"),
        (r#"{"id":"","type":"label","label":"x"}"#, "entry.id"),
        (
            r#"{"type":"message","message":{"role":"user","content":"x","is_error":true,"isError":true}}"#,
            "message: isError and is_error",
        ),
        (
            r#"{"type":"message","message":{"role":"user","content":[{"type":"image","base64":"","mimeType":"a/b","mime_type":"a/b"}]}}"#,
            "block: mimeType and mime_type",
        ),
        (
            r#"{"type":"compaction","summary":"s","state":{"thinkingLevel":"x","thinking_level":"x"}}"#,
            "thinkingLevel and thinking_level",
        ),
    ] {
        let error = decode_strict(line).unwrap_err().to_string();
        assert!(error.contains(named), "{line}: {error}");
    }
}
