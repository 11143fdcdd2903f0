//! Generated sessions, written and read back.

use forkwood_formats::export::{Scope, Target, What};
use proptest::prelude::*;

use crate::compare::{same_contexts, same_lines, same_tree, same_words};
use crate::generate::{entries, info, steps};
use crate::world::{gather, read_back, session, write};

/// Formats that keep the ids of entries.
const WITH_IDS: [Target; 3] = [Target::Jsonl, Target::Pi, Target::MyPiAgent];

/// Formats that hold one path, or that name entries in their own way.
pub(crate) const WORDS: [Target; 6] = [
    Target::Claude,
    Target::Codex,
    Target::PicoClaw,
    Target::OpenAiChat,
    Target::OpenAiResponses,
    Target::Anthropic,
];

/// Each case writes and reads a session many times: fewer are enough, unless more are asked for.
fn config() -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => config,
        None => ProptestConfig { cases: 48, ..config },
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_tree_comes_back_or_the_report_says_what_does_not((steps, stands, rich) in steps()) {
        let all = entries(&steps, stands);
        prop_assume!(all.iter().any(|entry| !entry.body.is_sidecar()));
        let ours = session("20260101-000000-0a0b0c0d", info(rich), all);
        for scope in [Scope::AllBranches, Scope::Current] {
            let source = gather(&ours, &scope);
            if source.entries.is_empty() {
                continue;
            }
            for target in WITH_IDS {
                let written = write(&source, target);
                let (back, _) = read_back(&written, target);
                same_tree(&source, &back, &written.losses, target);
                same_contexts(&source, &ours, &back, &written.losses, target);
                if target == Target::Jsonl {
                    assert!(written.losses.is_empty(), "{:?}", written.losses);
                    assert_eq!(gather(&back, &Scope::AllBranches).entries, source.entries);
                }
            }
        }
    }

    #[test]
    fn a_conversation_comes_back_or_the_report_says_what_does_not(
        (steps, stands, rich) in steps()
    ) {
        let all = entries(&steps, stands);
        prop_assume!(all.iter().any(|entry| entry.message().is_some()));
        let ours = session("20260101-000000-0a0b0c0d", info(rich), all);
        for scope in [Scope::Current, Scope::AllBranches] {
            let source = gather(&ours, &scope);
            let said = source.leaf.as_ref().is_some_and(|leaf| {
                !pollster::block_on(ours.context_at(leaf)).unwrap().messages().is_empty()
            });
            if !said {
                continue;
            }
            for target in WORDS {
                let written = write(&source, target);
                if !written.files[0].text.contains("\"role\"") {
                    // Nothing but what it has no place for.
                    assert!(!written.losses.is_empty());
                    continue;
                }
                let (back, _) = read_back(&written, target);
                if target == Target::Claude {
                    same_lines(&source, &back, &written.losses);
                    if written.losses.names(What::Pointer) {
                        continue;
                    }
                }
                same_words(&source, &ours, &back, &written.losses, target);
            }
        }
    }
}
