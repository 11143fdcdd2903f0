//! Leaving a branch, with what happened on it summed up where the person goes on.

use forkwood::{Body, EntryId};
use forkwood_context::branch_summary::{self, BranchOptions};
use forkwood_context::estimate::Estimator;

use super::request::ModelSummariser;
use super::{Agent, settings_of};
use crate::AgentError;

impl Agent {
    /// Moves to an entry. With `summary`, the model is asked what happened on the branch that is
    /// left, from the ancestor that both have in common, and its answer stands behind the entry
    /// that is gone to, in the context too; its id comes back. `None` where there was nothing to
    /// sum up, or the format of the session knows no such summaries. [`Handle::cancel`] stops
    /// it.
    ///
    /// [`Handle::cancel`]: crate::Handle::cancel
    ///
    /// # Errors
    /// `compaction` where the model gives no summary, or it was stopped: nothing is written then,
    /// and the session stands where it stood. `storage`, with the kind `before_floor` for an
    /// ancestor of what a compaction left.
    pub async fn rewind(
        &mut self,
        entry: &EntryId,
        summary: Option<&BranchOptions>,
    ) -> Result<Option<EntryId>, AgentError> {
        let cancel = self.handle.begin(None);
        self.session.reload().await?;
        let written = match summary {
            Some(options) if self.session.facts().rules.branch_summaries => tokio::select! {
                biased;
                written = self.sum_up_branch(entry, options) => written?,
                () = cancel.cancelled() => {
                    let stopped = forkwood_context::SummaryError::new("it was stopped");
                    return Err(forkwood_context::Error::from(stopped).into());
                }
            },
            _ => Vec::new(),
        };
        self.session.rewind(entry).await?;
        if written.is_empty() {
            return Ok(None);
        }
        let appended = self.session.append_batch(written, forkwood::AppendOptions::default());
        Ok(appended.await?.entries.into_iter().next().map(|entry| entry.id))
    }

    /// What to write behind the entry that is gone to. Writes nothing.
    async fn sum_up_branch(
        &self,
        entry: &EntryId,
        options: &BranchOptions,
    ) -> Result<Vec<Body>, AgentError> {
        let Some(leaf) = self.session.leaf() else { return Ok(Vec::new()) };
        let left = self.session.path_to(leaf).await?;
        let target = self.session.path_to(entry).await?;
        let branch = branch_summary::collect(&left, &target);
        // Room for the words around it and for the answer.
        let budget = self.config.budget.as_ref().map_or(0, |config| config.budget / 4 * 3);
        let fresh = Estimator::new();
        let estimator = self.pipeline.as_ref().map_or(&fresh, |pipeline| pipeline.estimator());
        let meter = estimator.meter(None, false);
        let rules = self.session.facts().rules;
        let plan = branch_summary::plan(&branch, budget, &rules, &|item| {
            forkwood::core::fold::render(item).map_or(0, |message| meter.message(&message))
        });
        let Some(plan) = plan else { return Ok(Vec::new()) };
        let mut settings = settings_of(&self.session).await?;
        if settings.model.is_none() {
            settings.model = self.config.model.as_deref().map(Into::into);
        }
        let asked = ModelSummariser::new(&self.config.providers, &settings);
        let summary = branch_summary::summarise(&plan, options, &asked).await?;
        Ok([summary.body].into_iter().chain(summary.usage).collect())
    }
}
