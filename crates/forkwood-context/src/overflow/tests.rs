use super::{Fault, is_overflow, is_silent_overflow};

#[test]
fn wordings() {
    for text in [
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
        "prompt is too long: 213462 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        "Please reduce the length of the messages or completion.",
        "the request exceeds the available context size, try increasing it",
        "tokens to keep from the initial prompt is greater than the context length",
        "Input is too long for requested model.",
        "prompt token count of 128001 exceeds the limit of 128000",
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)",
        "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
        "Error code: 400 - {'error': {'code': 'context_length_exceeded'}}",
        "too many tokens in the prompt",
        "400 prompt too long; exceeded max context length by 12 tokens",
        "string_above_max_length: Invalid 'messages[1].content': string too long.",
        "tokens_limit_reached: Request body too large for gpt-4o model. Max size: 8000 tokens.",
    ] {
        assert!(is_overflow(text), "{text}");
        assert!(Fault::text(text).is_overflow(), "{text}");
    }
    for text in [
        "",
        "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 28000",
        "ThrottlingException: Too many tokens, please wait before trying again.",
        "You exceeded your current quota, please check your plan and billing details.",
        "Overloaded",
        "invalid x-api-key",
        "The server had an error while processing your request.",
        "connection reset by peer",
    ] {
        assert!(!is_overflow(text), "{text}");
    }
}

#[test]
fn typed() {
    let fault = |status, code: &str, message: &str| Fault {
        status,
        code: Some(code.into()),
        message: message.into(),
    };
    assert!(fault(Some(400), "context_length_exceeded", "").is_overflow());
    assert!(fault(Some(413), "", "").is_overflow());
    assert!(fault(None, "request_too_large", "Request exceeds the maximum size").is_overflow());
    assert!(fault(Some(400), "invalid_request_error", "prompt is too long").is_overflow());
    assert!(!fault(Some(429), "rate_limit_exceeded", "too many tokens").is_overflow());
    assert!(!fault(Some(429), "", "context length").is_overflow());
    assert!(!fault(Some(401), "authentication_error", "no").is_overflow());
}

#[test]
fn silent() {
    assert!(is_silent_overflow(130_000, 10, 128_000, false));
    assert!(is_silent_overflow(127_900, 0, 128_000, true));
    assert!(!is_silent_overflow(100_000, 0, 128_000, true));
    assert!(!is_silent_overflow(127_900, 5, 128_000, true));
}
