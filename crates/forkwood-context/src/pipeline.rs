//! The pipeline: from a context to one that fits.

use forkwood_core::entry::Compaction;
use forkwood_core::{Entry, Message, Settings, Text, fold};

use crate::compaction::{
    Breaker, Plan, PlanOptions, Summary, SummaryOptions, compaction_entry, plan, summarise,
    view_behind,
};
use crate::estimate::{Estimator, Front, Meter};
use crate::layers::{fit, micro, snip, spill};
use crate::{Config, Error, Layer, Result, Spill, Summariser, ToolSpec, TurnSnapshot, View};

/// What a pipeline works on. All of it is only read.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// What the session shows a model now: `Context::messages` and `entry_ids`.
    pub view: &'a View,
    /// The entries that the view was folded from, root first: `Context::path`.
    pub path: &'a [Entry],
    /// What is frozen for the turn.
    pub snapshot: &'a TurnSnapshot,
    /// Model, thinking level and tools, as the session has them.
    pub settings: &'a Settings,
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prepared {
    /// What to send. The id behind a summary that is not written yet is empty.
    pub view: View,
    /// The layers that changed something, in order.
    pub layers: Vec<Layer>,
    /// Tokens of the request before.
    pub tokens_before: u64,
    /// Tokens of the request now.
    pub tokens_after: u64,
    /// A compaction to append to the session, before the next message is.
    pub compaction: Option<Compaction>,
    /// Why there is no summary, where one was due.
    pub failure: Option<Error>,
}

/// Makes contexts fit. Holds what it learns about tokens, and the circuit breaker.
#[derive(Debug)]
pub struct Pipeline {
    config: Config,
    estimator: Estimator,
    breaker: Breaker,
    /// The characters of the last request that was prepared.
    last_chars: u64,
}

/// What a request has in front of its messages.
struct Ahead {
    system: Text,
    tools: Vec<ToolSpec>,
}

impl Ahead {
    fn of(input: &Input<'_>) -> Ahead {
        Ahead {
            system: input.snapshot.system(),
            tools: input.snapshot.active_tools(input.settings).cloned().collect(),
        }
    }

    fn front(&self) -> Front<'_> {
        Front { system: &self.system, tools: &self.tools }
    }
}

impl Default for Pipeline {
    fn default() -> Pipeline {
        Pipeline::new(Config::default())
    }
}

impl Pipeline {
    /// A pipeline with these numbers.
    pub fn new(config: Config) -> Pipeline {
        let breaker = Breaker::new(config.breaker_limit);
        Pipeline { config, estimator: Estimator::new(), breaker, last_chars: 0 }
    }

    /// Its numbers.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Its numbers, to be changed: another model has another budget.
    pub fn config_mut(&mut self) -> &mut Config {
        &mut self.config
    }

    /// What it knows about tokens.
    pub fn estimator(&self) -> &Estimator {
        &self.estimator
    }

    /// The same, to set a ratio that was learned earlier.
    pub fn estimator_mut(&mut self) -> &mut Estimator {
        &mut self.estimator
    }

    /// The circuit breaker.
    pub fn breaker(&self) -> &Breaker {
        &self.breaker
    }

    /// Closes the circuit breaker: another model may do better.
    pub fn reset_breaker(&mut self) {
        self.breaker.reset();
    }

    /// Learns from the tokens of a prompt that a provider reported for the last view that was
    /// prepared: cached ones included ([`crate::estimate::prompt_tokens`]).
    pub fn record_usage(&mut self, prompt_tokens: u64) {
        self.estimator.record_usage(self.last_chars, prompt_tokens);
    }

    /// The tokens of a request as it stands.
    pub fn tokens(&self, input: Input<'_>) -> u64 {
        let ahead = Ahead::of(&input);
        self.meter(&input, &ahead).request(ahead.front(), &input.view.messages)
    }

    /// Makes a context fit, cheapest layer first, and only where it is over the threshold. The
    /// input is never changed, and nothing is written: what is to be appended comes back.
    /// Never fails: where a summary does, the view of the layers without a model is used.
    pub async fn prepare(
        &mut self,
        input: Input<'_>,
        spill: Option<&dyn Spill>,
        summariser: Option<&dyn Summariser>,
    ) -> Prepared {
        let ahead = Ahead::of(&input);
        let mut out = Prepared { view: input.view.clone(), ..Prepared::default() };
        out.tokens_before = self.meter(&input, &ahead).request(ahead.front(), &out.view.messages);
        out.tokens_after = out.tokens_before;
        if out.tokens_before > self.config.threshold() {
            self.free_layers(&mut out, &input, &ahead, spill);
            if out.tokens_after > self.config.threshold()
                && let Some(options) = self.config.summary
                && let Some(summariser) = summariser
            {
                match self.sum_up(&input, &ahead, &options, &out, summariser).await {
                    Ok(summed) => {
                        self.breaker.reset();
                        out = summed;
                        self.free_layers(&mut out, &input, &ahead, spill);
                    }
                    Err(error) => {
                        let counts =
                            !matches!(error, Error::NothingToCompact | Error::BreakerOpen { .. });
                        if counts {
                            self.breaker.failed();
                        }
                        out.failure = Some(error);
                    }
                }
            }
        }
        self.finish(&mut out, &input, &ahead);
        out
    }

    /// Compacts now, whatever the size: asked for by a person, or after a provider's overflow.
    /// All is summed up where there is no cut that would sum up something.
    ///
    /// # Errors
    /// `nothing_to_compact`, `summary_failed`, `empty_summary`.
    pub async fn compact(
        &mut self,
        input: Input<'_>,
        instructions: Option<&Text>,
        summariser: &dyn Summariser,
    ) -> Result<Prepared> {
        let ahead = Ahead::of(&input);
        let plan = self.plan(&input, &ahead, true).ok_or(Error::NothingToCompact)?;
        let options = self.summary_options(&self.config.summary.unwrap_or_default());
        let summary = summarise(&plan, &options, instructions, summariser).await?;
        self.breaker.reset();
        Ok(self.compacted(&input, &ahead, &plan, &summary, instructions))
    }

    /// Compacts now, with a summary that is written already.
    ///
    /// # Errors
    /// `nothing_to_compact`, `empty_summary`.
    pub fn compact_with(&mut self, input: Input<'_>, summary: &Text) -> Result<Prepared> {
        let ahead = Ahead::of(&input);
        let plan = self.plan(&input, &ahead, true).ok_or(Error::NothingToCompact)?;
        let text = summary.to_string_lossy();
        if text.trim().is_empty() {
            return Err(Error::EmptySummary);
        }
        let text = format!("{}{}", text.trim(), plan.files.section()).into();
        let summary = Summary { text, ..Summary::default() };
        Ok(self.compacted(&input, &ahead, &plan, &summary, None))
    }

    /// A compaction that was asked for, and the view behind it.
    fn compacted(
        &mut self,
        input: &Input<'_>,
        ahead: &Ahead,
        plan: &Plan,
        summary: &Summary,
        instructions: Option<&Text>,
    ) -> Prepared {
        let meter = self.meter(input, ahead);
        let before = meter.request(ahead.front(), &input.view.messages);
        let mut out = self.written(input, ahead, plan, summary, instructions, before);
        self.free_layers(&mut out, input, ahead, None);
        self.finish(&mut out, input, ahead);
        out
    }

    /// Asks for a summary and takes it where it makes the request smaller.
    async fn sum_up(
        &self,
        input: &Input<'_>,
        ahead: &Ahead,
        options: &SummaryOptions,
        free: &Prepared,
        summariser: &dyn Summariser,
    ) -> Result<Prepared> {
        if self.breaker.is_open() {
            return Err(Error::BreakerOpen { failures: self.breaker.failures() });
        }
        let plan = self.plan(input, ahead, false).ok_or(Error::NothingToCompact)?;
        let options = self.summary_options(options);
        let summary = summarise(&plan, &options, None, summariser).await?;
        let out = self.written(input, ahead, &plan, &summary, None, free.tokens_before);
        if out.tokens_after >= free.tokens_before {
            return Err(Error::SummaryTooLong {
                before: free.tokens_before,
                after: out.tokens_after,
            });
        }
        Ok(out)
    }

    fn plan(&self, input: &Input<'_>, ahead: &Ahead, force: bool) -> Option<Plan> {
        let meter = self.meter(input, ahead);
        let options = PlanOptions {
            rules: &self.config.rules,
            cut: self.config.cut,
            keep_tokens: self.config.keep_recent(meter.front(ahead.front())),
            force,
        };
        let tokens = |item: &fold::Item<'_>| fold::render(item).map_or(0, |m| meter.message(&m));
        let mut plan = plan(input.path, &options, &tokens)?;
        // The session has put images where the log only names them.
        let view = input.view;
        let from = view.len().checked_sub(plan.kept.len());
        if let Some(from) = from.filter(|from| view.entry_ids[*from..] == plan.kept.entry_ids) {
            plan.kept.messages = view.messages[from..].to_vec();
        }
        Some(plan)
    }

    /// The entry of a plan and its summary, with the view behind it.
    fn written(
        &self,
        input: &Input<'_>,
        ahead: &Ahead,
        plan: &Plan,
        summary: &Summary,
        instructions: Option<&Text>,
        tokens_before: u64,
    ) -> Prepared {
        let meter = self.meter(input, ahead);
        let rules = &self.config.rules;
        let mut entry = compaction_entry(plan, summary, instructions, input.settings, rules);
        let view = view_behind(&entry, &plan.kept);
        let tokens_after = meter.request(ahead.front(), &view.messages);
        entry.tokens_before = Some(tokens_before);
        entry.tokens_after = Some(tokens_after);
        Prepared {
            view,
            layers: vec![Layer::Summary],
            tokens_before,
            tokens_after,
            compaction: Some(entry),
            failure: None,
        }
    }

    /// L3, L1, L2: each while the request is over the threshold.
    fn free_layers(
        &self,
        out: &mut Prepared,
        input: &Input<'_>,
        ahead: &Ahead,
        files: Option<&dyn Spill>,
    ) {
        let meter = self.meter(input, ahead);
        let config = &self.config;
        for layer in [Layer::Spill, Layer::Snip, Layer::Micro] {
            if out.tokens_after <= config.threshold() {
                return;
            }
            let changed = match (layer, files) {
                (Layer::Spill, Some(files)) => {
                    config.spill.as_ref().is_some_and(|c| spill(&mut out.view, c, files) > 0)
                }
                (Layer::Snip, _) => {
                    config.snip.as_ref().is_some_and(|c| snip(&mut out.view, c) > 0)
                }
                (Layer::Micro, _) => {
                    config.micro.as_ref().is_some_and(|c| micro(&mut out.view, c) > 0)
                }
                _ => false,
            };
            if changed {
                out.layers.push(layer);
                out.tokens_after = meter.request(ahead.front(), &out.view.messages);
            }
        }
    }

    /// Cuts what is still over the budget, and notes what the request has become.
    fn finish(&mut self, out: &mut Prepared, input: &Input<'_>, ahead: &Ahead) {
        if self.config.fit && out.tokens_after > self.config.budget {
            let meter = self.meter(input, ahead);
            // Counted apart, two parts may lose a token each to rounding.
            let room = self.config.budget.saturating_sub(meter.front(ahead.front()) + 2);
            if fit(&mut out.view, room, &meter) {
                out.layers.push(Layer::Fit);
                out.tokens_after = meter.request(ahead.front(), &out.view.messages);
            }
        }
        self.last_chars = Estimator::chars(Some(ahead.front()), &out.view.messages);
    }

    /// How this request is counted: exactly where that is wanted and matters.
    fn meter(&self, input: &Input<'_>, ahead: &Ahead) -> Meter<'_> {
        let fast = self.estimator.meter(None, false);
        let model = input.settings.model.as_ref().filter(|_| self.config.exact);
        let messages: &[Message] = &input.view.messages;
        if model.is_none()
            || fast.request(ahead.front(), messages).saturating_mul(2) < self.config.threshold()
        {
            return fast;
        }
        self.estimator.meter(model, true)
    }

    /// A request for a summary must fit as well. Any model takes 16,000 characters.
    fn summary_options(&self, options: &SummaryOptions) -> SummaryOptions {
        let chars_per_token = 1.0 / self.estimator.ratio().unwrap_or(0.25);
        let chars = (self.config.budget as f64 / 2.0 * chars_per_token) as usize;
        let tokens = u32::try_from(self.config.budget / 4).unwrap_or(u32::MAX);
        SummaryOptions {
            max_chars: options.max_chars.min(chars.max(16_000)),
            max_tokens: options.max_tokens.min(tokens.max(256)),
            ..*options
        }
    }
}

#[cfg(test)]
mod tests;
