//! Leaving a branch.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use forkwood::storage::disk::{Crash, SimDisk};
use forkwood::storage::jsonl::{JsonlOptions, JsonlStorage};
use forkwood::{Body, EntryId, EntryKind, SessionStore};
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
    let before = seen(agent.session()).await;
    let stood = agent.session().leaf().cloned();
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
    assert_eq!(seen(agent.session()).await, before);
    assert_eq!(agent.session().leaf().cloned(), stood);
    assert!(!kinds(agent.session()).await.contains(&EntryKind::Leaf));
    assert!(agent.open_operations().await.unwrap().is_empty());
}

fn on(disk: &SimDisk) -> SessionStore {
    let options = JsonlOptions::default().with_disk(Arc::new(disk.clone()));
    SessionStore::new(Arc::new(JsonlStorage::store(Path::new("/store"), options).unwrap()))
}

/// Two branches to be: said `plan A`, then `plan B`.
async fn two_plans(disk: &SimDisk) -> (String, EntryId) {
    let store = on(disk);
    let (_provider, builder) = scripted([Rule::always().says("ok")]);
    let session = session(&store).await;
    let mut agent = builder.store(store).session(session).build().await.unwrap();
    agent.run("plan A").await.unwrap();
    let fork = agent.session().leaf().cloned().unwrap();
    agent.run("plan B").await.unwrap();
    (agent.session().id().to_string(), fork)
}

#[tokio::test]
async fn a_branch_is_left_with_its_summary_or_not_at_all() {
    let base = SimDisk::new();
    let (id, fork) = two_plans(&base).await;
    let (mut stayed, mut left) = (0, 0);
    for stop in 0.. {
        let disk = base.copy();
        disk.stop_at_change(Some(stop));
        let (_provider, builder) = scripted([Rule::always().says("<summary>B failed</summary>")]);
        let store = on(&disk);
        let session = store.open(&id).await.unwrap();
        let mut agent = builder.store(store).session(session).build().await.unwrap();
        let done = agent.rewind(&fork, Some(&BranchOptions::default())).await.is_ok();
        disk.crash(Crash { unsynced_bytes: 97, unsynced_names: true, zeroed: false });
        let store = on(&disk);
        let session = store.open(&id).await.unwrap();
        let texts = seen(&session).await;
        match texts.len() {
            4 => stayed += 1,
            // Never the place that was gone to without its summary.
            3 => {
                assert!(texts[2].contains("B failed"), "stopped at {stop}: {texts:?}");
                left += 1;
            }
            _ => panic!("stopped at {stop}: {texts:?}"),
        }
        let (_provider, builder) = scripted([Rule::always().says("fine")]);
        let mut agent = builder.store(store).session(session).build().await.unwrap();
        let open = agent.open_operations().await.unwrap();
        assert!(open.iter().all(|open| open.kind == "navigation" && open.on_path), "{open:?}");
        assert_eq!(agent.run("next").await.unwrap().text, "fine");
        assert!(agent.open_operations().await.unwrap().is_empty());
        if done {
            break;
        }
    }
    assert!(stayed >= 2 && left >= 1, "{stayed} {left}");
}

#[tokio::test]
async fn a_process_that_dies_while_a_summary_is_waited_for_leaves_a_note_of_it() {
    let disk = SimDisk::new();
    let (id, fork) = two_plans(&disk).await;
    for kind in ["navigation", "compaction"] {
        let store = on(&disk);
        let session = store.open(&id).await.unwrap();
        let before = seen(&session).await;
        let (provider, builder) = scripted([Rule::always().step(Step::Stall)]);
        let mut agent = builder.store(store).session(session).build().await.unwrap();
        let options = BranchOptions::default();
        let work = async {
            match kind {
                "navigation" => agent.rewind(&fork, Some(&options)).await.map(|_| ()),
                _ => agent.compact(None).await.map(|_| ()),
            }
        };
        let asked = async {
            while provider.requests().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            done = work => panic!("{done:?}"),
            () = asked => {}
        }
        disk.crash(Crash::HARD);
        let store = on(&disk);
        let session = store.open(&id).await.unwrap();
        assert_eq!(seen(&session).await, before, "{kind}");
        let mut agent = scripted([]).1.store(store).session(session).build().await.unwrap();
        let open = agent.open_operations().await.unwrap();
        assert_eq!(open.iter().map(|open| open.kind.as_str()).collect::<Vec<_>>(), [kind]);
        // There is no run to go on with, and it is over.
        assert_eq!(agent.resume().await.unwrap(), None);
        assert!(agent.open_operations().await.unwrap().is_empty());
        let told = all_text(agent.session()).await;
        assert!(told.lines().last().unwrap().contains("interrupted"), "{told}");
    }
}
