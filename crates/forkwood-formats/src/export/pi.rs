//! Pi's session files, version 3.

use std::collections::HashSet;

use forkwood::core::entry::{Compaction, SessionInfo};
use forkwood::{Body, Entry, EntryId, Lane, Result, Role};

use super::Written;
use super::loss::{LossReport, What};
use super::source::Source;
use super::told::{Kept, Told, kept, made_id};
use super::tree::{Chain, Paths, copies, ending_at_leaf};
use crate::fields::Out;
use crate::pi::fork::{NewFork, header};
use crate::pi::{encode, place};

/// The type of a `custom` entry that is last in a file and tells where the session stands.
const POINTER: &str = "forkwood.pointer";

pub(super) fn write(mut source: Source) -> Result<Written> {
    let mut losses = std::mem::take(&mut source.losses);
    let id = safe_id(&source, &mut losses);
    let cwd = source.cwd().to_string_lossy().into_owned();
    let new = NewFork { session_id: &id, created: source.created, cwd: &cwd, parent_session: None };
    let mut out = header(&new);
    out.push('\n');
    let mut line = |entry: &Entry| -> Result<()> {
        if let Some(line) = encode::entry(entry)? {
            out.push_str(&line);
            out.push('\n');
        }
        Ok(())
    };
    place_labels(&mut source);
    let (order, ends_there) = ending_at_leaf(&source);
    let paths = Paths::of(&source);
    let mut chain = Chain::default();
    let facts = facts(&source);
    // In Pi, the session stands at the last line: what tells of it comes first.
    let mut first = None;
    for facts in facts {
        let id = facts.id.clone();
        line(&Entry { parent_id: first.replace(id), ..facts })?;
    }
    for at in order {
        let mut entry = source.entries[at].clone();
        let above = entry.parent_id.clone();
        if matches!(&entry.body, Body::SessionInfo(_)) {
            // The title that counts stands at the start.
            continue;
        }
        told(&entry, &mut losses);
        entry.parent_id = match entry.body.is_sidecar() {
            true => chain.put(above.as_ref(), &entry.id),
            false => chain.behind(above.as_ref()),
        }
        .or_else(|| first.clone());
        let mut behind = Vec::new();
        if let Body::Compaction(compaction) = &mut entry.body {
            let path = paths.to(at);
            let messages = compact(compaction, &source.entries[at], &path, &mut losses);
            behind = copies(&source, &source.entries[at], "tail", messages, &mut chain);
        }
        line(&entry)?;
        for copy in &behind {
            line(copy)?;
        }
    }
    if !ends_there {
        let leaf = source.leaf.clone();
        let id = made_id(&source, &["pointer"]);
        match &leaf {
            None => losses.session(What::Pointer, 1, "in Pi a session stands at its last entry"),
            Some(leaf) => losses.entry(
                What::Pointer,
                leaf,
                "in Pi a session stands at its last entry: one of Forkwood's hangs from it",
            ),
        }
        let mut data = Out::default();
        if let Some(leaf) = &leaf {
            data.str("leafId", leaf.as_str());
        }
        let body = Body::Custom { namespace: POINTER.into(), data: data.into_json(), aside: false };
        let parent_id = chain.behind(leaf.as_ref()).or(first);
        line(&new_entry(&source, id, parent_id, body))?;
    }
    super::told::lose_lanes(&source, &mut losses, "Pi");
    let folder = place::folder_for_cwd(&cwd);
    let folder = folder.replace(|c: char| c.is_control(), "-");
    let name = format!("{folder}/{}", place::file_name(&id, source.created));
    Ok(Written::one(name, out, losses))
}

/// What stands beside the last entry comes last in the file, and of two labels of an entry the
/// last one counts. So what marks the last entry hangs from it, and a label that another one has
/// replaced or taken away hangs from the entry that it marks.
fn place_labels(source: &mut Source) {
    let Some(leaf) = source.leaf.clone() else { return };
    let counts = source.last_labels();
    let known: HashSet<EntryId> = source.entries.iter().map(|entry| entry.id.clone()).collect();
    for entry in &mut source.entries {
        let Body::Label { target_id: Some(target), .. } = &entry.body else { continue };
        let replaced = counts.get(target) != Some(&entry.id) && known.contains(target);
        if *target == leaf || (replaced && entry.parent_id.as_ref() == Some(&leaf)) {
            entry.parent_id = Some(target.clone());
        }
    }
}

/// The id, as it can stand in the name of a file.
fn safe_id(source: &Source, losses: &mut LossReport) -> String {
    let text = source.id.to_string_lossy();
    forkwood::SessionId::new(&text).map_or_else(
        |_| {
            losses.session(What::Id, 1, "the id of the session can be no file name");
            forkwood::SessionId::from_lossy(&text).to_string()
        },
        |id| id.to_string(),
    )
}

fn new_entry(source: &Source, id: EntryId, parent_id: Option<EntryId>, body: Body) -> Entry {
    Entry {
        id,
        parent_id,
        timestamp: Some(source.created),
        lane: Lane::main(),
        more: 0,
        body,
        extra: Vec::new(),
    }
}

/// Title and metadata, as Pi's entries for them. In one they would make it a file of the harness.
fn facts(source: &Source) -> Vec<Entry> {
    let titled = source.title().cloned().map(|title| {
        let info = SessionInfo { title: Some(title), ..SessionInfo::default() };
        new_entry(source, made_id(source, &["title"]), None, info.into())
    });
    let described = source.metadata().map(|metadata| {
        let info = SessionInfo { metadata: Some(metadata), ..SessionInfo::default() };
        new_entry(source, made_id(source, &["metadata"]), None, info.into())
    });
    titled.into_iter().chain(described).collect()
}

/// Says a compaction as Pi does. Gives the messages that must stand behind it.
fn compact(
    compaction: &mut Compaction,
    entry: &Entry,
    path: &[&Entry],
    losses: &mut LossReport,
) -> Vec<Told> {
    let kept = kept(path, path.len() - 1);
    compaction.retained_tail = None;
    compaction.replaces_entry_ids.clear();
    let (first, messages) = match kept {
        Kept::From(first) => (first, Vec::new()),
        Kept::Nothing => (entry.id.clone(), Vec::new()),
        Kept::Behind(messages) => {
            let why = "the messages that it leaves stand behind it as entries of their own";
            losses.entry(What::Compaction, &entry.id, why);
            (entry.id.clone(), messages)
        }
        Kept::Around { before, behind } => {
            let why = "in Pi its summary comes before the messages that it leaves";
            losses.entry(What::Compaction, &entry.id, why);
            (entry.id.clone(), before.into_iter().chain(behind).collect())
        }
    };
    compaction.first_kept_entry_id = Some(first);
    if compaction.summary.is_empty() {
        let why = "Pi shows an empty summary to the model";
        losses.entry(What::Compaction, &entry.id, why);
    }
    messages
}

/// What Pi has no place for, or shows otherwise.
fn told(entry: &Entry, losses: &mut LossReport) {
    let id = &entry.id;
    match &entry.body {
        Body::Message(body) => {
            let message = &body.message;
            if matches!(message.role, Role::System | Role::Developer)
                && body.foreign.is_none()
                && !encode::from_pi(message)
            {
                let why = "in Pi it is a message of an extension, which the model takes for one \
                           of the person";
                losses.entry(What::Role, id, why);
            }
            if message.role == Role::Assistant && message.model.is_none() {
                losses.entry(
                    What::Model,
                    id,
                    "Pi wants to know which model spoke: it is `unknown`",
                );
            }
            if message.role == Role::Tool && message.tool_call_id.is_none() {
                losses.entry(What::Field, id, "Pi wants to know the call: it is `unknown`");
            }
        }
        Body::ModelChange { provider: None, .. } => {
            losses.entry(What::Model, id, "Pi wants to know the provider: it is `unknown`");
        }
        Body::ActiveToolsChange { .. } => {
            losses.entry(What::ActiveTools, id, "Pi keeps it as data of an extension");
        }
        _ => {}
    }
}
