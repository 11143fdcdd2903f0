//! From an argument to an open session.

use std::path::Path;
use std::sync::Arc;

use forkwood::conversation::native::session_id;
use forkwood::storage::jsonl::JsonlStorage;
use forkwood::{Error, ErrorKind, Lane, Session, SessionId, SessionStore};

use crate::conversations;
use crate::ctx::Ctx;
use crate::error::{CliError, Result, code};
use crate::foreign;
use crate::place::{Place, options};

/// Opens the session that an argument names: a path, an id or a unique prefix.
pub(crate) async fn open(ctx: &Ctx, query: &str) -> Result<Session> {
    open_session(ctx, query, true).await
}

/// The same, perhaps without bridges over damage: the view of the file's owner.
pub(crate) async fn open_session(ctx: &Ctx, query: &str, bridge: bool) -> Result<Session> {
    let (store, id) = find(ctx, query, bridge).await?;
    Ok(store.open(id.as_str()).await?)
}

/// Opens a session on a lane.
pub(crate) async fn open_lane(
    ctx: &Ctx,
    query: &str,
    bridge: bool,
    lane: Option<&Lane>,
) -> Result<Session> {
    let mut session = open_session(ctx, query, bridge).await?;
    if let Some(lane) = lane {
        session.use_lane(lane.clone()).await?;
    }
    Ok(session)
}

/// The store that holds the session which an argument names, and its id there.
pub(crate) async fn find(
    ctx: &Ctx,
    query: &str,
    bridge: bool,
) -> Result<(SessionStore, SessionId)> {
    if is_path(ctx, query) {
        let path = ctx.absolute(Path::new(query));
        if let Err(error) = path.symlink_metadata() {
            if let Ok(Some(found)) = conversation(ctx, query, bridge).await {
                return Ok(found);
            }
            // What may not be looked at may be there.
            return Err(match error.kind() {
                std::io::ErrorKind::PermissionDenied => CliError::io("read", &path, &error),
                _ => neither(query),
            });
        }
        return match JsonlStorage::file(&path, options(bridge)) {
            Ok((storage, id)) => Ok((SessionStore::new(Arc::new(storage)), id)),
            Err(error) => match foreign::snapshot(&path).await? {
                Some(found) => Ok(found),
                None => Err(error.into()),
            },
        };
    }
    if conversations::is_name(query)
        && let Some(found) = conversation(ctx, query, bridge).await?
    {
        return Ok(found);
    }
    let place = Place::of(ctx)?;
    if let Place::Folder(folder) | Place::Tool(_, folder) = &place
        && !query.is_empty()
        && let Some(found) = foreign::named(folder, query).await?
    {
        return Ok(found);
    }
    let none = match check_query(query) {
        Err(error) => error,
        Ok(()) => {
            let store = place.open(ctx, true, bridge)?;
            match store.resolve(query).await {
                Ok(id) => return Ok((store, id)),
                Err(Error::SessionNotFound { .. }) => not_found(query, &place),
                Err(error) => return Err(error.into()),
            }
        }
    };
    // An alias may be any text.
    let looked = query.trim().is_empty() || conversations::is_name(query);
    match looked {
        true => Err(none),
        // What stands in the way of that look is not what was asked about.
        false => conversation(ctx, query, bridge).await.ok().flatten().ok_or(none),
    }
}

/// The session of the conversation whose key or alias an argument is.
async fn conversation(
    ctx: &Ctx,
    query: &str,
    bridge: bool,
) -> Result<Option<(SessionStore, SessionId)>> {
    let Some(key) = conversations::find(ctx, query).await? else { return Ok(None) };
    match Place::of(ctx)? {
        Place::Folder(folder) | Place::Tool(_, folder) => foreign::named(&folder, &key).await,
        store @ Place::Store(_) => Ok(Some((store.open(ctx, true, bridge)?, session_id(&key)?))),
    }
}

/// What an argument must look like to be an id or the start of one.
pub(crate) fn check_query(query: &str) -> Result {
    let start = query.trim_end_matches(['-', '.', '_']);
    match SessionId::new(start) {
        Ok(_) => Ok(()),
        Err(_) => Ok(SessionId::new(query).map(drop)?),
    }
}

/// Checks an id for a new session. One that would later be taken for a path is refused.
pub(crate) fn new_id(id: &str) -> Result<SessionId> {
    if id.ends_with(".jsonl") {
        let message = format!("{id:?} is not a valid id: it would be taken for a path");
        return Err(CliError { code: code::USAGE, ..CliError::new(ErrorKind::Invalid, message) });
    }
    Ok(SessionId::new(id)?)
}

/// Whether an argument means a file.
fn is_path(ctx: &Ctx, query: &str) -> bool {
    query.contains(['/', '\\'])
        || query.ends_with(".jsonl")
        || (!query.is_empty() && ctx.absolute(Path::new(query)).is_file())
}

fn neither(query: &str) -> CliError {
    let error = CliError::new(
        ErrorKind::NotFound,
        format!("{query:?} is not a valid id, and there is no such file"),
    );
    CliError { code: code::FAILED, ..error }
        .hint("`forkwood list` shows the sessions that are here")
}

fn not_found(query: &str, place: &Place) -> CliError {
    let message = format!("session not found: {query} in {}", place.shown());
    let error = CliError::new(ErrorKind::NotFound, message);
    match place {
        Place::Store(_) => error.hint(
            "`forkwood list` shows what is there; --from pi looks among the sessions of Pi, \
             --dir DIR in any folder",
        ),
        _ => error.hint("`forkwood list` with the same switches shows what is there"),
    }
}
