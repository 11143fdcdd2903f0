use super::SessionState;
use crate::entry::codec::{Reader, decode};
use crate::{Entry, EntryId, Message, TreeError};

/// Builds a log from lines of `id parent json-fields`.
fn log(lines: &str) -> Vec<Entry> {
    lines
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| {
            let (id, rest) = line.split_once(' ').unwrap();
            let (parent, fields) = rest.split_once(' ').unwrap();
            let parent = if parent == "-" { "null".to_owned() } else { format!("\"{parent}\"") };
            let fields = match fields.split_once(':') {
                Some((role @ ("user" | "assistant" | "tool"), text)) => {
                    format!(r#""type":"message","message":{{"role":"{role}","content":"{text}"}}"#)
                }
                _ => fields.to_owned(),
            };
            let json = format!(r#"{{"id":"{id}","parentId":{parent},{fields}}}"#);
            decode(&json, &mut Reader::lossless()).unwrap()
        })
        .collect()
}

fn shown(messages: &[Message]) -> Vec<String> {
    messages.iter().map(|m| format!("{}:{}", m.role.as_text(), m.content.text())).collect()
}

fn fold(lines: &str, leaf: Option<&str>) -> SessionState {
    let leaf = leaf.map(EntryId::from);
    SessionState::from_entries(&log(lines), leaf.as_ref()).unwrap()
}

fn says(lines: &str, expected: &[&str]) {
    assert_eq!(shown(fold(lines, None).messages()), expected, "{lines}");
}

const ROOT: &str = r#"i - "type":"session_info","sessionId":"s","version":1"#;

#[test]
fn nothing_folds_to_nothing() {
    let state = SessionState::from_entries(&[], None).unwrap();
    assert_eq!(state, SessionState::default());
}

#[test]
fn settings_follow_the_path() {
    let lines = format!(
        "{ROOT}
        a i \"type\":\"model_change\",\"model\":\"m1\",\"provider\":\"p1\"
        b a \"type\":\"thinking_level_change\",\"thinkingLevel\":\"high\"
        c b \"type\":\"active_tools_change\",\"activeToolNames\":[\"read\"]
        d c user:hi
        e d \"type\":\"model_change\",\"model\":\"m2\"
        f e \"type\":\"message\",\"message\":{{\"role\":\"assistant\",\"content\":\"x\",\"model\":\"m3\"}}"
    );
    let at = |leaf: &str| fold(&lines, Some(leaf)).settings().clone();
    assert_eq!(at("i").model, None);
    assert_eq!(at("d").model.unwrap(), "m1");
    assert_eq!((at("e").model.unwrap(), at("e").provider.unwrap()), ("m2".into(), "p1".into()));
    assert_eq!(at("f").model.unwrap(), "m3");
    assert_eq!(at("f").thinking_level.unwrap(), "high");
    assert_eq!(at("f").active_tool_names.unwrap(), ["read"]);
    assert_eq!(at("a").thinking_level, None);
}

#[test]
fn a_leaf_line_selects_the_branch_and_what_follows_it_grows_there() {
    let lines = format!(
        "{ROOT}\na i user:q\nb a assistant:old\nl b \"type\":\"leaf\",\"leafId\":\"a\"\nc a assistant:new"
    );
    says(&lines, &["user:q", "assistant:new"]);
    let until_leaf: String = lines.lines().take(4).map(|l| format!("{l}\n")).collect();
    says(&until_leaf, &["user:q"]);
    assert_eq!(shown(fold(&lines, Some("b")).messages()), ["user:q", "assistant:old"]);
}

#[test]
fn an_unknown_leaf_target_moves_nothing() {
    says(&format!("{ROOT}\na i user:q\nl a \"type\":\"leaf\",\"leafId\":\"ghost\""), &["user:q"]);
}

#[test]
fn other_lanes_do_not_move_main() {
    let lines = format!(
        "{ROOT}\na i user:q\nx a \"lane\":\"side\",\"type\":\"message\",\"message\":{{\"role\":\"user\",\"content\":\"s\"}}"
    );
    says(&lines, &["user:q"]);
}

#[test]
fn a_compaction_keeps_from_its_first_kept_entry() {
    let lines = format!(
        "{ROOT}\na i user:1\nb a assistant:2\nc b user:3
        k c \"type\":\"compaction\",\"summary\":\"S\",\"firstKeptEntryId\":\"c\"\nd k user:4"
    );
    says(&lines, &["user:Previous conversation summary:\nS", "user:3", "user:4"]);
    assert_eq!(fold(&lines, None).entry_ids(), ["k".into(), "c".into(), "d".into()]);
    assert_eq!(shown(fold(&lines, Some("c")).messages()).len(), 3);
}

#[test]
fn a_compaction_that_keeps_itself_or_an_unknown_entry_keeps_nothing() {
    for kept in ["k", "ghost"] {
        says(
            &format!(
                "{ROOT}\na i user:1\nk a \"type\":\"compaction\",\"summary\":\"S\",\"firstKeptEntryId\":\"{kept}\"\nd k user:4"
            ),
            &["user:Previous conversation summary:\nS", "user:4"],
        );
    }
}

#[test]
fn the_latest_compaction_reaches_behind_an_earlier_one() {
    says(
        &format!(
            "{ROOT}\na i user:1\nb a user:2
            k b \"type\":\"compaction\",\"summary\":\"S1\",\"firstKeptEntryId\":\"b\"\nc k user:3
            m c \"type\":\"compaction\",\"summary\":\"S2\",\"firstKeptEntryId\":\"a\"\nd m user:4"
        ),
        &["user:Previous conversation summary:\nS2", "user:1", "user:2", "user:3", "user:4"],
    );
}

#[test]
fn a_retained_tail_stands_in_place_of_kept_entries() {
    let lines = format!(
        "{ROOT}\na i user:1
        k a \"type\":\"compaction\",\"summary\":\"S\",\"firstKeptEntryId\":\"a\",\"retainedTail\":[{{\"role\":\"user\",\"content\":\"t\"}}]
        d k user:4"
    );
    says(&lines, &["user:Previous conversation summary:\nS", "user:t", "user:4"]);
    assert_eq!(fold(&lines, None).entry_ids(), ["k".into(), "k".into(), "d".into()]);
}

#[test]
fn replacing_in_place() {
    let head = format!("{ROOT}\na i user:1\nb a assistant:2\nc b user:3\n");
    let prefix = "user:Previous conversation summary:\n";
    let compaction = |id: &str, parent: &str, summary: &str, ids: &str| {
        format!(
            "{id} {parent} \"type\":\"compaction\",\"summary\":\"{summary}\",\"replacesEntryIds\":[{ids}]\n"
        )
    };
    let s = |text: &str| format!("{prefix}{text}");
    let middle = head.clone() + &compaction("k", "c", "S", r#""b""#) + "d k user:4";
    says(&middle, &["user:1", &s("S"), "user:3", "user:4"]);
    let nothing = head.clone() + &compaction("k", "c", "S", "") + "d k user:4";
    says(&nothing, &["user:1", "assistant:2", "user:3", &s("S"), "user:4"]);
    let ghost = head.clone() + &compaction("k", "c", "S", r#""ghost""#);
    says(&ghost, &["user:1", "assistant:2", "user:3", &s("S")]);
    let cascade = head.clone()
        + &compaction("k", "c", "S1", r#""a","b""#)
        + &compaction("m", "k", "S2", r#""k","c""#)
        + "d m user:4";
    says(&cascade, &[&s("S2"), "user:4"]);
    let twice = head.clone()
        + &compaction("k", "c", "S1", r#""a","b""#)
        + &compaction("m", "k", "S2", r#""a","b""#);
    says(&twice, &[&s("S1"), "user:3", &s("S2")]);
    let prefixed = head + &compaction("k", "c", r"Previous conversation summary:\nS", r#""a""#);
    says(&prefixed, &[&s("S"), "assistant:2", "user:3"]);
}

#[test]
fn an_empty_summary_truncates_without_a_message() {
    says(
        &format!(
            "{ROOT}\na i user:1\nb a user:2\nk b \"type\":\"compaction\",\"summary\":\"\",\"firstKeptEntryId\":\"b\""
        ),
        &["user:2"],
    );
    says(
        &format!(
            "{ROOT}\na i user:1\nb a user:2\nk b \"type\":\"compaction\",\"summary\":\"\",\"replacesEntryIds\":[\"a\"]"
        ),
        &["user:2"],
    );
}

#[test]
fn edits_change_or_remove_and_the_last_wins() {
    let lines = format!(
        "{ROOT}\na i user:1\nb a assistant:2
        e b \"type\":\"context_edit\",\"targetId\":\"a\",\"replacement\":{{\"content\":\"one\"}}
        f e \"type\":\"context_edit\",\"targetId\":\"a\",\"replacement\":{{\"content\":\"uno\"}}
        g f \"type\":\"context_edit\",\"targetId\":\"b\",\"replacement\":null"
    );
    says(&lines, &["user:uno"]);
    assert_eq!(shown(fold(&lines, Some("e")).messages()), ["user:one", "assistant:2"]);
}

#[test]
fn extensions_and_summaries_of_branches() {
    let lines = format!(
        "{ROOT}\nn i \"type\":\"custom\",\"namespace\":\"x\",\"data\":{{}}
        c n \"type\":\"custom_message\",\"namespace\":\"x\",\"content\":\"note\",\"display\":false
        b c \"type\":\"branch_summary\",\"summary\":\"went\"
        e b \"type\":\"branch_summary\",\"summary\":\"\"
        u e \"type\":\"usage\",\"kind\":\"k\",\"provider\":\"p\",\"model\":\"zz\",\"usage\":{{}}"
    );
    let state = fold(&lines, None);
    let messages = shown(state.messages());
    assert_eq!(messages[0], "user:note");
    assert!(messages[1].contains("went") && messages.len() == 2);
    assert_eq!(state.settings().model, None);
    assert_eq!(state.leaf_id().unwrap().as_str(), "u");
}

#[test]
fn the_label_nearest_the_leaf() {
    let lines = format!(
        "{ROOT}\na i user:1\nx a \"type\":\"label\",\"label\":\"first\"\nb a user:2
        y b \"type\":\"label\",\"label\":\"second\",\"targetId\":\"b\"
        z b \"type\":\"label\",\"label\":null,\"targetId\":\"b\""
    );
    let label = |leaf: &str, lines: &str| fold(lines, Some(leaf)).label().map(ToString::to_string);
    assert_eq!(label("b", &lines).as_deref(), Some("first"));
    let until_second: String = lines.lines().take(5).map(|l| format!("{l}\n")).collect();
    assert_eq!(label("b", &until_second).as_deref(), Some("second"));
    assert_eq!(label("i", &lines), None);
    assert_eq!(label("x", &lines).as_deref(), Some("first"), "at a sidecar: its path ancestor");
}

#[test]
fn damage_is_refused_with_the_reference_errors() {
    let error = |lines: &str, leaf: Option<&str>| {
        let leaf = leaf.map(EntryId::from);
        SessionState::from_entries(&log(lines), leaf.as_ref()).unwrap_err()
    };
    assert_eq!(error("a - user:1", Some("x")), TreeError::NotFound("x".into()));
    assert_eq!(error("a - user:1\na - user:1", None), TreeError::Duplicate("a".into()));
    assert_eq!(error("a b user:1", None), TreeError::MissingParent("b".into()));
}
