//! Sessions of a database.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use forkwood::storage::disk::{Disk, Meta};
use forkwood::{
    Body, DiagnosticKind, Entry, EntryId, Json, Result, SessionId, SessionInfo, Text, Timestamp,
};

use super::{METADATA, NAME, decode};
use crate::fields::Out;
use crate::import::{About, Environment, ForeignSession, Tool, Unit};
use crate::sqlite::{
    self, Database, Notes, Rows, SqlSession, Tables, entry, has, quoted, text, unreadable, whole,
};

/// The columns by which tables of messages are known.
const MESSAGES: &[&str] = &["id", "session_id", "message_data", "created_at"];
/// Those of the table of branches.
const STRUCTURE: &[&str] = &["session_id", "message_id", "branch_id", "sequence_number"];
/// How many messages are read at a time.
const PAGE: i64 = 64;
/// The branch that every session has.
const MAIN: &str = "main";

/// The OpenAI Agents SDK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenAiAgents;

#[async_trait]
impl Tool for OpenAiAgents {
    fn name(&self) -> &'static str {
        NAME
    }

    /// The program that uses the SDK says where.
    fn places(&self, _environment: &Environment<'_>) -> Vec<PathBuf> {
        Vec::new()
    }

    fn claim(&self, disk: &dyn Disk, path: &Path, meta: &Meta) -> Option<Unit> {
        let tables = sqlite::tables(disk, path, meta)?;
        (!messages_tables(&tables).is_empty()).then(|| sqlite::unit(path))
    }

    async fn open(
        &self,
        disk: &Arc<dyn Disk>,
        unit: &Unit,
    ) -> Result<Vec<Box<dyn ForeignSession>>> {
        let database = Database::open(disk.as_ref(), &unit.path)?;
        let meta = disk
            .meta(&unit.path)
            .map_err(|error| forkwood::Error::io(&unit.path, "look at it", error))?;
        let tables = sqlite::tables(disk.as_ref(), &unit.path, &meta).unwrap_or_default();
        let mut sessions: Vec<Box<dyn ForeignSession>> = Vec::new();
        for table in messages_tables(&tables) {
            let structured = has(&tables, "message_structure", STRUCTURE)
                && table_of_structure(&database)?.is_none_or(|of| of == table);
            let usage = structured && tables.contains_key("turn_usage");
            for id in session_ids(&database, &table)? {
                sessions.push(Box::new(open(&database, &table, id, structured, usage)?));
            }
        }
        Ok(sessions)
    }
}

fn messages_tables(tables: &Tables) -> Vec<String> {
    let mut found: Vec<String> =
        tables.keys().filter(|name| has(tables, name, MESSAGES)).cloned().collect();
    found.sort();
    found
}

/// The table of messages that the branches are of.
fn table_of_structure(database: &Database) -> Result<Option<String>> {
    let of = database.rows(
        "SELECT \"table\" FROM pragma_foreign_key_list('message_structure') WHERE \"from\"='message_id'",
        (),
        |row| text(row, 0),
    )?;
    Ok(of.into_iter().flatten().next())
}

/// The sessions that hold a message, and those that were made and hold none.
fn session_ids(database: &Database, table: &str) -> Result<Vec<String>> {
    let owner = database.rows(
        "SELECT \"table\" FROM pragma_foreign_key_list(?1) WHERE \"from\"='session_id'",
        [table],
        |row| text(row, 0),
    )?;
    let mut sql = format!("SELECT DISTINCT session_id FROM {}", quoted(table));
    if let Some(owner) = owner.into_iter().flatten().next() {
        sql.push_str(&format!(" UNION SELECT session_id FROM {}", quoted(&owner)));
    }
    sql.push_str(" ORDER BY 1");
    let ids = database.rows(&sql, (), |row| text(row, 0))?;
    Ok(ids.into_iter().flatten().collect())
}

fn open(
    database: &Database,
    table: &str,
    id: String,
    structured: bool,
    usage: bool,
) -> Result<SqlSession<Messages>> {
    let mut messages = Messages {
        table: quoted(table),
        session: id.clone(),
        after: i64::MIN,
        last: None,
        branches: None,
        ends: VecDeque::new(),
    };
    let leaf;
    let mut branches = Vec::new();
    if structured {
        let tree = Branches::read(database, &id)?;
        let main = tree.tips.iter().find(|(branch, _)| branch == MAIN);
        leaf = main.or(tree.tips.last()).map(|(_, tip)| *tip);
        branches = tree.tips.iter().map(|(branch, _)| branch.clone()).collect();
        messages.ends = tree.labels();
        if usage {
            messages.ends.extend(turn_usage(database, &id, &tree)?);
        }
        messages.branches = Some(tree);
    } else {
        let sql = format!("SELECT MAX(id) FROM {} WHERE session_id=?1", messages.table);
        leaf = database.rows(&sql, [&id], |row| whole(row, 0))?.into_iter().flatten().next();
    }
    let sql = format!(
        "SELECT MIN(created_at), MAX(created_at) FROM {} WHERE session_id=?1",
        messages.table
    );
    let times = database.rows(&sql, [&id], |row| (text(row, 0), text(row, 1)))?;
    let (first, last) = times.into_iter().next().unwrap_or_default();
    let about = about(id, structured, leaf, &branches, first.as_deref(), last.as_deref());
    Ok(SqlSession::new(database, about, messages))
}

fn about(
    id: String,
    structured: bool,
    leaf: Option<i64>,
    branches: &[String],
    first: Option<&str>,
    last: Option<&str>,
) -> About {
    let mut own = Out::default();
    if !branches.is_empty() {
        let names = branches.iter().map(|name| Text::from(name.as_str()).to_json());
        own.raw("branches", &forkwood::core::json::join_array(names));
    }
    if let Some(last) = last {
        own.str("updatedAt", last);
    }
    let mut metadata = Out::default();
    metadata.raw(METADATA, &own.finish());
    About {
        id: SessionId::new(&id).ok(),
        source_id: id.into(),
        info: SessionInfo {
            created_at: first.and_then(crate::time::parse_iso),
            metadata: Some(metadata.into_json()),
            ..SessionInfo::default()
        },
        dialect: if structured { "openai-agents-advanced" } else { NAME },
        leaf: leaf.map(message_id),
        ..About::default()
    }
}

fn message_id(row: i64) -> EntryId {
    EntryId::from(format!("message-{row}"))
}

/// Which messages follow which.
#[derive(Debug, Default)]
struct Branches {
    /// The message before each; `None` = it is the first.
    parents: HashMap<i64, Option<i64>>,
    /// The branches in the order in which they were made, with their last message.
    tips: Vec<(String, i64)>,
    /// Messages that stand behind different ones in different branches.
    odd: Vec<i64>,
}

impl Branches {
    fn read(database: &Database, session: &str) -> Result<Branches> {
        let order = database.rows(
            "SELECT branch_id, message_id FROM message_structure WHERE session_id=?1 \
             ORDER BY sequence_number, id",
            [session],
            |row| (text(row, 0), whole(row, 1)),
        )?;
        let mut tree = Branches::default();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (branch, message) in order {
            let (Some(branch), Some(message)) = (branch, message) else { continue };
            let place = *places.entry(branch.clone()).or_insert_with(|| {
                tree.tips.push((branch, 0));
                tree.tips.len() - 1
            });
            let before = Some(std::mem::replace(&mut tree.tips[place].1, message));
            let before = before.filter(|before| *before != 0);
            match tree.parents.get(&message) {
                None => {
                    // A message that stands before what it follows would make a ring.
                    let before = before.filter(|before| *before < message);
                    tree.parents.insert(message, before);
                }
                Some(known) if *known != before => tree.odd.push(message),
                Some(_) => {}
            }
        }
        Ok(tree)
    }

    /// The names of the branches, as labels of their tips.
    fn labels(&self) -> VecDeque<Entry> {
        let others = self.tips.iter().filter(|(branch, _)| branch != MAIN);
        others
            .map(|(branch, tip)| {
                let target = message_id(*tip);
                let id = format!("branch-{tip}-{branch}");
                let label = Some(branch.as_str().into());
                let body = Body::Label { label, target_id: Some(target.clone()) };
                entry(id, Some(&target), None, body)
            })
            .collect()
    }
}

/// What each turn of a branch used, beside the last message of the turn.
fn turn_usage(database: &Database, session: &str, tree: &Branches) -> Result<Vec<Entry>> {
    let rows = database.rows(
        "SELECT u.id, u.branch_id, u.user_turn_number, u.requests, u.input_tokens, \
         u.output_tokens, u.total_tokens, u.input_tokens_details, u.output_tokens_details, \
         u.created_at, (SELECT s.message_id FROM message_structure s WHERE \
         s.session_id=u.session_id AND s.branch_id=u.branch_id AND \
         s.user_turn_number=u.user_turn_number ORDER BY s.sequence_number DESC LIMIT 1) \
         FROM turn_usage u WHERE u.session_id=?1 ORDER BY u.id",
        [session],
        |row| {
            let mut usage = Out::default();
            for (at, key) in
                [(3, "requests"), (4, "input_tokens"), (5, "output_tokens"), (6, "total_tokens")]
            {
                usage.raw(key, &whole(row, at).unwrap_or(0).to_string());
            }
            for (at, key) in [(7, "input_tokens_details"), (8, "output_tokens_details")] {
                usage.opt(key, sqlite::json(text(row, at)).as_ref());
            }
            let mut data = Out::default();
            data.str("branch", &text(row, 1).unwrap_or_default())
                .raw("turn", &whole(row, 2).unwrap_or(0).to_string())
                .raw("usage", &usage.finish());
            if let Some(last) = whole(row, 10) {
                data.str("lastEntryId", message_id(last).as_str());
            }
            (whole(row, 0), whole(row, 10), text(row, 9), data.into_json())
        },
    )?;
    let entries = rows.into_iter().filter_map(|(id, message, at, data)| {
        let message = message.filter(|message| tree.parents.contains_key(message));
        let parent = message.map(message_id);
        let namespace = format!("{NAME}.turn_usage").into();
        let body = Body::Custom { namespace, data, aside: true };
        let at = at.as_deref().and_then(crate::time::parse_iso);
        Some(entry(format!("usage-{}", id?), parent.as_ref(), at, body))
    });
    Ok(entries.collect())
}

/// The messages of a session, in the order in which they were written.
struct Messages {
    table: String,
    session: String,
    after: i64,
    /// The message before, and its time.
    last: Option<i64>,
    /// Which follows which, where there are branches.
    branches: Option<Branches>,
    /// What comes after all messages.
    ends: VecDeque<Entry>,
}

impl Rows for Messages {
    fn page(&mut self, database: &Database, notes: &mut Notes) -> Result<Vec<Entry>> {
        let sql = format!(
            "SELECT id, message_data, created_at FROM {} WHERE session_id=?1 AND id>?2 \
             ORDER BY id LIMIT ?3",
            self.table
        );
        let rows = database.rows(&sql, (&self.session, self.after, PAGE), |row| {
            let at = text(row, 2).as_deref().and_then(crate::time::parse_iso);
            (whole(row, 0), text(row, 1).unwrap_or_default(), at)
        })?;
        if rows.is_empty() {
            for message in self.branches.iter_mut().flat_map(|tree| tree.odd.drain(..)) {
                let note = format!("message {message} follows other messages in other branches");
                notes.add(DiagnosticKind::UnknownTarget, Some(&message_id(message)), note);
            }
            return Ok(self.ends.drain(..).collect());
        }
        let mut entries = Vec::with_capacity(rows.len());
        for (row, data, at) in rows {
            let Some(row) = row else { continue };
            self.after = row;
            entries.push(self.entry(row, &data, at, notes));
        }
        Ok(entries)
    }
}

impl Messages {
    fn entry(&mut self, row: i64, data: &str, at: Option<Timestamp>, notes: &mut Notes) -> Entry {
        let id = message_id(row);
        let (parent, shown) = match &self.branches {
            None => (self.last, true),
            Some(tree) => match tree.parents.get(&row) {
                Some(parent) => (*parent, true),
                None => (self.last, false),
            },
        };
        let item = Json::parse(data);
        let body = match &item {
            Ok(item) if shown => Body::Message(decode(item)),
            Ok(_) => {
                let note = format!("message {row} is in no branch; the SDK passes it over");
                notes.add(DiagnosticKind::UnknownTarget, Some(&id), note);
                unreadable("openai-agents.orphan", "message_data", data)
            }
            Err(error) => {
                let note = format!("message {row} is no JSON: {error}");
                notes.add(DiagnosticKind::BadJson, Some(&id), note);
                // It keeps its place, since others follow it.
                match unreadable("openai-agents.damaged", "message_data", data) {
                    Body::Custom { namespace, data, .. } => {
                        Body::Custom { namespace, data, aside: !shown }
                    }
                    other => other,
                }
            }
        };
        if shown {
            self.last = Some(row);
        }
        entry(id.as_str(), parent.map(message_id).as_ref(), at, body)
    }
}
