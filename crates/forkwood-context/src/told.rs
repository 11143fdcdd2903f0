//! Calls that stand in metadata, as my-pi-agent keeps them, brought to where all others stand.

use std::borrow::Cow;

use forkwood_core::json::{self, Object, ObjectWriter};
use forkwood_core::{Block, Content, Json, Message, Role, Text};

const KEY: &str = "tool_calls";

/// Messages whose calls are all blocks of their content. One that has none there gets those of
/// its `metadata.tool_calls`, which are then left out of the metadata.
pub fn lift_calls(messages: &[Message]) -> Cow<'_, [Message]> {
    if !messages.iter().any(may_tell) {
        return Cow::Borrowed(messages);
    }
    Cow::Owned(messages.iter().cloned().map(lifted).collect())
}

/// The same for one message.
pub(crate) fn lifted(mut message: Message) -> Message {
    if !may_tell(&message) {
        return message;
    }
    let Some(metadata) = message.metadata.as_ref().and_then(Json::as_object) else {
        return message;
    };
    let told = metadata.get(KEY).and_then(json::elements).unwrap_or_default();
    let calls: Vec<Block> = told.iter().filter_map(|call| block(call.get())).collect();
    if calls.is_empty() {
        return message;
    }
    let mut rest = ObjectWriter::new();
    let mut empty = true;
    for (key, value) in metadata.iter().filter(|(key, _)| *key != KEY) {
        rest.text_key(key, value.get());
        empty = false;
    }
    message.metadata = if empty { None } else { Json::parse(&rest.finish()).ok() };
    let said = match message.content {
        Content::Text(text) if text.is_empty() => Vec::new(),
        Content::Text(text) => vec![Block::text(text)],
        Content::Blocks(blocks) => blocks,
    };
    message.content = Content::Blocks(said.into_iter().chain(calls).collect());
    message
}

fn may_tell(message: &Message) -> bool {
    message.role == Role::Assistant
        && message.metadata.as_ref().is_some_and(|metadata| metadata.get().contains(KEY))
        && message.content.tool_calls().next().is_none()
}

/// A call as OpenAI's API has it, or the same without the inner object.
fn block(call: &str) -> Option<Block> {
    let call = Object::parse(call).ok()?;
    let function = call.get("function").and_then(|function| Object::parse(function).ok());
    let field = |key: &str| {
        let inner = function.as_ref().and_then(|function| function.get(key));
        inner.or_else(|| call.get(key)).map(str::to_owned)
    };
    let name: Text = Json::parse(&field("name")?).ok()?.to().ok()?;
    Some(Block::tool_call(call.text("id")?, name, arguments(field("arguments").as_deref())))
}

/// JSON in a string, or the JSON itself.
fn arguments(told: Option<&str>) -> Json {
    let Some(told) = told.and_then(|told| Json::parse(told).ok()) else {
        return Json::empty_object();
    };
    match told.to::<String>() {
        Ok(inner) if inner.trim().is_empty() => Json::empty_object(),
        Ok(inner) => Json::parse(&inner).unwrap_or(told),
        Err(_) => told,
    }
}

#[cfg(test)]
mod tests {
    use forkwood_core::{Content, Json, Message};

    use super::lift_calls;

    fn told(content: &str, metadata: &str) -> Message {
        let mut message = Message::assistant(content);
        message.metadata = Some(Json::parse(metadata).unwrap());
        message
    }

    fn shown(message: &Message) -> String {
        let calls = message.content.tool_calls();
        let calls: Vec<String> =
            calls.map(|(id, name, json)| format!("{id} {name} {}", json.get())).collect();
        let metadata = message.metadata.as_ref().map_or("-", Json::get);
        format!("{:?} {calls:?} {metadata}", message.content.text().to_string())
    }

    #[test]
    fn calls_in_metadata_become_blocks() {
        for (content, metadata, wanted) in [
            (
                "",
                r#"{"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}]}"#,
                r#""" ["c f {\"a\":1}"] -"#,
            ),
            (
                "hm",
                r#"{"a":1,"tool_calls":[{"id":"x","function":{"name":"f","arguments":""}},{"id":"y","name":"g","arguments":{"b":2}}]}"#,
                r#""hm" ["x f {}", "y g {\"b\":2}"] {"a":1}"#,
            ),
            (
                "",
                r#"{"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{cut"}},{"id":1},7]}"#,
                r#""" ["c f \"{cut\""] -"#,
            ),
            ("t", r#"{"tool_calls":"none"}"#, r#""t" [] {"tool_calls":"none"}"#),
        ] {
            let before = [told(content, metadata)];
            assert_eq!(shown(&lift_calls(&before)[0]), wanted);
        }
    }

    #[test]
    fn all_others_stay_as_they_are() {
        let mut user = told("x", r#"{"tool_calls":[{"id":"c","name":"f"}]}"#);
        user.role = forkwood_core::Role::User;
        let mut both = told("", r#"{"tool_calls":[{"id":"c","name":"f"}]}"#);
        let call = forkwood_core::Block::tool_call("own", "f", Json::empty_object());
        both.content = Content::Blocks(vec![call]);
        let before = [user, both, Message::assistant("plain")];
        assert_eq!(*lift_calls(&before), before);
    }
}
