//! Rolling summaries (L4): what is summed up, how it is asked for, what is written down.

mod breaker;
mod extract;
mod files;
mod plan;
mod prompts;
mod serialise;
mod summarise;
mod summariser;

pub use breaker::Breaker;
pub use extract::extract_summary;
pub(crate) use files::is_from_hook;
pub use files::{Files, files_of};
pub use plan::{CutRule, Plan, PlanOptions, cut_after_user, plan};
pub use prompts::{BRIEF_SYSTEM, BRIEF_TEMPLATE, PromptStyle};
pub use serialise::Transcript;
pub use summarise::{Summary, SummaryOptions, summarise};
pub use summariser::{Purpose, Summariser, SummaryError, SummaryReply, SummaryRequest};

use forkwood_core::entry::{Compaction, CompactionState};
use forkwood_core::fold::{self, FoldRules, Item, Source};
use forkwood_core::json::ObjectWriter;
use forkwood_core::{Body, Entry, EntryId, Json, Lane, Settings, Text};

use crate::View;

/// The entry of a plan that has its summary. Where nothing is kept, it names no entry, and the
/// session makes that of it; where it replaces an earlier one as well, it keeps an empty tail,
/// which is the same (Pi's files know neither). Where the rules have compactions in place, it
/// names all that it covers (my-pi-agent's files know nothing else).
///
/// `settings` are those at the leaf, so that a reader can stop at the entry.
pub fn compaction_entry(
    plan: &Plan,
    summary: &Summary,
    instructions: Option<&Text>,
    settings: &Settings,
    rules: &FoldRules,
) -> Compaction {
    let mut details = ObjectWriter::new();
    plan.files.write(&mut details);
    details
        .opt_text("instructions", instructions)
        .opt_text("model", summary.model.as_ref())
        .opt_text("provider", summary.provider.as_ref());
    let mut entry = Compaction {
        summary: summary.text.clone(),
        replaces_entry_ids: plan.replaces.clone(),
        first_kept_entry_id: plan.first_kept_entry_id.clone(),
        state: Some(CompactionState {
            model: settings.model.clone(),
            provider: settings.provider.clone(),
            thinking_level: settings.thinking_level.clone(),
            active_tool_names: settings.active_tool_names.clone(),
        }),
        usage: summary.usage.clone(),
        details: Json::parse(&details.finish()).ok(),
        ..Compaction::default()
    };
    if rules.compaction_in_place {
        entry.replaces_entry_ids.clone_from(&plan.covered);
        entry.first_kept_entry_id = None;
    } else if entry.first_kept_entry_id.is_none() && !entry.replaces_entry_ids.is_empty() {
        if *rules == FoldRules::NATIVE {
            entry.retained_tail = Some(Vec::new());
        } else {
            entry.replaces_entry_ids.clear();
        }
    }
    entry
}

/// The context behind a compaction that is not written yet: as the fold will have it, but with
/// an empty id behind the summary.
pub fn view_behind(compaction: &Compaction, kept: &View) -> View {
    let entry = Entry {
        id: EntryId::new(""),
        parent_id: None,
        timestamp: None,
        lane: Lane::main(),
        more: 0,
        body: Body::Compaction(compaction.clone()),
        extra: Vec::new(),
    };
    let mut view = View::default();
    if let Some(summary) = fold::render(&Item { source: Source::Summary(&entry), edit: None }) {
        view.messages.push(summary);
        view.entry_ids.push(entry.id.clone());
    }
    view.messages.extend(kept.messages.iter().cloned());
    view.entry_ids.extend(kept.entry_ids.iter().cloned());
    view
}

#[cfg(test)]
mod tests;
