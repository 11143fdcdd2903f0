//! Conversations by key: what an agent that serves many chats works with.
//!
//! A conversation is known by a key (`sk_v1_<sha256>` of its [`SessionScope`], or a text of the
//! caller's) and by aliases, its older names. [`ConversationStore`] is what can be done with one;
//! where it is kept is behind the trait: in native sessions, in another program's folder, in one
//! JSON file each, or nowhere ([`EphemeralConversations`]).
//!
//! Keys, scopes and the rules of the trait are those of PicoClaw at `cf67dd3`; where ours differ,
//! the item says so.

mod contract;
mod ephemeral;
pub mod go_json;
pub mod key;
pub mod native;
mod scope;
pub mod text;
mod thought;
mod types;

pub use contract::ConversationStore;
pub use ephemeral::EphemeralConversations;
pub use scope::{SCOPE_VERSION, SessionScope, check_same_scope};
pub use thought::is_transient_thought;
pub use types::{ConversationMessage, ConversationMeta, Ensured, Identity, agent_of};
