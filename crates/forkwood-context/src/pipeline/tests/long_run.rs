//! Long scripted runs: the request never passes the budget.

use std::sync::atomic::Ordering;

use forkwood_core::fold;

use super::*;

/// A scripted agent: questions, calls in parallel, results of odd lengths.
fn run(config: Config, turns: usize) -> (Session, Counting) {
    let budget = config.budget;
    let mut session = Session::new(config);
    let counting = Counting::default();
    let mut seed = 7_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for turn in 0..turns {
        session.push(Message::user(format!("turn {turn}: {}", "q".repeat(random(400) as usize))));
        for step in 0..random(3) {
            check(&mut session, &counting, budget);
            let count = 1 + random(3);
            let ids: Vec<String> = (0..count).map(|n| format!("t{turn}s{step}n{n}")).collect();
            let blocks =
                ids.iter().map(|id| Block::tool_call(id.as_str(), "f", Json::empty_object()));
            session.push(Message::new(Role::Assistant, Content::Blocks(blocks.collect())));
            for id in &ids {
                let len = if random(50) == 0 { 25_000 } else { random(1_200) };
                session.push(Message::tool(id.as_str(), "r".repeat(len as usize)));
            }
        }
        check(&mut session, &counting, budget);
        session.push(Message::assistant("a".repeat(random(300) as usize)));
    }
    (session, counting)
}

fn check(session: &mut Session, counting: &Counting, budget: u64) {
    let out = session.prepare(Some(&Disk), Some(counting));
    assert!(out.tokens_after <= budget, "{} > {budget}: {:?}", out.tokens_after, out.layers);
    assert!(is_paired(&out.view.messages));
    assert!(out.failure.as_ref().is_none_or(|error| error.kind() == "nothing_to_compact"));
    if out.compaction.is_some() {
        // What a real session reads: from the first entry that is kept.
        let at = fold::latest_boundary(&session.path).unwrap();
        if let Body::Compaction(compaction) = &session.path[at].body {
            let first = compaction.first_kept_entry_id.clone();
            let kept = session.path.iter().position(|entry| Some(&entry.id) == first.as_ref());
            session.path.drain(..kept.unwrap_or(at));
        }
    }
}

#[test]
fn five_thousand_turns_stay_within_the_budget() {
    let config = Config { snip: None, micro: None, ..Config::with_budget(8_000) };
    let (session, counting) = run(config, 5_000);
    let asked = counting.asked.load(Ordering::Relaxed);
    assert!(asked > 200, "{asked}");
    assert!(session.path.len() < 400, "{}", session.path.len());
}

#[test]
fn and_with_every_layer() {
    let (_, counting) = run(Config::with_budget(3_000), 300);
    assert!(counting.asked.load(Ordering::Relaxed) > 0);
    let off = Config { summary: None, ..Config::with_budget(6_000) };
    run(off, 200);
}
