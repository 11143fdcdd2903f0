//! Tools whose files the JSONL engine reads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use forkwood::storage::disk::{Disk, Meta, NodeKind, read_from};
use forkwood::storage::jsonl::{FileStart, Format, JsonlOptions, JsonlStorage};
use forkwood::storage::{Seq, SessionStorage};
use forkwood::{Diagnostic, Entry, Lane, Result, SessionFacts, SessionId};

use super::{About, Environment, ForeignSession, Identity, Tool, Unit};
use crate::my_pi_agent::MyPiAgentFormat;
use crate::pi::{self, PiFormat};

/// How much of a file is looked at to tell its format.
const START: u64 = 64 * 1024;
/// How many entries are read at a time.
const PAGE: usize = 256;

/// Pi.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pi;

/// my-pi-agent, and Tau, whose files its format knows too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MyPiAgent;

#[async_trait]
impl Tool for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn places(&self, environment: &Environment<'_>) -> Vec<PathBuf> {
        let Some(home) = &environment.home else { return Vec::new() };
        vec![pi::place::default_sessions_dir(
            home,
            (environment.variable)("PI_CODING_AGENT_DIR").as_deref(),
            (environment.variable)("PI_CODING_AGENT_SESSION_DIR").as_deref(),
        )]
    }

    fn claim(&self, disk: &dyn Disk, path: &Path, meta: &Meta) -> Option<Unit> {
        claim(&PiFormat, disk, path, meta)
    }

    fn in_place(&self) -> bool {
        true
    }

    async fn open(
        &self,
        disk: &Arc<dyn Disk>,
        unit: &Unit,
    ) -> Result<Vec<Box<dyn ForeignSession>>> {
        open(Arc::new(PiFormat), disk, unit).await
    }
}

#[async_trait]
impl Tool for MyPiAgent {
    fn name(&self) -> &'static str {
        "my-pi-agent"
    }

    fn places(&self, environment: &Environment<'_>) -> Vec<PathBuf> {
        let folder = |workspace: &PathBuf| workspace.join(".my_agent_core").join("sessions");
        environment.workspace.iter().map(folder).collect()
    }

    fn claim(&self, disk: &dyn Disk, path: &Path, meta: &Meta) -> Option<Unit> {
        claim(&MyPiAgentFormat, disk, path, meta)
    }

    fn in_place(&self) -> bool {
        true
    }

    async fn open(
        &self,
        disk: &Arc<dyn Disk>,
        unit: &Unit,
    ) -> Result<Vec<Box<dyn ForeignSession>>> {
        open(Arc::new(MyPiAgentFormat), disk, unit).await
    }
}

pub(super) fn claim(
    format: &dyn Format,
    disk: &dyn Disk,
    path: &Path,
    meta: &Meta,
) -> Option<Unit> {
    let is_session = meta.kind == NodeKind::File && path.extension()? == "jsonl";
    if !is_session {
        return None;
    }
    let file = disk.open_read(path).ok()?;
    let start = read_from(file.as_ref(), 0, meta.len.min(START)).ok()?;
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&start);
    let lines: Vec<(u64, &[u8])> = start
        .split(|byte| *byte == b'\n')
        .zip(1..)
        .map(|(line, number)| (number, line.trim_ascii()))
        .filter(|(_, line)| !line.is_empty())
        .take(64)
        .collect();
    format.recognise(&FileStart { path, lines: &lines })?;
    Some(Unit::file(path))
}

async fn open(
    format: Arc<dyn Format>,
    disk: &Arc<dyn Disk>,
    unit: &Unit,
) -> Result<Vec<Box<dyn ForeignSession>>> {
    Ok(vec![Box::new(open_one(format, disk, unit).await?)])
}

/// Opens the session of a file.
pub(super) async fn open_one(
    format: Arc<dyn Format>,
    disk: &Arc<dyn Disk>,
    unit: &Unit,
) -> Result<EngineSession> {
    let options = JsonlOptions::default().with_disk(Arc::clone(disk)).with_formats(&[format]);
    let (storage, id) = JsonlStorage::file(&unit.path, options)?;
    let facts = storage.facts(&id).await?;
    let about = about(&facts);
    Ok(EngineSession { storage, id, about, from: Some(0) })
}

fn about(facts: &SessionFacts) -> About {
    About {
        source_id: facts.shown_id.clone(),
        id: Some(facts.id.clone()),
        info: facts.info.clone(),
        dialect: facts.dialect,
        forked_from: facts.forked_from.clone(),
        leaf: facts.leaf(&Lane::main()).cloned(),
        identity: Identity::Ids,
        of_id: None,
    }
}

/// A file that the engine reads, page by page.
#[derive(Debug)]
pub(super) struct EngineSession {
    storage: JsonlStorage,
    id: SessionId,
    pub(super) about: About,
    from: Option<Seq>,
}

#[async_trait]
impl ForeignSession for EngineSession {
    fn about(&self) -> &About {
        &self.about
    }

    async fn next(&mut self) -> Result<Vec<Entry>> {
        let Some(from) = self.from else { return Ok(Vec::new()) };
        let page = self.storage.read(&self.id, from, PAGE).await?;
        self.from = page.next;
        Ok(page.entries.into_iter().map(|stored| stored.entry).collect())
    }

    async fn findings(&mut self) -> Result<Vec<Diagnostic>> {
        self.storage.check(&self.id).await
    }
}
