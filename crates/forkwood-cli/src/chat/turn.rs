//! One thing said, and all that the model does about it.

use std::future::Future;

use forkwood::{Body, Role};
use forkwood_agent::{AgentError, Handle, RunOutcome, RunStop};

use crate::ctx::Ctx;
use crate::error::{CliError, Result};

use super::interrupt::Interrupts;
use super::slash::Command;
use super::{Chat, Next, events, moves, setup, stopped_error};

/// Where a run begins.
enum Start {
    /// Something is said.
    Say(String),
    /// A run that a dead process left open goes on.
    Resume,
    /// The last message waits for an answer.
    Proceed,
}

impl Chat {
    /// Does what a line asks for.
    pub(super) async fn run(&mut self, ctx: &mut Ctx, command: Command) -> Result<Next> {
        // Ctrl-C that came before stopped nothing, and must not stop this.
        self.interrupts.forget();
        match command {
            Command::Say(text) => return self.turn(ctx, Start::Say(text)).await,
            Command::Resume(None) => return self.resume(ctx).await,
            Command::Resume(Some(query)) => self.other(ctx, &query).await?,
            Command::Tree => self.tree(ctx).await?,
            Command::Rewind { entry, summary, past_compaction } => {
                self.rewind(ctx, &entry, summary, past_compaction).await?;
            }
            Command::Fork(entry) => self.fork(ctx, entry.as_deref()).await?,
            Command::Label(words) => self.label(ctx, &words).await?,
            Command::Compact(words) => self.compact(ctx, words.as_deref()).await?,
            Command::Model(name) => self.model(ctx, name.as_deref()).await?,
            Command::Thinking(level) => self.thinking(ctx, level.as_deref()).await?,
            Command::Export(file) => self.export(ctx, file.as_deref()).await?,
            Command::Cost => self.cost(ctx).await?,
            // Done without a session.
            Command::Help | Command::Quit => {}
        }
        Ok(Next::GoOn)
    }

    async fn resume(&mut self, ctx: &mut Ctx) -> Result<Next> {
        let open = self.agent.open_operations().await?;
        if open.iter().any(|open| open.on_path && open.kind == "run") {
            return self.turn(ctx, Start::Resume).await;
        }
        if !open.is_empty() {
            // A summary that a dead process waited for: it is noted that it never came.
            self.agent.resume().await?;
        }
        if self.waits().await? {
            return self.turn(ctx, Start::Proceed).await;
        }
        moves::newest(ctx).await?;
        Ok(Next::GoOn)
    }

    /// Whether the last thing said waits for an answer. A summary does not.
    async fn waits(&self) -> Result<bool> {
        let session = self.agent.session();
        let context = session.context().await?;
        let (Some(last), Some(entry)) = (context.messages().last(), context.entry_ids().last())
        else {
            return Ok(false);
        };
        let body = session.get(entry).await?.entry.body;
        let summary = matches!(body, Body::Compaction(_) | Body::BranchSummary { .. });
        Ok(!summary && matches!(last.role, Role::User | Role::Tool))
    }

    async fn turn(&mut self, ctx: &mut Ctx, start: Start) -> Result<Next> {
        // Who may not run in it has no say in its settings either.
        drop(self.agent.session().claim().await?);
        self.set_up().await?;
        let handle = self.agent.handle();
        let agent = &mut self.agent;
        let mut work = Box::pin(async {
            match start {
                Start::Say(text) => agent.run(text).await.map(Some),
                Start::Resume => agent.resume().await,
                Start::Proceed => agent.proceed().await.map(Some),
            }
        });
        let mut gone: Option<CliError> = None;
        let mut presses = 0;
        let outcome: std::result::Result<Option<RunOutcome>, AgentError> = loop {
            tokio::select! {
                biased;
                // First, so that the run has begun when it is cancelled.
                outcome = &mut work => break outcome,
                () = self.interrupts.next() => {
                    presses += 1;
                    handle.cancel();
                    if presses > 1 {
                        // What it waits for does not listen. All that was done is on disk, and
                        // the next run answers what stays open.
                        break Ok(None);
                    }
                }
                Some(event) = self.events.recv() => {
                    if gone.is_none()
                        && let Err(error) = self.screen.event(ctx, event)
                    {
                        gone = Some(error);
                        handle.cancel();
                    }
                }
            }
        };
        drop(work);
        if let Some(error) = gone {
            return Err(error);
        }
        while let Ok(event) = self.events.try_recv() {
            self.screen.event(ctx, event)?;
        }
        self.screen.end(ctx)?;
        let leaf = self.agent.session().current_leaf().await?;
        match outcome {
            Ok(None) if presses == 0 => Ok(Next::GoOn),
            Ok(outcome) => {
                let stop = outcome.as_ref().map_or(RunStop::Cancelled, |outcome| outcome.stop);
                events::end(ctx, stop, outcome.as_ref(), leaf.as_ref())?;
                tell(ctx, stop);
                Ok(if stop == RunStop::Cancelled { Next::Stopped } else { Next::GoOn })
            }
            Err(error @ AgentError::Provider(_)) => {
                let error = CliError::from(error);
                let advice = "what was done is kept; /resume in the chat tries again";
                let hint = match &error.hint {
                    Some(hint) => format!("{hint}; {advice}"),
                    None => advice.to_owned(),
                };
                Err(error.hint(hint))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What the arguments say of the model becomes part of the session, before the first turn.
    async fn set_up(&mut self) -> Result {
        if !std::mem::take(&mut self.to_set) {
            return Ok(());
        }
        self.agent.session_mut().reload().await?;
        let now = setup::settings(self.agent.session()).await?;
        let chosen = &self.setup.chosen;
        let differs = now.model.as_ref().is_some_and(|model| *model != *chosen.model.as_str())
            || now.provider.as_ref().is_some_and(|name| *name != *chosen.provider.as_str());
        if self.setup.named && now.model.is_some() && differs {
            self.agent.set_model(&chosen.model, Some(&chosen.provider)).await?;
        }
        if let Some(level) = &self.setup.thinking
            && now.thinking_level.as_ref().is_some_and(|now| *now != *level.as_str())
        {
            self.agent.set_thinking_level(level).await?;
        }
        Ok(())
    }
}

fn tell(ctx: &mut Ctx, stop: RunStop) {
    match stop {
        RunStop::Done | RunStop::Terminated => {}
        RunStop::Length => ctx.out.note("the answer reached its length limit"),
        RunStop::Refused => ctx.out.note("the provider would not let the model say more"),
        RunStop::MaxTurns => ctx.out.note("the model has had many turns; say more to go on"),
        RunStop::Cancelled => ctx.out.done("stopped; what was done is kept"),
    }
}

/// Waits for a summary. Ctrl-C stops it, and with it nothing has happened; a second one waits no
/// longer.
pub(super) async fn or_stopped<T>(
    interrupts: &mut Interrupts,
    handle: &Handle,
    work: impl Future<Output = std::result::Result<T, AgentError>>,
) -> Result<T> {
    let mut work = std::pin::pin!(work);
    let mut pressed = false;
    loop {
        tokio::select! {
            biased;
            done = &mut work => {
                return match done {
                    Err(AgentError::Compaction(_)) if pressed => Err(stopped_error()),
                    done => done.map_err(Into::into),
                };
            }
            () = interrupts.next() => {
                if pressed {
                    return Err(stopped_error());
                }
                pressed = true;
                handle.cancel();
            }
        }
    }
}
