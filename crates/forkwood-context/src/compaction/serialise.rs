//! A conversation as text, for a model to sum up: as data, not as something to go on with.

use forkwood_core::{Block, Content, Message, Role};

use crate::text::{first_chars, first_units};

/// How a conversation is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transcript {
    /// As Pi does: parts with a heading in brackets, results cut at 2,000 UTF-16 units.
    Parts {
        /// Whether thinking is written down too; Pi 0.73.1 did.
        thinking: bool,
    },
    /// As my-pi-agent does: `role: content` lines, results cut at 4,000 characters.
    Lines,
}

const MOST_UNITS: usize = 2_000;
const MOST_CHARS: usize = 4_000;

impl Transcript {
    /// What stands between two pieces.
    pub(super) fn separator(self) -> &'static str {
        match self {
            Transcript::Parts { .. } => "\n\n",
            Transcript::Lines => "\n",
        }
    }

    /// The conversation as one text.
    pub fn write(self, messages: &[Message]) -> String {
        self.pieces(messages).join(self.separator())
    }

    /// The pieces of it, which must not be parted further.
    pub(super) fn pieces(self, messages: &[Message]) -> Vec<String> {
        let mut out = Vec::new();
        for message in messages {
            match self {
                Transcript::Parts { thinking } => parts(message, thinking, &mut out),
                Transcript::Lines => out.push(line(message)),
            }
        }
        out
    }
}

fn parts(message: &Message, with_thinking: bool, out: &mut Vec<String>) {
    match message.role {
        Role::User => {
            let text = plain(&message.content);
            if !text.is_empty() {
                out.push(format!("[User]: {text}"));
            }
        }
        Role::Tool => {
            let text = plain(&message.content);
            if text.is_empty() {
                return;
            }
            let (start, more) = first_units(&text, MOST_UNITS);
            match more {
                0 => out.push(format!("[Tool result]: {text}")),
                _ => out.push(format!(
                    "[Tool result]: {start}\n\n[... {more} more characters truncated]"
                )),
            }
        }
        Role::Assistant => assistant(message, with_thinking, out),
        Role::System | Role::Developer | Role::Other(_) => {}
    }
}

fn assistant(message: &Message, with_thinking: bool, out: &mut Vec<String>) {
    let (mut texts, mut thoughts, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    let blocks = match &message.content {
        Content::Text(text) => vec![Block::text(text.clone())],
        Content::Blocks(blocks) => blocks.clone(),
    };
    for block in &blocks {
        match block {
            Block::Text { text, .. } => texts.push(text.to_string_lossy()),
            Block::Thinking { thinking, .. } => thoughts.push(thinking.to_string_lossy()),
            Block::ToolCall { name, arguments, .. } => {
                let arguments = match arguments.as_object() {
                    Some(object) => {
                        let fields = object.iter();
                        let fields = fields.map(|(key, value)| format!("{key}={}", value.get()));
                        fields.collect::<Vec<_>>().join(", ")
                    }
                    None => arguments.get().to_owned(),
                };
                calls.push(format!("{name}({arguments})"));
            }
            Block::Image(_) | Block::Other(_) => {}
        }
    }
    if with_thinking && !thoughts.is_empty() {
        out.push(format!("[Assistant thinking]: {}", thoughts.join("\n")));
    }
    if !texts.is_empty() {
        out.push(format!("[Assistant]: {}", texts.join("\n")));
    }
    if !calls.is_empty() {
        out.push(format!("[Assistant tool calls]: {}", calls.join("; ")));
    }
}

/// The text of what is not the model's: blocks without anything between them.
fn plain(content: &Content) -> String {
    match content {
        Content::Text(text) => text.to_string_lossy().into_owned(),
        Content::Blocks(blocks) => blocks
            .iter()
            .filter_map(|block| match block {
                Block::Text { text, .. } => Some(text.to_string_lossy()),
                _ => None,
            })
            .collect(),
    }
}

fn line(message: &Message) -> String {
    let role = message.role.as_text();
    let text = message.content.text();
    if message.role == Role::Tool {
        return format!("{role}: {}", first_chars(&text, MOST_CHARS));
    }
    let names: Vec<_> =
        message.content.tool_calls().map(|(_, name, _)| name.to_string_lossy()).collect();
    match names.is_empty() {
        true => format!("{role}: {text}"),
        false => format!("{role}: [tool_calls: {}] {text}", names.join(", ")),
    }
}
