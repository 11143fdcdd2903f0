//! JSON into nodes. `serde_json` parses; a raw value is a piece of the text, so that its address
//! tells its offset.

use std::fmt;

use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::node::{DEEPEST, Kind, Member, Node, Source};
use super::problem::Problem;

pub(super) fn parse(source: &Source<'_>) -> Result<Node, Problem> {
    let raw: &RawValue = serde_json::from_str(source.text).map_err(|cause| {
        let at = offset_of(source.text, cause.line(), cause.column());
        source.syntax(at, cause.to_string())
    })?;
    node(source, raw.get(), 0)
}

fn node(source: &Source<'_>, piece: &str, depth: usize) -> Result<Node, Problem> {
    let piece = piece.trim_ascii();
    let at = offset(source, piece);
    let wrong = |cause: serde_json::Error| source.syntax(at, cause.to_string());
    let kind = match piece.as_bytes().first() {
        Some(b'{' | b'[') if depth == DEEPEST => Kind::Other("something nested too deep"),
        Some(b'{') => {
            let mut from = serde_json::Deserializer::from_str(piece);
            let members = from.deserialize_map(Members).map_err(wrong)?;
            let mut kept = Vec::with_capacity(members.len());
            for (name, value) in members {
                // The key stands somewhere before its value, on the same line in any sane file.
                let value = node(source, value.get(), depth + 1)?;
                kept.push(Member { name, at: value.at, value });
            }
            Kind::Table(kept)
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(piece).map_err(wrong)?;
            let items = items.into_iter().map(|item| node(source, item.get(), depth + 1));
            Kind::List(items.collect::<Result<_, _>>()?)
        }
        Some(b'"') => Kind::Text(serde_json::from_str(piece).map_err(wrong)?),
        Some(b't' | b'f') => Kind::Bool(piece == "true"),
        Some(b'n') => Kind::Null,
        _ => Kind::Other("a number"),
    };
    Ok(Node { at, kind })
}

/// Where a piece of the text stands in it.
fn offset(source: &Source<'_>, piece: &str) -> usize {
    (piece.as_ptr() as usize).saturating_sub(source.text.as_ptr() as usize)
}

fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let before = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len);
    before.sum::<usize>() + column.saturating_sub(1)
}

/// All members in order, repeated ones too: Go lets the last one win.
struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}
