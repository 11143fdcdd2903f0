//! One line that tells what an entry is.
//!
//! The cost is that of the line, not of the entry: a text of 80 MB is looked at until the line is
//! full, and its size is told.

use std::borrow::Cow;

use forkwood_core::entry::{Compaction, Operation, SessionInfo};
use forkwood_core::json::{self, Object};
use forkwood_core::message::ImageSource;
use forkwood_core::{Block, Body, Content, Entry, Message, Role, Text};

use crate::sanitise::{Layout, Unit, Units};
use crate::width::{ELLIPSIS, char_width, width};

/// Less than this that was cut is not worth telling.
const WORTH_TELLING: u64 = 1000;

/// What an entry is, on at most so many columns.
pub fn entry(entry: &Entry, columns: usize) -> String {
    let mut line = Line::new(columns);
    match &entry.body {
        Body::SessionInfo(info) => session_info(&mut line, info),
        Body::Message(body) => return message(&body.message, columns),
        Body::ModelChange { model, provider } => {
            line.word("model: ");
            model_name(&mut line, provider.as_ref(), model);
        }
        Body::ThinkingLevelChange { thinking_level } => {
            line.word("thinking: ").text(thinking_level);
        }
        Body::ActiveToolsChange { active_tool_names } => {
            line.word("tools: ");
            names(&mut line, active_tool_names);
        }
        Body::Compaction(compaction) => compacted(&mut line, compaction),
        Body::BranchSummary { summary, .. } => {
            line.word("branch summary: ").text(summary);
        }
        Body::Label { label, target_id } => {
            match label {
                Some(label) => line.word("label: ").text(label),
                None => line.word("label cleared"),
            };
            if let Some(target) = target_id {
                line.word(" on ").word(target.as_str());
            }
        }
        Body::Leaf { leaf_id } => {
            line.word("moved to ").word(leaf_id.as_ref().map_or("the start", |id| id.as_str()));
        }
        Body::Custom { namespace, data, .. } => {
            line.word("custom ").text(namespace).word(": ").bytes(data.get().as_bytes());
        }
        Body::CustomMessage { namespace, content, .. } => {
            line.text(namespace).word(": ");
            content_text(&mut line, content);
        }
        Body::ContextEdit { target_id, replacement } => {
            line.word("context edit: ").word(target_id.as_str());
            match replacement {
                Some(content) => {
                    line.word(" is now: ");
                    content_text(&mut line, content);
                }
                None => {
                    line.word(" left out");
                }
            }
        }
        Body::Usage { kind, provider, model, .. } => {
            line.word("usage ").text(kind).word(": ");
            model_name(&mut line, Some(provider), model);
        }
        Body::Operation(operation) => operated(&mut line, operation),
        _ => {
            line.text(&entry.body.tag());
        }
    }
    line.finish()
}

/// What a message says, on at most so many columns: who speaks, the first text, the tools that
/// are called.
pub fn message(message: &Message, columns: usize) -> String {
    // Calls are what a reader looks for; they keep their place behind a long text.
    let calls = calls(message, columns / 3);
    let room = columns.saturating_sub(width(&calls));
    let mut line = Line::new(room);
    line.text(&message.role.as_text());
    if message.role == Role::Tool {
        if let Some(name) = &message.tool_name {
            line.word(" ").text(name);
        }
        if message.is_error == Some(true) {
            line.word(" failed");
        }
    }
    let said_nothing = line.out.len();
    line.word(": ");
    let colon = line.out.len();
    content_text(&mut line, &message.content);
    if line.out.len() == colon && !line.full {
        line.out.truncate(said_nothing);
    }
    let mut out = line.finish();
    out.push_str(&calls);
    match crate::width::cut(&out, columns) {
        Cow::Borrowed(_) => out,
        Cow::Owned(cut) => cut,
    }
}

/// The tools that are called, with what separates them from the text before.
fn calls(message: &Message, columns: usize) -> String {
    let names = tool_names(message);
    if names.is_empty() {
        return String::new();
    }
    let mut line = Line::new(columns.max(8));
    for (at, name) in names.iter().enumerate() {
        if at > 0 {
            line.word(", ");
        }
        line.text(name);
        if line.full {
            break;
        }
    }
    format!(" -> {}", line.finish())
}

/// The tools that a message calls: in its blocks, or as files of the OpenAI style have them.
fn tool_names(message: &Message) -> Vec<Text> {
    let mut names: Vec<Text> =
        message.content.tool_calls().map(|(_, name, _)| name.clone()).collect();
    names.extend(calls_in_metadata(message).into_iter().map(|(name, _)| name));
    names
}

/// Calls in `metadata.tool_calls`, as (name, arguments as JSON or text).
pub(crate) fn calls_in_metadata(message: &Message) -> Vec<(Text, Text)> {
    let Some(metadata) = &message.metadata else { return Vec::new() };
    let Some(object) = metadata.as_object() else { return Vec::new() };
    let calls = object.get("tool_calls").and_then(json::elements).unwrap_or_default();
    calls
        .into_iter()
        .filter_map(|call| {
            let call = Object::parse(call.get()).ok()?;
            let function = call.get("function").and_then(|json| Object::parse(json).ok());
            let fields = function.as_ref().unwrap_or(&call);
            let arguments = fields.get("arguments").unwrap_or("{}");
            let arguments = json::text_of(arguments).unwrap_or_else(|| arguments.into());
            Some((fields.text("name")?, arguments))
        })
        .collect()
}

fn content_text(line: &mut Line, content: &Content) {
    match content {
        Content::Text(text) => {
            line.text(text);
        }
        Content::Blocks(blocks) => {
            let texts = blocks.iter().any(|block| matches!(block, Block::Text { .. }));
            for block in blocks {
                if line.full {
                    line.left_out += block_size(block);
                    continue;
                }
                match block {
                    Block::Text { text, .. } => {
                        line.gap().text(text);
                    }
                    // Only worth a line where nothing was said aloud.
                    Block::Thinking { thinking, .. } if !texts => {
                        line.gap().word("(thinking) ").text(thinking);
                    }
                    Block::Image(image) => {
                        line.gap().word("[image ").text(&image.mime_type).word("]");
                    }
                    Block::Other(_) => {
                        line.gap().word("[unknown block]");
                    }
                    Block::Thinking { .. } | Block::ToolCall { .. } => {}
                }
            }
        }
    }
}

fn block_size(block: &Block) -> u64 {
    match block {
        Block::Text { text, .. } => text.len() as u64,
        Block::Image(image) => match &image.source {
            ImageSource::Inline(data) => data.len() as u64,
            ImageSource::Blob { bytes, .. } => *bytes,
        },
        _ => 0,
    }
}

fn session_info(line: &mut Line, info: &SessionInfo) {
    match &info.session_id {
        Some(id) => {
            line.word("session ").text(id);
            if let Some(title) = &info.title {
                line.word(": ").text(title);
            }
        }
        None => match &info.title {
            Some(title) if title.is_empty() => {
                line.word("title cleared");
            }
            Some(title) => {
                line.word("title: ").text(title);
            }
            None if info.metadata.is_some() => {
                line.word("metadata");
            }
            None => {
                line.word("session info");
            }
        },
    }
}

fn compacted(line: &mut Line, compaction: &Compaction) {
    line.word("compaction");
    match (compaction.tokens_before, compaction.tokens_after) {
        (Some(before), Some(after)) => {
            line.word(&format!(" {} -> {} tokens", thousands(before), thousands(after)));
        }
        (Some(before), None) => {
            line.word(&format!(" of {} tokens", thousands(before)));
        }
        _ => {}
    }
    if !compaction.summary.is_empty() {
        line.word(": ").text(&compaction.summary);
    }
}

fn operated(line: &mut Line, operation: &Operation) {
    line.word("operation ").text(&operation.kind).word(" ").text(&operation.phase);
    if let Some(outcome) = &operation.outcome {
        line.word(": ").text(outcome);
    }
}

fn model_name(line: &mut Line, provider: Option<&Text>, model: &Text) {
    if let Some(provider) = provider {
        line.text(provider).word("/");
    }
    line.text(model);
}

fn names(line: &mut Line, names: &[Text]) {
    if names.is_empty() {
        line.word("none");
    }
    for (at, name) in names.iter().enumerate() {
        if at > 0 {
            line.word(", ");
        }
        line.text(name);
    }
}

/// Digits in groups of three: `45,000`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of bytes for people: `512 B`, `1.5 kB`, `80.0 MB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// A line that takes characters until it is full. White space of any length counts as a blank.
struct Line {
    out: String,
    used: usize,
    columns: usize,
    blank: bool,
    full: bool,
    left_out: u64,
}

impl Line {
    fn new(columns: usize) -> Line {
        Line { out: String::new(), used: 0, columns, blank: false, full: false, left_out: 0 }
    }

    fn word(&mut self, word: &str) -> &mut Line {
        self.bytes(word.as_bytes())
    }

    fn text(&mut self, text: &Text) -> &mut Line {
        self.bytes(text.as_wtf8())
    }

    /// A blank, where something stands before it.
    fn gap(&mut self) -> &mut Line {
        self.blank = !self.out.is_empty();
        self
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Line {
        if self.full {
            self.left_out += bytes.len() as u64;
            return self;
        }
        let mut units = Units::new(bytes);
        let mut left = units.left();
        let mut shown = String::new();
        while let Some(unit) = units.next() {
            if let Unit::Char(' ' | '\n' | '\r' | '\t') = unit {
                self.blank = !self.out.is_empty();
                left = units.left();
                continue;
            }
            shown.clear();
            unit.push(&mut shown, Layout::Line);
            let takes = shown.chars().map(char_width).sum::<usize>();
            if self.used + takes + usize::from(self.blank) > self.columns {
                self.full = true;
                self.left_out += left as u64;
                return self;
            }
            if std::mem::take(&mut self.blank) {
                self.out.push(' ');
                self.used += 1;
            }
            self.out.push_str(&shown);
            self.used += takes;
            left = units.left();
        }
        self
    }

    fn finish(mut self) -> String {
        if !self.full {
            return self.out;
        }
        let mut tail = ELLIPSIS[..ELLIPSIS.len().min(self.columns)].to_owned();
        if self.left_out >= WORTH_TELLING {
            let told = format!("{tail} (+{})", size(self.left_out));
            if told.len() * 2 <= self.columns {
                tail = told;
            }
        }
        while self.used + tail.len() > self.columns {
            match self.out.pop() {
                Some(c) => self.used -= char_width(c),
                None => break,
            }
        }
        self.out.truncate(self.out.trim_end().len());
        self.out.push_str(&tail);
        self.out
    }
}

#[cfg(test)]
mod tests;
