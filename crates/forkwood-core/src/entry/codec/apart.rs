//! Fields of other programs that are called like one of ours and mean something else.

use super::take::camel_case;
use crate::json::ObjectWriter;
use crate::{Body, EntryKind, Json, Text};

/// What stands before the name of a field that is set apart.
const PREFIX: &str = "foreign.";

/// The fields that every entry has.
const BASE: &[&str] = &["id", "parentId", "timestamp", "type", "lane", "more"];

/// Whether a key, in either spelling, is that of a field that every entry has.
fn is_base(key: &Text) -> bool {
    let camel = camel_case(key);
    BASE.iter().any(|base| camel == **base)
}

/// The key of a field that is set apart.
fn apart(key: &Text) -> Text {
    Text::concat([&Text::from(PREFIX), key])
}

/// Writes unknown fields. Those by whose names a line hangs together are set apart, whoever has
/// not done so.
pub(super) fn rest(out: &mut ObjectWriter, fields: &[(Text, Json)]) {
    for (key, value) in fields {
        match is_base(key) {
            true => out.text_key(&apart(key), value.get()),
            false => out.text_key(key, value.get()),
        };
    }
}

/// Sets unknown fields of a foreign record apart where their name has a meaning in the native
/// entry that it becomes: `more` becomes `foreign.more`. Nothing is lost, and nothing is taken
/// for what it is not.
pub fn set_apart(body: &Body, extra: &mut [(Text, Json)]) {
    let known = known(body.kind());
    for (key, _) in extra {
        let camel = camel_case(key);
        if is_base(key) || known.iter().any(|field| camel == **field) {
            *key = apart(key);
        }
    }
}

/// The fields of a type, as `docs/format.md` lists them.
fn known(kind: EntryKind) -> &'static [&'static str] {
    match kind {
        EntryKind::SessionInfo => &[
            "sessionId",
            "version",
            "generation",
            "title",
            "cwd",
            "createdAt",
            "metadata",
            "forkedFrom",
            "agentType",
            "spawnDepth",
            "parentSessionId",
        ],
        EntryKind::Message => &["message", "foreign"],
        EntryKind::ModelChange => &["model", "provider"],
        EntryKind::ThinkingLevelChange => &["thinkingLevel"],
        EntryKind::ActiveToolsChange => &["activeToolNames"],
        EntryKind::Compaction => &[
            "summary",
            "replacesEntryIds",
            "firstKeptEntryId",
            "state",
            "tokensBefore",
            "tokensAfter",
            "retainedTail",
            "usage",
            "details",
        ],
        EntryKind::BranchSummary => &["summary", "fromId", "details"],
        EntryKind::Label => &["label", "targetId"],
        EntryKind::Leaf => &["leafId"],
        EntryKind::Custom => &["namespace", "data", "aside"],
        EntryKind::CustomMessage => &["namespace", "content", "display"],
        EntryKind::ContextEdit => &["targetId", "replacement"],
        EntryKind::Usage => &["kind", "provider", "model", "usage"],
        EntryKind::Operation => &["operationId", "phase", "kind", "outcome", "data"],
        EntryKind::Unknown => &[],
    }
}
