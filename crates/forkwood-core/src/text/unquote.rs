//! The text of a JSON string, decoded once into the place where it stays.
//!
//! The parser decodes a string with escapes into a buffer of its own, from which it is copied. Of
//! a line of many megabytes that is one copy more than there need be.

use super::{Text, push_surrogate};

/// Decodes a JSON string literal, quotes included; `None` where it is none.
pub(crate) fn unquote(json: &str) -> Option<Text> {
    let white = [' ', '\t', '\n', '\r'];
    let inner = json.trim_matches(white).strip_prefix('"')?.strip_suffix('"')?;
    let mut rest = inner.as_bytes();
    // Nothing decodes to more bytes than it is written with; what is not filled costs nothing.
    let mut out = Vec::with_capacity(rest.len());
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\\' | b'"')) {
        let (plain, escape) = rest.split_at(at);
        out.extend_from_slice(plain);
        rest = match escape {
            [b'\\', b'u', rest @ ..] => unit(&mut out, rest)?,
            [b'\\', short, rest @ ..] => {
                out.push(match short {
                    b'"' | b'\\' | b'/' => *short,
                    b'b' => 8,
                    b'f' => 12,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    _ => return None,
                });
                rest
            }
            // A quote in the middle, or an escape of the one at the end.
            _ => return None,
        };
    }
    out.extend_from_slice(rest);
    out.shrink_to_fit();
    Some(Text::from_wtf8_unchecked_pairs(out))
}

/// Decodes the digits behind `\u`, and those of the other half of a pair.
fn unit<'r>(out: &mut Vec<u8>, rest: &'r [u8]) -> Option<&'r [u8]> {
    let (first, rest) = digits(rest)?;
    let (code, rest) = match (first, rest) {
        (0xd800..=0xdbff, [b'\\', b'u', low @ ..]) => match digits(low)? {
            (low @ 0xdc00..=0xdfff, rest) => {
                (0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00), rest)
            }
            // Two that are no pair: the second is looked at on its own.
            _ => (first, rest),
        },
        _ => (first, rest),
    };
    match char::from_u32(code) {
        Some(ch) => out.extend_from_slice(ch.encode_utf8(&mut [0; 4]).as_bytes()),
        None => push_surrogate(out, code),
    }
    Some(rest)
}

fn digits(rest: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = rest.split_at_checked(4)?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let digits = std::str::from_utf8(digits).ok()?;
    Some((u32::from_str_radix(digits, 16).ok()?, rest))
}
