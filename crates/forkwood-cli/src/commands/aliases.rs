//! `forkwood aliases`

use std::collections::HashSet;

use forkwood::conversation::ConversationMeta;
use forkwood::conversation::key::{is_main, main_key, parse_legacy};
use forkwood::conversation::native::session_id;
use forkwood_view::sanitise;

use crate::conversations;
use crate::ctx::Ctx;
use crate::error::{Outcome, Result};
use crate::json;
use crate::style::{self, paint};

/// Which conversation.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// A session key or an alias; without it all conversations are listed
    #[arg(value_name = "KEY")]
    key: Option<String>,
}

const AFTER_HELP: &str = "\
A conversation has one key and any number of older names. Either works wherever a session id does: \
`forkwood show agent:main:telegram:direct:42`.

With --dir FOLDER those of a folder of PicoClaw's are listed, its older files among them; --from \
picoclaw is that of its default workspace.";

pub(crate) async fn run(ctx: &mut Ctx, args: Args) -> Result<Outcome> {
    let store = conversations::of(ctx)?;
    let keys = match &args.key {
        Some(key) => vec![store.resolve_key(key).await?],
        None => store.list_sessions().await?,
    };
    let mut told = HashSet::new();
    for key in keys {
        // One that is damaged, or was removed just now, does not hide the others.
        let meta = match store.metadata(&key).await {
            Ok(Some(meta)) => meta,
            Ok(None) => continue,
            Err(error) if args.key.is_none() => {
                ctx.out.note(error.to_string());
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        // An older one whose history was taken over leads to the one that has it now.
        if !told.insert(meta.key.clone()) {
            continue;
        }
        if ctx.json() {
            ctx.out.json(as_json(&meta)?)?;
        } else {
            people(ctx, &meta)?;
        }
    }
    match args.key {
        Some(key) if told.is_empty() => Err(conversations::not_found(&key)),
        None if told.is_empty() => {
            ctx.out.note("no conversations here; `forkwood list` shows all sessions");
            Ok(Outcome::Done)
        }
        _ => Ok(Outcome::Done),
    }
}

fn as_json(meta: &ConversationMeta) -> Result<String> {
    let mut out = json::object();
    out.str("sessionKey", &meta.key)
        .str("session", session_id(&meta.key)?.as_str())
        .raw("agentId", &json::string(meta.agent.as_deref()))
        .raw("scope", &meta.scope.as_ref().map_or_else(|| "null".to_owned(), |it| it.to_json()))
        .raw("aliases", &json::strings(meta.aliases.iter().map(String::as_str)))
        .raw("promotedFrom", &json::string(meta.promoted_from.as_deref()));
    Ok(out.finish())
}

/// Every chat lists the alias of the main session, and is not reached by it.
fn reaches(alias: &str, key: &str) -> bool {
    let main = parse_legacy(alias).filter(|_| is_main(alias)).map(|(agent, _)| main_key(agent));
    main.is_none_or(|main| main == key)
}

fn people(ctx: &mut Ctx, meta: &ConversationMeta) -> Result {
    let scope = match &meta.scope {
        Some(scope) => scope.signature(),
        None => "no scope".to_owned(),
    };
    let key = sanitise::line(&meta.key);
    ctx.out.line(format!("{}  {}", paint(style::ID, key), sanitise::line(&scope)))?;
    for alias in meta.aliases.iter().filter(|alias| reaches(alias, &meta.key)) {
        ctx.out.line(format!("  {}", sanitise::line(alias)))?;
    }
    if let Some(from) = &meta.promoted_from {
        ctx.out.line(format!("  (its history was that of {})", sanitise::line(from)))?;
    }
    Ok(())
}
