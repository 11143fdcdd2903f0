use forkwood::{Body, Entry, EntryId, Json, Lane, Message, Text, Timestamp};

use super::{About, By, Row, Stats, Sum};

fn entry(at: i64, body: impl Into<Body>) -> Entry {
    Entry {
        id: EntryId::new(format!("e{at}")),
        parent_id: None,
        timestamp: Some(Timestamp::from_millis(1_772_355_600_000 + at * 1000)),
        lane: Lane::main(),
        more: 0,
        body: body.into(),
        extra: Vec::new(),
    }
}

fn answer(text: &str, tokens: u64) -> Message {
    let mut message = Message::assistant(text).by_model("m", Some("p".into()));
    let usage = format!(r#"{{"input":{tokens},"output":1,"cost":{{"total":0.5}}}}"#);
    message.usage = Json::parse(&usage).ok();
    message
}

fn claude(id: &str, text: &str, output: u64) -> Message {
    let mut message = Message::assistant(text);
    message.usage = Json::parse(&format!(r#"{{"input_tokens":10,"output_tokens":{output}}}"#)).ok();
    message.metadata =
        Json::parse(&format!(r#"{{"claudeCode":{{"message":{{"id":"{id}"}}}}}}"#)).ok();
    message
}

fn codex(total: u64, last: u64) -> Body {
    let data = format!(
        r#"{{"type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{{"total_tokens":{total}}},"last_token_usage":{{"input_tokens":{last},"cached_input_tokens":0,"output_tokens":0}}}}}}}}"#
    );
    Body::Custom {
        namespace: "codex.event_msg".into(),
        data: Json::parse(&data).unwrap(),
        aside: false,
    }
}

fn about(id: &str, dialect: &str) -> About {
    About {
        id: id.into(),
        dialect: dialect.into(),
        workspace: Some("/w".into()),
        ..About::default()
    }
}

fn run(by: By, sessions: &[(About, Vec<Entry>)]) -> (Vec<Row>, Sum) {
    let mut stats = Stats::new(by, None, None);
    stats.start_family();
    for (about, entries) in sessions {
        stats.start_session(about.clone());
        entries.iter().for_each(|entry| stats.add(entry));
    }
    stats.finish()
}

fn key(row: &Row) -> &str {
    row.key.as_deref().unwrap_or_default()
}

#[test]
fn a_fork_counts_what_it_added() {
    let first = [entry(1, Message::user("hi")), entry(2, answer("yes", 10))];
    let mut fork = first.to_vec();
    // A fork gives new ids and keeps the times.
    fork.iter_mut().for_each(|entry| entry.id = EntryId::new(format!("f{}", entry.id)));
    fork.extend([entry(3, Message::user("hi")), entry(4, answer("no", 5))]);
    let sessions = [(about("a", "native"), first.to_vec()), (about("b", "native"), fork)];
    let (rows, all) = run(By::Session, &sessions);
    assert_eq!((all.user_messages, all.assistant_messages, all.requests), (2, 2, 2));
    assert_eq!((all.spent.input, all.spent.output, all.spent.cost), (15, 2, Some(1.0)));
    assert_eq!((all.sessions, rows.len()), (2, 2));
    assert_eq!((key(&rows[0]), rows[0].sum.spent.input), ("a", 10));
    assert_eq!((key(&rows[1]), rows[1].sum.spent.input), ("b", 5));
}

#[test]
fn what_is_shared_by_no_family_is_counted_each_time() {
    let entries = [entry(1, Message::user("hi")), entry(2, answer("yes", 10))];
    let mut stats = Stats::new(By::Workspace, None, None);
    for id in ["a", "b"] {
        stats.start_family();
        stats.start_session(about(id, "native"));
        entries.iter().for_each(|entry| stats.add(entry));
    }
    let (rows, all) = stats.finish();
    assert_eq!((all.spent.input, all.sessions), (20, 2));
    assert_eq!((rows.len(), key(&rows[0]), rows[0].sum.sessions), (1, "/w", 2));
}

#[test]
fn an_answer_on_several_lines_is_one_request() {
    let lines = vec![
        entry(1, claude("msg_1", "a", 1)),
        entry(2, claude("msg_1", "b", 7)),
        entry(3, claude("msg_1", "c", 7)),
        entry(4, claude("msg_2", "d", 2)),
    ];
    let (_, all) = run(By::Day, &[(about("a", "claude-code"), lines)]);
    assert_eq!((all.requests, all.assistant_messages), (2, 4));
    assert_eq!((all.spent.input, all.spent.output), (20, 9));
}

#[test]
fn codex_tells_a_total_more_than_once_and_copies_it_into_forks() {
    let model = Body::ModelChange { model: "gpt".into(), provider: None };
    let first = vec![
        entry(1, model.clone()),
        entry(1, Message::user("go on")),
        entry(2, codex(10, 10)),
        entry(3, codex(10, 10)),
        entry(4, Message::user("go on")),
        entry(5, codex(30, 20)),
    ];
    let mut fork = first.clone();
    // The lines of a fork bear the time of the copy.
    fork.iter_mut().for_each(|entry| entry.timestamp = Some(Timestamp::from_millis(1)));
    fork.extend([entry(9, Message::user("go on")), entry(10, codex(35, 5))]);
    let sessions = [(about("a", "codex"), first), (about("b", "codex"), fork)];
    let (rows, all) = run(By::Model, &sessions);
    assert_eq!((all.requests, all.spent.input, all.user_messages), (3, 35, 3));
    assert_eq!((rows.len(), key(&rows[0]), rows[0].sum.requests), (1, "gpt", 3));
}

#[test]
fn tools_are_counted_by_name_with_their_failures() {
    let mut call = Message::assistant("");
    let arguments = Json::empty_object();
    call.content = forkwood::Content::Blocks(vec![
        forkwood::Block::tool_call("c1", "read", arguments.clone()),
        forkwood::Block::tool_call("c2", "bash", arguments),
    ]);
    let mut failed = Message::tool("c2", "no such file");
    failed.is_error = Some(true);
    let entries =
        vec![entry(1, call), entry(2, Message::tool(Text::from("c1"), "ok")), entry(3, failed)];
    let (rows, all) = run(By::Tool, &[(about("a", "native"), entries)]);
    assert_eq!((all.tool_calls, all.tool_errors), (2, 1));
    let told: Vec<_> =
        rows.iter().map(|row| (key(row), row.sum.tool_calls, row.sum.tool_errors)).collect();
    assert_eq!(told, [("bash", 1, 1), ("read", 1, 0)]);
}

#[test]
fn days_are_told_apart_and_bounded() {
    let entries = vec![entry(0, answer("a", 1)), entry(86_400, answer("b", 2))];
    let (rows, _) = run(By::Day, &[(about("a", "native"), entries.clone())]);
    let days: Vec<&str> = rows.iter().map(key).collect();
    assert_eq!(days, ["2026-03-02", "2026-03-01"]);
    let from = entries[1].timestamp;
    for (from, until, input) in [(from, None, 2), (None, from, 1), (from, from, 0)] {
        let mut stats = Stats::new(By::Session, from, until);
        stats.start_session(about("a", "native"));
        entries.iter().for_each(|entry| stats.add(entry));
        assert_eq!(stats.finish().1.spent.input, input);
    }
}

#[test]
fn numbers_that_no_machine_holds_do_no_harm() {
    let mut message = Message::assistant("a");
    message.usage =
        Json::parse(r#"{"input":18446744073709551615,"output":1e300,"cost":1e999}"#).ok();
    let other = answer("b", u64::MAX);
    let entries = vec![entry(1, message), entry(2, other)];
    let (_, all) = run(By::Session, &[(about("a", "native"), entries)]);
    assert_eq!(all.spent.input, u64::MAX);
}
