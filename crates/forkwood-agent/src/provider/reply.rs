//! An answer, put together from its events.

use forkwood::{Block, Content, Json, Message, Role};

use super::{Event, StopReason, ToolCall, Usage};

/// What came in of one answer so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    blocks: Vec<Block>,
    calls: Vec<ToolCall>,
    thinking_open: bool,
    text: String,
    thinking: String,
    /// What it cost, where that was said.
    pub usage: Option<Usage>,
    /// Why it ended, if it did.
    pub stop: Option<StopReason>,
}

impl Reply {
    /// Takes one event in.
    pub fn take(&mut self, event: Event) {
        match event {
            Event::Text(text) => {
                self.end_thinking(None, false);
                self.text.push_str(&text);
            }
            Event::Thinking(text) => {
                self.end_text();
                self.thinking_open = true;
                self.thinking.push_str(&text);
            }
            Event::ThinkingEnd(signature) => {
                self.end_text();
                // An empty one signs nothing, and is no redacted block.
                self.end_thinking(signature.filter(|it| !it.is_empty()), true);
            }
            Event::ToolCall(call) => {
                self.end_text();
                self.end_thinking(None, false);
                self.blocks.push(Block::tool_call(
                    call.id.as_str(),
                    call.name.as_str(),
                    call.arguments.clone(),
                ));
                self.calls.push(call);
            }
            Event::Usage(usage) => self.usage = Some(usage),
            Event::Stop(stop) => self.stop = Some(stop),
        }
    }

    fn end_text(&mut self) {
        if !self.text.is_empty() {
            self.blocks.push(Block::text(std::mem::take(&mut self.text)));
        }
    }

    fn end_thinking(&mut self, signature: Option<String>, even_empty: bool) {
        let open = std::mem::take(&mut self.thinking_open);
        if open || (even_empty && signature.is_some()) {
            // One of which only the signature came, to be given back as it is.
            let redacted = (!open).then(|| Json::parse("true").ok()).flatten();
            self.blocks.push(Block::Thinking {
                thinking: std::mem::take(&mut self.thinking).into(),
                signature: signature.map(Into::into),
                extra: redacted.map(|yes| ("redacted".into(), yes)).into_iter().collect(),
            });
        }
    }

    /// The tool calls so far.
    pub fn calls(&self) -> &[ToolCall] {
        &self.calls
    }

    /// Whether nothing came in that a session would keep.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.text.is_empty() && self.thinking.is_empty()
    }

    /// Gives calls without an id, or with one that stands twice, an id of their own.
    pub fn settle_ids(&mut self, mut fresh: impl FnMut() -> String) {
        let mut seen = std::collections::HashSet::new();
        let mut at = 0;
        for block in &mut self.blocks {
            let Block::ToolCall { id, .. } = block else { continue };
            if let Some(call) = self.calls.get_mut(at)
                && (call.id.is_empty() || !seen.insert(call.id.clone()))
            {
                call.id = fresh();
                *id = call.id.as_str().into();
                seen.insert(call.id.clone());
            }
            at += 1;
        }
    }

    /// The message that a session keeps.
    pub fn message(mut self, model: &str, provider: &str) -> Message {
        self.end_text();
        self.end_thinking(None, false);
        let content = match self.blocks.as_slice() {
            [] => Content::Text("".into()),
            [Block::Text { text, .. }] => Content::Text(text.clone()),
            _ => Content::Blocks(self.blocks),
        };
        let mut message =
            Message::new(Role::Assistant, content).by_model(model, Some(provider.into()));
        message.usage = self.usage.map(|usage| usage.to_json());
        message.stop_reason = self.stop.map(|stop| stop.as_str().into());
        let signed: serde_json::Map<String, serde_json::Value> = self
            .calls
            .iter()
            .filter(|call| !call.signatures.is_empty())
            .map(|call| (call.id.clone(), call.signatures.clone().into()))
            .collect();
        if !signed.is_empty() {
            let metadata = serde_json::json!({ SIGNATURES: signed });
            message.metadata = Json::from_value(&metadata).ok();
        }
        message
    }
}

/// Where a message keeps what its provider wants back with a call.
pub(crate) const SIGNATURES: &str = "callSignatures";
