//! Conversations by key or alias, beside sessions by id.

use forkwood::conversation::native::session_id;
use forkwood::conversation::{ConversationStore, key};
use forkwood::{ErrorKind, SessionId};
use forkwood_routing::PersistentConversations;

use crate::ctx::Ctx;
use crate::error::{CliError, Result};
use crate::place::Place;

/// The conversations of the store that the arguments name.
pub(crate) fn of(ctx: &Ctx) -> Result<PersistentConversations> {
    match Place::of(ctx)? {
        Place::Store(root) => Ok(PersistentConversations::open(&root)?),
        _ => Err(CliError::usage("conversations are kept in a store: leave out --dir and --from")),
    }
}

/// Whether a text could be a key or alias, and is no session id: all of PicoClaw's hold a colon.
pub(crate) fn is_name(query: &str) -> bool {
    query.contains(':') || key::is_opaque(query)
}

/// The session that a key or alias names; `None` where it names none.
pub(crate) async fn find(ctx: &Ctx, query: &str) -> Result<Option<SessionId>> {
    let Place::Store(root) = Place::of(ctx)? else { return Ok(None) };
    let store = PersistentConversations::open(&root)?;
    let canonical = store.resolve_key(query).await?;
    Ok(match store.metadata(&canonical).await? {
        Some(_) => Some(session_id(&canonical)?),
        None => None,
    })
}

/// Nothing is known of a key.
pub(crate) fn not_found(name: &str) -> CliError {
    CliError::new(ErrorKind::NotFound, format!("no conversation has the key or alias {name:?}"))
        .hint("`forkwood aliases` lists keys and aliases")
}
