//! The summary of a branch that is left.

use forkwood::core::fold::{self, Item};
use forkwood::{Entry, EntryId, Session, Settings};
use forkwood_agent::{ModelSummariser, Providers};
use forkwood_context::branch_summary::{BranchOptions, collect, plan, summarise};
use forkwood_context::estimate::Estimator;

pub(super) use forkwood_context::branch_summary::BranchSummary;

use crate::error::Result;

/// Tokens of a branch that are summed up at most, the newest ones.
const BUDGET: u64 = 80_000;

/// Asks a model for it. `None` where nothing was said on the branch.
pub(super) async fn summary(
    session: &Session,
    to: &EntryId,
    providers: &Providers,
    by: &Settings,
) -> Result<Option<BranchSummary>> {
    let left: Vec<Entry> = session.current_path().await?;
    let target: Vec<Entry> = session.path_to(to).await?;
    let branch = collect(&left, &target);
    let estimator = Estimator::new();
    let meter = estimator.meter(None, false);
    let tokens = |item: &Item<'_>| fold::render(item).map_or(0, |shown| meter.message(&shown));
    let Some(plan) = plan(&branch, BUDGET, &session.facts().rules, &tokens) else {
        return Ok(None);
    };
    let summariser = ModelSummariser::new(providers, by);
    Ok(Some(summarise(&plan, &BranchOptions::default(), &summariser).await?))
}
