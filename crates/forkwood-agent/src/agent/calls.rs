//! Running what the model calls.

use std::collections::HashMap;
use std::sync::Arc;

use forkwood::{Body, EntryId, Json, Message, Role};
use serde_json::json;
use tokio::task::{AbortHandle, Id, JoinSet};

use super::Agent;
use super::operation::{self, OpenOperation, TOOL};
use super::run::{CANCELLED, Run};
use crate::tool::{After, Before, Tool, ToolFailure, ToolOutput, ToolRun};
use crate::{AgentError, AgentEvent, ToolCall};

/// A call that is to run.
#[derive(Clone, Debug)]
pub(super) struct PendingCall {
    pub(super) call: ToolCall,
    /// The operation in which it ran before and was interrupted.
    pub(super) interrupted: Option<OpenOperation>,
}

/// How the calls of a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallsEnd {
    Done,
    Terminated,
    Cancelled,
}

/// A call that may start.
struct Ready {
    call: ToolCall,
    /// What the model called with, where a hook changed it.
    tool: Arc<dyn Tool>,
    changed: Option<Json>,
    prepared: Option<Json>,
    operation: String,
    replayed: bool,
}

/// What became of a result.
struct Closed {
    /// Whether the run ends with it.
    terminate: bool,
    entries: Vec<EntryId>,
    /// Why it stands on a lane of its own, if it does.
    moved: Option<forkwood::Error>,
}

enum Verdict {
    Ready(Ready),
    Answer(ToolOutput),
    Terminate(ToolOutput),
}

impl Agent {
    /// Runs calls in order, neighbours that may at the same time, and writes each result down
    /// when its tool has ended.
    pub(super) async fn run_calls(
        &mut self,
        run: &Run,
        calls: Vec<PendingCall>,
    ) -> Result<CallsEnd, AgentError> {
        let settings = self.settings_now().await?;
        let tools = self.tools.active(settings.active_tool_names.as_deref());
        let mut end = CallsEnd::Done;
        let mut group: Vec<Ready> = Vec::new();
        for pending in calls {
            if run.cancel.is_cancelled() {
                end = CallsEnd::Cancelled;
            }
            if end != CallsEnd::Done {
                self.answer(&pending, ToolOutput::error(not_run(end))).await?;
                continue;
            }
            let tool = tools.get(&pending.call.name).cloned();
            let parallel = tool.as_ref().is_some_and(|tool| tool.parallel());
            if !parallel || group.len() >= self.config.max_parallel {
                end = self.run_group(run, std::mem::take(&mut group)).await?;
                if end != CallsEnd::Done {
                    self.answer(&pending, ToolOutput::error(not_run(end))).await?;
                    continue;
                }
            }
            match self.judge(&pending, tool, &tools.names()).await {
                Verdict::Ready(ready) => group.push(ready),
                Verdict::Answer(output) => self.answer(&pending, output).await?,
                Verdict::Terminate(output) => {
                    self.answer(&pending, output).await?;
                    end = CallsEnd::Terminated;
                }
            }
            if !parallel && !group.is_empty() {
                end = self.run_group(run, std::mem::take(&mut group)).await?;
            }
        }
        let last = self.run_group(run, group).await?;
        Ok(if end == CallsEnd::Done { last } else { end })
    }

    /// Asks the hooks.
    async fn judge(
        &self,
        pending: &PendingCall,
        tool: Option<Arc<dyn Tool>>,
        known: &[String],
    ) -> Verdict {
        let Some(tool) = tool else {
            let text = format!(
                "There is no tool {:?}. There are: {}",
                pending.call.name,
                known.join(", ")
            );
            return Verdict::Answer(ToolOutput::error(text));
        };
        let mut call = pending.call.clone();
        for hook in &self.config.hooks {
            match hook.before(&call).await {
                Before::Run => {}
                Before::Change(arguments) => call.arguments = arguments,
                Before::Block(reason) => return Verdict::Answer(ToolOutput::error(reason)),
                Before::Terminate(reason) => {
                    let output = ToolOutput { terminate: true, ..ToolOutput::error(reason) };
                    return Verdict::Terminate(output);
                }
            }
        }
        let changed = (call.arguments != pending.call.arguments).then(|| call.arguments.clone());
        let before = pending.interrupted.as_ref();
        let prepared = match before {
            Some(open) => open.data.get("prepared").and_then(|it| Json::from_value(it).ok()),
            None => tool.prepare(&call),
        };
        Verdict::Ready(Ready {
            call,
            tool,
            changed,
            prepared,
            operation: before.map_or_else(|| self.fresh_id(), |open| open.id.clone()),
            replayed: before.is_some(),
        })
    }

    /// Starts calls at the same time, once it is on disk that they start.
    async fn run_group(&mut self, run: &Run, group: Vec<Ready>) -> Result<CallsEnd, AgentError> {
        if group.is_empty() {
            return Ok(CallsEnd::Done);
        }
        if run.cancel.is_cancelled() {
            for ready in &group {
                let output = ToolOutput::error(CANCELLED);
                let message = result_message(&ready.call, &output);
                let mut bodies = vec![Body::message(message)];
                if ready.replayed {
                    bodies.push(operation::finished(&ready.operation, TOOL, "cancelled", None));
                }
                self.append(bodies).await?;
            }
            return Ok(CallsEnd::Cancelled);
        }
        self.append_synced(group.iter().map(starting).collect()).await?;
        let mut running: JoinSet<Result<ToolOutput, ToolFailure>> = JoinSet::new();
        let mut places: HashMap<Id, (usize, AbortHandle)> = HashMap::new();
        for (place, ready) in group.iter().enumerate() {
            self.config.events.tell(AgentEvent::ToolStarted(ready.call.clone()));
            let tool = Arc::clone(&ready.tool);
            let input = ToolRun {
                call: ready.call.clone(),
                cancel: run.cancel.child_token(),
                prepared: ready.prepared.clone(),
                replayed: ready.replayed,
            };
            let handle = running.spawn(async move { tool.call(input).await });
            places.insert(handle.id(), (place, handle));
        }
        let mut end = CallsEnd::Done;
        let lane = self.session.lane().clone();
        let mut moved: Option<forkwood::Error> = None;
        let mut kept: Vec<EntryId> = Vec::new();
        while !running.is_empty() {
            let ended = tokio::select! {
                biased;
                ended = running.join_next_with_id() => ended,
                () = run.cancel.cancelled(), if end != CallsEnd::Cancelled => {
                    end = CallsEnd::Cancelled;
                    for (place, handle) in places.values() {
                        if !group[*place].tool.ends_itself() {
                            handle.abort();
                        }
                    }
                    continue;
                }
            };
            let (id, result) = match ended {
                Some(Ok((id, result))) => (id, result),
                Some(Err(error)) => {
                    let text = match error.is_cancelled() {
                        true => CANCELLED.to_owned(),
                        false => "the tool failed: it panicked".to_owned(),
                    };
                    (error.id(), Err(ToolFailure(text)))
                }
                None => break,
            };
            let Some((place, _)) = places.remove(&id) else { continue };
            let ready = &group[place];
            let output = result.unwrap_or_else(|failure| ToolOutput::error(failure.0));
            let closed = self.close_call(ready, output).await?;
            if closed.terminate && end == CallsEnd::Done {
                end = CallsEnd::Terminated;
            }
            // The others may go on: what they do is done, and is kept with this.
            moved = moved.or(closed.moved);
            if moved.is_some() {
                kept.extend(closed.entries);
            }
        }
        if let Some(source) = moved {
            let own = self.session.lane();
            let aside = (*own != lane).then(|| own.to_string());
            self.session.use_lane(lane).await?;
            return Err(AgentError::Moved { lane: aside, entries: kept, source: Box::new(source) });
        }
        if run.cancel.is_cancelled() {
            end = CallsEnd::Cancelled;
        }
        Ok(end)
    }

    /// Writes a result down, together with the end of its operation.
    async fn close_call(
        &mut self,
        ready: &Ready,
        mut output: ToolOutput,
    ) -> Result<Closed, AgentError> {
        for hook in &self.config.hooks {
            if hook.after(&ready.call, &mut output).await == After::Terminate {
                output.terminate = true;
            }
        }
        let outcome = if output.is_error { "error" } else { "ok" };
        let bodies = vec![
            Body::message(result_message(&ready.call, &output)),
            operation::finished(&ready.operation, TOOL, outcome, None),
        ];
        let (entries, moved) = self.append_result(bodies).await?;
        self.tell_saved(&entries, None);
        let terminate = output.terminate;
        self.config.events.tell(AgentEvent::ToolFinished { call: ready.call.clone(), output });
        Ok(Closed { terminate, entries, moved })
    }

    /// Answers a call that did not run.
    async fn answer(
        &mut self,
        pending: &PendingCall,
        output: ToolOutput,
    ) -> Result<(), AgentError> {
        let mut bodies = vec![Body::message(result_message(&pending.call, &output))];
        if let Some(open) = &pending.interrupted {
            bodies.push(operation::finished(&open.id, TOOL, "interrupted", None));
        }
        let saved = self.append(bodies).await?;
        self.tell_saved(&saved, None);
        let call = pending.call.clone();
        self.config.events.tell(AgentEvent::ToolFinished { call, output });
        Ok(())
    }
}

/// What a call is answered with that the run did not come to.
fn not_run(end: CallsEnd) -> &'static str {
    match end {
        CallsEnd::Cancelled => CANCELLED,
        _ => "Tool call not run: the run was ended before it.",
    }
}

fn starting(ready: &Ready) -> Body {
    let replay = ready.tool.replay();
    let mut data = json!({
        "toolCallId": ready.call.id,
        "toolName": ready.call.name,
        "replay": replay.as_str(),
    });
    let json = |json: &Json| json.to::<serde_json::Value>().unwrap_or_default();
    if let Some(changed) = &ready.changed {
        data["arguments"] = json(changed);
    }
    if let Some(prepared) = &ready.prepared {
        data["prepared"] = json(prepared);
    }
    if ready.replayed {
        data["replayed"] = true.into();
    }
    operation::started(&ready.operation, TOOL, Some(&data))
}

fn result_message(call: &ToolCall, output: &ToolOutput) -> Message {
    let mut message = Message::new(Role::Tool, output.content.clone());
    message.tool_call_id = Some(call.id.as_str().into());
    message.tool_name = Some(call.name.as_str().into());
    message.is_error = Some(output.is_error);
    let mut metadata = serde_json::Map::new();
    if let Some(details) = &output.details {
        metadata.insert("details".to_owned(), details.to().unwrap_or_default());
    }
    if output.terminate {
        metadata.insert("terminate".to_owned(), true.into());
    }
    if !metadata.is_empty() {
        message.metadata = Json::from_value(&metadata).ok();
    }
    message
}
