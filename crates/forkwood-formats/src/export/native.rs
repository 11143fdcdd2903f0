//! Forkwood's own form: a session file that opens by its path, and one JSON document.

use std::collections::HashMap;

use forkwood::core::entry::codec;
use forkwood::core::json::ObjectWriter;
use forkwood::{Body, Entry, EntryId, Lane, SessionId, SessionInfo, Text};

use super::Written;
use super::loss::{LossReport, What};
use super::source::Source;
use super::told::made_id;

const VERSION: u64 = 1;

/// A session file. It needs no store beside it: all bytes are inline.
pub(super) fn jsonl(mut source: Source) -> Written {
    let mut losses = std::mem::take(&mut source.losses);
    let id = session_id(&source.id, &mut losses);
    let root = made_id(&source, &["header"]);
    let generation = made_id(&source, &["generation", &source.entries.len().to_string()]);
    let header = Entry {
        id: root.clone(),
        parent_id: None,
        timestamp: Some(source.created),
        lane: Lane::main(),
        more: 0,
        body: Body::SessionInfo(SessionInfo {
            session_id: Some(id.as_str().into()),
            version: Some(VERSION),
            generation: generation.as_str().get(..16).map(Text::from),
            created_at: Some(source.created),
            ..source.info.clone()
        }),
        extra: Vec::new(),
    };
    let mut lanes = Lanes { source: &source, root: &root, stand: HashMap::new(), count: 0 };
    lanes.stand.insert(Lane::main(), root.clone());
    let mut out = codec::encode(&header);
    out.push('\n');
    let mut line = |entry: &Entry| {
        out.push_str(&codec::encode(entry));
        out.push('\n');
    };
    for entry in &source.entries {
        let mut entry = entry.clone();
        if !source.native {
            codec::set_apart(&entry.body, &mut entry.extra);
        }
        let parent = entry.parent_id.get_or_insert_with(|| root.clone()).clone();
        if !entry.body.is_sidecar() {
            if let Some(leaf) = lanes.move_to(&entry.lane, &parent, &entry) {
                line(&leaf);
            }
            lanes.stand.insert(entry.lane.clone(), entry.id.clone());
        }
        line(&entry);
    }
    let ends = std::iter::once((Lane::main(), source.leaf.as_ref()))
        .chain(source.lanes.iter().map(|state| (state.lane.clone(), state.leaf.as_ref())));
    let last = source.entries.last().unwrap_or(&header);
    for (lane, leaf) in ends {
        if let Some(leaf) = lanes.move_to(&lane, leaf.unwrap_or(&root), last) {
            line(&leaf);
        }
    }
    Written::one(format!("{id}.jsonl"), out, losses)
}

fn session_id(id: &Text, losses: &mut LossReport) -> SessionId {
    let text = id.to_string_lossy();
    SessionId::new(&text).unwrap_or_else(|_| {
        losses.session(What::Id, 1, "the id of the session can be no file name");
        SessionId::from_lossy(&text)
    })
}

/// Where lanes stand while entries are written.
struct Lanes<'s> {
    source: &'s Source,
    root: &'s EntryId,
    stand: HashMap<Lane, EntryId>,
    count: usize,
}

impl Lanes<'_> {
    /// The line that moves a lane, where it does not stand there. It has the time of `beside`.
    fn move_to(&mut self, lane: &Lane, to: &EntryId, beside: &Entry) -> Option<Entry> {
        let before = self.stand.insert(lane.clone(), to.clone());
        if before.as_ref() == Some(to) {
            return None;
        }
        self.count += 1;
        Some(Entry {
            id: made_id(self.source, &["leaf", &self.count.to_string()]),
            parent_id: Some(before.unwrap_or_else(|| self.root.clone())),
            timestamp: beside.timestamp,
            lane: lane.clone(),
            more: 0,
            body: Body::Leaf { leaf_id: Some(to.clone()) },
            extra: Vec::new(),
        })
    }
}

/// One document: what is known of the session, where it stands, and all entries.
pub(super) fn json(mut source: Source) -> Written {
    let mut losses = std::mem::take(&mut source.losses);
    let id = session_id(&source.id, &mut losses);
    let mut out = ObjectWriter::new();
    let quoted = |id: Option<&EntryId>| {
        id.map_or_else(|| "null".to_owned(), |id| Text::from(id.as_str()).to_json())
    };
    let mut lanes = ObjectWriter::new();
    lanes.raw("main", &quoted(source.leaf.as_ref()));
    for state in &source.lanes {
        lanes.raw(state.lane.as_str(), &quoted(state.leaf.as_ref()));
    }
    out.raw("schema", "1")
        .text("session", &source.id)
        .opt_text("title", source.title())
        .opt_text("cwd", source.info.cwd.as_ref())
        .raw("createdAt", &source.created.to_string())
        .opt_json("metadata", source.info.metadata.as_ref())
        .raw("leaf", &quoted(source.leaf.as_ref()))
        .raw("lanes", &lanes.finish())
        .array("entries", source.entries.iter().map(codec::encode));
    Written::one(format!("{id}.json"), out.finish() + "\n", losses)
}
