//! Anthropic's messages.

use forkwood_core::Text;
use forkwood_core::json::{ObjectWriter, join_array};

use super::clean::{arguments, name, schema, string};
use super::conversation::{Answer, LONGEST_NAME, Part, Said, Step, steps};
use super::{Api, ProviderInput, RequestOptions};

/// The most tokens of an answer where nothing is said; a number is demanded.
const MAX_TOKENS: u32 = 8_192;

/// The least that a model may be told to think.
const LEAST_THINKING: u32 = 1_024;

const CACHE: &str = r#"{"type":"ephemeral"}"#;

pub(super) fn body(input: &ProviderInput, options: &RequestOptions) -> String {
    let steps = steps(input, &input.target(Api::Anthropic));
    let (system, steps) = split(input, steps);
    let mut out = ObjectWriter::new();
    out.raw("model", &string(input.model.as_ref().unwrap_or(&Text::default())));
    if options.stream {
        out.raw("stream", "true");
    }
    if !input.tools.is_empty() {
        out.array(
            "tools",
            input.tools.iter().map(|tool| {
                let mut out = ObjectWriter::new();
                out.str("name", &name(&tool.name, LONGEST_NAME))
                    .raw("description", &string(&tool.description))
                    .raw("input_schema", &schema(&tool.schema));
                out.finish()
            }),
        );
    }
    if !system.is_empty() {
        out.array("system", [text_block(&system, options.cache)]);
    }
    out.array("messages", list(&steps, options.cache));
    // Behind the messages, since they hang on how the conversation ends.
    let asked = options.max_tokens.unwrap_or(MAX_TOKENS).max(1);
    let thinking = input.level().filter(|_| may_think(&steps)).map(thinking_tokens);
    // What it thinks counts as part of the answer.
    let most = thinking.map_or(asked, |tokens| asked.saturating_add(tokens));
    out.raw("max_tokens", &most.to_string());
    if let Some(tokens) = thinking {
        let mut thinking = ObjectWriter::new();
        thinking.str("type", "enabled").raw("budget_tokens", &tokens.to_string());
        out.raw("thinking", &thinking.finish());
    }
    out.finish()
}

pub(super) fn messages(input: &ProviderInput, cache: bool) -> String {
    let (_, steps) = split(input, steps(input, &input.target(Api::Anthropic)));
    join_array(list(&steps, cache))
}

/// The system prompt, with what the conversation starts with of its kind.
fn split(input: &ProviderInput, mut steps: Vec<Step>) -> (Text, Vec<Step>) {
    let leading = steps.iter().take_while(|step| matches!(step, Step::System(_))).count();
    let mut texts = vec![input.system.to_string_lossy().into_owned()];
    for step in steps.drain(..leading) {
        if let Step::System(text) = step {
            texts.push(text.to_string_lossy().into_owned());
        }
    }
    texts.retain(|text| !text.trim().is_empty());
    (texts.join("\n\n").into(), steps)
}

/// Whether the model may be asked to think: not while it works on tools and the thinking that
/// led to them is gone, as after a switch from another model.
fn may_think(steps: &[Step]) -> bool {
    match steps.last() {
        Some(Step::Assistant(said, answers)) if !answers.is_empty() => {
            matches!(said.first(), Some(Said::Thinking(..)))
        }
        _ => true,
    }
}

/// How many tokens a level means.
fn thinking_tokens(level: &str) -> u32 {
    match level {
        "minimal" => LEAST_THINKING,
        "low" => 4_096,
        "high" => 16_384,
        "xhigh" | "max" => 32_768,
        number => number.parse().unwrap_or(8_192).clamp(LEAST_THINKING, 128_000),
    }
}

fn list(steps: &[Step], cache: bool) -> Vec<String> {
    let mut out = Vec::new();
    // The first message must be the person's.
    if !matches!(steps.first(), None | Some(Step::User(_) | Step::System(_))) {
        out.push(message("user", [text_block(&NO_START.into(), false)]));
    }
    for (at, step) in steps.iter().enumerate() {
        let mark = cache && at + 1 == steps.len();
        match step {
            // Only the first instructions have a place of their own.
            Step::System(text) => {
                let text = format!("<system>\n{text}\n</system>").into();
                out.push(message("user", [text_block(&text, mark)]));
            }
            Step::User(parts) => out.push(message("user", marked(parts, mark))),
            Step::Assistant(said, answers) => {
                let mark_said = mark && answers.is_empty();
                let last = said.len().saturating_sub(1);
                let blocks = said
                    .iter()
                    .enumerate()
                    .map(|(at, said)| said_block(said, mark_said && at == last));
                out.push(message("assistant", blocks));
                if !answers.is_empty() {
                    let last = answers.len() - 1;
                    let results = answers.iter().enumerate();
                    let results = results.map(|(at, answer)| result(answer, mark && at == last));
                    out.push(message("user", results));
                }
            }
        }
    }
    if out.is_empty() {
        out.push(message("user", [text_block(&NO_START.into(), false)]));
    }
    out
}

/// What stands for a person's first message where there is none.
const NO_START: &str = "(The start of the conversation is not shown.)";

fn message(role: &str, blocks: impl IntoIterator<Item = String>) -> String {
    let mut out = ObjectWriter::new();
    out.str("role", role).array("content", blocks);
    out.finish()
}

fn text_block(text: &Text, cache: bool) -> String {
    let mut out = ObjectWriter::new();
    out.str("type", "text").raw("text", &string(text));
    close(out, cache)
}

fn close(mut out: ObjectWriter, cache: bool) -> String {
    if cache {
        out.raw("cache_control", CACHE);
    }
    out.finish()
}

fn marked(parts: &[Part], cache: bool) -> impl Iterator<Item = String> {
    let last = parts.len().saturating_sub(1);
    parts.iter().enumerate().map(move |(at, part)| part_block(part, cache && at == last))
}

fn part_block(part: &Part, cache: bool) -> String {
    match part {
        Part::Text(text) => text_block(text, cache),
        Part::Image(mime, data) => {
            let mut source = ObjectWriter::new();
            source.str("type", "base64").str("media_type", mime).str("data", data);
            let mut out = ObjectWriter::new();
            out.str("type", "image").raw("source", &source.finish());
            close(out, cache)
        }
    }
}

fn said_block(said: &Said, cache: bool) -> String {
    let mut out = ObjectWriter::new();
    match said {
        // Blanks at the end of the conversation are refused.
        Said::Text(text) => {
            return text_block(&text.to_string_lossy().trim_end().into(), cache);
        }
        // Thinking takes no mark.
        Said::Thinking(Some(text), signature) => {
            out.str("type", "thinking")
                .raw("thinking", &string(text))
                .raw("signature", &string(signature));
            return out.finish();
        }
        Said::Thinking(None, data) => {
            out.str("type", "redacted_thinking").raw("data", &string(data));
            return out.finish();
        }
        Said::Call { id, name, arguments: given } => {
            out.str("type", "tool_use")
                .str("id", id)
                .str("name", name)
                .raw("input", &arguments(given));
        }
    }
    close(out, cache)
}

fn result(answer: &Answer, cache: bool) -> String {
    let mut out = ObjectWriter::new();
    out.str("type", "tool_result").str("tool_use_id", &answer.id);
    match answer.parts.as_slice() {
        // An error without a word is refused.
        [] if answer.is_error => out.str("content", "The tool failed and said nothing."),
        [] => out.str("content", ""),
        [Part::Text(text)] => out.raw("content", &string(text)),
        parts => out.array("content", marked(parts, false)),
    };
    if answer.is_error {
        out.raw("is_error", "true");
    }
    close(out, cache)
}
