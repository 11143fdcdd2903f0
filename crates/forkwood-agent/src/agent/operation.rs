//! Operation entries: what was in flight should the process die.

use std::collections::{HashMap, HashSet};

use forkwood::{Body, EntryId, Json, Operation, Session};

use crate::AgentError;

pub(crate) const RUN: &str = "run";
pub(crate) const TOOL: &str = "tool";
pub(crate) const COMPACTION: &str = "compaction";
pub(crate) const NAVIGATION: &str = "navigation";

/// An operation that started.
pub(crate) fn started(id: &str, kind: &str, data: Option<&serde_json::Value>) -> Body {
    body(id, "started", kind, None, data)
}

/// An operation that ended.
pub(crate) fn finished(
    id: &str,
    kind: &str,
    outcome: &str,
    data: Option<&serde_json::Value>,
) -> Body {
    body(id, "finished", kind, Some(outcome), data)
}

fn body(
    id: &str,
    phase: &str,
    kind: &str,
    outcome: Option<&str>,
    data: Option<&serde_json::Value>,
) -> Body {
    Body::Operation(Operation {
        operation_id: id.into(),
        phase: phase.into(),
        kind: kind.into(),
        outcome: outcome.map(Into::into),
        data: data.and_then(|data| Json::from_value(data).ok()),
    })
}

/// An operation that started and did not finish.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenOperation {
    /// Its id.
    pub id: String,
    /// `run`, `tool`, `compaction` or `navigation`.
    pub kind: String,
    /// Where the lane stood when it started.
    pub at: Option<EntryId>,
    /// Whether that lies on the current path.
    pub on_path: bool,
    /// What was written of it.
    pub data: serde_json::Value,
}

impl OpenOperation {
    pub(crate) fn call_id(&self) -> Option<&str> {
        self.data.get("toolCallId")?.as_str()
    }
}

/// The operations of the session's lane that are open, in log order.
pub(crate) async fn open(session: &Session) -> Result<Vec<OpenOperation>, AgentError> {
    let mut found: Vec<OpenOperation> = Vec::new();
    let mut at: HashMap<String, usize> = HashMap::new();
    let mut closed: HashSet<String> = HashSet::new();
    for stored in session.storage().sidecars(session.id(), &[]).await? {
        let entry = stored.entry;
        let Body::Operation(operation) = entry.body else { continue };
        if entry.lane != *session.lane() {
            continue;
        }
        let id = operation.operation_id.to_string_lossy().into_owned();
        if operation.phase != "started" {
            closed.insert(id);
            continue;
        }
        closed.remove(&id);
        let data = operation.data.and_then(|data| data.to().ok()).unwrap_or_default();
        let kind = operation.kind.to_string_lossy().into_owned();
        let open =
            OpenOperation { id: id.clone(), kind, at: entry.parent_id, on_path: false, data };
        match at.get(&id) {
            Some(&place) => found[place] = open,
            None => {
                at.insert(id, found.len());
                found.push(open);
            }
        }
    }
    found.retain(|open| !closed.contains(&open.id));
    if found.is_empty() {
        return Ok(found);
    }
    let path: HashSet<EntryId> = match session.current_leaf().await? {
        Some(leaf) => session.path_ids(&leaf).await?.into_iter().collect(),
        None => HashSet::new(),
    };
    for open in &mut found {
        open.on_path = open.at.as_ref().is_some_and(|at| path.contains(at));
    }
    Ok(found)
}
