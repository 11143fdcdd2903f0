//! How the engine reads a file of Claude Code.

use std::borrow::Cow;

use forkwood_core::entry::SessionInfo;
use forkwood_core::json::Object;
use forkwood_core::{Body, Entry, FoldRules, Role};
use forkwood_storage::jsonl::{
    Decoded, Dialect, LineContext, LineFault, Links, LostHeader, Moves, ParentName, Policy,
    RecordHead, as_text,
};
use forkwood_storage::{Result, StorageError};

use super::decode::{self, line_of, time_of};
use super::line::{Kind, Line, is_result};
use super::parts::{blocks, part_id, parts};
use super::{NAME, POLICY, RULES, info, relink};
use crate::fields::id_of;

/// Why its files are not written in place.
pub(crate) const READ_ONLY: &str = "it is a session of Claude Code, which is not continued in \
                                    place; fork it into a new session to go on from here";

/// How to read its files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClaudeCode;

/// The line before one, as it names it.
pub(crate) fn parent_of(line: &Line<'_>) -> Option<String> {
    if line.is_beside() { None } else { id_of(&line.object, "parentUuid") }
}

impl Dialect for ClaudeCode {
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
        // The id stands behind the body.
        if quick {
            return Err(LineFault::NeedWhole);
        }
        let text = as_text(line)?;
        let line = line_of(text)?;
        let id = line.id(context.line);
        let parent = parent_of(&line);
        let moves = match line.kind {
            Kind::User | Kind::Assistant | Kind::Boundary => Moves::ToSelf,
            // Its owner goes on at the last message, whatever hangs from it.
            _ => Moves::Nothing,
        };
        let first = match line.kind {
            Kind::User => blocks(&line.object).and_then(|blocks| blocks.first().copied()),
            _ => None,
        };
        let first = first.and_then(|block| Object::parse(block).ok());
        let head = RecordHead {
            header: false,
            span: 0..text.len(),
            id: Cow::Owned(id.clone()),
            parent: parent.map_or(ParentName::Root, |id| ParentName::Named(Cow::Owned(id))),
            kind: line.entry_kind(),
            role: line.role(first.as_ref()),
            timestamp: time_of(&line.object),
            lane: line.lane().map(Cow::Owned),
            more: 0,
            sidecar: line.is_beside(),
            moves,
        };
        let all = if line.kind == Kind::User { parts(text, &line.object) } else { None };
        let Some(all) = all else {
            out.push(head);
            return Ok(());
        };
        for (at, part) in all.iter().enumerate() {
            let before = at.checked_sub(1).map(|at| part_id(&id, at, all.len()));
            out.push(RecordHead {
                span: part.span.clone(),
                id: Cow::Owned(part_id(&id, at, all.len())),
                parent: match before {
                    Some(before) => ParentName::Named(Cow::Owned(before)),
                    None => head.parent.clone(),
                },
                role: Some(if part.result { Role::Tool } else { Role::User }),
                ..head.clone()
            });
        }
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
        // A whole line says of which session it is; a part is a block of content, or several.
        let whole = std::str::from_utf8(record).ok().and_then(|text| line_of(text).ok());
        let is_part = match &whole {
            Some(line) => is_result(&line.object) || line.object.get("sessionId").is_none(),
            None => true,
        };
        if is_part
            && let Some((bytes, start)) = line()
            && let Ok(text) = std::str::from_utf8(&bytes)
            && let Ok(line) = line_of(text)
            && parts(text, &line.object)
                .is_some_and(|parts| parts.iter().any(|part| part.span.start == start))
        {
            return decode::entry(text, context.line, Some(start));
        }
        // In a line that is damaged, nothing says what the blocks belong to.
        self.decode(record, context).or_else(|_| crate::fields::piece(NAME, record))
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

    fn take_info(&self, info: &mut SessionInfo, body: Body, has: &dyn Fn(&str) -> bool) {
        info::take(info, body, has);
    }

    fn encode(&self, _entry: &Entry) -> Result<Option<String>> {
        Err(StorageError::unsupported(READ_ONLY))
    }

    fn header_line(&self, _lost: &LostHeader<'_>) -> Option<String> {
        None
    }
}
