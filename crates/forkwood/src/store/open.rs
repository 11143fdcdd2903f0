//! Which sessions of a store are open in this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use forkwood_core::SessionId;

/// What an open [`Session`](crate::Session) carries, so that its store knows of it.
pub(crate) type Held = Arc<()>;

/// The sessions that some handle, made by this store or a clone of it, still looks at.
#[derive(Debug, Default)]
pub(crate) struct OpenSessions(Mutex<HashMap<SessionId, Weak<()>>>);

impl OpenSessions {
    /// Counts one more handle on a session.
    pub(crate) fn hold(&self, session: &SessionId) -> Held {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = open.get(session).and_then(Weak::upgrade) {
            return held;
        }
        open.retain(|_, held| held.strong_count() > 0);
        let held = Held::default();
        open.insert(session.clone(), Arc::downgrade(&held));
        held
    }

    /// Whether a session is open.
    pub(crate) fn holds(&self, session: &SessionId) -> bool {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.get(session).is_some_and(|held| held.strong_count() > 0)
    }
}
