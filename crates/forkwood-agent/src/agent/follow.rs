//! The state of the session, followed from turn to turn: what is new is read, and no more.

use forkwood::core::fold::FoldRules;
use forkwood::storage::PathStop;
use forkwood::storage::jsonl::NATIVE;
use forkwood::{Body, Entry, EntryId, Lane, Message, Seq, Session, Settings, blobs};
use forkwood_context::View;

use crate::AgentError;

/// The state of a session as it was last seen.
#[derive(Clone, Debug)]
pub(crate) struct Followed {
    generation: String,
    lane: Lane,
    end: Seq,
    leaf: Option<EntryId>,
    /// As far back as the context needs, root first.
    pub(crate) path: Vec<Entry>,
    /// Model, thinking level and tools.
    pub(crate) settings: Settings,
}

impl Followed {
    /// The state now. `earlier` is what was seen before, of whatever session.
    pub(crate) async fn now(
        earlier: Option<Followed>,
        session: &Session,
    ) -> Result<Followed, AgentError> {
        let facts = session.storage().facts(session.id()).await?;
        let leaf = facts.leaf(session.lane()).cloned();
        if let Some(mut earlier) = earlier
            && earlier.generation == facts.generation
            && earlier.lane == *session.lane()
            && earlier.extend(session, leaf.as_ref()).await?
        {
            return Ok(earlier);
        }
        let rules = facts.rules;
        let mut now = Followed {
            generation: facts.generation,
            lane: session.lane().clone(),
            end: facts.end,
            leaf: leaf.clone(),
            path: Vec::new(),
            settings: Settings::initial(&rules),
        };
        let Some(leaf) = leaf else { return Ok(now) };
        let read = session.storage().path(session.id(), &leaf, PathStop::Context).await?;
        now.path = read.entries.into_iter().map(|stored| stored.entry).collect();
        now.settings = match read.before {
            Some(before) => now.path.iter().fold(before, |mut settings, entry| {
                settings.apply(entry, &rules);
                settings
            }),
            None => session.settings(&leaf).await?,
        };
        Ok(now)
    }

    /// Takes in what was written since. False where that does not simply follow.
    async fn extend(
        &mut self,
        session: &Session,
        leaf: Option<&EntryId>,
    ) -> Result<bool, AgentError> {
        let rules = session.facts().rules;
        // In the files of others all stand on the path.
        let native = session.facts().dialect == NATIVE;
        loop {
            let page = session.read(self.end, 1024).await?;
            for stored in page.entries {
                self.end = stored.seq;
                let entry = stored.entry;
                if entry.lane != self.lane {
                    continue;
                }
                match &entry.body {
                    Body::Leaf { .. } | Body::Compaction(_) => return Ok(false),
                    body if native && body.is_sidecar() => {}
                    _ => {
                        if entry.parent_id != self.leaf {
                            return Ok(false);
                        }
                        self.settings.apply(&entry, &rules);
                        self.leaf = Some(entry.id.clone());
                        self.path.push(entry);
                    }
                }
            }
            if page.next.is_none() {
                return Ok(self.leaf.as_ref() == leaf);
            }
        }
    }

    /// The messages, blobs as names.
    pub(crate) fn messages(&self, rules: &FoldRules) -> Vec<Message> {
        View::from_path(&self.path, rules).messages
    }

    /// What a model sees of it. Blobs are inlined.
    pub(crate) async fn view(&self, session: &Session) -> Result<View, AgentError> {
        let mut view = View::from_path(&self.path, &session.facts().rules);
        blobs::inline(session.storage().as_ref(), &mut view.messages).await?;
        Ok(view)
    }
}
