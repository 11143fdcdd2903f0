//! Runs: from what the person says to the end of what the model does about it.

use forkwood::{Block, Body, Content, Message, Role};
use forkwood_context::{TurnSnapshot, lift_calls};
use tokio_util::sync::CancellationToken;

use super::Agent;
use super::calls::{CallsEnd, PendingCall};
use super::operation::{self, OpenOperation, RUN, TOOL};
use super::turn::Turn;
use crate::queue::UserInput;
use crate::{AgentError, StopReason, ToolCall, Usage};

/// What a call is answered with that ran when the process died, and may not run again.
pub const INTERRUPTED: &str = "Tool call interrupted: the process ended while it ran. \
     Whether it took effect is not known.";

/// What a call is answered with that was cancelled, or never began.
pub const CANCELLED: &str = "Tool call interrupted by user";

/// What a call is answered with that the limit of the answer may have cut off.
pub const CUT_OFF: &str = "Tool call not run: the answer reached its length limit, \
     so that the call may be incomplete. Say less, or call with less.";

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStop {
    /// The model had said all.
    Done,
    /// The answer reached its length limit.
    Length,
    /// The provider would not let the model say more.
    Refused,
    /// A tool or hook ended it.
    Terminated,
    /// The maximum of turns was reached.
    MaxTurns,
    /// The person stopped it.
    Cancelled,
}

impl RunStop {
    /// The name, as the outcome of the operation in the session.
    pub fn as_str(self) -> &'static str {
        match self {
            RunStop::Done => "done",
            RunStop::Length => "length",
            RunStop::Refused => "refused",
            RunStop::Terminated => "terminated",
            RunStop::MaxTurns => "max_turns",
            RunStop::Cancelled => "cancelled",
        }
    }
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutcome {
    /// How it ended.
    pub stop: RunStop,
    /// The text of the last answer.
    pub text: String,
    /// How many turns of the model it took.
    pub turns: u32,
    /// What they cost together.
    pub usage: Usage,
    /// What waited to be said when the run was cancelled, and was not.
    pub undelivered: Vec<Message>,
}

/// A run that goes on.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) id: String,
    pub(super) cancel: CancellationToken,
    pub(super) turns: u32,
    pub(super) usage: Usage,
    pub(super) text: String,
    /// What is frozen while it goes on.
    pub(super) snapshot: TurnSnapshot,
}

impl Agent {
    /// Says something to the model and lets it work until it is done.
    ///
    /// # Errors
    /// `provider` where it failed, retries included: what was said is in the session, and
    /// [`Agent::proceed`] tries again. `storage` where a step could not be written: nothing after
    /// it happened. What another program appends to the branch meanwhile is taken in; where it
    /// moves the lane elsewhere, that is `storage`, with the kind `conflict`; what tools gave
    /// until then is kept behind their calls, on a lane of its own ([`AgentError::Moved`]). While another agent
    /// is at work in the session, in whatever process, it is `storage` with the kind `locked`, and
    /// nothing is written.
    pub async fn run(&mut self, input: impl Into<UserInput>) -> Result<RunOutcome, AgentError> {
        self.run_under(input, None).await
    }

    /// The same; it is also cancelled when `parent` is.
    ///
    /// # Errors
    /// Those of [`Agent::run`].
    pub async fn run_under(
        &mut self,
        input: impl Into<UserInput>,
        parent: Option<&CancellationToken>,
    ) -> Result<RunOutcome, AgentError> {
        let cancel = self.handle.begin(parent);
        let _claim = self.session.claim().await?;
        self.session.reload().await?;
        self.settle_interrupted().await?;
        self.choose_model().await?;
        let id = self.fresh_id();
        let bodies = vec![Body::message(input.into().0), operation::started(&id, RUN, None)];
        let saved = self.append_synced(bodies).await?;
        self.tell_saved(&saved, None);
        self.drive(Run::new(id, cancel, self.snapshot()), Vec::new()).await
    }

    /// Lets the model work on from where the session stands, with nothing new said: after an
    /// error of the provider, or at the maximum of turns.
    ///
    /// # Errors
    /// Those of [`Agent::run`]; `invalid` where there is nothing to answer.
    pub async fn proceed(&mut self) -> Result<RunOutcome, AgentError> {
        let cancel = self.handle.begin(None);
        let _claim = self.session.claim().await?;
        self.session.reload().await?;
        self.settle_interrupted().await?;
        if self.session.context().await?.messages().is_empty() {
            return Err(AgentError::invalid("nothing was said that the model could answer"));
        }
        self.choose_model().await?;
        let id = self.fresh_id();
        self.append_synced(vec![operation::started(&id, RUN, None)]).await?;
        self.drive(Run::new(id, cancel, self.snapshot()), Vec::new()).await
    }

    /// Goes on with a run that was open when its process died: calls that ran then are answered
    /// with an error, or run again where their tool says that this is safe; calls that had not
    /// begun begin; the model works on. `None` where no run is open on this path.
    ///
    /// # Errors
    /// Those of [`Agent::run`].
    pub async fn resume(&mut self) -> Result<Option<RunOutcome>, AgentError> {
        self.resume_under(None).await
    }

    /// The same; it is also cancelled when `parent` is.
    ///
    /// # Errors
    /// Those of [`Agent::run`].
    pub async fn resume_under(
        &mut self,
        parent: Option<&CancellationToken>,
    ) -> Result<Option<RunOutcome>, AgentError> {
        let cancel = self.handle.begin(parent);
        // What a living run has open was not interrupted.
        let _claim = self.session.claim().await?;
        self.session.reload().await?;
        let open = operation::open(&self.session).await?;
        let Some(run) = open.iter().rfind(|open| open.kind == RUN && open.on_path).cloned() else {
            self.close(open.iter()).await?;
            return Ok(None);
        };
        // All others are over, but for the tools of this run.
        let context = self.session.context().await?;
        let pending = pending_calls(context.messages());
        let others = open.iter().filter(|open| {
            let of_pending = open.kind == TOOL
                && open.on_path
                && pending.iter().any(|call| open.call_id() == Some(call.id.as_str()));
            open.id != run.id && !of_pending
        });
        self.close(others).await?;
        self.choose_model().await?;
        let again = self.answer_interrupted(pending, &open).await?;
        let mut run = Run::new(run.id, cancel, self.snapshot());
        run.turns = turns_so_far(context.messages());
        self.drive(run, again).await.map(Some)
    }

    /// Answers those that may not run again, and gives the others.
    async fn answer_interrupted(
        &mut self,
        pending: Vec<ToolCall>,
        open: &[OpenOperation],
    ) -> Result<Vec<PendingCall>, AgentError> {
        let mut again = Vec::new();
        for call in pending {
            let was_open = open.iter().find(|open| {
                open.kind == TOOL && open.on_path && open.call_id() == Some(call.id.as_str())
            });
            let Some(operation) = was_open else {
                again.push(PendingCall { call, interrupted: None });
                continue;
            };
            let promised = operation.data.get("replay").and_then(|it| it.as_str());
            let safe = promised == Some(crate::Replay::Safe.as_str())
                && self
                    .tools
                    .get(&call.name)
                    .is_some_and(|tool| tool.replay() == crate::Replay::Safe);
            if safe {
                again.push(PendingCall { call, interrupted: Some(operation.clone()) });
                continue;
            }
            let done = operation::finished(&operation.id, TOOL, "interrupted", None);
            let message = Body::message(error_result(&call, INTERRUPTED));
            let saved = self.append(vec![message, done]).await?;
            self.tell_saved(&saved, None);
        }
        Ok(again)
    }

    /// Before something new is said: what a dead process left open is answered and closed.
    async fn settle_interrupted(&mut self) -> Result<(), AgentError> {
        let (open, quiet) = operation::open_since(&self.session, self.quiet.take()).await?;
        self.quiet = quiet;
        if open.is_empty() {
            return Ok(());
        }
        let context = self.session.context().await?;
        let mut bodies = Vec::new();
        if open.iter().any(|open| open.on_path && open.kind == RUN) {
            for call in pending_calls(context.messages()) {
                let ran = open.iter().any(|open| {
                    open.kind == TOOL && open.on_path && open.call_id() == Some(call.id.as_str())
                });
                let text = if ran { INTERRUPTED } else { CANCELLED };
                bodies.push(Body::message(error_result(&call, text)));
            }
        }
        bodies.extend(open.iter().map(closing));
        self.append(bodies).await?;
        Ok(())
    }

    async fn close<'a>(
        &mut self,
        open: impl Iterator<Item = &'a OpenOperation>,
    ) -> Result<(), AgentError> {
        let bodies: Vec<Body> = open.map(closing).collect();
        if !bodies.is_empty() {
            self.append(bodies).await?;
        }
        Ok(())
    }

    /// Where the session names no model, the default one is written first.
    async fn choose_model(&mut self) -> Result<(), AgentError> {
        let settings = self.settings_now().await?;
        let mut bodies = Vec::new();
        if settings.model.is_none() {
            let model = self.config.model.clone().ok_or(AgentError::NoModel)?;
            let default = self.config.provider.as_deref();
            let provider = default.or(self.config.providers.default_name()).map(Into::into);
            bodies.push(Body::ModelChange { model: model.into(), provider });
        }
        if settings.thinking_level.is_none()
            && let Some(level) = self.config.thinking_level.clone()
        {
            bodies.push(Body::ThinkingLevelChange { thinking_level: level.into() });
        }
        if !bodies.is_empty() {
            self.append(bodies).await?;
        }
        Ok(())
    }

    async fn drive(
        &mut self,
        mut run: Run,
        mut calls: Vec<PendingCall>,
    ) -> Result<RunOutcome, AgentError> {
        if let Some(task) = &self.task {
            task.follow(&self.session);
        }
        if calls.is_empty() {
            // After a crash, or with foreign sessions: the state tells what comes next.
            let rules = self.session.facts().rules;
            match next_step(&self.follow().await?.messages(&rules)) {
                Step::Ask => {}
                Step::Terminated => return self.finish(run, RunStop::Terminated).await,
                Step::Nothing => match self.deliver(true).await? {
                    true => {}
                    false => return self.finish(run, RunStop::Done).await,
                },
            }
        }
        loop {
            if !calls.is_empty() {
                match self.run_calls(&run, std::mem::take(&mut calls)).await? {
                    CallsEnd::Cancelled => return self.finish(run, RunStop::Cancelled).await,
                    CallsEnd::Terminated => return self.finish(run, RunStop::Terminated).await,
                    CallsEnd::Done => {}
                }
            }
            if run.cancel.is_cancelled() {
                return self.finish(run, RunStop::Cancelled).await;
            }
            self.deliver(false).await?;
            if run.turns >= self.config.max_turns {
                return self.finish(run, RunStop::MaxTurns).await;
            }
            match self.turn(&mut run).await {
                Ok(Turn::Calls(wanted)) => {
                    calls = wanted
                        .into_iter()
                        .map(|call| PendingCall { call, interrupted: None })
                        .collect();
                }
                Ok(Turn::GoOn) => {}
                Ok(Turn::Ended(stop)) => return Ok(self.outcome(run, stop)),
                Ok(Turn::Cancelled) => return self.finish(run, RunStop::Cancelled).await,
                // What could not be written stays open, for another process to resume.
                Err(error @ AgentError::Storage(_)) => return Err(error),
                Err(error) => {
                    let data = serde_json::json!({
                        "kind": error.kind().as_str(),
                        "message": error.to_string(),
                    });
                    let done = operation::finished(&run.id, RUN, "error", Some(&data));
                    self.append(vec![done]).await?;
                    return Err(error);
                }
            }
        }
    }

    /// Puts what waits into the session; with `follow_up` also what waits for the end.
    async fn deliver(&mut self, follow_up: bool) -> Result<bool, AgentError> {
        let messages = self.waiting(follow_up);
        if messages.is_empty() {
            return Ok(false);
        }
        let saved = self.append(messages.into_iter().map(Body::message).collect()).await?;
        self.tell_saved(&saved, None);
        Ok(true)
    }

    pub(super) fn waiting(&self, follow_up: bool) -> Vec<Message> {
        let steering = self.handle.next_steering(self.config.steering);
        match follow_up && steering.is_empty() {
            true => self.handle.next_follow_up(self.config.follow_up),
            false => steering,
        }
    }

    async fn finish(&mut self, run: Run, stop: RunStop) -> Result<RunOutcome, AgentError> {
        self.append(vec![operation::finished(&run.id, RUN, stop.as_str(), None)]).await?;
        Ok(self.outcome(run, stop))
    }

    fn outcome(&mut self, run: Run, stop: RunStop) -> RunOutcome {
        let undelivered = match stop {
            RunStop::Cancelled => self.handle.take_waiting(),
            _ => Vec::new(),
        };
        RunOutcome { stop, text: run.text, turns: run.turns, usage: run.usage, undelivered }
    }
}

impl Run {
    fn new(id: String, cancel: CancellationToken, snapshot: TurnSnapshot) -> Run {
        Run { id, cancel, turns: 0, usage: Usage::default(), text: String::new(), snapshot }
    }
}

fn closing(open: &OpenOperation) -> Body {
    let outcome = if open.on_path { "interrupted" } else { "abandoned" };
    operation::finished(&open.id, &open.kind, outcome, None)
}

/// The result of a call that did not run, or not to its end.
pub(super) fn error_result(call: &ToolCall, text: &str) -> Message {
    let mut message = Message::tool(call.id.as_str(), text);
    message.tool_name = Some(call.name.as_str().into());
    message.is_error = Some(true);
    message
}

enum Step {
    Ask,
    Nothing,
    Terminated,
}

/// What comes next where no call is pending.
fn next_step(messages: &[Message]) -> Step {
    let terminates = |message: &Message| {
        let metadata = message.metadata.as_ref().and_then(|json| json.as_object());
        metadata.is_some_and(|object| object.get("terminate") == Some("true"))
    };
    match messages.last() {
        Some(last) if last.role == Role::Assistant => match pending_calls(messages) {
            calls if calls.is_empty() => Step::Nothing,
            _ => Step::Ask,
        },
        Some(last) if last.role == Role::Tool => {
            // The results of one turn stand together.
            let results = messages.iter().rev().take_while(|m| m.role == Role::Tool);
            if results.into_iter().any(terminates) { Step::Terminated } else { Step::Ask }
        }
        _ => Step::Ask,
    }
}

/// The calls of the last answer that nothing answers yet.
fn pending_calls(messages: &[Message]) -> Vec<ToolCall> {
    let messages = lift_calls(messages);
    let Some(at) = messages.iter().rposition(|message| message.role == Role::Assistant) else {
        return Vec::new();
    };
    let after = &messages[at + 1..];
    if after.iter().any(|message| message.role != Role::Tool) {
        return Vec::new();
    }
    let reason = messages[at].stop_reason.as_ref().and_then(forkwood::Text::as_str);
    if reason == Some(StopReason::Length.as_str()) || reason == Some("aborted") {
        return Vec::new();
    }
    let Content::Blocks(blocks) = &messages[at].content else { return Vec::new() };
    let calls = blocks.iter().filter_map(|block| match block {
        Block::ToolCall { id, name, arguments, .. } => {
            Some(ToolCall::new(id.to_string_lossy(), name.to_string_lossy(), arguments.clone()))
        }
        _ => None,
    });
    let answered = |call: &ToolCall| {
        let id = Some(call.id.as_str());
        after.iter().any(|m| m.tool_call_id.as_ref().and_then(forkwood::Text::as_str) == id)
    };
    calls.filter(|call| !answered(call)).collect()
}

/// The answers since the person last spoke.
fn turns_so_far(messages: &[Message]) -> u32 {
    let since = messages.iter().rev().take_while(|message| message.role != Role::User);
    let answers = since.filter(|message| message.role == Role::Assistant).count();
    u32::try_from(answers).unwrap_or(u32::MAX)
}
