//! Sessions of other programs, written in every format and read back.

use std::path::{Path, PathBuf};

use forkwood_formats::export::{Scope, Target, What};
use pollster::block_on as run;

use crate::compare::{same_contexts, same_tree, same_words};
use crate::round_trip::WORDS;
use crate::world::{gather, read_back, write};

/// The session files below a folder of fixtures.
pub(crate) fn files(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(folder);
    let mut todo = vec![root];
    let mut out = Vec::new();
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            todo.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "jsonl")
            && !path.to_string_lossy().contains(".expected")
        {
            out.push(path);
        }
    }
    out.sort();
    assert!(!out.is_empty(), "{folder}");
    out
}

#[test]
fn every_fixture_comes_back_from_formats_with_ids() {
    let mut count = 0;
    for folder in ["pi", "my-pi-agent", "claude-code", "codex"] {
        for path in files(folder) {
            let formats = forkwood_formats::formats();
            let Ok(ours) = run(forkwood::SessionStore::open_file(&path, &formats)) else {
                continue;
            };
            let source = gather(&ours, &Scope::AllBranches);
            if source.entries.is_empty() {
                continue;
            }
            count += 1;
            // What they are when they are taken as they are: the rules of their owners aside.
            let jsonl = write(&source, Target::Jsonl);
            let (native, _) = read_back(&jsonl, Target::Jsonl);
            same_tree(&source, &native, &jsonl.losses, Target::Jsonl);
            for target in [Target::Pi, Target::MyPiAgent] {
                let written = write(&source, target);
                let (back, _) = read_back(&written, target);
                same_tree(&source, &back, &written.losses, target);
                same_contexts(&source, &native, &back, &written.losses, target);
            }
        }
    }
    assert!(count > 40, "{count}");
}

#[test]
fn every_fixture_comes_back_from_formats_of_conversations() {
    let mut count = 0;
    for folder in ["pi", "my-pi-agent", "claude-code", "codex"] {
        for path in files(folder) {
            let formats = forkwood_formats::formats();
            let Ok(ours) = run(forkwood::SessionStore::open_file(&path, &formats)) else {
                continue;
            };
            let source = gather(&ours, &Scope::Current);
            let (native, _) = read_back(&write(&source, Target::Jsonl), Target::Jsonl);
            if run(native.context()).unwrap().messages().is_empty() {
                continue;
            }
            count += 1;
            for target in WORDS {
                let written = write(&source, target);
                if target == Target::Claude && written.losses.names(What::Pointer) {
                    continue;
                }
                let said = written.files[0].text.contains("\"role\"");
                if !said {
                    continue;
                }
                let (back, _) = read_back(&written, target);
                same_words(&source, &native, &back, &written.losses, target);
            }
        }
    }
    assert!(count > 40, "{count}");
}
