//! The dialects of Pi's files of versions 1 to 3.

use std::ffi::OsStr;
use std::path::Path;

use forkwood_core::json::Object;
use forkwood_core::{Body, Draft, Entry, FoldRules, Lane, Timestamp};
use forkwood_storage::jsonl::{
    Decoded, Dialect, IdStyle, LineContext, LineFault, LostHeader, Policy, RecordHead, as_text,
};
use forkwood_storage::{Result, StorageError};

use super::decode::Given;
use super::kept::{Kept, kept};
use super::migrate::V1Ids;
use super::place::cwd_of_folder;
use super::{Flavour, decode, encode, heads, migrate};
use crate::fields::Out;

/// How to read and write one file of version 1 to 3.
#[derive(Clone, Debug)]
pub(crate) struct PiDialect {
    pub(crate) flavour: Flavour,
    /// The id in the header, from which those of a version 1 file are derived.
    pub(crate) session_id: String,
}

/// What all of Pi's files can hold.
pub(crate) const POLICY: Policy = Policy {
    cut_torn_tail: false,
    batches: false,
    lanes: false,
    pointer_lines: false,
    ids: IdStyle::Hex8,
    one_root: false,
    // Pi 0.73.1 writes a file without an answer of a model a second time.
    bare_header: false,
};

impl PiDialect {
    fn ids(&self) -> V1Ids<'_> {
        V1Ids { session_id: &self.session_id }
    }
}

impl Dialect for PiDialect {
    fn name(&self) -> &'static str {
        match self.flavour {
            Flavour::V1 => "pi-v1",
            Flavour::V2 => "pi-v2",
            Flavour::Plain | Flavour::Agent => "pi-v3",
            Flavour::Harness => "pi-harness-v3",
            Flavour::Log => "pi-harness-v4",
        }
    }

    fn rules(&self) -> FoldRules {
        self.flavour.rules()
    }

    fn policy(&self) -> Policy {
        POLICY
    }

    fn heads<'l>(
        &self,
        line: &'l [u8],
        context: &LineContext<'_>,
        quick: bool,
        out: &mut Vec<RecordHead<'l>>,
    ) -> std::result::Result<(), LineFault> {
        if quick {
            out.push(heads::quick(line, self.flavour).ok_or(LineFault::NeedWhole)?);
            return Ok(());
        }
        out.push(heads::whole(as_text(line)?, self.flavour, &self.ids(), context)?);
        Ok(())
    }

    fn decode(
        &self,
        record: &[u8],
        context: &LineContext<'_>,
    ) -> std::result::Result<Decoded, LineFault> {
        let text = as_text(record)?;
        let given = match self.flavour {
            Flavour::V1 => self.ids().given(text, context),
            _ => Given::default(),
        };
        decode::entry(text, self.flavour, given)
    }

    fn fit(
        &self,
        draft: &Draft,
        path: &mut dyn FnMut() -> Result<Vec<Entry>>,
    ) -> Result<Option<Body>> {
        let Body::Compaction(compaction) = &draft.body else { return Ok(None) };
        if compaction.is_boundary() || compaction.replaces_entry_ids.is_empty() {
            return Ok(None);
        }
        let mut entries = path()?;
        entries.push(Entry {
            id: draft.id.clone(),
            parent_id: entries.last().map(|entry| entry.id.clone()),
            timestamp: draft.timestamp,
            lane: Lane::main(),
            more: 0,
            body: draft.body.clone(),
            extra: Vec::new(),
        });
        match kept(&entries, entries.len() - 1, &self.rules()) {
            Kept::AsItSays => Ok(None),
            Kept::From(first) => {
                let mut compaction = compaction.clone();
                compaction.first_kept_entry_id = Some(first);
                Ok(Some(Body::Compaction(compaction)))
            }
            Kept::CannotSay => Err(StorageError::unsupported(
                "Pi's files cannot hold a compaction that replaces anything but the start of the \
                 path: replacesEntryIds must name all that stands before the first entry to keep; \
                 name a firstKeptEntryId instead, or fork the session into a native one",
            )),
        }
    }

    fn encode(&self, entry: &Entry) -> Result<Option<String>> {
        if self.flavour == Flavour::Harness {
            return Err(StorageError::unsupported(
                "Pi's agent harness keeps its own position in this file; fork it into a new \
                 session and go on there",
            ));
        }
        encode::entry(entry)
    }

    fn said_at(&self, entry: &Entry) -> Option<Timestamp> {
        super::message::said_at(entry).or(entry.timestamp)
    }

    fn header_line(&self, lost: &LostHeader<'_>) -> Option<String> {
        let mut out = Out::default();
        out.str("type", "session");
        // The version says how the entries after it are to be read.
        match self.flavour {
            Flavour::V1 => {}
            Flavour::V2 => {
                out.raw("version", "2");
            }
            _ => {
                out.raw("version", "3");
            }
        }
        out.str("id", lost.session_id).str("timestamp", &crate::time::iso(lost.created));
        let folder = lost.path.parent().and_then(Path::file_name).and_then(OsStr::to_str);
        if let Some(cwd) = folder.and_then(|name| cwd_of_folder(name, &Path::is_dir)) {
            out.str("cwd", &cwd);
        }
        Some(out.finish())
    }

    fn is_header(&self, record: &[u8]) -> bool {
        let text = String::from_utf8_lossy(record);
        Object::parse(&text).is_ok_and(|object| {
            object.text("type").is_some_and(|tag| tag == "session")
                && object.text("id").is_some_and(|id| !id.is_empty())
        })
    }

    fn migrate(
        &self,
        line: &[u8],
        context: &LineContext<'_>,
    ) -> Option<std::result::Result<String, LineFault>> {
        self.needs_migration().then(|| {
            as_text(line)
                .and_then(|text| migrate::migrate(text, self.flavour, &self.ids(), context))
        })
    }

    fn needs_migration(&self) -> bool {
        matches!(self.flavour, Flavour::V1 | Flavour::V2)
    }
}
