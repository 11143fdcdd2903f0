//! Content as Anthropic's API has it, which Claude Code's files hold too.

use std::collections::HashMap;

use forkwood::core::json::{JsonKind, Object, join_array};
use forkwood::core::message::ImageSource;
use forkwood::{Block, Content, EntryId, Json, Message, Role, Text};
use sha2::{Digest, Sha256};

use super::loss::{LossReport, What};
use crate::claude_code::{METADATA, PROVIDER};
use crate::fields::{Out, kept};

/// Where content goes, and what is told of it.
pub(super) struct Blocks<'r> {
    /// The format, for people.
    pub(super) format: &'static str,
    /// Whether texts may hold lone surrogates.
    pub(super) surrogates: bool,
    pub(super) losses: &'r mut LossReport,
    /// Ids of calls that could not stay as they are.
    pub(super) calls: HashMap<Text, String>,
}

impl Blocks<'_> {
    fn lose(&mut self, what: What, id: &EntryId, lacking: &str) {
        self.losses.entry(what, id, format!("{} has no place for {lacking}", self.format));
    }

    pub(super) fn text(&mut self, id: &EntryId, text: &Text) -> String {
        if self.surrogates || text.as_str().is_some() {
            return text.to_json();
        }
        self.losses.entry(What::Text, id, "lone surrogates are U+FFFD");
        Text::from(text.to_string_lossy().into_owned()).to_json()
    }

    /// The content of a message that is no result: a text, or blocks.
    pub(super) fn content(&mut self, id: &EntryId, message: &Message) -> String {
        let assistant = message.role == Role::Assistant;
        match &message.content {
            Content::Text(text) if !assistant => self.text(id, text),
            content => {
                let blocks = content.to_blocks();
                let blocks = blocks.iter().filter_map(|block| self.block(id, message, block));
                join_array(blocks.collect::<Vec<_>>())
            }
        }
    }

    /// The block of a result.
    pub(super) fn result(&mut self, id: &EntryId, message: &Message) -> String {
        let metadata = message.metadata.as_ref().and_then(Json::as_object).unwrap_or_default();
        let own = metadata.get(METADATA).and_then(|raw| Object::parse(raw).ok());
        let rest = own.as_ref().and_then(|own| Object::parse(own.get("result")?).ok());
        let mut out = Out::default();
        out.str("type", "tool_result");
        match &message.tool_call_id {
            Some(call) => {
                let call = self.call_id(id, call);
                out.raw("tool_use_id", &call);
            }
            None => {
                self.lose(What::Field, id, "a result without a call");
                out.str("tool_use_id", "unknown");
            }
        }
        match &message.content {
            // Nothing said is no field there.
            Content::Blocks(blocks) if blocks.is_empty() => {}
            Content::Text(text) => {
                let text = self.text(id, text);
                out.raw("content", &text);
            }
            Content::Blocks(blocks) => {
                let blocks = blocks.iter().filter_map(|block| self.block(id, message, block));
                let blocks = join_array(blocks.collect::<Vec<_>>());
                out.raw("content", &blocks);
            }
        }
        if let Some(failed) = message.is_error {
            out.raw("is_error", if failed { "true" } else { "false" });
        }
        out.rest(rest.iter().flat_map(Object::iter).map(|(key, value)| (key, value.get())));
        out.finish()
    }

    fn block(&mut self, id: &EntryId, message: &Message, block: &Block) -> Option<String> {
        let assistant = message.role == Role::Assistant;
        let mut out = Out::default();
        match block {
            Block::Text { text, extra } => {
                let text = self.text(id, text);
                out.str("type", "text").raw("text", &text).rest(kept(extra));
            }
            Block::Thinking { thinking, signature, extra } if assistant => {
                let theirs = message.provider.as_ref().is_none_or(|provider| *provider == PROVIDER);
                let Some(signature) = signature.as_ref().filter(|_| theirs) else {
                    self.lose(What::Thinking, id, "thoughts without a signature of its provider");
                    return None;
                };
                let signature = self.text(id, signature);
                if extra.iter().any(|(key, _)| *key == "redacted") {
                    out.str("type", "redacted_thinking").raw("data", &signature);
                    out.rest(kept(extra).filter(|(key, _)| **key != "redacted"));
                } else {
                    let thinking = self.text(id, thinking);
                    out.str("type", "thinking")
                        .raw("thinking", &thinking)
                        .raw("signature", &signature)
                        .rest(kept(extra));
                }
            }
            Block::Image(image) if !assistant => {
                let ImageSource::Inline(data) = &image.source else { return None };
                let mut source = Out::default();
                source
                    .str("type", "base64")
                    .raw("media_type", &image.mime_type.to_json())
                    .raw("data", &data.to_json());
                out.str("type", "image").raw("source", &source.finish()).rest(kept(&image.extra));
            }
            Block::ToolCall { id: call, name, arguments, extra } if assistant => {
                let (call, name) = (self.call_id(id, call), self.text(id, name));
                out.str("type", "tool_use").raw("id", &call).raw("name", &name);
                if arguments.kind() == JsonKind::Object {
                    out.raw("input", arguments.get());
                } else {
                    self.losses.entry(What::Block, id, "arguments of a call are an object there");
                    out.raw("input", &format!("{{\"arguments\":{}}}", arguments.get()));
                }
                out.rest(kept(extra).filter(|(key, _)| **key != "argumentsText"));
            }
            Block::Other(json) if self.is_own(message, json) => return Some(json.get().to_owned()),
            Block::Image(_) => {
                self.lose(What::Image, id, "images of a model");
                return None;
            }
            _ => {
                self.lose(What::Block, id, "such a block of content");
                return None;
            }
        }
        Some(out.finish())
    }

    /// Whether a block came from there.
    fn is_own(&self, message: &Message, json: &Json) -> bool {
        let metadata = message.metadata.as_ref().and_then(Json::as_object).unwrap_or_default();
        metadata.get(METADATA).is_some()
            && json.as_object().is_some_and(|object| object.text("type").is_some())
    }

    /// An id of a call as the provider takes it: letters, digits, `_` and `-`.
    fn call_id(&mut self, id: &EntryId, call: &Text) -> String {
        let fits = |text: &str| {
            (1..=128).contains(&text.len())
                && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
        };
        if call.as_str().is_some_and(fits) {
            return call.to_json();
        }
        self.losses.entry(What::Id, id, "ids of calls are letters, digits, _ and - there");
        let known = self.calls.entry(call.clone()).or_insert_with(|| {
            let hash = Sha256::digest(call.as_wtf8());
            let digits: String = hash[..12].iter().map(|byte| format!("{byte:02x}")).collect();
            format!("\"call_{digits}\"")
        });
        known.clone()
    }
}
