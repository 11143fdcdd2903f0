//! Opening the place where conversations are kept, and what is fallen back to where that cannot be
//! used.
//!
//! As in PicoClaw (`agent/instance.go`): a start or a migration that fails makes the conversations
//! go on in one JSON file each, so that the bot still answers. Unlike there, it is told, nothing
//! that is there is hidden or overwritten, and the next start that works takes over what was said
//! meanwhile.

use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forkwood::conversation::ConversationStore;
use forkwood::{Error, Result};
use forkwood_formats::picoclaw::{
    FolderOptions, JsonConversations, Migration, PicoConversations, migrate,
};

use crate::store::{ConversationOptions, PersistentConversations};

/// A place where conversations are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A store of Forkwood, by its folder. Falls back to the folder of that name with `-fallback`
    /// behind it.
    Store(PathBuf),
    /// A folder with sessions of PicoClaw's. Older files in it are migrated; falls back to files of
    /// the older kind in the same folder.
    PicoClaw(PathBuf),
}

/// What conversations are kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Native sessions.
    Native,
    /// PicoClaw's files.
    PicoClaw,
    /// One JSON file a conversation.
    Json,
}

impl Kind {
    /// The name, stable: `native`, `picoclaw`, `json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Native => "native",
            Kind::PicoClaw => "picoclaw",
            Kind::Json => "json",
        }
    }
}

/// Conversations, of whatever kind.
#[derive(Clone, Debug)]
pub enum Conversations {
    /// In native sessions: agents work in the session itself.
    Native(Arc<PersistentConversations>),
    /// Elsewhere: agents work in a session in memory, and each message is written through.
    Other(Arc<dyn ConversationStore>),
}

impl Conversations {
    /// Those in native sessions, if these are.
    pub fn native(&self) -> Option<&Arc<PersistentConversations>> {
        match self {
            Conversations::Native(native) => Some(native),
            Conversations::Other(_) => None,
        }
    }
}

impl Deref for Conversations {
    type Target = dyn ConversationStore;

    fn deref(&self) -> &Self::Target {
        match self {
            Conversations::Native(native) => native.as_ref(),
            Conversations::Other(other) => other.as_ref(),
        }
    }
}

impl From<Arc<PersistentConversations>> for Conversations {
    fn from(native: Arc<PersistentConversations>) -> Conversations {
        Conversations::Native(native)
    }
}

impl From<Arc<dyn ConversationStore>> for Conversations {
    fn from(other: Arc<dyn ConversationStore>) -> Conversations {
        Conversations::Other(other)
    }
}

/// Why conversations are kept elsewhere, and where.
#[derive(Debug)]
pub struct Fallback {
    /// The place that was asked for.
    pub place: PathBuf,
    /// Why it cannot be used.
    pub reason: Error,
    /// The folder with one JSON file a conversation.
    pub folder: PathBuf,
}

impl fmt::Display for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} cannot be used, and conversations go on in {}, one JSON file each, until it can: {}",
            self.place.display(),
            self.folder.display(),
            self.reason
        )
    }
}

/// A place that was opened.
#[derive(Debug)]
#[must_use = "what was fallen back to must be told"]
pub struct Opened {
    /// The conversations.
    pub conversations: Conversations,
    /// What they are kept in.
    pub kind: Kind,
    /// What went wrong, where they are not where they should be. Whoever opens tells it.
    pub fallback: Option<Fallback>,
    /// What was migrated, and what was passed over; of PicoClaw's folders only.
    pub migration: Migration,
    /// Conversations that had gone on in the fallback and are now where they belong: key, and how
    /// many messages came.
    pub taken: Vec<(String, usize)>,
    /// Those that stay in the fallback, and why.
    pub left: Vec<(String, Error)>,
}

/// How a place is opened.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// How native sessions are worked with.
    pub native: ConversationOptions,
    /// How PicoClaw's files and JSON files are.
    pub folder: FolderOptions,
}

/// Opens a place, or what is fallen back to.
///
/// # Errors
/// Where the fallback cannot be used either: both reasons are told.
pub async fn open(place: &Place) -> Result<Opened> {
    open_with(place, OpenOptions::default()).await
}

/// The same, with options.
///
/// # Errors
/// Those of [`open`].
pub async fn open_with(place: &Place, options: OpenOptions) -> Result<Opened> {
    match place {
        Place::Store(root) => {
            let beside = fallback_of(root);
            match native(root, &options).await {
                Ok(native) => {
                    let mut opened = Opened::new(Arc::clone(&native).into(), Kind::Native);
                    if options.folder.disk.meta(&beside).is_ok() {
                        let json = JsonConversations::open_with(&beside, options.folder);
                        native.take_over(&json, &mut opened.taken, &mut opened.left).await?;
                    }
                    Ok(opened)
                }
                Err(reason) => fall_back(root, &beside, reason, options.folder),
            }
        }
        Place::PicoClaw(folder) => {
            let conversations = PicoConversations::open_with(folder, options.folder.clone());
            match migrate(conversations.folder()) {
                Ok(migration) => {
                    let conversations = Conversations::Other(Arc::new(conversations));
                    Ok(Opened { migration, ..Opened::new(conversations, Kind::PicoClaw) })
                }
                Err(reason) => fall_back(folder, folder, reason, options.folder),
            }
        }
    }
}

impl Opened {
    fn new(conversations: Conversations, kind: Kind) -> Opened {
        Opened {
            conversations,
            kind,
            fallback: None,
            migration: Migration::default(),
            taken: Vec::new(),
            left: Vec::new(),
        }
    }
}

/// The folder that the conversations of a store fall back to.
fn fallback_of(root: &Path) -> PathBuf {
    let mut name = root.file_name().unwrap_or_default().to_owned();
    name.push("-fallback");
    root.with_file_name(name)
}

/// Opens the store and looks whether it can be worked with. Makes nothing.
async fn native(root: &Path, options: &OpenOptions) -> Result<Arc<PersistentConversations>> {
    let native = PersistentConversations::open_with(root, options.native.clone())?;
    native.probe().await?;
    Ok(Arc::new(native))
}

fn fall_back(place: &Path, folder: &Path, reason: Error, options: FolderOptions) -> Result<Opened> {
    let json = JsonConversations::open_with(folder, options);
    if let Err(error) = json.prepare() {
        return Err(Error::invalid(format!(
            "{} cannot be used: {reason}; nor can what it falls back to: {error}",
            place.display()
        )));
    }
    let fallback = Fallback { place: place.to_path_buf(), reason, folder: folder.to_path_buf() };
    let conversations = Conversations::Other(Arc::new(json));
    Ok(Opened { fallback: Some(fallback), ..Opened::new(conversations, Kind::Json) })
}
