//! Secrets in the strings of a JSON text.

use forkwood::Text;
use forkwood::core::json::text_of;

use super::{Redaction, Rule, find};

/// A secret in a JSON text.
#[derive(Clone, Debug)]
pub struct JsonHit {
    /// Which rule found it.
    pub rule: &'static Rule,
    /// Where it starts, in bytes from the start of the JSON text.
    pub offset: usize,
}

/// The secrets in the strings of a JSON text, in order.
pub fn find_in_json(json: &str) -> Vec<JsonHit> {
    let mut out = Vec::new();
    let mut name: Option<Text> = None;
    for token in strings(json) {
        let raw = &json[token.start..token.end];
        let Some(text) = text_of(raw) else { continue };
        let lossy = text.to_string_lossy();
        let under = name.as_ref().filter(|_| !token.is_name).map(Text::to_string_lossy);
        for hit in find::find_under(&lossy, under.as_deref()) {
            let offset = token.start + raw_offset(raw, hit.range.start);
            out.push(JsonHit { rule: hit.rule, offset });
        }
        drop(lossy);
        name = token.is_name.then_some(text);
    }
    out
}

/// A JSON text without the secrets in it, where it holds any.
pub(super) fn replace(json: &str, redaction: &mut Redaction) -> Option<String> {
    let mut out = String::new();
    let mut done = 0;
    let mut name: Option<Text> = None;
    let mut any = false;
    for token in strings(json) {
        any = true;
        let Some(text) = text_of(&json[token.start..token.end]) else { continue };
        let lossy = text.to_string_lossy();
        let under = name.as_ref().filter(|_| !token.is_name).map(Text::to_string_lossy);
        if let Some(replaced) = redaction.replaced(&lossy, under.as_deref()) {
            out.push_str(&json[done..token.start]);
            out.push_str(&Text::from(replaced).to_json());
            done = token.end;
        }
        drop(lossy);
        name = token.is_name.then_some(text);
    }
    if done > 0 {
        out.push_str(&json[done..]);
        return Some(out);
    }
    // No JSON at all: a text.
    if any { None } else { redaction.replaced(json, None) }
}

/// A string of a JSON text, quotes included.
struct Token {
    start: usize,
    end: usize,
    /// Whether it names a field.
    is_name: bool,
}

/// The strings of a JSON text, names and values, from left to right.
fn strings(json: &str) -> impl Iterator<Item = Token> {
    let bytes = json.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + memchr::memchr(b'"', bytes.get(at..)?)?;
        let mut end = start + 1;
        loop {
            end += memchr::memchr2(b'"', b'\\', bytes.get(end..)?)?;
            if bytes[end] == b'"' {
                break;
            }
            end += 2;
        }
        at = end + 1;
        let after = bytes[at..].iter().find(|byte| !byte.is_ascii_whitespace());
        Some(Token { start, end: at, is_name: after == Some(&b':') })
    })
}

/// Where in a string as it stands, quotes and escapes included, an offset of its text is.
fn raw_offset(raw: &str, wanted: usize) -> usize {
    let bytes = raw.as_bytes();
    let (mut at, mut text) = (1, 0);
    while text < wanted && at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            text += 1;
            continue;
        }
        if bytes.get(at + 1) != Some(&b'u') {
            at += 2;
            text += 1;
            continue;
        }
        let unit = |at: usize| u32::from_str_radix(raw.get(at + 2..at + 6)?, 16).ok();
        let is_pair = unit(at).is_some_and(|high| (0xd800..0xdc00).contains(&high))
            && raw.get(at + 6..at + 8) == Some("\\u")
            && unit(at + 6).is_some_and(|low| (0xdc00..0xe000).contains(&low));
        if is_pair {
            at += 12;
            text += 4;
            continue;
        }
        text += match unit(at).unwrap_or(0) {
            0..0x80 => 1,
            0x80..0x800 => 2,
            _ => 3,
        };
        at += 6;
    }
    at
}
