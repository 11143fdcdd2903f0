//! One turn of the model.

use forkwood::{Body, Message};
use futures_util::StreamExt;

use super::Agent;
use super::operation::{self, RUN};
use super::run::{CANCELLED, CUT_OFF, Run, RunStop, error_result};
use crate::{
    AgentError, AgentEvent, Event, ProviderError, ProviderErrorKind, Reply, Request, StopReason,
    ToolCall,
};

/// How a turn ended.
#[derive(Debug)]
pub(super) enum Turn {
    /// The model wants tools to run.
    Calls(Vec<ToolCall>),
    /// The model is to be asked again.
    GoOn,
    /// The run is over, and its end is in the session.
    Ended(RunStop),
    /// The person stopped it.
    Cancelled,
}

/// What came of one request.
enum Answer {
    Whole(Reply),
    Cancelled(Reply),
}

impl Agent {
    /// Asks the model once, and writes down what it says.
    pub(super) async fn turn(&mut self, run: &mut Run) -> Result<Turn, AgentError> {
        let Some((request, provider)) = self.request(&run.snapshot, &run.cancel).await? else {
            return Ok(Turn::Cancelled);
        };
        let model = request.model();
        run.turns += 1;
        self.config.events.tell(AgentEvent::TurnStarted {
            turn: run.turns,
            model: model.clone(),
            provider: provider.clone(),
        });
        let answer = self.ask(run, request, &provider).await?;
        let ids = std::sync::Arc::clone(&self.config.ids);
        let fresh = || format!("call_{}", ids.next_id());
        match answer {
            Answer::Cancelled(mut reply) => {
                reply.settle_ids(fresh);
                self.keep_cancelled(run, reply, &model, &provider).await
            }
            Answer::Whole(mut reply) => {
                reply.settle_ids(fresh);
                self.keep(run, reply, &model, &provider).await
            }
        }
    }

    /// Sends a request, and again where that may help.
    async fn ask(
        &mut self,
        run: &Run,
        mut request: Request,
        provider: &str,
    ) -> Result<Answer, AgentError> {
        let mut waits = self.config.retries.waits();
        let mut attempt = 0;
        let mut compacted = false;
        loop {
            let error = match self.attempt(run, request.clone(), provider).await? {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if error.kind == ProviderErrorKind::Overflow && !compacted {
                compacted = true;
                match self.compact_now(&run.snapshot, None, &run.cancel).await {
                    Ok(_) => match self.request(&run.snapshot, &run.cancel).await? {
                        Some((shorter, _)) => {
                            request = shorter;
                            continue;
                        }
                        None => return Ok(Answer::Cancelled(Reply::default())),
                    },
                    Err(AgentError::Compaction(_)) if run.cancel.is_cancelled() => {
                        return Ok(Answer::Cancelled(Reply::default()));
                    }
                    Err(AgentError::Compaction(failure)) => {
                        let text = format!("compaction after an overflow: {failure}");
                        self.config.events.tell(AgentEvent::Warning(text));
                    }
                    Err(error) => return Err(error),
                }
            }
            let Some(wait) = waits.after(&error) else { return Err(error.into()) };
            attempt += 1;
            self.config.events.tell(AgentEvent::Retrying { attempt, wait, error });
            tokio::select! {
                biased;
                () = run.cancel.cancelled() => return Ok(Answer::Cancelled(Reply::default())),
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Sends a request once.
    async fn attempt(
        &self,
        run: &Run,
        request: Request,
        provider: &str,
    ) -> Result<Result<Answer, ProviderError>, AgentError> {
        let provider = self.config.providers.get(Some(provider))?;
        let mut reply = Reply::default();
        let mut stream = tokio::select! {
            biased;
            () = run.cancel.cancelled() => return Ok(Ok(Answer::Cancelled(reply))),
            stream = provider.stream(request) => match stream {
                Ok(stream) => stream,
                Err(error) => return Ok(Err(error)),
            },
        };
        loop {
            let event = tokio::select! {
                biased;
                () = run.cancel.cancelled() => return Ok(Ok(Answer::Cancelled(reply))),
                event = stream.next() => event,
            };
            match event {
                Some(Ok(event)) => {
                    let told = match &event {
                        Event::Text(text) => Some(AgentEvent::Text(text.clone())),
                        Event::Thinking(text) => Some(AgentEvent::Thinking(text.clone())),
                        _ => None,
                    };
                    if let Some(told) = told {
                        self.config.events.tell(told);
                    }
                    reply.take(event);
                    if reply.stop.is_some() {
                        return Ok(Ok(Answer::Whole(reply)));
                    }
                }
                Some(Err(error)) => return Ok(Err(error)),
                None => return Ok(Err(ProviderError::cut_off())),
            }
        }
    }

    /// Writes a whole answer down.
    async fn keep(
        &mut self,
        run: &mut Run,
        reply: Reply,
        model: &str,
        provider: &str,
    ) -> Result<Turn, AgentError> {
        let calls = reply.calls().to_vec();
        let stop = reply.stop;
        let usage = reply.usage;
        if let Some(usage) = &usage {
            run.usage.add(usage);
            self.learn(usage);
        }
        let mut message = reply.message(model, provider);
        message.usage = usage.map(|usage| self.config.prices.report(&usage, provider, model));
        run.text = message.content.text().to_string_lossy().into_owned();
        let mut bodies = vec![Body::message(message)];
        let turn = if !calls.is_empty() && stop == Some(StopReason::Length) {
            bodies.extend(calls.iter().map(|call| Body::message(error_result(call, CUT_OFF))));
            Turn::GoOn
        } else if !calls.is_empty() {
            Turn::Calls(calls)
        } else {
            let waiting = self.waiting(true);
            if waiting.is_empty() {
                let stop = match stop {
                    Some(StopReason::Length) => RunStop::Length,
                    Some(StopReason::Refused) => RunStop::Refused,
                    _ => RunStop::Done,
                };
                // With the answer, so that no process can die between the two.
                bodies.push(operation::finished(&run.id, RUN, stop.as_str(), None));
                Turn::Ended(stop)
            } else {
                bodies.extend(waiting.into_iter().map(Body::message));
                Turn::GoOn
            }
        };
        let saved = self.append(bodies).await?;
        if let Some((answer, rest)) = saved.split_first() {
            self.tell_saved(std::slice::from_ref(answer), usage);
            self.tell_saved(rest, None);
        }
        Ok(turn)
    }

    /// Writes down of a cancelled answer what must not be lost: its tool calls, answered. Text
    /// alone is not kept.
    async fn keep_cancelled(
        &mut self,
        run: &mut Run,
        reply: Reply,
        model: &str,
        provider: &str,
    ) -> Result<Turn, AgentError> {
        let calls = reply.calls().to_vec();
        let usage = reply.usage;
        if let Some(usage) = &usage {
            run.usage.add(usage);
        }
        let priced = usage.map(|usage| self.config.prices.report(&usage, provider, model));
        if calls.is_empty() {
            if let Some(usage) = priced {
                let body = Body::Usage {
                    kind: "cancelled".into(),
                    provider: provider.into(),
                    model: model.into(),
                    usage,
                };
                self.append(vec![body]).await?;
            }
            return Ok(Turn::Cancelled);
        }
        let mut message: Message = reply.message(model, provider);
        message.usage = priced;
        message.stop_reason = Some("aborted".into());
        run.text = message.content.text().to_string_lossy().into_owned();
        let mut bodies = vec![Body::message(message)];
        bodies.extend(calls.iter().map(|call| Body::message(error_result(call, CANCELLED))));
        let saved = self.append(bodies).await?;
        self.tell_saved(&saved, None);
        Ok(Turn::Cancelled)
    }
}
