//! Whether a provider's error says that the request was too long for the model.

/// A provider's error, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// The HTTP status.
    pub status: Option<u16>,
    /// The typed kind, such as `context_length_exceeded`; OpenAI's `code` or `type`,
    /// Anthropic's `error.type`, Gemini's `status`.
    pub code: Option<String>,
    /// The message.
    pub message: String,
}

/// Typed kinds that mean an overflow and nothing else, lower case.
const CODES: &[&str] = &[
    "context_length_exceeded",
    "context_window_exceeded",
    "model_context_window_exceeded",
    "exceed_context_size_error",
    "request_too_large",
    "string_above_max_length",
    "input_too_long",
    "prompt_too_long",
    "tokens_limit_reached",
];

/// Words of messages that mean an overflow, lower case, by the providers that are known.
const MARKERS: &[&str] = &[
    // Words of the reference (Tau, Pi), and of OpenAI and what speaks like it.
    "context length",
    "context_length",
    "prompt is too long",
    "prompt too long",
    "too many tokens",
    "context window",
    "context_window",
    "reduce the length of the messages",
    "reduce the length of the input",
    "reduce the length of your prompt",
    "reduce your prompt",
    // Anthropic, and it behind Amazon Bedrock.
    "input length and `max_tokens` exceed context limit",
    "exceed context limit",
    "input is too long",
    "request_too_large",
    "request exceeds the maximum size",
    // Google.
    "input token count",
    "exceeds the maximum number of tokens",
    // xAI, Groq, Mistral, GitHub, Moonshot.
    "maximum prompt length",
    "prompt length exceeds",
    "too large for model with",
    "exceeds the limit of",
    "exceeded model token limit",
    "token limit exceeded",
    "exceeds the model's maximum",
    // llama.cpp, LM Studio, Ollama, vLLM.
    "context size",
    "exceeds context",
    "exceeded max context",
    "longer than the maximum model length",
    "exceeds max_model_len",
];

/// Words that mean a limit on time or money, where one of the above may stand as well.
const OTHER_LIMITS: &[&str] = &[
    "rate limit",
    "rate_limit",
    "ratelimit",
    "per minute",
    "per min)",
    "per min.",
    "(tpm)",
    "per day",
    "per hour",
    "per second",
    "throttl",
    "please wait",
    "quota",
    "billing",
    "insufficient",
    "overloaded",
];

/// Whether the text of an error says that the request was too long, in words or by a typed kind.
///
/// ```
/// assert!(forkwood_context::is_overflow("prompt is too long: 213462 tokens > 200000 maximum"));
/// assert!(!forkwood_context::is_overflow("Too many tokens, please wait before trying again."));
/// ```
pub fn is_overflow(message: &str) -> bool {
    let message = message.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    (says(MARKERS) || says(CODES)) && !says(OTHER_LIMITS)
}

impl Fault {
    /// An error of which only the text is known.
    pub fn text(message: impl Into<String>) -> Fault {
        Fault { message: message.into(), ..Fault::default() }
    }

    /// Whether the request was too long. The typed kind decides where it says so; the status
    /// 413 does; else the words of the message, unless the status is that of a rate limit.
    pub fn is_overflow(&self) -> bool {
        let code = self.code.as_deref().unwrap_or_default().to_ascii_lowercase();
        if CODES.contains(&code.as_str()) || self.status == Some(413) {
            return true;
        }
        let rate = self.status == Some(429)
            || matches!(
                code.as_str(),
                "rate_limit_exceeded" | "rate_limit_error" | "resource_exhausted"
            );
        !rate && is_overflow(&self.message)
    }
}

/// Whether a provider cut the request without an error: it counted more tokens than the
/// model's window holds, or stopped for length without a word.
pub fn is_silent_overflow(
    prompt_tokens: u64,
    output_tokens: u64,
    window: u64,
    length: bool,
) -> bool {
    prompt_tokens > window
        || (length && output_tokens == 0 && prompt_tokens.saturating_mul(100) >= window * 99)
}

#[cfg(test)]
mod tests;
