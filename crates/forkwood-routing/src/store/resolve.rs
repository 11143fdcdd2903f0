//! From a key or alias to the canonical key (PicoClaw `memory/jsonl.go`, `ResolveSessionKey`).

use forkwood::conversation::key::{is_main, is_opaque, main_key, parse_legacy};
use forkwood::conversation::native::{ConversationRecord, session_id};
use forkwood::{Error, ErrorKind, Result, SessionId};

use super::{Open, PersistentConversations};

/// The longest key or alias, in bytes.
const LONGEST: usize = 4096;

/// How many conversations one after the other may have taken a history over.
const MOVES: usize = 8;

/// Refuses keys and aliases that could be none.
pub(super) fn check_name(name: &str) -> Result<()> {
    if name.len() > LONGEST {
        return Err(Error::TooLarge {
            what: "a session key".to_owned(),
            size: name.len() as u64,
            limit: LONGEST as u64,
        });
    }
    Ok(())
}

impl PersistentConversations {
    /// The canonical key of a key or alias. What is in the index is believed only where the
    /// session says so too.
    pub(super) async fn resolve(&self, key: &str) -> Result<String> {
        let key = key.trim();
        if key.is_empty() {
            return Err(Error::invalid("an empty session key names no conversation"));
        }
        check_name(key)?;
        if let Some(agent) = main_of(key) {
            return self.resolve_main(key, agent);
        }
        // A key that could be the name of a file is taken at its word.
        if !key.contains([':', '/', '\\']) && self.is_there(key)? {
            return self.follow(key).await;
        }
        if let Some(found) = self.by_alias(key, false).await? {
            return Ok(found);
        }
        if self.is_there(key)? {
            return self.follow(key).await;
        }
        // No alias looks like an opaque key. Any other may stand in a session that came here
        // by other ways than this store.
        if !is_opaque(key)
            && let Some(found) = self.by_alias(key, true).await?
        {
            return Ok(found);
        }
        Ok(key.to_owned())
    }

    /// PicoClaw takes the first chat that lists the alias of the main session, as all do. Here it
    /// is the main session; a conversation of that very name only as long as that is not there.
    fn resolve_main(&self, key: &str, agent: &str) -> Result<String> {
        let main = main_key(agent);
        match !self.is_there(&main)? && self.is_there(key)? {
            true => Ok(key.to_owned()),
            false => Ok(main),
        }
    }

    async fn by_alias(&self, alias: &str, look_around: bool) -> Result<Option<String>> {
        let mut index = self.index.lock().await;
        index.refresh()?;
        if look_around || !index.has_listed() {
            for id in index.unknown(self.options.clock.now())? {
                if let Some(record) = self.record(&id).await? {
                    index.learn(&record);
                }
            }
            index.keep_learned();
        }
        let found = index.lookup(alias);
        drop(index);
        for key in found {
            let Some(record) = self.record(&session_id(&key)?).await? else { continue };
            if record.key != alias && record.aliases.iter().any(|known| known == alias) {
                return Ok(Some(record.key));
            }
        }
        Ok(None)
    }

    /// What a session says of itself; `None` where it is gone, holds no conversation, or cannot be
    /// read: one bad file never hides the others.
    pub(super) async fn record(&self, id: &SessionId) -> Result<Option<ConversationRecord>> {
        match self.options.disk.meta(&self.path_of(id)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            _ => {}
        }
        match self.sessions.storage().facts(id).await {
            Ok(facts) => {
                let record = ConversationRecord::of(&facts.info);
                Ok(record.filter(|record| session_id(&record.key).is_ok_and(|own| own == *id)))
            }
            Err(error) if is_of_the_file(error.kind()) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The conversation that took the history of this one over, if one did.
    async fn follow(&self, key: &str) -> Result<String> {
        let mut key = key.to_owned();
        for _ in 0..MOVES {
            let record = self.record(&session_id(&key)?).await?;
            match record.as_ref().and_then(|record| self.moved(record)) {
                Some(to) => key = to,
                None => break,
            }
        }
        Ok(key)
    }

    /// Where a history went, as long as that is there.
    pub(super) fn moved(&self, record: &ConversationRecord) -> Option<String> {
        let to = record.moved_to.clone()?;
        (to != record.key && self.is_there(&to).unwrap_or(false)).then_some(to)
    }

    /// Every canonical key, in the order of PicoClaw's file names.
    pub(super) async fn keys(&self) -> Result<Vec<String>> {
        let mut index = self.index.lock().await;
        index.refresh()?;
        for id in index.unknown(self.options.clock.now())? {
            if let Some(record) = self.record(&id).await? {
                index.learn(&record);
            }
        }
        index.keep_learned();
        index.keys()
    }

    /// The conversation as it is now, where it was not looked at before this call began.
    pub(super) async fn again(&self, open: &mut Open) -> Result<()> {
        open.session.reload().await?;
        if let Some(record) = ConversationRecord::of(&open.session.facts().info) {
            open.record = record;
        }
        Ok(())
    }
}

/// Whether an error tells of one file, and not of the place or the moment.
pub(super) fn is_of_the_file(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::NotFound
            | ErrorKind::Gone
            | ErrorKind::Damaged
            | ErrorKind::Unsupported
            | ErrorKind::Invalid
    )
}

/// The agent whose main session an alias names.
fn main_of(alias: &str) -> Option<&str> {
    match is_main(alias) {
        true => parse_legacy(alias).map(|(agent, _)| agent),
        false => None,
    }
}
