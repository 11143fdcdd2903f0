//! Times as Go's `time.Time` has them in JSON: RFC 3339 with up to nine decimals.

use forkwood::Timestamp;

/// Reads a time; `None` where Go would refuse it.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    // Go wants the whole form; the library takes shorter ones too.
    let whole = bytes.len() >= 20 && bytes[10] == b'T' && bytes[16] == b':';
    let zoned = text.ends_with('Z') || bytes.get(bytes.len().wrapping_sub(3)) == Some(&b':');
    if !whole || !zoned {
        return None;
    }
    let at: jiff::Timestamp = text.parse().ok()?;
    Some(Timestamp::from_micros(at.as_microsecond()))
}

/// Whether a time is Go's zero, which stands for none.
pub(crate) fn is_zero(text: &str) -> bool {
    text.is_empty() || text == ZERO
}

/// Go's zero time.
pub(crate) const ZERO: &str = "0001-01-01T00:00:00Z";

/// Writes a time in UTC, trailing zeros cut, as Go does.
pub(crate) fn format(at: Timestamp) -> String {
    let seconds = at.as_micros().div_euclid(1_000_000);
    let micros = at.as_micros().rem_euclid(1_000_000);
    let whole = jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    let decimals = format!("{micros:06}");
    let decimals = decimals.trim_end_matches('0');
    let dot = if decimals.is_empty() { "" } else { "." };
    format!("{}{dot}{decimals}Z", whole.strftime("%Y-%m-%dT%H:%M:%S"))
}

#[cfg(test)]
mod tests {
    use super::{format, is_zero, parse};
    use forkwood::Timestamp;

    #[test]
    fn reads_and_writes_as_go_does() {
        for text in ["2026-11-30T06:48:47.28Z", "2026-11-30T06:48:47Z", "1969-12-31T23:59:59.5Z"] {
            assert_eq!(format(parse(text).unwrap()), text);
        }
        let local = parse("2026-11-30T14:48:47.288995234+08:00").unwrap();
        assert_eq!(format(local), "2026-11-30T06:48:47.288995Z");
        for bad in ["", "2026-11-30", "2026-11-30 06:48:47Z", "2026-11-30T06:48Z", "x", "\u{e9}"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert!(is_zero("0001-01-01T00:00:00Z") && parse("0001-01-01T00:00:00Z").is_some());
        assert_eq!(format(Timestamp::from_micros(1)), "1970-01-01T00:00:00.000001Z");
    }
}
