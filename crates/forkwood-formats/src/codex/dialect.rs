//! How the engine reads a rollout.

use std::borrow::Cow;

use forkwood_core::{Entry, EntryKind, FoldRules};
use forkwood_storage::jsonl::{
    Decoded, Dialect, LineContext, LineFault, Links, LostHeader, Moves, ParentName, Policy,
    RecordHead, as_text,
};
use forkwood_storage::{Result, StorageError};

use super::decode::{self, line_of, setting_id, time_of};
use super::line::{Kind, settings};
use super::{NAME, POLICY, RULES, relink};

/// Why its files are not written in place.
pub(crate) const READ_ONLY: &str = "it is a rollout of Codex, which is not continued in place; \
                                    fork it into a new session to go on from here";

/// How to read its files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codex;

impl Dialect for Codex {
    fn name(&self) -> &'static str {
        NAME
    }

    fn rules(&self) -> FoldRules {
        RULES
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
            return Err(LineFault::NeedWhole);
        }
        let text = as_text(line)?;
        let line = line_of(text)?;
        // A fork copies the line of what it was forked from, too.
        if line.kind == Kind::Meta && context.ordinal == 0 {
            out.push(RecordHead::header(text.len()));
            return Ok(());
        }
        let beside = line.is_beside();
        let head = RecordHead {
            header: false,
            span: 0..text.len(),
            id: Cow::Owned(decode::id(context.line)),
            parent: ParentName::Previous,
            kind: line.entry_kind(),
            role: line.role(),
            timestamp: time_of(&line.object),
            lane: None,
            more: 0,
            sidecar: beside,
            moves: if beside { Moves::Nothing } else { Moves::ToSelf },
        };
        for setting in settings(text, &line) {
            out.push(RecordHead {
                span: setting.span.clone(),
                id: Cow::Owned(setting_id(context.line, &setting)),
                kind: match setting.model {
                    true => EntryKind::ModelChange,
                    false => EntryKind::ThinkingLevelChange,
                },
                ..head.clone()
            });
        }
        out.push(head);
        Ok(())
    }

    fn decode(
        &self,
        record: &[u8],
        context: &LineContext<'_>,
    ) -> std::result::Result<Decoded, LineFault> {
        decode::entry(as_text(record)?, context.line, None)
    }

    fn decode_part(
        &self,
        record: &[u8],
        context: &LineContext<'_>,
        line: &dyn Fn() -> Option<(Vec<u8>, usize)>,
    ) -> std::result::Result<Decoded, LineFault> {
        // A setting is a text; every whole line is an object.
        if record.first() != Some(&b'"') {
            return self.decode(record, context);
        }
        let whole = line().and_then(|(bytes, start)| {
            decode::entry(std::str::from_utf8(&bytes).ok()?, context.line, Some(start)).ok()
        });
        // In a line that is damaged, nothing says which setting it is.
        whole.map_or_else(|| crate::fields::piece(NAME, record), Ok)
    }

    fn relinks(&self) -> bool {
        true
    }

    fn hint(&self, line: &str, head: &RecordHead<'_>) -> Option<String> {
        relink::hint(line, head)
    }

    fn relink(&self, links: &mut Links<'_>) {
        relink::relink(links);
    }

    fn encode(&self, _entry: &Entry) -> Result<Option<String>> {
        Err(StorageError::unsupported(READ_ONLY))
    }

    fn header_line(&self, _lost: &LostHeader<'_>) -> Option<String> {
        None
    }
}
