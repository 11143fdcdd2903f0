//! From arguments, the session and the environment to a model that can be asked.

use std::path::PathBuf;
use std::sync::Arc;

use forkwood::{ErrorKind, Settings};
use forkwood_agent::{
    AgentError, LlmProvider, Prices, Provider, ProviderErrorKind, Providers, Reach, Rule,
    ScriptedProvider, Service,
};

use crate::error::{CliError, Result};

/// The provider that needs neither key nor network, and its model.
pub(crate) const SCRIPTED: &str = "scripted";

/// Which model, where the session names none or another one is wanted.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// Who runs the model: scripted (no key), openai, openai-responses, anthropic, gemini,
    /// deepseek, ollama; or any name, with --base-url, for what speaks like OpenAI. The key is
    /// in the environment: $OPENAI_API_KEY, $ANTHROPIC_API_KEY and so on
    #[arg(long, value_name = "NAME")]
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) provider: Option<String>,

    /// The model, as its provider names it
    #[arg(long, value_name = "MODEL")]
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) model: Option<String>,

    /// Where the provider is, if not at its usual place, such as http://localhost:8080/v1
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,

    /// What models cost, so that it is written down with their tokens: a file in TOML with
    /// [models."NAME"] and, in US dollars for a million tokens, input, output, cache_read and
    /// cache_write [default: $XDG_CONFIG_HOME/forkwood/prices.toml, where it is there]
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,
}

/// A model, and who runs it.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    /// The one chosen, first, and the others that the environment has keys for.
    pub(crate) providers: Providers,
    /// The name of the one chosen.
    pub(crate) provider: String,
    /// The model.
    pub(crate) model: String,
    /// What models cost, as the person says.
    pub(crate) prices: Arc<Prices>,
}

impl ModelArgs {
    /// The model that the arguments name, or else the settings of the session.
    pub(crate) fn choose(&self, settings: &Settings) -> Result<Chosen> {
        let plain = |text: &forkwood::Text| text.to_string_lossy().into_owned();
        let of_session = settings.provider.as_ref().map(plain);
        let openai = self.base_url.as_ref().map(|_| Service::OpenAi.as_str().to_owned());
        let name = self.provider.clone().or_else(|| of_session.clone()).or(openai);
        let Some(name) = name else {
            return Err(CliError::usage("no model is chosen, and the session names none")
                .hint("--provider scripted works without a key; see --provider in `--help`"));
        };
        let same = of_session.as_ref() == Some(&name) || of_session.is_none();
        let model = self.model.clone();
        let model = model.or_else(|| settings.model.as_ref().filter(|_| same).map(plain));
        let model = model.or_else(|| (name == SCRIPTED).then(|| SCRIPTED.to_owned()));
        let Some(model) = model else {
            let message = format!("which model of {name}? The session names none");
            return Err(CliError::usage(message).hint("name one with --model"));
        };
        let mut providers = Providers::default();
        providers.add(self.provider(&name)?);
        for other in Service::ALL {
            let has_key = environment(other.key_variable()).is_some();
            if has_key && other.as_str() != name {
                providers.add(service(*other, other.as_str(), None)?);
            }
        }
        if name != SCRIPTED {
            providers.add(scripted());
        }
        let prices = crate::prices::load(self.prices.as_deref())?;
        Ok(Chosen { providers, provider: name, model, prices })
    }

    fn provider(&self, name: &str) -> Result<Arc<dyn Provider>> {
        let base_url = self.base_url.as_deref();
        // Pi's name for it.
        let known = if name == "google" { "gemini" } else { name };
        match (Service::from_name(known), base_url) {
            (None, _) if name == SCRIPTED => Ok(scripted()),
            (Some(kind), _) => service(kind, name, base_url),
            (None, Some(_)) => service(Service::OpenAi, name, base_url),
            (None, None) => {
                let names: Vec<&str> = Service::ALL.iter().map(|it| it.as_str()).collect();
                let message = format!("provider {name:?} is not known here");
                Err(CliError::usage(message).hint(format!(
                    "known are {SCRIPTED}, {}; any other needs --base-url",
                    names.join(", ")
                )))
            }
        }
    }
}

/// A service at its usual place or another, with its key from the environment.
fn service(service: Service, name: &str, base_url: Option<&str>) -> Result<Arc<dyn Provider>> {
    let base_url = base_url.map(str::to_owned).or_else(|| environment(service.url_variable()));
    let reach = Reach {
        name: Some(name.to_owned()),
        key: environment(service.key_variable()),
        base_url: base_url.map(|url| with_version(service, url)),
        proxy_from_env: true,
        ..Reach::default()
    };
    let provider = LlmProvider::new(service, reach).map_err(AgentError::from)?;
    Ok(Arc::new(provider))
}

/// Anthropic's own tools take the address without the version, so people give it so.
fn with_version(service: Service, url: String) -> String {
    let host = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
    match service == Service::Anthropic && !host.trim_end_matches('/').contains('/') {
        true => format!("{}/v1", url.trim_end_matches('/')),
        false => url,
    }
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Says what it is told, and calls the tools that it is told to call.
fn scripted() -> Arc<dyn Provider> {
    // A summary that repeats the conversation would be none.
    let summary = Rule::when(|request| {
        let system = forkwood_context::compaction::PromptStyle::default().system();
        request.input.system == *system
    })
    .says("A summary by the scripted provider, which cannot read: earlier messages stood here.");
    Arc::new(ScriptedProvider::named(SCRIPTED, [summary]).forgetful())
}

impl From<AgentError> for CliError {
    fn from(error: AgentError) -> CliError {
        let message = error.to_string();
        match error {
            AgentError::Storage(error) => error.into(),
            AgentError::Moved { source, .. } => {
                let told = CliError { message, ..(*source).into() };
                told.hint("`forkwood lanes` and `forkwood tree` show where that is")
            }
            AgentError::Compaction(error) => error.into(),
            AgentError::Provider(error) => {
                let told = CliError {
                    kind: error.kind.as_str(),
                    retryable: error.kind.is_retryable(),
                    ..CliError::new(ErrorKind::Io, format!("the provider failed: {message}"))
                };
                match error.kind {
                    ProviderErrorKind::Auth => told.hint(
                        "the key is taken from the environment: $OPENAI_API_KEY, \
                         $ANTHROPIC_API_KEY and so on",
                    ),
                    ProviderErrorKind::Transport => told.hint("is --base-url right?"),
                    _ => told,
                }
            }
            AgentError::NoModel | AgentError::UnknownProvider { .. } => {
                CliError::usage(message).hint("choose one with --provider and --model")
            }
            other => CliError {
                kind: other.kind().as_str(),
                ..CliError::new(ErrorKind::Invalid, message)
            },
        }
    }
}
