//! What a conversation shows, read as far back as that takes.

use std::collections::{HashMap, HashSet};

use forkwood::conversation::native::{NAMESPACE, SUMMARY, summary_details};
use forkwood::conversation::{ConversationMessage, is_transient_thought};
use forkwood::core::entry::Foreign;
use forkwood::core::fold;
use forkwood::{
    Body, Entry, EntryId, EntryKind, Json, Message, Result, Session, Settings, Text, Timestamp,
};

/// The end of a conversation, as far back as it is shown.
#[derive(Debug)]
pub(super) struct Shown {
    /// The messages, thoughts left out. Images that are kept apart are named, not inline.
    pub messages: Vec<Message>,
    /// The entry behind each.
    pub ids: Vec<EntryId>,
    /// What is known of each entry beside its message.
    beside: HashMap<EntryId, Beside>,
    /// The summary; `None` where the part that was read does not tell.
    summary: Option<String>,
    /// Whether a context shows that summary, as that of a compaction.
    #[cfg_attr(not(feature = "agent"), allow(dead_code))]
    in_context: bool,
    /// Model, thinking level and tools where it ends.
    pub settings: Option<Settings>,
}

#[derive(Debug)]
struct Beside {
    at: Option<Timestamp>,
    foreign: Option<Foreign>,
    /// Whether the entry is the message and nothing but it.
    plain: bool,
}

impl Shown {
    /// Reads where the lane of the session stands.
    pub(super) async fn read(session: &Session) -> Result<Shown> {
        let Some(leaf) = session.leaf() else { return Ok(Shown::of(Vec::new(), None, session)) };
        let read = session.context_path(leaf).await?;
        let entries: Vec<Entry> = read.entries.into_iter().map(|stored| stored.entry).collect();
        Ok(Shown::of(entries, read.before, session))
    }

    fn of(entries: Vec<Entry>, before: Option<Settings>, session: &Session) -> Shown {
        let rules = &session.facts().rules;
        let settings = before.map(|before| {
            entries.iter().fold(before, |mut settings, entry| {
                settings.apply(entry, rules);
                settings
            })
        });
        let whole = entries.first().is_none_or(|first| first.parent_id.is_none());
        let last = entries.iter().rev().find_map(|entry| Some((entry, summary_in(entry)?)));
        let in_context = last.as_ref().is_some_and(|(entry, _)| told_by(entry));
        let summary = last.map(|(_, summary)| summary);
        // What a compaction says of a conversation's summary is no message of it.
        let told: HashSet<EntryId> =
            entries.iter().filter(|one| told_by(one)).map(|one| one.id.clone()).collect();
        let summary = summary.or_else(|| whole.then(String::new));
        let edited = entries.iter().any(|entry| matches!(entry.body, Body::ContextEdit { .. }));
        let beside = entries.iter().map(|entry| {
            let (plain, foreign) = match &entry.body {
                Body::Message(body) if !edited => (true, body.foreign.clone()),
                _ => (false, None),
            };
            (entry.id.clone(), Beside { at: entry.timestamp, foreign, plain })
        });
        let beside = beside.collect();
        let (messages, ids) = fold::into_messages(entries, rules);
        let kept = messages.into_iter().zip(ids);
        let kept = kept.filter(|(one, id)| !is_transient_thought(one) && !told.contains(id));
        let (messages, ids) = kept.unzip();
        Shown { messages, ids, beside, summary, in_context, settings }
    }

    /// Whether the message at a place is an entry of its own, that a compaction can keep from.
    pub(super) fn is_plain(&self, at: usize) -> bool {
        self.beside.get(&self.ids[at]).is_some_and(|beside| beside.plain)
    }

    /// The summary. Where a compaction by others hides the last one, the path is looked through.
    pub(super) async fn summary(&self, session: &Session) -> Result<String> {
        match &self.summary {
            Some(summary) => Ok(summary.clone()),
            None => older_summary(session).await,
        }
    }

    /// The summary, where no context of the session shows it.
    #[cfg(feature = "agent")]
    pub(super) async fn untold_summary(&self, session: &Session) -> Result<String> {
        match self.in_context {
            true => Ok(String::new()),
            false => self.summary(session).await,
        }
    }

    /// The messages, with what is known beside them, given away.
    pub(super) fn into_messages(self) -> Vec<ConversationMessage> {
        let Shown { messages, ids, mut beside, .. } = self;
        let with = |(message, id)| {
            let beside = beside.get_mut(&id);
            ConversationMessage {
                message,
                created_at: beside.as_ref().and_then(|beside| beside.at),
                foreign: beside.and_then(|beside| beside.foreign.take()),
            }
        };
        messages.into_iter().zip(ids).map(with).collect()
    }

    /// The same with the entry behind each, for a copy.
    pub(super) fn into_entries(self) -> Vec<(EntryId, ConversationMessage)> {
        let ids = self.ids.clone();
        ids.into_iter().zip(self.into_messages()).collect()
    }
}

/// Whether an entry is a compaction whose own summary is that of the conversation.
fn told_by(entry: &Entry) -> bool {
    let Body::Compaction(compaction) = &entry.body else { return false };
    // The messages of a retained tail stand under its id, too.
    compaction.retained_tail.is_none()
        && !compaction.summary.is_empty()
        && summary_in(entry).is_some_and(|summary| compaction.summary == *summary)
}

/// The summary that an entry sets, or carries on.
fn summary_in(entry: &Entry) -> Option<String> {
    let fields = match &entry.body {
        Body::Custom { namespace, data, .. } if *namespace == NAMESPACE => data,
        Body::Compaction(compaction) => {
            let details = compaction.details.as_ref()?.as_object()?;
            return text(&Json::parse(details.get(NAMESPACE)?).ok()?);
        }
        _ => return None,
    };
    text(fields)
}

fn text(fields: &Json) -> Option<String> {
    Some(fields.as_object()?.text(SUMMARY)?.to_string_lossy().into_owned())
}

async fn older_summary(session: &Session) -> Result<String> {
    let Some(leaf) = session.leaf() else { return Ok(String::new()) };
    let kinds: HashMap<EntryId, EntryKind> =
        session.heads().await?.into_iter().map(|head| (head.id, head.kind)).collect();
    for id in session.path_ids(leaf).await?.iter().rev() {
        if matches!(kinds.get(id), Some(EntryKind::Custom | EntryKind::Compaction))
            && let Some(summary) = summary_in(&session.get(id).await?.entry)
        {
            return Ok(summary);
        }
    }
    Ok(String::new())
}

/// The entry that sets a summary.
pub(super) fn summary_body(summary: &str) -> Result<Body> {
    let data = [(SUMMARY, summary)];
    custom(&data)
}

/// The entry that a new history starts with. It is there even where that is empty, so that the
/// conversation is not taken for one that was never used.
pub(super) fn replaced_body(summary: &str) -> Result<Body> {
    custom(&[("history", "replaced"), (SUMMARY, summary)])
}

fn custom(fields: &[(&str, &str)]) -> Result<Body> {
    Ok(Body::Custom { namespace: NAMESPACE.into(), data: object(fields)?, aside: false })
}

/// What a truncation carries on.
pub(super) fn details(summary: &str) -> Result<Json> {
    summary_details(&Text::from(summary))
}

fn object(fields: &[(&str, &str)]) -> Result<Json> {
    let mut out = forkwood::core::json::ObjectWriter::new();
    for (key, value) in fields {
        out.text(key, &Text::from(*value));
    }
    parse(&out.finish())
}

fn parse(json: &str) -> Result<Json> {
    Json::parse(json).map_err(|error| forkwood::Error::invalid(error.to_string()))
}
