//! Real sessions of Pi through the program, against what Pi itself says of them.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cases_common;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use cases_common::json::{Json, sha16};
use cases_common::{Desk, beside, name_of, session_files};

/// Which expectation judges a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Judge {
    Agent,
    Harness,
    Log,
}

fn judged(path: &Path) -> Option<(Judge, Json)> {
    if let Some(said) = beside(path, ".expected-harness.json") {
        let judge = if said.has("branches") { Judge::Log } else { Judge::Harness };
        return Some((judge, said));
    }
    beside(path, ".expected-1.6.0.json").map(|said| (Judge::Agent, said))
}

fn judged_files(wanted: &[Judge]) -> Vec<(PathBuf, Judge, Json)> {
    let files = session_files("pi").into_iter().filter_map(|path| {
        let (judge, said) = judged(&path)?;
        wanted.contains(&judge).then_some((path, judge, said))
    });
    files.collect()
}

/// Files of version 1 have no ids, so Pi makes them up.
fn made_up_ids(said: &Json) -> bool {
    let version = said.get("header").get("version");
    said.get("fileRewrittenOnOpen") == &Json::Bool(true)
        && !said.get("file").text().starts_with("19-")
        && version.as_number() == Some(3.0)
}

fn check_settings(name: &str, context: &Json, said: &Json) {
    assert_eq!(context.get("model"), said.get("model"), "{name}: model");
    assert_eq!(context.get("thinkingLevel"), said.get("thinkingLevel"), "{name}: thinking level");
    if !said.get("activeToolNames").is_null() {
        assert_eq!(context.get("activeToolNames"), said.get("activeToolNames"), "{name}: tools");
    }
}

fn check_messages(name: &str, context: &Json, said: &Json) {
    let messages = context.get("messages").list();
    assert_eq!(context.get("entryIds").list().len(), messages.len(), "{name}");
    let digests = said.get("digests").list();
    if said.has("digests") {
        assert_eq!(messages.len(), digests.len(), "{name}: messages");
    }
    for (message, digest) in messages.iter().zip(digests) {
        let text = message.stringify();
        let short: String = text.chars().take(500).collect();
        assert_eq!(text.encode_utf16().count() as i64, digest.get("len").number(), "{short}");
        assert_eq!(sha16(&text), digest.get("sha256").text(), "{name}: {short}");
    }
    if said.has("messages") {
        assert_eq!(context.get("messages"), said.get("messages"), "{name}: messages");
    }
    assert!(said.has("messages") || said.has("digests"), "{name}");
}

/// Rows of a tree by id: parent and type.
fn rows(tree: &Json) -> Vec<(String, String, Option<String>)> {
    let row =
        |row: &Json| (row.get("id").text(), row.get("type").text(), row.get("parentId").as_text());
    tree.get("rows").list().iter().map(row).collect()
}

fn said_rows(said: &Json) -> Vec<(String, String, Option<String>)> {
    let row = |row: &Json| (row.list()[0].text(), row.list()[1].text(), row.list()[2].as_text());
    said.list().iter().map(row).collect()
}

#[test]
fn contexts() {
    let mut checked = 0;
    for (path, judge, said) in judged_files(&[Judge::Agent, Judge::Harness]) {
        let name = name_of(&path);
        let desk = Desk::new(&name);
        desk.copy(&path);
        let context = desk.pi_context(&format!("./{name}"));
        let branch = said.get("branch").texts();
        if made_up_ids(&said) {
            assert_eq!(context.get("path").list().len(), branch.len(), "{name}");
        } else {
            assert_eq!(context.get("path").texts(), branch, "{name}");
            assert_eq!(context.get("leaf"), said.get("leafId"), "{name}");
        }
        let id = if judge == Judge::Agent {
            said.get("sessionId")
        } else {
            said.get("metadata").get("id")
        };
        assert_eq!(context.get("session"), id, "{name}");
        check_settings(&name, &context, said.get("context"));
        check_messages(&name, &context, said.get("context"));
        for found in context.get("diagnostics").list() {
            assert_eq!(found.get("kind").text(), "old-version", "{name}");
        }
        // In its native shape the context says as much, and is fit for a provider.
        let native = desk.context(&name);
        assert_eq!(native.get("leaf"), context.get("leaf"), "{name}");
        check_settings(&name, &native, said.get("context"));
        checked += 1;
    }
    assert!(checked >= 17, "{checked}");
}

#[test]
fn contexts_at_every_entry() {
    let mut checked = 0;
    for (path, _, said) in judged_files(&[Judge::Agent]) {
        let name = name_of(&path);
        let desk = Desk::new(&name);
        desk.copy(&path);
        let mut ids: HashMap<String, String> = HashMap::new();
        if made_up_ids(&said) {
            let ours = rows(&desk.read(&["tree", &name, "--json"]));
            let theirs = said_rows(said.get("treePreorder"));
            ids = theirs.into_iter().zip(ours).map(|(one, two)| (one.0, two.0)).collect();
        }
        for (leaf, said) in said.get("contextByLeaf").fields() {
            let leaf = leaf.to_string_lossy().into_owned();
            let at = ids.get(&leaf).unwrap_or(&leaf);
            let run = desk.run(&["context", &name, "--at", at, "--shape", "pi", "--json"]);
            let context = run.json();
            let name = format!("{name} at {leaf}");
            assert_eq!(context.get("leaf").text(), *at, "{name}");
            check_settings(&name, &context, said);
            let messages = context.get("messages");
            assert_eq!(messages.list().len() as i64, said.get("n").number(), "{name}");
            assert_eq!(sha16(&messages.stringify()), said.get("sha256").text(), "{name}");
            checked += 1;
        }
    }
    assert!(checked > 150, "{checked}");
}

#[test]
fn trees() {
    for (path, judge, said) in judged_files(&[Judge::Agent, Judge::Harness]) {
        let name = name_of(&path);
        let desk = Desk::new(&name);
        desk.copy(&path);
        let tree = desk.read(&["tree", &name, "--json"]);
        let mut ours = rows(&tree);
        let mut theirs = match judge {
            Judge::Agent => said_rows(said.get("treePreorder")),
            // Pointers of the harness are no rows of a tree here.
            _ => said_rows(said.get("entries")),
        };
        if judge == Judge::Harness {
            theirs.retain(|(id, _, _)| ours.iter().any(|row| row.0 == *id));
            assert!(ours.len() >= said.get("branch").list().len(), "{name}");
        }
        if made_up_ids(&said) {
            assert_eq!(ours.len(), theirs.len(), "{name}");
            let types = |rows: &[(String, String, Option<String>)]| {
                rows.iter().map(|row| row.1.clone()).collect::<Vec<_>>()
            };
            assert_eq!(types(&ours), types(&theirs), "{name}");
        } else {
            ours.sort();
            theirs.sort();
            assert_eq!(ours, theirs, "{name}");
            assert_eq!(tree.get("leaf"), said.get("leafId"), "{name}");
            let mut labels: Vec<(String, String)> = tree
                .get("rows")
                .list()
                .iter()
                .filter(|row| !row.get("label").is_null())
                .map(|row| (row.get("id").text(), row.get("label").text()))
                .collect();
            let said = said.get("labels").fields().iter();
            let mut said: Vec<(String, String)> =
                said.map(|(id, label)| (id.to_string_lossy().into_owned(), label.text())).collect();
            labels.sort();
            said.sort();
            assert_eq!(labels, said, "{name}: labels");
        }
    }
}

#[test]
fn nothing_is_wrong_with_files_of_pi() {
    for (path, _, _) in judged_files(&[Judge::Agent, Judge::Harness, Judge::Log]) {
        let name = name_of(&path);
        let desk = Desk::new(&name);
        desk.copy(&path);
        let (found, damaged) = desk.check(&name);
        assert!(!damaged, "{name}: {found:?}");
    }
}

fn millis(text: &str) -> i64 {
    text.parse::<jiff::Timestamp>().unwrap_or_else(|_| panic!("{text}")).as_millisecond()
}

#[test]
fn rows_of_the_list() {
    for (path, judge, said) in judged_files(&[Judge::Agent, Judge::Harness]) {
        let name = name_of(&path);
        let desk = Desk::new(&name);
        desk.copy(&path);
        let (rows, notes) = desk.list(&["--dir", "."]);
        assert_eq!(notes, "", "{name}");
        let [row] = rows.as_slice() else { panic!("{name}: {}", rows.len()) };
        assert_eq!(row.get("title"), said.get("sessionName"), "{name}");
        assert_eq!(
            row.get("path").text(),
            desk.file(&name).canonicalize().unwrap().to_str().unwrap()
        );
        assert_eq!(row.get("damage").number(), 0, "{name}");
        let info = said.get("listInfo");
        if judge == Judge::Harness || info.is_null() {
            continue;
        }
        assert_eq!(row.get("id"), info.get("id"), "{name}");
        assert_eq!(row.get("cwd").text(), info.get("cwd").text(), "{name}");
        assert_eq!(
            millis(&row.get("created").text()),
            millis(&info.get("created").text()),
            "{name}"
        );
        let active = row.get("lastActivity").as_text().unwrap_or_else(|| row.get("created").text());
        assert_eq!(millis(&active), millis(&info.get("modified").text()), "{name}: modified");
        assert_eq!(row.get("messages").number(), info.get("messageCount").number(), "{name}");
        // Files of version 1 name their source otherwise, and Pi forgets it.
        let source = match said.get("header").get("branchedFrom") {
            Json::Null => info.get("parentSessionPath"),
            branched => branched,
        };
        assert_eq!(row.get("forkedFrom"), source, "{name}");
        let first = info.get("firstMessage").text();
        match first.as_str() {
            "(no messages)" => assert!(row.get("firstUser").is_null(), "{name}"),
            first => {
                let ours = row.get("firstUser").text();
                let line = first.lines().find(|line| !line.trim().is_empty()).unwrap();
                assert!(
                    line.trim().starts_with(ours.trim_end_matches('\u{2026}')),
                    "{name}: {ours}"
                );
            }
        }
        let shown = desk.reading(&["show", &name]);
        assert!(shown.ok().starts_with(&format!("session {}", info.get("id").text())), "{name}");
    }
}

/// The transaction log of later harnesses: lanes are its branches.
#[test]
fn lanes_of_a_transaction_log() {
    for (path, _, said) in judged_files(&[Judge::Log]) {
        let name = name_of(&path);
        let desk = Desk::new(&name);
        desk.copy(&path);
        for (lane, branch) in said.get("branches").fields() {
            let lane = lane.to_string_lossy().into_owned();
            let context =
                desk.read(&["context", &name, "--lane", &lane, "--shape", "pi", "--json"]);
            assert_eq!(context.get("leaf"), branch.get("tip"), "{name}: {lane}");
            let wanted: Vec<String> =
                branch.get("path").list().iter().map(|row| row.list()[0].text()).collect();
            assert_eq!(context.get("path").texts(), wanted, "{name}: {lane}");
            assert_eq!(context.get("messages"), branch.get("context"), "{name}: {lane}");
        }
        let (rows, _) = desk.list(&["--dir", "."]);
        assert_eq!(rows[0].get("title"), said.get("name"), "{name}");
        assert_eq!(rows[0].get("id"), said.get("header").get("id"), "{name}");
    }
}

/// All of them in one folder: each is listed, newest message first.
#[test]
fn one_folder_with_all() {
    let desk = Desk::new("all");
    let mut wanted: Vec<(i64, String)> = Vec::new();
    for (path, _, said) in judged_files(&[Judge::Agent]) {
        // Two cases are one session, exported.
        if wanted.iter().any(|(_, id)| *id == said.get("sessionId").text()) {
            continue;
        }
        desk.copy(&path);
        let modified = millis(&said.get("listInfo").get("modified").text());
        wanted.push((modified, said.get("sessionId").text()));
    }
    let (rows, _) = desk.list(&["--dir", "."]);
    let ours =
        rows.iter().map(|row| (millis(&row.get("lastActivity").text()), row.get("id").text()));
    let mut ours: Vec<(i64, String)> = ours.collect();
    assert!(ours.is_sorted_by_key(|(modified, _)| std::cmp::Reverse(*modified)));
    ours.sort();
    wanted.sort();
    assert_eq!(ours, wanted);
}
