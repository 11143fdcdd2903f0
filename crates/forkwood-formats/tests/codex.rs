//! Rollouts of Codex, of every kind that its versions wrote.
#![allow(clippy::unwrap_used, clippy::expect_used, unreachable_pub)]

use std::path::{Path, PathBuf};

use forkwood_core::{
    Block, Body, Content, DiagnosticKind, Entry, EntryId, Message, Role, SessionState, Text,
};
use forkwood_storage::jsonl::{JsonlOptions, JsonlStorage};
use forkwood_storage::{PathStop, SessionFacts, SessionStorage};
use pollster::block_on as run;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/codex")
}

struct File {
    storage: JsonlStorage,
    facts: SessionFacts,
}

fn id(number: u64) -> String {
    format!("0199{number:04x}-0000-7000-8000-{number:012x}")
}

fn open(path: &Path) -> File {
    let options = JsonlOptions::default().with_formats(&forkwood_formats::formats());
    let (storage, id) = JsonlStorage::file(path, options).unwrap();
    let facts = run(storage.facts(&id)).unwrap();
    File { storage, facts }
}

fn session(number: u64) -> File {
    let name = format!("rollout-2026-03-{number:02}T09-00-00-{}.jsonl", id(number));
    let folder = match number {
        8 => root().join("archived_sessions"),
        _ => root().join(format!("sessions/2026/03/{number:02}")),
    };
    open(&folder.join(name))
}

impl File {
    fn leaf(&self) -> EntryId {
        self.facts.lanes[0].leaf.clone().unwrap()
    }

    fn state(&self) -> SessionState {
        let read = run(self.storage.path(&self.facts.id, &self.leaf(), PathStop::Root)).unwrap();
        let path: Vec<Entry> = read.entries.into_iter().map(|stored| stored.entry).collect();
        SessionState::from_path(&path, &[], &self.facts.rules)
    }

    fn all(&self) -> Vec<Entry> {
        let page = run(self.storage.read(&self.facts.id, 0, usize::MAX)).unwrap();
        page.entries.into_iter().map(|stored| stored.entry).collect()
    }

    fn says(&self) -> Vec<String> {
        self.state().messages().iter().map(told).collect()
    }
}

/// What a message says, in a line.
fn told(message: &Message) -> String {
    let role = message.role.as_text();
    let parts: Vec<String> = message
        .content
        .to_blocks()
        .iter()
        .map(|block| match block {
            Block::Text { text, .. } => text.to_string(),
            Block::Thinking { thinking, .. } => format!("<{thinking}>"),
            Block::Image(_) => "(image)".into(),
            Block::ToolCall { id, name, arguments, .. } => {
                format!("{name}#{id}{}", arguments.get())
            }
            Block::Other(json) => {
                format!("other {}", json.as_object().unwrap().text("type").unwrap())
            }
        })
        .collect();
    let of = message.tool_call_id.as_ref().map(|id| format!(" {id}")).unwrap_or_default();
    format!("{role}{of}: {}", parts.join("|"))
}

#[test]
fn a_plain_session() {
    let file = session(1);
    let facts = &file.facts;
    assert_eq!((facts.dialect, facts.shown_id.clone()), ("codex", Text::from(id(1))));
    assert_eq!(facts.info.cwd, Some("/work/demo".into()));
    assert_eq!(facts.info.created_at.unwrap().as_millis(), 1_772_355_600_000);
    assert!(facts.read_only.is_some());
    assert!(facts.info.metadata.as_ref().unwrap().get().contains("\"cli_version\":\"0.112.0\""));
    assert_eq!(
        file.says(),
        [
            "developer: <permissions instructions>Ask first.</permissions instructions>",
            "user: <environment_context>\n  <cwd>/work/demo</cwd>\n</environment_context>",
            "user: Why does the parser drop the last line?|(image)|other input_image",
            "assistant: <**Looking**\n\nAt the reader.>",
            r#"assistant: shell_command#call_1{"command":"cat src/parse.rs"}"#,
            "tool call_1: fn parse() {}\n",
            r#"assistant: apply_patch#call_2{"input":"*** Begin Patch\n*** End Patch"}"#,
            r#"tool call_2: {"output":"Success","metadata":{"exit_code":0}}"#,
            r#"assistant: local_shell#call_3{"type":"exec","command":["ls"],"timeout_ms":null}"#,
            "tool call_3: a\nb",
            "assistant: view_image#call_4{}",
            "tool call_4: (image)|a shot",
            "assistant: other web_search_call",
            "assistant: It leaves out a last line without an end.",
        ]
    );
    let state = file.state();
    assert_eq!(state.settings().model, Some("gpt-5.4-codex".into()));
    assert_eq!(state.settings().thinking_level, Some("high".into()));
    let all = file.all();
    let thought = all.iter().find_map(|entry| match &entry.message()?.content {
        Content::Blocks(blocks) => match &blocks[0] {
            Block::Thinking { signature, .. } => signature.clone(),
            _ => None,
        },
        Content::Text(_) => None,
    });
    assert!(thought.unwrap().to_string().contains("\"encrypted_content\":\"ZW5j\""));
    assert!(all.iter().all(|entry| entry.timestamp.is_some()));
    // Each line is kept whole: what was written of calls, snapshots, tokens and settings.
    let kept = |what: &str| {
        all.iter().any(|entry| match &entry.body {
            Body::Custom { data, .. } => data.get().contains(what),
            Body::Message(body) => forkwood_core::message::encode(&body.message).contains(what),
            _ => false,
        })
    };
    for what in [
        "ghost_commit",
        "total_token_usage",
        "approval_policy",
        "world_state",
        "fc_1",
        "\\\"command\\\": \\\"cat",
    ] {
        assert!(kept(what), "{what}");
    }
    assert!(run(file.storage.check(&facts.id)).unwrap().iter().all(|d| !d.is_damage()));
}

#[test]
fn turns_that_were_taken_back_are_branches() {
    let file = session(2);
    let said: Vec<String> = file.says().into_iter().skip(2).collect();
    assert_eq!(said, ["user: One", "assistant: 1", "user: Four", "assistant: 4"]);
    assert_eq!(file.state().settings().thinking_level, Some("high".into()));
    let all = file.all();
    let at = |text: &str| {
        all.iter()
            .find(|entry| entry.message().is_some_and(|message| message.content.text() == text))
    };
    let three = at("3").unwrap().id.clone();
    let path = run(file.storage.path(&file.facts.id, &three, PathStop::Root)).unwrap().entries;
    let said: Vec<String> =
        path.iter().filter_map(|stored| Some(told(stored.entry.message()?))).skip(2).collect();
    assert_eq!(
        said,
        ["user: One", "assistant: 1", "user: Two", "assistant: 2", "user: Three", "assistant: 3"]
    );
}

#[test]
fn compactions() {
    let file = session(3);
    assert_eq!(
        file.says(),
        [
            "user: Test it.",
            "assistant: other compaction",
            "user: Built and tested.",
            "user: Ship it.",
            "assistant: Shipped.",
        ]
    );
    assert_eq!(file.state().settings().model, Some("gpt-5.4".into()));
    // At the answer before the second one, the first one counts.
    let all = file.all();
    let tested = all
        .iter()
        .find(|entry| entry.message().is_some_and(|message| message.content.text() == "Tested."));
    let at = &tested.unwrap().id;
    let path = run(file.storage.path(&file.facts.id, at, PathStop::Context)).unwrap().entries;
    let path: Vec<Entry> = path.into_iter().map(|stored| stored.entry).collect();
    let state = SessionState::from_path(&path, &[], &file.facts.rules);
    let said: Vec<String> = state.messages().iter().map(told).collect();
    assert_eq!(
        said,
        [
            "user: Previous conversation summary:\nThe thing was built.",
            "user: Test it.",
            "assistant: Tested."
        ]
    );
}

#[test]
fn forks_and_sub_agents_say_where_they_come_from() {
    let fork = session(4);
    assert_eq!(fork.facts.shown_id, Text::from(id(4)));
    assert_eq!(fork.facts.forked_from, Some(Text::from(id(1))));
    assert_eq!(fork.says().last().unwrap(), "assistant: That one is kept.");
    assert!(
        run(fork.storage.check(&fork.facts.id))
            .unwrap()
            .iter()
            .all(|d| d.kind != DiagnosticKind::DuplicateHeader)
    );
    let agent = session(5);
    let info = &agent.facts.info;
    assert_eq!(info.parent_session_id, Some(Text::from(id(1))));
    assert_eq!((info.agent_type.clone(), info.spawn_depth), (Some("explorer".into()), Some(1)));
}

#[test]
fn files_of_the_first_versions() {
    let file = session(6);
    assert_eq!(file.facts.shown_id, Text::from(id(6)));
    assert_eq!(
        file.says(),
        [
            "user: Hello.",
            "assistant: <>",
            r#"assistant: shell#call_6{"command":["ls"]}"#,
            "tool call_6: a",
            "assistant: Hi.",
        ]
    );
}

#[test]
fn damage_is_told_and_read_around() {
    let file = session(7);
    let found = run(file.storage.check(&file.facts.id)).unwrap();
    let kinds = |kind| found.iter().filter(|d| d.kind == kind).count();
    assert_eq!(kinds(DiagnosticKind::BadJson), 1);
    assert_eq!(kinds(DiagnosticKind::WrongShape), 2);
    assert_eq!(kinds(DiagnosticKind::TornTail), 1);
    assert_eq!(kinds(DiagnosticKind::UnknownType), 2);
    let says = file.says();
    assert_eq!(says[..2], ["user: First.", "assistant: One."]);
    assert_eq!(says[3], r#"assistant: f#c7"not json""#);
    assert_eq!(file.state().messages()[3].role, Role::Assistant);
    // Without its first line, the name of the file tells the id.
    let text = std::fs::read_to_string(file.facts.path.clone().unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(file.facts.path.clone().unwrap().file_name().unwrap());
    std::fs::write(&path, text.split_once('\n').unwrap().1).unwrap();
    let headless = open(&path);
    assert_eq!(headless.facts.shown_id, Text::from(id(7)));
    assert_eq!(headless.says(), says);
}

#[test]
fn a_name_in_the_file_and_lists() {
    assert_eq!(session(8).facts.info.title, Some("An old one".into()));
    let options = JsonlOptions::default().with_formats(&forkwood_formats::formats());
    let folder = JsonlStorage::folder(&root().join("sessions"), true, options).unwrap();
    let listing = run(folder.list(forkwood_storage::Page::default())).unwrap();
    assert_eq!((listing.rows.len(), listing.problems.len()), (7, 0));
    let row = listing.rows.iter().find(|row| row.shown_id == *id(1)).unwrap();
    assert_eq!(row.first_user.as_deref(), Some("Why does the parser drop the last line?"));
    assert_eq!(row.model, Some("gpt-5.4-codex".into()));
}
