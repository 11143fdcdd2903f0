//! A transcript on lines.

use forkwood::Timestamp;
use forkwood_view::sanitise;
use forkwood_view::transcript::{Block, BlockKind, Cut, Part};

use crate::error::Result;
use crate::output::Output;
use crate::style::{self, paint};
use crate::time;

/// What stands beside a block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Beside<'a> {
    /// The id as it is shown.
    pub(crate) id: &'a str,
    /// When.
    pub(crate) at: Option<Timestamp>,
    /// The label of the entry.
    pub(crate) label: Option<&'a str>,
}

/// Prints a block.
pub(crate) fn block(out: &mut Output, block: &Block, beside: Beside<'_>) -> Result {
    let mut tail = String::new();
    if beside.at.is_some() {
        tail.push_str(&format!("  {}", paint(style::DIM, time::short(beside.at))));
    }
    tail.push_str(&format!("  {}", paint(style::DIM, beside.id)));
    if let Some(label) = beside.label {
        tail.push_str(&format!(
            "  {}",
            paint(style::LABEL, format!("[{}]", sanitise::line(label)))
        ));
    }
    match &block.kind {
        BlockKind::Speaker { role, name, failed } => {
            let role_name = role.as_text().to_string_lossy().into_owned();
            let mut head = paint(style::role(role), sanitise::line(&role_name));
            if let Some(name) = name {
                head.push_str(&format!(" {}", paint(style::BOLD, name)));
            }
            if *failed {
                head.push_str(&format!(" {}", paint(style::BAD, "failed")));
            }
            out.line(format!("{head}{tail}"))?;
        }
        BlockKind::Divider(title) => {
            out.line(format!("{}{tail}", paint(style::BOLD, format!("--- {title} ---"))))?;
        }
        BlockKind::Note(note) => out.line(format!("{}{tail}", paint(style::DIM, note)))?,
    }
    for piece in &block.parts {
        part(out, piece)?;
    }
    out.line("")
}

fn part(out: &mut Output, part: &Part) -> Result {
    match part {
        Part::Text(text) => lines(out, text, "  ", None),
        Part::Thinking(text) => {
            out.line(paint(style::DIM, "  (thinking)"))?;
            lines(out, text, "  | ", Some(style::DIM))
        }
        Part::ToolCall { name, arguments } => {
            out.line(format!("  -> {}", paint(style::BOLD, name)))?;
            lines(out, arguments, "     ", None)
        }
        Part::Image { mime_type, bytes } => {
            let size = forkwood_view::summary::size(*bytes);
            out.line(format!("  [image {mime_type}, {size}]"))
        }
        Part::Other(json) => {
            out.line("  [a block of a kind that is not known]")?;
            lines(out, json, "     ", None)
        }
    }
}

fn lines(out: &mut Output, cut: &Cut, indent: &str, style: Option<anstyle::Style>) -> Result {
    for line in cut.text.lines() {
        let line = match style {
            Some(style) if !line.is_empty() => paint(style, line),
            _ => line.to_owned(),
        };
        out.line(format!("{indent}{line}").trim_end())?;
    }
    match cut.rest() {
        Some(rest) => out.line(format!("{indent}{}", paint(style::DIM, rest))),
        None => Ok(()),
    }
}
