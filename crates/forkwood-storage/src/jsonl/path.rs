//! Paths out of a session file, and the full check of one.

use forkwood_core::entry::Compaction;
use forkwood_core::{Body, Diagnostic, DiagnosticKind, EntryId, EntryKind, Role, Settings};

use super::file::{SessionFile, Trouble};
use crate::{PathRead, PathStop, Result, Stored};

/// Reads a path, as far back as asked. With [`PathStop::Context`] only the entries are read that
/// the context needs, and the few before them that change settings.
pub(super) fn read(
    file: &SessionFile,
    from: &EntryId,
    stop: PathStop,
) -> std::result::Result<PathRead, Trouble> {
    let rules = file.dialect.rules();
    let mut path = file.index.path(file.require(from)?);
    if rules.path_to_compaction {
        path.drain(..compacted(file, &path)?);
    }
    let start = match stop {
        PathStop::Root => 0,
        PathStop::Context => needed(file, &path)?,
    };
    let entries = path[start..]
        .iter()
        .map(|at| {
            let mut stored = file.stored(*at)?;
            // A native context says all in its entries; its bytes would stand in memory twice.
            if stop == PathStop::Context && file.dialect.name() == super::NATIVE {
                stored.raw = None;
            }
            Ok(stored)
        })
        .collect::<std::result::Result<Vec<_>, Trouble>>()?;
    let before = match stop {
        PathStop::Root => Settings::initial(&rules),
        PathStop::Context => match recorded(file, &entries) {
            Some(settings) => settings,
            None => settings_before(file, &path[..start])?,
        },
    };
    Ok(PathRead { entries, before: Some(before) })
}

/// Where Pi's harness ends a path: from the leaf up, each compaction names the entry to stop at;
/// one with a retained tail is the end itself.
fn compacted(file: &SessionFile, path: &[u32]) -> std::result::Result<usize, Trouble> {
    let mut stop: Option<EntryId> = None;
    for (position, at) in path.iter().enumerate().rev() {
        if stop.as_ref() == Some(&file.index.id(*at)) {
            return Ok(position);
        }
        if file.index.rec(*at).kind == EntryKind::Compaction
            && let Body::Compaction(compaction) = file.stored(*at)?.entry.body
        {
            if compaction.retained_tail.is_some() {
                return Ok(position);
            }
            stop = compaction.first_kept_entry_id;
        }
    }
    Ok(0)
}

/// The position on the path from which the context needs entries: what the latest compaction
/// that says so keeps.
fn needed(file: &SessionFile, path: &[u32]) -> std::result::Result<usize, Trouble> {
    for (position, at) in path.iter().enumerate().rev() {
        if file.index.rec(*at).kind != EntryKind::Compaction {
            continue;
        }
        let stored = file.stored(*at)?;
        let Body::Compaction(compaction) = &stored.entry.body else { continue };
        if !compaction.is_boundary() {
            continue;
        }
        if compaction.retained_tail.is_some() {
            return Ok(position);
        }
        let kept = compaction.first_kept_entry_id.as_ref().and_then(|first| {
            let at = file.index.find(first.as_str())?;
            path[..position].iter().rposition(|on| *on == at)
        });
        return Ok(kept.unwrap_or(position));
    }
    Ok(0)
}

/// The settings that the deciding compaction recorded. What sets them between the first entry that
/// it keeps and itself is in them already, and sets them to the same again.
fn recorded(file: &SessionFile, read: &[Stored]) -> Option<Settings> {
    if file.dialect.name() != super::NATIVE {
        return None;
    }
    let at = forkwood_core::fold::latest_boundary(read)?;
    let Body::Compaction(Compaction { state: Some(state), .. }) = &read[at].entry.body else {
        return None;
    };
    let state = state.clone();
    Some(Settings {
        model: state.model,
        provider: state.provider,
        thinking_level: state.thinking_level,
        active_tool_names: state.active_tool_names,
    })
}

/// The settings that a part of a path leads to, from the last entry that sets each.
fn settings_before(file: &SessionFile, path: &[u32]) -> std::result::Result<Settings, Trouble> {
    let rules = file.dialect.rules();
    let (mut thinking, mut tools) = (None, None);
    let mut models = Vec::new();
    let mut provider_known = false;
    for at in path.iter().rev() {
        match file.index.rec(*at).kind {
            EntryKind::ThinkingLevelChange if thinking.is_none() => {
                thinking = Some(file.stored(*at)?.entry);
            }
            EntryKind::ActiveToolsChange if tools.is_none() => {
                tools = Some(file.stored(*at)?.entry);
            }
            EntryKind::ModelChange | EntryKind::Message if !provider_known => {
                let speaks = file.index.rec(*at).kind == EntryKind::ModelChange
                    || (rules.model_from_messages && file.index.role(*at) == Some(Role::Assistant));
                if speaks {
                    let entry = file.stored(*at)?.entry;
                    provider_known = match &entry.body {
                        Body::ModelChange { provider, .. } => provider.is_some(),
                        Body::Message(body) => {
                            body.message.model.is_some() && body.message.provider.is_some()
                        }
                        _ => false,
                    };
                    models.push(entry);
                }
            }
            _ => {}
        }
    }
    let mut settings = Settings::initial(&rules);
    for entry in thinking.iter().chain(&tools).chain(models.iter().rev()) {
        settings.apply(entry, &rules);
    }
    Ok(settings)
}

/// What an entry names that is not there, or not where it should be.
fn dangling(file: &SessionFile, at: u32, body: &Body) -> Option<String> {
    let find = |id: &EntryId| file.index.find(id.as_str());
    match body {
        Body::Label { target_id: Some(target), .. } if find(target).is_none() => {
            Some(format!("the label marks {target}, which is not there"))
        }
        Body::ContextEdit { target_id, .. } if find(target_id).is_none() => {
            Some(format!("the edit is of {target_id}, which is not there: it changes nothing"))
        }
        Body::Compaction(compaction) if compaction.retained_tail.is_none() => {
            let first = compaction.first_kept_entry_id.as_ref()?;
            let why = match find(first) {
                None => "is not there",
                Some(kept) if !leads_to(file, kept, at) => "is not before it on its path",
                Some(_) => return None,
            };
            Some(format!("the compaction keeps from {first}, which {why}: it keeps nothing"))
        }
        _ => None,
    }
}

/// Whether an entry is another one or stands above it.
fn leads_to(file: &SessionFile, from: u32, to: u32) -> bool {
    let mut next = Some(to);
    let mut steps = 0;
    while let Some(at) = next
        && steps <= file.index.len()
    {
        if at == from {
            return true;
        }
        next = file.index.parent(at);
        steps += 1;
    }
    false
}

/// Everything that is odd in a file that was read in full: damage, and what each entry says.
pub(super) fn check(file: &mut SessionFile) -> Result<Vec<Diagnostic>> {
    let mut all = file.findings();
    for at in 0..file.index.len() {
        let (id, line, offset) = {
            let rec = file.index.rec(at);
            (file.index.id(at), u64::from(rec.line), rec.offset)
        };
        let place =
            |kind, message: String| Diagnostic::new(kind, message).at(line, offset).of(id.clone());
        match file.stored_with_notes(at) {
            Ok((stored, notes)) => {
                all.extend(notes.into_iter().map(|(kind, message)| place(kind, message)));
                if let Some(message) = dangling(file, at, &stored.entry.body) {
                    all.push(place(DiagnosticKind::UnknownTarget, message));
                }
            }
            Err(trouble) => {
                all.push(place(
                    DiagnosticKind::BadJson,
                    crate::StorageError::from(trouble).to_string(),
                ));
            }
        }
    }
    if file.dialect.policy().one_root {
        for at in 1..file.index.len() {
            if file.index.parent(at).is_none() && !file.index.is_sidecar(at) {
                let rec = file.index.rec(at);
                let finding = Diagnostic::new(
                    DiagnosticKind::ExtraRoot,
                    "a second root; a native file has one",
                );
                all.push(finding.at(u64::from(rec.line), rec.offset).of(file.index.id(at)));
            }
        }
    }
    if let Some(mode) = file.meta.mode
        && mode & 0o077 != 0
    {
        let message =
            format!("others may read this file (mode {mode:o}); `chmod 600` keeps it private");
        all.push(Diagnostic::new(DiagnosticKind::LooseMode, message));
    }
    all.sort_by_key(|finding| finding.offset);
    Ok(all)
}
