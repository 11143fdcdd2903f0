//! Where conversations are kept, what is fallen back to, and the way back from there.

#![cfg(feature = "agent")]
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use forkwood::conversation::{ConversationStore, Identity};
use forkwood::storage::disk::{Crash, Disk, SimDisk};
use forkwood::{ManualClock, Message, Role, Timestamp};
use forkwood_agent::{
    Agent, AgentError, FnTool, Provider, Retries, Rule, ScriptedProvider, ToolOutput,
};
use forkwood_formats::picoclaw::{FolderOptions, PicoConversations};
use forkwood_routing::handle::Handler;
use forkwood_routing::open::{Kind, OpenOptions, Opened, Place, open, open_with};
use forkwood_routing::{Config, ConversationOptions, Inbound, Router, SessionScope};
use pollster::block_on as run;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

fn provider(rules: impl IntoIterator<Item = Rule>) -> Arc<ScriptedProvider> {
    Arc::new(ScriptedProvider::new(rules))
}

fn once() -> Rule {
    Rule::always().times(1)
}

fn handler(opened: Opened, root: &Path, provider: &Arc<ScriptedProvider>) -> Handler {
    let provider = Arc::clone(provider);
    let agents = move |_: &str| -> Result<_, AgentError> {
        Ok(Agent::builder()
            .provider(Arc::clone(&provider) as Arc<dyn Provider>)
            .model("fake")
            .tool(FnTool::new("look", "looks", |_: Nothing, _| async {
                Ok(ToolOutput::text("seen"))
            }))
            .retries(Retries::NONE))
    };
    Handler::new(Router::new(Config::default()), opened.conversations, root, agents)
}

fn inbound(chat: &str, content: &str) -> Inbound {
    let text = serde_json::json!({
        "channel": "telegram", "chat_id": chat, "chat_type": "direct", "sender_id": chat,
        "content": content,
    });
    Inbound::from_json(&text.to_string()).unwrap()
}

fn lines(messages: &[Message]) -> Vec<String> {
    let line =
        |message: &Message| format!("{}: {}", message.role.as_text(), message.content.text());
    messages.iter().map(line).collect()
}

async fn history(store: &dyn ConversationStore, key: &str) -> Vec<String> {
    let messages = store.get_history(key).await.unwrap();
    lines(&messages.into_iter().map(|one| one.message).collect::<Vec<_>>())
}

#[tokio::test]
async fn a_place_that_can_be_used_is_used_and_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    for (place, kind) in [
        (Place::Store(dir.path().join("store")), Kind::Native),
        (Place::PicoClaw(dir.path().join("pico")), Kind::PicoClaw),
    ] {
        let opened = open(&place).await.unwrap();
        assert_eq!((opened.kind, opened.fallback.is_none()), (kind, true));
        assert_eq!(opened.conversations.native().is_some(), kind == Kind::Native);
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn the_bot_answers_without_its_store_and_later_remembers() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join(".forkwood");
    let place = Place::Store(root.clone());
    let provider = provider((0..4).map(|n| once().says(format!("a{n}"))));
    // A history from before the trouble.
    let first = handler(open(&place).await.unwrap(), &root, &provider);
    let key = first.handle(&inbound("7", "q0")).await.unwrap().session_key;
    let aside = dir.path().join("aside");
    std::fs::rename(&root, &aside).unwrap();
    std::fs::write(&root, "in the way").unwrap();
    let opened = open(&place).await.unwrap();
    assert_eq!(opened.kind, Kind::Json);
    let fallback = opened.fallback.as_ref().unwrap();
    let told = fallback.to_string();
    assert!(
        told.contains(".forkwood cannot be used") && told.contains(".forkwood-fallback"),
        "{told}"
    );
    let folder = fallback.folder.clone();
    let desk = handler(opened, &folder, &provider);
    let handled = desk.handle(&inbound("7", "q1")).await.unwrap();
    assert_eq!(
        (handled.reply.as_str(), handled.session_id.clone(), handled.entry_ids.len()),
        ("a1", None, 0)
    );
    assert_eq!(handled.session_key, key);
    // As the answer of a server.
    let json = serde_json::to_value(&handled).unwrap();
    assert_eq!(
        (&json["sessionKey"], &json["session"]),
        (&key.as_str().into(), &serde_json::Value::Null)
    );
    assert_eq!(
        (&json["reply"], &json["stop"], &json["agentId"]),
        (&"a1".into(), &"done".into(), &"main".into())
    );
    desk.handle(&inbound("7", "q2")).await.unwrap();
    assert_eq!(
        lines(&provider.requests()[2].input.view.messages),
        ["user: q1", "assistant: a1", "user: q2"]
    );
    // In use again: what was said meanwhile comes after what was said before.
    std::fs::remove_file(&root).unwrap();
    std::fs::rename(&aside, &root).unwrap();
    let opened = open(&place).await.unwrap();
    assert_eq!((opened.kind, opened.taken.clone()), (Kind::Native, vec![(key.clone(), 4)]));
    assert!(opened.left.is_empty());
    let desk = handler(opened, &root, &provider);
    desk.handle(&inbound("7", "q3")).await.unwrap();
    let all: Vec<String> =
        (0..4).flat_map(|n| [format!("user: q{n}"), format!("assistant: a{n}")]).collect();
    assert_eq!(history(&**desk.conversations(), &key).await, all);
    // Once: the file is kept, and not looked at again.
    assert!(open(&place).await.unwrap().taken.is_empty());
    let kept = std::fs::read_dir(&folder).unwrap().map(|one| one.unwrap().file_name());
    let kept: Vec<String> = kept.map(|name| name.to_string_lossy().into_owned()).collect();
    assert!(kept.contains(&format!("{key}.json.migrated")), "{kept:?}");
}

#[tokio::test]
async fn where_nothing_can_be_used_both_reasons_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    std::fs::write(&root, "").unwrap();
    std::fs::write(dir.path().join("store-fallback"), "").unwrap();
    let error = open(&Place::Store(root)).await.unwrap_err().to_string();
    assert!(error.contains("cannot be used") && error.contains("nor can"), "{error}");
    let file = dir.path().join("sessions");
    std::fs::write(&file, "").unwrap();
    open(&Place::PicoClaw(file)).await.unwrap_err();
}

const ROOT: &str = "/bot/store";

fn options(disk: &SimDisk) -> OpenOptions {
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_800_000_000_000)));
    OpenOptions {
        native: ConversationOptions::default()
            .with_disk(Arc::clone(&shared))
            .with_clock(Arc::clone(&clock) as _),
        folder: FolderOptions { disk: shared, clock, ..FolderOptions::default() },
    }
}

fn scope(chat: &str) -> (String, Identity) {
    let scope = SessionScope {
        version: 1,
        agent_id: "main".to_owned(),
        channel: "telegram".to_owned(),
        account: "default".to_owned(),
        dimensions: vec!["chat".to_owned()],
        values: [("chat".to_owned(), format!("direct:{chat}"))].into(),
    };
    let aliases = vec![format!("agent:main:direct:{chat}")];
    (scope.key(), Identity { scope: Some(scope), aliases })
}

#[test]
fn the_way_back_can_stop_anywhere() {
    let disk = SimDisk::new();
    let place = Place::Store(PathBuf::from(ROOT));
    disk.put(Path::new(ROOT), b"in the way");
    let opened = run(open_with(&place, options(&disk))).unwrap();
    assert_eq!(opened.kind, Kind::Json);
    let (key, identity) = scope("7");
    run(opened.conversations.ensure_metadata(&key, &identity)).unwrap();
    for text in ["a", "b", "a"] {
        run(opened.conversations.add_message(&key, Role::User, text)).unwrap();
    }
    run(opened.conversations.set_summary(&key, "s")).unwrap();
    run(opened.conversations.add_message("other", Role::User, "o")).unwrap();
    disk.remove(Path::new(ROOT)).unwrap();
    disk.sync_folder(Path::new("/bot")).unwrap();
    let mut stops = 0;
    for stop in 0.. {
        let mut finished = false;
        for unsynced_bytes in [0, usize::MAX] {
            let disk = disk.copy();
            disk.stop_at_change(Some(stop));
            let first = run(open_with(&place, options(&disk)));
            finished =
                first.is_ok_and(|opened| opened.kind == Kind::Native && opened.left.is_empty());
            disk.crash(Crash { unsynced_bytes, unsynced_names: unsynced_bytes > 0, zeroed: false });
            let opened = run(open_with(&place, options(&disk))).unwrap();
            assert!(opened.left.is_empty() && opened.kind == Kind::Native, "{stop}");
            let store = &*opened.conversations;
            for name in [key.as_str(), "agent:main:direct:7"] {
                assert_eq!(run(history(store, name)), ["user: a", "user: b", "user: a"], "{stop}");
            }
            assert_eq!(run(store.get_summary(&key)).unwrap(), "s");
            assert_eq!(run(history(store, "other")), ["user: o"]);
            assert_eq!(run(store.scope(&key)).unwrap(), identity.scope);
        }
        stops = stop;
        if finished {
            break;
        }
    }
    assert!(stops > 5, "there was nothing to stop");
}

#[test]
fn a_migration_that_fails_falls_back_and_later_comes_through() {
    let place = Place::PicoClaw(PathBuf::from("/pico"));
    let older = |key: &str| {
        format!(
            r#"{{"key":"{key}","messages":[{{"role":"user","content":"one"}}],"summary":"s","created":"2026-01-01T00:00:00Z","updated":"2026-01-01T00:00:00Z"}}"#
        )
    };
    let mut fell = 0;
    // A disk on which renames stop at some step, and go on working later.
    for stop in 0.. {
        let disk = SimDisk::new();
        for name in ["a", "b"] {
            disk.put(&PathBuf::from(format!("/pico/{name}.json")), older(name).as_bytes());
        }
        // The folder itself is there before.
        disk.set_room(Some(stop * 40));
        let opened = run(open_with(&place, options(&disk))).unwrap();
        disk.set_room(None);
        if opened.kind == Kind::PicoClaw {
            assert_eq!(opened.migration.migrated.len(), 2);
            break;
        }
        fell += 1;
        assert!(opened.fallback.unwrap().to_string().contains("/pico"));
        let store = opened.conversations;
        assert_eq!(run(history(&*store, "a")), ["user: one"]);
        run(store.add_message("a", Role::User, "two")).unwrap();
        run(store.truncate_history("b", 0)).unwrap();
        let opened = run(open_with(&place, options(&disk))).unwrap();
        assert_eq!((opened.kind, opened.migration.migrated.len()), (Kind::PicoClaw, 2), "{stop}");
        let store = opened.conversations;
        assert_eq!(run(history(&*store, "a")), ["user: one", "user: two"]);
        assert!(run(history(&*store, "b")).is_empty());
        assert_eq!(run(store.get_summary("b")).unwrap(), "s");
    }
    assert!(fell > 3, "it never fell back: {fell}");
}

#[tokio::test]
async fn a_turn_in_a_folder_of_picoclaws() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_path_buf();
    let place = Place::PicoClaw(folder.clone());
    let look = serde_json::json!({});
    let provider =
        provider([once().calls("c1", "look", &look), once().says("a dot"), once().says("again")]);
    let desk = handler(open(&place).await.unwrap(), &folder, &provider);
    let handled = desk.handle(&inbound("7", "what is it?")).await.unwrap();
    let theirs = PicoConversations::open(&folder);
    let said = ["user: what is it?", "assistant: ", "tool: seen", "assistant: a dot"];
    assert_eq!(history(&theirs, &handled.session_key).await, said);
    let calls =
        std::fs::read_to_string(folder.join(format!("{}.jsonl", handled.session_key))).unwrap();
    assert!(
        calls.contains(r#""tool_calls":[{"id":"c1","type":"function","function":{"name":"look""#),
        "{calls}"
    );
    let scope = theirs.scope(&handled.session_key).await.unwrap().unwrap();
    assert_eq!(scope.channel, "telegram");
    // What PicoClaw summed up is told to the model, and what it hid is not.
    theirs.set_summary(&handled.session_key, "They looked.").await.unwrap();
    theirs.truncate_history(&handled.session_key, 1).await.unwrap();
    desk.handle(&inbound("7", "and now?")).await.unwrap();
    let seen = lines(&provider.requests()[2].input.view.messages);
    assert!(seen[0].contains("They looked."), "{seen:?}");
    assert_eq!(seen[1..], ["assistant: a dot", "user: and now?"]);
    assert_eq!(theirs.get_summary(&handled.session_key).await.unwrap(), "They looked.");
    let said = ["assistant: a dot", "user: and now?", "assistant: again"];
    assert_eq!(history(&theirs, &handled.session_key).await, said);
}

#[tokio::test]
async fn what_was_said_is_kept_before_the_model_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_path_buf();
    let provider = provider([
        once().fails(forkwood_agent::ProviderErrorKind::Server, "down"),
        once().says("ok"),
    ]);
    let desk = handler(open(&Place::PicoClaw(folder.clone())).await.unwrap(), &folder, &provider);
    let error = desk.handle(&inbound("7", "hi")).await.unwrap_err();
    assert!(matches!(error, forkwood_routing::Error::Agent(_)), "{error}");
    let theirs = PicoConversations::open(&folder);
    let key = theirs.list_sessions().await.unwrap().remove(0);
    assert_eq!(history(&theirs, &key).await, ["user: hi"]);
    // And what cannot be kept is not answered.
    let long = "x".repeat(10_485_760);
    let error = desk.handle(&inbound("7", &long)).await.unwrap_err();
    assert_eq!(provider.requests().len(), 1);
    assert!(error.to_string().contains("too large") || error.kind() == "storage", "{error}");
    assert_eq!(history(&theirs, &key).await, ["user: hi"]);
}
