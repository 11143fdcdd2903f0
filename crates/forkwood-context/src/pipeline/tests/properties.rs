//! What holds for any conversation.

use super::*;
use crate::pair_tools;

fn conversation() -> impl Strategy<Value = Vec<Message>> {
    let group = (1..4_usize, 0..25_000_usize, prop::bool::weighted(0.8));
    let turn = (0..3_000_usize, prop::collection::vec(group, 0..4));
    prop::collection::vec(turn, 1..20).prop_map(|turns| {
        let mut out = Vec::new();
        for (text, groups) in turns {
            out.push(Message::user("q".repeat(text)));
            for (count, len, answered) in groups {
                let first = out.len();
                let id = |at: usize| format!("c{}", first * 10 + at);
                let call = |at| Block::tool_call(id(at), "f", Json::empty_object());
                let blocks = Content::Blocks((0..count).map(call).collect());
                out.push(Message::new(Role::Assistant, blocks));
                if answered {
                    out.extend((0..count).map(|at| Message::tool(id(at), "r".repeat(len))));
                }
            }
            out.push(Message::assistant("a"));
        }
        out
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    #[test]
    fn never_over_budget_and_always_paired(
        messages in conversation(),
        budget in 800_u64..20_000,
        mask in 0..16_u8,
        fails: bool,
    ) {
        let on = |bit: u8| mask & (1 << bit) != 0;
        let mut config = Config::with_budget(budget);
        config.spill = config.spill.filter(|_| on(0));
        config.snip = config.snip.filter(|_| on(1));
        config.micro = config.micro.filter(|_| on(2));
        config.summary = config.summary.filter(|_| on(3));
        let mut session = Session::new(config);
        messages.into_iter().for_each(|message| session.push(message));
        let before = session.view();
        let counting = Counting { fails, ..Counting::default() };
        let out = session.prepare(Some(&Disk), Some(&counting));
        prop_assert!(out.tokens_after <= budget, "{} {:?}", out.tokens_after, out.layers);
        prop_assert_eq!(out.view.messages.len(), out.view.entry_ids.len());
        // Calls that never had a result get one on the way out; no layer makes others.
        let calls_before = pair_tools(&before.messages, &before.entry_ids).changes.len();
        let after = pair_tools(&out.view.messages, &out.view.entry_ids).changes.len();
        prop_assert!(after <= calls_before);
        if fails {
            prop_assert!(out.compaction.is_none());
        }
        if out.tokens_before <= session.pipeline.config().threshold() {
            prop_assert_eq!(&out.view, &before);
        } else if out.compaction.is_some() {
            // What is written folds to what is sent, but for the layers behind it.
            let folded = session.view();
            let same = folded.messages == out.view.messages;
            prop_assert!(same || out.layers.len() > 1);
            prop_assert_eq!(&folded.messages[0], &out.view.messages[0]);
        }
    }
}
