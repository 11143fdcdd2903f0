//! Leaving a branch.

use std::time::Duration;

use forkwood::{Body, EntryKind};
use forkwood_agent::{ErrorKind, ProviderErrorKind, Rule, Step, Usage};
use forkwood_context::branch_summary::{BranchOptions, PREAMBLE};

use crate::common::*;

fn asks_for_a_summary(request: &forkwood_agent::Request) -> bool {
    request.max_tokens.is_some()
}

#[tokio::test]
async fn what_is_left_is_summed_up_from_the_common_ancestor_where_one_goes_on() {
    let (provider, builder) = scripted([
        Rule::when(asks_for_a_summary)
            .says("<summary>plan B was tried and failed</summary>")
            .costs(Usage::new(70, 7)),
        Rule::always().says("ok"),
    ]);
    let mut agent = builder.build().await.unwrap();
    agent.run("plan A").await.unwrap();
    let fork = agent.session().leaf().cloned().unwrap();
    agent.run("plan B").await.unwrap();
    let left = agent.session().leaf().cloned().unwrap();
    let options =
        BranchOptions { instructions: Some("why it failed".into()), ..BranchOptions::default() };
    let summary = agent.rewind(&fork, Some(&options)).await.unwrap().unwrap();
    let asked = provider.requests().into_iter().find(asks_for_a_summary).unwrap();
    let words = sent(&asked).concat();
    assert!(words.contains("plan B") && words.contains("why it failed"), "{words}");
    assert!(!words.contains("plan A"), "{words}");
    let stored = agent.session().get(&summary).await.unwrap().entry;
    assert_eq!(stored.parent_id.as_ref(), Some(&fork));
    match stored.body {
        Body::BranchSummary { from_id, .. } => assert_eq!(from_id, Some(left)),
        other => panic!("{other:?}"),
    }
    assert!(kinds(agent.session()).await.contains(&EntryKind::Usage));
    // The model hears of it.
    agent.run("plan C").await.unwrap();
    let told = sent(provider.requests().last().unwrap());
    assert!(told[2].contains(&format!("{PREAMBLE}plan B was tried and failed")), "{told:?}");
    assert_eq!(told.last().unwrap(), "user: plan C");
    assert!(agent.session().check().await.unwrap().is_empty());
}

#[tokio::test]
async fn without_a_wish_or_with_nothing_left_no_model_is_asked() {
    let (provider, builder) = scripted([Rule::always().says("ok")]);
    let mut agent = builder.build().await.unwrap();
    agent.run("plan A").await.unwrap();
    let fork = agent.session().leaf().cloned().unwrap();
    assert_eq!(agent.rewind(&fork, Some(&BranchOptions::default())).await.unwrap(), None);
    agent.run("plan B").await.unwrap();
    assert_eq!(agent.rewind(&fork, None).await.unwrap(), None);
    assert_eq!(seen(agent.session()).await, ["user: plan A", "assistant: ok"]);
    assert_eq!(provider.requests().len(), 2);
}

#[tokio::test]
async fn a_summary_that_fails_or_is_stopped_leaves_the_session_where_it_stands() {
    let (_provider, builder) = scripted([
        Rule::when(asks_for_a_summary).times(1).fails(ProviderErrorKind::Server, "down"),
        Rule::when(asks_for_a_summary).times(1).says("<summary> </summary>"),
        Rule::when(asks_for_a_summary).step(Step::Stall),
        Rule::always().says("ok"),
    ]);
    let mut agent = builder.build().await.unwrap();
    agent.run("plan A").await.unwrap();
    let fork = agent.session().leaf().cloned().unwrap();
    agent.run("plan B").await.unwrap();
    let before = all_text(agent.session()).await;
    for _ in 0..2 {
        let error = agent.rewind(&fork, Some(&BranchOptions::default())).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Compaction);
    }
    let handle = agent.handle();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        handle.cancel();
    };
    let options = BranchOptions::default();
    let both = async { tokio::join!(agent.rewind(&fork, Some(&options)), stop).0 };
    let error = tokio::time::timeout(Duration::from_secs(20), both).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Compaction);
    assert_eq!(all_text(agent.session()).await, before);
}
