//! Header files of my-pi-agent: a header line, then flat messages. Only ever read.

use std::borrow::Cow;

use forkwood_core::entry::Compaction;
use forkwood_core::entry::codec::Reader;
use forkwood_core::json::Object;
use forkwood_core::{
    Body, DiagnosticKind, Entry, EntryKind, FoldRules, Lane, Role, Text, Timestamp,
};
use forkwood_storage::jsonl::{
    Decoded, Dialect, LineContext, LineFault, LostHeader, Moves, ParentName, Policy, RecordHead,
    as_text,
};
use forkwood_storage::{Result, StorageError};

use super::nine::lift_tool_fields;
use super::recognise::is_header;
use super::{POLICY, RULES};
use crate::fields::{Fields, Out, id_of, parse_object};
use crate::time::parse_iso;

/// How to read a header file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeaderFile;

fn missing(what: &str) -> LineFault {
    LineFault::WrongShape(format!("has no string {what}"))
}

fn time_of(object: &Object<'_>) -> Option<Timestamp> {
    parse_iso(object.text("timestamp")?.as_str()?)
}

fn is_compaction(object: &Object<'_>) -> bool {
    object.text("type").is_some_and(|tag| tag == "compaction")
}

impl Dialect for HeaderFile {
    fn name(&self) -> &'static str {
        "my-pi-agent-header"
    }

    fn rules(&self) -> FoldRules {
        RULES
    }

    fn policy(&self) -> Policy {
        Policy { pointer_lines: false, cut_torn_tail: false, ..POLICY }
    }

    fn heads<'l>(
        &self,
        line: &'l [u8],
        _context: &LineContext<'_>,
        quick: bool,
        out: &mut Vec<RecordHead<'l>>,
    ) -> std::result::Result<(), LineFault> {
        if quick {
            return Err(LineFault::NeedWhole);
        }
        let object = parse_object(as_text(line)?)?;
        if is_header(&object) {
            out.push(RecordHead::header(line.len()));
            return Ok(());
        }
        let id = id_of(&object, "id").ok_or_else(|| missing("id"))?;
        let role = object.text("role").ok_or_else(|| missing("role"))?;
        let compaction = is_compaction(&object);
        let parent = id_of(&object, "parent_id");
        out.push(RecordHead {
            header: false,
            span: 0..line.len(),
            id: Cow::Owned(id),
            parent: parent.map_or(ParentName::Root, |id| ParentName::Named(Cow::Owned(id))),
            kind: if compaction { EntryKind::Compaction } else { EntryKind::Message },
            role: (!compaction).then(|| Role::from_text(&role)),
            timestamp: time_of(&object),
            lane: None,
            more: 0,
            sidecar: false,
            // The header says where the session stands.
            moves: Moves::Nothing,
        });
        Ok(())
    }

    fn decode(
        &self,
        record: &[u8],
        _context: &LineContext<'_>,
    ) -> std::result::Result<Decoded, LineFault> {
        let mut fields = Fields::new(parse_object(as_text(record)?)?, "entry");
        let id = fields.id("id").ok_or_else(|| missing("id"))?;
        let parent_id = fields.id("parent_id");
        let timestamp = time_of(fields.object());
        fields.skip(&["id", "parent_id", "timestamp", "type", "role", "content", "metadata"]);
        let object = fields.object();
        let mut reader = Reader::lossless();
        let body = if is_compaction(object) {
            let summary = object.text("content").unwrap_or_default();
            let details = object
                .get("metadata")
                .filter(|raw| *raw != "null")
                .and_then(|raw| forkwood_core::Json::parse(raw).ok());
            Body::Compaction(Compaction { summary, details, ..Compaction::default() })
        } else {
            let mut flat = Out::default();
            for key in ["role", "content", "metadata"] {
                if let Some(raw) = object.get(key) {
                    flat.raw(key, raw);
                }
            }
            let mut message = forkwood_core::message::decode(&flat.finish(), &mut reader)
                .map_err(|error| LineFault::WrongShape(error.to_string()))?;
            lift_tool_fields(&mut message);
            Body::message(message)
        };
        let extra = fields.rest();
        let mut notes = reader.into_notes();
        notes.extend(unknown_fields(&extra));
        let entry = Entry { id, parent_id, timestamp, lane: Lane::main(), more: 0, body, extra };
        Ok(Decoded { entry, notes })
    }

    fn encode(&self, _entry: &Entry) -> Result<Option<String>> {
        Err(StorageError::unsupported(
            "a header file of my-pi-agent is written whole by its program; fork it into a new \
             session",
        ))
    }

    fn header_line(&self, _lost: &LostHeader<'_>) -> Option<String> {
        None
    }
}

fn unknown_fields(
    extra: &[(Text, forkwood_core::Json)],
) -> impl Iterator<Item = (DiagnosticKind, String)> {
    extra
        .iter()
        .map(|(key, _)| (DiagnosticKind::UnknownField, format!("entry: unknown field {key}")))
}
