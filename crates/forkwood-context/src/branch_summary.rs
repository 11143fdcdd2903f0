//! What happened on a branch that is left, so that it is not lost.

use std::collections::HashMap;

use forkwood_core::fold::{self, FoldRules, Item, Source};
use forkwood_core::json::ObjectWriter;
use forkwood_core::{Body, Entry, EntryId, Json, Message, Role, Text};

use crate::compaction::{
    Files, PromptStyle, Purpose, Summariser, SummaryRequest, Transcript, extract_summary,
    is_from_hook,
};
use crate::told::lifted;
use crate::{Error, Result};

/// What the summary of a branch starts with, in Pi's words: a model must know that none of it is
/// on the path that it sees.
pub const PREAMBLE: &str = "The user explored a different conversation branch before returning \
here.\nSummary of that exploration:\n\n";

/// The most tokens of such a summary (Pi).
pub const MAX_TOKENS: u32 = 2_048;

/// The part of a path that is left when another entry is gone to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Branch {
    /// The last entry on both paths; none where they have no root in common.
    pub common_ancestor: Option<EntryId>,
    /// What is left, oldest first.
    pub entries: Vec<Entry>,
}

/// Compares the path to the entry that is left with that to the entry that is gone to, both root
/// first.
pub fn collect(left: &[Entry], target: &[Entry]) -> Branch {
    let shared = left.iter().zip(target).take_while(|(a, b)| a.id == b.id).count();
    Branch {
        common_ancestor: shared.checked_sub(1).map(|last| left[last].id.clone()),
        entries: left[shared..].to_vec(),
    }
}

/// What of a branch is summed up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BranchPlan {
    /// The messages, oldest first: without the results of tools.
    pub messages: Vec<Message>,
    /// Their tokens.
    pub tokens: u64,
    /// The files read and changed.
    pub files: Files,
    /// The tip of the branch.
    pub from_id: Option<EntryId>,
}

/// Selects from a branch, newest first, until `budget` tokens are full; 0 is no bound. An earlier
/// summary that does not fit is still taken where less than nine tenths are used: it tells most.
/// `tokens` says what a message takes. `None` where nothing was said.
pub fn plan(
    branch: &Branch,
    budget: u64,
    rules: &FoldRules,
    tokens: &dyn Fn(&Item<'_>) -> u64,
) -> Option<BranchPlan> {
    let mut plan = BranchPlan {
        from_id: branch.entries.last().map(|entry| entry.id.clone()),
        ..BranchPlan::default()
    };
    for entry in &branch.entries {
        let details = match &entry.body {
            Body::BranchSummary { details, .. } => details.as_ref(),
            Body::Compaction(compaction) => compaction.details.as_ref(),
            _ => None,
        };
        if let Some(details) = details.filter(|_| !is_from_hook(&entry.extra)) {
            plan.files.add_details(details);
        }
    }
    // The last edit of each entry, met before it from the end back.
    let mut edits: HashMap<&EntryId, &Entry> = HashMap::new();
    for entry in branch.entries.iter().rev() {
        if let Body::ContextEdit { target_id, .. } = &entry.body {
            edits.entry(target_id).or_insert(entry);
        }
        let Some(mut item) = item(entry, rules) else { continue };
        item.edit = edits.get(&entry.id).copied();
        if item.edit.is_some_and(removes) {
            continue;
        }
        let Some(message) = fold::render(&item).map(lifted) else { continue };
        plan.files.add_messages([&message]);
        let size = tokens(&item);
        let over = budget > 0 && plan.tokens.saturating_add(size) > budget;
        let is_summary = !matches!(entry.body, Body::Message(_) | Body::CustomMessage { .. });
        if over && !(is_summary && plan.tokens < budget / 10 * 9) {
            break;
        }
        plan.messages.push(message);
        plan.tokens = plan.tokens.saturating_add(size);
        if over {
            break;
        }
    }
    plan.messages.reverse();
    (!plan.messages.is_empty()).then_some(plan)
}

fn removes(edit: &Entry) -> bool {
    matches!(edit.body, Body::ContextEdit { replacement: None, .. })
}

/// What an entry of a branch says, instructions and results of tools left out.
fn item<'a>(entry: &'a Entry, rules: &FoldRules) -> Option<Item<'a>> {
    let source = match &entry.body {
        Body::Message(body)
            if !matches!(body.message.role, Role::Tool | Role::System | Role::Developer) =>
        {
            Source::Entry(entry)
        }
        Body::CustomMessage { .. } => Source::Entry(entry),
        Body::BranchSummary { summary, .. } if rules.branch_summaries && !summary.is_empty() => {
            Source::Entry(entry)
        }
        Body::Compaction(_) => Source::Summary(entry),
        _ => return None,
    };
    Some(Item { source, edit: None })
}

/// How the summary of a branch is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BranchOptions {
    /// The words.
    pub style: PromptStyle,
    /// What the person wants told in it.
    pub instructions: Option<Text>,
}

/// The summary of a branch, to be appended where the person goes on.
#[derive(Clone, Debug, PartialEq)]
pub struct BranchSummary {
    /// The `branch_summary` entry.
    pub body: Body,
    /// What the summary took, as a `usage` entry to append with it, where the provider told.
    pub usage: Option<Body>,
}

/// Asks for the summary of a branch.
///
/// # Errors
/// `summary_failed`, `empty_summary`.
pub async fn summarise(
    plan: &BranchPlan,
    options: &BranchOptions,
    summariser: &dyn Summariser,
) -> Result<BranchSummary> {
    let conversation = Transcript::Parts { thinking: false }.write(&plan.messages);
    let instructions = options.instructions.as_ref().map(|text| text.to_string_lossy());
    let request = SummaryRequest {
        purpose: Purpose::Branch,
        system: options.style.system().into(),
        prompt: options.style.branch(&conversation, instructions.as_deref()).into(),
        max_tokens: MAX_TOKENS,
    };
    let reply = summariser.summarise(request).await?;
    let text = extract_summary(&reply.text);
    if text.is_empty() {
        return Err(Error::EmptySummary);
    }
    let usage = reply.usage.map(|usage| Body::Usage {
        kind: "branch_summary".into(),
        provider: reply.provider.unwrap_or_default(),
        model: reply.model.unwrap_or_default(),
        usage,
    });
    Ok(BranchSummary { body: entry(plan, &text), usage })
}

/// The entry of a branch whose summary is written already.
pub fn entry(plan: &BranchPlan, summary: &Text) -> Body {
    let text = summary.to_string_lossy();
    let text = text.strip_prefix(PREAMBLE).unwrap_or(&text);
    let mut details = ObjectWriter::new();
    plan.files.write(&mut details);
    Body::BranchSummary {
        summary: format!("{PREAMBLE}{text}{}", plan.files.section()).into(),
        from_id: plan.from_id.clone(),
        details: Json::parse(&details.finish()).ok(),
    }
}

#[cfg(test)]
mod tests;
