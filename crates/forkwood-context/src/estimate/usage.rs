//! Tokens that a provider reported, whichever way it says so.

use forkwood_core::Json;
use forkwood_core::json::{JsonKind, ObjectWriter, kind_of};

/// The tokens of the prompt, cached ones included: OpenAI's and Gemini's counts include them,
/// Anthropic's and Pi's do not.
pub fn prompt_tokens(usage: &Json) -> Option<u64> {
    let object = usage.as_object()?;
    let number = |key: &str| object.get(key).and_then(whole);
    let first = |keys: &[&str]| keys.iter().find_map(|key| number(key));
    if let Some(all) = first(&["prompt_tokens", "promptTokens", "promptTokenCount"]) {
        return Some(all);
    }
    let fresh = first(&["input", "input_tokens", "inputTokens"])?;
    // OpenAI's responses count the cached tokens in, and name them apart.
    if object.get("input_tokens_details").is_some() {
        return Some(fresh);
    }
    let read = first(&["cacheRead", "cache_read_input_tokens", "cache_read", "cacheReadTokens"]);
    let write =
        first(&["cacheWrite", "cache_creation_input_tokens", "cache_write", "cacheWriteTokens"]);
    Some(fresh.saturating_add(read.unwrap_or(0)).saturating_add(write.unwrap_or(0)))
}

/// The tokens of the answer.
pub fn output_tokens(usage: &Json) -> Option<u64> {
    let object = usage.as_object()?;
    ["output", "output_tokens", "outputTokens", "completion_tokens", "candidatesTokenCount"]
        .iter()
        .find_map(|key| object.get(key).and_then(whole))
}

/// The sum of two reports of one shape: numbers are added, also those of an object in it, such
/// as the cost. What only one of them has is kept.
pub fn add_usage(first: Option<Json>, second: Option<Json>) -> Option<Json> {
    match (first, second) {
        (Some(first), Some(second)) => Some(sum(&first, &second)),
        (one, None) | (None, one) => one,
    }
}

fn sum(first: &Json, second: &Json) -> Json {
    let add = |a: &str, b: &str| match (kind_of(a), kind_of(b)) {
        (JsonKind::Object, JsonKind::Object) => {
            sum_fields(a, b, |a, b| add_numbers(a, b).unwrap_or_else(|| a.to_owned()))
        }
        _ => add_numbers(a, b).unwrap_or_else(|| a.to_owned()),
    };
    Json::parse(&sum_fields(first.get(), second.get(), add)).unwrap_or_else(|_| first.clone())
}

fn sum_fields(first: &str, second: &str, add: impl Fn(&str, &str) -> String) -> String {
    let (Ok(a), Ok(b)) =
        (forkwood_core::json::Object::parse(first), forkwood_core::json::Object::parse(second))
    else {
        return first.to_owned();
    };
    let mut out = ObjectWriter::new();
    for (key, value) in a.iter() {
        let other = key.as_str().and_then(|key| b.get(key));
        match other {
            Some(other) => out.text_key(key, &add(value.get(), other)),
            None => out.text_key(key, value.get()),
        };
    }
    for (key, value) in b.iter() {
        if key.as_str().is_none_or(|key| a.get(key).is_none()) {
            out.text_key(key, value.get());
        }
    }
    out.finish()
}

fn add_numbers(a: &str, b: &str) -> Option<String> {
    if let (Ok(a), Ok(b)) = (a.parse::<u64>(), b.parse::<u64>()) {
        return Some(a.saturating_add(b).to_string());
    }
    let (a, b) = (a.parse::<f64>().ok()?, b.parse::<f64>().ok()?);
    Json::from_value(&(a + b)).ok().map(|json| json.get().to_owned())
}

fn whole(json: &str) -> Option<u64> {
    json.parse::<u64>().ok().or_else(|| {
        json.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0).map(|n| n as u64)
    })
}
