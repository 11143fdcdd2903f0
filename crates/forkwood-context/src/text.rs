//! Measures and pieces of texts.

use std::borrow::Cow;

use forkwood_core::Text;

/// Unicode scalars; a lone surrogate counts as one.
pub(crate) fn chars(text: &Text) -> usize {
    text.as_wtf8().iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

/// UTF-16 units, as JavaScript measures.
pub(crate) fn utf16_units(text: &Text) -> usize {
    units(text.as_wtf8())
}

/// UTF-16 units of WTF-8.
pub(crate) fn units(wtf8: &[u8]) -> usize {
    wtf8.iter().map(|byte| usize::from(byte & 0xc0 != 0x80) + usize::from(*byte >= 0xf0)).sum()
}

/// The first `count` scalars. Lone surrogates become U+FFFD.
pub(crate) fn first_chars(text: &Text, count: usize) -> Cow<'_, str> {
    match text.to_string_lossy() {
        Cow::Borrowed(text) => Cow::Borrowed(head(text, count)),
        Cow::Owned(text) => Cow::Owned(head(&text, count).to_owned()),
    }
}

/// The first `count` scalars of a `str`.
pub(crate) fn head(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or(text, |(at, _)| &text[..at])
}

/// The last `count` scalars of a `str`.
pub(crate) fn tail(text: &str, count: usize) -> &str {
    match count.checked_sub(1) {
        Some(back) => text.char_indices().nth_back(back).map_or(text, |(at, _)| &text[at..]),
        None => "",
    }
}

/// The first `count` UTF-16 units, and how many more there are. A pair is not split.
pub(crate) fn first_units(text: &str, count: usize) -> (&str, usize) {
    let mut seen = 0;
    for (at, ch) in text.char_indices() {
        if seen + ch.len_utf16() > count {
            return (&text[..at], units(&text.as_bytes()[at..]));
        }
        seen += ch.len_utf16();
    }
    (text, 0)
}

/// A hash that is the same on every machine and in every version: FNV-1a.
pub(crate) fn stable_hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures() {
        let text = Text::from("a\u{e9}\u{1f600}");
        assert_eq!((chars(&text), utf16_units(&text)), (3, 4));
        assert_eq!(first_chars(&text, 2), "a\u{e9}");
        assert_eq!((tail("abc", 2), tail("abc", 9), tail("abc", 0)), ("bc", "abc", ""));
        assert_eq!(first_units("ab\u{1f600}c", 3), ("ab", 3));
        let lone: Text = serde_json::from_str(r#""a\ud83d""#).unwrap();
        assert_eq!((chars(&lone), utf16_units(&lone)), (2, 2));
        assert_eq!(first_chars(&lone, 2), "a\u{fffd}");
    }
}
