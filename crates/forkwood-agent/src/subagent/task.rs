//! The `task` tool: sets sub-agents to work.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use forkwood::storage::{MemoryStorage, NewSession, SessionStorage, UuidV7, new_session_id};
use forkwood::{CreateOptions, Json, Role, Session, SessionId, SessionInfo, SessionStore, Text};
use forkwood_context::ToolSpec;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{DEFAULT_SUBAGENT, Subagent, Subagents, TASK_TOOL};
use crate::agent::{Agent, AgentBuilder, CANCELLED, Config, plain, settings_of};
use crate::queue::UserInput;
use crate::skill::Skills;
use crate::tool::{Replay, Tool, ToolFailure, ToolOutput, ToolRun, Tools, arguments, schema_of};
use crate::{AgentError, Handle, RunOutcome, RunStop, ToolCall};

/// What the model says to the tool.
#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// What the sub-agent is to do. It knows nothing of this conversation: say all it needs.
    prompt: String,
    /// Which sub-agent; without it the default one, with the tools of this agent.
    #[serde(default, alias = "subagent_type", alias = "agentType")]
    agent_type: Option<String>,
    /// A few words on the task, as the title of its session.
    #[serde(default)]
    description: Option<String>,
    /// The id of an earlier task, to go on with it instead of beginning anew.
    #[serde(default)]
    resume: Option<String>,
}

/// The sub-agents at work, by the id of their session.
#[derive(Clone, Debug, Default)]
pub struct Tasks(Arc<Mutex<BTreeMap<String, Handle>>>);

impl Tasks {
    fn map(&self) -> MutexGuard<'_, BTreeMap<String, Handle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts one on the list. `None` where it is there: two agents in one session would speak
    /// into each other's turns.
    fn list(&self, id: &str, handle: Handle) -> Option<Listed> {
        match self.map().entry(id.to_owned()) {
            Entry::Occupied(_) => None,
            Entry::Vacant(place) => {
                place.insert(handle);
                Some(Listed { tasks: self.clone(), id: id.to_owned() })
            }
        }
    }

    /// Their ids.
    pub fn running(&self) -> Vec<String> {
        self.map().keys().cloned().collect()
    }

    /// The handle of one, to steer or cancel it; `None` where it is not at work.
    pub fn handle(&self, id: &str) -> Option<Handle> {
        self.map().get(id).cloned()
    }

    /// Says something that a sub-agent is to see before its next turn. False where it is not at
    /// work.
    pub fn steer(&self, id: &str, message: impl Into<UserInput>) -> bool {
        self.handle(id).map(|handle| handle.steer(message)).is_some()
    }

    /// Says something for when a sub-agent would otherwise be done. False where it is not at
    /// work.
    pub fn follow_up(&self, id: &str, message: impl Into<UserInput>) -> bool {
        self.handle(id).map(|handle| handle.follow_up(message)).is_some()
    }
}

/// Takes a task off the list when it ends, however it ends.
struct Listed {
    tasks: Tasks,
    id: String,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.tasks.map().remove(&self.id);
    }
}

/// The tool.
#[derive(Debug)]
pub(crate) struct TaskTool {
    spec: ToolSpec,
    parent: Mutex<Session>,
    store: SessionStore,
    config: Config,
    tools: Tools,
    skills: Skills,
    subagents: Subagents,
    tasks: Tasks,
}

impl TaskTool {
    pub(crate) fn new(agent: &Agent) -> TaskTool {
        let description = "Sets a sub-agent to work on a task of its own, with a fresh context, \
                           and gives back its last message. Several calls at once run at the \
                           same time.";
        TaskTool {
            spec: ToolSpec {
                name: TASK_TOOL.into(),
                description: description.into(),
                schema: schema_of::<Arguments>(),
            },
            parent: Mutex::new(agent.session().clone()),
            store: agent.store().clone(),
            config: agent.config().clone(),
            tools: agent.tools().clone(),
            skills: agent.skills().clone(),
            subagents: agent.subagents().clone(),
            tasks: Tasks::default(),
        }
    }

    pub(crate) fn tasks(&self) -> Tasks {
        self.tasks.clone()
    }

    /// The session of the parent, as its run begins.
    pub(crate) fn follow(&self, session: &Session) {
        *self.parent.lock().unwrap_or_else(PoisonError::into_inner) = session.clone();
    }

    fn parent(&self) -> Session {
        self.parent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn kind(&self, name: &str) -> Result<Subagent, ToolFailure> {
        self.subagents.get(name).ok_or_else(|| {
            let known = self.subagents.list().iter().map(|agent| agent.name.as_str());
            let known: Vec<&str> = known.chain([DEFAULT_SUBAGENT]).collect();
            ToolFailure(format!("Unknown subagent '{name}'. Available: {}", known.join(", ")))
        })
    }

    /// The session of an earlier task of this parent.
    async fn earlier(&self, parent: &Session, id: &str) -> Result<Session, ToolFailure> {
        let found = self.store.open(id).await.map_err(ToolFailure::new)?;
        let of = found.facts().info.parent_session_id.as_ref().map(ToString::to_string);
        match of.as_deref() == Some(parent.id().as_str()) {
            true => Ok(found),
            false => Err(ToolFailure(format!("{id} is no task of this session"))),
        }
    }

    /// A session for a new task.
    async fn fresh(
        &self,
        parent: &Session,
        id: Option<SessionId>,
        kind: &Subagent,
        title: Option<Text>,
    ) -> Result<Session, AgentError> {
        if self.config.ephemeral_subagents {
            let info = SessionInfo {
                title,
                agent_type: Some(kind.name.as_str().into()),
                spawn_depth: Some(depth_below(parent)),
                parent_session_id: Some(parent.id().as_str().into()),
                ..SessionInfo::default()
            };
            let storage: Arc<dyn SessionStorage> = Arc::new(MemoryStorage::new()?);
            let made = storage.create(NewSession { id, info, ..NewSession::default() }).await?;
            return Ok(Session::open(storage, &made.id, Arc::new(UuidV7)).await?);
        }
        let last = id.as_ref().and_then(|id| id.as_str().rsplit('-').next());
        let task = format!("task_{}", last.unwrap_or("0"));
        let options = CreateOptions { id, title, ..CreateOptions::default() };
        Ok(self.store.create_subagent(parent, &task, kind.name.as_str(), options).await?)
    }

    /// The sub-agent in its session.
    async fn child(
        &self,
        parent: &Session,
        session: Session,
        kind: &Subagent,
    ) -> Result<Agent, AgentError> {
        let settings = settings_of(parent).await?;
        let active = settings.active_tool_names.clone();
        let tools = self.tools.active(active.as_deref());
        // The task tool is never handed on; where the depth allows, the child makes its own.
        let tools = tools.filtered(|name| name != TASK_TOOL && kind.may_use(name));
        let own_model = kind.model.is_some();
        let config = Config {
            prompt: kind.content.clone(),
            model: kind.model.clone().or(plain(settings.model.as_ref())),
            provider: match own_model {
                true => kind.provider.clone().or(plain(settings.provider.as_ref())),
                false => plain(settings.provider.as_ref()),
            },
            thinking_level: kind.effort.clone().or(plain(settings.thinking_level.as_ref())),
            max_turns: kind.max_turns.unwrap_or(self.config.max_turns),
            always_task: self.config.always_task && kind.may_use(TASK_TOOL),
            events: crate::Events::default(),
            parent_results: self.config.results(parent),
            // Of one that leaves nothing, no output is put into a file either.
            spill: self.config.spill.clone().filter(|_| !self.config.ephemeral_subagents),
            ..self.config.clone()
        };
        let subagents = match kind.may_use(TASK_TOOL) {
            true => self.subagents.clone(),
            false => Subagents::default(),
        };
        let builder = AgentBuilder { config, ..AgentBuilder::default() };
        builder
            .store(SessionStore::new(Arc::clone(session.storage())))
            .session(session)
            .tools(tools.all())
            .skills(self.skills.selected(&kind.skills))
            .subagents(subagents)
            .build()
            .await
    }

    async fn work(
        &self,
        run: &ToolRun,
        wanted: Arguments,
        kind: &Subagent,
        session: Session,
        goes_on: bool,
    ) -> Result<RunOutcome, AgentError> {
        let parent = self.parent();
        let id = session.id().to_string();
        let mut child = self.child(&parent, session, kind).await?;
        let _listed = self.tasks.list(&id, child.handle()).ok_or_else(|| {
            AgentError::invalid(format!("task {id} is at work already: wait for its answer"))
        })?;
        if goes_on || run.replayed {
            let resumed = child.resume_under(Some(&run.cancel)).await?;
            if run.replayed {
                if let Some(outcome) = resumed {
                    return Ok(outcome);
                }
                // It had not begun, or was done before its parent could write that down.
                if let Some(outcome) = done_before(child.session()).await? {
                    return Ok(outcome);
                }
            }
        }
        child.run_under(wanted.prompt, Some(&run.cancel)).await
    }
}

/// What a session came to whose run is over.
async fn done_before(session: &Session) -> Result<Option<RunOutcome>, AgentError> {
    let context = session.context().await?;
    let last = context.messages().last().filter(|message| message.role == Role::Assistant);
    Ok(last.map(|message| RunOutcome {
        stop: RunStop::Done,
        text: message.content.text().to_string(),
        turns: 0,
        usage: crate::Usage::default(),
        undelivered: Vec::new(),
    }))
}

fn depth_below(parent: &Session) -> u64 {
    parent.facts().info.spawn_depth.unwrap_or(0).saturating_add(1)
}

#[async_trait]
impl Tool for TaskTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// A call that runs again goes on with the session that it had.
    fn replay(&self) -> Replay {
        match self.config.ephemeral_subagents {
            true => Replay::Never,
            false => Replay::Safe,
        }
    }

    fn parallel(&self) -> bool {
        true
    }

    fn ends_itself(&self) -> bool {
        true
    }

    fn prepare(&self, _call: &ToolCall) -> Option<Json> {
        let id = new_session_id(self.config.clock.now()).ok()?;
        Json::from_value(&serde_json::json!({ "sessionId": id.as_str() })).ok()
    }

    async fn call(&self, run: ToolRun) -> Result<ToolOutput, ToolFailure> {
        let wanted: Arguments = arguments(&run)?;
        let parent = self.parent();
        if depth_below(&parent) > self.config.max_depth {
            return Err(ToolFailure::new("sub-agents of this depth are not allowed"));
        }
        let prepared = run.prepared.as_ref().and_then(|json| {
            let id = json.as_object()?.text("sessionId")?;
            SessionId::new(id.as_str()?).ok()
        });
        let name = wanted.agent_type.as_deref().filter(|name| !name.is_empty());
        let name = name.unwrap_or(DEFAULT_SUBAGENT).to_owned();
        let (kind, session) = if let Some(id) = &wanted.resume {
            let session = self.earlier(&parent, id).await?;
            let kind = session.facts().info.agent_type.as_ref().map(ToString::to_string);
            (self.kind(kind.as_deref().unwrap_or(&name))?, session)
        } else {
            let kind = self.kind(&name)?;
            let earlier = match (&prepared, run.replayed) {
                (Some(id), true) => self.earlier(&parent, id.as_str()).await.ok(),
                _ => None,
            };
            let session = match earlier {
                Some(session) => session,
                None => {
                    let title = wanted.description.as_deref().map(Into::into);
                    let made = self.fresh(&parent, prepared, &kind, title).await;
                    made.map_err(|error| failed(&kind, &error))?
                }
            };
            (kind, session)
        };
        let id = session.id().to_string();
        let goes_on = wanted.resume.is_some();
        let outcome = self
            .work(&run, wanted, &kind, session, goes_on)
            .await
            .map_err(|error| failed(&kind, &error))?;
        if outcome.stop == RunStop::Cancelled {
            return Err(ToolFailure::new(CANCELLED));
        }
        let mut text = match outcome.text.trim() {
            "" => "(no summary)".to_owned(),
            text => text.to_owned(),
        };
        if outcome.stop != RunStop::Done {
            text.push_str(&format!("\n\n(the sub-agent stopped early: {})", outcome.stop.as_str()));
        }
        if !self.config.ephemeral_subagents {
            text.push_str(&format!("\n\n(task id: {id})"));
        }
        Ok(ToolOutput::text(text).with_details(&serde_json::json!({
            "sessionId": id,
            "agentType": kind.name,
            "turns": outcome.turns,
            "usage": outcome.usage,
            "stop": outcome.stop.as_str(),
        })))
    }
}

fn failed(kind: &Subagent, error: &AgentError) -> ToolFailure {
    ToolFailure(format!("Subagent '{}' failed: {error}", kind.name))
}
