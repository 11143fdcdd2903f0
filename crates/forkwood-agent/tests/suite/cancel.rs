//! Stopping a run keeps what is done.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use forkwood::EntryKind;
use forkwood_agent::{CANCELLED, FnTool, Handle, Rule, RunStop, Step, ToolOutput, Usage};
use serde_json::json;

use crate::common::*;

type Slot = Arc<Mutex<Option<Handle>>>;

fn cancel(slot: &Slot) -> impl Fn() + Send + Sync + 'static {
    let slot = Arc::clone(slot);
    move || slot.lock().unwrap().as_ref().unwrap().cancel()
}

#[tokio::test]
async fn text_of_a_cancelled_answer_is_not_kept_and_the_queue_comes_back() {
    let slot = Slot::default();
    let queue = Arc::clone(&slot);
    let (_provider, builder) = scripted([Rule::always()
        .says("some ")
        .does(move || queue.lock().unwrap().as_ref().unwrap().follow_up("not said"))
        .does(cancel(&slot))
        .says("text")]);
    let mut agent = builder.build().await.unwrap();
    *slot.lock().unwrap() = Some(agent.handle());
    let outcome = agent.run("hello").await.unwrap();
    assert_eq!(outcome.stop, RunStop::Cancelled);
    assert_eq!(lines(&outcome.undelivered), ["user: not said"]);
    assert_eq!(agent.handle().waiting(), 0);
    assert_eq!(seen(agent.session()).await, ["user: hello"]);
    assert!(agent.open_operations().await.unwrap().is_empty());
    // The agent is as good as new.
    let (_provider, builder) = scripted([Rule::always().says("again")]);
    let session = agent.session().clone();
    let mut agent = builder.session(session).build().await.unwrap();
    assert_eq!(agent.run("once more").await.unwrap().text, "again");
}

#[tokio::test]
async fn what_a_cancelled_answer_cost_is_kept() {
    let slot = Slot::default();
    let (_provider, builder) = scripted([Rule::always()
        .costs(Usage::new(10, 2))
        .says("some")
        .does(cancel(&slot))
        .says("more")]);
    let mut agent = builder.build().await.unwrap();
    *slot.lock().unwrap() = Some(agent.handle());
    let outcome = agent.run("hello").await.unwrap();
    assert_eq!(outcome.usage.input, 10);
    assert!(kinds(agent.session()).await.contains(&EntryKind::Usage));
}

#[tokio::test]
async fn calls_of_a_cancelled_answer_are_kept_and_answered() {
    let slot = Slot::default();
    let count = Arc::new(AtomicUsize::new(0));
    let (provider, builder) = scripted([
        Rule::on_text("start")
            .says("I will run it")
            .calls("c1", "multiply", &json!({"a": 1, "b": 2}))
            .does(cancel(&slot))
            .says(""),
        Rule::on_text("go on").says("recovered"),
    ]);
    let mut agent = builder.tool(multiply(&count)).build().await.unwrap();
    *slot.lock().unwrap() = Some(agent.handle());
    assert_eq!(agent.run("start").await.unwrap().stop, RunStop::Cancelled);
    assert_eq!(count.load(Ordering::SeqCst), 0);
    let interrupted = format!("tool: ! {CANCELLED}");
    assert_eq!(
        seen(agent.session()).await,
        ["user: start", "assistant: I will run it[multiply c1]", interrupted.as_str()]
    );
    assert_eq!(agent.run("go on").await.unwrap().text, "recovered");
    assert_eq!(sent(provider.requests().last().unwrap()).len(), 4);
}

#[tokio::test]
async fn a_provider_that_stalls_can_be_cancelled() {
    let (_provider, builder) = scripted([Rule::always().says("x").step(Step::Stall)]);
    let mut agent = builder.build().await.unwrap();
    let handle = agent.handle();
    let (outcome, ()) = tokio::join!(agent.run("hello"), async {
        tokio::task::yield_now().await;
        handle.cancel();
    });
    assert_eq!(outcome.unwrap().stop, RunStop::Cancelled);
}

#[tokio::test]
async fn a_running_tool_is_dropped_and_those_after_it_do_not_start() {
    let slot = Slot::default();
    let stop = cancel(&slot);
    let stop = Arc::new(stop);
    let hang = FnTool::new("hang", "Never ends.", move |_: Nothing, _run| {
        let stop = Arc::clone(&stop);
        async move {
            stop();
            std::future::pending::<()>().await;
            Ok(ToolOutput::text("never"))
        }
    });
    let count = Arc::new(AtomicUsize::new(0));
    let (_provider, builder) = scripted([Rule::on_text("start")
        .calls("c0", "multiply", &json!({"a": 2, "b": 2}))
        .calls("c1", "hang", &json!({}))
        .calls("c2", "multiply", &json!({"a": 1, "b": 2}))]);
    let mut agent = builder.tool(hang).tool(multiply(&count)).build().await.unwrap();
    *slot.lock().unwrap() = Some(agent.handle());
    let outcome = agent.run("start").await.unwrap();
    assert_eq!(outcome.stop, RunStop::Cancelled);
    assert_eq!(count.load(Ordering::SeqCst), 1);
    let interrupted = format!("tool: ! {CANCELLED}");
    let said = seen(agent.session()).await;
    assert_eq!(said[2..], ["tool: 4", interrupted.as_str(), interrupted.as_str()]);
    assert!(agent.open_operations().await.unwrap().is_empty());
    assert!(agent.session().check().await.unwrap().is_empty());
}

#[tokio::test]
async fn cancelling_where_nothing_runs_does_nothing() {
    let (_provider, builder) = scripted([Rule::always().says("ok")]);
    let mut agent = builder.build().await.unwrap();
    agent.handle().cancel();
    assert_eq!(agent.run("a").await.unwrap().stop, RunStop::Done);
}
