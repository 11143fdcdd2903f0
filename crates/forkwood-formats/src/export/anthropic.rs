//! A request to Anthropic's messages.

use std::collections::HashMap;

use forkwood::core::json::{ObjectWriter, join_array};
use forkwood::{Role, Text};

use super::Written;
use super::claude_blocks::Blocks;
use super::loss::What;
use super::source::Source;
use super::told::{context, lose_entries, lose_facts, model_at_end, request_name};
use crate::fields::Out;

const FORMAT: &str = "a request";
/// A number is demanded.
const MAX_TOKENS: &str = "8192";

pub(super) fn write(mut source: Source) -> Written {
    let mut losses = std::mem::take(&mut source.losses);
    let context = context(&source, &mut losses);
    let mut blocks =
        Blocks { format: FORMAT, surrogates: false, losses: &mut losses, calls: HashMap::new() };
    let (mut system, mut messages) = (Vec::new(), Vec::new());
    let mut results: Vec<String> = Vec::new();
    for (id, message) in &context {
        if message.model.is_some() {
            let why = "a request names only the model that answers next";
            blocks.losses.entry(What::Model, id, why);
        }
        if message.usage.is_some() {
            blocks.losses.entry(What::Usage, id, "a request has no place for usage of messages");
        }
        if message.stop_reason.is_some() {
            let why = "a request has no place for why a model stopped";
            blocks.losses.entry(What::Field, id, why);
        }
        if message.role == Role::Tool {
            let block = blocks.result(id, message);
            results.push(block);
            continue;
        }
        if !results.is_empty() {
            messages.push(said("user", &join_array(std::mem::take(&mut results))));
        }
        match &message.role {
            Role::System | Role::Developer => {
                if message.role == Role::Developer {
                    blocks.losses.entry(What::Role, id, "it is a system message there");
                }
                let text = blocks.text(id, &message.content.text());
                if messages.is_empty() {
                    let mut out = Out::default();
                    out.str("type", "text").raw("text", &text);
                    system.push(out.finish());
                } else {
                    let why = "a system message behind the start is one of the person there";
                    blocks.losses.entry(What::Role, id, why);
                    messages.push(said("user", &text));
                }
            }
            Role::Other(_) => {
                blocks.losses.entry(What::Role, id, "a request has no place for this role");
            }
            role => {
                let role = if *role == Role::Assistant { "assistant" } else { "user" };
                let content = blocks.content(id, message);
                messages.push(said(role, &content));
            }
        }
    }
    if !results.is_empty() {
        messages.push(said("user", &join_array(results)));
    }
    lose_entries(&source, &mut losses, FORMAT);
    lose_facts(&source, &mut losses, FORMAT);
    let mut out = ObjectWriter::new();
    if let Some(model) = model_at_end(&source) {
        out.raw("model", &Text::from(model.to_string_lossy().into_owned()).to_json());
    }
    out.raw("max_tokens", MAX_TOKENS);
    if !system.is_empty() {
        out.array("system", system);
    }
    out.array("messages", messages);
    Written::one(request_name(&source, &mut losses), out.finish() + "\n", losses)
}

fn said(role: &str, content: &str) -> String {
    let mut out = Out::default();
    out.str("role", role).raw("content", content);
    out.finish()
}
