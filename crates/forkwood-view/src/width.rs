//! Cutting and padding by the columns that text takes on a terminal.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Stands at the end of what was cut.
pub const ELLIPSIS: &str = "...";

/// The columns that a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

pub(crate) fn char_width(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// The text, cut to so many columns; what is cut ends in [`ELLIPSIS`].
pub fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    let mut used = 0;
    // Where the text ends if the ellipsis has to fit after it.
    let mut end = 0;
    for (at, c) in text.char_indices() {
        used += char_width(c);
        if used > columns {
            let dots = &ELLIPSIS[..ELLIPSIS.len().min(columns)];
            return Cow::Owned(format!("{}{dots}", &text[..end]));
        }
        if used + ELLIPSIS.len() <= columns {
            end = at + c.len_utf8();
        }
    }
    Cow::Borrowed(text)
}

/// The text, filled with blanks to so many columns.
pub fn pad(text: &str, columns: usize) -> String {
    let fill = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(fill))
}

#[cfg(test)]
mod tests;
