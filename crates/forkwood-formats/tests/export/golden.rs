//! Files as versions of this program wrote them: they stay readable, and today's are the same.
//!
//! `FORKWOOD_UPDATE=1` writes them anew. A file that a released version wrote is never changed: a
//! change of what is written gets a folder of its own, and the old one stays.

use std::path::{Path, PathBuf};

use forkwood::Session;
use forkwood_formats::export::{File, Scope, Target, Written};
use pollster::block_on as run;

use crate::compare::{flat, same_contexts, same_tree, same_words};
use crate::world::{gather, read_back, write};

/// What this version writes.
const NOW: &str = "1";

const VERSION: &str = concat!("\"cli_version\":\"", env!("CARGO_PKG_VERSION"), "\"");

fn folder(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden").join(version)
}

/// The session that all others are made of.
fn session(version: &str) -> Session {
    let path = folder(version).join("session.jsonl");
    run(forkwood::SessionStore::open_file(&path, &[])).unwrap()
}

/// The files of a format, with the names that they had.
fn kept(version: &str, target: Target) -> Vec<File> {
    let root = folder(version).join(target.name());
    let mut todo = vec![root.clone()];
    let mut files = Vec::new();
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            todo.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        files.push(File { name, text: std::fs::read_to_string(&path).unwrap() });
    }
    // The session itself stands first.
    files.sort_by_key(|file| (file.name.ends_with(".meta.json"), file.name.clone()));
    files
}

#[test]
fn today_writes_what_is_kept() {
    let source = gather(&session(NOW), &Scope::AllBranches);
    for target in Target::ALL {
        let mut written = write(&source, target);
        for file in &mut written.files {
            // A rollout names the program that wrote it.
            file.text = file.text.replace(VERSION, "\"cli_version\":\"0.1.0\"");
        }
        let root = folder(NOW).join(target.name());
        if std::env::var_os("FORKWOOD_UPDATE").is_some() {
            for file in &written.files {
                let path = root.join(&file.name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, &file.text).unwrap();
            }
        }
        assert_eq!(kept(NOW, target), written.files, "{target:?}");
    }
}

#[test]
fn every_type_of_entry_is_in_it() {
    let text = std::fs::read_to_string(folder(NOW).join("session.jsonl")).unwrap();
    for tag in [
        "session_info",
        "message",
        "model_change",
        "thinking_level_change",
        "active_tools_change",
        "compaction",
        "branch_summary",
        "label",
        "leaf",
        "custom",
        "custom_message",
        "context_edit",
        "usage",
        "operation",
        "of_later_days",
    ] {
        assert!(text.contains(&format!("\"type\":\"{tag}\"")), "{tag}");
    }
}

#[test]
fn what_was_written_is_read_as_it_was_meant() {
    for folder in std::fs::read_dir(folder("")).unwrap() {
        read_as_meant(folder.unwrap().file_name().to_str().unwrap());
    }
}

fn read_as_meant(version: &str) {
    let ours = session(version);
    let check = run(ours.check()).unwrap();
    assert!(check.iter().all(|found| !found.is_damage()), "{check:?}");
    let source = gather(&ours, &Scope::AllBranches);
    let said: Vec<String> = flat(run(ours.context()).unwrap().messages())
        .into_iter()
        .map(|(role, kind, text)| format!("{role} {kind} {text}"))
        .collect();
    assert_eq!(
        said,
        [
            r#"user text "Previous conversation summary:\nThe plan was asked for.""#,
            r#"user text "Which one?""#,
            r#"assistant thinking "Two are left.""#,
            r#"assistant text "I look.""#,
            r#"assistant call call_1 read {"path":"plans.md"}"#,
            r#"tool text "B is cheaper.""#,
            r#"user text "A note of an extension.""#,
            r#"assistant text "Plan B.""#,
        ]
    );
    for target in Target::ALL {
        if target == Target::Json {
            continue;
        }
        let losses = write(&source, target).losses;
        let written = Written { files: kept(version, target), losses };
        let (back, _) = read_back(&written, target);
        match target {
            Target::Jsonl | Target::Pi | Target::MyPiAgent => {
                same_tree(&source, &back, &written.losses, target);
                same_contexts(&source, &ours, &back, &written.losses, target);
            }
            _ => same_words(&source, &ours, &back, &written.losses, target),
        }
    }
}
