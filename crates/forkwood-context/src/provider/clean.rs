//! Texts, names and values as providers take them.

use std::borrow::Cow;

use forkwood_core::json::{JsonKind, ObjectWriter, text_of};
use forkwood_core::{Image, Json, Text};

use crate::text::stable_hash;

/// A text as a JSON string; lone surrogates are U+FFFD.
pub(super) fn string(text: &Text) -> String {
    match text.as_str() {
        Some(_) => text.to_json(),
        None => Text::from(text.to_string_lossy().into_owned()).to_json(),
    }
}

/// Whether a text says nothing: providers refuse blanks alone.
pub(super) fn is_blank(text: &Text) -> bool {
    text.as_str().is_some_and(|text| text.trim().is_empty())
}

/// A JSON value in which escapes of lone surrogates are U+FFFD. Everything else stays as it is.
pub(super) fn value(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let unit = |at: usize| {
        let digits = bytes.get(at..at + 6).filter(|escape| escape.starts_with(b"\\u"))?;
        u16::from_str_radix(std::str::from_utf8(&digits[2..]).ok()?, 16).ok()
    };
    let mut out = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        if *byte != b'\\' {
            at += 1;
            continue;
        }
        match unit(at) {
            Some(0xd800..=0xdbff) if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) => at += 12,
            Some(0xd800..=0xdfff) => {
                out.push_str(&json[copied..at]);
                out.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            // The character behind a backslash is part of the escape.
            _ => at += 2,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    out.push_str(&json[copied..]);
    Cow::Owned(out)
}

/// Arguments of a call: an object. Some programs keep them as the JSON text of one.
pub(super) fn arguments(json: &Json) -> String {
    match json.kind() {
        JsonKind::Object => value(json.get()).into_owned(),
        JsonKind::Null => "{}".into(),
        JsonKind::String => {
            let text = text_of(json.get()).unwrap_or_default();
            if is_blank(&text) {
                return "{}".into();
            }
            match Json::parse(&text.to_string_lossy()) {
                Ok(inner) if inner.kind() == JsonKind::Object => value(inner.get()).into_owned(),
                _ => wrapped(&value(json.get())),
            }
        }
        _ => wrapped(&value(json.get())),
    }
}

fn wrapped(json: &str) -> String {
    let mut out = ObjectWriter::new();
    out.raw("arguments", json);
    out.finish()
}

/// A schema: an object that says of itself that it describes one.
pub(super) fn schema(json: &Json) -> String {
    match json.as_object() {
        Some(object) if object.get("type").is_some() => value(json.get()).into_owned(),
        Some(object) => {
            let mut out = ObjectWriter::new();
            out.str("type", "object");
            for (key, field) in object.iter() {
                out.text_key(key, field.get());
            }
            value(&out.finish()).into_owned()
        }
        None => r#"{"type":"object","properties":{}}"#.into(),
    }
}

/// A name of letters, digits, `_` and `-`, no longer than `most`. One that is none already gets a
/// hash, so that different names stay different.
pub(super) fn name(text: &Text, most: usize) -> String {
    let given = text.to_string_escaped();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' };
    let fine = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if !given.is_empty() && given.len() <= most && given.chars().all(fine) {
        return given.into_owned();
    }
    let hash = format!("_{:016x}", stable_hash(given.as_bytes()));
    let kept: String = given.chars().map(plain).take(most.saturating_sub(hash.len())).collect();
    format!("{kept}{hash}")
}

/// Whether a text says nothing to a reader: some providers refuse such ones.
pub fn says_nothing(text: &Text) -> bool {
    is_blank(text)
}

/// The kind and the base64 of an image, as every provider takes them.
///
/// # Errors
/// The words to send in its place where it cannot be sent: a kind that not all of them take,
/// bytes that are no base64, or none.
pub fn sendable_image(image: &Image) -> Result<(&str, &str), Text> {
    picture(image).ok_or_else(|| no_picture(image))
}

/// The kind and the base64 of an image that can be sent.
pub(super) fn picture(image: &Image) -> Option<(&str, &str)> {
    let forkwood_core::message::ImageSource::Inline(data) = &image.source else { return None };
    let mime = image.mime_type.as_str()?;
    let data = data.as_str()?;
    let known = matches!(mime, "image/png" | "image/jpeg" | "image/gif" | "image/webp");
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
    (known && !data.is_empty() && data.bytes().all(plain)).then_some((mime, data))
}

/// The words in the place of an image that cannot be sent.
pub(super) fn no_picture(image: &Image) -> Text {
    let mime = image.mime_type.to_string_lossy();
    match &image.source {
        forkwood_core::message::ImageSource::Inline(_) => format!("[{mime}: cannot be shown]"),
        forkwood_core::message::ImageSource::Blob { name, bytes } => {
            format!("[{mime}, {bytes} bytes, {name}: not here]")
        }
    }
    .into()
}
