//! `forkwood inbound`

use std::path::PathBuf;
use std::sync::Arc;

use forkwood::{ErrorKind, Settings};
use forkwood_agent::{Agent, AgentBuilder, AgentError, Retries};
use forkwood_routing::Error;
use forkwood_routing::handle::{Handled, Handler};
use forkwood_routing::open::{self, Kind, Opened};
use forkwood_view::sanitise;

use crate::chat;
use crate::commands::route;
use crate::conversations;
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
Messages of one conversation wait for each other, also those that another process handles.

With --dir FOLDER they are kept in a folder of PicoClaw's, which PicoClaw goes on with; --from \
picoclaw is that of its default workspace. Where the place cannot be used, conversations go on in \
one JSON file each, and a warning tells why and where; the next call that can use the place takes \
over what was said meanwhile.";

pub(crate) fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let (place, root) = place(ctx)?;
    let router = route::router(ctx, args.config.as_deref())?;
    let inbound = route::read_inbound()?;
    let chosen = args.model.choose(&Settings::default())?;
    let runtime = chat::runtime()?;
    let opened = runtime.block_on(open::open(&place))?;
    let root = opened.fallback.as_ref().map_or(root, |fallback| fallback.folder.clone());
    tell_opened(ctx, &opened);
    let kind = opened.kind;
    let agents = move |_: &str| builder(&chosen, args.system.as_deref(), args.retries);
    let handler = Handler::new(router, opened.conversations, &root, agents);
    let handled = runtime.block_on(handler.handle(&inbound));
    runtime.shutdown_background();
    tell(ctx, &handled.map_err(failed)?, kind)?;
    Ok(Outcome::Done)
}

/// Where the conversations are kept, and the folder itself.
fn place(ctx: &Ctx) -> Result<(open::Place, PathBuf)> {
    let folder = match Place::of(ctx)? {
        Place::Store(root) => return Ok((open::Place::Store(root.clone()), root)),
        Place::Folder(folder) => folder,
        Place::Tool("picoclaw", home) => conversations::workspace(&home),
        Place::Tool(name, _) => return Err(conversations::neither(name)),
    };
    Ok((open::Place::PicoClaw(folder.clone()), folder))
}

/// What happened on the way to the conversations.
fn tell_opened(ctx: &mut Ctx, opened: &Opened) {
    if let Some(fallback) = &opened.fallback {
        ctx.out.warn(fallback.to_string());
    }
    for (path, why) in &opened.migration.skipped {
        ctx.out.warn(format!("{} was not migrated: {why}", path.display()));
    }
    for (key, error) in &opened.left {
        ctx.out.warn(format!("what was said meanwhile in {key} stays in the fallback: {error}"));
    }
    if !opened.migration.migrated.is_empty() {
        ctx.out.note(format!("{} older files were migrated", opened.migration.migrated.len()));
    }
    for (key, count) in opened.taken.iter().filter(|(_, count)| *count > 0) {
        ctx.out.note(format!("{count} messages of {key} came from the fallback"));
    }
}

fn builder(
    chosen: &Chosen,
    system: Option<&str>,
    retries: usize,
) -> std::result::Result<AgentBuilder, AgentError> {
    let mut builder = Agent::builder()
        .model(&chosen.model)
        .prices(Arc::clone(&chosen.prices))
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

fn tell(ctx: &mut Ctx, handled: &Handled, kind: Kind) -> Result {
    if ctx.json() {
        let mut out = json::object();
        out.str("agentId", &handled.agent_id)
            .str("matchedBy", &handled.matched_by)
            .str("sessionKey", &handled.session_key)
            .str("keptIn", kind.as_str())
            .raw("session", &json::string(handled.session_id.as_deref()))
            .raw("promotedFrom", &json::string(handled.promoted_from.as_deref()))
            .raw("entryIds", &json::strings(handled.entry_ids.iter().map(String::as_str)))
            .str("reply", &handled.reply)
            .str("stop", handled.stop);
        return ctx.out.json(out.finish());
    }
    ctx.out.note(format!("agent {}, conversation {}", handled.agent_id, handled.session_key));
    ctx.out.line(sanitise::lines(&handled.reply))
}
