//! Which API a document is a request to.

use forkwood::Text;
use forkwood::core::json::{self, JsonKind, Object};

/// An API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    /// OpenAI's chat completions.
    Chat,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Anthropic,
}

impl Api {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Api::Chat => "openai-chat",
            Api::Responses => "openai-responses",
            Api::Anthropic => "anthropic",
        }
    }
}

/// A request, looked at once.
#[derive(Debug)]
pub(crate) struct Shape<'j> {
    pub(crate) api: Api,
    pub(crate) model: Option<Text>,
    /// Instructions beside the messages: a text, or blocks.
    pub(crate) system: Option<&'j str>,
    pub(crate) list: Vec<&'j str>,
}

/// Looks at a document. `None`: it is no request.
pub(crate) fn shape(text: &str) -> Option<Shape<'_>> {
    if json::kind_of(text) == JsonKind::Array {
        let list = list(text)?;
        let objects = objects(&list)?;
        let api = match objects.iter().all(is_message) {
            true if objects.iter().any(is_anthropic) => Api::Anthropic,
            true => Api::Chat,
            false if objects.iter().all(is_item) => Api::Responses,
            false => return None,
        };
        return Some(Shape { api, model: None, system: None, list });
    }
    let document = Object::parse(text).ok()?;
    let model = document.text("model").filter(|model| !model.is_empty());
    if let Some(list) = document.get("messages").and_then(list) {
        let objects = objects(&list)?;
        if !objects.iter().all(is_message) || objects.is_empty() && model.is_none() {
            return None;
        }
        let system = document.get("system").filter(|raw| *raw != "null");
        let theirs = ["anthropic_version", "anthropic_beta"];
        let api = match objects.iter().any(is_chat) {
            true => Api::Chat,
            false
                if system.is_some()
                || theirs.iter().any(|key| document.get(key).is_some())
                || objects.iter().any(is_anthropic)
                // Both may have it, and here nothing else differs.
                || document.get("max_tokens").is_some() =>
            {
                Api::Anthropic
            }
            false => Api::Chat,
        };
        return Some(Shape { api, model, system, list });
    }
    let list = document.get("input").and_then(list)?;
    let all = objects(&list)?.iter().all(|object| is_item(object) || is_message(object));
    let system = document.get("instructions").filter(|raw| *raw != "null");
    (all && (model.is_some() || !list.is_empty())).then_some(Shape {
        api: Api::Responses,
        model,
        system,
        list,
    })
}

fn list(raw: &str) -> Option<Vec<&str>> {
    Some(json::elements(raw)?.into_iter().map(|item| item.get()).collect())
}

fn objects<'j>(list: &[&'j str]) -> Option<Vec<Object<'j>>> {
    list.iter().map(|raw| Object::parse(raw).ok()).collect()
}

/// Whether an object is a message of the older kind: a role, and something said.
fn is_message(object: &Object<'_>) -> bool {
    const ROLES: &[&str] = &["system", "developer", "user", "assistant", "tool", "function"];
    let role = object.text("role");
    let said = ["content", "tool_calls", "function_call"];
    role.is_some_and(|role| role.as_str().is_some_and(|role| ROLES.contains(&role)))
        && said.iter().any(|key| object.get(key).is_some())
        && object.text("type").is_none_or(|tag| tag == "message")
}

fn is_item(object: &Object<'_>) -> bool {
    object.text("type").is_some_and(|tag| crate::codex::item::is_shown(&tag))
}

fn is_chat(object: &Object<'_>) -> bool {
    let chat = ["system", "developer", "tool", "function"];
    object.text("role").is_some_and(|role| chat.iter().any(|name| role == *name))
        || ["tool_calls", "function_call"].iter().any(|key| object.get(key).is_some())
        || has_block(object, &["image_url", "input_audio", "file", "refusal"])
}

fn is_anthropic(object: &Object<'_>) -> bool {
    const BLOCKS: &[&str] = &[
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "image",
        "document",
        "server_tool_use",
    ];
    has_block(object, BLOCKS)
}

fn has_block(object: &Object<'_>, tags: &[&str]) -> bool {
    let blocks = object.get("content").and_then(json::elements).unwrap_or_default();
    blocks.iter().any(|block| {
        let tag = Object::parse(block.get()).ok().and_then(|block| block.text("type"));
        tag.is_some_and(|tag| tags.iter().any(|name| tag == *name))
    })
}
