//! Taking over what was said while the store could not be used.

use forkwood::conversation::{ConversationStore, Identity};
use forkwood::storage::blob::hex;
use forkwood::storage::disk::NodeKind;
use forkwood::{AppendOptions, EntryId, Error, Result};
use forkwood_formats::picoclaw::{JsonConversations, encode};
use sha2::{Digest, Sha256};

use super::PersistentConversations;
use super::change::message_body;

impl PersistentConversations {
    /// Whether the store can be worked with, as far as a look tells. Makes nothing.
    ///
    /// # Errors
    /// What stands in the way.
    pub(crate) async fn probe(&self) -> Result<()> {
        let disk = self.options.disk.as_ref();
        let own = self.root.join("conversations");
        for folder in [self.root.clone(), self.root.join("sessions"), own.clone()] {
            match disk.meta(&folder) {
                Ok(meta) if meta.kind == NodeKind::Folder => {}
                Ok(_) => {
                    let problem = "stands where a folder of the store belongs".to_owned();
                    return Err(Error::Damaged { path: folder, problem });
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(Error::io(folder, "look at", error)),
            }
        }
        disk.names(&self.root.join("sessions"))
            .map_err(|error| Error::io(self.root.join("sessions"), "read", error))?;
        self.index.lock().await.refresh()?;
        // Where conversations were kept before, the locks can be taken.
        self.turns.can_write()
    }

    /// Takes conversations over that went on in one JSON file each. Stopped anywhere, it can be run
    /// again: each message is there once. Each file is kept under another name when all of it is here.
    ///
    /// # Errors
    /// Where the folder cannot be read. What fails of one conversation is told of it.
    pub(crate) async fn take_over(
        &self,
        json: &JsonConversations,
        taken: &mut Vec<(String, usize)>,
        left: &mut Vec<(String, Error)>,
    ) -> Result<()> {
        for key in json.list_sessions().await? {
            match self.take_one(json, &key).await {
                Ok(count) => taken.push((key, count)),
                Err(error) => left.push((key, error)),
            }
        }
        Ok(())
    }

    async fn take_one(&self, json: &JsonConversations, key: &str) -> Result<usize> {
        let meta = json.metadata(key).await?;
        let mut own = self.resolve(key).await?;
        if let Some(meta) = meta.filter(|meta| meta.scope.is_some()) {
            let identity = Identity { scope: meta.scope, aliases: meta.aliases };
            own = self.ensure(&own, &identity).await?.key;
        }
        let mut bodies = Vec::new();
        let mut ids = Vec::new();
        let mut times = Vec::new();
        for (message, place) in json.get_history(key).await?.iter().zip(0..) {
            ids.push(id_of(key, place, &encode(message)?));
            let (body, at) = message_body(message);
            bodies.push(body);
            times.push(at);
        }
        let mut session = self.open_or_create(&own).await?.session;
        let there = session.storage().get(session.id(), &ids).await?;
        let mut kept = there.iter().map(Option::is_none);
        let mut options = AppendOptions { any: true, ..AppendOptions::default() };
        let mut new = Vec::new();
        for ((id, at), body) in ids.into_iter().zip(times).zip(bodies) {
            if kept.next().unwrap_or(true) {
                options.ids.push(id);
                options.times.push(at);
                new.push(body);
            }
        }
        let count = new.len();
        if count > 0 {
            session.append_batch(new, options).await?;
        }
        let summary = json.get_summary(key).await?;
        if !summary.trim().is_empty() {
            self.set_summary(&own, &summary).await?;
        }
        json.retire(key)?;
        Ok(count)
    }
}

/// The id of a message that has none, the same each time.
fn id_of(key: &str, place: u64, line: &str) -> EntryId {
    let digest = Sha256::digest(format!("{}\n{key}\n{place}\n{line}", key.len()));
    EntryId::from(hex(&digest).chars().take(32).collect::<String>())
}
