//! What several tests need.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use forkwood::storage::MemoryStorage;
use forkwood::{CreateOptions, EntryKind, Message, Session, SessionStore};
use forkwood_agent::{
    Agent, AgentBuilder, FnTool, Replay, Request, Retries, ScriptedProvider, ToolOutput,
};
use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) fn memory() -> SessionStore {
    SessionStore::new(Arc::new(MemoryStorage::new().unwrap()))
}

pub(crate) async fn session(store: &SessionStore) -> Session {
    store.create(CreateOptions::default()).await.unwrap()
}

/// An agent with a provider, a model and no waits.
pub(crate) fn builder(provider: &Arc<ScriptedProvider>) -> AgentBuilder {
    Agent::builder()
        .provider(Arc::clone(provider) as Arc<dyn forkwood_agent::Provider>)
        .model("fake")
        .retries(Retries::NONE)
}

/// The same with the provider's rules given.
pub(crate) fn scripted(
    rules: impl IntoIterator<Item = forkwood_agent::Rule>,
) -> (Arc<ScriptedProvider>, AgentBuilder) {
    let provider = Arc::new(ScriptedProvider::new(rules));
    let builder = builder(&provider);
    (provider, builder)
}

/// `role: text`, with calls as `[name id]` and errors as `!`.
pub(crate) fn line(message: &Message) -> String {
    let mut text = format!("{}: ", message.role.as_text());
    if message.is_error == Some(true) {
        text.push_str("! ");
    }
    text.push_str(&message.content.text().to_string());
    for (id, name, _) in message.content.tool_calls() {
        text.push_str(&format!("[{name} {id}]"));
    }
    text
}

pub(crate) fn lines(messages: &[Message]) -> Vec<String> {
    messages.iter().map(line).collect()
}

/// The conversation as a model sees it.
pub(crate) async fn seen(session: &Session) -> Vec<String> {
    lines(session.context().await.unwrap().messages())
}

pub(crate) fn sent(request: &Request) -> Vec<String> {
    lines(&request.input.view.messages)
}

pub(crate) fn tools_of(request: &Request) -> Vec<String> {
    request.input.tools.iter().map(|tool| tool.name.to_string()).collect()
}

pub(crate) async fn kinds(session: &Session) -> Vec<EntryKind> {
    session.entries().await.unwrap().iter().map(|stored| stored.entry.kind()).collect()
}

pub(crate) async fn all_text(session: &Session) -> String {
    let entries = session.entries().await.unwrap();
    entries.iter().map(|stored| format!("{:?}\n", stored.entry)).collect()
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Pair {
    /// One.
    pub(crate) a: i64,
    /// The other.
    pub(crate) b: i64,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Nothing {}

/// Multiplies, and counts how often.
pub(crate) fn multiply(count: &Arc<AtomicUsize>) -> FnTool<Pair> {
    let count = Arc::clone(count);
    FnTool::new("multiply", "Multiply two integers.", move |pair: Pair, _run| {
        let count = Arc::clone(&count);
        async move {
            count.fetch_add(1, Ordering::SeqCst);
            Ok(ToolOutput::text((pair.a * pair.b).to_string()))
        }
    })
}

/// A tool that gives a text.
pub(crate) fn saying(name: &str, text: &'static str) -> FnTool<Nothing> {
    FnTool::new(name, text, move |_: Nothing, _run| async move { Ok(text.into()) })
}

/// A tool that does something and gives `done`.
pub(crate) fn doing(name: &str, action: impl Fn() + Send + Sync + 'static) -> FnTool<Nothing> {
    let action = Arc::new(action);
    FnTool::new(name, "Does something.", move |_: Nothing, _run| {
        let action = Arc::clone(&action);
        async move {
            action();
            Ok("done".into())
        }
    })
}

/// A tool that notes which calls of it ran, and gives its name and the id of the call.
pub(crate) fn noting(
    name: &'static str,
    replay: Replay,
    log: &Arc<Mutex<Vec<String>>>,
) -> FnTool<Nothing> {
    let log = Arc::clone(log);
    FnTool::new(name, "Notes that it ran.", move |_: Nothing, run: forkwood_agent::ToolRun| {
        let log = Arc::clone(&log);
        async move {
            log.lock().unwrap().push(run.call.id.clone());
            tokio::task::yield_now().await;
            Ok(format!("{name} {}", run.call.id).into())
        }
    })
    .replay(replay)
}
