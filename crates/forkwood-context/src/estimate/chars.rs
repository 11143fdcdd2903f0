//! Characters of a conversation, by the rule of my-pi-agent: the length of Python's
//! `json.dumps([{"role", "content", "metadata"}, ...], ensure_ascii=False)`.
//!
//! Nothing is built for it: the lengths are summed up.

use forkwood_core::{Block, Content, Json, Message, Text};

use super::Front;
use crate::ToolSpec;

/// Characters that an image counts for (my-pi-agent's `context.py`).
pub const IMAGE_CHARS: u64 = 4_000;

/// Characters of the whole conversation: the list with its brackets and commas.
pub fn conversation_chars(messages: &[Message]) -> u64 {
    list(messages.iter().map(message_chars))
}

/// Characters of a request. The system prompt counts as the message it would be, the tools as
/// the JSON that tells of them.
pub(super) fn request_chars(front: Option<Front<'_>>, messages: &[Message]) -> u64 {
    let mut first = None;
    let mut tools = 0;
    if let Some(front) = front {
        if !front.system.is_empty() {
            first = Some(plain("system", quoted(front.system)));
        }
        tools = front.tools.iter().map(tool_chars).sum();
    }
    list(first.into_iter().chain(messages.iter().map(message_chars))) + tools
}

/// Characters of one message.
pub fn message_chars(message: &Message) -> u64 {
    let role = message.role.as_text();
    plain_with(escaped(&role) + 2, content_chars(&message.content), metadata_chars(message))
}

/// Characters of a text as a JSON string without its quotes.
pub fn text_chars(text: &Text) -> u64 {
    escaped(text)
}

/// Characters of a tool's description for the model.
pub fn tool_chars(tool: &ToolSpec) -> u64 {
    // {"name": , "description": , "parameters": }, and the comma behind it.
    43 + quoted(&tool.name) + quoted(&tool.description) + json_chars(tool.schema.get()).0
}

/// `[a, b, c]`
fn list(items: impl Iterator<Item = u64>) -> u64 {
    let (count, chars) = items.fold((0_u64, 0), |(count, sum), chars| (count + 1, sum + chars));
    2 + chars + 2 * count.saturating_sub(1)
}

fn plain(role: &str, content: u64) -> u64 {
    plain_with(role.len() as u64 + 2, content, 4)
}

/// `{"role": , "content": , "metadata": }`
fn plain_with(role: u64, content: u64, metadata: u64) -> u64 {
    37 + role + content + metadata
}

fn content_chars(content: &Content) -> u64 {
    let blocks = match content {
        Content::Text(text) => return quoted(text),
        Content::Blocks(blocks) => blocks,
    };
    let mut chars = 2;
    let mut texts = 0_u64;
    for block in blocks {
        chars += match block {
            Block::Text { text, .. } => {
                texts += 1;
                escaped(text)
            }
            Block::Thinking { thinking, signature, .. } => {
                escaped(thinking) + signature.as_ref().map_or(0, escaped)
            }
            Block::Image(_) => IMAGE_CHARS,
            // Counted with the metadata, where the reference has them.
            Block::ToolCall { .. } => 0,
            Block::Other(json) => json_chars(json.get()).0,
        };
    }
    // Between two texts stands a line end, which is two characters in JSON.
    chars + 2 * texts.saturating_sub(1)
}

/// What stands in the reference's `metadata`: tool calls, the call that is answered, whether
/// that failed, and what else the message has under its own `metadata`. The record of a
/// foreign format there is not sent to a model and not counted.
fn metadata_chars(message: &Message) -> u64 {
    let mut fields = Fields::default();
    let calls = list(message.content.tool_calls().map(|(id, name, arguments)| {
        // {"id": , "type": "function", "function": {"name": , "arguments": }}
        67 + quoted(id) + quoted(name) + json_in_string(arguments)
    }));
    if calls > 2 {
        fields.add(10, calls);
    }
    if let Some(id) = &message.tool_call_id {
        fields.add(12, quoted(id));
    }
    if message.is_error == Some(true) {
        fields.add(8, 4);
    }
    if let Some(object) = message.metadata.as_ref().and_then(Json::as_object) {
        for (key, value) in object.iter().filter(|(key, _)| **key != "pi") {
            fields.add(escaped(key), json_chars(value.get()).0);
        }
    }
    fields.finish()
}

/// An object, or `null` where it has no field.
#[derive(Default)]
struct Fields {
    count: u64,
    chars: u64,
}

impl Fields {
    /// `"key": value`
    fn add(&mut self, key: u64, value: u64) {
        self.count += 1;
        self.chars += key + 4 + value;
    }

    fn finish(&self) -> u64 {
        if self.count == 0 { 4 } else { self.chars + 2 * self.count }
    }
}

/// A JSON value as a JSON string, quotes included.
fn json_in_string(json: &Json) -> u64 {
    let (chars, to_escape) = json_chars(json.get());
    chars + to_escape + 2
}

fn quoted(text: &Text) -> u64 {
    escaped(text) + 2
}

/// Characters of a text in a JSON string by Python's rule with `ensure_ascii=False`: what must
/// be escaped is, nothing else. A lone surrogate is one character.
fn escaped(text: &Text) -> u64 {
    text.as_wtf8().iter().map(|byte| escaped_byte(*byte)).sum()
}

fn escaped_byte(byte: u8) -> u64 {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..0x20 => 6,
        0x80..=0xbf => 0,
        _ => 1,
    }
}

/// Characters of a JSON text as Python writes it, and how many of them are quotes and
/// backslashes. Numbers count as they stand.
fn json_chars(json: &str) -> (u64, u64) {
    let bytes = json.as_bytes();
    let (mut chars, mut special, mut at) = (0, 0, 0);
    let mut in_string = false;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => {
                in_string = !in_string;
                chars += 1;
                special += 1;
            }
            b'\\' if in_string => {
                let (width, decoded) = escape_sequence(&bytes[at..]);
                at += width;
                chars += decoded;
                // `\n` is one backslash, `\"` and `\\` are two that need one each.
                special += match (decoded, bytes.get(at - width)) {
                    (2, Some(b'"' | b'\\')) => 2,
                    (2 | 6, _) => 1,
                    _ => 0,
                };
            }
            _ if in_string => chars += escaped_byte(byte),
            b',' | b':' => chars += 2,
            b' ' | b'\n' | b'\r' | b'\t' => {}
            _ => chars += 1,
        }
    }
    (chars, special)
}

/// The bytes of an escape sequence behind its backslash, and the characters that Python writes
/// for it.
fn escape_sequence(rest: &[u8]) -> (usize, u64) {
    match rest.first() {
        Some(b'u') => {}
        Some(b'/') => return (1, 1),
        Some(_) => return (1, 2),
        None => return (0, 0),
    }
    let unit = |at: usize| {
        let digits = std::str::from_utf8(rest.get(at..at + 4)?).ok()?;
        u16::from_str_radix(digits, 16).ok()
    };
    let Some(first) = unit(1) else { return (1, 2) };
    let pair = (0xd800..0xdc00).contains(&first)
        && rest.get(5..7) == Some(b"\\u")
        && unit(7).is_some_and(|second| (0xdc00..0xe000).contains(&second));
    match u8::try_from(first) {
        _ if pair => (11, 1),
        Ok(byte) if byte < 0x80 => (5, escaped_byte(byte)),
        _ => (5, 1),
    }
}
