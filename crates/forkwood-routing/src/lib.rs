//! The right conversation for every message.
//!
//! A [`Router`] takes an [`Inbound`] message and a [`Config`] to an agent, a [`SessionScope`], the
//! key `sk_v1_<sha256>` of that scope, and the older names (aliases) under which the same
//! conversation may be known. The rules are those of PicoClaw at `cf67dd3`, byte for byte; where
//! ours differ, the item says so.
//!
//! All that is pure: no I/O, no clock, no environment, no randomness. [`store`] is not: it keeps
//! the conversations, by key, in native sessions; [`open`] chooses between these, a folder of
//! PicoClaw's, and what either falls back to.

pub mod alias;
mod allocate;
pub mod config;
mod error;
#[cfg(feature = "agent")]
pub mod handle;
mod identity;
mod inbound;
pub mod open;
mod route;
pub mod store;

pub use allocate::{Allocation, Resolved};
pub use config::{Config, Dimension, Loaded, Problem, Severity};
pub use error::{Error, Result};
pub use forkwood::conversation::{SessionScope, check_same_scope, key, text};
pub use identity::{IdentityLinks, Person};
pub use inbound::{Context, Inbound, Sender};
pub use open::{Conversations, Kind, Opened, Place};
pub use route::{Policy, Route, Router};
pub use store::{ConversationOptions, PersistentConversations};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
