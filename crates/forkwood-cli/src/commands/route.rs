//! `forkwood route`

use std::path::{Path, PathBuf};

use forkwood::ErrorKind;
use forkwood_routing::config::Language;
use forkwood_routing::{Config, Inbound, Resolved, Router};
use forkwood_view::sanitise;

use crate::ctx::Ctx;
use crate::error::{CliError, Outcome, Result};
use crate::style::{self, paint};
use crate::{input, json};

/// Where the configuration is.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The configuration, in TOML or JSON; PicoClaw's config.json is one. Without it: one agent
    /// `main`, and a conversation for each chat
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Print the JSON schema of a configuration, and read no message
    #[arg(long, conflicts_with = "config")]
    schema: bool,
}

const AFTER_HELP: &str = "\
The message comes on stdin as JSON: {\"context\": {\"channel\", \"account\", \"chat_type\", \
\"chat_id\", \"topic_id\", \"space_type\", \"space_id\", \"sender_id\", \"message_id\", \
\"mentioned\"}, \"session_key\", \"content\"}, every field optional, in snake_case or camelCase. \
The fields of `context` may also stand in the message itself.

Nothing is stored.";

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    if args.schema {
        ctx.out.line(Config::json_schema().trim_end())?;
        return Ok(Outcome::Done);
    }
    let router = router(ctx, args.config.as_deref())?;
    let inbound = read_inbound()?;
    let resolved = router.resolve(&inbound);
    if ctx.json() {
        ctx.out.json(as_json(&resolved))?;
        return Ok(Outcome::Done);
    }
    people(ctx, &router, &inbound, &resolved)?;
    Ok(Outcome::Done)
}

/// A router by a configuration file; what is odd about the file is told on stderr.
pub(crate) fn router(ctx: &mut Ctx, config: Option<&Path>) -> Result<Router> {
    let Some(path) = config else { return Ok(Router::new(Config::default())) };
    let shown = sanitise::line(&path.to_string_lossy()).into_owned();
    let bytes = std::fs::read(path)
        .map_err(|error| CliError::new(kind_of(&error), format!("cannot read {shown}: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CliError::new(ErrorKind::Invalid, format!("{shown}: not UTF-8 at byte {at}"))
    })?;
    let loaded = Config::parse(&text, Language::of(&text))
        .map_err(|error| CliError::new(ErrorKind::Invalid, format!("{shown}: {error}")))?;
    for warning in &loaded.warnings {
        ctx.out.note(format!("{shown}: {warning}"));
    }
    Ok(Router::new(loaded.config))
}

fn kind_of(error: &std::io::Error) -> ErrorKind {
    match error.kind() {
        std::io::ErrorKind::NotFound => ErrorKind::NotFound,
        _ => ErrorKind::Io,
    }
}

/// The message on stdin.
pub(crate) fn read_inbound() -> Result<Inbound> {
    if !input::is_piped() {
        return Err(CliError::usage("the message is missing: it comes on stdin, as JSON"));
    }
    Inbound::from_json(&input::all()?)
        .map_err(|error| CliError::new(ErrorKind::Invalid, error.to_string()))
}

fn as_json(resolved: &Resolved) -> String {
    let allocation = &resolved.allocation;
    let strings = |list: &[String]| json::strings(list.iter().map(String::as_str));
    let mut out = json::object();
    out.str("agentId", &resolved.route.agent_id)
        .str("matchedBy", &resolved.route.matched_by)
        .raw("scope", &allocation.scope.to_json())
        .str("signature", &allocation.scope.signature())
        .str("sessionKey", &allocation.session_key)
        .raw("sessionAliases", &strings(&allocation.session_aliases))
        .str("mainSessionKey", &allocation.main_session_key)
        .raw("mainAliases", &strings(&allocation.main_aliases))
        .str("effectiveKey", &resolved.session_key)
        .raw("effectiveAliases", &strings(&resolved.aliases));
    out.finish()
}

fn people(ctx: &mut Ctx, router: &Router, inbound: &Inbound, resolved: &Resolved) -> Result<()> {
    let names = |list: &[String]| match list {
        [] => "none".to_owned(),
        list => list.join("\n          "),
    };
    let allocation = &resolved.allocation;
    let rows = [
        ("agent", resolved.route.agent_id.clone()),
        ("reason", reason(router, resolved)),
        ("scope", allocation.scope.signature()),
        ("session", key_reason(inbound, resolved)),
        ("key", resolved.session_key.clone()),
        ("aliases", names(&resolved.aliases)),
        ("main", allocation.main_session_key.clone()),
    ];
    for (name, value) in rows {
        let value: Vec<_> = value.lines().map(sanitise::line).collect();
        ctx.out.line(format!("{} {}", paint(style::ID, format!("{name:<9}")), value.join("\n")))?;
    }
    Ok(())
}

/// Why that agent, and what keeps its conversations apart.
fn reason(router: &Router, resolved: &Resolved) -> String {
    let route = &resolved.route;
    let apart: Vec<&str> = route.policy.dimensions.iter().map(|it| it.name()).collect();
    let apart = match apart.as_slice() {
        [] => "one conversation for all of the channel and account".to_owned(),
        names => format!("one conversation for each {}", names.join(" and ")),
    };
    let why = match route.matched_by.as_str() {
        "default" if router.config().agents.dispatch.rules.is_empty() => "no rules".to_owned(),
        "default" => "no rule fits: the default agent".to_owned(),
        "system" => return "a system message: the main session of the default agent".to_owned(),
        "dispatch.rule" => "a rule without a name fits".to_owned(),
        matched => {
            let name = matched.strip_prefix("dispatch.rule:").unwrap_or(matched);
            format!("the rule `{name}` fits")
        }
    };
    format!("{why}; {apart}")
}

/// Why that key.
fn key_reason(inbound: &Inbound, resolved: &Resolved) -> String {
    if inbound.is_system() {
        "the main session of the agent".to_owned()
    } else if resolved.session_key != resolved.allocation.session_key {
        "the one that the message names".to_owned()
    } else {
        "the one of its scope".to_owned()
    }
}
