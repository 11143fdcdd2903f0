//! PicoClaw's files: one message a line, and what is kept of the conversation beside them.

use forkwood::conversation::ConversationMessage;
use forkwood::core::fold::{Source as Origin, render, select};
use forkwood::core::json::{Object, elements, text_of};
use forkwood::{Body, Entry, EntryId, Json, Message, Result, Timestamp};

use super::loss::{LossReport, What};
use super::source::Source;
use super::told::{RULES, has_surrogates, lose_entries, speaks};
use super::{File, Written};
use crate::picoclaw::{Meta, NAME, OWN, encode, time};

pub(super) fn write(mut source: Source) -> Result<Written> {
    let mut losses = std::mem::take(&mut source.losses);
    let path = source.path_entries();
    let mut lines =
        Lines { text: String::new(), count: 0, at: source.created, losses: &mut losses };
    for entry in path.iter().filter(|entry| speaks(entry)) {
        lines.entry(entry)?;
    }
    let all: Vec<&EntryId> = path.iter().filter(|e| speaks(e)).map(|entry| &entry.id).collect();
    let shown = select(&path, &RULES);
    let (summary, shown) = match shown.first().map(|item| item.source) {
        Some(Origin::Summary(entry)) => (Some(entry), &shown[1..]),
        _ => (None, &shown[..]),
    };
    let plain = |item: &&forkwood::core::fold::Item<'_>| {
        item.edit.is_none() && matches!(item.source, Origin::Entry(_))
    };
    let end = all.len().saturating_sub(shown.len());
    let is_end = shown.iter().filter(plain).count() == shown.len()
        && shown.iter().map(|item| &item.entry().id).eq(all[end..].iter().copied());
    let mut meta = meta(&source);
    meta.skip = if is_end { end as i64 } else { all.len() as i64 };
    if !is_end {
        for item in shown {
            let entry = item.entry();
            let why = "what a model sees of it stands once more at the end";
            lines.losses.entry(What::Compaction, &entry.id, why);
            if let Some(message) = render(item) {
                lines.message(&entry.id, message, None)?;
            }
        }
    }
    for entry in &path {
        match &entry.body {
            Body::Compaction(compaction) if summary.is_some_and(|last| last.id == entry.id) => {
                meta.summary = compaction.summary.to_string_lossy().into_owned();
            }
            Body::Compaction(_) => {
                lines.losses.entry(What::Compaction, &entry.id, "PicoClaw has one summary");
            }
            Body::ContextEdit { target_id, .. } => {
                let why = "PicoClaw has no edits: what they leave is shown";
                lines.losses.entry(What::ContextEdit, &entry.id, why);
                lines.losses.entry(What::ContextEdit, target_id, why);
            }
            _ => {}
        }
    }
    meta.count = lines.count;
    let Lines { text, at, .. } = lines;
    meta.created_at = time::format(source.created);
    meta.updated_at = time::format(at);
    lose_entries(&source, &mut losses, "PicoClaw");
    losses.session(What::Id, path.len() as u64, "lines of PicoClaw have no ids");
    if source.title().is_some() {
        losses.session(What::Title, 1, "PicoClaw has no titles");
    }
    if source.metadata().and_then(|m| {
        Some(m.as_object()?.iter().any(|(key, _)| *key != NAME && *key != "conversation"))
    }) == Some(true)
    {
        losses.session(What::Metadata, 1, "PicoClaw has no data about a session");
    }
    let base: String = meta
        .key
        .chars()
        .map(|c| if matches!(c, ':' | '/' | '\\') || c.is_control() { '_' } else { c })
        .take(180)
        .collect();
    let base = if base.trim_matches('.').is_empty() { "session".to_owned() } else { base };
    Ok(Written {
        files: vec![
            File { name: format!("{base}.jsonl"), text },
            File { name: format!("{base}.meta.json"), text: meta.to_text() },
        ],
        losses,
    })
}

/// Key, scope and aliases: those of the conversation, where it was one of PicoClaw.
fn meta(source: &Source) -> Meta {
    let metadata = source.info.metadata.as_ref().and_then(Json::as_object).unwrap_or_default();
    let own = [NAME, "conversation"]
        .into_iter()
        .find_map(|key| metadata.get(key).and_then(|raw| Object::parse(raw).ok()))
        .unwrap_or_default();
    let key = own.text("key").filter(|key| !key.is_empty());
    let key = key.unwrap_or_else(|| source.id.clone()).to_string_lossy().into_owned();
    let mut meta = Meta::new(&key);
    let object = |raw: &&str| Object::parse(raw).is_ok();
    meta.scope = own.get("scope").filter(object).and_then(|raw| Json::parse(raw).ok());
    let aliases = own.get("aliases").and_then(elements).unwrap_or_default();
    let aliases = aliases.into_iter().filter_map(|raw| text_of(raw.get()));
    meta.aliases = aliases.map(|alias| alias.to_string_lossy().into_owned()).collect();
    meta
}

/// Lines that are being written.
struct Lines<'l> {
    text: String,
    count: i64,
    at: Timestamp,
    losses: &'l mut LossReport,
}

impl Lines<'_> {
    fn entry(&mut self, entry: &Entry) -> Result<()> {
        self.at = entry.timestamp.unwrap_or(self.at);
        let items = select(std::slice::from_ref(entry), &RULES);
        match &entry.body {
            Body::Message(body) => {
                return self.message(&entry.id, body.message.clone(), body.foreign.clone());
            }
            Body::CustomMessage { .. } => {
                self.losses.entry(What::CustomMessage, &entry.id, "it is a message of the person");
            }
            _ => {
                self.losses.entry(What::BranchSummary, &entry.id, "it is a message of the person");
            }
        }
        match items.first().and_then(render) {
            Some(message) => self.message(&entry.id, message, None),
            None => Ok(()),
        }
    }

    fn message(
        &mut self,
        id: &EntryId,
        message: Message,
        foreign: Option<forkwood::core::entry::Foreign>,
    ) -> Result<()> {
        if has_surrogates(&message.content) {
            self.losses.entry(What::Text, id, "lone surrogates are U+FFFD there");
        }
        let foreign = foreign.filter(|foreign| foreign.format == NAME);
        let line = encode(&ConversationMessage { message, created_at: Some(self.at), foreign })?;
        if line.contains(&format!("\"{OWN}\":{{\"message\"")) {
            let why = "what PicoClaw has no field for it passes over, and drops when it writes \
                       the file anew";
            self.losses.entry(What::Field, id, why);
        }
        self.text.push_str(&line);
        self.text.push('\n');
        self.count += 1;
        Ok(())
    }
}
