//! Pi's compactions and branch summaries, held against what Pi 1.6.0 itself computed.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use forkwood_context::branch_summary;
use forkwood_context::compaction::{CutRule, Files, Plan, PlanOptions, Transcript, plan};
use forkwood_context::estimate::pi;
use forkwood_core::fold::select;
use forkwood_core::{EntryId, Message};
use serde_json::Value;
use sha2::{Digest, Sha256};

fn expected(path: &std::path::Path) -> Option<Value> {
    let path = path.with_extension("expected-1.6.0.json");
    let text = std::fs::read_to_string(path).ok()?;
    // What Pi knows of lone surrogates is not looked at here.
    serde_json::from_str(&text.replace("\\ud83d\"", "\"")).ok()
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect()
}

fn texts(files: &[forkwood_core::Text]) -> Vec<String> {
    files.iter().map(ToString::to_string).collect()
}

#[test]
fn estimates_as_pi_does() {
    let mut checked = 0;
    for path in common::files() {
        let Some(said) = expected(&path) else { continue };
        let file = common::read(&path);
        let entries = file.path();
        let items = select(&entries, &file.rules);
        let estimates: Vec<u64> = items.iter().map(pi::estimate_item).collect();
        let wanted: Vec<u64> = said["estimateTokens"]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_u64().unwrap())
            .collect();
        assert_eq!(estimates, wanted, "{}", file.name);
        let all = said["estimateContextTokens"]["tokens"].as_u64().unwrap();
        assert_eq!(pi::estimate_context(&entries, &file.rules), all, "{}", file.name);
        checked += 1;
    }
    assert!(checked > 15, "{checked}");
}

fn roles(messages: &[Message]) -> Vec<String> {
    messages
        .iter()
        .map(|message| match message.role.as_text().to_string() {
            role if role == "tool" => "toolResult".into(),
            role => role,
        })
        .collect()
}

/// Pi's roles, as far as Forkwood tells them apart.
fn plain_roles(value: &Value) -> Vec<String> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().or(message.as_str()).unwrap())
        .map(|role| match role {
            "bashExecution" | "custom" | "branchSummary" | "compactionSummary" => "user".into(),
            role => role.to_owned(),
        })
        .collect()
}

#[test]
fn plans_as_pi_does() {
    let (mut checked, mut cuts) = (0, 0);
    for path in common::files() {
        let Some(said) = expected(&path) else { continue };
        let file = common::read(&path);
        let entries = file.path();
        let own_ids = said["branch"].as_array().unwrap().last().unwrap().as_str()
            == entries.last().map(|entry| entry.id.as_str());
        for (keep, said) in said["prepareCompaction"].as_object().unwrap() {
            let keep_tokens = keep.trim_start_matches("keep").parse().unwrap();
            let options = PlanOptions {
                rules: &file.rules,
                cut: CutRule::Messages,
                keep_tokens,
                force: false,
            };
            let plan = plan(&entries, &options, &pi::estimate_item);
            let name = format!("{} {keep}", file.name);
            checked += 1;
            let (Some(said), Some(plan)) = (said.as_object(), &plan) else {
                assert_eq!(plan, None, "{name}");
                assert!(said.is_null(), "{name}: {plan:?}");
                continue;
            };
            cuts += 1;
            let first = plan.first_kept_entry_id.as_ref().unwrap().to_string();
            if own_ids {
                assert_eq!(first, said["firstKeptEntryId"].as_str().unwrap(), "{name}");
            }
            assert_eq!(plan.is_split_turn, said["isSplitTurn"].as_bool().unwrap(), "{name}");
            assert_eq!(
                !plan.replaces.is_empty(),
                said["hasPreviousSummary"].as_bool().unwrap(),
                "{name}"
            );
            check_messages(&name, plan, &Value::Object(said.clone()));
        }
    }
    assert!(checked > 60 && cuts > 15, "{checked} {cuts}");
}

fn check_messages(name: &str, plan: &Plan, said: &Value) {
    // Those that go to no model count for Pi, but are not read to it.
    if !said["messagesToSummarize"].to_string().contains("bashExecution") {
        assert_eq!(roles(&plan.to_summarise), plain_roles(&said["messagesToSummarize"]), "{name}");
    }
    assert_eq!(roles(&plan.turn_prefix), plain_roles(&said["turnPrefix"]), "{name}");
    let conversation = Transcript::Parts { thinking: false }.write(&plan.to_summarise);
    if let Some(wanted) = said["conversation"].as_str().filter(|text| !text.contains('\u{fffd}')) {
        assert_eq!(conversation, wanted, "{name}");
    }
    let sha: String =
        Sha256::digest(&conversation).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(sha, said["conversationSha256"].as_str().unwrap(), "{name}");
    check_files(name, &plan.files, &said["fileLists"]);
}

/// Pi forgets the files of branch summaries; ours has them as well.
fn check_files(name: &str, files: &Files, said: &Value) {
    let all: Vec<String> =
        texts(&files.read()).into_iter().chain(texts(&files.modified())).collect();
    for file in strings(&said["readFiles"]) {
        assert!(all.contains(&file), "{name}: {file}");
    }
    for file in strings(&said["modifiedFiles"]) {
        assert!(texts(&files.modified()).contains(&file), "{name}: {file}");
    }
}

#[test]
fn collects_branches_as_pi_does() {
    let mut checked = 0;
    for path in common::files() {
        let Some(said) = expected(&path) else { continue };
        let file = common::read(&path);
        if said["branch"].as_array().unwrap().last().unwrap().as_str()
            != file.entries.last().map(|entry| entry.id.as_str())
        {
            continue;
        }
        let left = file.path();
        let Some(targets) = said["branchSummaryCollection"].as_object() else { continue };
        for (target, said) in targets {
            let name = format!("{} to {target}", file.name);
            let branch = branch_summary::collect(&left, &file.path_to(&EntryId::new(target)));
            let ancestor = branch.common_ancestor.as_ref().map(|id| id.as_str().to_owned());
            assert_eq!(ancestor.as_deref(), said["commonAncestorId"].as_str(), "{name}");
            let ids: Vec<&str> = branch.entries.iter().map(|e| e.id.as_str()).collect();
            assert_eq!(ids, strings(&said["entries"]), "{name}");
            let plan = branch_summary::plan(&branch, 0, &file.rules, &pi::estimate_item);
            let plan = plan.unwrap_or_default();
            // Commands whose output goes to no model count for Pi, but are not read to it.
            if !said["messageRoles"].to_string().contains("bashExecution") {
                // Instructions are not read to it either.
                let mut wanted = plain_roles(&said["messageRoles"]);
                let all = wanted.len();
                wanted.retain(|role| role != "system");
                assert_eq!(roles(&plan.messages), wanted, "{name}");
                if wanted.len() == all {
                    assert_eq!(plan.tokens, said["totalTokens"].as_u64().unwrap(), "{name}");
                }
            }
            check_files(&name, &plan.files, &said["fileLists"]);
            checked += 1;
        }
    }
    assert!(checked > 150, "{checked}");
}
