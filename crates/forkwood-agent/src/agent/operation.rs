//! Operation entries: what was in flight should the process die.

use std::collections::{HashMap, HashSet};

use forkwood::{Body, Entry, EntryId, Json, Lane, Operation, Seq, Session};

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
    let all = session.storage().sidecars(session.id(), &[]).await?;
    among(session, all.into_iter().map(|stored| stored.entry)).await
}

/// A place in the log before which nothing was open.
#[derive(Clone, Debug)]
pub(crate) struct Quiet {
    generation: String,
    lane: Lane,
    end: Seq,
}

/// The same, where it may be known up to which place nothing was open: what is before it is not
/// read again. Gives the place for the next time, if nothing is open now.
pub(super) async fn open_since(
    session: &Session,
    quiet: Option<Quiet>,
) -> Result<(Vec<OpenOperation>, Option<Quiet>), AgentError> {
    // First: what is written from here on is looked at the next time.
    let facts = session.storage().facts(session.id()).await?;
    let now = Quiet { generation: facts.generation, lane: session.lane().clone(), end: facts.end };
    let known = quiet.filter(|it| it.generation == now.generation && it.lane == now.lane);
    let open = match known {
        None => open(session).await?,
        Some(Quiet { mut end, .. }) => {
            let mut fresh = Vec::new();
            loop {
                let page = session.read(end, 1024).await?;
                for stored in page.entries {
                    end = stored.seq;
                    if matches!(stored.entry.body, Body::Operation(_)) {
                        fresh.push(stored.entry);
                    }
                }
                if page.next.is_none() {
                    break;
                }
            }
            among(session, fresh.into_iter()).await?
        }
    };
    let quiet = open.is_empty().then_some(now);
    Ok((open, quiet))
}

async fn among(
    session: &Session,
    entries: impl Iterator<Item = Entry>,
) -> Result<Vec<OpenOperation>, AgentError> {
    let mut found: Vec<OpenOperation> = Vec::new();
    let mut at: HashMap<String, usize> = HashMap::new();
    let mut closed: HashSet<String> = HashSet::new();
    for entry in entries {
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
