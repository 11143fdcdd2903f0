//! Files of my-pi-agent and Tau through the program, against what those programs say of them.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cases_common;

use cases_common::json::Json;
use cases_common::{Desk, beside, name_of, session_files};

/// Cases of which the program itself makes a fault, and where they stand instead.
const DECIDED_OTHERWISE: &[(&str, &str)] = &[
    ("new-06-message-after-leaf", "m3"),
    ("new-07-leaf-on-path", "t1"),
    ("new-08-unknown-leaf", "m1"),
    ("new-10-missing-parent", "m3"),
    ("new-11-cycle", "c"),
    ("new-16-corrupt-middle", "m1"),
    ("new-22-append-after-torn", "m10"),
];

/// What the two shapes of a message have in common.
fn plain(message: &Json) -> (String, String, Json) {
    (message.get("role").text(), message.get("content").text(), message.get("metadata").clone())
}

fn messages(of: &Json) -> Vec<(String, String, Json)> {
    of.list().iter().map(plain).collect()
}

fn check_state(name: &str, context: &Json, said: &Json) {
    assert_eq!(messages(context.get("messages")), messages(said.get("messages")), "{name}");
    let model = context.get("model");
    assert_eq!(model.get("modelId"), said.get("model"), "{name}: model");
    if !model.is_null() {
        assert_eq!(model.get("provider"), said.get("provider"), "{name}: provider");
    }
    assert_eq!(context.get("thinkingLevel"), said.get("thinking_level"), "{name}: thinking");
    assert_eq!(context.get("label"), said.get("label"), "{name}: label");
}

fn context(desk: &Desk, name: &str, at: &[&str]) -> Json {
    let file = format!("./{name}.jsonl");
    let args = [&["context", file.as_str(), "--raw", "--json"], at].concat();
    desk.read(&args)
}

fn case(folder: &str) -> Vec<(String, Desk, Json)> {
    let lay = |path: std::path::PathBuf| {
        let name = name_of(&path).trim_end_matches(".jsonl").to_owned();
        let desk = Desk::new(&name);
        desk.copy(&path);
        Some((name, desk, beside(&path, ".expected.json")?))
    };
    session_files(folder).into_iter().filter_map(lay).collect()
}

#[test]
fn nine_type_files_are_read() {
    let mut checked = 0;
    for (name, desk, said) in case("my-pi-agent/new") {
        let file = format!("./{name}.jsonl");
        if name == "new-17-only-torn" {
            let kind = desk.reading(&["context", &file, "--json"]).refused();
            assert!(["damaged", "unsupported"].contains(&kind.as_str()), "{kind}");
            continue;
        }
        let strict = said.get("strict_99dedb7");
        let here = context(&desk, &name, &[]);
        match DECIDED_OTHERWISE.iter().find(|(case, _)| *case == name) {
            Some((_, leaf)) => assert_eq!(here.get("leaf").text(), *leaf, "{name}"),
            None => {
                let state = strict.get("state_default_leaf");
                assert_eq!(here.get("leaf"), state.get("active_leaf_id"), "{name}");
                check_state(&name, &here, state);
            }
        }
        for (leaf, state) in strict.get("state_by_leaf").fields() {
            // At a pointer, the program follows it; here the state of that moment is told.
            if state.has("error") || state.get("active_leaf_id").text() != leaf.to_string_lossy() {
                continue;
            }
            let leaf = leaf.to_string_lossy().into_owned();
            let there = context(&desk, &name, &["--at", &leaf]);
            check_state(&format!("{name} at {leaf}"), &there, state);
        }
        desk.reading(&["tree", &file]).ok();
        desk.reading(&["show", &file]).ok();
        assert_eq!(desk.list(&["--dir", "."]).0.len(), 1, "{name}");
        checked += 1;
    }
    assert!(checked >= 10, "{checked}");
}

/// A new line is one that the strict reader takes: known fields only, the parent before it.
fn strict_line(old: &str, new: &str) -> Json {
    let added = new.strip_prefix(old).expect("the old bytes changed");
    assert_eq!(added.matches('\n').count(), 1, "{added}");
    let line = Json::parse(added).unwrap();
    let ids: Vec<String> =
        old.lines().filter_map(Json::parse).map(|line| line.get("id").text()).collect();
    assert!(!ids.contains(&line.get("id").text()), "{added}");
    let parent = line.get("parentId").text();
    assert!(ids.contains(&parent), "{added}");
    assert!(line.get("timestamp").as_number().is_some_and(|at| at > 1.7e9), "{added}");
    let fields: &[&str] = match line.get("type").text().as_str() {
        "message" => &["message"],
        "leaf" => &["leafId"],
        "label" => &["label", "targetId"],
        "session_info" => &["title", "cwd", "createdAt", "metadata"],
        "model_change" => &["model", "provider"],
        "thinking_level_change" => &["thinkingLevel"],
        "custom" => &["namespace", "data"],
        other => panic!("{other}"),
    };
    for (name, _) in line.fields() {
        let name = name.to_string_lossy();
        let base = ["id", "parentId", "timestamp", "type"].contains(&&*name);
        assert!(base || fields.contains(&&*name), "{name}: {added}");
    }
    line
}

#[test]
fn nine_type_files_are_gone_on_with() {
    let mut checked = 0;
    for (name, desk, _) in case("my-pi-agent/new") {
        let file = format!("./{name}.jsonl");
        if name == "new-17-only-torn" {
            continue;
        }
        let before = context(&desk, &name, &[]);
        let torn = desk.kinds(&file).contains(&"torn-tail".to_owned());
        let old = desk.bytes(&format!("{name}.jsonl"));
        let id = desk.append(&file, "hello");
        let mut new = desk.bytes(&format!("{name}.jsonl"));
        if torn {
            // The torn bytes are set aside, so that the strict reader takes the file again.
            let kept = old.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let aside = desk.names().into_iter().find(|name| name.contains(".torn-")).unwrap();
            assert_eq!(desk.bytes(&aside), old[kept..], "{name}");
            assert!(new.starts_with(&old[..kept]), "{name}");
        } else {
            let (old, new) = (String::from_utf8_lossy(&old), String::from_utf8_lossy(&new));
            let line = strict_line(&old, &new);
            assert_eq!(line.get("message").get("content").text(), "hello", "{name}");
        }
        let after = context(&desk, &name, &[]);
        assert_eq!(after.get("leaf").text(), id, "{name}");
        let mut wanted = messages(before.get("messages"));
        wanted.push(("user".into(), "hello".into(), Json::Null));
        assert_eq!(messages(after.get("messages")), wanted, "{name}");
        for args in [
            vec![
                "append",
                &file,
                "--entry",
                r#"{"type":"model_change","model":"m2","provider":"p"}"#,
            ],
            vec![
                "append",
                &file,
                "--entry",
                r#"{"type":"thinking_level_change","thinkingLevel":"high"}"#,
            ],
            vec![
                "append",
                &file,
                "--entry",
                r#"{"type":"message","message":{"role":"assistant","content":"a"}}"#,
            ],
            vec!["rename", &file, "Plans"],
            vec!["label", &file, &id, "here"],
            vec!["rewind", &file, &id],
        ] {
            let old = new;
            desk.run(&args).ok();
            new = desk.bytes(&format!("{name}.jsonl"));
            strict_line(&String::from_utf8_lossy(&old), &String::from_utf8_lossy(&new));
        }
        let back = context(&desk, &name, &[]);
        assert_eq!(back.get("leaf").text(), id, "{name}");
        assert_eq!(messages(back.get("messages")), wanted, "{name}");
        let rows = desk.list(&["--dir", "."]).0;
        assert_eq!(rows[0].get("title").text(), "Plans", "{name}");
        checked += 1;
    }
    assert!(checked >= 10, "{checked}");
}

/// Metadata that a pin sets is seen by the list.
#[test]
fn nine_type_files_can_be_pinned() {
    let (name, desk, _) = case("my-pi-agent/new").remove(0);
    desk.run(&["pin", &format!("./{name}.jsonl")]).ok();
    assert_eq!(desk.list(&["--dir", "."]).0[0].get("pinned"), &Json::Bool(true));
}

#[test]
fn the_floor_of_a_facade_file_holds() {
    for (name, desk, _) in case("my-pi-agent/new") {
        if name != "new-23-facade-compaction" {
            continue;
        }
        let file = format!("./{name}.jsonl");
        let before = desk.run(&["rewind", &file, "906c6891", "--json"]);
        assert_eq!(before.refused(), "before_floor");
        assert!(before.stderr.contains("e9c83733"), "{}", before.stderr);
        desk.run(&["rewind", &file, "e9c83733"]).ok();
        desk.run(&["rewind", &file, "906c6891", "--past-compaction"]).ok();
        assert_eq!(context(&desk, &name, &[]).get("leaf").text(), "906c6891");
    }
}

#[test]
fn header_files_are_read_and_not_written() {
    let mut checked = 0;
    for (name, desk, said) in
        [case("my-pi-agent/old"), case("my-pi-agent/store")].into_iter().flatten()
    {
        let file = format!("./{name}.jsonl");
        let old = desk.bytes(&format!("{name}.jsonl"));
        if matches!(name.as_str(), "old-13-bad-header" | "corrupt" | "store") {
            let kind = desk.reading(&["context", &file, "--json"]).refused();
            assert!(["damaged", "unsupported"].contains(&kind.as_str()), "{name}: {kind}");
            continue;
        }
        let run = desk.run(&["append", &file, "x", "--json"]);
        assert_eq!(run.refused(), "read_only", "{name}");
        assert_eq!(desk.bytes(&format!("{name}.jsonl")), old);
        let here = context(&desk, &name, &["--no-bridge"]);
        if said.get("load_ok") != &Json::Bool(true) {
            assert!(!desk.kinds(&file).is_empty(), "{name}");
            continue;
        }
        assert_eq!(here.get("session"), said.get("id"), "{name}");
        assert_eq!(here.get("leaf"), said.get("current_id"), "{name}");
        assert_eq!(here.get("path"), said.get("current_path_ids"), "{name}");
        assert_eq!(
            messages(here.get("messages")),
            messages(said.get("current_path_messages")),
            "{name}"
        );
        let tree = desk.read(&["tree", &file, "--json"]);
        let mut ids: Vec<String> =
            tree.get("rows").list().iter().map(|row| row.get("id").text()).collect();
        let mut wanted = said.get("entry_ids").texts();
        ids.sort();
        wanted.sort();
        assert_eq!(ids, wanted, "{name}");
        let fork = match here.get("leaf").is_null() {
            true => continue,
            false => desk.run(&["fork", &file]).ok().to_owned(),
        };
        let ours = desk.read(&["context", &fork, "--raw", "--json"]);
        let here = context(&desk, &name, &[]);
        assert_eq!(messages(ours.get("messages")), messages(here.get("messages")), "{name}");
        checked += 1;
    }
    assert!(checked >= 5, "{checked}");
}

#[test]
fn a_store_is_listed_and_prefixes_resolve() {
    let desk = Desk::new("store");
    let files = session_files("my-pi-agent/store");
    let Some(folder) = files.first().and_then(|path| path.parent()) else { return };
    let said = std::fs::read_to_string(folder.join("store.expected.json")).unwrap();
    let said = Json::parse(&said).unwrap();
    files.iter().for_each(|path| desk.copy(path));
    let mut wanted: Vec<(String, i64)> = said
        .get("list")
        .list()
        .iter()
        .map(|row| (row.get("id").text(), row.get("entries").number()))
        .collect();
    let (rows, notes) = desk.list(&["--dir", "."]);
    let mut ours: Vec<(String, i64)> =
        rows.iter().map(|row| (row.get("id").text(), row.get("entries").number())).collect();
    wanted.sort();
    ours.sort();
    assert_eq!(ours, wanted);
    assert!(notes.contains("corrupt.jsonl"), "{notes}");
    for (query, _) in said.fields() {
        let query = query.to_string_lossy().into_owned();
        let Some(id) = query.strip_prefix("resolve:") else { continue };
        let run = desk.reading(&["path", "--dir", ".", "--json", "--", id]);
        let answer = said.get(&query).text();
        match answer.strip_prefix("ValueError: ") {
            None => assert!(run.ok().contains(&answer), "{id}: {}", run.stdout),
            Some(_) if id.is_empty() => assert_eq!(run.refused(), "invalid"),
            Some(error) if error.starts_with("Ambiguous") => {
                assert_eq!(run.refused(), "ambiguous");
                for (id, _) in &wanted {
                    assert!(run.stderr.contains(id), "{}", run.stderr);
                }
            }
            Some(_) => assert_eq!(run.refused(), "not_found"),
        }
    }
}

#[test]
fn files_of_tau_are_read() {
    let mut checked = 0;
    for (name, desk, said) in case("my-pi-agent/tau") {
        let file = format!("./{name}.jsonl");
        let tree = desk.read(&["tree", &file, "--json"]);
        if said.has("ids") {
            let mut ids: Vec<String> =
                tree.get("rows").list().iter().map(|row| row.get("id").text()).collect();
            let mut wanted = said.get("ids").texts();
            // A pointer is no row of a tree.
            wanted.retain(|id| ids.contains(id));
            ids.sort();
            wanted.sort();
            assert_eq!(ids, wanted, "{name}");
        }
        desk.context(&file);
        assert_eq!(desk.run(&["append", &file, "x", "--json"]).refused(), "read_only", "{name}");
        checked += 1;
    }
    assert!(checked >= 4, "{checked}");
}
