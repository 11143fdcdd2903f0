//! A conversation as every provider takes it: paired, without what says nothing, and with ids
//! that are unique.

use std::collections::{HashMap, HashSet};

use forkwood_core::{Block, Content, Image, Json, Message, Role, Text};

use super::clean::{is_blank, name, no_picture, picture};
use crate::pairing::pair_tools;
use crate::thinking::{Target, is_redacted, survives};
use crate::{ProviderInput, View, lift_calls};

/// One step of a conversation.
pub(super) enum Step {
    /// Instructions, in the middle of the conversation or at its start.
    System(Text),
    /// What the person says.
    User(Vec<Part>),
    /// What the model says, and the answers to its calls, one for each and in order.
    Assistant(Vec<Said>, Vec<Answer>),
}

/// What a person or a tool shows.
pub(super) enum Part {
    Text(Text),
    /// Kind and base64.
    Image(String, String),
}

/// What a model says.
pub(super) enum Said {
    Text(Text),
    /// The text, or nothing where it is hidden, and the signature.
    Thinking(Option<Text>, Text),
    Call {
        id: String,
        name: String,
        arguments: Json,
    },
}

/// What a tool answered.
pub(super) struct Answer {
    pub(super) id: String,
    pub(super) parts: Vec<Part>,
    pub(super) is_error: bool,
}

/// Longest id of a call that every provider takes.
const LONGEST_ID: usize = 40;

/// Longest name of a tool that every provider takes.
pub(super) const LONGEST_NAME: usize = 64;

/// A tool's name as every provider takes it: letters, digits, `_` and `-`, at most 64 of them. A
/// model may have called what is none.
pub fn wire_name(tool: &Text) -> String {
    name(tool, LONGEST_NAME)
}

/// The steps of a conversation, for a protocol.
pub(super) fn steps(input: &ProviderInput, target: &Target<'_>) -> Vec<Step> {
    let View { messages, entry_ids } = &input.view;
    let paired = pair_tools(&lift_calls(messages), entry_ids).messages;
    let mut ids = CallIds::default();
    let mut out = Vec::new();
    let mut rest = paired.iter().peekable();
    // What a model thought, where its answer is told in more than one message.
    let mut thought = Vec::new();
    while let Some(message) = rest.next() {
        match &message.role {
            Role::System | Role::Developer => {
                let text = message.content.text();
                if !is_blank(&text) {
                    out.push(Step::System(text));
                }
            }
            Role::User => {
                let parts = parts(&message.content);
                if !parts.is_empty() {
                    out.push(Step::User(parts));
                }
            }
            Role::Assistant => {
                let mut said = said(message, target, &mut ids);
                said.splice(0..0, thought.drain(..));
                let mut answers = Vec::new();
                let called = said.iter().filter_map(|said| match said {
                    Said::Call { id, .. } => Some(id.clone()),
                    _ => None,
                });
                for id in called {
                    let Some(result) = rest.next_if(|next| next.role == Role::Tool) else { break };
                    let is_error = result.is_error == Some(true);
                    answers.push(Answer { id, parts: parts(&result.content), is_error });
                }
                // Thinking that leads to nothing is refused.
                if said.iter().any(|said| !matches!(said, Said::Thinking(..))) {
                    out.push(Step::Assistant(said, answers));
                } else if rest.peek().is_some_and(|next| next.role == Role::Assistant) {
                    thought = said;
                }
            }
            // Results stand with their calls; other roles mean nothing here.
            Role::Tool | Role::Other(_) => {}
        }
    }
    out
}

fn parts(content: &Content) -> Vec<Part> {
    let blocks = match content {
        Content::Text(text) => return shown(text).into_iter().collect(),
        Content::Blocks(blocks) => blocks,
    };
    blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text { text, .. } => shown(text),
            Block::Image(image) => Some(image_part(image)),
            _ => None,
        })
        .collect()
}

fn shown(text: &Text) -> Option<Part> {
    (!is_blank(text)).then(|| Part::Text(text.clone()))
}

fn image_part(image: &Image) -> Part {
    match picture(image) {
        Some((mime, data)) => Part::Image(mime.into(), data.into()),
        None => Part::Text(no_picture(image)),
    }
}

fn said(message: &Message, target: &Target<'_>, ids: &mut CallIds) -> Vec<Said> {
    let blocks = match &message.content {
        Content::Text(text) if is_blank(text) => return Vec::new(),
        Content::Text(text) => return vec![Said::Text(text.clone())],
        Content::Blocks(blocks) => blocks,
    };
    blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text { text, .. } => (!is_blank(text)).then(|| Said::Text(text.clone())),
            Block::Thinking { thinking, signature, .. } => {
                let signature = signature.clone().filter(|_| survives(message, block, target))?;
                let text = (!is_redacted(block)).then(|| thinking.clone());
                Some(Said::Thinking(text, signature))
            }
            Block::ToolCall { id, name: tool, arguments, .. } => Some(Said::Call {
                id: ids.next(id),
                name: name(tool, LONGEST_NAME),
                arguments: arguments.clone(),
            }),
            // A model's own images are taken by none of them.
            Block::Image(_) | Block::Other(_) => None,
        })
        .collect()
}

/// Ids of calls as they are sent: some providers number them anew in each answer, and then the
/// same id comes again and again, which others refuse.
///
/// For who writes requests with another program than [`ProviderInput::body`].
#[derive(Clone, Debug, Default)]
pub struct CallIds {
    counts: HashMap<String, u64>,
    used: HashSet<String>,
}

impl CallIds {
    /// The id to send for that of the next call, in the order of the conversation: letters,
    /// digits, `_` and `-`, at most 40 of them, and no other call has it.
    pub fn next(&mut self, id: &Text) -> String {
        let base = name(id, LONGEST_ID);
        if self.used.insert(base.clone()) {
            return base;
        }
        let count = self.counts.entry(base.clone()).or_insert(1);
        loop {
            *count += 1;
            let kept: String = base.chars().take(LONGEST_ID - 20).collect();
            let numbered = match base.len() > LONGEST_ID - 20 {
                true => name(&format!("{base}:{count}").into(), LONGEST_ID),
                false => format!("{kept}_{count}"),
            };
            if self.used.insert(numbered.clone()) {
                return numbered;
            }
        }
    }
}
