//! PicoClaw's session folders, as its commit `cf67dd3` has them.
//!
//! ```text
//! sessions/telegram_5.jsonl        one message a line, oldest first
//! sessions/telegram_5.meta.json    its key, summary, scope, aliases, how many lines are hidden
//! sessions/old.json                one file a session: what came before
//! ```
//!
//! [`read`] reads either, without loss: what cannot be read is named and passed over, never an
//! error. [`Folder`] goes on writing the two files so that PicoClaw opens them again;
//! [`PicoConversations`] is a `ConversationStore` over it; [`migrate`] turns the older files into
//! the newer ones, and [`JsonConversations`] works with the older files as they are: what a start falls
//! back to that cannot do that.
//!
//! What is PicoClaw's own and what differs here on purpose is told in `docs/compat.md`.

mod fallback;
mod folder;
mod legacy;
mod lines;
mod message;
mod meta;
mod migrate;
mod pending;
mod read;
mod store;
pub(crate) mod time;
mod tool;

pub use fallback::JsonConversations;
pub use folder::{Folder, FolderOptions};
pub use lines::{Line, LineKind, MAX_LINE};
pub use message::{decode, encode};
pub use meta::Meta;
pub use migrate::{Migrated, Migration, migrate};
pub use read::{Conversation, read, read_bytes};
pub use store::PicoConversations;
pub(crate) use tool::PicoClaw;

/// The name of the format.
pub const NAME: &str = "picoclaw";

/// The field under which a line or a meta file keeps what PicoClaw has no field for. PicoClaw
/// passes it over.
pub(crate) const OWN: &str = "forkwood";

/// The name of the dialect of the two files.
pub const DIALECT: &str = "picoclaw";
/// The name of the dialect of the older file.
pub const LEGACY_DIALECT: &str = "picoclaw-json";
