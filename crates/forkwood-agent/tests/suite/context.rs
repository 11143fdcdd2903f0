//! Requests keep within their budget, whatever the session has grown to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use forkwood::EntryKind;
use forkwood_agent::{
    AgentEvent, Events, FnTool, ProviderErrorKind, Replay, Request, Rule, RunStop,
    ScriptedProvider, SpillFolder, Step, Subagent, Subagents, ToolOutput, Usage,
};
use forkwood_context::estimate::{Estimator, Front};
use forkwood_context::{Config, is_paired};
use serde_json::json;

use crate::common::*;

fn tokens(request: &Request) -> u64 {
    let input = &request.input;
    let front = Front { system: &input.system, tools: &input.tools };
    Estimator::new().meter(None, false).request(front, &input.view.messages)
}

fn is_summary(request: &Request) -> bool {
    request.max_tokens.is_some()
}

/// A model that works on and on: a tool each turn, an answer every tenth.
fn busy() -> Vec<Rule> {
    vec![
        Rule::when(is_summary).says("<summary>what was said so far</summary>"),
        Rule::when(|request| {
            let results = request.input.view.messages.iter().rev();
            results.take_while(|m| m.role != forkwood::Role::User).count() >= 18
        })
        .says("that is it for now"),
        Rule::always().says("and on").calls("", "work", &json!({})),
    ]
}

fn work() -> FnTool<Nothing> {
    FnTool::new("work", "Works.", |_: Nothing, _run| async {
        Ok(ToolOutput::text("a result of some length, again and again. ".repeat(12)))
    })
    .replay(Replay::Safe)
}

#[tokio::test]
async fn no_request_of_a_long_run_passes_the_budget() {
    let full = std::env::var_os("FORKWOOD_TEST_FULL").is_some();
    let wanted = if full { 5000 } else { 200 };
    // Without a summary the context is all that was said, and each turn looks at all of it.
    let without = if full { 1000 } else { 200 };
    let budget = 4000;
    // All layers: those without a model do. And the summary alone.
    let alone =
        Config { summary: Config::default().summary, fit: true, ..Config::without_layers(budget) };
    assert_eq!(long_run(without, Config::with_budget(budget)).await, 0);
    assert!(long_run(wanted, alone).await > 3);
}

/// Gives the number of compactions.
async fn long_run(wanted: u32, config: Config) -> usize {
    let budget = config.budget;
    let most = Arc::new(AtomicUsize::new(0));
    let bad = Arc::new(AtomicUsize::new(0));
    let (seen_most, seen_bad) = (Arc::clone(&most), Arc::clone(&bad));
    // Looks at each request and answers none.
    let watch = Rule::when(move |request| {
        if !is_summary(request) {
            let tokens = usize::try_from(tokens(request)).unwrap();
            seen_most.fetch_max(tokens, Ordering::SeqCst);
            if !is_paired(&request.input.view.messages) {
                seen_bad.fetch_add(1, Ordering::SeqCst);
            }
        }
        false
    });
    let provider = Arc::new(
        ScriptedProvider::new([watch].into_iter().chain(busy()).collect::<Vec<_>>()).forgetful(),
    );
    let mut agent = builder(&provider)
        .prompt("You work on and on.")
        .tool(work())
        .budget(Some(config))
        .build()
        .await
        .unwrap();
    agent.session_mut().set_durability(forkwood::Durability::Os);
    let mut turns = 0;
    while turns < wanted {
        let outcome = agent.run("go on").await.unwrap();
        assert_eq!(outcome.stop, RunStop::Done);
        turns += outcome.turns;
    }
    let most = u64::try_from(most.load(Ordering::SeqCst)).unwrap();
    assert!(most <= budget, "a request had {most} tokens");
    assert!(most > budget / 2, "the budget was never in reach: {most}");
    assert_eq!(bad.load(Ordering::SeqCst), 0, "requests with unpaired calls");
    let kinds = kinds(agent.session()).await;
    // The log itself is whole.
    let history = agent.session().full_history().await.unwrap();
    assert!(history.len() > wanted as usize * 19 / 10);
    kinds.iter().filter(|kind| **kind == EntryKind::Compaction).count()
}

#[tokio::test]
async fn an_overflow_leads_to_one_compaction_and_one_retry() {
    let (provider, builder) = scripted([
        Rule::when(is_summary).says("<summary>the start</summary>").costs(Usage::new(50, 5)),
        Rule::on_text("third").times(1).fails(ProviderErrorKind::Overflow, "prompt is too long"),
        Rule::always().says("ok"),
    ]);
    let compacted = Arc::new(AtomicUsize::new(0));
    let told = Arc::clone(&compacted);
    let mut agent = builder
        .events(Events::to(move |event| {
            if matches!(event, AgentEvent::Compacted { .. }) {
                told.fetch_add(1, Ordering::SeqCst);
            }
        }))
        .build()
        .await
        .unwrap();
    agent.run("first").await.unwrap();
    agent.run("second").await.unwrap();
    assert_eq!(agent.run("third").await.unwrap().text, "ok");
    assert_eq!(compacted.load(Ordering::SeqCst), 1);
    let last = provider.requests().pop().unwrap();
    assert!(sent(&last)[0].contains("the start"), "{:?}", sent(&last));
    let latest = agent.session().latest_compaction().await.unwrap().unwrap();
    match latest.entry.body {
        forkwood::Body::Compaction(compaction) => assert!(compaction.usage.is_some()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_overflow_that_stays_ends_the_run_after_one_retry() {
    let (provider, builder) = scripted([
        Rule::when(is_summary).says("<summary>x</summary>"),
        Rule::on_text("first").times(1).says("ok"),
        Rule::always().fails(ProviderErrorKind::Overflow, "prompt is too long"),
    ]);
    let mut agent = builder.build().await.unwrap();
    agent.run("first").await.unwrap();
    let error = agent.run("second").await.unwrap_err();
    assert!(error.to_string().contains("too long"), "{error}");
    let asked = provider.requests().iter().filter(|r| !is_summary(r)).count();
    assert_eq!(asked, 3);
    assert!(agent.open_operations().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_summary_that_fails_writes_nothing_and_the_request_is_sent() {
    let (_provider, builder) = scripted([
        Rule::when(is_summary).step(Step::BreakOff),
        Rule::always().says("x".repeat(3000)),
    ]);
    let mut agent = builder.budget(Some(Config::with_budget(1500))).build().await.unwrap();
    for _ in 0..6 {
        agent.run("again").await.unwrap();
    }
    assert!(!kinds(agent.session()).await.contains(&EntryKind::Compaction));
    assert_eq!(agent.compact(None).await.unwrap_err().kind().as_str(), "compaction");
}

#[tokio::test]
async fn another_budget_counts_from_the_next_request_on_and_tokens_are_told() {
    let (provider, builder) = scripted([
        Rule::when(is_summary).says("<summary>much</summary>"),
        Rule::always().says("x".repeat(3000)),
    ]);
    let mut agent = builder.budget(None).build().await.unwrap();
    let empty = agent.context_tokens().await.unwrap();
    for _ in 0..6 {
        agent.run("again").await.unwrap();
    }
    let tokens_then = agent.context_tokens().await.unwrap();
    assert!(tokens_then > empty + 4000, "{empty} {tokens_then}");
    assert_eq!(provider.requests().iter().filter(|r| is_summary(r)).count(), 0);
    agent.set_budget(Some(Config::with_budget(2500)));
    agent.run("again").await.unwrap();
    let last = provider.requests().pop().unwrap();
    assert!(tokens(&last) <= 2500);
    assert!(agent.context_tokens().await.unwrap() < tokens_then);
    assert!(kinds(agent.session()).await.contains(&EntryKind::Compaction));
    // And none again.
    agent.set_budget(None);
    for _ in 0..6 {
        agent.run("again").await.unwrap();
    }
    assert!(tokens(&provider.requests().pop().unwrap()) > 2500);
}

#[tokio::test]
async fn another_model_may_sum_up_where_one_failed_too_often() {
    let (provider, builder) = scripted([
        Rule::when(|r| is_summary(r) && r.model() == "demo-model").step(Step::BreakOff),
        Rule::when(is_summary).says("<summary>at last</summary>"),
        Rule::always().says("x".repeat(3000)),
    ]);
    let mut agent =
        builder.model("demo-model").budget(Some(Config::with_budget(1500))).build().await.unwrap();
    for _ in 0..8 {
        agent.run("again").await.unwrap();
    }
    let asked = provider.requests().iter().filter(|r| is_summary(r)).count();
    assert_eq!(asked, 3, "the breaker is open");
    agent.set_model("better-model", None).await.unwrap();
    agent.run("again").await.unwrap();
    assert!(kinds(agent.session()).await.contains(&EntryKind::Compaction));
}

#[tokio::test]
async fn a_person_can_ask_for_a_compaction_with_instructions() {
    let (provider, builder) = scripted([
        Rule::when(is_summary).says("<summary>about names</summary>"),
        Rule::always().says("ok"),
    ]);
    let mut agent = builder.build().await.unwrap();
    agent.run("first").await.unwrap();
    agent.run("second").await.unwrap();
    agent.compact(Some("keep the names")).await.unwrap();
    let asked = provider.requests().into_iter().find(is_summary).unwrap();
    assert!(sent(&asked)[0].contains("keep the names"));
    assert!(seen(agent.session()).await[0].contains("about names"));
}

#[tokio::test]
async fn long_outputs_go_to_files_that_tools_can_read() {
    let workspace = tempfile::tempdir().unwrap();
    let (provider, builder) =
        scripted([Rule::on_text("go").calls("c/1", "long", &json!({})), Rule::always().says("ok")]);
    let long = FnTool::new("long", "Long.", |_: Nothing, _run| async {
        Ok(ToolOutput::text("0123456789".repeat(3000)))
    });
    let store = memory();
    let session = session(&store).await;
    let folder = SpillFolder::of_workspace(workspace.path(), session.id());
    let mut agent = builder
        .store(store)
        .session(session)
        .tool(long)
        .spill(Arc::new(folder.clone()))
        .budget(Some(Config::with_budget(4000)))
        .build()
        .await
        .unwrap();
    agent.run("go").await.unwrap();
    let told = sent(provider.requests().last().unwrap()).pop().unwrap();
    assert!(told.contains("<persisted-output>") && told.len() < 3000, "{told}");
    let path = told.lines().find_map(|line| line.strip_prefix("Full: ")).unwrap();
    let file = workspace.path().join(path);
    assert!(path.starts_with(".forkwood"));
    assert_eq!(std::fs::read_to_string(&file).unwrap().len(), 30_000);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    // What the log holds is the whole of it.
    assert!(seen(agent.session()).await[2].len() > 30_000);
    folder.remove().unwrap();
    folder.remove().unwrap();
    assert!(!file.exists());
}

fn long() -> FnTool<Nothing> {
    FnTool::new("long", "Long.", |_: Nothing, _run| async {
        Ok(ToolOutput::text("0123456789".repeat(3000)))
    })
}

/// The files below a folder, relative to it.
fn below(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path.strip_prefix(folder).unwrap().display().to_string()),
            }
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn files_of_long_outputs_go_and_come_back_with_their_session() {
    let workspace = tempfile::tempdir().unwrap();
    let store = forkwood::SessionStore::open_workspace(workspace.path()).unwrap();
    let worker = Subagent { name: "worker".into(), description: "w".into(), ..Subagent::default() };
    let rules = || {
        vec![
            Rule::on_text("go").calls("c1", "long", &json!({})),
            Rule::on_result("c1").calls(
                "t1",
                "task",
                &json!({"prompt": "look", "agent_type": "worker"}),
            ),
            Rule::on_text("look").calls("c2", "long", &json!({})),
            Rule::always().says("ok"),
        ]
    };
    let results = workspace.path().join(".forkwood/tool-results");
    for how in ["delete", "prune"] {
        let (_provider, builder) = scripted(rules());
        let builder = builder
            .store(store.clone())
            .tool(long())
            .subagents(Subagents::of(vec![worker.clone()]))
            .workspace(workspace.path())
            .budget(Some(Config::with_budget(4000)));
        let mut agent = builder.build().await.unwrap();
        agent.run("go").await.unwrap();
        let id = agent.session().id().clone();
        let child = store.subagents(&id).await.unwrap().rows[0].id.clone();
        let files = below(&results);
        assert_eq!(files.len(), 2, "{files:?}");
        assert!(files.iter().any(|file| file.starts_with(&format!("{id}/c1"))), "{files:?}");
        assert!(
            files.iter().any(|file| file.starts_with(&format!("{id}/{child}/c2"))),
            "{files:?}"
        );
        drop(agent);
        match how {
            "delete" => drop(store.delete(id.as_str()).await.unwrap()),
            _ => {
                let before = forkwood::Timestamp::from_micros(i64::MAX);
                let options = forkwood::PruneOptions { before, dry_run: false };
                assert_eq!(store.prune(options).await.unwrap().removed.len(), 1);
            }
        }
        assert!(below(&results).is_empty());
        drop(store.restore(id.as_str()).await.unwrap());
        assert_eq!(below(&results), files);
        store.delete(id.as_str()).await.unwrap();
        store.purge(id.as_str()).await.unwrap();
        let left = below(workspace.path());
        assert!(!left.iter().any(|file| file.contains(id.as_str())), "{left:?}");
    }
}

#[tokio::test]
async fn what_is_kept_nowhere_puts_no_output_into_files() {
    let workspace = tempfile::tempdir().unwrap();
    let store = forkwood::SessionStore::open_workspace(workspace.path()).unwrap();
    let worker = Subagent { name: "worker".into(), description: "w".into(), ..Subagent::default() };
    let call = json!({"prompt": "look", "agent_type": "worker"});
    let (provider, builder) = scripted([
        Rule::on_text("go").calls("t1", "task", &call),
        Rule::on_text("look").calls("c2", "long", &json!({})),
        Rule::always().says("ok"),
    ]);
    let builder = builder
        .store(store)
        .tool(long())
        .subagents(Subagents::of(vec![worker]))
        .ephemeral_subagents()
        .spill(Arc::new(SpillFolder::at(&workspace.path().join("spilled"))))
        .budget(Some(Config::with_budget(4000)));
    let mut agent = builder.workspace(workspace.path()).build().await.unwrap();
    agent.run("go").await.unwrap();
    assert!(provider.requests().len() >= 4);
    // The log and its two locks.
    assert_eq!(below(workspace.path()).len(), 1 + 2, "{:?}", below(workspace.path()));
}

#[tokio::test]
async fn without_a_budget_nothing_is_left_out() {
    let (provider, builder) = scripted([Rule::always().says("a long answer ".repeat(500))]);
    let mut agent = builder.budget(None).build().await.unwrap();
    for _ in 0..100 {
        agent.run("go on").await.unwrap();
    }
    assert_eq!(sent(provider.requests().last().unwrap()).len(), 199);
    assert!(!kinds(agent.session()).await.contains(&EntryKind::Compaction));
}

#[tokio::test]
async fn a_second_agent_goes_on_from_the_summary_and_nobody_rewinds_before_it() {
    let (_provider, builder) = scripted([
        Rule::when(is_summary).says("<summary>about names</summary>"),
        Rule::always().says("ok"),
    ]);
    let store = memory();
    let mut agent = builder.store(store.clone()).build().await.unwrap();
    agent.run("first").await.unwrap();
    let early = agent.session().leaf().cloned().unwrap();
    agent.run("second").await.unwrap();
    let floor = agent.session().leaf().cloned().unwrap();
    agent.compact(None).await.unwrap();
    assert_eq!(agent.session().compaction_floor().await.unwrap(), Some(floor.clone()));
    let session = agent.session().clone();
    let (provider, builder) = scripted([Rule::always().says("ok")]);
    let mut agent = builder.store(store).session(session).build().await.unwrap();
    agent.run("third").await.unwrap();
    assert_eq!(provider.requests().len(), 1);
    let told = sent(&provider.requests()[0]);
    assert!(told[0].contains("about names") && told.last().unwrap() == "user: third", "{told:?}");
    let error = agent.rewind(&early, None).await.unwrap_err();
    assert_eq!(error.storage_kind(), Some(forkwood::ErrorKind::BeforeFloor));
    agent.rewind(&floor, None).await.unwrap();
    assert!(!seen(agent.session()).await[0].contains("about names"));
}

#[tokio::test]
async fn three_failed_summaries_open_the_breaker_and_the_runs_go_on() {
    let asked = Arc::new(AtomicUsize::new(0));
    let noted = Arc::clone(&asked);
    let config =
        Config { summary: Config::default().summary, fit: true, ..Config::without_layers(2000) };
    let (_provider, builder) = scripted([
        Rule::when(move |request| {
            is_summary(request) && noted.fetch_add(1, Ordering::SeqCst) < usize::MAX
        })
        .fails(ProviderErrorKind::Server, "down"),
        Rule::always().says("a long answer ".repeat(60)),
    ]);
    let mut agent = builder.budget(Some(config)).build().await.unwrap();
    for _ in 0..40 {
        assert_eq!(agent.run("go on").await.unwrap().stop, RunStop::Done);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 3);
    assert!(!kinds(agent.session()).await.contains(&EntryKind::Compaction));
}
