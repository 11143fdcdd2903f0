//! Paths, and what stands before the part of a path that a context needs.

use forkwood_core::entry::Compaction;
use forkwood_core::{Body, Draft, EntryId, FoldRules, Lane, Message, SessionState, Settings};
use forkwood_storage::{Append, PathStop, SessionStorage};
use proptest::prelude::*;

use crate::common::*;

fn context(
    storage: &dyn SessionStorage,
    s: &forkwood_core::SessionId,
    at: &EntryId,
) -> Vec<EntryId> {
    let read = run(storage.path(s, at, PathStop::Context)).unwrap();
    read.entries.into_iter().map(|stored| stored.entry.id).collect()
}

#[test]
fn a_context_reads_back_to_what_the_latest_compaction_keeps() {
    each(|store| {
        let (storage, s) = (store.storage.as_ref(), store.session("s1"));
        let root = root(storage, &s);
        append(storage, &s, (1..=4).map(|n| user(n, "x")).collect());
        let all: Vec<_> = std::iter::once(root).chain((1..=4).map(id)).collect();
        assert_eq!(context(storage, &s, &id(4)), all);
        append(storage, &s, vec![compaction(5, "kept from 3", Some(&id(3))), user(6, "x")]);
        assert_eq!(context(storage, &s, &id(6)), [id(3), id(4), id(5), id(6)]);
        assert_eq!(context(storage, &s, &id(4)), all);
        // In place: it decides nothing.
        let replaces = Compaction {
            summary: "two".into(),
            replaces_entry_ids: vec![id(4), id(6)],
            ..Compaction::default()
        };
        append(storage, &s, vec![Draft::new(id(7), replaces), user(8, "x")]);
        assert_eq!(context(storage, &s, &id(8))[0], id(3));
        append(storage, &s, vec![compaction(9, "nothing kept", Some(&id(9))), user(10, "x")]);
        assert_eq!(context(storage, &s, &id(10)), [id(9), id(10)]);
        append(storage, &s, vec![compaction(11, "unknown", Some(&id(77))), user(12, "x")]);
        assert_eq!(context(storage, &s, &id(12)), [id(11), id(12)]);
        let tail = Compaction {
            summary: "tail".into(),
            first_kept_entry_id: Some(id(10)),
            retained_tail: Some(vec![Message::user("kept")]),
            ..Compaction::default()
        };
        append(storage, &s, vec![Draft::new(id(13), tail), label(14, "l", None)]);
        assert_eq!(context(storage, &s, &id(14)), [id(13)]);
        let missing = run(storage.path(&s, &id(99), PathStop::Root));
        assert_eq!(kind(missing), "not_found");
    });
}

/// One entry of a random log.
#[derive(Clone, Debug)]
enum Step {
    User,
    Assistant { model: Option<u8>, provider: Option<u8> },
    Model { model: u8, provider: Option<u8> },
    Thinking(u8),
    Tools(u8),
    Compact { keep: u8, tail: bool },
    Replace { from: u8, count: u8 },
    Label(u8),
    Edit(u8),
    Back(u8),
    Side(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let maybe = || proptest::option::of(0u8..3);
    prop_oneof![
        3 => Just(Step::User),
        3 => (maybe(), maybe()).prop_map(|(model, provider)| Step::Assistant { model, provider }),
        2 => (0u8..3, maybe()).prop_map(|(model, provider)| Step::Model { model, provider }),
        1 => (0u8..3).prop_map(Step::Thinking),
        1 => (0u8..3).prop_map(Step::Tools),
        2 => (0u8..20, any::<bool>()).prop_map(|(keep, tail)| Step::Compact { keep, tail }),
        1 => (0u8..20, 1u8..4).prop_map(|(from, count)| Step::Replace { from, count }),
        1 => any::<u8>().prop_map(Step::Label),
        1 => any::<u8>().prop_map(Step::Edit),
        2 => any::<u8>().prop_map(Step::Back),
        1 => any::<u8>().prop_map(Step::Side),
    ]
}

fn draft(n: u64, step: &Step, path: &[EntryId], all: &[EntryId]) -> (Lane, Draft) {
    let pick = |from: &[EntryId], at: u8| from[usize::from(at) % from.len()].clone();
    let name = |n: u8| format!("m{n}").as_str().into();
    let body = match step {
        Step::User => Message::user("u").into(),
        Step::Assistant { model, provider } => {
            let mut message = Message::assistant("a");
            message.model = model.map(name);
            message.provider = provider.map(name);
            message.into()
        }
        Step::Model { model, provider } => {
            Body::ModelChange { model: name(*model), provider: provider.map(name) }
        }
        Step::Thinking(level) => Body::ThinkingLevelChange { thinking_level: name(*level) },
        Step::Tools(tool) => Body::ActiveToolsChange { active_tool_names: vec![name(*tool)] },
        Step::Compact { keep, tail } => Body::Compaction(Compaction {
            summary: "s".into(),
            first_kept_entry_id: Some(pick(path, *keep)),
            retained_tail: tail.then(|| vec![Message::user("t")]),
            ..Compaction::default()
        }),
        Step::Replace { from, count } => Body::Compaction(Compaction {
            summary: "s".into(),
            replaces_entry_ids: (*from..from + count).map(|at| pick(path, at)).collect(),
            ..Compaction::default()
        }),
        Step::Label(target) => {
            Body::Label { label: Some("l".into()), target_id: Some(pick(all, *target)) }
        }
        Step::Edit(target) => {
            Body::ContextEdit { target_id: pick(path, *target), replacement: None }
        }
        Step::Back(to) | Step::Side(to) => Body::Leaf { leaf_id: Some(pick(all, *to)) },
    };
    let lane = if matches!(step, Step::Side(_)) { lane("side") } else { Lane::main() };
    (lane, Draft::new(id(n), body))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(40), failure_persistence: None, ..Default::default() })]

    /// At every entry: the path is the one that parents lead along, what the context reads folds
    /// to the same messages as all of it, and the settings before it are those of a full fold.
    #[test]
    fn every_entry_folds_alike_from_all_and_from_its_context(
        steps in proptest::collection::vec(step(), 1..40)
    ) {
        let store = Store::sim();
        let (storage, s) = (store.storage.as_ref(), store.session("s1"));
        let rules = FoldRules::NATIVE;
        for (n, step) in steps.iter().enumerate() {
            let leaf = leaf_of(storage, &s, "main").unwrap();
            let on_path = path(storage, &s, &leaf);
            let all = ids(storage, &s);
            let (lane, draft) = draft(n as u64 + 1, step, &on_path, &all);
            run(storage.append(&s, Append { lane, ..write(vec![draft]) })).unwrap();
        }
        let all = entries(storage, &s);
        for storage in [storage, store.second().unwrap().as_ref()] {
            for entry in &all {
                let whole = run(storage.path(&s, &entry.id, PathStop::Root)).unwrap();
                prop_assert_eq!(whole.before, Some(Settings::initial(&rules)));
                let whole: Vec<_> = whole.entries.into_iter().map(|stored| stored.entry).collect();
                for pair in whole.windows(2) {
                    prop_assert_eq!(pair[1].parent_id.as_ref(), Some(&pair[0].id));
                }
                let part = run(storage.path(&s, &entry.id, PathStop::Context)).unwrap();
                let read: Vec<_> = part.entries.into_iter().map(|stored| stored.entry).collect();
                let cut = whole.len() - read.len();
                prop_assert_eq!(&whole[cut..], &read[..]);
                let mut before = Settings::initial(&rules);
                whole[..cut].iter().for_each(|entry| before.apply(entry, &rules));
                prop_assert_eq!(part.before, Some(before));
                let from_all = SessionState::from_entries(&all, Some(&entry.id)).unwrap();
                let from_part = SessionState::from_path(&read, &[], &rules);
                prop_assert_eq!(from_part.messages(), from_all.messages());
            }
        }
    }
}
