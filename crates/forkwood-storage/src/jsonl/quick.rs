//! Reading the start of a line: id, parent, type and so on, without its body.
//!
//! Works on the key orders that writers really use and gives up (`None`) on anything else:
//! escapes in ids, other orders, odd types. The caller then reads the whole line. It never
//! checks the body; reading an entry does, and compares what it finds with what was told here.

/// What the start of a line says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quick<'a> {
    /// `id`
    pub id: &'a str,
    /// `parentId` or `parent_id`
    pub parent: QuickParent<'a>,
    /// `type`
    pub kind: &'a str,
    /// `timestamp`, as its JSON text.
    pub timestamp: Option<&'a str>,
    /// `lane`
    pub lane: Option<&'a str>,
    /// `more`
    pub more: u32,
    /// `message.role`, where `message` comes next and `role` first in it.
    pub role: Option<&'a str>,
}

/// The parent that the start of a line names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuickParent<'a> {
    /// No `parentId` before the body.
    #[default]
    Absent,
    /// `null`
    Null,
    /// An id.
    Id(&'a str),
}

impl<'a> Quick<'a> {
    /// Reads the start of a line. Ids and types hold no escapes, or this gives up. The body (any
    /// key besides the base fields) ends the reading; id and type must have come before it.
    pub fn parse(line: &'a [u8]) -> Option<Quick<'a>> {
        let mut scan = Scan { bytes: line, at: 0 };
        let mut quick = Quick::default();
        let (mut has_id, mut has_kind) = (false, false);
        scan.space();
        scan.byte(b'{')?;
        loop {
            scan.space();
            let key = scan.plain_string()?;
            scan.space();
            scan.byte(b':')?;
            scan.space();
            match key {
                "id" if !has_id => {
                    quick.id = scan.plain_string()?;
                    has_id = true;
                }
                "type" if !has_kind => {
                    quick.kind = scan.plain_string()?;
                    has_kind = true;
                }
                "parentId" | "parent_id" if quick.parent == QuickParent::Absent => {
                    quick.parent = if scan.peek() == Some(b'n') {
                        scan.literal(b"null")?;
                        QuickParent::Null
                    } else {
                        QuickParent::Id(scan.plain_string()?)
                    };
                }
                "timestamp" if quick.timestamp.is_none() => {
                    quick.timestamp = Some(scan.scalar()?);
                }
                "lane" if quick.lane.is_none() => quick.lane = Some(scan.plain_string()?),
                "more" if quick.more == 0 => quick.more = scan.scalar()?.parse().ok()?,
                "id" | "type" | "parentId" | "parent_id" | "timestamp" | "lane" | "more" => {
                    return None;
                }
                _ => {
                    if !(has_id && has_kind) || quick.id.is_empty() {
                        return None;
                    }
                    if key == "message" {
                        quick.role = scan.role();
                    }
                    return Some(quick);
                }
            }
            scan.space();
            match scan.next()? {
                b',' => {}
                b'}' => return (has_id && has_kind && !quick.id.is_empty()).then_some(quick),
                _ => return None,
            }
        }
    }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    fn byte(&mut self, expected: u8) -> Option<()> {
        (self.next()? == expected).then_some(())
    }

    fn literal(&mut self, expected: &[u8]) -> Option<()> {
        let end = self.at + expected.len();
        (self.bytes.get(self.at..end)? == expected).then(|| self.at = end)
    }

    /// A string without escapes and control characters.
    fn plain_string(&mut self) -> Option<&'a str> {
        self.byte(b'"')?;
        let start = self.at;
        loop {
            match self.next()? {
                b'"' => return std::str::from_utf8(&self.bytes[start..self.at - 1]).ok(),
                b'\\' | 0..=0x1f => return None,
                _ => {}
            }
        }
    }

    /// A string without escapes, or a number, as its JSON text.
    fn scalar(&mut self) -> Option<&'a str> {
        let start = self.at;
        if self.peek()? == b'"' {
            self.plain_string()?;
        } else {
            while matches!(self.peek()?, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E') {
                self.at += 1;
            }
            if self.at == start {
                return None;
            }
        }
        std::str::from_utf8(&self.bytes[start..self.at]).ok()
    }

    /// The role, where a message starts here and `role` is its first field.
    fn role(&mut self) -> Option<&'a str> {
        self.byte(b'{')?;
        self.space();
        if self.plain_string()? != "role" {
            return None;
        }
        self.space();
        self.byte(b':')?;
        self.space();
        self.plain_string()
    }
}

#[cfg(test)]
mod tests {
    use super::{Quick, QuickParent};

    #[test]
    fn reads_what_writers_write() {
        let line = br#"{"type":"message","id":"b2","parentId":"a1","timestamp":"2026-01-15T09:01:40.083Z","message":{"role":"user","content":"x"#;
        let quick = Quick::parse(line).unwrap();
        assert_eq!((quick.id, quick.kind, quick.role), ("b2", "message", Some("user")));
        assert_eq!(quick.parent, QuickParent::Id("a1"));
        assert_eq!(quick.timestamp, Some("\"2026-01-15T09:01:40.083Z\""));
        let line = br#"{"id":"a","parentId":null,"timestamp":1.25,"type":"leaf","lane":"x","more":2,"leafId":"#;
        let quick = Quick::parse(line).unwrap();
        assert_eq!((quick.lane, quick.more, quick.timestamp), (Some("x"), 2, Some("1.25")));
        assert_eq!(quick.parent, QuickParent::Null);
        assert_eq!(Quick::parse(br#"{"id":"a","type":"x"}"#).unwrap().parent, QuickParent::Absent);
    }

    #[test]
    fn gives_up_on_anything_else() {
        for line in [
            &b""[..],
            b"null",
            b"{",
            b"{}",
            br#"{"type":"custom","customType":"x","id":"a"}"#,
            br#"{"id":"a\u0062","type":"x"}"#,
            br#"{"id":7,"type":"x"}"#,
            br#"{"id":"a","id":"b","type":"x","k":1}"#,
            br#"{"id":"a","type":"x" "k":1}"#,
            b"\0\0{\"id\":\"a\",\"type\":\"x\"}",
        ] {
            assert_eq!(Quick::parse(line), None, "{}", String::from_utf8_lossy(line));
        }
    }
}
