//! OpenAI's responses, without state on the provider's side.

use forkwood_core::Text;
use forkwood_core::json::{ObjectWriter, join_array};

use super::chat::answer_text;
use super::clean::{arguments, name, schema, string, value};
use super::conversation::{Answer, LONGEST_NAME, Part, Said, Step, steps};
use super::{Api, ProviderInput, RequestOptions};
use crate::thinking::reasoning_item;

pub(super) fn body(input: &ProviderInput, options: &RequestOptions) -> String {
    let mut out = ObjectWriter::new();
    out.raw("model", &string(input.model.as_ref().unwrap_or(&Text::default())));
    out.raw("store", "false");
    if let Some(most) = options.max_tokens {
        out.raw("max_output_tokens", &most.to_string());
    }
    if options.stream {
        out.raw("stream", "true");
    }
    if let Some(level) = input.level() {
        let mut reasoning = ObjectWriter::new();
        reasoning.str("effort", level).str("summary", "auto");
        out.raw("reasoning", &reasoning.finish());
        out.raw("include", r#"["reasoning.encrypted_content"]"#);
    }
    if !input.system.is_empty() {
        out.raw("instructions", &string(&input.system));
    }
    if !input.tools.is_empty() {
        let tools = input.tools.iter().map(|tool| {
            let mut out = ObjectWriter::new();
            out.str("type", "function")
                .str("name", &name(&tool.name, LONGEST_NAME))
                .raw("description", &string(&tool.description))
                .raw("parameters", &schema(&tool.schema))
                .raw("strict", "false");
            out.finish()
        });
        out.array("tools", tools);
    }
    out.raw("input", &items(input));
    out.finish()
}

pub(super) fn items(input: &ProviderInput) -> String {
    let mut out = Vec::new();
    for step in steps(input, &input.target(Api::OpenAiResponses)) {
        match step {
            Step::System(text) => out.push(message("developer", &[part(&Part::Text(text))])),
            Step::User(parts) => {
                let parts: Vec<String> = parts.iter().map(part).collect();
                out.push(message("user", &parts));
            }
            Step::Assistant(said, answers) => {
                out.extend(said_items(&said));
                out.extend(answers.iter().map(answer));
            }
        }
    }
    join_array(out)
}

fn message(role: &str, parts: &[String]) -> String {
    let mut out = ObjectWriter::new();
    out.str("type", "message").str("role", role).array("content", parts);
    out.finish()
}

fn part(part: &Part) -> String {
    let mut out = ObjectWriter::new();
    match part {
        Part::Text(text) => out.str("type", "input_text").raw("text", &string(text)),
        Part::Image(mime, data) => out
            .str("type", "input_image")
            .str("detail", "auto")
            .str("image_url", &format!("data:{mime};base64,{data}")),
    };
    out.finish()
}

/// The items of an answer. Reasoning must be followed by what it led to: what is behind the last
/// text or call is left out.
fn said_items(said: &[Said]) -> Vec<String> {
    let is_thinking = |said: &&Said| matches!(said, Said::Thinking(..));
    let behind = said.iter().rev().take_while(is_thinking).count();
    said[..said.len() - behind]
        .iter()
        .filter_map(|said| match said {
            Said::Text(text) => {
                let mut part = ObjectWriter::new();
                part.str("type", "output_text").raw("text", &string(text));
                Some(message("assistant", &[part.finish()]))
            }
            Said::Thinking(_, signature) => {
                reasoning_item(signature).map(|item| value(item.get()).into_owned())
            }
            Said::Call { id, name, arguments: given } => {
                let mut out = ObjectWriter::new();
                out.str("type", "function_call")
                    .str("call_id", id)
                    .str("name", name)
                    .str("arguments", &arguments(given));
                Some(out.finish())
            }
        })
        .collect()
}

fn answer(answer: &Answer) -> String {
    let mut out = ObjectWriter::new();
    out.str("type", "function_call_output").str("call_id", &answer.id);
    let images: Vec<String> =
        answer.parts.iter().filter(|part| matches!(part, Part::Image(..))).map(part).collect();
    let text = answer_text(answer);
    match images.is_empty() {
        true => out.str("output", &text),
        false => {
            let text = part(&Part::Text(text.into()));
            out.array("output", std::iter::once(text).chain(images))
        }
    };
    out.finish()
}
