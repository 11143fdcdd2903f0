//! Other settings: `/model`, `/thinking`, and `/compact`.

use crate::commands::context::{model, model_name};
use crate::ctx::Ctx;
use crate::error::{CliError, Result};
use crate::json;
use forkwood::Settings;

use super::turn::or_stopped;
use super::{Chat, events, setup};

impl Chat {
    /// Shows the model, or changes it. A name with a slash may name the provider first.
    pub(super) async fn model(&mut self, ctx: &mut Ctx, name: Option<&str>) -> Result {
        self.agent.session_mut().reload().await?;
        let now = self.settings().await?;
        if let Some(name) = name {
            let known = self.agent.providers().names();
            let current = now.provider.as_ref().map(|it| it.to_string_lossy().into_owned());
            let current = current.filter(|current| known.contains(current));
            let default = self.setup.chosen.provider.clone();
            let (provider, model) = split(name, &known);
            let provider = provider.map_or_else(|| current.unwrap_or(default), str::to_owned);
            self.agent.set_model(model, Some(&provider)).await?;
            // This is what is wanted now, whatever the arguments said.
            self.to_set = false;
        }
        self.tell_settings(ctx, "model").await
    }

    /// Shows how much the model thinks, or changes it.
    pub(super) async fn thinking(&mut self, ctx: &mut Ctx, level: Option<&str>) -> Result {
        self.agent.session_mut().reload().await?;
        if let Some(level) = level {
            one_word(level)?;
            self.agent.set_thinking_level(level).await?;
            self.setup.thinking = None;
        }
        self.tell_settings(ctx, "thinking").await
    }

    async fn tell_settings(&mut self, ctx: &mut Ctx, event: &str) -> Result {
        let now = self.settings().await?;
        tell_settings(ctx, event, &now, &self.agent.providers().names())
    }

    /// The settings of the session; before the first turn, those it will begin with.
    async fn settings(&self) -> Result<Settings> {
        let mut now = setup::settings(self.agent.session()).await?;
        if now.model.is_none() {
            now.model = Some(self.setup.chosen.model.as_str().into());
            now.provider = Some(self.setup.chosen.provider.as_str().into());
        }
        if now.thinking_level.is_none() {
            now.thinking_level = self.setup.thinking.as_deref().map(Into::into);
        }
        Ok(now)
    }

    /// Sums up what was said.
    pub(super) async fn compact(&mut self, ctx: &mut Ctx, words: Option<&str>) -> Result {
        let handle = self.agent.handle();
        or_stopped(&mut self.interrupts, &handle, self.agent.compact(words)).await?;
        while let Ok(event) = self.events.try_recv() {
            self.screen.event(ctx, event)?;
        }
        Ok(())
    }
}

/// A provider, where the name begins with one that is known, and the model.
pub(super) fn split<'n>(name: &'n str, known: &[String]) -> (Option<&'n str>, &'n str) {
    let split = name.split_once('/').filter(|(provider, model)| {
        known.iter().any(|known| known == provider) && !model.is_empty()
    });
    split.map_or((None, name), |(provider, model)| (Some(provider), model))
}

pub(super) fn one_word(level: &str) -> Result {
    match level.contains(char::is_whitespace) {
        true => Err(CliError::usage("a thinking level is one word")),
        false => Ok(()),
    }
}

pub(super) fn tell_settings(
    ctx: &mut Ctx,
    event: &str,
    now: &Settings,
    providers: &[String],
) -> Result {
    if ctx.json() {
        let mut out = events::object(event);
        out.raw("model", &model(now))
            .raw("thinkingLevel", &json::text(now.thinking_level.as_ref()));
        return events::print(ctx, out);
    }
    let level = now.thinking_level.as_ref().map(ToString::to_string);
    let level = level.unwrap_or_else(|| "as the model likes".to_owned());
    ctx.out.done(format!("model {}, thinking: {level}", model_name(now)));
    ctx.out.done(format!("providers: {}", providers.join(", ")));
    Ok(())
}
