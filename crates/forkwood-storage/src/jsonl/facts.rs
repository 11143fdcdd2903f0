//! What is told of a session file besides its entries.

use forkwood_core::Text;

use super::file::SessionFile;
use super::frame::Frames;
use super::index::NONE;
use crate::blob::hex;
use crate::{FloorRule, Head, LaneState, Result, SessionFacts, StorageError};

impl SessionFile {
    /// The end of the log as readers see it.
    pub(super) fn end(&self) -> u64 {
        self.index
            .recs()
            .last()
            .map_or(self.progress.consumed, |rec| rec.offset + u64::from(rec.len) + 1)
    }

    /// The generation: in a native header, else a hash of the first line.
    pub(super) fn generation(&self) -> Result<String> {
        if let Some(generation) = &self.header.info.generation {
            return Ok(generation.to_string_lossy().into_owned());
        }
        let mut frames = Frames::new(self.file.as_ref(), 0, self.meta.len, 1);
        let first = frames.next().map_err(|error| StorageError::io(&self.path, "read", error))?;
        let digest =
            <sha2::Sha256 as sha2::Digest>::digest(first.map_or(&[][..], |(_, line)| line));
        Ok(hex(&digest[..4]))
    }

    pub(super) fn facts(&self) -> Result<SessionFacts> {
        let lanes = self.index.lanes().iter().map(|lane| LaneState {
            lane: lane.lane.clone(),
            leaf: (lane.leaf != NONE).then(|| self.index.id(lane.leaf)),
        });
        Ok(SessionFacts {
            id: self.id.clone(),
            shown_id: match self.header.session_id.is_empty() {
                true => Text::from(self.id.as_str()),
                false => self.header.session_id.clone(),
            },
            dialect: self.dialect.name(),
            info: self.info().clone(),
            forked_from: self.header.forked_from.clone(),
            generation: self.generation()?,
            end: self.end(),
            rules: self.dialect.rules(),
            floor: self.floor(),
            ids: self.dialect.policy().ids,
            read_only: self.read_only(),
            path: Some(self.path.clone()),
            lanes: lanes.collect(),
            entries: u64::from(self.index.len()),
        })
    }

    /// A floor that names no entry guards nothing.
    fn floor(&self) -> FloorRule {
        match &self.header.floor {
            FloorRule::Strict(Some(floor)) if self.index.find(floor.as_str()).is_none() => {
                FloorRule::Strict(None)
            }
            other => other.clone(),
        }
    }

    fn read_only(&self) -> Option<String> {
        match &self.header.newer_version {
            Some(version) => Some(format!("it was written by a newer version ({version})")),
            None => self.header.read_only.clone(),
        }
    }

    pub(super) fn head(&self, at: u32) -> Head {
        let rec = self.index.rec(at);
        Head {
            id: self.index.id(at),
            parent_id: self.index.parent_id(at),
            kind: rec.kind,
            role: self.index.role(at),
            lane: self.index.lanes()[usize::from(rec.lane)].lane.clone(),
            sidecar: self.index.is_sidecar(at),
            seq: rec.offset + u64::from(rec.len) + 1,
            line: Some(u64::from(rec.line)),
            bytes: u64::from(rec.len),
        }
    }
}
