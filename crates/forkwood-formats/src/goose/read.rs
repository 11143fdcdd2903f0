//! Sessions of the database.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use forkwood::storage::disk::{Disk, Meta};
use forkwood::{
    Body, Compaction, DiagnosticKind, Entry, EntryId, Result, SessionId, SessionInfo, Timestamp,
};

use super::NAME;
use super::content::read;
use crate::fields::Out;
use crate::import::{About, Environment, ForeignSession, Tool, Unit};
use crate::sqlite::{
    self, Database, Notes, Row, Rows, SqlSession, entry, has, json, quoted, text, unreadable, whole,
};

/// How many messages are read at a time.
const PAGE: i64 = 32;
/// Columns of a session that are told with it, where they are there.
const TOLD: &[&str] = &[
    "session_type",
    "provider_name",
    "schedule_id",
    "updated_at",
    "total_tokens",
    "accumulated_total_tokens",
    "accumulated_input_tokens",
    "accumulated_output_tokens",
    "accumulated_cost",
];
/// Those that hold JSON.
const TOLD_JSON: &[&str] = &["model_config_json", "extension_data", "recipe_json"];

/// goose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goose;

#[async_trait]
impl Tool for Goose {
    fn name(&self) -> &'static str {
        NAME
    }

    fn places(&self, environment: &Environment<'_>) -> Vec<PathBuf> {
        let set = |name| (environment.variable)(name).filter(|value| !value.trim().is_empty());
        let root = set("GOOSE_PATH_ROOT").map(|root| PathBuf::from(root).join("data"));
        let data = || {
            let home = environment.home.as_ref().map(|home| home.join(".local").join("share"));
            Some(set("XDG_DATA_HOME").map(PathBuf::from).or(home)?.join("goose"))
        };
        root.or_else(data).map(|data| data.join("sessions")).into_iter().collect()
    }

    fn claim(&self, disk: &dyn Disk, path: &Path, meta: &Meta) -> Option<Unit> {
        let tables = sqlite::tables(disk, path, meta)?;
        let is_its_own = has(&tables, "sessions", &["id", "working_dir"])
            && has(&tables, "messages", &["id", "session_id", "role", "content_json"]);
        is_its_own.then(|| sqlite::unit(path))
    }

    async fn open(
        &self,
        disk: &Arc<dyn Disk>,
        unit: &Unit,
    ) -> Result<Vec<Box<dyn ForeignSession>>> {
        let database = Database::open(disk.as_ref(), &unit.path)?;
        let columns = database.columns("sessions")?;
        let wanted = ["id", "name", "description", "working_dir", "created_at"];
        let names: Vec<String> = wanted
            .iter()
            .chain(TOLD)
            .chain(TOLD_JSON)
            .map(|name| or_null(&columns, name))
            .collect();
        let sql = format!("SELECT {} FROM sessions ORDER BY created_at, id", names.join(","));
        let abouts = database.rows(&sql, (), about)?;
        let columns = database.columns("messages")?;
        let mut sessions: Vec<Box<dyn ForeignSession>> = Vec::new();
        for about in abouts.into_iter().flatten() {
            sessions.push(Box::new(open(&database, about, &columns)?));
        }
        Ok(sessions)
    }
}

/// A column, where the schema has it.
fn or_null(columns: &[String], name: &str) -> String {
    match columns.iter().any(|column| column == name) {
        true => quoted(name),
        false => "NULL".to_owned(),
    }
}

fn about(row: &Row<'_>) -> Option<About> {
    let id = text(row, 0)?;
    let mut own = Out::default();
    for (name, at) in TOLD.iter().zip(5..) {
        match (text(row, at), whole(row, at)) {
            (Some(value), _) => drop(own.str(name, &value)),
            (_, Some(value)) => drop(own.raw(name, &value.to_string())),
            _ => {}
        }
    }
    for (name, at) in TOLD_JSON.iter().zip(5 + TOLD.len()..) {
        own.opt(name, json(text(row, at)).as_ref());
    }
    let mut metadata = Out::default();
    metadata.raw(NAME, &own.finish());
    let title = text(row, 1).filter(|name| !name.is_empty()).or_else(|| text(row, 2));
    Some(About {
        id: SessionId::new(&id).ok(),
        source_id: id.into(),
        info: SessionInfo {
            title: title.filter(|title| !title.is_empty()).map(Into::into),
            cwd: text(row, 3).map(Into::into),
            created_at: text(row, 4).as_deref().and_then(crate::time::parse_iso),
            metadata: Some(metadata.into_json()),
            ..SessionInfo::default()
        },
        dialect: NAME,
        ..About::default()
    })
}

fn open(database: &Database, about: About, columns: &[String]) -> Result<SqlSession<Messages>> {
    let session = about.source_id.to_string_lossy().into_owned();
    let metadata = or_null(columns, "metadata_json");
    let first_shown = database.rows(
        &format!(
            "SELECT MIN(id) FROM messages WHERE session_id=?1 AND \
             (json_valid({metadata}) IS NOT 1 OR \
             json_extract({metadata},'$.agentVisible') IS NOT 0)"
        ),
        [&session],
        |row| whole(row, 0),
    )?;
    let rows = format!(
        "SELECT id, {}, role, content_json, {}, {metadata} FROM messages WHERE session_id=?1 \
         AND id>?2 ORDER BY id LIMIT ?3",
        or_null(columns, "message_id"),
        or_null(columns, "created_timestamp"),
    );
    let messages = Messages {
        session,
        rows,
        after: i64::MIN,
        last: None,
        first_shown: first_shown.into_iter().flatten().next(),
        seen: HashSet::new(),
    };
    Ok(SqlSession::new(database, about, messages))
}

/// The messages of a session, oldest first.
struct Messages {
    session: String,
    rows: String,
    after: i64,
    last: Option<EntryId>,
    /// The row before which the model is shown nothing.
    first_shown: Option<i64>,
    seen: HashSet<String>,
}

impl Rows for Messages {
    fn page(&mut self, database: &Database, notes: &mut Notes) -> Result<Vec<Entry>> {
        let rows = database.rows(&self.rows, (&self.session, self.after, PAGE), |row| Line {
            row: whole(row, 0),
            id: text(row, 1),
            role: text(row, 2).unwrap_or_default(),
            content: text(row, 3).unwrap_or_default(),
            at: time(whole(row, 4)),
            shown: shown(text(row, 5)),
        })?;
        let mut out = Vec::new();
        for line in rows {
            self.line(&line, notes, &mut out);
        }
        Ok(out)
    }

    fn leaf(&self) -> Option<&EntryId> {
        self.last.as_ref()
    }
}

/// A row of a message.
struct Line {
    row: Option<i64>,
    id: Option<String>,
    role: String,
    content: String,
    at: Option<Timestamp>,
    shown: bool,
}

impl Messages {
    fn line(&mut self, line: &Line, notes: &mut Notes, out: &mut Vec<Entry>) {
        let Some(row) = line.row else { return };
        self.after = row;
        let own = line.id.clone().filter(|id| !id.is_empty());
        let id = match own.unwrap_or_else(|| format!("row-{row}")) {
            id if self.seen.contains(&id) => format!("{id}@{row}"),
            id => id,
        };
        self.seen.insert(id.clone());
        let mut push = |last: &mut Option<EntryId>, id: String, body: Body| {
            let entry = entry(id, last.as_ref(), line.at, body);
            *last = Some(entry.id.clone());
            out.push(entry);
        };
        if self.first_shown == Some(row) && self.last.is_some() {
            let cut = format!("{id}.cut");
            let compaction = Compaction {
                first_kept_entry_id: Some(EntryId::from(cut.as_str())),
                ..Compaction::default()
            };
            push(&mut self.last, cut, compaction.into());
        }
        // What stands before the cut is not shown anyway.
        let behind = self.first_shown.is_some_and(|first| row >= first);
        match read(&line.role, &line.content, !line.shown && behind) {
            Some(messages) => {
                for (message, nth) in messages.into_iter().zip(0..) {
                    let id = if nth == 0 { id.clone() } else { format!("{id}.{nth}") };
                    push(&mut self.last, id, Body::message(message));
                }
            }
            None => {
                let note = format!("message {id} cannot be read");
                notes.add(DiagnosticKind::BadJson, Some(&EntryId::from(id.as_str())), note);
                if let Body::Custom { namespace, data, .. } =
                    unreadable("goose.damaged", "content_json", &line.content)
                {
                    push(&mut self.last, id, Body::Custom { namespace, data, aside: false });
                }
            }
        }
    }
}

/// Whether a model is shown a message.
fn shown(metadata: Option<String>) -> bool {
    let Some(metadata) = json(metadata) else { return true };
    metadata.as_object().is_none_or(|object| object.get("agentVisible") != Some("false"))
}

/// Seconds; newer versions may write milliseconds.
fn time(number: Option<i64>) -> Option<Timestamp> {
    let number = number?;
    Some(match number {
        ..100_000_000_000 => Timestamp::from_millis(number.saturating_mul(1000)),
        _ => Timestamp::from_millis(number),
    })
}
