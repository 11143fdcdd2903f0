//! Models, tools, providers and neighbours that do what they should not.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use forkwood::{Json, Message, Session, SessionStore};
use forkwood_agent::{
    AgentError, ErrorKind, Event, FnTool, Handle, Rule, RunStop, Step, StopReason, Subagent,
    Subagents, ToolCall, ToolOutput, ToolRun, Tools, Usage, Workspace, tool::builtin,
};
use forkwood_context::{Config, is_paired};
use serde_json::json;

use crate::common::*;

type Slot = Arc<Mutex<Option<Handle>>>;

/// A tool in which another writer of the session does something.
fn meddling<F, R>(session: &Session, meddle: F) -> FnTool<Nothing>
where
    F: Fn(Session) -> R + Send + Sync + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    let session = session.clone();
    FnTool::new("meddle", "Takes effect, while another writes.", move |_: Nothing, _run| {
        let mut other = session.clone();
        let done = other.reload();
        let meddled = pollster(done);
        meddled.unwrap();
        let work = meddle(other);
        async move {
            work.await;
            Ok("took effect".into())
        }
    })
}

/// Memory and files do their work within the first poll.
fn pollster<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(done) => done,
        std::task::Poll::Pending => panic!("it waits"),
    }
}

fn meddles() -> [Rule; 2] {
    [Rule::on_text("go").calls("c1", "meddle", &json!({})), Rule::always().says("done")]
}

#[tokio::test]
async fn what_others_append_in_the_middle_of_a_run_costs_no_step() {
    let store = memory();
    let made = session(&store).await;
    let tool = meddling(&made, |mut other| async move {
        other.add_message(Message::user("from elsewhere")).await.unwrap();
    });
    let (provider, builder) = scripted(meddles());
    let mut agent = builder.store(store).session(made).tool(tool).build().await.unwrap();
    assert_eq!(agent.run("go").await.unwrap().text, "done");
    let told = sent(&provider.requests()[1]);
    assert_eq!(
        told,
        ["user: go", "assistant: [meddle c1]", "tool: took effect", "user: from elsewhere"]
    );
    let kept = seen(agent.session()).await;
    assert_eq!(kept.iter().filter(|line| line.contains("took effect")).count(), 1, "{kept:?}");
    assert!(agent.open_operations().await.unwrap().is_empty());
    assert!(agent.session().check().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_lane_that_others_move_elsewhere_in_the_middle_of_a_run_is_a_conflict() {
    let store = memory();
    let made = session(&store).await;
    let (_provider, builder) = scripted([Rule::always().says("first")]);
    let mut before = builder.store(store.clone()).session(made).build().await.unwrap();
    before.run("hello").await.unwrap();
    let there = before.session().leaf().cloned().unwrap();
    let tool = meddling(before.session(), move |mut other| {
        let there = there.clone();
        async move { other.rewind(&there).await.unwrap() }
    });
    let (_provider, builder) = scripted(meddles());
    let session = before.session().clone();
    let mut agent = builder.store(store).session(session).tool(tool).build().await.unwrap();
    let error = agent.run("go").await.unwrap_err();
    assert_eq!(error.storage_kind(), Some(forkwood::ErrorKind::Conflict));
    // What the tool did is known: behind its call, where nobody else stands.
    let told = error.to_string();
    let AgentError::Moved { lane: Some(lane), entries, .. } = error else { panic!("{error}") };
    assert!(told.contains(&format!("kept on the lane {lane}")), "{told}");
    let mut aside = agent.session().clone();
    aside.use_lane(forkwood::Lane::new(&lane).unwrap()).await.unwrap();
    assert_eq!(
        seen(&aside).await[2..],
        ["user: go", "assistant: [meddle c1]", "tool: took effect"]
    );
    assert_eq!(aside.leaf(), entries.last());
    assert_eq!(*agent.session().lane(), forkwood::Lane::main());
    // What the other wanted stands, and the agent is as good as new.
    assert_eq!(agent.resume().await.unwrap(), None);
    assert_eq!(seen(agent.session()).await, ["user: hello", "assistant: first"]);
    assert_eq!(agent.run("again").await.unwrap().text, "done");
    assert!(agent.open_operations().await.unwrap().is_empty());
}

#[tokio::test]
async fn all_results_of_a_turn_are_kept_where_the_lane_is_moved_in_the_middle_of_it() {
    let store = memory();
    let made = session(&store).await;
    let (_provider, builder) = scripted([Rule::always().says("first")]);
    let mut before = builder.store(store.clone()).session(made).build().await.unwrap();
    before.run("hello").await.unwrap();
    let there = before.session().leaf().cloned().unwrap();
    let tool = meddling(before.session(), move |mut other| {
        let there = there.clone();
        async move { other.rewind(&there).await.unwrap() }
    })
    .parallel();
    let slow = FnTool::new("slow", "Ends last.", |_: Nothing, _run| async move {
        tokio::time::sleep(Duration::from_millis(5)).await;
        Ok("slow as well".into())
    })
    .parallel();
    let (_provider, builder) = scripted([
        Rule::on_text("go").calls("c1", "meddle", &json!({})).calls("c2", "slow", &json!({})),
        Rule::always().says("done"),
    ]);
    let session = before.session().clone();
    let builder = builder.store(store).session(session).tool(tool).tool(slow);
    let mut agent = builder.build().await.unwrap();
    let error = agent.run("go").await.unwrap_err();
    let AgentError::Moved { lane: Some(lane), entries, .. } = error else { panic!("{error}") };
    assert_eq!(entries.len(), 2);
    let mut aside = agent.session().clone();
    aside.use_lane(forkwood::Lane::new(&lane).unwrap()).await.unwrap();
    assert_eq!(seen(&aside).await[4..], ["tool: took effect", "tool: slow as well"]);
    assert_eq!(agent.run("again").await.unwrap().text, "done");
    assert!(agent.open_operations().await.unwrap().is_empty());
    assert!(agent.session().check().await.unwrap().is_empty());
}

#[tokio::test]
async fn two_agents_in_one_session_work_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let store = SessionStore::open_root(folder.path()).unwrap();
    let made = session(&store).await;
    let id = made.id().to_string();
    let work = |who: &'static str| {
        let id = id.clone();
        let root = folder.path().to_path_buf();
        async move {
            let store = SessionStore::open_root(&root).unwrap();
            let session = store.open(&id).await.unwrap();
            let count = Arc::new(AtomicUsize::new(0));
            let (provider, builder) = scripted([
                Rule::when(move |request| {
                    let last = request.input.view.messages.last();
                    last.is_some_and(|last| last.role == forkwood::Role::User)
                })
                .calls("", "multiply", &json!({"a": 6, "b": 7})),
                Rule::always().says(format!("{who} is done")),
            ]);
            let mut agent =
                builder.store(store).session(session).tool(multiply(&count)).build().await.unwrap();
            for n in 0..10 {
                let said = format!("{who} {n}");
                while let Err(error) = agent.run(said.as_str()).await {
                    assert_eq!(error.storage_kind(), Some(forkwood::ErrorKind::Locked));
                    tokio::task::yield_now().await;
                }
            }
            assert!(provider.requests().iter().all(|r| is_paired(&r.input.view.messages)));
            count.load(Ordering::SeqCst)
        }
    };
    let (a, b) = tokio::join!(work("a"), work("b"));
    let session = store.open(&id).await.unwrap();
    let all = seen(&session).await;
    assert_eq!(all.iter().filter(|line| line.starts_with("user: ")).count(), 20);
    assert_eq!(all.iter().filter(|line| *line == "tool: 42").count(), a + b);
    // No turn of the one has anything of the other in it.
    let turns: Vec<&[String]> = all.chunks(4).collect();
    assert!(
        turns.iter().all(|turn| turn[3].starts_with(&format!("assistant: {}", &turn[0][6..7])))
    );
    assert!(session.check().await.unwrap().is_empty());
}

#[tokio::test]
async fn what_a_living_run_has_open_is_not_taken_for_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let store = SessionStore::open_root(folder.path()).unwrap();
    let made = session(&store).await;
    let (id, root) = (made.id().to_string(), folder.path().to_path_buf());
    let tool = FnTool::new("look", "Another agent comes.", move |_: Nothing, _run| {
        let (id, root) = (id.clone(), root.clone());
        async move {
            let store = SessionStore::open_root(&root).unwrap();
            let session = store.open(&id).await.unwrap();
            let before = all_text(&session).await;
            let (provider, builder) = scripted([Rule::always().says("me too")]);
            let mut other = builder.store(store).session(session).build().await.unwrap();
            assert!(other.is_at_work().await.unwrap());
            let errors = [
                other.resume().await.unwrap_err(),
                other.run("and me").await.unwrap_err(),
                other.proceed().await.unwrap_err(),
                other.compact(None).await.unwrap_err(),
            ];
            let locked = Some(forkwood::ErrorKind::Locked);
            assert!(errors.iter().all(|error| error.storage_kind() == locked), "{errors:?}");
            assert!(provider.requests().is_empty());
            assert_eq!(all_text(other.session()).await, before);
            Ok("seen".into())
        }
    });
    let (_provider, builder) = scripted([
        Rule::on_text("go").calls("c1", "look", &json!({})),
        Rule::always().says("done"),
    ]);
    let mut agent = builder.store(store).session(made).tool(tool).build().await.unwrap();
    assert_eq!(agent.run("go").await.unwrap().text, "done");
    assert_eq!(seen(agent.session()).await[2], "tool: seen");
    assert!(!agent.is_at_work().await.unwrap());
}

#[tokio::test]
async fn one_of_several_calls_panics_and_the_others_are_kept() {
    let fragile = FnTool::new("fragile", "Panics.", |_: Nothing, run: ToolRun| async move {
        tokio::task::yield_now().await;
        assert!(run.call.id != "c2", "it panics");
        Ok(ToolOutput::text(format!("fine {}", run.call.id)))
    })
    .parallel();
    let (_provider, builder) = scripted([
        Rule::on_text("go")
            .calls("c1", "fragile", &json!({}))
            .calls("c2", "fragile", &json!({}))
            .calls("c3", "fragile", &json!({})),
        Rule::always().says("ok"),
    ]);
    let mut agent = builder.tool(fragile).build().await.unwrap();
    assert_eq!(agent.run("go").await.unwrap().text, "ok");
    let mut said = seen(agent.session()).await[2..5].to_vec();
    said.sort();
    assert_eq!(said, ["tool: ! the tool failed: it panicked", "tool: fine c1", "tool: fine c3"]);
    assert!(agent.open_operations().await.unwrap().is_empty());
}

#[tokio::test]
async fn any_id_name_and_arguments_come_to_an_end() {
    let ids = ["", "../../etc/passwd", "a\0b", "\u{202e}x", &"i".repeat(5000), "c\nd"];
    let names = ["multiply", "", "../multiply", "no\0pe", &"n".repeat(5000), "\u{1f600}"];
    let deep = format!("{}{}", "[".repeat(3000), "]".repeat(3000));
    let arguments =
        ["{}", "null", "[]", "\"{\\\"a\\\": 1\"", "1e999", "{\"a\":\"\\ud800\"}", &deep];
    let mut rule = Rule::on_turn(0);
    for (n, id) in ids.iter().enumerate() {
        for (m, arguments) in arguments.iter().enumerate() {
            let arguments = Json::parse(arguments).unwrap();
            let name = names[(n + m) % names.len()];
            let call = ToolCall::new(*id, name, arguments);
            rule = rule.step(Step::Event(Event::ToolCall(call)));
        }
    }
    let wanted = ids.len() * arguments.len();
    let (provider, builder) = scripted([rule, Rule::always().says("ok")]);
    let folder = tempfile::tempdir().unwrap();
    let store = SessionStore::open_root(folder.path()).unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let mut agent = builder.store(store).tool(multiply(&count)).build().await.unwrap();
    assert_eq!(agent.run("go").await.unwrap().text, "ok");
    assert_eq!(count.load(Ordering::SeqCst), 0);
    let messages = &provider.requests()[1].input.view.messages;
    assert_eq!(messages.len(), 2 + wanted);
    assert!(is_paired(messages));
    assert!(agent.session().check().await.unwrap().is_empty());
}

#[tokio::test]
async fn huge_outputs_are_kept_whole_and_sent_cut() {
    let huge = FnTool::new("huge", "Says much.", |_: Nothing, _run| async {
        Ok(ToolOutput::text("\u{1f600}x\0\n".repeat(1 << 20)))
    });
    let rules = [Rule::on_text("go").calls("c1", "huge", &json!({})), Rule::always().says("ok")];
    let (provider, builder) = scripted(rules);
    let config = Config::with_budget(20_000);
    let mut agent = builder.tool(huge).budget(Some(config)).build().await.unwrap();
    assert_eq!(agent.run("go").await.unwrap().text, "ok");
    assert_eq!(seen(agent.session()).await[2].len(), "tool: ".len() + (7 << 20));
    assert!(sent(&provider.requests()[1]).concat().len() < 80_000);
}

#[tokio::test]
async fn streams_of_garbage_become_answers_or_errors() {
    let event = |event: Event| Step::Event(event);
    let many: Vec<Step> = (0..5000).map(|_| event(Event::Text(String::new()))).collect();
    let odd = vec![
        event(Event::ThinkingEnd(None)),
        event(Event::ThinkingEnd(Some(String::new()))),
        event(Event::Usage(Usage { input: u64::MAX, cache_read: u64::MAX, ..Usage::default() })),
        event(Event::Text("a\0b\u{feff}".into())),
        event(Event::Thinking("after the text".into())),
        event(Event::Usage(Usage::new(u64::MAX, u64::MAX / 2))),
        event(Event::Stop(StopReason::ToolUse)),
        event(Event::Text("after the end".into())),
    ];
    let nothing = vec![event(Event::Stop(StopReason::Stop))];
    for steps in [many, odd, nothing] {
        let rule = steps.into_iter().fold(Rule::always(), Rule::step);
        let (_provider, builder) = scripted([rule]);
        let mut agent = builder.build().await.unwrap();
        assert_eq!(agent.run("go").await.unwrap().stop, RunStop::Done);
        // And again, with what came of it in the request.
        assert_eq!(agent.run("again").await.unwrap().stop, RunStop::Done);
        let text = all_text(agent.session()).await;
        assert!(!text.contains("after the end"), "{text}");
        assert_eq!(agent.session().check().await.unwrap(), []);
    }
}

#[tokio::test]
async fn a_tool_that_no_provider_would_take_is_refused_by_name() {
    for name in ["", "a b", "files.read", "caf\u{e9}", &"n".repeat(65)] {
        let (_provider, builder) = scripted([]);
        let error = builder.tool(saying(name, "x")).build().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{name:?}");
        assert!(error.to_string().contains(&format!("{name:?}")), "{error}");
    }
    assert!(Tools::new().add(Arc::new(saying(&"n".repeat(64), "x"))).is_ok());
}

#[tokio::test]
async fn one_task_is_not_set_to_work_twice_at_the_same_time() {
    let worker = Subagent { name: "worker".into(), description: "w".into(), ..Subagent::default() };
    let store = memory();
    let first = Rule::on_text("delegate").calls(
        "t1",
        "task",
        &json!({"prompt": "review", "agent_type": "worker"}),
    );
    let (_provider, builder) = scripted([first, Rule::always().says("ok")]);
    let mut agent = builder
        .store(store.clone())
        .subagents(Subagents::of(vec![worker.clone()]))
        .build()
        .await
        .unwrap();
    agent.run("delegate").await.unwrap();
    let session = agent.session().clone();
    let id = store.subagents(session.id()).await.unwrap().rows[0].id.to_string();
    let again = json!({"prompt": "more", "resume": id});
    let rules = [
        Rule::on_text("twice").calls("t2", "task", &again).calls("t3", "task", &again),
        Rule::always().says("ok"),
    ];
    let (_provider, builder) = scripted(rules);
    let mut agent = builder
        .store(store.clone())
        .session(session)
        .subagents(Subagents::of(vec![worker]))
        .build()
        .await
        .unwrap();
    agent.run("twice").await.unwrap();
    let said = seen(agent.session()).await;
    assert_eq!(said.iter().filter(|line| line.contains("is at work already")).count(), 1);
    let child = store.open(&id).await.unwrap();
    assert_eq!(
        seen(&child).await,
        ["user: review", "assistant: ok", "user: more", "assistant: ok"]
    );
}

/// A summary for which one would wait for ever.
fn stalled() -> [Rule; 2] {
    [
        Rule::when(|request| request.max_tokens.is_some()).step(Step::Stall),
        Rule::always().says("a long answer ".repeat(200)),
    ]
}

#[tokio::test]
async fn a_summary_can_be_stopped() {
    let config =
        Config { summary: Config::default().summary, fit: true, ..Config::without_layers(4000) };
    let (_provider, builder) = scripted(stalled());
    let mut agent = builder.budget(Some(config)).build().await.unwrap();
    let handle: Slot = Arc::new(Mutex::new(Some(agent.handle())));
    let stop = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        handle.lock().unwrap().as_ref().unwrap().cancel();
    };
    // Until a request would be too long.
    let runs = async {
        loop {
            let outcome = agent.run("go on").await.unwrap();
            if outcome.stop == RunStop::Cancelled {
                break;
            }
        }
    };
    let both = async { tokio::join!(runs, stop) };
    tokio::time::timeout(Duration::from_secs(20), both).await.unwrap();
    let said = seen(agent.session()).await;
    assert_eq!(said.last().unwrap(), "user: go on");
    assert!(agent.open_operations().await.unwrap().is_empty());
    // One that a person asked for, too.
    let handle = agent.handle();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        handle.cancel();
    };
    let both = async { tokio::join!(agent.compact(None), stop).0 };
    let error = tokio::time::timeout(Duration::from_secs(20), both).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Compaction);
    assert_eq!(seen(agent.session()).await, said);
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_in_the_place_of_a_temporary_file_leads_nowhere() {
    let outside = tempfile::tempdir().unwrap();
    let inside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret");
    std::fs::write(&secret, "untouched").unwrap();
    // A command knows the id of its parent, and so did the name.
    let guess = inside.path().join(format!(".note.txt.{}.tmp", std::process::id()));
    std::os::unix::fs::symlink(&secret, &guess).unwrap();
    let workspace = Workspace::new(inside.path()).unwrap();
    let write = json!({"path": "note.txt", "content": "overwritten"});
    let rules = [Rule::on_text("go").calls("c1", "write", &write), Rule::always().says("ok")];
    let (_provider, builder) = scripted(rules);
    let mut agent = builder.tools(builtin::writing(&workspace)).build().await.unwrap();
    agent.run("go").await.unwrap();
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "untouched");
    assert_eq!(std::fs::read_to_string(inside.path().join("note.txt")).unwrap(), "overwritten");
    // And nothing is left beside it.
    assert_eq!(std::fs::read_dir(inside.path()).unwrap().count(), 2);
}
