//! A request to OpenAI's responses.

use forkwood::core::json::{ObjectWriter, join_array};
use forkwood::{Role, Text};

use super::Written;
use super::items::Items;
use super::loss::What;
use super::source::Source;
use super::told::{context, lose_entries, lose_facts, model_at_end, request_name};

/// The field of a message's metadata that holds the rest of its item.
pub(crate) const OWN: &str = "openai";
const FORMAT: &str = "a request";

pub(super) fn write(mut source: Source) -> Written {
    let mut losses = std::mem::take(&mut source.losses);
    let mut input = Vec::new();
    for (id, message) in context(&source, &mut losses) {
        if message.model.is_some() {
            losses.entry(What::Model, &id, "a request names only the model that answers next");
        }
        if message.role == Role::Tool && message.tool_call_id.is_none() {
            losses.entry(What::Field, &id, "a request has no results without a call");
            continue;
        }
        let mut items = Items { own: OWN, format: FORMAT, losses: &mut losses };
        input.extend(items.of(&id, &message));
    }
    lose_entries(&source, &mut losses, FORMAT);
    lose_facts(&source, &mut losses, FORMAT);
    let mut out = ObjectWriter::new();
    if let Some(model) = model_at_end(&source) {
        out.raw("model", &Text::from(model.to_string_lossy().into_owned()).to_json());
    }
    out.raw("input", &join_array(input));
    Written::one(request_name(&source, &mut losses), out.finish() + "\n", losses)
}
