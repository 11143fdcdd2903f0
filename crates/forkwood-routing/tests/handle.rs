//! The whole way of a message, from the channel to the answer.

#![cfg(feature = "agent")]
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use forkwood::{Message, Role};
use forkwood_agent::{
    Agent, AgentError, FnTool, Provider, ProviderErrorKind, Retries, Rule, ScriptedProvider,
    ToolOutput,
};
use forkwood_context::Api;
use forkwood_routing::config::{Config, Language};
use forkwood_routing::handle::{Handled, Handler};
use forkwood_routing::{Error, Inbound, PersistentConversations, Router};
use tempfile::TempDir;

const CONFIG: &str = r#"
[[agents.list]]
id = "main"
[[agents.list]]
id = "support"
[[agents.dispatch.rules]]
name = "help"
agent = "support"
when = { channel = "slack", account = "*" }
"#;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

fn once() -> Rule {
    Rule::always().times(1)
}

/// A store, and who answers in it.
struct Desk {
    root: TempDir,
    provider: Arc<ScriptedProvider>,
}

impl Desk {
    fn new(rules: impl IntoIterator<Item = Rule>) -> Desk {
        let provider = Arc::new(ScriptedProvider::new(rules));
        Desk { root: tempfile::tempdir().unwrap(), provider }
    }

    fn handler(&self) -> Handler {
        self.handler_with(CONFIG)
    }

    fn handler_with(&self, config: &str) -> Handler {
        handler(self.root.path(), &self.provider, config)
    }

    fn seen(&self, number: usize) -> Vec<String> {
        lines(&self.provider.requests()[number].input.view.messages)
    }
}

fn handler(root: &Path, provider: &Arc<ScriptedProvider>, config: &str) -> Handler {
    let router = Router::new(Config::parse(config, Language::Toml).unwrap().config);
    let conversations = Arc::new(PersistentConversations::open(root).unwrap());
    let provider = Arc::clone(provider);
    let agents = move |agent: &str| -> Result<_, AgentError> {
        Ok(Agent::builder()
            .provider(Arc::clone(&provider) as Arc<dyn Provider>)
            .model("fake")
            .prompt(format!("You are {agent}."))
            .tool(FnTool::new("look", "looks", |_: Nothing, _| async {
                Ok(ToolOutput::text("seen"))
            }))
            .retries(Retries::NONE))
    };
    Handler::new(router, conversations, root, agents)
}

fn lines(messages: &[Message]) -> Vec<String> {
    let line =
        |message: &Message| format!("{}: {}", message.role.as_text(), message.content.text());
    messages.iter().map(line).collect()
}

fn inbound(channel: &str, chat: &str, content: &str) -> Inbound {
    let text = serde_json::json!({
        "channel": channel, "chat_id": chat, "chat_type": "direct", "sender_id": chat,
        "message_id": "m1", "content": content,
    });
    Inbound::from_json(&text.to_string()).unwrap()
}

async fn history(handler: &Handler, key: &str) -> Vec<String> {
    let messages = handler.conversations().get_history(key).await.unwrap();
    lines(&messages.into_iter().map(|one| one.message).collect::<Vec<_>>())
}

#[tokio::test]
async fn a_message_is_routed_answered_and_kept() {
    let desk = Desk::new([once().says("hello"), once().says("again")]);
    let handler = desk.handler();
    let first = handler.handle(&inbound("telegram", "7", "hi")).await.unwrap();
    assert_eq!((first.reply.as_str(), first.stop), ("hello", "done"));
    assert_eq!((first.agent_id.as_str(), first.matched_by.as_str()), ("main", "default"));
    assert!(first.session_key.starts_with("sk_v1_"));
    let second = handler.handle(&inbound("telegram", "7", "still there?")).await.unwrap();
    assert_eq!(second.session_key, first.session_key);
    let said = ["user: hi", "assistant: hello", "user: still there?", "assistant: again"];
    assert_eq!(history(&handler, &first.session_key).await, said);
    assert_eq!(desk.seen(1), said[..3]);
    // Under an older name of the same chat too.
    assert_eq!(history(&handler, "agent:main:telegram:direct:7").await, said);
    // The ids are those of the entries, in order.
    let session =
        handler.conversations().native().unwrap().session(&first.session_key).await.unwrap();
    let leaf = session.leaf().unwrap().clone();
    let path: Vec<String> =
        session.path_ids(&leaf).await.unwrap().iter().map(ToString::to_string).collect();
    let ids: Vec<String> = [first.entry_ids, second.entry_ids].concat();
    assert!(path.ends_with(&ids), "{path:?} {ids:?}");
    assert!(ids.len() >= 4);
    let meta = handler.conversations().metadata(&first.session_key).await.unwrap().unwrap();
    assert_eq!(meta.scope.unwrap().channel, "telegram");
    assert_eq!(meta.agent.as_deref(), Some("main"));
}

#[tokio::test]
async fn another_chat_agent_or_a_system_message_has_another_conversation() {
    let desk = Desk::new((0..4).map(|n| once().says(format!("a{n}"))));
    let handler = desk.handler_with(&CONFIG.replace(", account = \"*\"", ""));
    let one = handler.handle(&inbound("telegram", "1", "from one")).await.unwrap();
    let two = handler.handle(&inbound("telegram", "2", "from two")).await.unwrap();
    let slack = handler.handle(&inbound("slack", "1", "on slack")).await.unwrap();
    let system = handler.handle(&inbound("system", "1", "done in the background")).await.unwrap();
    assert_eq!(slack.agent_id, "support");
    assert_eq!(slack.matched_by, "dispatch.rule:help");
    assert!(desk.provider.requests()[2].input.system.to_string().contains("You are support."));
    let mut keys: Vec<&str> =
        [&one, &two, &slack, &system].iter().map(|it| it.session_key.as_str()).collect();
    for number in 0..4 {
        assert_eq!(desk.seen(number).len(), 1, "{number}");
    }
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 4);
    // The main session is found by its alias, and no chat answers to that name.
    let main = handler.conversations().resolve_key("agent:main:main").await.unwrap();
    assert_eq!(main, system.session_key);
}

#[tokio::test]
async fn a_history_from_before_is_gone_on_with() {
    let desk = Desk::new([once().says("I remember")]);
    let handler = desk.handler();
    let old = "agent:main:telegram:direct:7";
    let conversations = handler.conversations();
    conversations.add_message(old, Role::User, "my name is Ann").await.unwrap();
    conversations.add_message(old, Role::Assistant, "hello Ann").await.unwrap();
    let handled = handler.handle(&inbound("telegram", "7", "who am I?")).await.unwrap();
    assert_eq!(handled.promoted_from.as_deref(), Some(old));
    assert_eq!(desk.seen(0), ["user: my name is Ann", "assistant: hello Ann", "user: who am I?"]);
}

#[tokio::test]
async fn the_model_is_told_the_summary_of_what_was_cut_off() {
    let desk = Desk::new([once().says("one"), once().says("two"), once().says("three")]);
    let handler = desk.handler();
    let key = handler.handle(&inbound("telegram", "7", "hi")).await.unwrap().session_key;
    let conversations = handler.conversations();
    conversations.set_summary(&key, "They met.").await.unwrap();
    conversations.truncate_history(&key, 1).await.unwrap();
    handler.handle(&inbound("telegram", "7", "and?")).await.unwrap();
    assert_eq!(desk.seen(1), ["assistant: one", "user: and?"]);
    let system = |number: usize| desk.provider.requests()[number].input.system.to_string();
    assert!(system(1).starts_with("You are main.") && system(1).contains("They met."));
    assert!(!system(0).contains("summed up"));
    // It is no message, and the instructions are not stored.
    assert_eq!(history(&handler, &key).await, ["assistant: one", "user: and?", "assistant: two"]);
    conversations.set_summary(&key, "").await.unwrap();
    handler.handle(&inbound("telegram", "7", "so?")).await.unwrap();
    assert!(!system(2).contains("summed up"));
}

#[tokio::test]
async fn tools_pictures_and_where_it_came_from_are_kept() {
    let look = serde_json::json!({});
    let desk = Desk::new([once().calls("c1", "look", &look), once().says("a dot")]);
    let handler = desk.handler();
    let mut message = inbound("telegram", "7", "what is this?");
    message.media = vec!["data:image/png;base64,iVBORw0KGgo=".into(), "media://voice-1".into()];
    message.sender.display_name = "Ann".into();
    let handled = handler.handle(&message).await.unwrap();
    let history = handler.conversations().get_history(&handled.session_key).await.unwrap();
    let roles: Vec<String> =
        history.iter().map(|one| one.message.role.as_text().to_string()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    let user = format!("{:?}", history[0].message);
    for part in ["what is this?", "[attachment: media://voice-1]", "image/png", "senderName", "Ann"]
    {
        assert!(user.contains(part), "{part}: {user}");
    }
    // No provider is told who sent it.
    for api in Api::ALL {
        let request = desk.provider.requests()[0].input.messages(api);
        assert!(request.contains("what is this?") && !request.contains("senderName"), "{request}");
    }
    assert!(handled.entry_ids.len() >= 4);
}

#[tokio::test]
async fn what_says_nothing_and_scopes_that_meet_are_refused() {
    let desk = Desk::new([once().says("x"), once().says("y")]);
    let config = "[session]\ndimensions = [\"chat\", \"sender\"]\n";
    let handler = desk.handler_with(config);
    let error = handler.handle(&inbound("telegram", "7", "  ")).await.unwrap_err();
    assert_eq!(error.kind(), "invalid");
    assert!(handler.conversations().list_sessions().await.unwrap().is_empty());
    let meeting = |chat: &str, sender: &str| {
        let text = serde_json::json!({
            "channel": "x", "chat_id": chat, "sender_id": sender, "content": "hi",
        });
        Inbound::from_json(&text.to_string()).unwrap()
    };
    let first = handler.handle(&meeting("a", "b|sender=c")).await.unwrap();
    let error = handler.handle(&meeting("a|sender=b", "c")).await.unwrap_err();
    assert_eq!(error.kind(), "scopes_meet");
    assert_eq!(desk.provider.requests().len(), 1);
    assert_eq!(history(&handler, &first.session_key).await.len(), 2);
}

#[tokio::test]
async fn a_turn_that_fails_loses_nothing_that_was_said() {
    let desk = Desk::new([once().fails(ProviderErrorKind::Server, "down")]);
    let handler = desk.handler();
    let error = handler.handle(&inbound("telegram", "7", "hi")).await.unwrap_err();
    assert!(matches!(error, Error::Agent(_)), "{error}");
    let key = handler.router().resolve(&inbound("telegram", "7", "hi")).session_key;
    assert_eq!(history(&handler, &key).await, ["user: hi"]);
}

/// Two handlers stand for two processes: nothing is shared between them but the folder.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn turns_of_one_conversation_follow_each_other() {
    const EACH: usize = 12;
    let look = serde_json::json!({});
    let root = tempfile::tempdir().unwrap();
    let mut tasks = Vec::new();
    for process in 0..2 {
        let rules = (0..EACH).flat_map(|n| {
            [once().calls(&format!("c{process}-{n}"), "look", &look), once().says("ok")]
        });
        // The call of one turn and its end are taken by one turn only if turns do not mix.
        let provider = Arc::new(ScriptedProvider::new(rules));
        let handler = Arc::new(handler(root.path(), &provider, CONFIG));
        for number in 0..EACH {
            let handler = Arc::clone(&handler);
            tasks.push(tokio::spawn(async move {
                let text = format!("{process}-{number}");
                handler.handle(&inbound("telegram", "7", &text)).await
            }));
        }
    }
    let mut handled: Vec<Handled> = Vec::new();
    for task in tasks {
        handled.push(task.await.unwrap().unwrap());
    }
    let provider = Arc::new(ScriptedProvider::new([]));
    let handler = handler(root.path(), &provider, CONFIG);
    let history = history(&handler, &handled[0].session_key).await;
    assert_eq!(history.len(), 2 * EACH * 4);
    let mut users = Vec::new();
    for turn in history.chunks(4) {
        let roles: Vec<&str> = turn.iter().map(|line| line.split(':').next().unwrap()).collect();
        assert_eq!(roles, ["user", "assistant", "tool", "assistant"], "{turn:?}");
        assert_eq!(turn[2], "tool: seen", "no call was taken for one that a crash cut off");
        users.push(turn[0].clone());
    }
    let unique: std::collections::BTreeSet<_> = users.iter().collect();
    assert_eq!(unique.len(), 2 * EACH);
    // In one process, the order of calls is the order of turns.
    for process in 0..2 {
        let start = format!("user: {process}-");
        let own: Vec<usize> =
            users.iter().filter_map(|user| user.strip_prefix(&start)?.parse().ok()).collect();
        assert_eq!(own.len(), EACH);
    }
}

#[tokio::test]
async fn in_one_process_the_order_of_calls_is_the_order_of_turns() {
    let desk = Desk::new((0..20).map(|n| once().says(format!("a{n}"))));
    let handler = desk.handler();
    let messages: Vec<Inbound> =
        (0..20).map(|n| inbound("telegram", "7", &format!("q{n}"))).collect();
    let turns = messages.iter().map(|message| handler.handle(message));
    let handled = futures_util::future::join_all(turns).await;
    let key = handled[0].as_ref().unwrap().session_key.clone();
    let expected: Vec<String> =
        (0..20).flat_map(|n| [format!("user: q{n}"), format!("assistant: a{n}")]).collect();
    assert_eq!(history(&handler, &key).await, expected);
}

#[tokio::test]
async fn a_conversation_that_another_process_keeps_is_told() {
    let desk = Desk::new([once().says("first"), once().says("second")]);
    let handler = desk.handler().with_wait(Duration::from_millis(1));
    let handled = handler.handle(&inbound("telegram", "7", "hi")).await.unwrap();
    let lock = desk
        .root
        .path()
        .join("conversations/turns")
        .join(format!("{}.lock", handled.session_id.unwrap()));
    let file = std::fs::File::open(&lock).unwrap();
    file.lock().unwrap();
    let error = handler.handle(&inbound("telegram", "7", "and?")).await.unwrap_err();
    assert_eq!(error.kind(), "locked");
    drop(file);
    let handled = handler.handle(&inbound("telegram", "7", "and?")).await.unwrap();
    assert_eq!(handled.reply, "second");
}

#[tokio::test]
async fn a_message_waits_for_an_agent_that_a_person_has_at_work_in_its_conversation() {
    let desk = Desk::new([Rule::always().says("ok")]);
    let handler = desk.handler();
    let first = handler.handle(&inbound("telegram", "7", "one")).await.unwrap();
    let conversations = PersistentConversations::open(desk.root.path()).unwrap();
    let session = conversations.session(&first.session_key).await.unwrap();
    let claim = session.claim().await.unwrap();
    let before = session.entries().await.unwrap().len();
    // Too long: it is told, and nothing is written.
    let hasty = desk.handler().with_wait(Duration::ZERO);
    let error = hasty.handle(&inbound("telegram", "7", "two")).await.unwrap_err();
    assert!(error.to_string().contains("an agent is at work"), "{error}");
    assert_eq!(session.entries().await.unwrap().len(), before);
    // Else it comes to its turn.
    let said = inbound("telegram", "7", "three");
    let (handled, ()) = tokio::join!(handler.handle(&said), async {
        tokio::task::yield_now().await;
        drop(claim);
    });
    assert_eq!(handled.unwrap().reply, "ok");
    assert_eq!(desk.provider.requests().len(), 2);
}
