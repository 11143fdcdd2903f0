//! Runs: what is sent, what is kept, in which order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use forkwood::{EntryKind, Role};
use forkwood_agent::{
    ErrorKind, Event, ProviderErrorKind, Retries, Rule, RunStop, ScriptedProvider, Step,
    StopReason, ToolCall, Usage,
};
use serde_json::json;

use crate::common::*;

#[tokio::test]
async fn a_question_and_its_answer() {
    let provider = Arc::new(ScriptedProvider::saying(&["hello"]));
    let mut agent = builder(&provider).prompt("Be kind.").build().await.unwrap();
    let outcome = agent.run("hi").await.unwrap();
    assert_eq!(outcome.text, "hello");
    assert_eq!(outcome.stop, RunStop::Done);
    assert_eq!(outcome.turns, 1);
    assert_eq!(seen(agent.session()).await, ["user: hi", "assistant: hello"]);
    let request = &provider.requests()[0];
    assert_eq!(request.input.system.to_string(), "Be kind.");
    assert_eq!(sent(request), ["user: hi"]);
}

#[tokio::test]
async fn a_tool_is_called_and_its_result_goes_back() {
    let (provider, builder) = scripted([
        Rule::on_result("c1").says("37*19=703"),
        Rule::on_text("37*19=?").calls("c1", "multiply", &json!({"a": 37, "b": 19})),
    ]);
    let count = Arc::new(AtomicUsize::new(0));
    let mut agent = builder.tool(multiply(&count)).build().await.unwrap();
    let outcome = agent.run("37*19=?").await.unwrap();
    assert_eq!(outcome.text, "37*19=703");
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert_eq!(
        seen(agent.session()).await,
        ["user: 37*19=?", "assistant: [multiply c1]", "tool: 703", "assistant: 37*19=703"]
    );
    assert_eq!(tools_of(&provider.requests()[0]), ["multiply"]);
    assert_eq!(sent(&provider.requests()[1]).last().unwrap(), "tool: 703");
}

#[tokio::test]
async fn the_log_has_user_assistant_tool_assistant_in_order_and_no_system_prompt() {
    let (_provider, builder) = scripted([
        Rule::on_result("c1").says("703"),
        Rule::on_text("go").calls("c1", "multiply", &json!({"a": 37, "b": 19})),
    ]);
    let count = Arc::new(AtomicUsize::new(0));
    let mut agent =
        builder.prompt("SECRET INSTRUCTIONS").tool(multiply(&count)).build().await.unwrap();
    agent.run("go").await.unwrap();
    assert_eq!(
        kinds(agent.session()).await,
        [
            EntryKind::SessionInfo,
            EntryKind::ModelChange,
            EntryKind::Message,   // user
            EntryKind::Operation, // run started
            EntryKind::Message,   // assistant with the call
            EntryKind::Operation, // tool started
            EntryKind::Message,   // its result
            EntryKind::Operation, // tool finished
            EntryKind::Message,   // assistant
            EntryKind::Operation, // run finished
        ]
    );
    assert!(!all_text(agent.session()).await.contains("SECRET"));
    assert!(agent.open_operations().await.unwrap().is_empty());
}

#[tokio::test]
async fn the_user_stays_when_the_provider_fails_and_proceed_goes_on() {
    let (_provider, builder) = scripted([
        Rule::always().times(1).says("half an ans").fails(ProviderErrorKind::Invalid, "boom"),
        Rule::always().says("whole"),
    ]);
    let mut agent = builder.build().await.unwrap();
    let error = agent.run("hi").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Provider);
    assert!(error.to_string().contains("boom"));
    assert_eq!(seen(agent.session()).await, ["user: hi"]);
    assert!(agent.open_operations().await.unwrap().is_empty());
    assert_eq!(agent.resume().await.unwrap(), None);
    assert_eq!(agent.proceed().await.unwrap().text, "whole");
    assert_eq!(seen(agent.session()).await, ["user: hi", "assistant: whole"]);
}

#[tokio::test]
async fn transient_failures_are_retried_and_lasting_ones_are_not() {
    for (kind, retried) in [
        (ProviderErrorKind::RateLimit, true),
        (ProviderErrorKind::Transport, true),
        (ProviderErrorKind::Server, true),
        (ProviderErrorKind::Auth, false),
        (ProviderErrorKind::Invalid, false),
        (ProviderErrorKind::Protocol, false),
    ] {
        let (provider, builder) = scripted([
            Rule::always().times(2).says("lost ").fails(kind, "no"),
            Rule::always().says("at last"),
        ]);
        let mut agent = builder.retries(Retries::at_once(3)).build().await.unwrap();
        let result = agent.run("hi").await;
        assert_eq!(result.is_ok(), retried, "{kind:?}");
        assert_eq!(provider.requests().len(), if retried { 3 } else { 1 });
        if retried {
            // What came in before the failure does not count.
            assert_eq!(seen(agent.session()).await, ["user: hi", "assistant: at last"]);
        }
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_asked_again_and_retries_end() {
    let (provider, builder) = scripted([Rule::always().says("half").step(Step::BreakOff)]);
    let mut agent = builder.retries(Retries::at_once(2)).build().await.unwrap();
    let error = agent.run("hi").await.unwrap_err();
    assert!(error.to_string().starts_with("transport"), "{error}");
    assert_eq!(provider.requests().len(), 3);
}

#[tokio::test]
async fn a_second_agent_sees_what_the_first_one_did() {
    let store = memory();
    let id = {
        let provider = Arc::new(ScriptedProvider::saying(&["one"]));
        let mut agent = builder(&provider).store(store.clone()).build().await.unwrap();
        agent.run("first").await.unwrap();
        agent.session().id().to_string()
    };
    let provider = Arc::new(ScriptedProvider::saying(&["two"]));
    let session = store.open(&id).await.unwrap();
    let mut agent = builder(&provider)
        .prompt("new prompt")
        .store(store)
        .session(session)
        .build()
        .await
        .unwrap();
    agent.run("second").await.unwrap();
    let request = &provider.requests()[0];
    assert_eq!(sent(request), ["user: first", "assistant: one", "user: second"]);
    // The instructions are those of the agent, whoever made the session.
    assert_eq!(request.input.system.to_string(), "new prompt");
}

#[tokio::test]
async fn after_a_rewind_the_same_agent_branches() {
    let provider = Arc::new(ScriptedProvider::saying(&["one", "two", "three"]));
    let mut agent = builder(&provider).build().await.unwrap();
    agent.run("first").await.unwrap();
    let after_first = agent.session().leaf().cloned().unwrap();
    agent.run("second").await.unwrap();
    agent.session_mut().rewind(&after_first).await.unwrap();
    agent.run("other").await.unwrap();
    assert_eq!(sent(&provider.requests()[2]), ["user: first", "assistant: one", "user: other"]);
    assert_eq!(agent.session().branches().await.unwrap().len(), 2);
}

#[tokio::test]
async fn another_handle_that_rewinds_is_followed() {
    let store = memory();
    let provider = Arc::new(ScriptedProvider::saying(&["one", "two", "three"]));
    let mut agent = builder(&provider).store(store.clone()).build().await.unwrap();
    agent.run("first").await.unwrap();
    let after_first = agent.session().leaf().cloned().unwrap();
    agent.run("second").await.unwrap();
    let mut other = store.open(agent.session().id().as_str()).await.unwrap();
    other.rewind(&after_first).await.unwrap();
    agent.run("other").await.unwrap();
    assert_eq!(sent(&provider.requests()[2]), ["user: first", "assistant: one", "user: other"]);
}

#[tokio::test]
async fn reset_leaves_the_header_and_builds_the_instructions_anew() {
    let provider = Arc::new(ScriptedProvider::saying(&["one", "two"]));
    let mut agent = builder(&provider).prompt("old").build().await.unwrap();
    agent.run("first").await.unwrap();
    agent.handle().follow_up("never said");
    agent.set_prompt("new");
    agent.reset().await.unwrap();
    assert_eq!(kinds(agent.session()).await, [EntryKind::SessionInfo]);
    assert_eq!(agent.handle().waiting(), 0);
    agent.run("again").await.unwrap();
    assert_eq!(sent(&provider.requests()[1]), ["user: again"]);
    assert_eq!(provider.requests()[1].input.system.to_string(), "new");
}

#[tokio::test]
async fn usage_is_kept_with_the_answer_and_summed_up() {
    let (_provider, builder) = scripted([
        Rule::on_result("c1").says("703").costs(Usage::new(200, 3)),
        Rule::on_text("go")
            .calls("c1", "multiply", &json!({"a": 1, "b": 2}))
            .costs(Usage { cache_read: 50, ..Usage::new(100, 20) }),
    ]);
    let count = Arc::new(AtomicUsize::new(0));
    let mut agent = builder.tool(multiply(&count)).build().await.unwrap();
    let outcome = agent.run("go").await.unwrap();
    assert_eq!(outcome.usage.input, 300);
    assert_eq!(outcome.usage.output, 23);
    assert_eq!(outcome.usage.cache_read, 50);
    let context = agent.session().context().await.unwrap();
    let kept: Usage = context.messages()[1].usage.as_ref().unwrap().to().unwrap();
    assert_eq!(kept, Usage { cache_read: 50, ..Usage::new(100, 20) });
    assert_eq!(context.messages()[1].model.as_ref().unwrap().to_string(), "fake");
    assert_eq!(context.messages()[1].provider.as_ref().unwrap().to_string(), "scripted");
}

#[tokio::test]
async fn the_maximum_of_turns_ends_a_run_with_every_call_answered() {
    let (provider, builder) =
        scripted([Rule::always().calls("", "multiply", &json!({"a": 1, "b": 2}))]);
    let count = Arc::new(AtomicUsize::new(0));
    let mut agent = builder.tool(multiply(&count)).max_turns(3).build().await.unwrap();
    let outcome = agent.run("go").await.unwrap();
    assert_eq!(outcome.stop, RunStop::MaxTurns);
    assert_eq!(outcome.turns, 3);
    assert_eq!(provider.requests().len(), 3);
    assert_eq!(count.load(Ordering::SeqCst), 3);
    let context = agent.session().context().await.unwrap();
    assert_eq!(context.messages().last().unwrap().role, Role::Tool);
    // Calls that came without an id got one each.
    let ids: std::collections::HashSet<_> = context
        .messages()
        .iter()
        .flat_map(|m| m.content.tool_calls().map(|(id, _, _)| id.to_string()).collect::<Vec<_>>())
        .collect();
    assert_eq!(ids.len(), 3);
    assert!(agent.session().check().await.unwrap().is_empty());
}

#[tokio::test]
async fn an_answer_cut_off_for_length_runs_no_tool() {
    let (_provider, builder) = scripted([
        Rule::on_text("go")
            .calls("c1", "multiply", &json!({"a": 1}))
            .calls("c2", "multiply", &json!({}))
            .stops(StopReason::Length),
        Rule::on_result("c2").says("shorter now"),
    ]);
    let count = Arc::new(AtomicUsize::new(0));
    let mut agent = builder.tool(multiply(&count)).build().await.unwrap();
    let outcome = agent.run("go").await.unwrap();
    assert_eq!(outcome.text, "shorter now");
    assert_eq!(count.load(Ordering::SeqCst), 0);
    let said = seen(agent.session()).await;
    assert!(said[2].starts_with("tool: ! Tool call not run"), "{said:?}");
    assert!(said[3].starts_with("tool: ! Tool call not run"), "{said:?}");
    let context = agent.session().context().await.unwrap();
    assert_eq!(context.messages()[1].stop_reason.as_ref().unwrap().to_string(), "length");
}

#[tokio::test]
async fn text_cut_off_for_length_and_refusals_end_the_run() {
    for (reason, stop) in
        [(StopReason::Length, RunStop::Length), (StopReason::Refused, RunStop::Refused)]
    {
        let (_provider, builder) = scripted([Rule::always().says("so far").stops(reason)]);
        let mut agent = builder.build().await.unwrap();
        assert_eq!(agent.run("go").await.unwrap().stop, stop);
        assert_eq!(seen(agent.session()).await, ["user: go", "assistant: so far"]);
    }
}

#[tokio::test]
async fn thinking_is_kept_in_its_place_with_its_signature() {
    let (_provider, builder) = scripted([Rule::always()
        .thinks("let me ")
        .thinks("see")
        .step(Step::Event(Event::ThinkingEnd(Some("sig".to_owned()))))
        .says("it is ")
        .says("so")]);
    let mut agent = builder.build().await.unwrap();
    assert_eq!(agent.run("go").await.unwrap().text, "it is so");
    let context = agent.session().context().await.unwrap();
    let blocks = context.messages()[1].content.to_blocks();
    assert_eq!(blocks.len(), 2);
    match &blocks[0] {
        forkwood::Block::Thinking { thinking, signature, .. } => {
            assert_eq!(thinking.to_string(), "let me see");
            assert_eq!(signature.as_ref().unwrap().to_string(), "sig");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn equal_ids_in_one_answer_are_told_apart() {
    let (_provider, builder) = scripted([
        Rule::on_text("go").calls("same", "multiply", &json!({"a": 1, "b": 2})).calls(
            "same",
            "multiply",
            &json!({"a": 3, "b": 4}),
        ),
        Rule::always().says("ok"),
    ]);
    let count = Arc::new(AtomicUsize::new(0));
    let mut agent = builder.tool(multiply(&count)).build().await.unwrap();
    agent.run("go").await.unwrap();
    let said = seen(agent.session()).await;
    assert_eq!(&said[2..4], ["tool: 2", "tool: 12"]);
    assert!(agent.session().check().await.unwrap().is_empty());
}

#[tokio::test]
async fn an_agent_without_model_or_provider_says_so() {
    let provider = Arc::new(ScriptedProvider::saying(&["one"]));
    let mut agent = forkwood_agent::Agent::builder()
        .provider(provider as Arc<dyn forkwood_agent::Provider>)
        .build()
        .await
        .unwrap();
    assert_eq!(agent.run("hi").await.unwrap_err().kind(), ErrorKind::NoModel);
    let mut agent = forkwood_agent::Agent::builder().model("m").build().await.unwrap();
    assert_eq!(agent.run("hi").await.unwrap_err().kind(), ErrorKind::UnknownProvider);
    let call = ToolCall::new("a", "b", forkwood::Json::empty_object());
    assert!(call.signatures.is_empty());
}
