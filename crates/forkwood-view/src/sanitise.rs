//! Text that no terminal takes for a command.
//!
//! What stands in a session is data. Control characters, and characters that change the order
//! or the direction of what is shown, come out as visible ASCII: `^[` for escape, `<U+202E>` for
//! a bidi override, `<U+D83D>` for half a surrogate pair. The result holds no control character
//! besides line ends and tabs, and those only where the layout has room for them.

use std::borrow::Cow;

use forkwood_core::Text;

/// Where the text will stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// On one line: line ends and tabs are made visible too.
    Line,
    /// On lines of its own: line ends and tabs stay, `\r\n` counts as one line end.
    Lines,
}

/// Makes text safe to stand on one line.
pub fn line(text: &str) -> Cow<'_, str> {
    clean(text.as_bytes(), Layout::Line)
}

/// Makes text safe to stand on lines of its own.
pub fn lines(text: &str) -> Cow<'_, str> {
    clean(text.as_bytes(), Layout::Lines)
}

/// Makes text of a session safe; lone surrogates included.
pub fn text(text: &Text, layout: Layout) -> Cow<'_, str> {
    clean(text.as_wtf8(), layout)
}

/// Makes WTF-8 safe. Bytes that are neither UTF-8 nor a surrogate become U+FFFD.
pub fn clean(bytes: &[u8], layout: Layout) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.chars().any(|c| needs_escape(c, layout))
    {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(bytes.len() + 16);
    let mut units = Units::new(bytes).peekable();
    while let Some(unit) = units.next() {
        // A line end of Windows is a line end, not a control character to be shown.
        if layout == Layout::Lines
            && unit == Unit::Char('\r')
            && units.peek() == Some(&Unit::Char('\n'))
        {
            continue;
        }
        unit.push(&mut out, layout);
    }
    Cow::Owned(out)
}

/// At most `max` bytes of WTF-8, cut between characters.
pub(crate) fn head(bytes: &[u8], max: usize) -> &[u8] {
    if bytes.len() <= max {
        return bytes;
    }
    let mut end = max;
    while end > 0 && bytes[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    &bytes[..end]
}

/// One character of WTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A character.
    Char(char),
    /// Half of a surrogate pair, without the other half.
    Surrogate(u16),
}

impl Unit {
    /// Appends the character in its safe form.
    pub(crate) fn push(self, out: &mut String, layout: Layout) {
        match self {
            Unit::Surrogate(unit) => push_code(out, u32::from(unit)),
            Unit::Char(c) if !needs_escape(c, layout) => out.push(c),
            Unit::Char(c @ '\0'..='\x1f') => {
                out.push('^');
                out.push(char::from(c as u8 + 0x40));
            }
            Unit::Char('\x7f') => out.push_str("^?"),
            Unit::Char(c) => push_code(out, u32::from(c)),
        }
    }
}

fn push_code(out: &mut String, code: u32) {
    out.push_str(&format!("<U+{code:04X}>"));
}

/// Whether a character acts instead of being shown.
fn needs_escape(c: char, layout: Layout) -> bool {
    match c {
        '\n' | '\t' => layout == Layout::Line,
        // C0, DEL and C1: on their own, and as the start of escape sequences.
        '\0'..='\x1f' | '\x7f'..='\u{9f}' => true,
        // Marks, embeddings, overrides and isolates of the bidi algorithm; line and paragraph
        // separators lie between them.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            true
        }
        // A byte-order mark within text, and annotation characters, which hide text.
        '\u{feff}' | '\u{fff9}'..='\u{fffb}' => true,
        _ => false,
    }
}

/// The characters of WTF-8, whatever the bytes.
pub(crate) struct Units<'a> {
    valid: std::str::Chars<'a>,
    rest: &'a [u8],
}

impl<'a> Units<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Units<'a> {
        Units { valid: "".chars(), rest: bytes }
    }

    /// How many bytes were not given out yet.
    pub(crate) fn left(&self) -> usize {
        self.valid.as_str().len() + self.rest.len()
    }
}

impl Iterator for Units<'_> {
    type Item = Unit;

    fn next(&mut self) -> Option<Unit> {
        loop {
            if let Some(c) = self.valid.next() {
                return Some(Unit::Char(c));
            }
            if self.rest.is_empty() {
                return None;
            }
            if let [0xed, second @ 0xa0..=0xbf, third @ 0x80..=0xbf, rest @ ..] = self.rest {
                self.rest = rest;
                let unit = 0xd000 | (u16::from(second & 0x3f) << 6) | u16::from(third & 0x3f);
                return Some(Unit::Surrogate(unit));
            }
            let valid = match std::str::from_utf8(self.rest) {
                Ok(text) => text,
                Err(error) => {
                    std::str::from_utf8(&self.rest[..error.valid_up_to()]).unwrap_or_default()
                }
            };
            if valid.is_empty() {
                self.rest = &self.rest[1..];
                return Some(Unit::Char('\u{fffd}'));
            }
            self.rest = &self.rest[valid.len()..];
            self.valid = valid.chars();
        }
    }
}

#[cfg(test)]
mod tests;
