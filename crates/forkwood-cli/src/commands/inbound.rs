//! `forkwood inbound`

use std::path::PathBuf;
use std::sync::Arc;

use forkwood::{ErrorKind, Settings};
use forkwood_agent::{Agent, AgentBuilder, AgentError, Retries};
use forkwood_routing::handle::{Handled, Handler};
use forkwood_routing::{Error, PersistentConversations};
use forkwood_view::sanitise;

use crate::chat;
use crate::commands::route;
use crate::ctx::Ctx;
use crate::error::{CliError, Outcome, Result};
use crate::json;
use crate::model::{Chosen, ModelArgs};
use crate::place::Place;

/// Who answers.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The configuration, in TOML or JSON; PicoClaw's config.json is one
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,

    #[command(flatten)]
    model: ModelArgs,

    /// The instructions that go with every request; no session stores them
    #[arg(long, value_name = "TEXT", help_heading = "Model")]
    system: Option<String>,

    /// How often to try again when the provider fails
    #[arg(long, value_name = "N", default_value = "4", help_heading = "Model")]
    retries: usize,
}

const AFTER_HELP: &str = "\
The message comes on stdin as JSON, as `forkwood route` takes it. Its conversation is found by the \
configuration and made where it is not there; what was said and the answer are stored in it. \
Messages of one conversation wait for each other, also those that another process handles.";

pub(crate) fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let Place::Store(root) = Place::of(ctx)? else {
        return Err(CliError::usage(
            "conversations are kept in a store: leave out --dir and --from",
        ));
    };
    let router = route::router(ctx, args.config.as_deref())?;
    let inbound = route::read_inbound()?;
    let chosen = args.model.choose(&Settings::default())?;
    let conversations = Arc::new(PersistentConversations::open(&root)?);
    let runtime = chat::runtime()?;
    let agents = move |_: &str| builder(&chosen, args.system.as_deref(), args.retries);
    let handler = Handler::new(router, conversations, &root, agents);
    let handled = runtime.block_on(handler.handle(&inbound));
    runtime.shutdown_background();
    tell(ctx, &handled.map_err(failed)?)?;
    Ok(Outcome::Done)
}

fn builder(
    chosen: &Chosen,
    system: Option<&str>,
    retries: usize,
) -> std::result::Result<AgentBuilder, AgentError> {
    let mut builder = Agent::builder()
        .model(&chosen.model)
        .retries(Retries { times: retries, ..Retries::default() });
    if let Some(system) = system {
        builder = builder.prompt(system);
    }
    let first = chosen.provider.as_str();
    builder = builder.provider(Arc::clone(chosen.providers.get(Some(first))?));
    for name in chosen.providers.names().iter().filter(|name| *name != first) {
        builder = builder.provider(Arc::clone(chosen.providers.get(Some(name))?));
    }
    Ok(builder)
}

fn failed(error: Error) -> CliError {
    match error {
        Error::Storage(error) => error.into(),
        Error::Agent(error) => error.into(),
        other => CliError::new(ErrorKind::Invalid, other.to_string()),
    }
}

fn tell(ctx: &mut Ctx, handled: &Handled) -> Result {
    if ctx.json() {
        let mut out = json::object();
        out.str("agentId", &handled.agent_id)
            .str("matchedBy", &handled.matched_by)
            .str("sessionKey", &handled.session_key)
            .str("session", &handled.session_id)
            .raw("promotedFrom", &json::string(handled.promoted_from.as_deref()))
            .raw("entryIds", &json::strings(handled.entry_ids.iter().map(String::as_str)))
            .str("reply", &handled.reply)
            .str("stop", handled.stop);
        return ctx.out.json(out.finish());
    }
    ctx.out.note(format!("agent {}, conversation {}", handled.agent_id, handled.session_key));
    ctx.out.line(sanitise::lines(&handled.reply))
}
