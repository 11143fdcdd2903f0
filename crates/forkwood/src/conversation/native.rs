//! Conversations in native sessions: which session it is, and what its metadata says of it.
//!
//! One session a canonical key. Its id is made out of the key, so that it is found without an
//! index, by any process. Everything else stands in the metadata of the session, under
//! `conversation`, beside whatever else is there.

use forkwood_core::entry::SessionInfo;
use forkwood_core::json::ObjectWriter;
use forkwood_core::{Json, SessionId, Text};
use forkwood_storage::blob::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{SessionScope, agent_of};
use crate::Result;

/// The namespace of the entries that keep what is no message: summaries, and where a history was
/// replaced.
pub const NAMESPACE: &str = "forkwood.conversation";

/// The field of a session's metadata.
const FIELD: &str = "conversation";

/// How a key whose id is a hash of it is marked.
const HASHED: &str = "key-";

/// What the metadata of a session says of the conversation it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationRecord {
    /// The canonical key.
    pub key: String,
    /// The agent, for whoever reads the file; it follows from scope and key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<SessionScope>,
    /// Older names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The older conversation whose history was taken over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promoted: Option<Promotion>,
    /// The key of the conversation that took this one's history over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<String>,
}

/// A history that was taken over. Recorded once and for good: a history that is cleared later
/// does not come back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Promotion {
    /// The alias that it came from.
    pub from: String,
    /// Whether the older conversation says so too, and nothing that was added to it meanwhile is
    /// missing here.
    #[serde(default)]
    pub settled: bool,
}

impl ConversationRecord {
    /// The record of a key of which nothing else is known.
    pub fn new(key: &str) -> ConversationRecord {
        ConversationRecord {
            key: key.to_owned(),
            agent: agent_of(None, key, &[]),
            ..ConversationRecord::default()
        }
    }

    /// What a session says of itself; `None` where it holds no conversation that has a key.
    pub fn of(info: &SessionInfo) -> Option<ConversationRecord> {
        let metadata = info.metadata.as_ref()?.as_object()?;
        serde_json::from_str(metadata.get(FIELD)?).ok()
    }

    /// Puts scope and aliases in the place of those that are there.
    pub fn identify(&mut self, scope: Option<SessionScope>, aliases: Vec<String>) {
        self.agent = agent_of(scope.as_ref(), &self.key, &aliases);
        self.scope = scope;
        self.aliases = aliases;
    }

    /// The metadata of a session with this record in it, the other fields as they were.
    ///
    /// # Errors
    /// None in practice: a record is always JSON.
    pub fn to_metadata(&self, before: Option<&Json>) -> Result<Json> {
        let record =
            Json::from_value(self).map_err(|error| crate::Error::invalid(error.to_string()))?;
        let mut out = ObjectWriter::new();
        for (key, value) in before.and_then(Json::as_object).iter().flat_map(|fields| fields.iter())
        {
            if *key != FIELD {
                out.text_key(key, value.get());
            }
        }
        out.raw(FIELD, record.get());
        Json::parse(&out.finish()).map_err(|error| crate::Error::invalid(error.to_string()))
    }
}

/// The field that holds a summary, in the data of an entry of [`NAMESPACE`] and in the details of a
/// compaction.
pub const SUMMARY: &str = "summary";

/// The details of a compaction that carries the summary of a conversation on. Where it has a summary
/// of its own, that is the same one: contexts show it, the history does not.
///
/// # Errors
/// None in practice: text is always JSON.
pub fn summary_details(summary: &Text) -> Result<Json> {
    let mut fields = ObjectWriter::new();
    fields.text(SUMMARY, summary);
    let mut out = ObjectWriter::new();
    out.raw(NAMESPACE, &fields.finish());
    Json::parse(&out.finish()).map_err(|error| crate::Error::invalid(error.to_string()))
}

/// The session of a canonical key: the key itself where it is an opaque one, else a hash of it,
/// since it may hold anything.
///
/// # Errors
/// None in practice: both forms can be ids.
pub fn session_id(key: &str) -> Result<SessionId> {
    let id = match key.strip_prefix("sk_v1_").is_some_and(is_digest) {
        true => key.to_owned(),
        false => format!("{HASHED}{}", hex(&Sha256::digest(key.as_bytes()))),
    };
    Ok(SessionId::new(&id)?)
}

/// Whether a session id has the form of those of [`session_id`].
pub fn is_session_id(id: &str) -> bool {
    ["sk_v1_", HASHED].iter().any(|start| id.strip_prefix(start).is_some_and(is_digest))
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::{ConversationRecord, is_session_id, session_id};
    use crate::{Json, SessionInfo};

    #[test]
    fn an_opaque_key_is_its_own_id_and_any_other_is_hashed() {
        let opaque = super::super::key::main_key("main");
        assert_eq!(session_id(&opaque).unwrap().as_str(), opaque);
        for odd in
            ["agent:main:main", "../../x", "sk_v1_", "SK_V1_00", &opaque.to_uppercase(), "\u{e9}"]
        {
            let id = session_id(odd).unwrap();
            assert!(id.as_str().starts_with("key-") && is_session_id(id.as_str()), "{odd}");
        }
        assert_ne!(session_id("a:b").unwrap(), session_id("a_b").unwrap());
        assert!(is_session_id(&opaque) && !is_session_id("20260101-000000-00000001"));
    }

    #[test]
    fn a_record_stands_beside_what_else_the_metadata_says() {
        let before =
            Json::parse(r#"{"pinned":true,"n":1e400,"conversation":{"key":"x"}}"#).unwrap();
        let record = ConversationRecord::new("agent:ops:cron");
        let metadata = record.to_metadata(Some(&before)).unwrap();
        assert_eq!(
            metadata.get(),
            r#"{"pinned":true,"n":1e400,"conversation":{"key":"agent:ops:cron","agent":"ops"}}"#
        );
        let info = SessionInfo { metadata: Some(metadata), ..SessionInfo::default() };
        assert_eq!(ConversationRecord::of(&info), Some(record));
        for none in ["{}", r#"{"conversation":null}"#, r#"{"conversation":{"key":1}}"#] {
            let metadata = Some(Json::parse(none).unwrap());
            assert_eq!(ConversationRecord::of(&SessionInfo { metadata, ..info.clone() }), None);
        }
    }
}
