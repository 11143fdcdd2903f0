//! The older names of a conversation (PicoClaw `session/allocator.go`, `key.go`).

use crate::inbound::Context;
use crate::key::main_alias;
use crate::text::{account_id, agent_id, fold};

/// What a direct chat was called before keys were hashed: with the peer alone, with the channel,
/// and with channel and account. None for a blank peer.
pub fn direct(agent: &str, channel: &str, account: &str, peer: &str) -> Vec<String> {
    let peer = fold(peer);
    if peer.is_empty() {
        return Vec::new();
    }
    let (agent, channel, account) = (agent_id(agent), or_unknown(channel), account_id(account));
    vec![
        format!("agent:{agent}:direct:{peer}"),
        format!("agent:{agent}:{channel}:direct:{peer}"),
        format!("agent:{agent}:{channel}:{account}:direct:{peer}"),
    ]
}

/// What a group or channel was called. The chat type is `unknown` where it is empty, though the
/// scope says `direct` there (vector 28).
pub fn peer(agent: &str, channel: &str, chat_type: &str, chat: &str) -> String {
    let (agent, channel) = (agent_id(agent), or_unknown(channel));
    format!("agent:{agent}:{channel}:{}:{}", or_unknown(chat_type), or_unknown(chat))
}

/// All older names of the conversation of a message, most general first.
pub(crate) fn of_message(agent: &str, context: &Context, canonical_sender: &str) -> Vec<String> {
    let mut aliases = vec![main_alias(agent)];
    if context.chat_type == "direct" {
        for name in [context.sender_id.as_str(), canonical_sender, context.chat_id.as_str()] {
            aliases.extend(direct(agent, &context.channel, &context.account, name));
        }
    } else if !context.chat_id.is_empty() {
        let mut chat = context.chat_id.clone();
        if !context.topic_id.is_empty() {
            chat.extend(["/", &context.topic_id]);
        }
        aliases.push(peer(agent, &context.channel, &context.chat_type, &chat));
    }
    distinct(aliases)
}

/// The aliases to store for `key`: trimmed, none blank, none twice, not the key itself; a name
/// that the caller gave comes last, its case kept (PicoClaw `buildSessionAliases`).
pub fn for_key(key: &str, aliases: &[String], given: &str) -> Vec<String> {
    let all = aliases.iter().map(String::as_str).chain([given]).map(str::trim);
    distinct(all.filter(|alias| !alias.is_empty() && *alias != key.trim()).map(str::to_owned))
}

fn distinct(aliases: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for alias in aliases {
        if !kept.contains(&alias) {
            kept.push(alias);
        }
    }
    kept
}

fn or_unknown(text: &str) -> String {
    let text = fold(text);
    if text.is_empty() { "unknown".to_owned() } else { text }
}
