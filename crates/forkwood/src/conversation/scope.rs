//! Which conversation: the scope, its signature, its key (PicoClaw `session/scope.go`, `key.go`).

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::go_json::push_string;
use super::key::opaque;
use super::text::fold;
use crate::{Error, Result};

/// The version of scopes.
pub const SCOPE_VERSION: u32 = 1;

/// A conversation as a set of values. Two messages with an equal scope share their context.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionScope {
    /// 1.
    pub version: u32,
    /// The agent.
    pub agent_id: String,
    /// The channel; `unknown` where there is none, `*` where the scope spans channels.
    pub channel: String,
    /// The bot's account; `*` where the scope spans accounts.
    pub account: String,
    /// What keeps conversations apart, in the order that is hashed. Texts, not the names of a
    /// fixed list: scopes that others stored are kept as they are.
    #[serde(serialize_with = "or_null", deserialize_with = "or_default")]
    pub dimensions: Vec<String>,
    /// A value for each dimension.
    #[serde(serialize_with = "map_or_null", deserialize_with = "or_default")]
    pub values: BTreeMap<String, String>,
}

impl SessionScope {
    /// The text that is hashed. Values are not escaped, as in PicoClaw: see [`check_same_scope`].
    pub fn signature(&self) -> String {
        let (version, parts) = self.parts();
        let mut text = format!("v={version}");
        for (name, value) in parts {
            text.extend(["|", &name, "=", &value]);
        }
        text
    }

    /// `sk_v1_<sha256 of the signature>`.
    pub fn key(&self) -> String {
        opaque(&self.signature())
    }

    /// The scope as PicoClaw's `json.Marshal` writes it.
    pub fn to_json(&self) -> String {
        let mut out = format!("{{\"version\":{}", self.version);
        let fields =
            [("agent_id", &self.agent_id), ("channel", &self.channel), ("account", &self.account)];
        for (name, value) in fields {
            out.extend([",\"", name, "\":"]);
            push_string(&mut out, value);
        }
        out.push_str(",\"dimensions\":");
        match self.dimensions.as_slice() {
            [] => out.push_str("null"),
            dimensions => {
                for (at, dimension) in dimensions.iter().enumerate() {
                    out.push(if at == 0 { '[' } else { ',' });
                    push_string(&mut out, dimension);
                }
                out.push(']');
            }
        }
        out.push_str(",\"values\":");
        if self.values.is_empty() {
            out.push_str("null");
        } else {
            for (at, (name, value)) in self.values.iter().enumerate() {
                out.push(if at == 0 { '{' } else { ',' });
                push_string(&mut out, name);
                out.push(':');
                push_string(&mut out, value);
            }
            out.push('}');
        }
        out.push('}');
        out
    }

    /// What is hashed, still in pieces: pieces can be compared where text cannot.
    fn parts(&self) -> (u32, Vec<(String, String)>) {
        let fixed =
            [("agent", &self.agent_id), ("channel", &self.channel), ("account", &self.account)];
        let fixed = fixed.into_iter().map(|(name, value)| (name.to_owned(), fold(value)));
        let own = self.dimensions.iter().map(|dimension| {
            let value = self.values.get(dimension).map(|value| fold(value));
            (fold(dimension), value.unwrap_or_default())
        });
        (self.version, fixed.chain(own).collect())
    }
}

/// Refuses a scope whose key another scope has already. The signature is not escaped, so that
/// chat `x|sender=bob` and chat `x` with sender `bob` have one key (vectors 64 and 65). PicoClaw
/// mixes them; the keys stay PicoClaw's here, and the second scope is an error.
///
/// # Errors
/// `scopes_meet`, with both scopes.
pub fn check_same_scope(stored: &SessionScope, new: &SessionScope) -> Result<()> {
    let key = new.key();
    if stored.key() != key || stored.parts() == new.parts() {
        return Ok(());
    }
    Err(Error::ScopesMeet { key, stored: stored.to_json(), refused: new.to_json() })
}

fn or_null<S: Serializer>(list: &Vec<String>, to: S) -> std::result::Result<S::Ok, S::Error> {
    (!list.is_empty()).then_some(list).serialize(to)
}

fn map_or_null<S: Serializer>(
    map: &BTreeMap<String, String>,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    (!map.is_empty()).then_some(map).serialize(to)
}

fn or_default<'de, D, T>(from: D) -> std::result::Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}
