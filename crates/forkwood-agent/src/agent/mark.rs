//! Operations around the other questions to a model: summaries of what is compacted or left.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use forkwood::{AppendOptions, Body, Durability, Session};
use forkwood_context::{Summariser, SummaryError, SummaryReply, SummaryRequest};

use super::request::ModelSummariser;
use super::{Agent, operation};
use crate::AgentError;

/// A summariser whose first question stands in the session, synced, before it is asked, so that
/// a crash while it is waited for is seen. A session whose summary is not asked for hears nothing.
#[derive(Debug)]
pub(super) struct Marked {
    asked: ModelSummariser,
    /// Writes the mark: what is waited for meanwhile holds the agent's own.
    session: Mutex<Session>,
    id: String,
    kind: &'static str,
    begun: AtomicBool,
}

impl Marked {
    pub(super) fn new(agent: &Agent, asked: ModelSummariser, kind: &'static str) -> Marked {
        Marked {
            asked,
            session: Mutex::new(agent.session.clone()),
            id: agent.fresh_id(),
            kind,
            begun: AtomicBool::new(false),
        }
    }

    /// The end of the operation, to be written with what came of it.
    fn finished(&self, outcome: &str, data: Option<&serde_json::Value>) -> Option<Body> {
        let begun = self.begun.load(Ordering::SeqCst);
        begun.then(|| operation::finished(&self.id, self.kind, outcome, data))
    }
}

#[async_trait]
impl Summariser for Marked {
    async fn summarise(&self, request: SummaryRequest) -> Result<SummaryReply, SummaryError> {
        if !self.begun.swap(true, Ordering::SeqCst) {
            let mut session = lock(&self.session).clone();
            let options =
                AppendOptions { durability: Some(Durability::Sync), ..AppendOptions::default() };
            let mark = operation::started(&self.id, self.kind, None);
            if let Err(error) = session.append_batch(vec![mark], options).await {
                self.begun.store(false, Ordering::SeqCst);
                return Err(SummaryError::new(format!("the session cannot be written: {error}")));
            }
            *lock(&self.session) = session;
        }
        self.asked.summarise(request).await
    }
}

fn lock(session: &Mutex<Session>) -> std::sync::MutexGuard<'_, Session> {
    session.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Agent {
    /// Takes what a mark wrote as seen, and gives the end of its operation, if it began.
    pub(super) fn ended(&mut self, marked: &Marked, outcome: &str) -> Option<Body> {
        let done = marked.finished(outcome, None)?;
        // In files of others the mark stands on the path.
        self.session = lock(&marked.session).clone();
        Some(done)
    }

    /// Closes the operation of a summary that did not come, if it began.
    pub(super) async fn failed(
        &mut self,
        marked: &Marked,
        error: Option<&forkwood_context::Error>,
    ) -> Result<(), AgentError> {
        let data = error
            .map(|error| serde_json::json!({ "kind": error.kind(), "message": error.to_string() }));
        let outcome = if error.is_some() { "error" } else { "cancelled" };
        if self.ended(marked, outcome).is_some()
            && let Some(done) = marked.finished(outcome, data.as_ref())
        {
            self.append(vec![done]).await?;
        }
        Ok(())
    }
}
