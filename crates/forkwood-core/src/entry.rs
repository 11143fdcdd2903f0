//! Entries: the lines of a session's log.

use crate::{Content, EntryId, Json, Lane, Message, Text, Timestamp};

mod check;
pub mod codec;
mod refs;

/// One line of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Unique in the session.
    pub id: EntryId,
    /// The entry it follows; `None` for a root.
    pub parent_id: Option<EntryId>,
    /// When it was written, where the file says so.
    pub timestamp: Option<Timestamp>,
    /// The pointer it moves, or belongs to.
    pub lane: Lane,
    /// How many lines of the same batch follow.
    pub more: u32,
    /// What it is.
    pub body: Body,
    /// Fields that this version does not know, kept for writing back.
    pub extra: Vec<(Text, Json)>,
}

/// An entry that is not written yet. Parent and time are given by the storage.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Chosen by the caller, so that a retry is the same write.
    pub id: EntryId,
    /// A time of its own, for what is copied from elsewhere; else the storage's clock.
    pub timestamp: Option<Timestamp>,
    /// What it is.
    pub body: Body,
    /// Fields that this version does not know, of what is copied from elsewhere.
    pub extra: Vec<(Text, Json)>,
}

impl Draft {
    /// A draft that takes the time from the storage's clock.
    pub fn new(id: EntryId, body: impl Into<Body>) -> Draft {
        Draft { id, timestamp: None, body: body.into(), extra: Vec::new() }
    }
}

/// What an [`Entry`] is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Body {
    /// The root and header of a native session; a later one renames or sets metadata.
    SessionInfo(SessionInfo),
    /// A message.
    Message(MessageBody),
    /// From here on another model answers.
    ModelChange {
        /// The model.
        model: Text,
        /// Its provider, where that changes too.
        provider: Option<Text>,
    },
    /// From here on the model thinks more or less.
    ThinkingLevelChange {
        /// Such as `off`, `low`, `high`.
        thinking_level: Text,
    },
    /// From here on these tools are offered.
    ActiveToolsChange {
        /// Their names.
        active_tool_names: Vec<Text>,
    },
    /// A summary that stands for earlier entries.
    Compaction(Compaction),
    /// What happened on a branch that was left.
    BranchSummary {
        /// The text; an empty one emits nothing.
        summary: Text,
        /// The tip of the branch that was left.
        from_id: Option<EntryId>,
        /// Whatever else is known.
        details: Option<Json>,
    },
    /// A bookmark.
    Label {
        /// The name; `None` clears it.
        label: Option<Text>,
        /// The entry it marks; absent = its parent.
        target_id: Option<EntryId>,
    },
    /// Moves a lane's pointer.
    Leaf {
        /// Where to; `None` = before the first entry (foreign files only).
        leaf_id: Option<EntryId>,
    },
    /// Data of an extension; never in a model's context.
    Custom {
        /// Whose.
        namespace: Text,
        /// What.
        data: Json,
        /// Whether it stands beside the path and not on it.
        aside: bool,
    },
    /// A message of an extension; in the context as a user message.
    CustomMessage {
        /// Whose.
        namespace: Text,
        /// What it says.
        content: Content,
        /// Whether people are shown it.
        display: bool,
    },
    /// Edits what the context shows of an earlier entry.
    ContextEdit {
        /// Which entry.
        target_id: EntryId,
        /// The new content; `None` removes it from the context.
        replacement: Option<Content>,
    },
    /// Tokens used outside a message.
    Usage {
        /// What for.
        kind: Text,
        /// By which provider.
        provider: Text,
        /// By which model.
        model: Text,
        /// How much.
        usage: Json,
    },
    /// What was in flight, should the process die.
    Operation(Operation),
    /// An entry of a type that this version does not know; its fields are in `extra`.
    Unknown {
        /// The type as it stands.
        tag: Text,
    },
}

/// The header of a session, or a later change of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionInfo {
    /// The id of the session; on line 1.
    pub session_id: Option<Text>,
    /// The version of the format; on line 1.
    pub version: Option<u64>,
    /// Random; another one after each rewrite of the file.
    pub generation: Option<Text>,
    /// What people call it. An empty one clears it.
    pub title: Option<Text>,
    /// The working folder it belongs to.
    pub cwd: Option<Text>,
    /// When it was made.
    pub created_at: Option<Timestamp>,
    /// Free data, an object; replaces what was there.
    pub metadata: Option<Json>,
    /// Where it was copied from.
    pub forked_from: Option<ForkedFrom>,
    /// Which kind of sub-agent it is the session of.
    pub agent_type: Option<Text>,
    /// How deep below the first agent.
    pub spawn_depth: Option<u64>,
    /// The session of the agent that spawned it.
    pub parent_session_id: Option<Text>,
}

/// Where a fork was copied from.
#[derive(Clone, Debug, PartialEq)]
pub struct ForkedFrom {
    /// The session.
    pub session_id: Text,
    /// The last entry that was copied, by its id there.
    pub entry_id: EntryId,
}

/// A message entry.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageBody {
    /// The message in Forkwood's terms.
    pub message: Message,
    /// The record it came from, where the message alone does not hold all of it.
    pub foreign: Option<Foreign>,
}

/// A foreign record, kept verbatim and written back so.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreign {
    /// Such as `pi`.
    pub format: Text,
    /// The record.
    pub raw: Json,
}

/// A compaction entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compaction {
    /// The summary; an empty one emits nothing, which is logical truncation.
    pub summary: Text,
    /// What it replaces. Alone: in place.
    pub replaces_entry_ids: Vec<EntryId>,
    /// The first entry of the path that is kept; its own id: nothing is kept.
    pub first_kept_entry_id: Option<EntryId>,
    /// Model, thinking level and tools as folded there.
    pub state: Option<CompactionState>,
    /// Tokens of the context before.
    pub tokens_before: Option<u64>,
    /// Tokens of the context after.
    pub tokens_after: Option<u64>,
    /// Messages that stand after the summary in place of kept entries.
    pub retained_tail: Option<Vec<Message>>,
    /// What the summary cost.
    pub usage: Option<Json>,
    /// Whatever else is known, such as the files read and changed.
    pub details: Option<Json>,
}

impl Compaction {
    /// Whether it decides the whole context, and not only replaces in place.
    pub fn is_boundary(&self) -> bool {
        self.first_kept_entry_id.is_some() || self.retained_tail.is_some()
    }
}

/// The settings as folded at a compaction, so that a reader can stop there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompactionState {
    /// The model.
    pub model: Option<Text>,
    /// Its provider.
    pub provider: Option<Text>,
    /// The thinking level.
    pub thinking_level: Option<Text>,
    /// The tools offered.
    pub active_tool_names: Option<Vec<Text>>,
}

/// An operation entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The same in `started` and `finished`.
    pub operation_id: Text,
    /// `started` or `finished`.
    pub phase: Text,
    /// `run`, `tool`, `compaction` or `navigation`.
    pub kind: Text,
    /// How it ended.
    pub outcome: Option<Text>,
    /// Whatever else is known.
    pub data: Option<Json>,
}

/// The type of an [`Entry`], without its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[non_exhaustive]
pub enum EntryKind {
    /// `session_info`
    SessionInfo,
    /// `message`
    Message,
    /// `model_change`
    ModelChange,
    /// `thinking_level_change`
    ThinkingLevelChange,
    /// `active_tools_change`
    ActiveToolsChange,
    /// `compaction`
    Compaction,
    /// `branch_summary`
    BranchSummary,
    /// `label`
    Label,
    /// `leaf`
    Leaf,
    /// `custom`
    Custom,
    /// `custom_message`
    CustomMessage,
    /// `context_edit`
    ContextEdit,
    /// `usage`
    Usage,
    /// `operation`
    Operation,
    /// Any other
    Unknown,
}

impl EntryKind {
    /// The type tag in files, snake_case.
    pub fn as_str(self) -> &'static str {
        match self {
            EntryKind::SessionInfo => "session_info",
            EntryKind::Message => "message",
            EntryKind::ModelChange => "model_change",
            EntryKind::ThinkingLevelChange => "thinking_level_change",
            EntryKind::ActiveToolsChange => "active_tools_change",
            EntryKind::Compaction => "compaction",
            EntryKind::BranchSummary => "branch_summary",
            EntryKind::Label => "label",
            EntryKind::Leaf => "leaf",
            EntryKind::Custom => "custom",
            EntryKind::CustomMessage => "custom_message",
            EntryKind::ContextEdit => "context_edit",
            EntryKind::Usage => "usage",
            EntryKind::Operation => "operation",
            EntryKind::Unknown => "unknown",
        }
    }

    /// Reads a type tag in either spelling.
    pub fn from_tag(tag: &str) -> EntryKind {
        match tag {
            "session_info" | "sessionInfo" => EntryKind::SessionInfo,
            "message" => EntryKind::Message,
            "model_change" | "modelChange" => EntryKind::ModelChange,
            "thinking_level_change" | "thinkingLevelChange" => EntryKind::ThinkingLevelChange,
            "active_tools_change" | "activeToolsChange" => EntryKind::ActiveToolsChange,
            "compaction" => EntryKind::Compaction,
            "branch_summary" | "branchSummary" => EntryKind::BranchSummary,
            "label" => EntryKind::Label,
            "leaf" => EntryKind::Leaf,
            "custom" => EntryKind::Custom,
            "custom_message" | "customMessage" => EntryKind::CustomMessage,
            "context_edit" | "contextEdit" => EntryKind::ContextEdit,
            "usage" => EntryKind::Usage,
            "operation" => EntryKind::Operation,
            _ => EntryKind::Unknown,
        }
    }
}

impl Body {
    /// A message body.
    pub fn message(message: Message) -> Body {
        Body::Message(MessageBody { message, foreign: None })
    }

    /// The type of the entry.
    pub fn kind(&self) -> EntryKind {
        match self {
            Body::SessionInfo(_) => EntryKind::SessionInfo,
            Body::Message(_) => EntryKind::Message,
            Body::ModelChange { .. } => EntryKind::ModelChange,
            Body::ThinkingLevelChange { .. } => EntryKind::ThinkingLevelChange,
            Body::ActiveToolsChange { .. } => EntryKind::ActiveToolsChange,
            Body::Compaction(_) => EntryKind::Compaction,
            Body::BranchSummary { .. } => EntryKind::BranchSummary,
            Body::Label { .. } => EntryKind::Label,
            Body::Leaf { .. } => EntryKind::Leaf,
            Body::Custom { .. } => EntryKind::Custom,
            Body::CustomMessage { .. } => EntryKind::CustomMessage,
            Body::ContextEdit { .. } => EntryKind::ContextEdit,
            Body::Usage { .. } => EntryKind::Usage,
            Body::Operation(_) => EntryKind::Operation,
            Body::Unknown { .. } => EntryKind::Unknown,
        }
    }

    /// The type tag as it stands in a file.
    pub fn tag(&self) -> Text {
        match self {
            Body::Unknown { tag } => tag.clone(),
            body => body.kind().as_str().into(),
        }
    }

    /// Whether the entry stands beside the path in a native file. A `session_info` that is the
    /// root stands on it; that is decided by its place, not here.
    pub fn is_sidecar(&self) -> bool {
        match self {
            Body::Label { .. } | Body::Leaf { .. } | Body::Operation(_) | Body::SessionInfo(_) => {
                true
            }
            Body::Custom { aside, .. } => *aside,
            _ => false,
        }
    }
}

impl From<Message> for Body {
    fn from(message: Message) -> Body {
        Body::message(message)
    }
}

impl From<Compaction> for Body {
    fn from(compaction: Compaction) -> Body {
        Body::Compaction(compaction)
    }
}

impl From<SessionInfo> for Body {
    fn from(info: SessionInfo) -> Body {
        Body::SessionInfo(info)
    }
}

/// So that what holds an entry can stand in a path.
impl AsRef<Entry> for Entry {
    fn as_ref(&self) -> &Entry {
        self
    }
}

impl Entry {
    /// The type of the entry.
    pub fn kind(&self) -> EntryKind {
        self.body.kind()
    }

    /// The message, if it is a message entry.
    pub fn message(&self) -> Option<&Message> {
        match &self.body {
            Body::Message(body) => Some(&body.message),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
