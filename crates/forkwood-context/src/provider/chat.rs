//! OpenAI's chat completions.

use forkwood_core::Text;
use forkwood_core::json::{ObjectWriter, join_array};

use super::clean::{arguments, name, schema, string};
use super::conversation::{Answer, LONGEST_NAME, Part, Said, Step, steps};
use super::{Api, ProviderInput, RequestOptions};

pub(super) fn body(input: &ProviderInput, options: &RequestOptions) -> String {
    let mut out = ObjectWriter::new();
    out.raw("model", &string(input.model.as_ref().unwrap_or(&Text::default())));
    if let Some(most) = options.max_tokens {
        // OpenAI's own name for it is not known everywhere else.
        let own = input.provider.as_ref().is_none_or(|provider| *provider == "openai");
        let key = if own { "max_completion_tokens" } else { "max_tokens" };
        out.raw(key, &most.to_string());
    }
    if options.stream {
        out.raw("stream", "true").raw("stream_options", r#"{"include_usage":true}"#);
    }
    if let Some(level) = input.level() {
        out.str("reasoning_effort", level);
    }
    if !input.tools.is_empty() {
        let tools = input.tools.iter().map(|tool| {
            let mut function = ObjectWriter::new();
            function
                .str("name", &name(&tool.name, LONGEST_NAME))
                .raw("description", &string(&tool.description))
                .raw("parameters", &schema(&tool.schema));
            let mut out = ObjectWriter::new();
            out.str("type", "function").raw("function", &function.finish());
            out.finish()
        });
        out.array("tools", tools);
    }
    let mut items = Vec::new();
    if !input.system.is_empty() {
        items.push(message("system", &string(&input.system)));
    }
    items.extend(list(input));
    out.array("messages", items);
    out.finish()
}

pub(super) fn messages(input: &ProviderInput) -> String {
    join_array(list(input))
}

fn list(input: &ProviderInput) -> Vec<String> {
    let mut out = Vec::new();
    for step in steps(input, &input.target(Api::OpenAiChat)) {
        match step {
            Step::System(text) => out.push(message("system", &string(&text))),
            Step::User(parts) => out.push(message("user", &content(&parts))),
            Step::Assistant(said, answers) => {
                out.push(assistant(&said));
                out.extend(answers.iter().map(tool));
                // A tool's message holds text alone: its images follow as the person's.
                let images: Vec<&Part> = answers
                    .iter()
                    .flat_map(|answer| &answer.parts)
                    .filter(|part| matches!(part, Part::Image(..)))
                    .collect();
                if !images.is_empty() {
                    let note = text_part(&"Images of the tool results above:".into());
                    let images = images.into_iter().map(part);
                    out.push(message("user", &join_array(std::iter::once(note).chain(images))));
                }
            }
        }
    }
    out
}

fn message(role: &str, content: &str) -> String {
    let mut out = ObjectWriter::new();
    out.str("role", role).raw("content", content);
    out.finish()
}

/// One text stands as a string, anything else as parts.
fn content(parts: &[Part]) -> String {
    match parts {
        [Part::Text(text)] => string(text),
        parts => join_array(parts.iter().map(part)),
    }
}

fn text_part(text: &Text) -> String {
    let mut out = ObjectWriter::new();
    out.str("type", "text").raw("text", &string(text));
    out.finish()
}

fn part(part: &Part) -> String {
    match part {
        Part::Text(text) => text_part(text),
        Part::Image(mime, data) => {
            let mut url = ObjectWriter::new();
            url.str("url", &format!("data:{mime};base64,{data}"));
            let mut out = ObjectWriter::new();
            out.str("type", "image_url").raw("image_url", &url.finish());
            out.finish()
        }
    }
}

fn assistant(said: &[Said]) -> String {
    let (mut text, mut calls, mut thoughts) = (Vec::new(), Vec::new(), Vec::new());
    for said in said {
        match said {
            Said::Text(said) => text.push(said.to_string_lossy()),
            Said::Thinking(said, field) => thoughts.extend(Some(field).zip(said.as_ref())),
            Said::Call { id, name, arguments: given } => {
                let mut function = ObjectWriter::new();
                function.str("name", name).str("arguments", &arguments(given));
                let mut call = ObjectWriter::new();
                call.str("id", id).str("type", "function").raw("function", &function.finish());
                calls.push(call.finish());
            }
        }
    }
    let mut out = ObjectWriter::new();
    out.str("role", "assistant");
    match text.is_empty() {
        true => out.raw("content", "null"),
        false => out.str("content", &text.join("\n")),
    };
    // One field, under the name that the model itself gave it.
    if let Some((field, _)) = thoughts.first() {
        let thoughts = thoughts.iter().map(|(_, said)| said.to_string_lossy());
        let thoughts = thoughts.collect::<Vec<_>>().join("\n");
        out.raw(&field.to_string_lossy(), &string(&thoughts.into()));
    }
    if !calls.is_empty() {
        out.array("tool_calls", calls);
    }
    out.finish()
}

fn tool(answer: &Answer) -> String {
    let mut out = ObjectWriter::new();
    out.str("role", "tool").str("tool_call_id", &answer.id).str("content", &answer_text(answer));
    out.finish()
}

/// The text of an answer. There is no field to say that it is an error, so the words must.
pub(super) fn answer_text(answer: &Answer) -> String {
    let texts: Vec<_> = answer
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(text.to_string_lossy()),
            Part::Image(..) => None,
        })
        .collect();
    let text = texts.join("\n");
    let says_so = text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
    match (answer.is_error && !says_so, text.is_empty(), answer.parts.is_empty()) {
        (true, _, _) => format!("Error: {text}"),
        (false, true, true) => "(no output)".into(),
        (false, true, false) => "(an image)".into(),
        _ => text,
    }
}
