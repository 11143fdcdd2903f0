//! Ids of entries, sessions and lanes.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{CoreError, Text};

/// The id of an entry: opaque, unique in its session. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId(Arc<str>);

impl EntryId {
    /// Takes an id as it stands in a file or an argument.
    pub fn new(id: impl AsRef<str>) -> EntryId {
        EntryId(Arc::from(id.as_ref()))
    }

    /// Takes an id that may hold lone surrogates; they stand escaped, so that different ids
    /// stay different.
    pub fn from_text(text: &Text) -> EntryId {
        EntryId(Arc::from(text.to_string_escaped().as_ref()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last eight characters, by which a lane that a conflict makes is named.
    pub fn tail(&self) -> &str {
        let start = self.0.char_indices().rev().nth(7).map_or(0, |(at, _)| at);
        &self.0[start..]
    }
}

impl From<&str> for EntryId {
    fn from(id: &str) -> EntryId {
        EntryId::new(id)
    }
}

impl From<String> for EntryId {
    fn from(id: String) -> EntryId {
        EntryId(Arc::from(id))
    }
}

impl std::borrow::Borrow<str> for EntryId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Serialize for EntryId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for EntryId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<EntryId, D::Error> {
        Text::deserialize(deserializer).map(|text| EntryId::from_text(&text))
    }
}

/// Where new entry ids come from. Passed in, so that a test can know them.
pub trait IdSource: Send + Sync + fmt::Debug {
    /// An id that no entry of the session has yet.
    fn next_id(&self) -> EntryId;
}

/// Ids that count: `e1`, `e2`, ... Each value counts for itself, so that two trees do not share
/// a counter.
#[derive(Debug)]
pub struct Sequential {
    prefix: String,
    count: AtomicU64,
}

impl Sequential {
    /// Starts at 1 after `prefix`.
    pub fn new(prefix: impl Into<String>) -> Sequential {
        Sequential { prefix: prefix.into(), count: AtomicU64::new(0) }
    }
}

impl IdSource for Sequential {
    fn next_id(&self) -> EntryId {
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        EntryId::from(format!("{}{count}", self.prefix))
    }
}

/// The id of a session. Checked when it is made: it can be a file name, and nothing else.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// Longest id, in bytes.
    pub const MAX_LEN: usize = 128;

    /// Checks an id from outside: letters, digits, `.`, `_` and `-`, starting and ending with a
    /// letter or digit, not the name of a device on Windows.
    ///
    /// # Errors
    /// [`CoreError::InvalidSessionId`] otherwise.
    pub fn new(id: &str) -> Result<SessionId, CoreError> {
        let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        let bytes = id.as_bytes();
        let edges = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
        let fine = bytes.len() <= SessionId::MAX_LEN
            && bytes.iter().copied().all(inner)
            && edges(bytes.first())
            && edges(bytes.last())
            && !id.contains("..")
            && !is_device_name(id);
        if fine {
            Ok(SessionId(Arc::from(id)))
        } else {
            Err(CoreError::InvalidSessionId { id: id.to_owned() })
        }
    }

    /// An id out of any text: what an id cannot hold becomes a dash. `session` where nothing is
    /// left.
    pub fn from_lossy(text: &str) -> SessionId {
        let plain: String = text
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .take(SessionId::MAX_LEN)
            .collect();
        SessionId::new(plain.trim_matches('-')).unwrap_or_else(|_| SessionId(Arc::from("session")))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for SessionId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// Names that open a device and not a file on Windows, with or without an extension.
fn is_device_name(id: &str) -> bool {
    let stem = id.split('.').next().unwrap_or(id).to_ascii_uppercase();
    matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL")
        || (stem.len() == 4
            && (stem.starts_with("COM") || stem.starts_with("LPT"))
            && stem.as_bytes()[3].is_ascii_digit())
}

/// The name of a lane: `[a-z0-9][a-z0-9._-]{0,63}`. The default is `main`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Lane(Arc<str>);

impl Lane {
    /// The lane that every session has.
    pub fn main() -> Lane {
        Lane(Arc::from("main"))
    }

    /// Checks a name.
    ///
    /// # Errors
    /// [`CoreError::InvalidLane`] where it does not fit the pattern.
    pub fn new(name: &str) -> Result<Lane, CoreError> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let fine = (1..=64).contains(&name.len())
            && name.bytes().next().is_some_and(plain)
            && name.bytes().all(|b| plain(b) || matches!(b, b'.' | b'_' | b'-'));
        if fine {
            Ok(Lane(Arc::from(name)))
        } else {
            Err(CoreError::InvalidLane { name: name.to_owned() })
        }
    }

    /// The lane that a conflicting write of `entry` goes to: `{lane}-{last 8 of its id}`.
    pub fn for_conflict(&self, entry: &EntryId) -> Lane {
        let tail: String = entry
            .tail()
            .to_lowercase()
            .chars()
            .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' })
            .collect();
        let keep = 64 - 1 - tail.len();
        let stem = &self.0[..self.0.len().min(keep)];
        Lane(Arc::from(format!("{stem}-{tail}")))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is `main`.
    pub fn is_main(&self) -> bool {
        &*self.0 == "main"
    }
}

impl Default for Lane {
    fn default() -> Lane {
        Lane::main()
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Lane {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
