//! Fields of other programs that are called like one of ours and mean something else.

use super::take::camel_case;
use crate::{Body, EntryKind, Json, Text};

/// What stands before the name of a field that is set apart.
const PREFIX: &str = "foreign.";

/// The fields that every entry has.
const BASE: &[&str] = &["id", "parentId", "timestamp", "type", "lane", "more"];

/// Whether a key, in either spelling, is that of a field that every entry has.
pub(super) fn is_base(key: &Text) -> bool {
    let camel = camel_case(key);
    BASE.iter().any(|base| camel == **base)
}

/// The key of a field that is set apart.
pub(super) fn apart(key: &Text) -> Text {
    Text::concat([&Text::from(PREFIX), key])
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
