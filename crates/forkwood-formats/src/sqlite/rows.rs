//! Rows, and sessions that are read row by row.

use async_trait::async_trait;
use forkwood::{Body, Diagnostic, DiagnosticKind, Entry, EntryId, Json, Lane, Result, Timestamp};
use rusqlite::types::ValueRef;

use super::Database;
use crate::fields::Out;
use crate::import::{About, ForeignSession};

/// A row of a query.
pub(crate) use rusqlite::Row;

/// So many findings of one session are kept.
const MOST: usize = 1000;

/// A text, whatever bytes it holds; `None` for what is none.
pub(crate) fn text(row: &Row<'_>, at: usize) -> Option<String> {
    match row.get_ref(at).ok()? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
        _ => None,
    }
}

/// A whole number.
pub(crate) fn whole(row: &Row<'_>, at: usize) -> Option<i64> {
    match row.get_ref(at).ok()? {
        ValueRef::Integer(number) => Some(number),
        ValueRef::Real(number) if number.fract() == 0.0 && number.abs() < 9e15 => {
            Some(number as i64)
        }
        _ => None,
    }
}

/// How a tool reads the next entries of a session.
pub(crate) trait Rows: Send {
    /// The next entries; none at the end.
    ///
    /// # Errors
    /// Where the database cannot be read.
    fn page(&mut self, database: &Database, notes: &mut Notes) -> Result<Vec<Entry>>;

    /// Where the session stands, as far as it was read; `None`: it was known before.
    fn leaf(&self) -> Option<&EntryId> {
        None
    }
}

/// What is found on the way.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) found: Vec<Diagnostic>,
}

impl Notes {
    pub(crate) fn add(&mut self, kind: DiagnosticKind, entry: Option<&EntryId>, text: String) {
        if self.found.len() < MOST {
            self.found.push(Diagnostic::new(kind, text).of(entry.cloned()));
        }
    }
}

/// A session of a database.
pub(crate) struct SqlSession<R> {
    pub(crate) database: Database,
    pub(crate) about: About,
    pub(crate) rows: R,
    pub(crate) notes: Notes,
}

impl<R> SqlSession<R> {
    pub(crate) fn new(database: &Database, about: About, rows: R) -> SqlSession<R> {
        SqlSession { database: database.clone(), about, rows, notes: Notes::default() }
    }
}

#[async_trait]
impl<R: Rows> ForeignSession for SqlSession<R> {
    fn about(&self) -> &About {
        &self.about
    }

    async fn next(&mut self) -> Result<Vec<Entry>> {
        let page = self.rows.page(&self.database, &mut self.notes)?;
        if let Some(leaf) = self.rows.leaf() {
            self.about.leaf = Some(leaf.clone());
        }
        Ok(page)
    }

    async fn findings(&mut self) -> Result<Vec<Diagnostic>> {
        Ok(std::mem::take(&mut self.notes.found))
    }
}

/// An entry on `main`.
pub(crate) fn entry(
    id: impl Into<String>,
    parent: Option<&EntryId>,
    at: Option<Timestamp>,
    body: impl Into<Body>,
) -> Entry {
    Entry {
        id: EntryId::from(id.into()),
        parent_id: parent.cloned(),
        timestamp: at,
        lane: Lane::main(),
        more: 0,
        body: body.into(),
        extra: Vec::new(),
    }
}

/// A row that cannot be read, kept beside the path as it stands.
pub(crate) fn unreadable(namespace: &str, column: &str, value: &str) -> Body {
    let mut data = Out::default();
    data.str(column, value);
    Body::Custom { namespace: namespace.into(), data: data.into_json(), aside: true }
}

/// A JSON value of a column, if it holds one.
pub(crate) fn json(text: Option<String>) -> Option<Json> {
    Json::parse(&text?).ok().filter(|json| json.get() != "null")
}
