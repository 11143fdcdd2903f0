//! Files of Gemini CLI.

#![allow(clippy::unwrap_used)]

#[path = "import/world.rs"]
#[allow(dead_code)]
mod world;

use forkwood::{Role, Session};
use forkwood_formats::import::Outcome;
use pollster::block_on;
use world::World;

const FILE: &str = "my-project/chats/session-2026-03-01T09-00-0199aaaa.jsonl";
const ID: &str = "0199aaaa-0000-7000-8000-000000000001";

/// Lines as its version 0.61.0 writes them.
fn lines(more: &[&str]) -> String {
    let start = [
        r#"{"sessionId":"0199aaaa-0000-7000-8000-000000000001","projectHash":"my-project","startTime":"2026-03-01T09:00:00.000Z","lastUpdated":"2026-03-01T09:00:00.000Z","kind":"main"}"#,
        r#"{"id":"u1","timestamp":"2026-03-01T09:00:01.000Z","type":"user","content":[{"text":"weather?"},{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}],"displayContent":"weather? @a.png"}"#,
        r#"{"$set":{"lastUpdated":"2026-03-01T09:00:01.000Z"}}"#,
        r#"{"id":"g1","timestamp":"2026-03-01T09:00:02.000Z","type":"gemini","content":"Let me look.","thoughts":[{"subject":"Look","description":"at it","timestamp":"2026-03-01T09:00:02.000Z"}],"tokens":null,"model":"gemini-x"}"#,
    ];
    let all: Vec<&str> = start.iter().copied().chain(more.iter().copied()).collect();
    all.join("\n") + "\n"
}

const TOOLS: &str = r#"{"id":"g1","timestamp":"2026-03-01T09:00:02.000Z","type":"gemini","content":"Let me look.","thoughts":[{"subject":"Look","description":"at it","timestamp":"2026-03-01T09:00:02.000Z"}],"tokens":{"input":100,"output":20,"cached":40,"thoughts":5,"tool":0,"total":125},"model":"gemini-x","toolCalls":[{"id":"web-1","name":"web_fetch","args":{"q":"x"},"result":[{"functionResponse":{"id":"web-1","name":"web_fetch","response":{"output":"sunny"}}}],"status":"success","timestamp":"2026-03-01T09:00:03.000Z","displayName":"Fetch"},{"id":"sh-2","name":"shell","args":{},"result":[{"functionResponse":{"id":"sh-2","name":"shell","response":{"error":"denied"}}}],"status":"cancelled","timestamp":"2026-03-01T09:00:03.000Z"}]}"#;
const ANSWER: &str = r#"{"id":"g2","timestamp":"2026-03-01T09:00:04.000Z","type":"gemini","content":"Sunny.","thoughts":[],"tokens":null,"model":"gemini-x"}"#;
const NOTICE: &str =
    r#"{"id":"i1","timestamp":"2026-03-01T09:00:05.000Z","type":"info","content":"for you alone"}"#;

fn said(session: &Session) -> Vec<(Role, String)> {
    let context = block_on(session.context()).unwrap();
    let say = |m: &forkwood::Message| (m.role.clone(), m.content.text().to_string());
    context.messages().iter().map(say).collect()
}

fn open(world: &World) -> Session {
    block_on(world.store().open(ID)).unwrap()
}

#[test]
fn a_session_with_tools() {
    let world = World::new();
    world.put(FILE, lines(&[TOOLS, ANSWER, NOTICE, r#"{"$set":{"summary":"Weather"}}"#]));
    world.put("my-project/.project_root", "/srv/project\n");
    let report = world.import_one();
    assert_eq!((report.outcome, report.findings.len()), (Outcome::New, 0), "{report:?}");
    let session = open(&world);
    assert_eq!(session.title(), Some(&"Weather".into()));
    assert_eq!(session.facts().info.cwd, Some("/srv/project".into()));
    assert_eq!(
        said(&session),
        [
            (Role::User, "weather?".into()),
            (Role::Assistant, "Let me look.".into()),
            (Role::Tool, "sunny".into()),
            (Role::Tool, "denied".into()),
            (Role::Assistant, "Sunny.".into()),
        ]
    );
    let context = block_on(session.context()).unwrap();
    let answer = &context.messages()[1];
    assert_eq!(answer.content.tool_calls().count(), 2);
    let usage = answer.usage.as_ref().unwrap().get();
    for part in [r#""input":60"#, r#""cacheRead":40"#, r#""output":25"#, r#""reasoning":5"#] {
        assert!(usage.contains(part), "{usage}");
    }
    assert_eq!(context.messages()[3].is_error, Some(true));
}

#[test]
fn a_message_that_was_half_written_is_written_anew() {
    let world = World::new();
    world.put(FILE, lines(&[]));
    world.import_one();
    world.put(FILE, lines(&[TOOLS, ANSWER]));
    let report = world.import_one();
    assert_eq!(report.outcome, Outcome::Branched);
    let told = said(&open(&world));
    assert_eq!(told.len(), 5, "{told:?}");
    assert_eq!(world.import_one().outcome, Outcome::Unchanged);
}

#[test]
fn what_was_taken_back_is_a_branch() {
    let world = World::new();
    let anew =
        r#"{"id":"u2","timestamp":"2026-03-01T09:00:06.000Z","type":"user","content":"and now?"}"#;
    world.put(FILE, lines(&[TOOLS, ANSWER, r#"{"$rewindTo":"g2"}"#, anew]));
    world.import_one();
    let session = open(&world);
    let told = said(&session);
    assert_eq!(told.last().unwrap(), &(Role::User, "and now?".into()));
    assert!(!told.iter().any(|(_, text)| text == "Sunny."), "{told:?}");
    let entries = block_on(session.entries()).unwrap();
    assert!(entries.iter().any(|stored| stored.entry.id.as_str() == "g2"));
    // To what is not there: all of it.
    world.put(FILE, lines(&[TOOLS, r#"{"$rewindTo":"nowhere"}"#, anew]));
    world.import();
    let told = said(&open(&world));
    assert_eq!(told, [(Role::User, "and now?".into())]);
}

#[test]
fn a_compressed_conversation_is_a_compaction() {
    let world = World::new();
    let set = r#"{"$set":{"messages":[{"id":"s1","timestamp":"2026-03-01T09:01:00.000Z","type":"user","content":[{"text":"So far: sunny."}]},{"id":"g2","timestamp":"2026-03-01T09:00:04.000Z","type":"gemini","content":[{"text":"Sunny."}],"model":"gemini-x"}],"lastUpdated":"2026-03-01T09:01:00.000Z"}}"#;
    let anew =
        r#"{"id":"u2","timestamp":"2026-03-01T09:01:06.000Z","type":"user","content":"and now?"}"#;
    world.put(FILE, lines(&[TOOLS, ANSWER, set, anew]));
    world.import_one();
    let session = open(&world);
    let expected = [
        (Role::User, "So far: sunny.".into()),
        (Role::Assistant, "Sunny.".into()),
        (Role::User, "and now?".into()),
    ];
    assert_eq!(said(&session), expected);
    let history = block_on(session.full_history()).unwrap();
    assert!(history.iter().any(|message| message.content.text() == "weather?"));
}

#[test]
fn an_older_file_and_a_sub_agent() {
    let world = World::new();
    let agent = lines(&[ANSWER])
        .replace("000000000001", "000000000002")
        .replace(r#""main""#, r#""subagent""#);
    world.put(&format!("p/chats/{ID}/0199aaaa-0000-7000-8000-000000000002.jsonl"), agent);
    let messages = [
        r#"{"id":"a","timestamp":"2026-03-01T09:00:01.000Z","type":"user","content":"hi"}"#,
        r#"{"no":"id"}"#,
        ANSWER,
    ];
    let old = format!(
        "{{\n  \"sessionId\": \"{ID}\",\n  \"projectHash\": \"abc\", \"startTime\": \"2026-03-01T09:00:00.000Z\",\n \"lastUpdated\": \"x\", \"messages\": [{}]}}",
        messages.join(",\n")
    );
    world.put("p/chats/session-2026-03-01T09-00-0199aaaa.json", old);
    let reports = world.import();
    assert_eq!(reports.len(), 2, "{reports:?}");
    assert!(reports.iter().all(|report| report.outcome == Outcome::New), "{reports:?}");
    let store = world.store();
    let parent = forkwood::SessionId::new(ID).unwrap();
    assert_eq!(block_on(store.subagents(&parent)).unwrap().rows.len(), 1);
    let told = said(&open(&world));
    assert_eq!(told, [(Role::User, "hi".into()), (Role::Assistant, "Sunny.".into())]);
}

#[test]
fn damage_is_told_and_the_rest_is_read() {
    let world = World::new();
    let text =
        lines(&["{torn", r#"{"what":1}"#, r#"{"id":7}"#, r#"{"id":"x","type":[]}"#, "", ANSWER]);
    world.put(FILE, format!("{text}{{\"id\":\"cut"));
    let report = world.import_one();
    assert!(report.is_damaged(), "{report:?}");
    assert_eq!(said(&open(&world)).last().unwrap().1, "Sunny.");
}
