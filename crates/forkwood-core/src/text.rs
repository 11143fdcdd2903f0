//! Text as it stands in session files.
//!
//! Programs written in JavaScript put lone surrogates into JSON (`"\ud83d"`), which no Rust
//! `String` can hold. [`Text`] keeps them in WTF-8, the superset of UTF-8 made for this, so
//! that reading and writing a line never changes what it says.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserializer, Visitor};
use serde::ser::{Error as _, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

mod unquote;

pub(crate) use unquote::unquote;

/// A string of a session file: UTF-8, or WTF-8 where the file holds lone surrogates.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Text(Repr);

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Repr {
    Utf8(String),
    Wtf8(Box<[u8]>),
}

impl Text {
    /// The text as `&str`, or `None` where it holds a lone surrogate.
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Repr::Utf8(text) => Some(text),
            Repr::Wtf8(_) => None,
        }
    }

    /// The text with each lone surrogate replaced by U+FFFD, for showing and for providers.
    pub fn to_string_lossy(&self) -> Cow<'_, str> {
        match &self.0 {
            Repr::Utf8(text) => Cow::Borrowed(text),
            Repr::Wtf8(bytes) => {
                let mut out = String::with_capacity(bytes.len());
                for piece in pieces(bytes) {
                    match piece {
                        Piece::Text(text) => out.push_str(text),
                        Piece::Surrogate(_) => out.push('\u{fffd}'),
                    }
                }
                Cow::Owned(out)
            }
        }
    }

    /// An injective `String` form: lone surrogates stand as the six characters `\udXXX`.
    /// Used for ids, where two different texts must stay different.
    pub fn to_string_escaped(&self) -> Cow<'_, str> {
        match &self.0 {
            Repr::Utf8(text) => Cow::Borrowed(text),
            Repr::Wtf8(bytes) => {
                let mut out = String::with_capacity(bytes.len() + 8);
                for piece in pieces(bytes) {
                    match piece {
                        Piece::Text(text) => out.push_str(text),
                        Piece::Surrogate(unit) => out.push_str(&format!("\\u{unit:04x}")),
                    }
                }
                Cow::Owned(out)
            }
        }
    }

    /// Whether there is no text at all.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Repr::Utf8(text) => text.is_empty(),
            Repr::Wtf8(bytes) => bytes.is_empty(),
        }
    }

    /// Length in bytes of the WTF-8 form.
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Utf8(text) => text.len(),
            Repr::Wtf8(bytes) => bytes.len(),
        }
    }

    /// The WTF-8 bytes; valid UTF-8 where [`Text::as_str`] is `Some`.
    pub fn as_wtf8(&self) -> &[u8] {
        match &self.0 {
            Repr::Utf8(text) => text.as_bytes(),
            Repr::Wtf8(bytes) => bytes,
        }
    }

    /// Joins texts, as `a + b`. A high surrogate at the end of one and a low one at the start
    /// of the next become the character they stand for.
    pub fn concat<'a>(parts: impl IntoIterator<Item = &'a Text>) -> Text {
        let mut bytes = Vec::new();
        for part in parts {
            bytes.extend_from_slice(part.as_wtf8());
        }
        Text::from_wtf8_unchecked_pairs(bytes)
    }

    /// The text as a JSON string literal, quotes included. Lone surrogates are escaped.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.push_json(&mut out);
        out
    }

    /// Writes the same behind what is there.
    pub(crate) fn push_json(&self, out: &mut String) {
        match &self.0 {
            Repr::Utf8(text) => {
                let mut bytes = std::mem::take(out).into_bytes();
                // Serializing a `str` into memory cannot fail, and gives UTF-8.
                let _ = serde_json::to_writer(&mut bytes, text);
                *out = String::from_utf8(bytes).unwrap_or_default();
            }
            Repr::Wtf8(bytes) => {
                out.push('"');
                for piece in pieces(bytes) {
                    match piece {
                        Piece::Text(text) => {
                            let quoted = quote(text);
                            out.push_str(&quoted[1..quoted.len() - 1]);
                        }
                        Piece::Surrogate(unit) => out.push_str(&format!("\\u{unit:04x}")),
                    }
                }
                out.push('"');
            }
        }
    }

    /// Takes bytes that a JSON string decoded to. Pairs that were split are joined; bytes that
    /// are neither UTF-8 nor a surrogate become U+FFFD.
    fn from_wtf8_unchecked_pairs(bytes: Vec<u8>) -> Text {
        match String::from_utf8(bytes) {
            Ok(text) => Text(Repr::Utf8(text)),
            Err(error) => {
                let bytes = error.into_bytes();
                let mut out = Vec::with_capacity(bytes.len());
                let mut high: Option<u32> = None;
                let mut lone = false;
                for piece in pieces(&bytes) {
                    match piece {
                        Piece::Text("") => {}
                        Piece::Text(text) => {
                            if let Some(unit) = high.take() {
                                push_surrogate(&mut out, unit);
                                lone = true;
                            }
                            out.extend_from_slice(text.as_bytes());
                        }
                        Piece::Surrogate(unit) if unit < 0xdc00 => {
                            if let Some(before) = high.replace(unit) {
                                push_surrogate(&mut out, before);
                                lone = true;
                            }
                        }
                        Piece::Surrogate(unit) => match high.take() {
                            Some(before) => {
                                let code = 0x10000 + ((before - 0xd800) << 10) + (unit - 0xdc00);
                                let ch = char::from_u32(code).unwrap_or('\u{fffd}');
                                out.extend_from_slice(ch.encode_utf8(&mut [0; 4]).as_bytes());
                            }
                            None => {
                                push_surrogate(&mut out, unit);
                                lone = true;
                            }
                        },
                    }
                }
                if let Some(unit) = high {
                    push_surrogate(&mut out, unit);
                    lone = true;
                }
                if lone {
                    Text(Repr::Wtf8(out.into_boxed_slice()))
                } else {
                    Text(Repr::Utf8(String::from_utf8_lossy(&out).into_owned()))
                }
            }
        }
    }
}

/// A JSON string literal for valid text. Serializing a `str` cannot fail.
fn quote(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| String::from("\"\""))
}

fn push_surrogate(out: &mut Vec<u8>, unit: u32) {
    out.push(0xe0 | (unit >> 12) as u8);
    out.push(0x80 | ((unit >> 6) & 0x3f) as u8);
    out.push(0x80 | (unit & 0x3f) as u8);
}

enum Piece<'a> {
    Text(&'a str),
    Surrogate(u32),
}

/// Splits WTF-8 into runs of UTF-8 and single surrogates. Other invalid bytes come out as
/// U+FFFD, so that no input can make this fail.
fn pieces(mut bytes: &[u8]) -> impl Iterator<Item = Piece<'_>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        if let [0xed, second @ 0xa0..=0xbf, third @ 0x80..=0xbf, rest @ ..] = bytes {
            let unit = 0xd000 | (u32::from(second & 0x3f) << 6) | u32::from(third & 0x3f);
            bytes = rest;
            return Some(Piece::Surrogate(unit));
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                bytes = &[];
                Some(Piece::Text(text))
            }
            Err(error) if error.valid_up_to() > 0 => {
                let (valid, rest) = bytes.split_at(error.valid_up_to());
                bytes = rest;
                Some(Piece::Text(std::str::from_utf8(valid).unwrap_or_default()))
            }
            Err(_) => {
                bytes = &bytes[1..];
                Some(Piece::Text("\u{fffd}"))
            }
        }
    })
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text(Repr::Utf8(text.to_owned()))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text(Repr::Utf8(text))
    }
}

impl Default for Text {
    fn default() -> Text {
        Text(Repr::Utf8(String::new()))
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == Some(other)
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == Some(*other)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_string_lossy())
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Repr::Utf8(text) => serializer.serialize_str(text),
            Repr::Wtf8(_) => RawValue::from_string(self.to_json())
                .map_err(S::Error::custom)?
                .serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        struct TextVisitor;
        impl Visitor<'_> for TextVisitor {
            type Value = Text;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text::from(text))
            }
            fn visit_string<E: de::Error>(self, text: String) -> Result<Text, E> {
                Ok(Text::from(text))
            }
            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Text, E> {
                Ok(Text::from_wtf8_unchecked_pairs(bytes.to_vec()))
            }
            fn visit_byte_buf<E: de::Error>(self, bytes: Vec<u8>) -> Result<Text, E> {
                Ok(Text::from_wtf8_unchecked_pairs(bytes))
            }
        }
        // serde_json hands a JSON string to `deserialize_bytes` as WTF-8 and does not reject
        // lone surrogates there, which `deserialize_str` does.
        deserializer.deserialize_bytes(TextVisitor)
    }
}

#[cfg(test)]
mod tests;
