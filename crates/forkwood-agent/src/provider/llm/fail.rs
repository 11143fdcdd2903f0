//! Errors of `genai`, as this crate tells them.

use std::time::Duration;

use genai::Error;
use genai::webc::Error as WebError;
use serde_json::Value;

use super::super::{ProviderError, ProviderErrorKind};

/// The longest message that is kept.
const LIMIT: usize = 2000;

pub(super) fn convert(error: &Error) -> ProviderError {
    let kind =
        |kind, what: &dyn std::fmt::Display| ProviderError::new(kind, short(&what.to_string()));
    let mut converted = match error {
        Error::HttpError { status, body, .. } => answered(Some(status.as_u16()), body),
        Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => {
            match webc_error {
                WebError::ResponseFailedStatus { status, body, .. } => {
                    answered(Some(status.as_u16()), body)
                }
                WebError::Reqwest(error) => transport(error),
                other => kind(ProviderErrorKind::Protocol, other),
            }
        }
        Error::WebStream { error, cause, .. } => {
            if let Some(inner) = error.downcast_ref::<Error>() {
                return convert(inner);
            }
            match error.downcast_ref::<reqwest::Error>() {
                Some(error) => transport(error),
                None => kind(ProviderErrorKind::Transport, cause),
            }
        }
        Error::ChatResponse { body, .. } => answered(None, &body.to_string()),
        Error::RequiresApiKey { .. } | Error::NoAuthResolver { .. } | Error::NoAuthData { .. } => {
            kind(ProviderErrorKind::Auth, error)
        }
        Error::StreamParse { serde_error, .. } => kind(ProviderErrorKind::Protocol, serde_error),
        // This one holds the whole request.
        Error::ChatResponseGeneration { cause, .. } => kind(ProviderErrorKind::Protocol, cause),
        Error::Resolver { .. }
        | Error::AdapterNotSupported { .. }
        | Error::MessageContentTypeNotSupported { .. }
        | Error::MessageRoleNotSupported { .. }
        | Error::ChatReqHasNoMessages { .. } => kind(ProviderErrorKind::Invalid, error),
        other => kind(ProviderErrorKind::Protocol, other),
    };
    converted.retry_after = retry_after(error);
    converted
}

fn transport(error: &reqwest::Error) -> ProviderError {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    ProviderError::new(ProviderErrorKind::Transport, short(&text))
}

/// An error that the service itself told.
fn answered(status: Option<u16>, body: &str) -> ProviderError {
    let json: Option<Value> = serde_json::from_str(body).ok();
    let error = json.as_ref().map(|json| json.get("error").unwrap_or(json));
    let field = |key: &str| error?.get(key)?.as_str().map(str::to_owned);
    let message = field("message").or_else(|| error?.as_str().map(str::to_owned));
    let code = field("code").or(field("type")).or(field("status"));
    let words = [code.as_deref(), message.as_deref()];
    let said: Vec<&str> = words.into_iter().flatten().collect();
    let whole = ProviderErrorKind::from_answer(status, body);
    let kind = match said.is_empty() {
        true => whole,
        // What stands between the caller and a service wraps its words in others of its own.
        false if whole == ProviderErrorKind::Overflow => whole,
        false => ProviderErrorKind::from_answer(status, &said.join(": ")),
    };
    let text = match said.is_empty() {
        true => short(body),
        false => short(&said.join(": ")),
    };
    let text = match status {
        Some(status) => format!("HTTP {status}: {text}"),
        None => text,
    };
    ProviderError::new(kind, text)
}

fn retry_after(error: &Error) -> Option<Duration> {
    if let Error::WebStream { error, .. } = error {
        return retry_after(error.downcast_ref::<Error>()?);
    }
    let headers = error.headers()?;
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms").map(|ms| ms / 1000.0).or(number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn short(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
