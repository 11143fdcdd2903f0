//! A conversation with tools that dies and is resumed: what must hold of it, however it dies.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use forkwood::{Message, Role, Session, SessionStore};
use forkwood_agent::{
    Agent, INTERRUPTED, Provider, Replay, Retries, Rule, ScriptedProvider, Subagent, Subagents,
};
use forkwood_context::pair_tools;
use serde_json::json;

use crate::common::{line, noting};

/// Which calls ran, in order.
pub(crate) type Log = Arc<Mutex<Vec<String>>>;

/// The calls of tools that may not run twice, the sub-agent's among them.
pub(crate) const NEVER: &[&str] = &["n1", "n2", "n3", "k1"];

fn rules() -> Vec<Rule> {
    vec![
        Rule::on_text("start")
            .says("on it")
            .calls("n1", "note", &json!({}))
            .calls("s1", "look", &json!({}))
            .calls("s2", "look", &json!({}))
            .calls("n2", "note", &json!({})),
        Rule::on_result("n2").thinks("hm").calls("t1", "task", &json!({"prompt": "child work"})),
        Rule::on_text("child work").calls("k1", "note", &json!({})),
        Rule::on_result("k1").says("child summary"),
        Rule::on_result("t1").calls("s3", "look", &json!({})).calls("n3", "note", &json!({})),
        Rule::on_result("n3").says("all done"),
    ]
}

/// The agent of the conversation. `before` is called when a tool starts, with its call.
pub(crate) async fn agent(
    store: &SessionStore,
    session: Session,
    log: &Log,
    before: impl Fn(&str) + Send + Sync + 'static,
) -> Agent {
    let before = Arc::new(before);
    let watched = |tool: &'static str, replay| {
        let inner = noting(tool, replay, log);
        Watched { inner, before: Arc::clone(&before) as Arc<dyn Fn(&str) + Send + Sync>, replay }
    };
    let provider: Arc<dyn Provider> = Arc::new(ScriptedProvider::new(rules()).forgetful());
    Agent::builder()
        .store(store.clone())
        .session(session)
        .provider(provider)
        .model("fake")
        .retries(Retries::NONE)
        .tool(watched("note", Replay::Never))
        .tool(watched("look", Replay::Safe))
        .subagents(Subagents::of(vec![Subagent::default_kind()]))
        .build()
        .await
        .unwrap()
}

/// A tool that tells of its start first. `look` runs beside its neighbours.
struct Watched {
    inner: forkwood_agent::FnTool<crate::common::Nothing>,
    before: Arc<dyn Fn(&str) + Send + Sync>,
    replay: Replay,
}

impl std::fmt::Debug for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watched")
    }
}

#[async_trait::async_trait]
impl forkwood_agent::Tool for Watched {
    fn spec(&self) -> &forkwood_agent::ToolSpec {
        self.inner.spec()
    }

    fn replay(&self) -> Replay {
        self.replay
    }

    fn parallel(&self) -> bool {
        self.replay == Replay::Safe
    }

    async fn call(
        &self,
        run: forkwood_agent::ToolRun,
    ) -> Result<forkwood_agent::ToolOutput, forkwood_agent::ToolFailure> {
        (self.before)(&run.call.id);
        self.inner.call(run).await
    }
}

/// Begins the conversation, or goes on with it, until it is done.
pub(crate) async fn go(agent: &mut Agent) -> Result<(), forkwood_agent::AgentError> {
    if agent.resume().await?.is_some() {
        return Ok(());
    }
    if agent.session().context().await?.messages().is_empty() {
        agent.run("start").await?;
    }
    Ok(())
}

/// The conversation as a model sees it, with the ids of tasks taken out.
pub(crate) async fn conversation(session: &Session) -> Vec<Message> {
    let (messages, ids) = session.context().await.unwrap().into_parts();
    pair_tools(&messages, &ids).messages
}

fn shown(message: &Message) -> String {
    let line = line(message);
    line.split("\n\n(task id").next().unwrap_or_default().to_owned()
}

/// Checks a conversation that is done against one that nothing interrupted.
pub(crate) async fn check(
    store: &SessionStore,
    session: &Session,
    whole: &[Message],
    log: &Log,
    what: &str,
) {
    let now = conversation(session).await;
    assert_eq!(now.len(), whole.len(), "{what}: {:?}", now.iter().map(line).collect::<Vec<_>>());
    let mut ran: HashMap<String, usize> = HashMap::new();
    for call in log.lock().unwrap().iter() {
        *ran.entry(call.clone()).or_default() += 1;
    }
    for (now, then) in now.iter().zip(whole) {
        check_message(now, then, &ran, what);
    }
    for call in NEVER {
        assert!(ran.get(*call).copied().unwrap_or(0) <= 1, "{what}: {call} ran twice");
    }
    assert_eq!(session.check().await.unwrap(), [], "{what}");
    let children = store.subagents(session.id()).await.unwrap();
    assert_eq!(children.rows.len(), 1, "{what}: one sub-agent, with one session");
    let child = store.open(children.rows[0].id.as_str()).await.unwrap();
    let said = conversation(&child).await;
    assert_eq!(said.len(), 4, "{what}: {:?}", said.iter().map(line).collect::<Vec<_>>());
    assert_eq!(line(&said[3]), "assistant: child summary", "{what}");
    assert_eq!(child.check().await.unwrap(), [], "{what}");
}

fn check_message(now: &Message, then: &Message, ran: &HashMap<String, usize>, what: &str) {
    let call = now.tool_call_id.as_ref().map(ToString::to_string).unwrap_or_default();
    let count = ran.get(&call).copied().unwrap_or(0);
    if NEVER.contains(&call.as_str()) && now.content.text() == *INTERRUPTED {
        assert_eq!(now.is_error, Some(true), "{what}");
        assert_eq!(now.tool_call_id, then.tool_call_id, "{what}");
        return;
    }
    assert_eq!(shown(now), shown(then), "{what}");
    if now.role == Role::Tool && call != "t1" {
        assert!(count >= 1, "{what}: {call} has a result and never ran");
        assert!(count == 1 || !NEVER.contains(&call.as_str()), "{what}: {call}");
    }
}
