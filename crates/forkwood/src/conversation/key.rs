//! Keys as text (PicoClaw `session/key.go`, `agent/agent_utils.go`, `memory/jsonl.go`).

use sha2::{Digest, Sha256};

use super::text::{agent_id, fold};

const OPAQUE: &str = "sk_v1_";
const LEGACY: &str = "agent:";

/// `sk_v1_<sha256>` of a text, trimmed and in lowercase; empty for a blank one.
pub fn opaque(text: &str) -> String {
    let text = fold(text);
    if text.is_empty() {
        return String::new();
    }
    let mut key = OPAQUE.to_owned();
    for byte in Sha256::digest(text.as_bytes()) {
        for half in [byte >> 4, byte & 15] {
            key.extend(char::from_digit(u32::from(half), 16));
        }
    }
    key
}

/// Whether a text has the form of an opaque key. Only its start is looked at, as in PicoClaw.
pub fn is_opaque(text: &str) -> bool {
    fold(text).starts_with(OPAQUE)
}

/// Whether a session key that a caller names is kept: opaque, or `agent:...`.
pub fn is_explicit(text: &str) -> bool {
    is_opaque(text) || fold(text).starts_with(LEGACY)
}

/// The alias of an agent's main session: `agent:<agent>:main`.
pub fn main_alias(agent: &str) -> String {
    format!("{LEGACY}{}:main", agent_id(agent))
}

/// The key of an agent's main session. System messages run there.
pub fn main_key(agent: &str) -> String {
    opaque(&main_alias(agent))
}

/// Whether a key or alias names a main session, whose history is never promoted into a chat. Of
/// opaque keys PicoClaw knows only that of agent `main`.
pub fn is_main(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    matches!(parts.as_slice(), ["agent", _, "main"]) || text == main_key("main")
}

/// Agent and rest of an `agent:<agent>:<rest>` key; case and prefix as written.
pub fn parse_legacy(text: &str) -> Option<(&str, &str)> {
    let (agent, rest) = text.trim().strip_prefix(LEGACY)?.split_once(':')?;
    let (agent, rest) = (agent.trim(), rest.trim());
    (!agent.is_empty() && !rest.is_empty()).then_some((agent, rest))
}

/// The name of a session's files in PicoClaw's folder, without an ending. Many to one: `a:b`,
/// `a/b` and `a_b` share a file.
pub fn file_base(key: &str) -> String {
    key.replace([':', '/', '\\'], "_")
}
