//! Sessions of the database.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use forkwood::storage::disk::{Disk, Meta, NodeKind};
use forkwood::{
    Body, Compaction, DiagnosticKind, Entry, EntryId, Json, Result, SessionId, SessionInfo,
};

use super::NAME;
use super::message::{Part, Said, read, time};
use crate::fields::Out;
use crate::import::{About, Environment, ForeignSession, Tool, Unit};
use crate::sqlite::{
    self, Database, Notes, Row, Rows, SqlSession, Tables, entry, has, json, quoted, text,
    unreadable, whole,
};

/// How many messages are read at a time.
const PAGE: usize = 16;
/// Columns of a session that are told with it, where they are there.
const TOLD: &[&str] = &["slug", "version", "share_url", "agent", "project_id", "time_archived"];

/// opencode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenCode;

#[async_trait]
impl Tool for OpenCode {
    fn name(&self) -> &'static str {
        NAME
    }

    fn places(&self, environment: &Environment<'_>) -> Vec<PathBuf> {
        let set = |name| (environment.variable)(name).filter(|value| !value.trim().is_empty());
        let data = set("XDG_DATA_HOME").map(PathBuf::from);
        let home = || environment.home.as_ref().map(|home| home.join(".local").join("share"));
        let folder = data.or_else(home).map(|data| data.join("opencode"));
        match (set("OPENCODE_DB"), folder) {
            (Some(file), Some(folder)) => vec![folder.join(file)],
            (Some(file), None) => vec![PathBuf::from(file)],
            (None, folder) => folder.into_iter().collect(),
        }
    }

    fn claim(&self, disk: &dyn Disk, path: &Path, meta: &Meta) -> Option<Unit> {
        if meta.kind == NodeKind::Folder {
            // Its folder holds copies of whole projects, which are not walked through.
            if path.file_name()? != "opencode" {
                return None;
            }
            let mut names = disk.names(path).ok()?;
            names.sort();
            return names.into_iter().find_map(|name| {
                let text = name.to_str()?;
                let is_one = text.starts_with("opencode") && text.ends_with(".db");
                let file = path.join(text);
                is_one.then(|| self.claim(disk, &file, &disk.meta(&file).ok()?)).flatten()
            });
        }
        let tables = sqlite::tables(disk, path, meta)?;
        is_its_own(&tables).then(|| sqlite::unit(path))
    }

    async fn open(
        &self,
        disk: &Arc<dyn Disk>,
        unit: &Unit,
    ) -> Result<Vec<Box<dyn ForeignSession>>> {
        let database = Database::open(disk.as_ref(), &unit.path)?;
        let columns = database.columns("session")?;
        let named = |name: &str| match columns.iter().any(|column| column == name) {
            true => quoted(name),
            false => "NULL".to_owned(),
        };
        let wanted = ["id", "parent_id", "directory", "title", "time_created", "revert"];
        let names: Vec<String> = wanted.iter().chain(TOLD).map(|name| named(name)).collect();
        let sql = format!("SELECT {} FROM session ORDER BY time_created, id", names.join(","));
        let abouts = database.rows(&sql, (), about)?;
        let mut sessions: Vec<Box<dyn ForeignSession>> = Vec::new();
        for (about, revert) in abouts.into_iter().flatten() {
            let session = about.source_id.to_string_lossy().into_owned();
            let messages = Messages::new(session, revert);
            sessions.push(Box::new(SqlSession::new(&database, about, messages)));
        }
        Ok(sessions)
    }
}

fn is_its_own(tables: &Tables) -> bool {
    has(tables, "session", &["id", "project_id", "directory", "title"])
        && has(tables, "message", &["id", "session_id", "time_created", "data"])
        && has(tables, "part", &["id", "message_id", "data"])
}

/// What a row says of a session, and to where it was reverted.
fn about(row: &Row<'_>) -> Option<(About, Option<String>)> {
    let id = text(row, 0)?;
    let mut own = Out::default();
    for (name, at) in TOLD.iter().zip(6..) {
        match (text(row, at), whole(row, at)) {
            (Some(value), _) => drop(own.str(name, &value)),
            (_, Some(value)) => drop(own.raw(name, &value.to_string())),
            _ => {}
        }
    }
    let mut metadata = Out::default();
    metadata.raw(NAME, &own.finish());
    let parent = text(row, 1);
    let about = About {
        id: SessionId::new(&id).ok(),
        source_id: id.into(),
        info: SessionInfo {
            title: text(row, 3).filter(|title| !title.is_empty()).map(Into::into),
            cwd: text(row, 2).map(Into::into),
            created_at: time(whole(row, 4)),
            agent_type: parent.as_ref().and_then(|_| text(row, 9)).map(Into::into),
            parent_session_id: parent.map(Into::into),
            metadata: Some(metadata.into_json()),
            ..SessionInfo::default()
        },
        dialect: NAME,
        ..About::default()
    };
    let revert = json(text(row, 5))
        .and_then(|revert| Some(revert.as_object()?.text("messageID")?.to_string_lossy().into()));
    Some((about, revert))
}

/// The messages of a session, oldest first.
struct Messages {
    session: String,
    /// The rows of the messages that were not read yet, by their time and id.
    rows: Option<VecDeque<i64>>,
    last: Option<EntryId>,
    /// The message from which on all was taken back.
    reverted: Option<String>,
    /// Where the session stands, where that is not its end.
    stands: Option<EntryId>,
    /// What the marker of a compaction said.
    tail: Option<String>,
}

impl Messages {
    fn new(session: String, reverted: Option<String>) -> Messages {
        Messages { session, rows: None, last: None, reverted, stands: None, tail: None }
    }
}

/// The parts of a message, in order.
fn parts(database: &Database, message: &str) -> Result<Vec<Part>> {
    database.rows("SELECT id, data FROM part WHERE message_id=?1 ORDER BY id", [message], |row| {
        let data = text(row, 1).unwrap_or_default();
        let data = Json::parse(&data).unwrap_or_else(|_| {
            // No JSON: kept as a text.
            Json::from_value(&data).unwrap_or_else(|_| Json::null())
        });
        Part { id: text(row, 0).unwrap_or_default(), data }
    })
}

impl Rows for Messages {
    fn page(&mut self, database: &Database, notes: &mut Notes) -> Result<Vec<Entry>> {
        let mut rows = match self.rows.take() {
            Some(rows) => rows,
            None => database
                .rows(
                    "SELECT rowid FROM message WHERE session_id=?1 ORDER BY time_created, id",
                    [&self.session],
                    |row| whole(row, 0),
                )?
                .into_iter()
                .flatten()
                .collect(),
        };
        let mut page = Vec::new();
        for row in rows.drain(..rows.len().min(PAGE)) {
            page.extend(database.rows(
                "SELECT id, time_created, data FROM message WHERE rowid=?1",
                [row],
                |line| {
                    let id = text(line, 0).filter(|id| !id.is_empty());
                    (id.unwrap_or_else(|| format!("row-{row}")), whole(line, 1), text(line, 2))
                },
            )?);
        }
        self.rows = Some(rows);
        let mut out = Vec::new();
        for (id, created, data) in page {
            if self.reverted.as_ref() == Some(&id) {
                self.stands = self.last.clone();
            }
            let parts = parts(database, &id)?;
            self.message(&id, created, &data.unwrap_or_default(), &parts, notes, &mut out);
        }
        Ok(out)
    }

    fn leaf(&self) -> Option<&EntryId> {
        self.stands.as_ref().or(self.last.as_ref())
    }
}

impl Messages {
    fn message(
        &mut self,
        id: &str,
        created: Option<i64>,
        data: &str,
        parts: &[Part],
        notes: &mut Notes,
        out: &mut Vec<Entry>,
    ) {
        let at = time(created);
        let mut push = |last: &mut Option<EntryId>, id: String, body: Body| {
            let entry = entry(id, last.as_ref(), at, body);
            *last = Some(entry.id.clone());
            out.push(entry);
        };
        for part in parts.iter().filter(|part| part.data.as_object().is_none()) {
            let note = format!("part {} of message {id} is no JSON object", part.id);
            notes.add(DiagnosticKind::BadJson, Some(&EntryId::from(id)), note);
        }
        let said = Json::parse(data).ok().and_then(|data| read(&data, parts));
        let last = &mut self.last;
        match said {
            Some(Said::Message(message, results)) => {
                push(last, id.to_owned(), Body::message(*message));
                for (id, result) in results {
                    push(last, id, Body::message(result));
                }
            }
            Some(Said::Marker(tail)) => {
                self.tail = tail;
                let data = Json::parse(data).unwrap_or_else(|_| Json::empty_object());
                let namespace = "opencode.compaction".into();
                push(last, id.to_owned(), Body::Custom { namespace, data, aside: false });
            }
            Some(Said::Summary(summary, usage)) => {
                let kept = self.tail.take().unwrap_or_else(|| id.to_owned());
                let compaction = Compaction {
                    summary,
                    first_kept_entry_id: Some(EntryId::from(kept)),
                    usage,
                    ..Compaction::default()
                };
                push(last, id.to_owned(), compaction.into());
            }
            None => {
                let note = format!("message {id} cannot be read");
                notes.add(DiagnosticKind::BadJson, Some(&EntryId::from(id)), note);
                if let Body::Custom { namespace, data, .. } =
                    unreadable("opencode.damaged", "data", data)
                {
                    push(last, id.to_owned(), Body::Custom { namespace, data, aside: false });
                }
            }
        }
    }
}
