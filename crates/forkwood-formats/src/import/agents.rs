//! Claude Code and Codex: files that the JSONL engine reads, with facts beside them.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use forkwood::core::json::Object;
use forkwood::storage::disk::{Disk, Meta, read_from};
use forkwood::{Diagnostic, Entry, EntryId, Result, Text};

use super::engine::{claim, open_one};
use super::{About, Environment, ForeignSession, Tool, Unit};
use crate::claude_code::{self, ClaudeCodeFormat, METADATA};
use crate::codex::{self, CodexFormat};
use crate::fields::Out;

/// How much of a file beside a session is read.
const MOST: u64 = 16 * 1024 * 1024;

/// Claude Code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClaudeCode;

/// Codex.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codex;

#[async_trait]
impl Tool for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn places(&self, environment: &Environment<'_>) -> Vec<PathBuf> {
        let Some(home) = &environment.home else { return Vec::new() };
        let config = (environment.variable)("CLAUDE_CONFIG_DIR");
        vec![claude_code::place::projects_dir(home, config.as_deref())]
    }

    fn claim(&self, disk: &dyn Disk, path: &Path, meta: &Meta) -> Option<Unit> {
        let mut unit = claim(&ClaudeCodeFormat, disk, path, meta)?;
        if agent_of(path).is_some() {
            unit.files.push(claude_code::place::agent_facts(path));
        }
        Some(unit)
    }

    fn in_place(&self) -> bool {
        true
    }

    async fn open(
        &self,
        disk: &Arc<dyn Disk>,
        unit: &Unit,
    ) -> Result<Vec<Box<dyn ForeignSession>>> {
        let mut session = open_one(Arc::new(ClaudeCodeFormat), disk, unit).await?;
        if agent_of(&unit.path).is_some() {
            let facts = claude_code::place::agent_facts(&unit.path);
            take_agent_facts(&mut session.about, &text_of(disk.as_ref(), &facts));
        }
        Ok(vec![Box::new(ParentsFirst::of(session))])
    }
}

#[async_trait]
impl Tool for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn places(&self, environment: &Environment<'_>) -> Vec<PathBuf> {
        let Some(home) = &environment.home else { return Vec::new() };
        let codex_home = (environment.variable)("CODEX_HOME");
        let codex_home = codex::place::home_dir(home, codex_home.as_deref());
        codex::place::sessions_dirs(&codex_home).to_vec()
    }

    fn claim(&self, disk: &dyn Disk, path: &Path, meta: &Meta) -> Option<Unit> {
        claim(&CodexFormat, disk, path, meta)
    }

    fn in_place(&self) -> bool {
        true
    }

    async fn open(
        &self,
        disk: &Arc<dyn Disk>,
        unit: &Unit,
    ) -> Result<Vec<Box<dyn ForeignSession>>> {
        let mut session = open_one(Arc::new(CodexFormat), disk, unit).await?;
        take_name(disk.as_ref(), &unit.path, &mut session.about);
        Ok(vec![Box::new(session)])
    }
}

fn agent_of(path: &Path) -> Option<&str> {
    claude_code::place::agent_of(path.file_stem()?.to_str()?)
}

/// The text of a file beside a session; nothing where it is not there or too long to be one.
fn text_of(disk: &dyn Disk, path: &Path) -> String {
    let read = || {
        let meta = disk.meta(path).ok().filter(|meta| meta.len <= MOST)?;
        let file = disk.open_read(path).ok()?;
        read_from(file.as_ref(), 0, meta.len).ok()
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

/// What the file beside a sub-agent's transcript says: its kind, its task, who spawned it.
fn take_agent_facts(about: &mut About, json: &str) {
    let Ok(facts) = Object::parse(json) else { return };
    let info = &mut about.info;
    info.agent_type = facts.text("agentType").or_else(|| info.agent_type.take());
    info.title = info.title.take().or_else(|| facts.text("description"));
    if let Some(parent) = facts.text("parentAgentId").filter(|id| !id.is_empty()) {
        info.parent_session_id = Some(Text::from(format!("agent-{parent}")));
        info.spawn_depth = Some(2);
    }
    let mut own = Out::default();
    for key in ["toolUseId", "parentAgentId", "description"] {
        own.rest(facts.iter().filter(|(name, _)| **name == key).map(|(k, v)| (k, v.get())));
    }
    let before = info.metadata.take();
    let before = before.as_ref().and_then(forkwood::Json::as_object).unwrap_or_default();
    if let Some(known) = before.get(METADATA).and_then(|raw| Object::parse(raw).ok()) {
        own.rest(known.iter().map(|(key, value)| (key, value.get())));
    }
    let mut out = Out::default();
    out.raw(METADATA, &own.finish());
    out.rest(before.iter().map(|(key, value)| (key, value.get())));
    info.metadata = Some(out.into_json());
}

/// The name that a person gave to the session of a rollout, which stands in a file of its own.
pub(super) fn take_name(disk: &dyn Disk, path: &Path, about: &mut About) {
    if about.info.title.is_none()
        && let Some(home) = codex_home_of(path)
    {
        let names = text_of(disk, &codex::place::names_file(home));
        about.info.title = name_of(&names, &about.source_id);
    }
}

/// The folder of Codex that a rollout lies in.
fn codex_home_of(path: &Path) -> Option<&Path> {
    let of_sessions = |folder: &&Path| {
        folder.file_name().is_some_and(|name| name == "sessions" || name == "archived_sessions")
    };
    path.ancestors().find(of_sessions)?.parent()
}

/// The name that was given last.
fn name_of(names: &str, id: &Text) -> Option<Text> {
    names
        .lines()
        .rev()
        .filter_map(|line| Object::parse(line).ok())
        .find(|line| line.text("id").is_some_and(|named| named == *id))
        .and_then(|line| line.text("thread_name"))
        .filter(|name| !name.to_string_lossy().trim().is_empty())
}

/// A session whose entries may hang from later ones, told parents first. What waits for its
/// parent is in memory: the results of one answer, or what a compaction preserved.
#[derive(Debug)]
struct ParentsFirst<S> {
    session: S,
    told: HashSet<EntryId>,
    waiting: HashMap<EntryId, Vec<Entry>>,
    done: bool,
}

impl<S: ForeignSession> ParentsFirst<S> {
    fn of(session: S) -> ParentsFirst<S> {
        ParentsFirst { session, told: HashSet::new(), waiting: HashMap::new(), done: false }
    }

    /// An entry whose parent was told, and all that waited for it.
    fn tell(&mut self, entry: Entry, out: &mut Vec<Entry>) {
        let mut ready = VecDeque::from([entry]);
        while let Some(entry) = ready.pop_front() {
            self.told.insert(entry.id.clone());
            ready.extend(self.waiting.remove(&entry.id).unwrap_or_default());
            out.push(entry);
        }
    }
}

#[async_trait]
impl<S: ForeignSession> ForeignSession for ParentsFirst<S> {
    fn about(&self) -> &About {
        self.session.about()
    }

    async fn next(&mut self) -> Result<Vec<Entry>> {
        let mut out = Vec::new();
        // No entries means the end, so that a page where all wait is none.
        while out.is_empty() && !self.done {
            let page = self.session.next().await?;
            self.done = page.is_empty();
            for entry in page {
                match entry.parent_id.clone().filter(|parent| !self.told.contains(parent)) {
                    Some(parent) => self.waiting.entry(parent).or_default().push(entry),
                    None => self.tell(entry, &mut out),
                }
            }
        }
        if self.done {
            // Parents that never came: there are none in a settled tree.
            let mut rest: Vec<Entry> =
                std::mem::take(&mut self.waiting).into_values().flatten().collect();
            rest.iter_mut().for_each(|entry| entry.parent_id = None);
            out.extend(rest);
        }
        Ok(out)
    }

    async fn findings(&mut self) -> Result<Vec<Diagnostic>> {
        self.session.findings().await
    }
}
