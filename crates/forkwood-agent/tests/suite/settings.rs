//! Model, provider, thinking level and tools come from the session.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use forkwood::{Body, EntryKind};
use forkwood_agent::{ErrorKind, Provider, Rule, ScriptedProvider};
use serde_json::json;

use crate::common::*;

fn said(text: Option<&forkwood::Text>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

#[tokio::test]
async fn a_switch_is_an_entry_and_counts_from_the_next_turn_on() {
    let one = Arc::new(ScriptedProvider::named("one", [Rule::always().says("from one")]));
    let two = Arc::new(ScriptedProvider::named("two", [Rule::always().says("from two")]));
    let mut agent =
        builder(&one).provider(Arc::clone(&two) as Arc<dyn Provider>).build().await.unwrap();
    assert_eq!(agent.run("a").await.unwrap().text, "from one");
    agent.set_model("big", Some("two")).await.unwrap();
    agent.set_thinking_level("high").await.unwrap();
    assert_eq!(kinds(agent.session()).await.last(), Some(&EntryKind::ThinkingLevelChange));
    assert_eq!(agent.run("b").await.unwrap().text, "from two");
    let request = &two.requests()[0];
    assert_eq!(request.model(), "big");
    assert_eq!(said(request.input.thinking_level.as_ref()), "high");
    assert_eq!(said(request.input.provider.as_ref()), "two");
    assert_eq!(
        agent.set_model("x", Some("three")).await.unwrap_err().kind(),
        ErrorKind::UnknownProvider
    );
}

#[tokio::test]
async fn the_default_model_is_written_once_and_the_session_wins() {
    let store = memory();
    let mut made = session(&store).await;
    made.append(Body::ModelChange { model: "of the session".into(), provider: None })
        .await
        .unwrap();
    let (provider, builder) = scripted([Rule::always().says("ok")]);
    let mut agent = builder.store(store).session(made).build().await.unwrap();
    agent.run("a").await.unwrap();
    agent.run("b").await.unwrap();
    assert_eq!(provider.requests()[0].model(), "of the session");
    let changes = kinds(agent.session()).await.into_iter().filter(|k| *k == EntryKind::ModelChange);
    assert_eq!(changes.count(), 1);
}

#[tokio::test]
async fn rewinding_before_a_switch_brings_the_earlier_model_back() {
    let (provider, builder) = scripted([Rule::always().says("ok")]);
    let mut agent = builder.build().await.unwrap();
    agent.run("a").await.unwrap();
    let before = agent.session().leaf().cloned().unwrap();
    agent.set_model("other", None).await.unwrap();
    agent.run("b").await.unwrap();
    agent.session_mut().rewind(&before).await.unwrap();
    agent.run("c").await.unwrap();
    let models: Vec<String> = provider.requests().iter().map(|r| r.model()).collect();
    assert_eq!(models, ["fake", "other", "fake"]);
}

#[tokio::test]
async fn only_active_tools_are_offered_and_run() {
    let (provider, builder) = scripted([
        Rule::on_text("go").calls("c1", "get_time", &json!({})),
        Rule::always().says("ok"),
    ]);
    let count = Arc::new(AtomicUsize::new(0));
    let mut agent =
        builder.tool(multiply(&count)).tool(saying("get_time", "12:00")).build().await.unwrap();
    agent.set_active_tools(&["multiply"]).await.unwrap();
    agent.run("go").await.unwrap();
    assert_eq!(tools_of(&provider.requests()[0]), ["multiply"]);
    let said = seen(agent.session()).await;
    assert!(said[2].starts_with("tool: ! There is no tool \"get_time\""), "{said:?}");
    assert_eq!(agent.set_active_tools(&["nope"]).await.unwrap_err().kind(), ErrorKind::Invalid);
}

#[tokio::test]
async fn a_session_of_a_provider_that_is_not_there_is_refused_with_the_known_ones() {
    let store = memory();
    let mut made = session(&store).await;
    let body = Body::ModelChange { model: "m".into(), provider: Some("elsewhere".into()) };
    made.append(body).await.unwrap();
    let (_provider, builder) = scripted([]);
    let mut agent = builder.store(store).session(made).build().await.unwrap();
    let error = agent.run("a").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownProvider);
    assert!(error.to_string().contains("scripted"));
    // And nothing is open: the next run says what it has to say.
    agent.set_model("fake", Some("scripted")).await.unwrap();
    assert_eq!(agent.run("b").await.unwrap().text, "You said: b");
}
