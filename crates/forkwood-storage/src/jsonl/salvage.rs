//! Whole records on a line that is damaged: behind a fragment, or one glued to the next.

use std::ops::Range;

use serde::de::IgnoredAny;

use super::dialect::RecordHead;

/// At most so many places are tried, so that a hostile line cannot cost much.
const MAX_TRIES: usize = 256;

/// The parts of a line that are whole JSON objects at its top level: those at its start, one
/// behind the other, and then the first one behind a fragment that reaches to the end of the
/// line. The caller looks whether they are records.
pub(super) fn records(line: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(len) = object_at(&line[at..]) {
        let start = at + line[at..].iter().take_while(|b| b.is_ascii_whitespace()).count();
        found.push(start..at + len);
        at += len;
    }
    // What is only the start of a value may hold whole objects; they are parts of it, and no
    // records. Behind a fragment that a record was glued to, the line is no start of anything.
    let rest = serde_json::from_slice::<IgnoredAny>(&line[at..]);
    if line[at..].iter().all(u8::is_ascii_whitespace) || rest.is_err_and(|error| error.is_eof()) {
        return found;
    }
    let starts = memchr::memmem::find_iter(&line[at..], b"{\"").map(|found| at + found);
    let behind = starts.take(MAX_TRIES).find(|&start| {
        (start > at || at > 0 || line[at] != b'{') && forkwood_core::json::is_valid(&line[start..])
    });
    found.extend(behind.map(|start| start..line.len()));
    found
}

/// What was read of a damaged line, for people.
pub(super) fn names(heads: &[RecordHead<'_>]) -> String {
    let name = |head: &RecordHead<'_>| match head.header {
        true => "a header".to_owned(),
        false => head.id.to_string(),
    };
    heads.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// The length of the object at the start, with the white space before it.
fn object_at(bytes: &[u8]) -> Option<usize> {
    let first = bytes.iter().find(|b| !b.is_ascii_whitespace())?;
    if *first != b'{' {
        return None;
    }
    let mut stream = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
    match stream.next() {
        Some(Ok(_)) => Some(stream.byte_offset()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::records;

    fn found(line: &str) -> Vec<&str> {
        records(line.as_bytes()).into_iter().map(|span| &line[span]).collect()
    }

    #[test]
    fn records_behind_and_between_fragments() {
        let (a, b) = (r#"{"id":"a","m":{"x":"{"}}"#, r#"{"id":"b"}"#);
        assert_eq!(found(&format!("{a}{b}")), [a, b]);
        assert_eq!(found(&format!("{a}  {b} ")), [a, b]);
        assert_eq!(found(&format!(r#"{{"id":"t","message":{{"role":"user","con{b}"#)), [b]);
        assert_eq!(found(&format!(r#"{{"id":"t","content":"open {b}"#)), [b]);
        assert_eq!(found(&format!(r#"{a}{{"id":"t","con{b}"#)), [a, b]);
        assert_eq!(found(&format!("\0\0\0{b}")), [b]);
        assert!(found(r#"{"id":"t","message":{"role":"user"#).is_empty());
        assert!(
            found(r#"{"id":"t","message":{"content":[{"type":"toolCall","id":"c"}"#).is_empty()
        );
        assert!(found(r#"{"id":"t","data":{"id":"in","type":"leaf"}"#).is_empty());
        assert!(found("garbage").is_empty());
        assert!(found("").is_empty());
    }
}
