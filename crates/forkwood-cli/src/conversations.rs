//! Conversations by key or alias, beside sessions by id.

use std::path::{Path, PathBuf};

use forkwood::ErrorKind;
use forkwood::conversation::{ConversationStore, key};
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

/// The key of the conversation that a key or alias names; `None` where it names none.
pub(crate) async fn find(ctx: &Ctx, query: &str) -> Result<Option<String>> {
    match Place::of(ctx)? {
        Place::Store(_) => find_in(of(ctx)?.as_ref(), query).await,
        Place::Tool(name, _) if name != "picoclaw" => Ok(None),
        // What can be no key of PicoClaw's may be an id of another tool's, and where there is no
        // folder, others tell so.
        Place::Folder(_) | Place::Tool(..) => {
            let Ok(store) = of(ctx) else { return Ok(None) };
            Ok(find_in(store.as_ref(), query).await.unwrap_or_default())
        }
    }
}

async fn find_in(store: &dyn ConversationStore, query: &str) -> Result<Option<String>> {
    let key = store.resolve_key(query).await?;
    Ok(store.metadata(&key).await?.map(|_| key))
}

/// Nothing is known of a key.
pub(crate) fn not_found(name: &str) -> CliError {
    CliError::new(ErrorKind::NotFound, format!("no conversation has the key or alias {name:?}"))
        .hint("`forkwood aliases` lists keys and aliases")
}
