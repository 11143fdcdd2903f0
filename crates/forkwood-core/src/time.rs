//! Points in time, passed in and never read from the system here.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Microseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// Where the time comes from. Storage stamps entries with it.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The time now.
    fn now(&self) -> Timestamp;
}

/// A clock that stands still until it is told to move; for tests and replays.
#[derive(Debug, Default)]
pub struct ManualClock(std::sync::atomic::AtomicI64);

impl ManualClock {
    /// A clock that shows `start`.
    pub fn new(start: Timestamp) -> ManualClock {
        ManualClock(std::sync::atomic::AtomicI64::new(start.0))
    }

    /// Moves the clock on by some microseconds.
    pub fn advance(&self, micros: i64) {
        self.0.fetch_add(micros, std::sync::atomic::Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(std::sync::atomic::Ordering::SeqCst))
    }
}

impl Timestamp {
    /// From microseconds since the epoch.
    pub const fn from_micros(micros: i64) -> Timestamp {
        Timestamp(micros)
    }

    /// From milliseconds since the epoch; saturates.
    pub const fn from_millis(millis: i64) -> Timestamp {
        Timestamp(millis.saturating_mul(1000))
    }

    /// From seconds since the epoch, rounded to a microsecond; `None` where not finite or too
    /// far from now to be held.
    pub fn from_seconds(seconds: f64) -> Option<Timestamp> {
        let micros = (seconds * 1e6).round();
        (micros.abs() < 9e18).then_some(Timestamp(micros as i64))
    }

    /// Microseconds since the epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Whole milliseconds since the epoch, rounded down.
    pub const fn as_millis(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// Seconds since the epoch.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Reads the digits of a JSON number of seconds.
    pub fn parse_seconds(digits: &str) -> Option<Timestamp> {
        Timestamp::from_seconds(digits.trim().parse().ok()?)
    }
}

/// Seconds with up to six decimals and at least one, as the files have it: `1788000000.25`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let micros = self.0.unsigned_abs();
        let decimals = format!("{:06}", micros % 1_000_000);
        let decimals = decimals.trim_end_matches('0');
        let decimals = if decimals.is_empty() { "0" } else { decimals };
        write!(f, "{sign}{}.{decimals}", micros / 1_000_000)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_seconds())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Timestamp::from_seconds(seconds).ok_or_else(|| de::Error::custom("time out of range"))
    }
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn shows_micros_without_trailing_zeros() {
        for (micros, shown) in [
            (0, "0.0"),
            (1_788_000_000_250_000, "1788000000.25"),
            (-1_500_000, "-1.5"),
            (1, "0.000001"),
        ] {
            assert_eq!(Timestamp::from_micros(micros).to_string(), shown);
            assert_eq!(Timestamp::parse_seconds(shown), Some(Timestamp::from_micros(micros)));
        }
    }

    #[test]
    fn refuses_what_it_cannot_hold() {
        for digits in ["NaN", "1e300", "inf", "x", ""] {
            assert_eq!(Timestamp::parse_seconds(digits), None, "{digits}");
        }
    }
}
