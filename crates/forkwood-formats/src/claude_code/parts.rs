//! The messages of one line of results.
//!
//! A `user` line may hold the results of several calls, and what the person said besides. Each
//! result is a message of its own here. The last one has the id of the line, since that is what
//! other lines name as their parent; those before it are numbered.

use std::ops::Range;

use forkwood_core::json::{self, JsonKind, Object};

use super::line::is_result;

/// One message of a line: a range of the line that holds whole blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Where its blocks are in the line.
    pub(crate) span: Range<usize>,
    /// Whether it is a result.
    pub(crate) result: bool,
}

/// The blocks of the content of a message. `None`: it is a text or nothing.
pub(crate) fn blocks<'l>(object: &Object<'l>) -> Option<Vec<&'l str>> {
    let message = Object::parse(object.get("message")?).ok()?;
    let content = message.get("content").filter(|raw| json::kind_of(raw) == JsonKind::Array)?;
    Some(json::elements(content)?.into_iter().map(|block| block.get()).collect())
}

/// The parts of a `user` line, where it has more than one.
pub(crate) fn parts(line: &str, object: &Object<'_>) -> Option<Vec<Part>> {
    // Bytes that were not UTF-8 take other places in the file than here.
    if line.contains('\u{fffd}') {
        return None;
    }
    let mut out: Vec<Part> = Vec::new();
    for block in blocks(object)? {
        // A block is a part of the line it was read from.
        let at = (block.as_ptr() as usize).checked_sub(line.as_ptr() as usize)?;
        let span = at..at + block.len();
        let result = Object::parse(block).is_ok_and(|block| is_result(&block));
        match out.last_mut() {
            Some(last) if !result && !last.result => last.span.end = span.end,
            _ => out.push(Part { span, result }),
        }
    }
    (out.len() > 1 && out.iter().any(|part| part.result)).then_some(out)
}

/// The id of a part of a line.
pub(crate) fn part_id(line_id: &str, part: usize, parts: usize) -> String {
    if part + 1 == parts { line_id.to_owned() } else { format!("{line_id}.{part}") }
}
