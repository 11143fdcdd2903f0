//! Commands before anything was said: there is no session yet, and none is made for them.

use forkwood::Settings;

use crate::ctx::Ctx;
use crate::error::{CliError, Result};
use crate::json;

use super::setup::Setup;
use super::slash::Command;
use super::switch::{one_word, split, tell_settings};
use super::{cost, events, moves};

/// Does what needs no session. What is set here is what the session will begin with.
pub(super) async fn run(ctx: &mut Ctx, setup: &mut Setup, command: &Command) -> Result {
    match command {
        Command::Tree => tree(ctx),
        Command::Cost => cost::nothing(ctx),
        Command::Resume(_) => moves::newest(ctx).await,
        Command::Model(name) => {
            if let Some(name) = name {
                let (provider, model) = split(name, &setup.chosen.providers.names());
                let provider = provider.map(str::to_owned);
                setup.chosen.model = model.to_owned();
                if let Some(provider) = provider {
                    setup.chosen.provider = provider;
                }
            }
            tell(ctx, "model", setup)
        }
        Command::Thinking(level) => {
            if let Some(level) = level {
                one_word(level)?;
                setup.thinking = Some(level.clone());
            }
            tell(ctx, "thinking", setup)
        }
        Command::Compact(_) => Err(forkwood_context::Error::NothingToCompact.into()),
        _ => Err(CliError::usage("nothing was said yet: there is no session to do this in")
            .hint("say something first, or go to another session with /resume SESSION")),
    }
}

fn tree(ctx: &mut Ctx) -> Result {
    if ctx.json() {
        let mut out = events::object("tree");
        out.raw("leaf", &json::id(None)).raw("rows", "[]");
        return events::print(ctx, out);
    }
    ctx.out.note("nothing was said yet; the session is made with the first message");
    Ok(())
}

fn tell(ctx: &mut Ctx, event: &str, setup: &Setup) -> Result {
    let settings = Settings {
        model: Some(setup.chosen.model.as_str().into()),
        provider: Some(setup.chosen.provider.as_str().into()),
        thinking_level: setup.thinking.as_deref().map(Into::into),
        ..Settings::default()
    };
    tell_settings(ctx, event, &settings, &setup.chosen.providers.names())
}
