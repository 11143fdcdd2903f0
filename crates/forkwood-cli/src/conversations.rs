//! Conversations by key or alias, beside sessions by id.

use std::path::{Path, PathBuf};

use forkwood::conversation::native::session_id;
use forkwood::conversation::{ConversationStore, key};
use forkwood::{ErrorKind, SessionId};
use forkwood_formats::picoclaw::JsonConversations;
use forkwood_routing::PersistentConversations;

use crate::ctx::Ctx;
use crate::error::{CliError, Result};
use crate::place::Place;

/// The conversations of the place that the arguments name, to be looked at: those of a store, or of
/// a folder of PicoClaw's, its older files among them.
pub(crate) fn of(ctx: &Ctx) -> Result<Box<dyn ConversationStore>> {
    let folder = match Place::of(ctx)? {
        Place::Store(root) => return Ok(Box::new(PersistentConversations::open(&root)?)),
        Place::Folder(folder) => folder,
        Place::Tool("picoclaw", home) => workspace(&home),
        Place::Tool(name, _) => return Err(neither(name)),
    };
    if !folder.is_dir() {
        let message = format!("{}: there is no such folder", folder.display());
        return Err(CliError::new(ErrorKind::NotFound, message));
    }
    Ok(Box::new(JsonConversations::open(&folder)))
}

/// The sessions of PicoClaw's default agent.
pub(crate) fn workspace(home: &Path) -> PathBuf {
    home.join("workspace").join("sessions")
}

/// Another tool has no conversations.
pub(crate) fn neither(tool: &str) -> CliError {
    CliError::usage(format!(
        "conversations are kept in a store, or in a folder of PicoClaw's; --from {tool} is neither"
    ))
}

/// Whether a text could be a key or alias, and is no session id: all of PicoClaw's hold a colon.
pub(crate) fn is_name(query: &str) -> bool {
    query.contains(':') || key::is_opaque(query)
}

/// The session that a key or alias names; `None` where it names none.
pub(crate) async fn find(ctx: &Ctx, query: &str) -> Result<Option<SessionId>> {
    match Place::of(ctx)? {
        Place::Store(_) => in_store(of(ctx)?.as_ref(), query).await,
        // What PicoClaw's rules do not let be a key may be an id of another tool's.
        Place::Folder(folder) if folder.is_dir() => {
            Ok(in_store(of(ctx)?.as_ref(), query).await.unwrap_or_default())
        }
        Place::Folder(_) | Place::Tool(..) => Ok(None),
    }
}

async fn in_store(store: &dyn ConversationStore, query: &str) -> Result<Option<SessionId>> {
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
