//! Files of Claude Code, held against what its own package for Python (claude-agent-sdk 0.2.189)
//! says of them: `fixtures/claude-code/expected.json`.
#![allow(clippy::unwrap_used, clippy::expect_used, unreachable_pub)]

use std::path::{Path, PathBuf};

use forkwood_core::json::Object;
use forkwood_core::{
    Block, Body, Content, DiagnosticKind, Entry, EntryId, Json, Role, SessionState, Text,
};
use forkwood_storage::jsonl::{JsonlOptions, JsonlStorage};
use forkwood_storage::{PathStop, SessionFacts, SessionStorage};
use pollster::block_on as run;

const PROJECT: &str = "projects/-work-demo";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/claude-code")
}

struct File {
    storage: JsonlStorage,
    facts: SessionFacts,
}

fn open(path: &Path, bridge: bool) -> File {
    let options =
        JsonlOptions::default().with_formats(&forkwood_formats::formats()).with_bridges(bridge);
    let (storage, id) = JsonlStorage::file(path, options).unwrap();
    let facts = run(storage.facts(&id)).unwrap();
    File { storage, facts }
}

fn session(number: u64) -> File {
    open(&root().join(format!("{PROJECT}/{number:08x}-0000-4000-8000-{number:012x}.jsonl")), true)
}

impl File {
    fn leaf(&self) -> EntryId {
        self.facts.lanes[0].leaf.clone().unwrap()
    }

    fn path(&self, at: &EntryId) -> Vec<Entry> {
        let read = run(self.storage.path(&self.facts.id, at, PathStop::Root)).unwrap();
        read.entries.into_iter().map(|stored| stored.entry).collect()
    }

    fn state(&self) -> SessionState {
        SessionState::from_path(&self.path(&self.leaf()), &[], &self.facts.rules)
    }

    fn all(&self) -> Vec<Entry> {
        let page = run(self.storage.read(&self.facts.id, 0, usize::MAX)).unwrap();
        page.entries.into_iter().map(|stored| stored.entry).collect()
    }

    fn entry(&self, id: &str) -> Entry {
        self.all().into_iter().find(|entry| entry.id.as_str() == id).unwrap()
    }

    /// What is said, a line a message.
    fn says(&self) -> Vec<String> {
        self.state()
            .messages()
            .iter()
            .map(|message| {
                let role = message.role.as_text();
                let calls: Vec<String> = message
                    .content
                    .tool_calls()
                    .map(|(id, name, arguments)| format!("{name}#{id}{}", arguments.get()))
                    .collect();
                let of = message.tool_call_id.as_ref().map(|id| format!(" {id}"));
                let of = of.unwrap_or_default();
                format!("{role}{of}: {}{}", message.content.text(), calls.join(" "))
            })
            .collect()
    }
}

fn id(number: u64, line: u64) -> String {
    format!("{number:08x}-{line:04x}-4000-8000-{number:012x}")
        .replace("8000-00000000", "8000-00000000")
}

fn expected() -> Vec<(String, Json)> {
    let text = std::fs::read_to_string(root().join("expected.json")).unwrap();
    let all = Object::parse(&text).unwrap();
    all.iter().map(|(id, value)| (id.to_string(), Json::parse(value.get()).unwrap())).collect()
}

fn texts(json: &str) -> Vec<String> {
    let items = forkwood_core::json::elements(json).unwrap();
    items
        .into_iter()
        .map(|item| forkwood_core::json::text_of(item.get()).unwrap().to_string())
        .collect()
}

/// Whether a line is one of those that the package calls messages.
fn is_plain(entry: &Entry) -> bool {
    let Body::Message(body) = &entry.body else { return false };
    let own = body.message.metadata.as_ref().and_then(Json::as_object);
    let own = own.and_then(|object| Object::parse(object.get("claudeCode")?).ok());
    body.foreign.is_none() && own.is_none_or(|own| own.get("isMeta") != Some("true"))
}

#[test]
fn sessions_are_what_the_owner_says() {
    let mut sessions = 0;
    for (name, facts) in expected() {
        let facts = facts.as_object().unwrap();
        let file = open(&root().join(format!("{PROJECT}/{name}.jsonl")), false);
        assert_eq!(file.facts.shown_id, Text::from(name.as_str()));
        assert_eq!(file.facts.dialect, "claude-code");
        assert!(file.facts.read_only.is_some());
        assert_eq!(file.facts.info.cwd, facts.text("cwd"), "{name}");
        let created = file.facts.info.created_at.unwrap();
        // The package takes the first time in the file, even that of a snapshot.
        let said: i64 = facts.get("createdAt").unwrap().parse().unwrap();
        assert!((0..2_000).contains(&(created.as_millis() - said)), "{name}");
        if let Some(title) = facts.text("customTitle") {
            assert_eq!(file.facts.info.title, Some(title), "{name}");
        }
        let path = file.path(&file.leaf());
        let start = path.iter().rposition(|entry| matches!(entry.body, Body::Compaction(_)));
        let mut ids: Vec<String> = Vec::new();
        for entry in path[start.unwrap_or(0)..].iter().filter(|entry| is_plain(entry)) {
            let line = entry.id.as_str().split('.').next().unwrap().to_owned();
            if ids.last() != Some(&line) {
                ids.push(line);
            }
        }
        let mut said = texts(facts.get("messages").unwrap());
        if name.starts_with("00000005") {
            // The program itself goes on with what it preserved; its package does not.
            said.splice(1..1, (7..=10).map(|line| id(5, line)));
        }
        assert_eq!(ids, said, "{name}");
        for (agent, messages) in Object::parse(facts.get("subagents").unwrap()).unwrap().iter() {
            let path = root().join(format!("{PROJECT}/{name}/subagents/agent-{agent}.jsonl"));
            let file = open(&path, false);
            assert_eq!(file.facts.shown_id, Text::from(format!("agent-{agent}")));
            assert_eq!(file.facts.info.parent_session_id, Some(Text::from(name.as_str())));
            assert_eq!(file.facts.info.spawn_depth, Some(1));
            let lane =
                file.facts.lanes.iter().find(|l| l.lane.as_str() == format!("agent-{agent}"));
            let path = file.path(&lane.or(file.facts.lanes.first()).unwrap().leaf.clone().unwrap());
            let ids: Vec<String> = path.iter().map(|entry| entry.id.to_string()).collect();
            assert_eq!(ids, texts(messages.get()));
        }
        sessions += 1;
    }
    assert_eq!(sessions, 12);
}

#[test]
fn a_plain_session() {
    let file = session(1);
    assert_eq!(
        file.says(),
        [
            "user: Why does the parser drop the last line?",
            "user: <system-reminder>\nUserPromptSubmit hook additional context: The build is green.\n</system-reminder>",
            "assistant: ",
            "assistant: I will look at the reader.",
            r#"assistant: Read#toolu_1{"file_path":"/work/demo/src/parse.rs"}"#,
            "tool toolu_1: 1\tfn parse(text: &str) {}\n",
            "user: Also look at the tests.",
            "assistant: It splits at line ends and leaves out a last line without one.",
        ]
    );
    let state = file.state();
    assert_eq!(state.settings().model, Some("claude-opus-4-6".into()));
    assert_eq!(state.settings().provider, Some("anthropic".into()));
    let answer = file.entry(&id(1, 7));
    let message = answer.message().unwrap();
    assert_eq!(message.role, Role::Tool);
    let answer = file.entry(&id(1, 9));
    let message = answer.message().unwrap();
    assert_eq!(message.stop_reason, Some("end_turn".into()));
    assert!(message.usage.as_ref().unwrap().get().contains("\"output_tokens\":40"));
    let kept = message.metadata.as_ref().unwrap().get();
    for part in ["\"requestId\":\"req_msg_1b\"", "\"id\":\"msg_1b\"", "\"gitBranch\":\"main\""] {
        assert!(kept.contains(part), "{kept}");
    }
    let thought = file.entry(&id(1, 4));
    assert!(matches!(
        &thought.message().unwrap().content,
        Content::Blocks(blocks) if matches!(&blocks[..], [Block::Thinking { signature: Some(s), .. }] if *s == "c2ln")
    ));
    // The person's title stands, though the model's came later.
    let metadata = file.facts.info.metadata.clone().unwrap();
    for part in ["\"aiTitle\":\"Parser drops the last line\"", "\"tag\":\"parser\"", "pull/7"] {
        assert!(metadata.get().contains(part), "{metadata:?}");
    }
    assert!(run(file.storage.check(&file.facts.id)).unwrap().iter().all(|d| !d.is_damage()));
}

#[test]
fn branches_and_where_it_stands() {
    let file = session(2);
    assert_eq!(file.leaf().as_str(), id(2, 6));
    let german = file.path(&EntryId::new(id(2, 4)));
    let ids: Vec<&str> = german.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids, [id(2, 1), id(2, 2), id(2, 3), id(2, 4)]);
    let copy = session(7);
    assert_eq!(copy.facts.forked_from, Some("00000002-0000-4000-8000-000000000002".into()));
    let fork = session(8);
    assert_eq!(fork.facts.forked_from, Some("00000002-0000-4000-8000-000000000002".into()));
    assert_eq!(fork.all().iter().filter(|entry| entry.message().is_some()).count(), 6);
}

#[test]
fn results_of_parallel_calls_follow_the_calls() {
    let file = session(3);
    let says = file.says();
    assert_eq!(
        says[1..8],
        [
            "assistant: At once.",
            r#"assistant: Read#toolu_3a{"file_path":"a"}"#,
            r#"assistant: Read#toolu_3b{"file_path":"b"}"#,
            r#"assistant: Read#toolu_3c{"file_path":"c"}"#,
            "tool toolu_3c: C",
            "tool toolu_3b: B",
            "tool toolu_3a: A",
        ]
    );
    assert_eq!(says.len(), 11);
    assert_eq!(file.entry(&id(3, 9)).message().unwrap().is_error, Some(true));
}

#[test]
fn a_line_of_several_results_is_several_messages() {
    let file = session(4);
    let path = file.path(&file.leaf());
    let ids: Vec<&str> = path.iter().map(|entry| entry.id.as_str()).collect();
    let line = id(4, 3);
    assert_eq!(ids[2..5], [format!("{line}.0"), format!("{line}.1"), line.clone()]);
    assert_eq!(
        file.says()[2..],
        [
            "tool toolu_4a: ok",
            "tool toolu_4b: exit 1",
            "user: Do not run it again.\nPlease.",
            "assistant: I will not.",
        ]
    );
    let failed = path[3].message().unwrap();
    assert_eq!(failed.is_error, Some(true));
    assert!(failed.metadata.as_ref().unwrap().get().contains("ephemeral"));
    assert!(path.iter().all(|entry| entry.timestamp.is_some()));
    assert!(matches!(
        &path[0].message().unwrap().content,
        Content::Blocks(blocks) if matches!(&blocks[..], [Block::Text { .. }, Block::Image(_)])
    ));
}

#[test]
fn compactions_keep_what_the_owner_keeps() {
    let file = session(5);
    assert_eq!(
        file.says(),
        [
            "user: This session is being continued from a previous conversation. The thing was built, and then tested.",
            "user: Test it.",
            r#"assistant: Bash#toolu_5a{"command":"make test"}"#,
            "tool toolu_5a: all passed",
            "assistant: All tests pass.",
            "user: Ship it.",
            "assistant: Shipped.",
        ]
    );
    // All that was ever said is on one path.
    let path = file.path(&file.leaf());
    assert_eq!(path[0].id.as_str(), id(5, 1));
    let tokens: Vec<_> = path
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Compaction(compaction) => {
                Some((compaction.tokens_before, compaction.tokens_after))
            }
            _ => None,
        })
        .collect();
    assert_eq!(tokens, [(Some(150_000), None), (Some(160_000), Some(9_000))]);
    let context = run(file.storage.path(&file.facts.id, &file.leaf(), PathStop::Context)).unwrap();
    assert!(context.entries.len() < path.len());
}

#[test]
fn sidechains_are_lanes() {
    let file = session(6);
    assert_eq!(file.facts.info.title, Some("The bug in main.rs".into()));
    let lane = file.facts.lanes.iter().find(|lane| lane.lane.as_str() == "sidechain").unwrap();
    let path = file.path(lane.leaf.as_ref().unwrap());
    assert_eq!(path.len(), 4);
    assert_eq!(file.says().len(), 4);
    let old = open(&root().join(format!("{PROJECT}/agent-0ld1.jsonl")), true);
    assert_eq!(old.facts.info.parent_session_id, Some(session(9).facts.shown_id));
}

#[test]
fn damage_is_told_and_read_around() {
    let file = session(10);
    assert_eq!(file.says().len(), 6);
    let found = run(file.storage.check(&file.facts.id)).unwrap();
    let kinds = |kind| found.iter().filter(|d| d.kind == kind).count();
    assert_eq!(kinds(DiagnosticKind::BadJson), 1);
    assert_eq!(kinds(DiagnosticKind::WrongShape), 2);
    assert_eq!(kinds(DiagnosticKind::TornTail), 1);
    assert_eq!(kinds(DiagnosticKind::MissingParent), 1);
    assert_eq!(kinds(DiagnosticKind::UnknownType), 3, "{found:?}");
    let entry = file.entry("bbbbbbbb-0000-4000-8000-00000000000b");
    let Body::Custom { namespace, data, aside } = &entry.body else { panic!("{entry:?}") };
    assert_eq!((namespace.as_str(), *aside), (Some("claude-code.hologram"), false));
    assert!(data.get().contains("\"depth\":3"));
}

#[test]
fn what_the_program_itself_says() {
    let file = session(11);
    let says = file.says();
    assert_eq!(
        says[1..6],
        [
            "user: <command-name>/model</command-name>\n<command-args>opus</command-args>",
            "user: <local-command-stdout>Set model to opus</local-command-stdout>",
            "user: Say hello.",
            // The error that the program made up is told to no model.
            "user: Again.",
            "assistant: ",
        ]
    );
    let row = run(file.storage.facts(&file.facts.id)).unwrap();
    assert_eq!(file.state().settings().model, Some("claude-opus-4-6".into()));
    assert_eq!(row.info.title, None);
    let entry = file.entry(&id(11, 10));
    let Content::Blocks(blocks) = &entry.message().unwrap().content else { panic!() };
    assert!(matches!(&blocks[..], [Block::Other(_), Block::Other(_), Block::Text { .. }]));
    let hidden = file.entry(&id(11, 7));
    let Content::Blocks(blocks) = &hidden.message().unwrap().content else { panic!() };
    assert!(
        matches!(&blocks[..], [Block::Thinking { signature: Some(data), .. }] if *data == "ZW5j")
    );
}

#[test]
fn texts_that_are_hard_to_keep() {
    let file = session(12);
    let entry = file.entry(&id(12, 1));
    let message = entry.message().unwrap();
    assert_eq!(message.content.text().as_str(), None, "a lone surrogate is no UTF-8");
    let kept = message.metadata.as_ref().unwrap().get();
    assert!(kept.contains("123456789012345678901234567890"), "{kept}");
}

/// The ids of entries are the same at every reading, and lists tell sessions apart.
#[test]
fn a_project_is_listed() {
    let options = JsonlOptions::default().with_formats(&forkwood_formats::formats());
    let folder = JsonlStorage::folder(&root().join("projects"), true, options).unwrap();
    let listing = run(folder.list(forkwood_storage::Page::default())).unwrap();
    assert_eq!(listing.problems, []);
    let row = |start: &str| {
        listing.rows.iter().find(|row| row.shown_id.to_string_lossy().starts_with(start)).unwrap()
    };
    assert_eq!(row("00000001").title, Some("Parser: the last line".into()));
    assert_eq!(row("00000001").user_messages, 1);
    assert_eq!(row("00000001").model, Some("claude-opus-4-6".into()));
    assert_eq!(row("00000002").first_user.as_deref(), Some("Name the colours of a rainbow."));
    assert_eq!(row("0000000b").first_user.as_deref(), Some("Say hello."));
    let first: Vec<EntryId> = session(4).all().into_iter().map(|entry| entry.id).collect();
    let again: Vec<EntryId> = session(4).all().into_iter().map(|entry| entry.id).collect();
    assert_eq!(first, again);
}
