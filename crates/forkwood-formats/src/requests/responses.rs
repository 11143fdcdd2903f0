//! Items of OpenAI's responses.

use forkwood::core::json::Object;
use forkwood::{Json, Message};

use crate::codex::item;
use crate::export::OPENAI;
use crate::fields::Out;

/// Reads an item. A message may stand without a type.
pub(super) fn decode(raw: &str) -> Message {
    let object = Object::parse(raw).unwrap_or_default();
    let mut message = match object.get("type") {
        Some(_) => item::decode_any(raw),
        None => {
            let mut out = Out::default();
            out.str("type", "message");
            out.rest(object.iter().map(|(key, value)| (key, value.get())));
            item::decode_any(&out.finish())
        }
    };
    message.metadata = message.metadata.as_ref().map(renamed);
    message
}

/// What Codex's reader keeps, under the name of the API.
fn renamed(metadata: &Json) -> Json {
    let mut out = Out::default();
    for (key, value) in metadata.as_object().unwrap_or_default().iter() {
        match *key == crate::codex::NAME {
            true => out.raw(OPENAI, value.get()),
            false => out.field(key, value.get()),
        };
    }
    out.into_json()
}
