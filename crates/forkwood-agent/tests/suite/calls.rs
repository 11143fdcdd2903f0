//! Calls: hooks, arguments, neighbours, failures.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use forkwood::Json;
use forkwood_agent::{
    After, AgentEvent, Before, ErrorKind, Events, FnTool, Hook, Replay, Rule, RunStop, Tool,
    ToolCall, ToolFailure, ToolOutput, ToolRun,
};
use serde_json::json;
use tokio::sync::Barrier;

use crate::common::*;

#[derive(Debug)]
struct Judge(fn(&ToolCall) -> Before, fn(&mut ToolOutput) -> After);

#[async_trait]
impl Hook for Judge {
    async fn before(&self, call: &ToolCall) -> Before {
        (self.0)(call)
    }

    async fn after(&self, _call: &ToolCall, output: &mut ToolOutput) -> After {
        (self.1)(output)
    }
}

fn goes_on(_: &mut ToolOutput) -> After {
    After::Continue
}

fn two_calls() -> [Rule; 2] {
    [
        Rule::on_text("go").calls("c1", "multiply", &json!({"a": 2, "b": 3})).calls(
            "c2",
            "multiply",
            &json!({"a": 4, "b": 5}),
        ),
        Rule::on_result("c2").says("ok"),
    ]
}

async fn with_hook(hook: Judge) -> (Vec<String>, usize, RunStop) {
    let (_provider, builder) = scripted(two_calls());
    let count = Arc::new(AtomicUsize::new(0));
    let mut agent = builder.tool(multiply(&count)).hook(Arc::new(hook)).build().await.unwrap();
    let outcome = agent.run("go").await.unwrap();
    assert!(agent.open_operations().await.unwrap().is_empty());
    (seen(agent.session()).await, count.load(Ordering::SeqCst), outcome.stop)
}

#[tokio::test]
async fn a_hook_blocks_a_call() {
    let (said, count, stop) = with_hook(Judge(
        |call| if call.id == "c1" { Before::Block("not that".into()) } else { Before::Run },
        goes_on,
    ))
    .await;
    assert_eq!(said[2..], ["tool: ! not that", "tool: 20", "assistant: ok"]);
    assert_eq!((count, stop), (1, RunStop::Done));
}

#[tokio::test]
async fn a_hook_changes_arguments_and_the_model_keeps_its_own() {
    let (said, _, _) =
        with_hook(Judge(|_| Before::Change(Json::parse(r#"{"a": 7, "b": 7}"#).unwrap()), goes_on))
            .await;
    assert_eq!(said[2..4], ["tool: 49", "tool: 49"]);
}

#[tokio::test]
async fn a_hook_ends_the_run_before_a_call() {
    let (said, count, stop) =
        with_hook(Judge(|_| Before::Terminate("enough".into()), goes_on)).await;
    assert_eq!(said[2], "tool: ! enough");
    assert!(said[3].starts_with("tool: ! Tool call not run"), "{said:?}");
    assert_eq!((said.len(), count, stop), (4, 0, RunStop::Terminated));
}

#[tokio::test]
async fn a_hook_changes_a_result_and_ends_the_run_after_it() {
    let (said, count, stop) = with_hook(Judge(
        |_| Before::Run,
        |output| {
            *output = ToolOutput::text("changed");
            After::Terminate
        },
    ))
    .await;
    assert_eq!(said[2], "tool: changed");
    assert_eq!(said.len(), 4);
    assert_eq!((count, stop), (1, RunStop::Terminated));
}

#[tokio::test]
async fn a_tool_ends_the_run_itself() {
    let end = FnTool::new("end", "Ends.", |_: Nothing, _run| async {
        Ok(ToolOutput { terminate: true, ..ToolOutput::text("bye") })
    });
    let (provider, builder) = scripted([Rule::always().calls("c1", "end", &json!({}))]);
    let mut agent = builder.tool(end).build().await.unwrap();
    assert_eq!(agent.run("go").await.unwrap().stop, RunStop::Terminated);
    assert_eq!(provider.requests().len(), 1);
    // The log knows why it ended.
    let context = agent.session().context().await.unwrap();
    let metadata = context.messages()[2].metadata.as_ref().unwrap().get().to_owned();
    assert!(metadata.contains("\"terminate\":true"), "{metadata}");
}

#[tokio::test]
async fn calls_behind_one_that_ends_the_run_say_why_they_did_not_run() {
    let end = FnTool::new("end", "Ends.", |_: Nothing, _run| async {
        Ok(ToolOutput { terminate: true, ..ToolOutput::text("bye") })
    });
    let later =
        || FnTool::new("later", "Runs.", |_: Nothing, _run| async { Err(ToolFailure::new("ran")) });
    let call = |rule: Rule, id: &str, tool: &str| rule.calls(id, tool, &json!({}));
    let rule = call(call(call(Rule::always(), "c1", "end"), "c2", "later"), "c3", "later");
    let (_provider, builder) = scripted([rule]);
    let mut agent = builder.tool(end.parallel()).tool(later()).build().await.unwrap();
    assert_eq!(agent.run("go").await.unwrap().stop, RunStop::Terminated);
    let context = agent.session().context().await.unwrap();
    let said: Vec<String> =
        context.messages()[2..].iter().map(|message| message.content.text().to_string()).collect();
    let not_run = "Tool call not run: the run was ended before it.";
    assert_eq!(said, ["bye", not_run, not_run]);
}

#[tokio::test]
async fn wrong_arguments_unknown_tools_failures_and_panics_are_told_to_the_model() {
    let fails = FnTool::new("fails", "Fails.", |_: Nothing, _run| async {
        Err(ToolFailure::new("no such luck"))
    });
    let panics = FnTool::new("panics", "Panics.", |_: Nothing, _run: ToolRun| async move {
        assert!(_run.call.id.is_empty(), "it panics");
        Ok(ToolOutput::text(""))
    });
    let (_provider, builder) = scripted([
        Rule::on_text("go")
            .calls("c1", "multiply", &json!({"a": "two"}))
            .calls("c2", "nope", &json!({}))
            .calls("c3", "fails", &json!({}))
            .calls("c4", "panics", &json!({})),
        Rule::on_result("c4").says("ok"),
    ]);
    let count = Arc::new(AtomicUsize::new(0));
    let mut agent = builder.tool(multiply(&count)).tool(fails).tool(panics).build().await.unwrap();
    assert_eq!(agent.run("go").await.unwrap().text, "ok");
    let said = seen(agent.session()).await;
    assert!(said[2].starts_with("tool: ! the arguments of multiply are not as"), "{said:?}");
    assert!(said[3].contains("There is no tool \"nope\". There are: multiply, fails"), "{said:?}");
    assert_eq!(said[4], "tool: ! no such luck");
    assert!(said[5].contains("panicked"), "{said:?}");
}

/// A tool of which two must run at the same time to end.
#[derive(Debug)]
struct Meets(Arc<Barrier>, forkwood_agent::ToolSpec);

#[async_trait]
impl Tool for Meets {
    fn spec(&self) -> &forkwood_agent::ToolSpec {
        &self.1
    }

    fn parallel(&self) -> bool {
        true
    }

    fn replay(&self) -> Replay {
        Replay::Safe
    }

    async fn call(&self, run: ToolRun) -> Result<ToolOutput, ToolFailure> {
        self.0.wait().await;
        Ok(ToolOutput::text(format!("met {}", run.call.id)))
    }
}

#[tokio::test]
async fn neighbours_that_may_run_at_the_same_time_and_each_result_is_kept_when_it_is_there() {
    let events = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&events);
    let spec = forkwood_agent::ToolSpec {
        name: "meet".into(),
        description: "Meets.".into(),
        schema: Json::empty_object(),
    };
    let (provider, builder) = scripted([
        Rule::on_text("go").calls("m1", "meet", &json!({})).calls("m2", "meet", &json!({})).calls(
            "c3",
            "multiply",
            &json!({"a": 1, "b": 1}),
        ),
        Rule::on_result("c3").says("ok"),
    ]);
    let count = Arc::new(AtomicUsize::new(0));
    let mut agent = builder
        .tool(Meets(Arc::new(Barrier::new(2)), spec))
        .tool(multiply(&count))
        .events(Events::to(move |event| {
            let line = match event {
                AgentEvent::ToolStarted(call) => format!("+{}", call.id),
                AgentEvent::ToolFinished { call, .. } => format!("-{}", call.id),
                _ => return,
            };
            told.lock().unwrap().push(line);
        }))
        .build()
        .await
        .unwrap();
    agent.run("go").await.unwrap();
    let order = events.lock().unwrap().clone();
    assert_eq!(order[..2], ["+m1", "+m2"]);
    assert_eq!(order[4..], ["+c3", "-c3"]);
    // Whoever ended first, the model sees them in the order in which it called.
    assert_eq!(sent(&provider.requests()[1])[2..], ["tool: met m1", "tool: met m2", "tool: 1"]);
}

#[tokio::test]
async fn the_schema_of_a_tool_is_that_of_its_arguments() {
    let tool = multiply(&Arc::new(AtomicUsize::new(0)));
    let schema: serde_json::Value = tool.spec().schema.to().unwrap();
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["properties"]["a"]["type"], "integer");
    assert_eq!(schema["properties"]["a"]["description"], "One.");
    assert_eq!(schema["required"], json!(["a", "b"]));
    assert_eq!(schema.get("$schema"), None);
}

#[tokio::test]
async fn two_tools_with_one_name_are_refused() {
    let (_provider, builder) = scripted([]);
    let error = builder.tool(saying("x", "1")).tool(saying("x", "2")).build().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ToolNameTaken);
}

#[tokio::test]
async fn a_run_that_begins_after_a_crash_answers_what_was_open() {
    // A process that dies while a tool runs: its log, and no more of it.
    let store = memory();
    let session = session(&store).await;
    let id = session.id().to_string();
    let hang = FnTool::new("hang", "Never ends.", |_: Nothing, _run| async {
        std::future::pending::<()>().await;
        Ok(ToolOutput::text(""))
    });
    let (_provider, builder) = scripted([Rule::on_text("go")
        .calls("c1", "hang", &json!({}))
        .calls("c2", "hang", &json!({}))]);
    let mut agent = builder.store(store.clone()).session(session).tool(hang).build().await.unwrap();
    let slept = tokio::select! {
        _ = agent.run("go") => false,
        () = until_open(&store, &id) => true,
    };
    assert!(slept);
    drop(agent);
    let (provider, builder) = scripted([Rule::on_text("never mind").says("fine")]);
    let session = store.open(&id).await.unwrap();
    let mut agent = builder.store(store).session(session).build().await.unwrap();
    assert_eq!(agent.open_operations().await.unwrap().len(), 2);
    assert_eq!(agent.run("never mind").await.unwrap().text, "fine");
    let said = sent(&provider.requests()[0]);
    assert!(said[2].starts_with("tool: ! Tool call interrupted: the process ended"), "{said:?}");
    assert!(said[3].starts_with("tool: ! Tool call interrupted by user"), "{said:?}");
    assert!(agent.open_operations().await.unwrap().is_empty());
    assert_eq!(agent.resume().await.unwrap(), None);
}

/// What was over when an agent last looked is not read again; what another left since is seen.
#[tokio::test]
async fn an_agent_that_ran_before_sees_what_another_process_left_open() {
    let store = memory();
    let made = session(&store).await;
    let id = made.id().to_string();
    let (provider, builder) = scripted([Rule::always().says("fine")]);
    let mut agent = builder.store(store.clone()).session(made).build().await.unwrap();
    agent.run("one").await.unwrap();
    agent.run("two").await.unwrap();
    let hang = FnTool::new("hang", "Never ends.", |_: Nothing, _run| async {
        std::future::pending::<()>().await;
        Ok(ToolOutput::text(""))
    });
    let (_provider, builder) = scripted([Rule::on_text("go").calls("c1", "hang", &json!({}))]);
    let there = store.open(&id).await.unwrap();
    let mut dies = builder.store(store.clone()).session(there).tool(hang).build().await.unwrap();
    tokio::select! {
        _ = dies.run("go") => panic!("it hangs"),
        () = until_open(&store, &id) => {}
    }
    drop(dies);
    assert_eq!(agent.run("three").await.unwrap().text, "fine");
    let said = sent(provider.requests().last().unwrap());
    assert!(said[6].starts_with("tool: ! Tool call interrupted: the process ended"), "{said:?}");
    assert_eq!(said[7], "user: three");
    assert!(agent.open_operations().await.unwrap().is_empty());
    agent.run("four").await.unwrap();
    let said = sent(provider.requests().last().unwrap());
    assert_eq!(said.iter().filter(|line| line.starts_with("tool:")).count(), 1, "{said:?}");
}

async fn until_open(store: &forkwood::SessionStore, id: &str) {
    until_says(store, id, "toolCallId").await;
}

async fn until_says(store: &forkwood::SessionStore, id: &str, what: &str) {
    loop {
        let session = store.open(id).await.unwrap();
        let told = all_text(&session).await;
        if told.contains(what) {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_run_open_on_another_branch_is_not_resumed() {
    let store = memory();
    let session = session(&store).await;
    let id = session.id().to_string();
    let (_provider, builder) = scripted([
        Rule::on_text("first").says("one"),
        Rule::on_text("second").step(forkwood_agent::Step::Stall),
        Rule::always().says("other"),
    ]);
    let mut agent = builder.store(store.clone()).session(session).build().await.unwrap();
    agent.run("first").await.unwrap();
    let back = agent.session().leaf().cloned().unwrap();
    tokio::select! {
        biased;
        _ = agent.run("second") => {}
        () = until_says(&store, &id, "second") => {}
    }
    assert_eq!(agent.open_operations().await.unwrap().len(), 1);
    agent.session_mut().reload().await.unwrap();
    agent.session_mut().rewind(&back).await.unwrap();
    let open = agent.open_operations().await.unwrap();
    assert!(!open[0].on_path);
    assert_eq!(agent.resume().await.unwrap(), None);
    assert!(agent.open_operations().await.unwrap().is_empty());
    assert_eq!(agent.run("third").await.unwrap().text, "other");
    assert_eq!(store.open(&id).await.unwrap().branches().await.unwrap().len(), 2);
}
