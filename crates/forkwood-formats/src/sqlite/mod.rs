//! Databases of other tools, read without leaving a trace.
//!
//! SQLite makes files beside a database that it reads, where the database keeps a log of writes
//! (`-wal`): so one that has such a log, or one of a crash (`-journal`), is copied to a private
//! folder and opened there, which also shows what is only in the log. One without is opened where
//! it lies, as something that nobody changes, and looked at again afterwards.
//!
//! A database is untrusted: it is opened read-only, its schema may run no function of ours, and
//! only real tables are asked.

mod copy;
mod rows;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use forkwood::storage::disk::{Disk, Meta, NodeKind, read_from};
use forkwood::{Error, Result};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::import::{FileStamp, Unit};

pub(crate) use rows::{Notes, Row, Rows, SqlSession, entry, json, text, unreadable, whole};

/// What every database starts with.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// How names of databases end.
const ENDINGS: &[&str] = &["db", "sqlite", "sqlite3"];

/// The columns of the tables of a database, by their names.
pub(crate) type Tables = HashMap<String, Vec<String>>;

/// An open database, for the sessions in it.
#[derive(Clone)]
pub(crate) struct Database {
    path: PathBuf,
    connection: Arc<Mutex<Connection>>,
    /// Goes with the last of them.
    _copy: Option<Arc<tempfile::TempDir>>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Database({})", self.path.display())
    }
}

impl Database {
    /// Opens a database.
    ///
    /// # Errors
    /// `damaged` where it is none; `io`.
    pub(crate) fn open(disk: &dyn Disk, path: &Path) -> Result<Database> {
        let (connection, copy) = if copy::is_needed(disk, path) {
            let folder = copy::copy(disk, path)?;
            let copied = folder.path().join(copy::NAME);
            // The copy is ours: what its log holds is put into it.
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            (Connection::open_with_flags(copied, flags), Some(Arc::new(folder)))
        } else {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
                | OpenFlags::SQLITE_OPEN_URI
                | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            (Connection::open_with_flags(copy::uri(path), flags), None)
        };
        let connection = connection.map_err(|error| failed(path, &error))?;
        for (option, value) in [
            (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
            (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        ] {
            connection.set_db_config(option, value).map_err(|error| failed(path, &error))?;
        }
        connection
            .execute_batch("PRAGMA query_only=ON; PRAGMA mmap_size=0; PRAGMA cache_size=-8192;")
            .map_err(|error| failed(path, &error))?;
        let connection = Arc::new(Mutex::new(connection));
        Ok(Database { path: path.to_path_buf(), connection, _copy: copy })
    }

    /// Runs a query and reads its rows.
    ///
    /// # Errors
    /// `damaged` where the database cannot be read.
    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
        mut read: impl FnMut(&Row<'_>) -> T,
    ) -> Result<Vec<T>> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let mut statement = connection.prepare_cached(sql).map_err(|e| failed(&self.path, &e))?;
        let mut rows = statement.query(parameters).map_err(|error| failed(&self.path, &error))?;
        let mut out = Vec::new();
        while let Some(row) = rows.next().map_err(|error| failed(&self.path, &error))? {
            out.push(read(row));
        }
        Ok(out)
    }

    /// The columns of a table.
    ///
    /// # Errors
    /// `damaged` where the database cannot be read.
    pub(crate) fn columns(&self, table: &str) -> Result<Vec<String>> {
        self.rows("SELECT name FROM pragma_table_info(?1)", [table], |row| {
            text(row, 0).unwrap_or_default()
        })
    }

    /// Its real tables; none that is made up by a view or a module.
    fn tables(&self) -> Result<Tables> {
        let names = self.rows(
            "SELECT name FROM pragma_table_list WHERE schema='main' AND type='table'",
            (),
            |row| text(row, 0).unwrap_or_default(),
        )?;
        let mut tables = Tables::new();
        for name in names {
            let columns = self.columns(&name)?;
            tables.insert(name, columns);
        }
        Ok(tables)
    }
}

thread_local! {
    /// The database that was looked at last: every tool looks at it in turn.
    static LAST: RefCell<Option<(Vec<FileStamp>, Tables)>> = const { RefCell::new(None) };
}

/// The tables of a database, if the file is one.
pub(crate) fn tables(disk: &dyn Disk, path: &Path, meta: &Meta) -> Option<Tables> {
    let ending = path.extension()?.to_str()?;
    if meta.kind != NodeKind::File || !ENDINGS.contains(&ending) || !is_database(disk, path, meta) {
        return None;
    }
    let stamps: Vec<FileStamp> = files(path).iter().map(|path| FileStamp::of(disk, path)).collect();
    let known = LAST.with_borrow(|last| {
        last.as_ref().filter(|(of, _)| *of == stamps).map(|(_, tables)| tables.clone())
    });
    if known.is_some() {
        return known;
    }
    let tables = Database::open(disk, path).ok()?.tables().ok()?;
    LAST.set(Some((stamps, tables.clone())));
    Some(tables)
}

fn is_database(disk: &dyn Disk, path: &Path, meta: &Meta) -> bool {
    let start = || {
        let file = disk.open_read(path).ok()?;
        read_from(file.as_ref(), 0, MAGIC.len() as u64).ok()
    };
    // One that was made just now may be in its log alone.
    start().is_some_and(|start| start == MAGIC)
        || (meta.len == 0 && disk.meta(&beside(path, "-wal")).is_ok_and(|meta| meta.len > 0))
}

/// Whether a table is there with these columns.
pub(crate) fn has(tables: &Tables, table: &str, columns: &[&str]) -> bool {
    tables.get(table).is_some_and(|of| columns.iter().all(|name| of.iter().any(|c| c == name)))
}

/// The files that a database is: itself, and its logs.
pub(crate) fn files(path: &Path) -> Vec<PathBuf> {
    vec![path.to_path_buf(), beside(path, "-wal"), beside(path, "-journal")]
}

/// A database as a unit of the import.
pub(crate) fn unit(path: &Path) -> Unit {
    Unit { path: path.to_path_buf(), files: files(path) }
}

/// A path with more behind its name.
fn beside(path: &Path, more: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(more);
    path.into()
}

/// A name for a query.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn failed(path: &Path, error: &rusqlite::Error) -> Error {
    Error::Damaged { path: path.to_path_buf(), problem: format!("the database: {error}") }
}
