//! Messages as items of OpenAI's responses, which Codex's rollouts hold too.

use forkwood::core::json::{JsonKind, Object, join_array};
use forkwood::core::message::ImageSource;
use forkwood::{Block, Content, EntryId, Json, Message, Role, Text};

use super::loss::{LossReport, What};
use crate::codex::item::is_shown;
use crate::fields::{Out, kept};

/// Where items go, and what is told of them.
pub(super) struct Items<'r> {
    /// The field of a message's metadata that holds the rest of its item.
    pub(super) own: &'static str,
    /// The format, for people.
    pub(super) format: &'static str,
    pub(super) losses: &'r mut LossReport,
}

impl Items<'_> {
    /// The items of a message.
    pub(super) fn of(&mut self, id: &EntryId, message: &Message) -> Vec<String> {
        let metadata = message.metadata.as_ref().and_then(Json::as_object).unwrap_or_default();
        let own = metadata.get(self.own).and_then(|raw| Object::parse(raw).ok());
        let own = own.unwrap_or_default();
        let items = match &message.role {
            Role::Assistant => self.answer(id, message, &own),
            Role::Tool => vec![self.result(id, message, &own)],
            role => vec![self.said(id, role, message, &own)],
        };
        if items.len() > 1 {
            let why = format!("{}: each call and text of an answer is an item", self.format);
            self.losses.entry(What::Shape, id, why);
        }
        if message.usage.is_some() {
            self.lose(What::Usage, id, "usage of messages");
        }
        if message.stop_reason.is_some() {
            self.lose(What::Field, id, "why a model stopped");
        }
        items
    }

    fn lose(&mut self, what: What, id: &EntryId, lacking: &str) {
        self.losses.entry(what, id, format!("{} has no place for {lacking}", self.format));
    }

    /// A text without lone surrogates, which its readers refuse.
    fn text(&mut self, id: &EntryId, text: &Text) -> String {
        if text.as_str().is_some() {
            return text.to_json();
        }
        self.losses.entry(What::Text, id, "lone surrogates are U+FFFD: its readers refuse them");
        Text::from(text.to_string_lossy().into_owned()).to_json()
    }

    fn said(&mut self, id: &EntryId, role: &Role, message: &Message, own: &Object<'_>) -> String {
        let parts = self.parts(id, &message.content);
        let mut out = Out::default();
        out.str("type", "message");
        let role = self.text(id, &role.as_text());
        out.raw("role", &role).raw("content", &join_array(parts));
        rest(out, own)
    }

    /// Parts of what is not said by a model.
    fn parts(&mut self, id: &EntryId, content: &Content) -> Vec<String> {
        let mut parts = Vec::new();
        for block in content.to_blocks() {
            let mut out = Out::default();
            match &block {
                Block::Text { text, extra } => {
                    let text = self.text(id, text);
                    out.str("type", "input_text").raw("text", &text).rest(kept(extra));
                }
                Block::Image(image) => {
                    let ImageSource::Inline(data) = &image.source else { continue };
                    let url = format!("data:{};base64,{data}", image.mime_type);
                    out.str("type", "input_image").str("image_url", &url).rest(kept(&image.extra));
                }
                Block::Other(json) if own_part(json) => {
                    parts.push(json.get().to_owned());
                    continue;
                }
                _ => {
                    self.lose(What::Block, id, "such a block of content");
                    continue;
                }
            }
            parts.push(out.finish());
        }
        parts
    }

    fn answer(&mut self, id: &EntryId, message: &Message, own: &Object<'_>) -> Vec<String> {
        let mut items = Vec::new();
        let mut texts: Vec<String> = Vec::new();
        let blocks = message.content.to_blocks();
        for block in &blocks {
            if let Block::Text { text, extra } = block {
                let text = self.text(id, text);
                let mut out = Out::default();
                out.str("type", "output_text").raw("text", &text).rest(kept(extra));
                texts.push(out.finish());
                continue;
            }
            if let Block::Other(json) = block
                && own_part(json)
            {
                texts.push(json.get().to_owned());
                continue;
            }
            flush(&mut items, &mut texts, own);
            match block {
                Block::Thinking { signature, .. } => match reasoning(signature.as_ref()) {
                    Some(item) => items.push(item),
                    None => self.lose(What::Thinking, id, "thoughts of other providers"),
                },
                Block::ToolCall { id: call, name, arguments, extra } => {
                    items.push(self.call(id, own, (call, name, arguments), extra));
                }
                Block::Other(json) if shown(json) => items.push(json.get().to_owned()),
                Block::Image(_) => self.lose(What::Image, id, "images of a model"),
                _ => self.lose(What::Block, id, "such a block of content"),
            }
        }
        if items.is_empty() || !texts.is_empty() {
            flush(&mut items, &mut texts, own);
        }
        if items.is_empty() {
            items.push(assistant(Vec::new(), own));
        }
        items
    }

    fn call(
        &mut self,
        id: &EntryId,
        own: &Object<'_>,
        (call, name, arguments): (&Text, &Text, &Json),
        extra: &[(Text, Json)],
    ) -> String {
        let (call, name) = (self.text(id, call), self.text(id, name));
        let tag = own.text("type");
        let mut out = Out::default();
        match tag.as_ref().and_then(Text::as_str) {
            Some("custom_tool_call") => {
                let input = arguments.as_object().and_then(|object| object.text("input"));
                let input = self.text(id, &input.unwrap_or_default());
                out.str("type", "custom_tool_call")
                    .raw("call_id", &call)
                    .raw("name", &name)
                    .raw("input", &input);
            }
            Some("local_shell_call") => {
                out.str("type", "local_shell_call")
                    .raw("call_id", &call)
                    .raw("action", arguments.get());
            }
            _ => {
                let given = extra.iter().find(|(key, _)| *key == "argumentsText");
                let given = given.and_then(|(_, json)| json.as_text());
                let text = given.or_else(|| arguments.as_text().filter(is_no_json));
                let text = self.text(id, &text.unwrap_or_else(|| arguments.get().into()));
                out.str("type", "function_call")
                    .raw("call_id", &call)
                    .raw("name", &name)
                    .raw("arguments", &text);
            }
        }
        rest(out, own)
    }

    fn result(&mut self, id: &EntryId, message: &Message, own: &Object<'_>) -> String {
        let custom = own.text("type").is_some_and(|tag| tag == "custom_tool_call_output");
        let mut out = Out::default();
        out.str("type", if custom { "custom_tool_call_output" } else { "function_call_output" });
        if message.tool_call_id.is_none() {
            self.lose(What::Field, id, "a result without a call");
        }
        let call = self.text(id, message.tool_call_id.as_ref().unwrap_or(&"unknown".into()));
        out.raw("call_id", &call);
        match (own.get("output"), &message.content) {
            (Some(raw), _) => out.raw("output", raw),
            (None, Content::Text(text)) => {
                let text = self.text(id, text);
                out.raw("output", &text)
            }
            (None, content) => {
                let parts = self.parts(id, content);
                out.raw("output", &join_array(parts))
            }
        };
        if message.is_error == Some(true) {
            self.lose(What::Field, id, "that a tool failed");
        }
        rest(out, own)
    }
}

/// Writes the texts so far as one message.
fn flush(items: &mut Vec<String>, texts: &mut Vec<String>, own: &Object<'_>) {
    if !texts.is_empty() {
        items.push(assistant(std::mem::take(texts), own));
    }
}

fn assistant(parts: Vec<String>, own: &Object<'_>) -> String {
    let mut out = Out::default();
    out.str("type", "message").str("role", "assistant").raw("content", &join_array(parts));
    rest(out, own)
}

/// The rest of the item that a message was, where it was one.
fn rest(mut out: Out, own: &Object<'_>) -> String {
    out.rest(own.iter().map(|(key, value)| (key, value.get())));
    out.finish()
}

/// The whole item, where a thought is one of these.
fn reasoning(signature: Option<&Text>) -> Option<String> {
    let json = Json::parse(signature?.as_str()?).ok()?;
    let tag = json.as_object()?.text("type")?;
    (tag == "reasoning").then(|| json.get().to_owned())
}

fn type_of(json: &Json) -> Option<Text> {
    json.as_object()?.text("type")
}

/// Whether a block is an item of its own.
fn shown(json: &Json) -> bool {
    type_of(json).is_some_and(|tag| is_shown(&tag))
}

/// Whether a block is a part of a message that only this format has.
fn own_part(json: &Json) -> bool {
    const PARTS: &[&str] =
        &["input_text", "input_image", "input_file", "input_audio", "output_text", "refusal"];
    json.kind() == JsonKind::Object
        && type_of(json).is_some_and(|tag| tag.as_str().is_some_and(|tag| PARTS.contains(&tag)))
}

/// Whether arguments that are a text were no JSON where they came from.
fn is_no_json(text: &Text) -> bool {
    text.as_str().is_none_or(|text| Json::parse(text).is_err())
}
