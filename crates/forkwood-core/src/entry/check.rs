//! What an entry must be before it is written to a native log.
//!
//! Reading keeps whatever stands in a file. Writing takes only what reading would give back as
//! the same: no unknown types, roles or blocks, and no field that a later line cannot carry.

use super::{Body, SessionInfo};
use crate::json::JsonKind;
use crate::{Block, Content, CoreError, EntryId, Json, Message, Role};

impl EntryId {
    /// Checks an id that a caller chose for a new entry: it must not be empty.
    ///
    /// # Errors
    /// [`CoreError::Invalid`] where it is.
    pub fn check(&self) -> Result<(), CoreError> {
        match self.as_str().is_empty() {
            true => Err(CoreError::invalid("entry.id", "must not be empty")),
            false => Ok(()),
        }
    }
}

impl Body {
    /// Checks a body that is to be appended to a native log.
    ///
    /// # Errors
    /// [`CoreError::Invalid`] for an unknown type, role or block, a pointer to nowhere, data or
    /// metadata that are no objects, and a `session_info` with more than a title and metadata:
    /// the rest belongs to the header.
    pub fn check(&self) -> Result<(), CoreError> {
        match self {
            Body::Unknown { tag } => {
                Err(CoreError::invalid("entry.type", format!("{tag} is unknown")))
            }
            Body::Leaf { leaf_id: None } => {
                Err(CoreError::invalid("leaf.leafId", "must name an entry"))
            }
            Body::SessionInfo(info) => check_info(info),
            Body::Custom { data, .. } => check_object("custom.data", data),
            Body::Message(body) => check_message(&body.message),
            Body::CustomMessage { content, .. }
            | Body::ContextEdit { replacement: Some(content), .. } => check_content(content),
            Body::Compaction(compaction) => {
                compaction.retained_tail.iter().flatten().try_for_each(check_message)
            }
            _ => Ok(()),
        }
    }
}

fn check_object(what: &str, json: &Json) -> Result<(), CoreError> {
    match json.kind() {
        JsonKind::Object => Ok(()),
        _ => Err(CoreError::invalid(what, "must be a JSON object")),
    }
}

fn check_info(info: &SessionInfo) -> Result<(), CoreError> {
    let fields = [
        ("sessionId", info.session_id.is_some()),
        ("version", info.version.is_some()),
        ("generation", info.generation.is_some()),
        ("cwd", info.cwd.is_some()),
        ("createdAt", info.created_at.is_some()),
        ("forkedFrom", info.forked_from.is_some()),
        ("agentType", info.agent_type.is_some()),
        ("spawnDepth", info.spawn_depth.is_some()),
        ("parentSessionId", info.parent_session_id.is_some()),
    ];
    if let Some((field, _)) = fields.iter().find(|(_, given)| *given) {
        return Err(CoreError::invalid(
            format!("session_info.{field}"),
            "belongs to the header; a later session_info changes title or metadata only",
        ));
    }
    info.metadata.iter().try_for_each(|metadata| check_object("session_info.metadata", metadata))
}

fn check_message(message: &Message) -> Result<(), CoreError> {
    if let Role::Other(name) = &message.role {
        return Err(CoreError::invalid(
            "message.role",
            format!("{name} is not system, developer, user, assistant or tool"),
        ));
    }
    check_content(&message.content)
}

fn check_content(content: &Content) -> Result<(), CoreError> {
    let blocks: &[Block] = match content {
        Content::Text(_) => &[],
        Content::Blocks(blocks) => blocks,
    };
    match blocks.iter().any(|block| matches!(block, Block::Other(_))) {
        true => Err(CoreError::invalid(
            "message.content",
            "holds a block that is not text, thinking, image or toolCall",
        )),
        false => Ok(()),
    }
}
