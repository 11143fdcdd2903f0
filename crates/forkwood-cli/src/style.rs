//! Colours. They go with words and signs and never stand for them.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};
use forkwood::Role;

/// An id, or the unique part of one.
pub(crate) const ID: Style = AnsiColor::Cyan.on_default().bold();
/// What stands back.
pub(crate) const DIM: Style = Style::new().dimmed();
/// Names and titles.
pub(crate) const BOLD: Style = Style::new().bold();
/// A label.
pub(crate) const LABEL: Style = AnsiColor::Yellow.on_default().bold();
/// A lane.
pub(crate) const LANE: Style = AnsiColor::Magenta.on_default();
/// Damage and errors.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Warnings.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
/// Hints and notes.
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default();
/// Where the conversation stands.
pub(crate) const LEAF: Style = AnsiColor::Green.on_default().bold();

/// Text in a style. The escapes are taken out again where the output has no colour.
pub(crate) fn paint(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// The style of who speaks.
pub(crate) fn role(role: &Role) -> Style {
    match role {
        Role::User => AnsiColor::Green.on_default().bold(),
        Role::Assistant => AnsiColor::Blue.on_default().bold(),
        Role::Tool => AnsiColor::Yellow.on_default().bold(),
        _ => BOLD,
    }
}
