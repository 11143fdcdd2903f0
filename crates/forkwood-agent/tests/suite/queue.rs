//! Steering and follow-up.

use std::sync::{Arc, Mutex};

use forkwood_agent::{Delivery, Handle, Rule};
use serde_json::json;

use crate::common::*;

type Slot = Arc<Mutex<Option<Handle>>>;

fn steer(slot: &Slot, texts: &'static [&'static str]) -> impl Fn() + Send + Sync + 'static {
    let slot = Arc::clone(slot);
    move || {
        let handle = slot.lock().unwrap().clone().unwrap();
        for text in texts {
            handle.steer(*text);
        }
    }
}

#[tokio::test]
async fn steering_while_a_tool_runs_is_seen_in_the_next_turn_and_kept() {
    let slot = Slot::default();
    let (provider, builder) = scripted([
        Rule::on_text("look it up").calls("c1", "find", &json!({})),
        Rule::on_text("stop, it is 42").says("it is 42"),
    ]);
    let mut agent =
        builder.tool(doing("find", steer(&slot, &["stop, it is 42"]))).build().await.unwrap();
    *slot.lock().unwrap() = Some(agent.handle());
    assert_eq!(agent.run("look it up").await.unwrap().text, "it is 42");
    let all = [
        "user: look it up",
        "assistant: [find c1]",
        "tool: done",
        "user: stop, it is 42",
        "assistant: it is 42",
    ];
    assert_eq!(seen(agent.session()).await, all);
    assert_eq!(sent(&provider.requests()[1]), all[..4]);
}

#[tokio::test]
async fn steering_while_the_model_talks_makes_it_go_on() {
    let slot = Slot::default();
    let (_provider, builder) = scripted([
        Rule::on_text("conclude").does(steer(&slot, &["and why"])).says("A"),
        Rule::on_text("and why").says("because"),
    ]);
    let mut agent = builder.build().await.unwrap();
    *slot.lock().unwrap() = Some(agent.handle());
    let outcome = agent.run("conclude").await.unwrap();
    assert_eq!(outcome.text, "because");
    assert_eq!(outcome.turns, 2);
    assert_eq!(
        seen(agent.session()).await,
        ["user: conclude", "assistant: A", "user: and why", "assistant: because"]
    );
}

#[tokio::test]
async fn a_follow_up_waits_for_the_end() {
    let (provider, builder) =
        scripted([Rule::on_text("task A").says("A done"), Rule::on_text("task B").says("B done")]);
    let mut agent = builder.build().await.unwrap();
    agent.handle().follow_up("task B");
    assert_eq!(agent.run("task A").await.unwrap().text, "B done");
    assert_eq!(provider.requests().len(), 2);
    assert_eq!(
        seen(agent.session()).await,
        ["user: task A", "assistant: A done", "user: task B", "assistant: B done"]
    );
}

#[tokio::test]
async fn steering_comes_one_by_one_or_all_at_once() {
    for (delivery, turns) in [(Delivery::All, 2), (Delivery::One, 3)] {
        let slot = Slot::default();
        let (provider, builder) = scripted([
            Rule::on_text("start").calls("c1", "step", &json!({})),
            Rule::always().says("ok"),
        ]);
        let mut agent = builder
            .tool(doing("step", steer(&slot, &["one", "two"])))
            .delivery(delivery, Delivery::One)
            .build()
            .await
            .unwrap();
        *slot.lock().unwrap() = Some(agent.handle());
        assert_eq!(agent.run("start").await.unwrap().turns, turns);
        let second = sent(&provider.requests()[1]);
        assert_eq!(second.contains(&"user: two".to_owned()), delivery == Delivery::All);
        let all = seen(agent.session()).await;
        assert!(all.contains(&"user: one".to_owned()) && all.contains(&"user: two".to_owned()));
    }
}
