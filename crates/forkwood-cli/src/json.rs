//! JSON that is printed. File content never goes through a number or a map on its way out.

use std::borrow::Cow;
use std::path::Path;

use forkwood::core::json::ObjectWriter;
use forkwood::{Diagnostic, EntryId, Text, Timestamp};

use crate::time;

/// An object with the version of the shapes in front.
pub(crate) fn object() -> ObjectWriter {
    let mut out = ObjectWriter::new();
    out.raw("schema", "1");
    out
}

/// A string, or `null`.
pub(crate) fn text(text: Option<&Text>) -> String {
    text.map_or_else(null, Text::to_json)
}

/// A string, or `null`.
pub(crate) fn string(text: Option<&str>) -> String {
    text.map_or_else(null, |text| Text::from(text).to_json())
}

/// An entry id, or `null`.
pub(crate) fn id(id: Option<&EntryId>) -> String {
    string(id.map(EntryId::as_str))
}

/// Entry ids.
pub(crate) fn ids<'a>(ids: impl IntoIterator<Item = &'a EntryId>) -> String {
    forkwood::core::json::join_array(ids.into_iter().map(|id| Text::from(id.as_str()).to_json()))
}

/// Strings.
pub(crate) fn texts<'a>(texts: impl IntoIterator<Item = &'a Text>) -> String {
    forkwood::core::json::join_array(texts.into_iter().map(Text::to_json))
}

/// Strings.
pub(crate) fn strings<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    forkwood::core::json::join_array(texts.into_iter().map(|text| Text::from(text).to_json()))
}

/// A time as RFC 3339, or `null`.
pub(crate) fn time(at: Option<Timestamp>) -> String {
    string(at.and_then(time::rfc3339).as_deref())
}

/// A path, or `null`.
pub(crate) fn path(path: Option<&Path>) -> String {
    string(path.map(Path::to_string_lossy).as_deref())
}

/// A number, or `null`.
pub(crate) fn number(number: Option<u64>) -> String {
    number.map_or_else(null, |number| number.to_string())
}

/// `true` or `false`.
pub(crate) fn boolean(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

fn null() -> String {
    "null".to_owned()
}

/// Findings.
pub(crate) fn diagnostics(found: &[Diagnostic]) -> String {
    forkwood::core::json::join_array(found.iter().map(|found| {
        let mut out = ObjectWriter::new();
        out.str("kind", found.kind.as_str())
            .str("severity", found.severity.as_str())
            .raw("entry", &id(found.entry.as_ref()))
            .raw("line", &number(found.line))
            .raw("offset", &number(found.offset))
            .str("message", &found.message);
        out.finish()
    }))
}

/// JSON text whose strings hold no character that acts on a terminal: DEL, C1 and the controls
/// of the bidi algorithm are escaped. Outside strings no JSON has any, so the value is the same.
pub(crate) fn safe(json: &str) -> Cow<'_, str> {
    let acts = |c: char| {
        matches!(c, '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}')
            || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    if json.is_ascii() && !json.contains('\u{7f}') || !json.contains(acts) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if acts(c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::safe;

    #[test]
    fn acting_characters_are_escaped_and_mean_the_same() {
        let check = |json: &str, expect: &str| {
            assert_eq!(safe(json), expect);
            let before: serde_json::Value = serde_json::from_str(json).unwrap();
            let after: serde_json::Value = serde_json::from_str(expect).unwrap();
            assert_eq!(before, after);
        };
        check(r#"{"a":"b"}"#, r#"{"a":"b"}"#);
        check("\"\u{65b9}\"", "\"\u{65b9}\"");
        check("\"\u{9b}31m\u{7f}\"", r#""\u009b31m\u007f""#);
        check("\"a\u{202e}b\u{2066}\"", r#""a\u202eb\u2066""#);
        check("\"\x7f\"", r#""\u007f""#);
    }
}
