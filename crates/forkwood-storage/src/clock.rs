//! The system's clock and randomness, for callers that bring none of their own.

use forkwood_core::{Clock, EntryId, IdSource, SessionId, Timestamp};

use crate::StorageError;

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(jiff::Timestamp::now().as_microsecond())
    }
}

/// New ids as `UUIDv7` without dashes. Within a process each is greater than the one before.
#[derive(Clone, Copy, Debug, Default)]
pub struct UuidV7;

impl IdSource for UuidV7 {
    fn next_id(&self) -> EntryId {
        EntryId::from(uuid::Uuid::now_v7().simple().to_string())
    }
}

fn random<const N: usize>() -> Result<[u8; N], StorageError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        StorageError::unsupported(format!("the system gives no random bytes: {error}"))
    })?;
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A new session id, `YYYYMMDD-HHMMSS-xxxxxxxx`: the time in UTC, then 32 random bits.
///
/// # Errors
/// Where the system gives no random bytes.
pub fn new_session_id(now: Timestamp) -> Result<SessionId, StorageError> {
    let at = jiff::Timestamp::from_microsecond(now.as_micros())
        .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
        .to_zoned(jiff::tz::TimeZone::UTC);
    let stamp = at.strftime("%Y%m%d-%H%M%S");
    Ok(SessionId::new(&format!("{stamp}-{}", hex(&random::<4>()?)))?)
}

/// A new generation: 32 random bits, in hex.
///
/// # Errors
/// Where the system gives no random bytes.
pub fn new_generation() -> Result<String, StorageError> {
    Ok(hex(&random::<4>()?))
}
