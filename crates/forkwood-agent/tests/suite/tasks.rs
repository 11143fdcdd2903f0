//! The `task` tool.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use forkwood::SessionStore;
use forkwood_agent::{
    AgentBuilder, ProviderErrorKind, Request, Rule, RunStop, ScriptedProvider, Step, Subagent,
    Subagents, Tasks,
};
use serde_json::json;

use crate::common::*;

fn kind(name: &str, content: &str) -> Subagent {
    Subagent {
        name: name.to_owned(),
        description: format!("{name}s"),
        content: content.to_owned(),
        ..Subagent::default()
    }
}

fn delegates(kind: &str) -> Vec<Rule> {
    vec![
        Rule::on_text("delegate").calls(
            "t1",
            "task",
            &json!({"prompt": "review", "agent_type": kind}),
        ),
        Rule::on_text("review").says("found 3 issues"),
        Rule::on_result("t1").says("done"),
    ]
}

fn with(rules: Vec<Rule>, kinds: Vec<Subagent>) -> (Arc<ScriptedProvider>, AgentBuilder) {
    let (provider, builder) = scripted(rules);
    let count = Arc::new(AtomicUsize::new(0));
    let builder = builder
        .tool(multiply(&count))
        .tool(saying("get_time", "12:00"))
        .subagents(Subagents::of(kinds));
    (provider, builder)
}

fn result(request: &Request) -> String {
    sent(request).last().unwrap().clone()
}

#[tokio::test]
async fn a_sub_agent_works_with_a_fresh_context_and_its_answer_comes_back() {
    let reviewer = kind("code-reviewer", "You are a reviewer.");
    let (provider, builder) = with(delegates("code-reviewer"), vec![reviewer]);
    let mut agent = builder.prompt("parent prompt").build().await.unwrap();
    assert_eq!(agent.run("delegate").await.unwrap().text, "done");
    let child = &provider.requests()[1];
    assert_eq!(child.input.system.to_string(), "You are a reviewer.");
    assert_eq!(sent(child), ["user: review"]);
    assert_eq!(tools_of(child), ["multiply", "get_time"]);
    assert!(result(&provider.requests()[2]).starts_with("tool: found 3 issues"));
}

#[tokio::test]
async fn tools_are_filtered_and_task_is_never_handed_on() {
    let limited = Subagent {
        tools: Some(vec!["multiply".into(), "get_time".into(), "task".into()]),
        disallowed_tools: vec!["get_time".into()],
        ..kind("limited", "body")
    };
    let (provider, builder) = with(delegates("limited"), vec![limited]);
    let mut agent = builder.build().await.unwrap();
    agent.run("delegate").await.unwrap();
    assert_eq!(tools_of(&provider.requests()[1]), ["multiply"]);
    assert!(!provider.requests()[1].input.system.to_string().contains("available_agents"));
}

#[tokio::test]
async fn what_the_parent_may_not_use_its_child_may_not_either() {
    let (provider, builder) = with(delegates("default"), vec![kind("x", "body")]);
    let mut agent = builder.build().await.unwrap();
    agent.set_active_tools(&["task", "get_time"]).await.unwrap();
    agent.run("delegate").await.unwrap();
    assert_eq!(tools_of(&provider.requests()[1]), ["get_time"]);
}

#[tokio::test]
async fn the_model_of_a_sub_agent_is_its_own_or_that_of_its_parent_now() {
    let big =
        Subagent { model: Some("sonnet".into()), effort: Some("high".into()), ..kind("big", "b") };
    let (provider, builder) = with(delegates("big"), vec![big]);
    let mut agent = builder.build().await.unwrap();
    agent.run("delegate").await.unwrap();
    assert_eq!(provider.requests()[1].model(), "sonnet");
    let level = provider.requests()[1].input.thinking_level.clone().unwrap();
    assert_eq!(level.to_string(), "high");
    let (provider, builder) = with(delegates("default"), vec![kind("x", "b")]);
    let mut agent = builder.build().await.unwrap();
    agent.set_model("switched", None).await.unwrap();
    agent.run("delegate").await.unwrap();
    assert_eq!(provider.requests()[1].model(), "switched");
}

#[tokio::test]
async fn an_unknown_kind_is_told_with_the_known_ones() {
    let (provider, builder) = with(delegates("nope"), vec![kind("code-reviewer", "b")]);
    let mut agent = builder.build().await.unwrap();
    assert_eq!(agent.run("delegate").await.unwrap().text, "done");
    assert_eq!(
        result(&provider.requests()[1]),
        "tool: ! Unknown subagent 'nope'. Available: code-reviewer, default"
    );
}

#[tokio::test]
async fn a_failure_and_an_empty_answer_of_the_child_are_told() {
    let mut rules = delegates("worker");
    rules[1] = Rule::on_text("review").fails(ProviderErrorKind::Invalid, "boom");
    let (provider, builder) = with(rules, vec![kind("worker", "b")]);
    let mut agent = builder.build().await.unwrap();
    assert_eq!(agent.run("delegate").await.unwrap().text, "done");
    let told = result(&provider.requests()[2]);
    assert!(told.starts_with("tool: ! Subagent 'worker' failed: invalid: boom"), "{told}");
    let mut rules = delegates("worker");
    rules[1] = Rule::on_text("review").says("");
    let (provider, builder) = with(rules, vec![kind("worker", "b")]);
    let mut agent = builder.build().await.unwrap();
    agent.run("delegate").await.unwrap();
    assert!(result(&provider.requests()[2]).starts_with("tool: (no summary)"));
}

fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path.file_name().unwrap().to_string_lossy().into_owned()),
            }
        }
    }
    found.retain(|name| name.ends_with(".jsonl"));
    found.sort();
    found
}

#[tokio::test]
async fn the_child_has_a_session_file_of_its_own_and_nothing_of_it_is_in_the_parent() {
    let folder = tempfile::tempdir().unwrap();
    let store = SessionStore::open_root(folder.path()).unwrap();
    let (_provider, builder) = with(delegates("worker"), vec![kind("worker", "b")]);
    let mut agent = builder.store(store.clone()).build().await.unwrap();
    agent.run("delegate").await.unwrap();
    let children = store.subagents(agent.session().id()).await.unwrap();
    assert_eq!(children.rows.len(), 1);
    let child = store.open(children.rows[0].id.as_str()).await.unwrap();
    let info = &child.facts().info;
    assert_eq!(info.agent_type.as_ref().unwrap().to_string(), "worker");
    assert_eq!(info.spawn_depth, Some(1));
    assert_eq!(
        info.parent_session_id.as_ref().unwrap().to_string(),
        agent.session().id().to_string()
    );
    assert_eq!(seen(&child).await, ["user: review", "assistant: found 3 issues"]);
    let said = seen(agent.session()).await;
    assert_eq!(said.len(), 4);
    assert!(
        !said.iter().any(|line| line == "user: review" || line.starts_with("assistant: found"))
    );
    let files = files(folder.path());
    assert_eq!(files.len(), 2);
    assert!(files.iter().any(|name| name.starts_with("agent-task_")), "{files:?}");
    assert_eq!(agent.session().branches().await.unwrap().len(), 1);
}

#[tokio::test]
async fn several_work_at_the_same_time() {
    let folder = tempfile::tempdir().unwrap();
    let store = SessionStore::open_root(folder.path()).unwrap();
    let running = Arc::new(Mutex::new(None::<Tasks>));
    let most = Arc::new(AtomicUsize::new(0));
    let watch = |running: &Arc<Mutex<Option<Tasks>>>, most: &Arc<AtomicUsize>| {
        let (running, most) = (Arc::clone(running), Arc::clone(most));
        move || {
            let count = running.lock().unwrap().as_ref().unwrap().running().len();
            most.fetch_max(count, Ordering::SeqCst);
        }
    };
    let (provider, builder) = with(
        vec![
            Rule::on_text("coordinate")
                .calls("c1", "task", &json!({"prompt": "review code", "agent_type": "reviewer"}))
                .calls("c2", "task", &json!({"prompt": "search docs", "agent_type": "researcher"})),
            Rule::on_text("review code").does(watch(&running, &most)).says("code looks good"),
            Rule::on_text("search docs").does(watch(&running, &most)).says("docs found"),
            Rule::on_result("c2").says("all finished"),
        ],
        vec![kind("reviewer", "r"), kind("researcher", "s")],
    );
    let mut agent = builder.store(store.clone()).build().await.unwrap();
    *running.lock().unwrap() = agent.tasks();
    assert_eq!(agent.run("coordinate").await.unwrap().text, "all finished");
    assert_eq!(most.load(Ordering::SeqCst), 2);
    assert_eq!(store.subagents(agent.session().id()).await.unwrap().rows.len(), 2);
    let last = provider.requests().pop().unwrap();
    let said = sent(&last);
    assert!(
        said[2].starts_with("tool: code looks good") && said[3].starts_with("tool: docs found")
    );
    assert!(agent.tasks().unwrap().running().is_empty());
}

#[tokio::test]
async fn the_depth_is_limited_and_can_be_raised() {
    let rules = || {
        vec![
            Rule::on_text("delegate").calls("t1", "task", &json!({"prompt": "review"})),
            Rule::on_text("review").calls("t2", "task", &json!({"prompt": "deeper"})),
            Rule::on_text("deeper").calls("t3", "task", &json!({"prompt": "deepest"})),
            Rule::always().says("ok"),
        ]
    };
    let (provider, builder) = with(rules(), vec![kind("x", "b")]);
    let mut agent = builder.build().await.unwrap();
    agent.run("delegate").await.unwrap();
    let refused = provider
        .requests()
        .iter()
        .filter(|r| result(r).contains("There is no tool \"task\""))
        .count();
    assert_eq!(refused, 1);
    let (provider, builder) = with(rules(), vec![kind("x", "b")]);
    let mut agent = builder.max_depth(2).build().await.unwrap();
    agent.run("delegate").await.unwrap();
    let requests = provider.requests();
    assert_eq!(tools_of(&requests[1]), ["multiply", "get_time", "task"]);
    assert_eq!(tools_of(&requests[2]), ["multiply", "get_time"]);
}

#[tokio::test]
async fn an_earlier_task_goes_on_by_its_id() {
    let store = memory();
    let (_provider, builder) = with(delegates("worker"), vec![kind("worker", "b")]);
    let mut agent = builder.store(store.clone()).build().await.unwrap();
    agent.run("delegate").await.unwrap();
    let id = store.subagents(agent.session().id()).await.unwrap().rows[0].id.to_string();
    assert!(seen(agent.session()).await[2].contains(&id));
    let (provider, builder) = with(
        vec![
            Rule::on_text("go on").calls(
                "t2",
                "task",
                &json!({"prompt": "and now?", "resume": id}),
            ),
            Rule::on_text("and now?").says("now 4 issues"),
            Rule::on_text("a stranger's").calls(
                "t3",
                "task",
                &json!({"prompt": "x", "resume": agent.session().id().as_str()}),
            ),
            Rule::always().says("ok"),
        ],
        vec![kind("worker", "b")],
    );
    let session = agent.session().clone();
    let mut agent = builder.store(store.clone()).session(session).build().await.unwrap();
    agent.run("go on").await.unwrap();
    assert_eq!(
        sent(&provider.requests()[1]),
        ["user: review", "assistant: found 3 issues", "user: and now?"]
    );
    assert_eq!(provider.requests()[1].input.system.to_string(), "b");
    assert_eq!(store.subagents(agent.session().id()).await.unwrap().rows.len(), 1);
    agent.run("a stranger's").await.unwrap();
    assert!(result(provider.requests().last().unwrap()).contains("is no task of this session"));
}

#[tokio::test]
async fn an_ephemeral_one_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = SessionStore::open_root(folder.path()).unwrap();
    let (provider, builder) = with(delegates("worker"), vec![kind("worker", "b")]);
    let mut agent = builder.store(store.clone()).ephemeral_subagents().build().await.unwrap();
    assert_eq!(agent.run("delegate").await.unwrap().text, "done");
    assert_eq!(result(&provider.requests()[2]), "tool: found 3 issues");
    assert_eq!(files(folder.path()).len(), 1);
    assert!(store.subagents(agent.session().id()).await.unwrap().rows.is_empty());
    // Nor may it have sub-agents of its own, however deep it lives.
    assert_eq!(tools_of(&provider.requests()[1]), ["multiply", "get_time"]);
}

#[tokio::test]
async fn a_child_at_work_can_be_steered() {
    let slot = Arc::new(Mutex::new(None::<Tasks>));
    let tasks = Arc::clone(&slot);
    let heard = Arc::new(Mutex::new((false, false)));
    let noted = Arc::clone(&heard);
    let mut rules = delegates("worker");
    rules[1] = Rule::on_text("review")
        .does(move || {
            let tasks = tasks.lock().unwrap().clone().unwrap();
            let id = tasks.running().pop().unwrap();
            *noted.lock().unwrap() =
                (tasks.steer(&id, "look at tests too"), tasks.follow_up(&id, "and sum up"));
        })
        .says("first");
    rules.push(Rule::on_text("look at tests too").says("second"));
    rules.push(Rule::on_text("and sum up").says("third"));
    let (provider, builder) = with(rules, vec![kind("worker", "b")]);
    let mut agent = builder.build().await.unwrap();
    let tasks = agent.tasks().unwrap();
    assert!(!tasks.steer("none", "x") && !tasks.follow_up("none", "x"));
    *slot.lock().unwrap() = Some(tasks);
    agent.run("delegate").await.unwrap();
    assert_eq!(*heard.lock().unwrap(), (true, true));
    assert!(result(provider.requests().last().unwrap()).starts_with("tool: third"));
    let tasks = agent.tasks().unwrap();
    assert_eq!(tasks.running(), [""; 0], "it has ended");
}

#[tokio::test]
async fn cancelling_the_parent_cancels_the_child_and_both_keep_what_is_done() {
    let store = memory();
    let mut rules = delegates("worker");
    let slot = Arc::new(Mutex::new(None::<forkwood_agent::Handle>));
    let stop = Arc::clone(&slot);
    rules[1] = Rule::on_text("review")
        .does(move || stop.lock().unwrap().as_ref().unwrap().cancel())
        .step(Step::Stall);
    let (_provider, builder) = with(rules, vec![kind("worker", "b")]);
    let mut agent = builder.store(store.clone()).build().await.unwrap();
    *slot.lock().unwrap() = Some(agent.handle());
    assert_eq!(agent.run("delegate").await.unwrap().stop, RunStop::Cancelled);
    assert_eq!(seen(agent.session()).await[2], "tool: ! Tool call interrupted by user");
    let id = store.subagents(agent.session().id()).await.unwrap().rows[0].id.to_string();
    let child = store.open(&id).await.unwrap();
    assert_eq!(seen(&child).await, ["user: review"]);
    assert!(all_text(&child).await.contains("cancelled"));
}
