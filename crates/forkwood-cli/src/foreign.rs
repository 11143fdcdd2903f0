//! The formats of other tools: the only place that knows which there are.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use forkwood::storage::PathStop;
use forkwood::storage::disk::{Disk, RealDisk};
use forkwood::storage::jsonl::Format;
use forkwood::{
    EntryId, ErrorKind, Page, Problem, Role, Session, SessionId, SessionRow, SessionStore, Text,
    workspace,
};
use forkwood_formats::import::{self, Environment, Tool, Unit};
use forkwood_formats::pi;

use crate::ctx::Ctx;
use crate::error::{CliError, Result};
use crate::time;

/// Every foreign format.
pub(crate) fn formats() -> Vec<Arc<dyn Format>> {
    forkwood_formats::formats()
}

/// The folders in which a tool keeps the sessions of this user.
pub(crate) fn places(ctx: &Ctx, tool: &dyn Tool) -> Vec<PathBuf> {
    tool.places(&Environment {
        home: std::env::home_dir(),
        workspace: Some(workspace::find(&ctx.folder)),
        variable: &|name| std::env::var(name).ok(),
    })
}

/// The tool of a name.
pub(crate) fn tool(name: &str) -> Result<Arc<dyn Tool>> {
    import::tool(name).ok_or_else(|| {
        let message = format!("{name}: nothing is known of a tool of this name");
        CliError::new(ErrorKind::Unsupported, message)
    })
}

/// The folder in which a tool keeps the sessions of this user.
pub(crate) fn sessions_of(ctx: &Ctx, name: &str) -> Result<PathBuf> {
    places(ctx, tool(name)?.as_ref()).into_iter().next().ok_or_else(|| {
        let message = format!("it is not known where the sessions of {name} lie");
        CliError::new(ErrorKind::NotFound, message).hint("name a path, or a folder with --dir")
    })
}

/// The tools whose files the engine does not open.
fn shown_tools() -> Vec<Arc<dyn Tool>> {
    import::tools().into_iter().filter(|tool| !tool.in_place()).collect()
}

/// A session that no dialect of the engine knows and another tool does, as it is now.
pub(crate) async fn snapshot(path: &Path) -> Result<Option<(SessionStore, SessionId)>> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let Ok(meta) = disk.meta(&real) else { return Ok(None) };
    for tool in shown_tools() {
        let Some(unit) = tool.claim(disk.as_ref(), &real, &meta) else { continue };
        let mut sessions = import::snapshot(&tool, &unit, &disk).await?;
        if sessions.len() > 1 {
            let message = format!("{}: holds {} sessions", path.display(), sessions.len());
            let folder = path.parent().unwrap_or(Path::new(".")).display().to_string();
            return Err(CliError::new(ErrorKind::Ambiguous, message).hint(format!(
                "`forkwood list --dir {folder}` lists them, and with --dir each is found by its id"
            )));
        }
        let Some(session) = sessions.pop() else { continue };
        let id = session.id().clone();
        return Ok(Some((SessionStore::new(Arc::new(session)), id)));
    }
    Ok(None)
}

/// A session that another tool knows by an id, or by the start of one, among what lies in a
/// folder.
pub(crate) async fn named(folder: &Path, query: &str) -> Result<Option<(SessionStore, SessionId)>> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let mut found: Vec<(Arc<dyn Tool>, Unit, String)> = Vec::new();
    for (tool, unit) in units(folder) {
        let Ok(sessions) = tool.open(&disk, &unit).await else { continue };
        for session in sessions {
            let id = session.about().source_id.to_string_lossy().into_owned();
            if id.starts_with(query) {
                found.push((Arc::clone(&tool), unit.clone(), id));
            }
        }
    }
    if let Some(exact) = found.iter().position(|(_, _, id)| id == query) {
        found.swap(0, exact);
        found.truncate(1);
    }
    let candidates = || {
        let ids: Vec<&str> = found.iter().map(|(_, _, id)| id.as_str()).collect();
        format!("{query:?} is the start of several sessions: {}", ids.join(", "))
    };
    if found.len() > 1 {
        return Err(CliError::new(ErrorKind::Ambiguous, candidates()));
    }
    let Some((tool, unit, id)) = found.pop() else { return Ok(None) };
    let session = import::snapshot_of(&tool, &unit, &disk, &id).await?;
    let id = session.id().clone();
    Ok(Some((SessionStore::new(Arc::new(session)), id)))
}

/// What lies in a folder that no dialect of the engine knows and other tools do.
pub(crate) fn units(folder: &Path) -> Vec<(Arc<dyn Tool>, Unit)> {
    import::find(&RealDisk, folder, &shown_tools()).units
}

/// The sessions in a folder that no dialect of the engine knows and other tools do, and the
/// paths of those that were looked at.
pub(crate) async fn rows(
    folder: &Path,
    recursive: bool,
) -> Result<(Vec<SessionRow>, Vec<Problem>)> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let found = import::find(disk.as_ref(), folder, &shown_tools());
    let mut rows = Vec::new();
    let mut problems = Vec::new();
    for (tool, unit) in found.units {
        if !recursive && unit.path.parent() != Some(folder) {
            continue;
        }
        match import::snapshot(&tool, &unit, &disk).await {
            Ok(sessions) => {
                for session in sessions {
                    let page = Page::default();
                    rows.extend(SessionStore::new(Arc::new(session)).list(page).await?.rows);
                }
            }
            Err(error) => problems.push(Problem {
                path: unit.path,
                kind: "damaged",
                message: error.to_string(),
            }),
        }
    }
    Ok((rows, problems))
}

/// A context as Pi has it: each message as JSON, and the entry behind it.
pub(crate) async fn pi_context(
    session: &Session,
    at: Option<&EntryId>,
) -> Result<Vec<(String, EntryId)>> {
    let Some(at) = at else { return Ok(Vec::new()) };
    let path = session.context_path(at).await?;
    Ok(pi::shape::pi_context(&path.entries, &session.facts().rules)
        .into_iter()
        .map(|message| (message.json, message.entry_id))
        .collect())
}

/// Whether a session lies in a file of Pi.
pub(crate) fn is_pi(session: &Session) -> bool {
    session.facts().dialect.starts_with("pi")
}

/// Whether the program that a session is of would go on at the entry where we stand: Pi knows no
/// pointer, and takes the last entry of the file.
pub(crate) async fn pi_stands_here(session: &Session) -> Result<bool> {
    if !is_pi(session) {
        return Ok(true);
    }
    let heads = session.heads().await?;
    Ok(heads.last().map(|head| &head.id) == session.leaf())
}

/// Copies the path to an entry into a new file of Pi, beside the file of the source. Gives the
/// id of the new session and its path.
pub(crate) async fn fork_pi(session: &Session, at: &EntryId) -> Result<(String, PathBuf)> {
    let source = session.facts().path.clone().filter(|_| is_pi(session)).ok_or_else(|| {
        CliError::new(ErrorKind::Unsupported, "--format pi forks files of Pi, and this is none")
            .hint("leave --format out: the fork is then a session of Forkwood")
    })?;
    let path = session.storage().path(session.id(), at, PathStop::Root).await?.entries;
    let answered = path.iter().any(|stored| {
        stored.entry.message().is_some_and(|message| message.role == Role::Assistant)
    });
    if !answered {
        return Err(CliError::new(
            ErrorKind::Unsupported,
            "no model has answered on the path to this entry; Pi writes such a file a second time",
        )
        .hint("fork at a later entry, or into a session of Forkwood with --format native"));
    }
    let labels = session.storage().sidecars(session.id(), &[]).await?;
    let id = dashed(forkwood::IdSource::next_id(&forkwood::storage::UuidV7).as_str());
    let created = time::now();
    let parent = source.canonicalize().unwrap_or_else(|_| source.clone());
    let fork = pi::fork::NewFork {
        session_id: &id,
        created,
        cwd: &session.facts().info.cwd.as_ref().map(Text::to_string).unwrap_or_default(),
        parent_session: Some(&parent.to_string_lossy()),
    };
    let text = pi::fork::new_fork_file(&fork, &path, &labels, &session.facts().rules)?;
    let folder = source.parent().unwrap_or(Path::new("."));
    let file = folder.join(pi::place::file_name(&id, created));
    crate::place::write_new(&file, text.as_bytes())?;
    Ok((id, file))
}

/// A UUID with its dashes.
fn dashed(hex: &str) -> String {
    match (hex.get(..8), hex.get(8..12), hex.get(12..16), hex.get(16..20), hex.get(20..)) {
        (Some(a), Some(b), Some(c), Some(d), Some(e)) => format!("{a}-{b}-{c}-{d}-{e}"),
        _ => hex.to_owned(),
    }
}
