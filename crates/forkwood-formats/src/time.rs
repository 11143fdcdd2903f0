//! Times as other tools write them.

use forkwood_core::Timestamp;
use forkwood_core::json::{self, JsonKind};

/// Reads an ISO 8601 time. One without a zone is taken as UTC, since its zone is not known.
pub(crate) fn parse_iso(text: &str) -> Option<Timestamp> {
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Some(Timestamp::from_micros(at.as_microsecond()));
    }
    let local: jiff::civil::DateTime = text.parse().ok()?;
    let at = local.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
    Some(Timestamp::from_micros(at.as_microsecond()))
}

/// Reads a time of a Pi entry from its JSON text: an ISO string, or Unix milliseconds.
pub(crate) fn parse_pi(json: &str) -> Option<Timestamp> {
    match json::kind_of(json) {
        JsonKind::String => parse_iso(json::text_of(json)?.as_str()?),
        JsonKind::Number => Timestamp::from_seconds(json.trim().parse::<f64>().ok()? / 1000.0),
        _ => None,
    }
}

/// Writes a time as JavaScript does: milliseconds and `Z`.
pub(crate) fn iso(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.as_millis())
        .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
        .strftime("%Y-%m-%dT%H:%M:%S%.3fZ")
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::{iso, parse_iso, parse_pi};
    use forkwood_core::Timestamp;

    #[test]
    fn reads_what_it_writes() {
        for text in ["2026-01-15T09:01:40.083Z", "1969-12-31T23:59:59.001Z"] {
            assert_eq!(iso(parse_iso(text).unwrap()), text);
        }
        assert_eq!(
            parse_iso("2026-11-30T06:40:36.857580").unwrap().as_micros() % 1_000_000,
            857_580
        );
        assert_eq!(parse_iso("2026-01-15T10:00:00+01:00"), parse_iso("2026-01-15T09:00:00Z"));
        assert_eq!(parse_iso("yesterday"), None);
        assert_eq!(parse_pi("1796022740472"), Some(Timestamp::from_millis(1_796_022_740_472)));
        assert_eq!(parse_pi("\"x\""), None);
        assert_eq!(parse_pi("null"), None);
    }
}
