//! Real services, through the crate `genai`.

mod convert;
mod fail;
mod receive;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use genai::adapter::AdapterKind;
use genai::chat::{CacheControl, ChatOptions, ReasoningEffort};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};

use super::{EventStream, Provider, ProviderError, ProviderErrorKind, Request};

/// A service, by the protocol that it speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    /// `OpenAI`'s chat completions, and whatever speaks like it.
    OpenAi,
    /// `OpenAI`'s responses.
    OpenAiResponses,
    /// Anthropic.
    Anthropic,
    /// Google.
    Gemini,
    /// `DeepSeek`.
    DeepSeek,
    /// Ollama, which needs no key.
    Ollama,
}

impl Service {
    /// Every service.
    pub const ALL: &'static [Service] = &[
        Service::OpenAi,
        Service::OpenAiResponses,
        Service::Anthropic,
        Service::Gemini,
        Service::DeepSeek,
        Service::Ollama,
    ];

    /// The name by which a session knows it.
    pub fn as_str(self) -> &'static str {
        match self {
            Service::OpenAi => "openai",
            Service::OpenAiResponses => "openai-responses",
            Service::Anthropic => "anthropic",
            Service::Gemini => "gemini",
            Service::DeepSeek => "deepseek",
            Service::Ollama => "ollama",
        }
    }

    /// The service of a name.
    pub fn from_name(name: &str) -> Option<Service> {
        Service::ALL.iter().copied().find(|service| service.as_str() == name)
    }

    /// The variable that holds its key.
    pub fn key_variable(self) -> &'static str {
        match self {
            Service::OpenAi | Service::OpenAiResponses => "OPENAI_API_KEY",
            Service::Anthropic => "ANTHROPIC_API_KEY",
            Service::Gemini => "GEMINI_API_KEY",
            Service::DeepSeek => "DEEPSEEK_API_KEY",
            Service::Ollama => "OLLAMA_API_KEY",
        }
    }

    /// The variable that holds its base URL, where it is not the usual one.
    pub fn url_variable(self) -> &'static str {
        match self {
            Service::OpenAi | Service::OpenAiResponses => "OPENAI_BASE_URL",
            Service::Anthropic => "ANTHROPIC_BASE_URL",
            Service::Gemini => "GEMINI_BASE_URL",
            Service::DeepSeek => "DEEPSEEK_BASE_URL",
            Service::Ollama => "OLLAMA_BASE_URL",
        }
    }

    fn adapter(self) -> AdapterKind {
        match self {
            Service::OpenAi => AdapterKind::OpenAI,
            Service::OpenAiResponses => AdapterKind::OpenAIResp,
            Service::Anthropic => AdapterKind::Anthropic,
            Service::Gemini => AdapterKind::Gemini,
            Service::DeepSeek => AdapterKind::DeepSeek,
            Service::Ollama => AdapterKind::Ollama,
        }
    }

    fn needs_key(self) -> bool {
        self != Service::Ollama
    }
}

/// How to reach a service.
#[derive(Clone, PartialEq, Eq)]
pub struct Reach {
    /// The name of the provider in sessions; that of the service where absent.
    pub name: Option<String>,
    /// The key.
    pub key: Option<String>,
    /// Where, if not at the usual place, such as `http://localhost:8080/v1`.
    pub base_url: Option<String>,
    /// How long to wait for a connection.
    pub connect: Duration,
    /// How long to wait for the next bytes of an answer.
    pub idle: Duration,
    /// Whether proxies of the environment are used.
    pub proxy_from_env: bool,
}

impl Default for Reach {
    fn default() -> Reach {
        Reach {
            name: None,
            key: None,
            base_url: None,
            connect: Duration::from_secs(30),
            idle: Duration::from_secs(300),
            proxy_from_env: false,
        }
    }
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reach")
            .field("name", &self.name)
            .field("base_url", &self.base_url)
            .finish_non_exhaustive()
    }
}

/// A provider over a real service.
#[derive(Clone)]
pub struct LlmProvider {
    service: Service,
    name: String,
    client: Client,
    idle: Duration,
}

impl fmt::Debug for LlmProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlmProvider")
            .field("service", &self.service)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl LlmProvider {
    /// A provider.
    ///
    /// # Errors
    /// `auth` where a key is needed and there is none; `invalid` where the base URL is none.
    pub fn new(service: Service, reach: Reach) -> Result<LlmProvider, ProviderError> {
        let Reach { name, key, base_url, connect, idle, proxy_from_env } = reach;
        let invalid = |what: String| ProviderError::new(ProviderErrorKind::Invalid, what);
        if key.is_none() && base_url.is_none() && service.needs_key() {
            return Err(ProviderError::new(
                ProviderErrorKind::Auth,
                format!("{} needs a key: set {}", service.as_str(), service.key_variable()),
            ));
        }
        let base_url = match base_url {
            Some(url) => {
                let parsed = reqwest::Url::parse(&url)
                    .map_err(|error| invalid(format!("base URL {url:?}: {error}")))?;
                if !matches!(parsed.scheme(), "http" | "https") {
                    return Err(invalid(format!("base URL {url:?}: neither http nor https")));
                }
                Some(format!("{}/", url.trim_end_matches('/')))
            }
            None => None,
        };
        #[cfg(not(windows))]
        {
            // Fails where the program chose one before: then that one serves.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let mut http = reqwest::Client::builder().connect_timeout(connect);
        if !proxy_from_env {
            http = http.no_proxy();
        }
        let http = http.build().map_err(|error| invalid(error.to_string()))?;
        // A server at a place of one's own may ask for no key.
        let key = key.unwrap_or_else(|| "none".to_owned());
        let client = Client::builder()
            .with_reqwest(http)
            .with_service_target_resolver_fn(move |mut target: ServiceTarget| {
                if let Some(url) = &base_url {
                    target.endpoint = Endpoint::from_owned(url.as_str());
                }
                target.auth = AuthData::from_single(key.as_str());
                Ok(target)
            })
            .build()
            .map_err(|error| invalid(error.to_string()))?;
        let name = name.unwrap_or_else(|| service.as_str().to_owned());
        Ok(LlmProvider { service, name, client, idle })
    }

    /// A provider whose key, base URL and proxies are in the environment.
    ///
    /// # Errors
    /// Those of [`LlmProvider::new`].
    pub fn from_env(service: Service) -> Result<LlmProvider, ProviderError> {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        LlmProvider::new(
            service,
            Reach {
                key: variable(service.key_variable()),
                base_url: variable(service.url_variable()),
                proxy_from_env: true,
                ..Reach::default()
            },
        )
    }

    fn options(&self, request: &Request) -> ChatOptions {
        let mut options = ChatOptions::default()
            .with_capture_usage(true)
            .with_capture_content(true)
            .with_capture_reasoning_content(true)
            .with_capture_tool_calls(true)
            .with_stream_header_timeout(self.idle)
            .with_stream_read_timeout(self.idle);
        if let Some(tokens) = request.max_tokens {
            options = options.with_max_tokens(tokens);
        }
        if let Some(effort) =
            request.input.thinking_level.as_ref().and_then(|l| effort(l.as_str()?))
        {
            options = options.with_reasoning_effort(effort);
        }
        if self.service == Service::Anthropic {
            options = options.with_cache_control(CacheControl::Ephemeral);
        }
        options
    }
}

fn effort(level: &str) -> Option<ReasoningEffort> {
    Some(match level {
        "zero" => ReasoningEffort::Zero,
        "minimal" => ReasoningEffort::Minimal,
        "low" => ReasoningEffort::Low,
        "medium" => ReasoningEffort::Medium,
        "high" => ReasoningEffort::High,
        "xhigh" => ReasoningEffort::XHigh,
        "max" => ReasoningEffort::Max,
        // `off`: most models know no such word, and do not think unless asked.
        budget => ReasoningEffort::Budget(budget.parse().ok()?),
    })
}

#[async_trait]
impl Provider for LlmProvider {
    fn name(&self) -> &str {
        &self.name
    }

    async fn stream(&self, request: Request) -> Result<EventStream, ProviderError> {
        let options = self.options(&request);
        let model = ModelIden::new(self.service.adapter(), request.model());
        let chat = convert::request(self.service, &self.name, &request);
        let answer = self
            .client
            .exec_chat_stream(model, chat, Some(&options))
            .await
            .map_err(|error| fail::convert(&error))?;
        Ok(receive::events(self.service, answer.stream))
    }
}
