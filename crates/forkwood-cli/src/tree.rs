//! A session's tree, read and put into rows.

use std::collections::HashMap;

use forkwood::core::json::Object;
use forkwood::{EntryId, Head, Session, Stored, Text};
use forkwood_view::rows::{Marks, Node, Row, Style, rows};
use forkwood_view::summary;

use crate::error::Result;

/// Bodies that are read at once: so many bytes, or a single one that is larger.
const PORTION: u64 = 4 << 20;

/// The rows of a session, each with a summary of at most so many columns.
pub(crate) async fn load(session: &Session, columns: usize, style: Style) -> Result<Vec<Row>> {
    let (mut nodes, all_there) = nodes(session, columns).await?;
    // What only reading it whole told to be damaged is no entry, and others hang elsewhere.
    if !all_there {
        nodes = self::nodes(session, columns).await?.0;
    }
    // As the session stands now, whatever was known when it was opened.
    let facts = session.storage().facts(session.id()).await?;
    let marks = Marks {
        labels: session.labels().await?,
        leaf: facts.leaf(session.lane()).cloned(),
        lanes: facts
            .lanes
            .iter()
            .filter_map(|state| Some((state.lane.clone(), state.leaf.clone()?)))
            .collect(),
    };
    Ok(rows(nodes, &marks, style))
}

/// The entries of the tree, and whether each of them was still there when it was read.
async fn nodes(session: &Session, columns: usize) -> Result<(Vec<Node>, bool)> {
    let heads: Vec<Head> =
        session.heads().await?.into_iter().filter(|head| !head.sidecar).collect();
    let native = session.facts().dialect == "native";
    let mut nodes = Vec::with_capacity(heads.len());
    let mut all_there = true;
    for portion in portions(&heads) {
        let ids: Vec<EntryId> = portion.iter().map(|head| head.id.clone()).collect();
        let stored = session.storage().get(session.id(), &ids).await?;
        for (head, stored) in portion.iter().zip(stored) {
            let (tag, text) = match &stored {
                Some(stored) => (tag(stored, native), summary::entry(&stored.entry, columns)),
                // Gone since the heads were read.
                None => {
                    all_there = false;
                    (head.kind.as_str().into(), String::new())
                }
            };
            nodes.push(Node {
                id: head.id.clone(),
                parent_id: head.parent_id.clone(),
                tag,
                role: head.role.clone(),
                lane: head.lane.clone(),
                text,
            });
        }
    }
    Ok((nodes, all_there))
}

/// One line for each of some entries.
pub(crate) async fn summaries(
    session: &Session,
    ids: &[EntryId],
    columns: usize,
) -> Result<HashMap<EntryId, String>> {
    let mut lines = HashMap::new();
    for portion in ids.chunks(64) {
        for stored in session.storage().get(session.id(), portion).await?.into_iter().flatten() {
            lines.insert(stored.entry.id.clone(), summary::entry(&stored.entry, columns));
        }
    }
    Ok(lines)
}

/// The type of an entry as its own format names it.
fn tag(stored: &Stored, native: bool) -> Text {
    let own = stored.raw.as_ref().filter(|_| !native).and_then(|raw| {
        let text = String::from_utf8_lossy(raw);
        Object::parse(&text).ok()?.text("type")
    });
    own.unwrap_or_else(|| stored.entry.body.tag())
}

fn portions(heads: &[Head]) -> Vec<&[Head]> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut bytes = 0;
    for (at, head) in heads.iter().enumerate() {
        if at > start && bytes + head.bytes > PORTION {
            out.push(&heads[start..at]);
            start = at;
            bytes = 0;
        }
        bytes += head.bytes;
    }
    if start < heads.len() {
        out.push(&heads[start..]);
    }
    out
}
