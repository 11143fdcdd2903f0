//! A conversation as blocks: who spoke, what was called, where a summary took over.

use forkwood_core::message::ImageSource;
use forkwood_core::{Block as ContentBlock, Body, Content, Entry, EntryId, Message, Role, Text};

use crate::sanitise::{Layout, clean, head, text as safe};
use crate::summary;

/// How much of long texts is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of what people and models say.
    pub said: usize,
    /// Bytes of tool arguments, tool results and thinking.
    pub tools: usize,
}

impl Limits {
    /// Everything.
    pub const NONE: Limits = Limits { said: usize::MAX, tools: usize::MAX };
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { said: 20_000, tools: 2_000 }
    }
}

/// One block of a transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The entry it shows.
    pub entry: EntryId,
    /// What kind of block.
    pub kind: BlockKind,
    /// What stands in it.
    pub parts: Vec<Part>,
}

/// What kind of block.
#[derive(Clone, Debug, PartialEq)]
pub enum BlockKind {
    /// Somebody speaks.
    Speaker {
        /// Who.
        role: Role,
        /// The model or tool behind it, made safe.
        name: Option<String>,
        /// Whether a tool failed.
        failed: bool,
    },
    /// A line across: a compaction or the summary of another branch. Its text is the title.
    Divider(String),
    /// A line between messages: a change of model, a rename.
    Note(String),
}

/// A piece of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// What was said.
    Text(Cut),
    /// What was thought.
    Thinking(Cut),
    /// A call of a tool.
    ToolCall {
        /// The tool.
        name: String,
        /// Its arguments, JSON.
        arguments: Cut,
    },
    /// The place of an image.
    Image {
        /// Its type.
        mime_type: String,
        /// Its size, decoded.
        bytes: u64,
    },
    /// Something this version does not know, JSON.
    Other(Cut),
}

/// Safe text, perhaps not all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The text. Line ends and tabs stand in it, no other control character.
    pub text: String,
    /// Bytes that are left out after it.
    pub left_out: u64,
}

impl Cut {
    fn new(bytes: &[u8], limit: usize) -> Cut {
        let shown = head(bytes, limit);
        Cut {
            text: clean(shown, Layout::Lines).into_owned(),
            left_out: (bytes.len() - shown.len()) as u64,
        }
    }

    /// The line that tells what is left out, if anything is.
    pub fn rest(&self) -> Option<String> {
        (self.left_out > 0).then(|| format!("[{} more]", summary::size(self.left_out)))
    }
}

/// The block of an entry; `None` for what a transcript does not show.
pub fn block(entry: &Entry, limits: Limits) -> Option<Block> {
    let with = |kind, parts| Some(Block { entry: entry.id.clone(), kind, parts });
    match &entry.body {
        Body::Message(body) => Some(message(&entry.id, &body.message, limits)),
        Body::Compaction(compaction) => {
            let mut title = String::from("compaction");
            if let Some(before) = compaction.tokens_before {
                title.push_str(&format!(", {} tokens before", summary::thousands(before)));
            }
            if let Some(after) = compaction.tokens_after {
                title.push_str(&format!(", {} after", summary::thousands(after)));
            }
            with(BlockKind::Divider(title), texts([&compaction.summary], limits.said))
        }
        Body::BranchSummary { summary, .. } => with(
            BlockKind::Divider("summary of another branch".to_owned()),
            texts([summary], limits.said),
        ),
        Body::CustomMessage { namespace, content, display } => {
            let kind = BlockKind::Speaker {
                role: Role::User,
                name: Some(safe(namespace, Layout::Line).into_owned()),
                failed: false,
            };
            if *display { with(kind, parts(content, &Role::User, limits)) } else { None }
        }
        Body::SessionInfo(info) if info.session_id.is_some() => None,
        Body::SessionInfo(_)
        | Body::ModelChange { .. }
        | Body::ThinkingLevelChange { .. }
        | Body::ActiveToolsChange { .. }
        | Body::ContextEdit { .. }
        | Body::Unknown { .. } => with(BlockKind::Note(summary::entry(entry, 200)), Vec::new()),
        _ => None,
    }
}

/// The block of a message.
pub fn message(entry: &EntryId, message: &Message, limits: Limits) -> Block {
    let name = match message.role {
        Role::Tool => message.tool_name.as_ref(),
        _ => message.model.as_ref(),
    };
    let mut parts = parts(&message.content, &message.role, limits);
    parts.extend(summary::calls_in_metadata(message).into_iter().map(|(name, arguments)| {
        Part::ToolCall {
            name: safe(&name, Layout::Line).into_owned(),
            arguments: Cut::new(arguments.as_wtf8(), limits.tools),
        }
    }));
    Block {
        entry: entry.clone(),
        kind: BlockKind::Speaker {
            role: message.role.clone(),
            name: name.map(|name| safe(name, Layout::Line).into_owned()),
            failed: message.is_error == Some(true),
        },
        parts,
    }
}

fn texts<'a>(all: impl IntoIterator<Item = &'a Text>, limit: usize) -> Vec<Part> {
    all.into_iter()
        .filter(|text| !text.is_empty())
        .map(|text| Part::Text(Cut::new(text.as_wtf8(), limit)))
        .collect()
}

fn parts(content: &Content, role: &Role, limits: Limits) -> Vec<Part> {
    let said = if *role == Role::Tool { limits.tools } else { limits.said };
    let blocks = match content {
        Content::Text(text) => return texts([text], said),
        Content::Blocks(blocks) => blocks,
    };
    blocks
        .iter()
        .filter_map(|block| {
            Some(match block {
                ContentBlock::Text { text, .. } if text.is_empty() => return None,
                ContentBlock::Text { text, .. } => Part::Text(Cut::new(text.as_wtf8(), said)),
                ContentBlock::Thinking { thinking, .. } if thinking.is_empty() => return None,
                ContentBlock::Thinking { thinking, .. } => {
                    Part::Thinking(Cut::new(thinking.as_wtf8(), limits.tools))
                }
                ContentBlock::Image(image) => Part::Image {
                    mime_type: safe(&image.mime_type, Layout::Line).into_owned(),
                    bytes: match &image.source {
                        ImageSource::Inline(data) => data.len() as u64 / 4 * 3,
                        ImageSource::Blob { bytes, .. } => *bytes,
                    },
                },
                ContentBlock::ToolCall { name, arguments, .. } => Part::ToolCall {
                    name: safe(name, Layout::Line).into_owned(),
                    arguments: Cut::new(arguments.get().as_bytes(), limits.tools),
                },
                ContentBlock::Other(json) => {
                    Part::Other(Cut::new(json.get().as_bytes(), limits.tools))
                }
            })
        })
        .collect()
}

#[cfg(test)]
mod tests;
