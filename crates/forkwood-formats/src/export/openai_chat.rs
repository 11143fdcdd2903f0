//! A request to OpenAI's chat completions.

use forkwood::core::json::{Object, ObjectWriter, join_array};
use forkwood::core::message::ImageSource;
use forkwood::{Block, Content, EntryId, Json, Message, Role, Text};

use super::Written;
use super::loss::{LossReport, What};
use super::openai_responses::OWN;
use super::source::Source;
use super::told::{context, lose_entries, lose_facts, model_at_end, request_name};
use crate::fields::{Out, kept};

const FORMAT: &str = "a request";

/// Names under which servers give thoughts back; the signature of a thought tells which.
pub(crate) const THOUGHTS: &[&str] = &["reasoning_content", "reasoning", "reasoning_text"];

pub(super) fn write(mut source: Source) -> Written {
    let mut losses = std::mem::take(&mut source.losses);
    let mut messages = Vec::new();
    for (id, message) in context(&source, &mut losses) {
        let mut one = One { id: &id, losses: &mut losses };
        messages.extend(one.message(&message));
    }
    lose_entries(&source, &mut losses, FORMAT);
    lose_facts(&source, &mut losses, FORMAT);
    let mut out = ObjectWriter::new();
    if let Some(model) = model_at_end(&source) {
        out.raw("model", &Text::from(model.to_string_lossy().into_owned()).to_json());
    }
    out.raw("messages", &join_array(messages));
    Written::one(request_name(&source, &mut losses), out.finish() + "\n", losses)
}

/// One message.
struct One<'l> {
    id: &'l EntryId,
    losses: &'l mut LossReport,
}

impl One<'_> {
    fn lose(&mut self, what: What, lacking: &str) {
        self.losses.entry(what, self.id, format!("{FORMAT} has no place for {lacking}"));
    }

    fn text(&mut self, text: &Text) -> String {
        if text.as_str().is_some() {
            return text.to_json();
        }
        self.losses.entry(What::Text, self.id, "lone surrogates are U+FFFD");
        Text::from(text.to_string_lossy().into_owned()).to_json()
    }

    fn message(&mut self, message: &Message) -> Option<String> {
        let metadata = message.metadata.as_ref().and_then(Json::as_object).unwrap_or_default();
        let own = metadata.get(OWN).and_then(|raw| Object::parse(raw).ok()).unwrap_or_default();
        let mut out = Out::default();
        match &message.role {
            Role::Assistant => self.answer(&mut out, message),
            Role::Tool => {
                let Some(call) = &message.tool_call_id else {
                    self.lose(What::Field, "a result without a call");
                    return None;
                };
                let (call, content) = (self.text(call), self.content(&message.content, false));
                out.str("role", "tool").raw("tool_call_id", &call).raw("content", &content);
                if message.is_error == Some(true) {
                    self.lose(What::Field, "that a tool failed");
                }
            }
            Role::Other(_) => {
                self.lose(What::Role, "this role");
                return None;
            }
            role => {
                let content = self.content(&message.content, *role == Role::User);
                out.raw("role", &role.as_text().to_json()).raw("content", &content);
            }
        }
        if message.usage.is_some() {
            self.lose(What::Usage, "usage of messages");
        }
        if message.stop_reason.is_some() {
            self.lose(What::Field, "why a model stopped");
        }
        if message.model.is_some() {
            let why = "a request names only the model that answers next";
            self.losses.entry(What::Model, self.id, why);
        }
        out.rest(own.iter().map(|(key, value)| (key, value.get())));
        Some(out.finish())
    }

    /// A text, or parts.
    fn content(&mut self, content: &Content, images: bool) -> String {
        let blocks = match content {
            Content::Text(text) => return self.text(text),
            Content::Blocks(blocks) => blocks,
        };
        let parts: Vec<String> =
            blocks.iter().filter_map(|block| self.part(block, images)).collect();
        join_array(parts)
    }

    fn part(&mut self, block: &Block, images: bool) -> Option<String> {
        let mut out = Out::default();
        match block {
            Block::Text { text, extra } => {
                let text = self.text(text);
                out.str("type", "text").raw("text", &text).rest(kept(extra));
            }
            Block::Image(image) if images => {
                let ImageSource::Inline(data) = &image.source else { return None };
                let mut url = Out::default();
                url.str("url", &format!("data:{};base64,{data}", image.mime_type));
                out.str("type", "image_url").raw("image_url", &url.finish());
                out.rest(kept(&image.extra));
            }
            Block::Image(_) => {
                self.lose(What::Image, "images of others than the person");
                return None;
            }
            Block::Other(json) if is_part(json) => return Some(json.get().to_owned()),
            _ => {
                self.lose(What::Block, "such a block of content");
                return None;
            }
        }
        Some(out.finish())
    }

    fn answer(&mut self, out: &mut Out, message: &Message) {
        out.str("role", "assistant");
        let blocks = match &message.content {
            Content::Text(text) => {
                let text = self.text(text);
                out.raw("content", &text);
                return;
            }
            Content::Blocks(blocks) => blocks,
        };
        let (mut parts, mut calls) = (Vec::new(), Vec::new());
        let mut thoughts: Vec<(&'static str, Text)> = Vec::new();
        for block in blocks {
            match block {
                Block::ToolCall { id, name, arguments, extra } => {
                    calls.push(self.call(id, name, arguments, extra));
                }
                Block::Thinking { thinking, signature, .. } => {
                    let field = THOUGHTS.iter().find(|name| {
                        signature.as_ref().is_some_and(|signature| *signature == **name)
                    });
                    match field {
                        Some(field) => thoughts.push((field, thinking.clone())),
                        None => self.lose(What::Thinking, "thoughts"),
                    }
                }
                block => {
                    if !calls.is_empty() {
                        let why = "what is said behind a call stands before it";
                        self.losses.entry(What::Shape, self.id, why);
                    }
                    parts.extend(self.part(block, false));
                }
            }
        }
        match parts.is_empty() {
            true if !calls.is_empty() => out.raw("content", "null"),
            _ => out.raw("content", &join_array(parts)),
        };
        if let Some((field, _)) = thoughts.first() {
            if thoughts.len() > 1 {
                self.losses.entry(What::Shape, self.id, "its thoughts are one there");
            }
            let texts: Vec<_> = thoughts.iter().map(|(_, text)| text.to_string_lossy()).collect();
            out.str(field, &texts.join("\n"));
        }
        if !calls.is_empty() {
            out.raw("tool_calls", &join_array(calls));
        }
    }

    fn call(&mut self, id: &Text, name: &Text, arguments: &Json, extra: &[(Text, Json)]) -> String {
        let given = extra.iter().find(|(key, _)| *key == "argumentsText");
        let given = given.and_then(|(_, json)| json.as_text()).or_else(|| arguments.as_text());
        let arguments = self.text(&given.unwrap_or_else(|| arguments.get().into()));
        let (id, name) = (self.text(id), self.text(name));
        let mut function = Out::default();
        function.raw("name", &name).raw("arguments", &arguments);
        let mut out = Out::default();
        out.raw("id", &id).str("type", "function").raw("function", &function.finish());
        out.rest(kept(extra).filter(|(key, _)| **key != "argumentsText"));
        out.finish()
    }
}

/// Whether a block is a part that only this format has.
fn is_part(json: &Json) -> bool {
    let tag = json.as_object().and_then(|object| object.text("type"));
    tag.is_some_and(|tag| {
        ["image_url", "input_audio", "file", "refusal"].iter().any(|name| tag == *name)
    })
}
