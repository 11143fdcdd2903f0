//! The request for a turn: the state of the session, made to fit.

use std::sync::Arc;

use async_trait::async_trait;
use forkwood::{EntryId, Settings, Text};
use forkwood_context::{
    Input, Pipeline, Prepared, ProviderInput, Spill, Summariser, SummaryError, SummaryReply,
    SummaryRequest, TurnSnapshot, View, is_paired, pair_tools,
};
use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;

use super::follow::Followed;
use super::mark::Marked;
use super::operation::COMPACTION;
use super::{Agent, plain};
use crate::{AgentError, AgentEvent, Event, Prices, Provider, Providers, Reply, Request, Usage};

/// Where long outputs go.
#[derive(Clone)]
pub(crate) struct SharedSpill(pub(crate) Arc<dyn Spill>);

impl std::fmt::Debug for SharedSpill {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SharedSpill")
    }
}

impl Agent {
    pub(super) fn snapshot(&self) -> TurnSnapshot {
        TurnSnapshot::new(self.system.as_str(), self.tools.specs(), Vec::new())
    }

    /// The model of the settings, to sum up.
    pub(super) fn summariser(&self, settings: &Settings) -> ModelSummariser {
        let prices = Arc::clone(&self.config.prices);
        ModelSummariser::new(&self.config.providers, settings).with_prices(prices)
    }

    /// Model, thinking level and tools where the session stands: what is new since it was last
    /// looked at is read, and not the conversation.
    pub(super) async fn settings_now(&mut self) -> Result<Settings, AgentError> {
        Ok(self.follow().await?.settings.clone())
    }

    /// The state of the session, for who does not take it away.
    pub(super) async fn follow(&mut self) -> Result<&Followed, AgentError> {
        let now = Followed::now(self.followed.take(), &self.session).await?;
        Ok(self.followed.insert(now))
    }

    /// The state of the session.
    pub(super) async fn now(&mut self) -> Result<(Followed, View), AgentError> {
        let followed = Followed::now(self.followed.take(), &self.session).await?;
        let view = followed.view(&self.session).await?;
        Ok((followed, view))
    }

    /// The request for the state of the session as it is now. Where it would not fit, it is made
    /// to, and a summary that this took is in the session before the request is sent. `None`
    /// where the person stopped it meanwhile.
    pub(super) async fn request(
        &mut self,
        snapshot: &TurnSnapshot,
        cancel: &CancellationToken,
    ) -> Result<Option<(Request, String)>, AgentError> {
        let (now, seen) = self.now().await?;
        if now.settings.model.is_none() {
            return Err(AgentError::NoModel);
        }
        let named = plain(now.settings.provider.as_ref());
        let provider = self.config.providers.get(named.as_deref())?.name().to_owned();
        let results = self.config.results(&self.session);
        let asked = self.summariser(&now.settings);
        let marked = Marked::new(self, asked, COMPACTION);
        let view = match self.pipeline.as_mut() {
            None => seen,
            Some(pipeline) => {
                pipeline.config_mut().rules = self.session.facts().rules;
                let input =
                    Input { view: &seen, path: &now.path, snapshot, settings: &now.settings };
                let given = self.config.spill.as_ref().map(|spill| &*spill.0);
                let spill = given.or(results.as_ref().map(|folder| folder as &dyn Spill));
                let prepared = tokio::select! {
                    biased;
                    prepared = pipeline.prepare(input, spill, Some(&marked)) => Some(prepared),
                    () = cancel.cancelled() => None,
                };
                let Some(prepared) = prepared else {
                    self.failed(&marked, None).await?;
                    return Ok(None);
                };
                self.take(prepared, &marked).await?
            }
        };
        let view = match is_paired(&view.messages) {
            true => view,
            false => {
                let paired = pair_tools(&view.messages, &view.entry_ids);
                View::new(paired.messages, paired.entry_ids)
            }
        };
        let mut input = snapshot.provider_input(&view, &now.settings);
        input.provider = Some(provider.as_str().into());
        self.followed = Some(now);
        Ok(Some((Request { input, max_tokens: self.config.max_tokens }, provider)))
    }

    /// Writes down what came with a view, and gives the view.
    async fn take(&mut self, prepared: Prepared, marked: &Marked) -> Result<View, AgentError> {
        if let Some(failure) = prepared.failure {
            self.failed(marked, Some(&failure)).await?;
            self.config.events.tell(AgentEvent::Warning(format!("compaction: {failure}")));
        }
        if let Some(compaction) = prepared.compaction {
            let done = self.ended(marked, "done");
            self.append_compaction(compaction, done).await?;
        }
        Ok(prepared.view)
    }

    /// Sums up the conversation now, whatever its size. [`Handle::cancel`] stops it.
    ///
    /// [`Handle::cancel`]: crate::Handle::cancel
    ///
    /// # Errors
    /// `compaction` where there is nothing to sum up, the model gives no summary, or it was
    /// stopped: nothing is written then. `storage`, with the kind `locked` while another agent is
    /// at work in the session.
    pub async fn compact(&mut self, instructions: Option<&str>) -> Result<EntryId, AgentError> {
        let cancel = self.handle.begin(None);
        let _claim = self.session.claim().await?;
        self.session.reload().await?;
        let snapshot = self.snapshot();
        self.compact_now(&snapshot, instructions, &cancel).await
    }

    pub(super) async fn compact_now(
        &mut self,
        snapshot: &TurnSnapshot,
        instructions: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<EntryId, AgentError> {
        let (mut now, seen) = self.now().await?;
        if now.settings.model.is_none() {
            now.settings.model = self.config.model.as_deref().map(Into::into);
        }
        let asked = self.summariser(&now.settings);
        let marked = Marked::new(self, asked, COMPACTION);
        let input = Input { view: &seen, path: &now.path, snapshot, settings: &now.settings };
        let instructions: Option<Text> = instructions.map(Into::into);
        let mut own = Pipeline::default();
        let pipeline = self.pipeline.as_mut().unwrap_or(&mut own);
        // Another session may have been opened since the last request.
        pipeline.config_mut().rules = self.session.facts().rules;
        let prepared = tokio::select! {
            biased;
            prepared = pipeline.compact(input, instructions.as_ref(), &marked) => Some(prepared),
            () = cancel.cancelled() => None,
        };
        let prepared = match prepared {
            Some(Ok(prepared)) => prepared,
            Some(Err(error)) => {
                self.failed(&marked, Some(&error)).await?;
                return Err(error.into());
            }
            None => {
                self.failed(&marked, None).await?;
                return Err(stopped());
            }
        };
        let done = self.ended(&marked, "done");
        let Some(compaction) = prepared.compaction else {
            return Err(forkwood_context::Error::NothingToCompact.into());
        };
        self.append_compaction(compaction, done).await
    }

    /// Learns from what a provider counted.
    pub(super) fn learn(&mut self, usage: &Usage) {
        if usage.prompt() > 0
            && let Some(pipeline) = self.pipeline.as_mut()
        {
            pipeline.record_usage(usage.prompt());
        }
    }
}

/// The person did not wait for a summary.
pub(super) fn stopped() -> AgentError {
    forkwood_context::Error::from(SummaryError::new("it was stopped")).into()
}

/// A model that writes summaries: that of a session, through its provider.
#[derive(Clone, Debug)]
pub struct ModelSummariser {
    provider: Option<Arc<dyn Provider>>,
    model: Option<Text>,
    provider_name: Option<Text>,
    prices: Arc<Prices>,
}

impl ModelSummariser {
    /// The model that the settings name, at its provider; at the default one where they name
    /// none. Where there is no such provider, each summary fails.
    pub fn new(providers: &Providers, settings: &Settings) -> ModelSummariser {
        let named = plain(settings.provider.as_ref());
        let provider = providers.get(named.as_deref()).ok().map(Arc::clone);
        ModelSummariser {
            model: settings.model.clone(),
            provider_name: provider.as_ref().map(|it| it.name().into()),
            provider,
            prices: Arc::default(),
        }
    }

    /// With what models cost, so that it is told with the tokens.
    #[must_use]
    pub fn with_prices(mut self, prices: Arc<Prices>) -> ModelSummariser {
        self.prices = prices;
        self
    }
}

#[async_trait]
impl Summariser for ModelSummariser {
    async fn summarise(&self, request: SummaryRequest) -> Result<SummaryReply, SummaryError> {
        let failed = |what: &dyn std::fmt::Display| SummaryError::new(what.to_string());
        let provider =
            self.provider.as_ref().ok_or_else(|| failed(&"there is no provider to ask"))?;
        let question = forkwood::Message::user(request.prompt);
        let input = ProviderInput {
            system: request.system,
            view: View::new(vec![question], Vec::new()),
            model: self.model.clone(),
            provider: self.provider_name.clone(),
            ..ProviderInput::default()
        };
        let request = Request { input, max_tokens: Some(request.max_tokens) };
        let mut stream = provider.stream(request).await.map_err(|error| failed(&error))?;
        let mut reply = Reply::default();
        let mut text = String::new();
        while reply.stop.is_none() {
            match stream.next().await {
                Some(Ok(event)) => {
                    if let Event::Text(more) = &event {
                        text.push_str(more);
                    }
                    reply.take(event);
                }
                Some(Err(error)) => return Err(failed(&error)),
                None => return Err(failed(&"the answer broke off before its end")),
            }
        }
        Ok(SummaryReply {
            text: text.into(),
            usage: reply.usage.map(|usage| {
                let name = |text: &Option<Text>| plain(text.as_ref()).unwrap_or_default();
                self.prices.report(&usage, &name(&self.provider_name), &name(&self.model))
            }),
            model: self.model.clone(),
            provider: self.provider_name.clone(),
        })
    }
}
