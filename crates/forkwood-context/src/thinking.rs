//! Which thinking a provider is shown again.
//!
//! Providers sign what their models think. The same model wants its own thinking back, at least
//! while it works on tools; any other model refuses the signature, or does not know the block.

use forkwood_core::{Block, Json, Message, Text};

use crate::Api;

/// Who is asked.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The protocol.
    pub api: Api,
    /// The model.
    pub model: Option<&'a Text>,
    /// Its provider.
    pub provider: Option<&'a Text>,
}

/// Whether the thinking of a message goes to a provider.
///
/// Anthropic takes what its own signature proves, from the same model. The responses protocol
/// takes reasoning items with their encrypted content, which are kept in the signature, from the
/// same model. The chat protocol has no place for thinking; some that speak it (DeepSeek, Kimi,
/// GLM) have a field of their own, whose name is then kept in the signature, as Pi does, and want
/// it back from the same model. A message that does not say who spoke is taken for the target's
/// own.
pub fn survives(message: &Message, block: &Block, target: &Target<'_>) -> bool {
    let Block::Thinking { thinking, signature, .. } = block else { return false };
    let Some(signature) = signature.as_ref().filter(|signature| !signature.is_empty()) else {
        return false;
    };
    if !said_by(message, target) {
        return false;
    }
    match target.api {
        Api::OpenAiChat => {
            signature.as_str().is_some_and(|name| FIELDS.contains(&name)) && !thinking.is_empty()
        }
        // An item of the responses protocol is an object; Anthropic's signatures are base64.
        Api::Anthropic => {
            Json::parse(&signature.to_string_lossy()).is_err()
                && signature.as_str().is_some_and(|signature| !FIELDS.contains(&signature))
                && (is_redacted(block) || !thinking.to_string_lossy().trim().is_empty())
        }
        Api::OpenAiResponses => reasoning_item(signature).is_some(),
    }
}

/// Fields in which programs that speak the chat protocol show what their models think.
const FIELDS: &[&str] = &["reasoning_content", "reasoning", "reasoning_text"];

/// Whether the target said a message.
fn said_by(message: &Message, target: &Target<'_>) -> bool {
    let same = |said: Option<&Text>, asked: Option<&Text>| match (said, asked) {
        (Some(said), Some(asked)) => said == asked,
        _ => true,
    };
    same(message.model.as_ref(), target.model) && same(message.provider.as_ref(), target.provider)
}

/// The reasoning item that a signature holds, as Pi keeps those of the responses protocol.
pub(crate) fn reasoning_item(signature: &Text) -> Option<Json> {
    let json = Json::parse(signature.as_str()?).ok()?;
    let object = json.as_object()?;
    // Without it, the provider would look for an item that it was told not to keep.
    let is_item = object.text("type")? == "reasoning" && object.text("encrypted_content").is_some();
    is_item.then_some(json.clone())
}

/// Whether the provider hid the text, and the signature is all there is.
pub(crate) fn is_redacted(block: &Block) -> bool {
    match block {
        Block::Thinking { extra, .. } => {
            extra.iter().any(|(key, value)| *key == "redacted" && value.get() == "true")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
