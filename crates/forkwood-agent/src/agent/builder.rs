//! Making an agent.

use std::path::PathBuf;
use std::sync::Arc;

use forkwood::storage::{MemoryStorage, SystemClock, UuidV7};
use forkwood::{Clock, CreateOptions, IdSource, Session, SessionStore};
use forkwood_context::{Pipeline, Spill};

use super::{Agent, Config, SharedSpill};
use crate::queue::Delivery;
use crate::skill::Skills;
use crate::subagent::task::TaskTool;
use crate::subagent::{Subagents, TASK_TOOL};
use crate::tool::{Hook, Tool, Tools};
use crate::{AgentError, Events, Handle, Prices, Provider, Providers, Retries};

/// What an agent is made of. Only a provider and a model must be given.
#[derive(Debug)]
pub struct AgentBuilder {
    pub(crate) config: Config,
    pub(crate) session: Option<Session>,
    pub(crate) store: Option<SessionStore>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) skills: Option<Skills>,
    pub(crate) subagents: Option<Subagents>,
}

impl Default for AgentBuilder {
    fn default() -> AgentBuilder {
        AgentBuilder {
            config: Config {
                providers: Providers::default(),
                hooks: Vec::new(),
                prompt: String::new(),
                model: None,
                provider: None,
                thinking_level: None,
                max_tokens: None,
                max_turns: 100,
                max_parallel: 8,
                max_depth: 1,
                always_task: false,
                ephemeral_subagents: false,
                retries: Retries::default(),
                prices: Arc::default(),
                steering: Delivery::One,
                follow_up: Delivery::One,
                events: Events::default(),
                ids: Arc::new(UuidV7),
                clock: Arc::new(SystemClock),
                budget: Some(forkwood_context::Config::default()),
                spill: None,
                workspace: None,
                parent_results: None,
            },
            session: None,
            store: None,
            tools: Vec::new(),
            skills: None,
            subagents: None,
        }
    }
}

impl AgentBuilder {
    /// The session it works in. Without one it gets a new one: of the store, or in memory.
    #[must_use]
    pub fn session(mut self, session: Session) -> AgentBuilder {
        self.session = Some(session);
        self
    }

    /// The store of its session, in which the sessions of its sub-agents are made.
    #[must_use]
    pub fn store(mut self, store: SessionStore) -> AgentBuilder {
        self.store = Some(store);
        self
    }

    /// A provider it may use. The first one is the default.
    #[must_use]
    pub fn provider(mut self, provider: Arc<dyn Provider>) -> AgentBuilder {
        self.config.providers.add(provider);
        self
    }

    /// The model where the session names none.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> AgentBuilder {
        self.config.model = Some(model.into());
        self
    }

    /// The thinking level where the session names none.
    #[must_use]
    pub fn thinking_level(mut self, level: impl Into<String>) -> AgentBuilder {
        self.config.thinking_level = Some(level.into());
        self
    }

    /// A tool.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool + 'static) -> AgentBuilder {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> AgentBuilder {
        self.tools.extend(tools);
        self
    }

    /// Someone who sees every call.
    #[must_use]
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> AgentBuilder {
        self.config.hooks.push(hook);
        self
    }

    /// Its instructions.
    #[must_use]
    pub fn prompt(mut self, prompt: impl Into<String>) -> AgentBuilder {
        self.config.prompt = prompt.into();
        self
    }

    /// The workspace, whose usual folders are looked through for skills and sub-agents where
    /// these are not given. Long outputs of tools go to `.forkwood/tool-results` in it, unless
    /// [`AgentBuilder::spill`] says otherwise.
    #[must_use]
    pub fn workspace(mut self, workspace: impl Into<PathBuf>) -> AgentBuilder {
        self.config.workspace = Some(workspace.into());
        self
    }

    /// Its skills, and no others.
    #[must_use]
    pub fn skills(mut self, skills: Skills) -> AgentBuilder {
        self.skills = Some(skills);
        self
    }

    /// Its sub-agents, and no others. Where there is one, the agent has the `task` tool.
    #[must_use]
    pub fn subagents(mut self, subagents: Subagents) -> AgentBuilder {
        self.subagents = Some(subagents);
        self
    }

    /// The `task` tool, for the default sub-agent, even where no other is known.
    #[must_use]
    pub fn task_tool(mut self) -> AgentBuilder {
        self.config.always_task = true;
        self
    }

    /// How deep sub-agents may have sub-agents: 1 by default, which is not at all.
    #[must_use]
    pub fn max_depth(mut self, depth: u64) -> AgentBuilder {
        self.config.max_depth = depth;
        self
    }

    /// The sessions of sub-agents live in memory, and leave nothing.
    #[must_use]
    pub fn ephemeral_subagents(mut self) -> AgentBuilder {
        self.config.ephemeral_subagents = true;
        self
    }

    /// The maximum of turns of a run.
    #[must_use]
    pub fn max_turns(mut self, turns: u32) -> AgentBuilder {
        self.config.max_turns = turns;
        self
    }

    /// The maximum of tokens of an answer.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u32) -> AgentBuilder {
        self.config.max_tokens = Some(tokens);
        self
    }

    /// How many calls run at the same time at most.
    #[must_use]
    pub fn max_parallel(mut self, calls: usize) -> AgentBuilder {
        self.config.max_parallel = calls.max(1);
        self
    }

    /// What to do when the provider fails.
    #[must_use]
    pub fn retries(mut self, retries: Retries) -> AgentBuilder {
        self.config.retries = retries;
        self
    }

    /// What models cost: answers and summaries are written down with it, those of sub-agents too.
    /// Models that are not among them have no cost.
    #[must_use]
    pub fn prices(mut self, prices: Arc<Prices>) -> AgentBuilder {
        self.config.prices = prices;
        self
    }

    /// How many messages of [`Handle::steer`] and [`Handle::follow_up`] come at once.
    #[must_use]
    pub fn delivery(mut self, steering: Delivery, follow_up: Delivery) -> AgentBuilder {
        self.config.steering = steering;
        self.config.follow_up = follow_up;
        self
    }

    /// The numbers by which requests are kept within their budget; `None`: they are not.
    #[must_use]
    pub fn budget(mut self, config: Option<forkwood_context::Config>) -> AgentBuilder {
        self.config.budget = config;
        self
    }

    /// Where long outputs of tools go when a request would not fit.
    #[must_use]
    pub fn spill(mut self, spill: Arc<dyn Spill>) -> AgentBuilder {
        self.config.spill = Some(SharedSpill(spill));
        self
    }

    /// Who is told of what happens.
    #[must_use]
    pub fn events(mut self, events: Events) -> AgentBuilder {
        self.config.events = events;
        self
    }

    /// Where the ids of operations come from.
    #[must_use]
    pub fn ids(mut self, ids: Arc<dyn IdSource>) -> AgentBuilder {
        self.config.ids = ids;
        self
    }

    /// Where the time comes from, for the ids of the sessions of sub-agents.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> AgentBuilder {
        self.config.clock = clock;
        self
    }

    /// The agent. Folders are looked through here; nothing is written but a new session.
    ///
    /// # Errors
    /// `tool_name_taken`; `invalid` where a tool has a name that providers refuse; `storage`
    /// where a session cannot be made.
    pub async fn build(self) -> Result<Agent, AgentError> {
        let (session, store) = match (self.session, self.store) {
            (Some(session), Some(store)) => (session, store),
            (Some(session), None) => {
                let store = SessionStore::new(Arc::clone(session.storage()));
                (session, store)
            }
            (None, store) => {
                let store = match store {
                    Some(store) => store,
                    None => SessionStore::new(Arc::new(MemoryStorage::new()?)),
                };
                (store.create(CreateOptions::default()).await?, store)
            }
        };
        let usual = self.config.workspace.as_deref();
        let skills = self.skills.unwrap_or_else(|| {
            Skills::discover(&usual.map(Skills::default_folders).unwrap_or_default())
        });
        let subagents = self.subagents.unwrap_or_else(|| {
            Subagents::discover(&usual.map(Subagents::default_folders).unwrap_or_default())
        });
        let mut tools = Tools::new();
        for tool in self.tools {
            tools.add(tool)?;
        }
        let depth = session.facts().info.spawn_depth.unwrap_or(0);
        let wanted = self.config.always_task || !subagents.list().is_empty();
        let mut agent = Agent {
            session,
            store,
            tools,
            skills,
            subagents,
            task: None,
            handle: Handle::default(),
            system: String::new(),
            pipeline: self.config.budget.clone().map(Pipeline::new),
            followed: None,
            quiet: None,
            config: self.config,
        };
        if wanted && depth < agent.config.max_depth {
            let task = Arc::new(TaskTool::new(&agent));
            agent.tools.add(Arc::clone(&task) as Arc<dyn Tool>)?;
            agent.task = Some(task);
        } else if agent.tools.get(TASK_TOOL).is_none() {
            // Who cannot set sub-agents to work need not hear of them.
            agent.subagents = Subagents::default();
        }
        agent.build_system();
        Ok(agent)
    }
}
