//! A session that goes out without its secrets.

use forkwood::{Body, Entry, EntryId, Lane, Result, SessionInfo};

use super::Source;
use super::loss::What;
use crate::redact::{Counts, Redaction};

impl Source {
    /// Takes secrets and home folders out of all that is written: entries, title, folder and
    /// metadata. How often each rule was met is told here and in the losses.
    ///
    /// # Errors
    /// `invalid` where an entry is none without its secrets; then nothing may be written.
    pub fn redact(&mut self) -> Result<Counts> {
        let mut redaction = Redaction::new();
        for entry in &mut self.entries {
            *entry = redaction.entry(entry)?;
        }
        let info = Entry {
            id: EntryId::from("info"),
            parent_id: None,
            timestamp: None,
            lane: Lane::main(),
            more: 0,
            body: std::mem::take(&mut self.info).into(),
            extra: Vec::new(),
        };
        if let Body::SessionInfo(info) = redaction.entry(&info)?.body {
            self.info = SessionInfo { ..info };
        }
        self.id = redaction.text_value(&self.id);
        for (rule, count) in &redaction.counts {
            self.losses.session(What::Redacted, *count, format!("{rule}: taken out"));
        }
        Ok(redaction.counts)
    }
}
