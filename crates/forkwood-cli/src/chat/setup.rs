//! What agents are made of: model, tools, instructions.

use std::sync::Arc;

use forkwood::storage::jsonl::NATIVE;
use forkwood::{Session, SessionStore, Settings, workspace};
use forkwood_agent::tool::builtin::{self, BashLimits};
use forkwood_agent::{
    Agent, AgentEvent, Events, Retries, Skills, SpillFolder, Subagents, Tool, Workspace,
};
use forkwood_context::Config;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::commands::chat::{Args, ToolName};
use crate::ctx::Ctx;
use crate::error::{CliError, Result};
use crate::model::Chosen;
use crate::place;

const INSTRUCTIONS: &str = "You are a helpful assistant in a terminal. Be brief and precise.";

/// What an agent is made of, whatever its session.
#[derive(Clone)]
pub(super) struct Setup {
    pub(super) chosen: Chosen,
    /// The level that the arguments name.
    pub(super) thinking: Option<String>,
    /// Whether the arguments name the model, and not only the session does.
    pub(super) named: bool,
    tools: Vec<Arc<dyn Tool>>,
    system: String,
    retries: usize,
    budget: u64,
}

impl Setup {
    /// Of arguments, and what the session says.
    pub(super) async fn new(ctx: &Ctx, args: &Args, session: Option<&Session>) -> Result<Setup> {
        let settings = match session {
            Some(session) => settings(session).await?,
            None => Settings::default(),
        };
        let named = args.model.provider.is_some() || args.model.model.is_some();
        Ok(Setup {
            chosen: args.model.choose(&settings)?,
            thinking: args.thinking.clone(),
            named,
            tools: tools(ctx, args, session)?,
            system: args.system.clone().unwrap_or_else(|| INSTRUCTIONS.to_owned()),
            retries: args.retries,
            budget: args.budget,
        })
    }

    /// An agent in a session, and what it tells.
    pub(super) async fn agent(
        &self,
        ctx: &Ctx,
        session: Session,
    ) -> Result<(Agent, UnboundedReceiver<AgentEvent>)> {
        let (tell, events) = unbounded_channel();
        // What nobody listens to any more is not told.
        let sink = Events::to(move |event| drop(tell.send(event)));
        let budget = Config { rules: session.facts().rules, ..Config::with_budget(self.budget) };
        let store = SessionStore::new(Arc::clone(session.storage()));
        let mut builder = Agent::builder()
            .store(store)
            .model(&self.chosen.model)
            .prompt(&self.system)
            .tools(self.tools.iter().cloned())
            // Skills and sub-agents go with a program of one's own.
            .skills(Skills::discover(&[]))
            .subagents(Subagents::discover(&[]))
            .retries(Retries { times: self.retries, ..Retries::default() })
            .budget(Some(budget))
            .prices(Arc::clone(&self.chosen.prices))
            .events(sink);
        let providers = &self.chosen.providers;
        let first = self.chosen.provider.as_str();
        builder = builder.provider(Arc::clone(providers.get(Some(first))?));
        for name in providers.names().iter().filter(|name| *name != first) {
            builder = builder.provider(Arc::clone(providers.get(Some(name))?));
        }
        if let Some(level) = &self.thinking {
            builder = builder.thinking_level(level);
        }
        if !self.tools.is_empty()
            && let Some(folder) = spill(&session)
        {
            builder = builder.spill(Arc::new(folder));
        }
        let agent = builder.workspace(workspace::find(&ctx.folder)).session(session).build();
        Ok((agent.await?, events))
    }
}

/// Model, provider and thinking level where a session stands.
pub(super) async fn settings(session: &Session) -> Result<Settings> {
    Ok(match session.current_leaf().await? {
        Some(leaf) => session.settings(&leaf).await?,
        None => Settings::initial(&session.facts().rules),
    })
}

fn tools(ctx: &Ctx, args: &Args, session: Option<&Session>) -> Result<Vec<Arc<dyn Tool>>> {
    if args.tools.contains(&ToolName::Bash) && !args.allow_bash {
        return Err(CliError::usage("the tool bash runs any command that the model asks for")
            .hint("allow it with --allow-bash"));
    }
    if args.tools.is_empty() && !args.allow_bash {
        return Ok(Vec::new());
    }
    // No tool writes sessions, wherever they lie.
    let workspace = Workspace::new(&workspace::find(&ctx.folder))?.guarded(&place::store_root(ctx));
    let file = session.and_then(|session| session.facts().path.clone());
    let workspace = match file {
        Some(file) => workspace.guarded(&file),
        None => workspace,
    };
    let mut all = builtin::reading(&workspace);
    all.extend(builtin::writing(&workspace));
    let wanted = |tool: &Arc<dyn Tool>| {
        let name = &tool.spec().name;
        args.tools.iter().any(|wanted| {
            let word = match wanted {
                ToolName::Read => "read",
                ToolName::Write => "write",
                ToolName::Edit => "edit",
                ToolName::List => "list",
                ToolName::Search => "search",
                ToolName::Bash => "bash",
            };
            *name == *word
        })
    };
    all.retain(wanted);
    if args.allow_bash {
        all.push(builtin::bash(&workspace, BashLimits::from_env()));
    }
    Ok(all)
}

/// Long outputs of tools lie beside the sessions of the store, and go with them.
fn spill(session: &Session) -> Option<SpillFolder> {
    let facts = session.facts();
    let path = facts.path.as_ref().filter(|_| facts.dialect == NATIVE)?;
    let sessions = path.parent().filter(|folder| folder.ends_with("sessions"))?;
    let folder = sessions.parent()?.join("tool-results").join(session.id().as_str());
    Some(SpillFolder::at(&folder))
}
