//! The agent.

mod branch;
mod builder;
mod calls;
mod follow;
mod mark;
pub(crate) mod operation;
mod request;
mod run;
mod turn;
mod write;

use std::path::PathBuf;
use std::sync::Arc;

use forkwood::{Body, Clock, EntryId, IdSource, Session, SessionStore, Settings};
use forkwood_context::Pipeline;

pub use builder::AgentBuilder;
pub use operation::OpenOperation;
pub use request::ModelSummariser;
pub(crate) use request::SharedSpill;
pub use run::{CANCELLED, CUT_OFF, INTERRUPTED, RunOutcome, RunStop};

use crate::queue::Delivery;
use crate::skill::Skills;
use crate::subagent::Subagents;
use crate::subagent::task::{TaskTool, Tasks};
use crate::system::system_prompt;
use crate::tool::{Hook, Tools};
use crate::{AgentError, Events, Handle, Prices, Providers, Retries, SpillFolder};

/// A model at work in a session.
///
/// Whatever is said or done is in the session before the next thing happens: the user's message
/// before the model is asked, its answer before a tool starts, each result when its tool has
/// ended. `operation` entries stand around runs and tools, so that [`Agent::resume`] knows what
/// was open when a process died.
#[derive(Debug)]
pub struct Agent {
    session: Session,
    store: SessionStore,
    tools: Tools,
    skills: Skills,
    subagents: Subagents,
    task: Option<Arc<TaskTool>>,
    handle: Handle,
    system: String,
    config: Config,
    pipeline: Option<Pipeline>,
    followed: Option<follow::Followed>,
    quiet: Option<operation::Quiet>,
}

/// What an agent is set to, and hands on to its sub-agents.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) providers: Providers,
    pub(crate) hooks: Vec<Arc<dyn Hook>>,
    pub(crate) prompt: String,
    pub(crate) model: Option<String>,
    pub(crate) provider: Option<String>,
    pub(crate) thinking_level: Option<String>,
    pub(crate) max_tokens: Option<u32>,
    pub(crate) max_turns: u32,
    pub(crate) max_parallel: usize,
    pub(crate) max_depth: u64,
    pub(crate) always_task: bool,
    pub(crate) ephemeral_subagents: bool,
    pub(crate) retries: Retries,
    pub(crate) prices: Arc<Prices>,
    pub(crate) steering: Delivery,
    pub(crate) follow_up: Delivery,
    pub(crate) events: Events,
    pub(crate) ids: Arc<dyn IdSource>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) budget: Option<forkwood_context::Config>,
    pub(crate) spill: Option<SharedSpill>,
    pub(crate) workspace: Option<PathBuf>,
    /// That of the parent, where this is a sub-agent.
    pub(crate) parent_results: Option<SpillFolder>,
}

impl Config {
    /// Where long outputs of tools go, where nobody said: to the folder of their session.
    pub(crate) fn results(&self, session: &Session) -> Option<SpillFolder> {
        match &self.parent_results {
            Some(parent) => {
                session.facts().path.as_ref()?;
                Some(parent.of_subagent(session.id()))
            }
            None => SpillFolder::of_session(self.workspace.as_deref()?, session),
        }
    }
}

impl Agent {
    /// What to make an agent of.
    pub fn builder() -> AgentBuilder {
        AgentBuilder::default()
    }

    /// Its session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Its session, to rewind it, to label entries, and so on, between runs.
    pub fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Works in another session of its store from now on.
    pub fn set_session(&mut self, session: Session) {
        self.session = session;
        self.followed = None;
        self.quiet = None;
        self.handle.take_waiting();
    }

    /// The store in which the sessions of its sub-agents are made.
    pub fn store(&self) -> &SessionStore {
        &self.store
    }

    /// Its tools, `task` included.
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// Its skills.
    pub fn skills(&self) -> &Skills {
        &self.skills
    }

    /// Its sub-agents.
    pub fn subagents(&self) -> &Subagents {
        &self.subagents
    }

    /// The sub-agents at work.
    pub fn tasks(&self) -> Option<Tasks> {
        self.task.as_ref().map(|task| task.tasks())
    }

    /// Its providers.
    pub fn providers(&self) -> &Providers {
        &self.config.providers
    }

    /// A handle, to steer and to cancel it while it works.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Its instructions, as they go with every request.
    pub fn system(&self) -> &str {
        &self.system
    }

    fn build_system(&mut self) {
        self.system = system_prompt(&self.config.prompt, &self.skills, &self.subagents);
    }

    /// The instructions it was given, without what is said of skills and sub-agents.
    pub fn prompt(&self) -> &str {
        &self.config.prompt
    }

    /// Other instructions from now on.
    pub fn set_prompt(&mut self, prompt: impl Into<String>) {
        self.config.prompt = prompt.into();
        self.build_system();
    }

    /// Empties the session, drops what waits, and builds the instructions anew. The old log goes
    /// to the trash.
    ///
    /// # Errors
    /// Those of [`Session::reset`].
    pub async fn reset(&mut self) -> Result<(), AgentError> {
        self.session.reset().await?;
        self.handle.take_waiting();
        self.build_system();
        Ok(())
    }

    /// Another model from now on; a switch is an entry first.
    ///
    /// # Errors
    /// `unknown_provider`; `storage`.
    pub async fn set_model(
        &mut self,
        model: &str,
        provider: Option<&str>,
    ) -> Result<EntryId, AgentError> {
        if provider.is_some() {
            self.config.providers.get(provider)?;
        }
        if let Some(pipeline) = &mut self.pipeline {
            // This one may sum up what the other could not.
            pipeline.reset_breaker();
        }
        let provider = provider.map(Into::into);
        Ok(self.session.append(Body::ModelChange { model: model.into(), provider }).await?)
    }

    /// Other numbers for what requests may take, as another model may want; `None`: no limits.
    /// What was learned of the provider's counts stays.
    pub fn set_budget(&mut self, config: Option<forkwood_context::Config>) {
        self.config.budget.clone_from(&config);
        match (config, &mut self.pipeline) {
            (None, pipeline) => *pipeline = None,
            (Some(config), Some(pipeline)) => *pipeline.config_mut() = config,
            (Some(config), pipeline) => *pipeline = Some(Pipeline::new(config)),
        }
    }

    /// About how many tokens a request has now, before anything is left out of it.
    ///
    /// # Errors
    /// `storage`.
    pub async fn context_tokens(&mut self) -> Result<u64, AgentError> {
        self.session.reload().await?;
        let snapshot = self.snapshot();
        let (now, seen) = self.now().await?;
        let input = forkwood_context::Input {
            view: &seen,
            path: &now.path,
            snapshot: &snapshot,
            settings: &now.settings,
        };
        let tokens = match &self.pipeline {
            Some(pipeline) => pipeline.tokens(input),
            None => Pipeline::default().tokens(input),
        };
        self.followed = Some(now);
        Ok(tokens)
    }

    /// Another thinking level from now on.
    ///
    /// # Errors
    /// `storage`.
    pub async fn set_thinking_level(&mut self, level: &str) -> Result<EntryId, AgentError> {
        let body = Body::ThinkingLevelChange { thinking_level: level.into() };
        Ok(self.session.append(body).await?)
    }

    /// Other tools from now on.
    ///
    /// # Errors
    /// `invalid` for a tool that the agent does not have; `storage`.
    pub async fn set_active_tools(&mut self, names: &[&str]) -> Result<EntryId, AgentError> {
        if let Some(name) = names.iter().find(|name| self.tools.get(name).is_none()) {
            return Err(AgentError::invalid(format!("there is no tool {name:?}")));
        }
        let active_tool_names = names.iter().map(|name| (*name).into()).collect();
        Ok(self.session.append(Body::ActiveToolsChange { active_tool_names }).await?)
    }

    /// Model, provider, thinking level and active tools where the session stands now.
    ///
    /// # Errors
    /// `storage`.
    pub async fn settings(&self) -> Result<Settings, AgentError> {
        settings_of(&self.session).await
    }

    /// Whether an agent is at work in the session right now, in this process or another.
    ///
    /// # Errors
    /// `storage`.
    pub async fn is_at_work(&self) -> Result<bool, AgentError> {
        Ok(self.session.is_claimed().await?)
    }

    /// The operations that are open: those of a process that died, or, while
    /// [`Agent::is_at_work`], of a run that goes on.
    ///
    /// # Errors
    /// `storage`.
    pub async fn open_operations(&self) -> Result<Vec<OpenOperation>, AgentError> {
        operation::open(&self.session).await
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    fn fresh_id(&self) -> String {
        self.config.ids.next_id().to_string()
    }
}

pub(crate) async fn settings_of(session: &Session) -> Result<Settings, AgentError> {
    match session.current_leaf().await? {
        Some(leaf) => Ok(session.settings(&leaf).await?),
        None => Ok(Settings::initial(&session.facts().rules)),
    }
}

/// The names in a session as text that a provider takes.
pub(crate) fn plain(text: Option<&forkwood::Text>) -> Option<String> {
    text.map(|text| text.to_string_lossy().into_owned())
}
