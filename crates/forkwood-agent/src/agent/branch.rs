//! Leaving a branch, with what happened on it summed up where the person goes on.

use forkwood::{Body, EntryId};
use forkwood_context::branch_summary::{self, BranchOptions};
use forkwood_context::estimate::Estimator;
use tokio_util::sync::CancellationToken;

use super::mark::Marked;
use super::operation::NAVIGATION;
use super::request::stopped;
use super::{Agent, settings_of};
use crate::AgentError;

impl Agent {
    /// Moves to an entry. With `summary`, the model is asked what happened on the branch that is
    /// left, from the ancestor that both have in common, and its answer stands behind the entry
    /// that is gone to, in the context too; its id comes back. `None` where there was nothing to
    /// sum up, or the format of the session knows no such summaries. Move and summary are one
    /// write. [`Handle::cancel`] stops it.
    ///
    /// [`Handle::cancel`]: crate::Handle::cancel
    ///
    /// # Errors
    /// `compaction` where the model gives no summary, or it was stopped: the session stands where
    /// it stood then. `storage`, with the kind `before_floor` for an ancestor of what a compaction
    /// left, and `locked` for a summary while another agent is at work in the session.
    pub async fn rewind(
        &mut self,
        entry: &EntryId,
        summary: Option<&BranchOptions>,
    ) -> Result<Option<EntryId>, AgentError> {
        self.go(entry, summary, false).await
    }

    /// The same, past a compaction too.
    ///
    /// # Errors
    /// Those of [`Agent::rewind`] without `before_floor`.
    pub async fn rewind_past_compaction(
        &mut self,
        entry: &EntryId,
        summary: Option<&BranchOptions>,
    ) -> Result<Option<EntryId>, AgentError> {
        self.go(entry, summary, true).await
    }

    async fn go(
        &mut self,
        entry: &EntryId,
        summary: Option<&BranchOptions>,
        past_compaction: bool,
    ) -> Result<Option<EntryId>, AgentError> {
        let cancel = self.handle.begin(None);
        self.session.reload().await?;
        let written = match summary {
            Some(options) if self.session.facts().rules.branch_summaries => {
                let _claim = self.session.claim().await?;
                if !past_compaction {
                    // Before a model is asked for nothing.
                    self.session.check_rewind(entry).await?;
                }
                let bodies = self.sum_up_branch(entry, options, &cancel).await?;
                self.session.rewind_with(entry, bodies, past_compaction).await?
            }
            _ => self.session.rewind_with(entry, Vec::new(), past_compaction).await?,
        };
        Ok(written.into_iter().next())
    }

    /// What to write behind the entry that is gone to.
    async fn sum_up_branch(
        &mut self,
        entry: &EntryId,
        options: &BranchOptions,
        cancel: &CancellationToken,
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
            settings.provider = self.config.provider.as_deref().map(Into::into);
        }
        let asked = self.summariser(&settings);
        let marked = Marked::new(self, asked, NAVIGATION);
        let summary = tokio::select! {
            biased;
            summary = branch_summary::summarise(&plan, options, &marked) => Some(summary),
            () = cancel.cancelled() => None,
        };
        match summary {
            Some(Ok(summary)) => {
                let done = self.ended(&marked, "done");
                Ok([summary.body].into_iter().chain(summary.usage).chain(done).collect())
            }
            Some(Err(error)) => {
                self.failed(&marked, Some(&error)).await?;
                Err(error.into())
            }
            None => {
                self.failed(&marked, None).await?;
                Err(stopped())
            }
        }
    }
}
