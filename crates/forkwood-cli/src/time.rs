//! Times for people and programs. All of them are UTC.

use forkwood::Timestamp;

use crate::error::{CliError, Result};

/// RFC 3339; `None` for what no calendar holds.
pub(crate) fn rfc3339(at: Timestamp) -> Option<String> {
    jiff::Timestamp::from_microsecond(at.as_micros()).ok().map(|at| at.to_string())
}

/// Short, for lists: `2026-11-20 08:05`.
pub(crate) fn short(at: Option<Timestamp>) -> String {
    at.and_then(rfc3339).map_or_else(|| "-".to_owned(), |text| text[..16].replace('T', " "))
}

/// Reads RFC 3339.
pub(crate) fn parse(text: &str) -> Result<Timestamp> {
    let at: jiff::Timestamp = text.parse().map_err(|_| {
        CliError::usage(format!("{text:?} is not a time: write it like 2026-06-15T00:00:00Z"))
    })?;
    Ok(Timestamp::from_micros(at.as_microsecond()))
}

/// Reads RFC 3339, or a day, which starts in UTC.
pub(crate) fn parse_day(text: &str) -> Result<Timestamp> {
    match text.parse::<jiff::civil::Date>() {
        Ok(_) if text.len() == 10 => parse(&format!("{text}T00:00:00Z")),
        _ => parse(text),
    }
}

/// Now.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_micros(jiff::Timestamp::now().as_microsecond())
}

/// Reads an age such as `30d`, in microseconds.
pub(crate) fn parse_age(text: &str) -> std::result::Result<i64, String> {
    let wrong = || format!("{text:?} is not an age: write a number and s, m, h, d or w, like 30d");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds: i64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return Err(wrong()),
    };
    let number: i64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    if number < 0 {
        return Err(wrong());
    }
    number.checked_mul(seconds * 1_000_000).ok_or_else(wrong)
}

/// The time that lies so far before another.
pub(crate) fn before(now: Timestamp, age: i64) -> Timestamp {
    Timestamp::from_micros(now.as_micros().saturating_sub(age))
}

#[cfg(test)]
mod tests {
    use super::{parse, parse_age, rfc3339, short};

    #[test]
    fn reads_ages() {
        let check = |text: &str, seconds: Option<i64>| {
            assert_eq!(parse_age(text).ok(), seconds.map(|s| s * 1_000_000), "{text}");
        };
        check("30d", Some(2_592_000));
        check("2w", Some(1_209_600));
        check("90m", Some(5_400));
        check("0s", Some(0));
        for wrong in ["", "d", "30", "-1d", "1y", "1.5h", "99999999999999w", "\u{20ac}"] {
            check(wrong, None);
        }
    }

    #[test]
    fn times_go_through_rfc3339() {
        let at = parse("2026-06-15T10:20:30.5Z").unwrap();
        assert_eq!(rfc3339(at).unwrap(), "2026-06-15T10:20:30.5Z");
        assert_eq!(short(Some(at)), "2026-06-15 10:20");
        assert_eq!(short(None), "-");
        assert!(parse("yesterday").is_err());
    }
}
