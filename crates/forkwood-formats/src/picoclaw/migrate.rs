//! Turning the older files, one JSON object a session, into lines and meta files.
//!
//! PicoClaw renames each file as soon as it is rewritten, and at its next start takes one that
//! could not be renamed over what was written since. Here nothing is renamed before all files are
//! rewritten and have been read back; newer lines are never overwritten; and a run that fails
//! takes back what it made. Stopped anywhere, it can be run again.

use std::io;
use std::path::{Path, PathBuf};

use forkwood::conversation::ConversationMessage;
use forkwood::{Error, Result};

use super::folder::{Folder, checked_line};
use super::legacy::{self, Legacy};
use super::meta::Meta;
use super::pending::{hash, read_file};
use super::read::with_ending;
use super::{lines, time};

/// A file that was migrated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// The older file, under its old name.
    pub path: PathBuf,
    /// Where it lies now.
    pub kept: PathBuf,
    /// The key of its conversation.
    pub key: String,
    /// How many messages it holds.
    pub messages: usize,
}

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Migration {
    /// What was migrated, in the order of the names.
    pub migrated: Vec<Migrated>,
    /// What was passed over, and why; it is tried again by the next run.
    pub skipped: Vec<(PathBuf, String)>,
}

/// One file on its way.
struct Step {
    path: PathBuf,
    key: String,
    messages: usize,
    /// What the older file held when it was read.
    seen: String,
    /// Where its lines and meta file were made by this run: what was written.
    made: Option<String>,
}

/// What is to be done about a file.
enum Plan {
    /// The lines are there already.
    There,
    /// They are to be written; `true`: no file of the conversation is there.
    Write(bool),
    /// Both hold what the other does not.
    Conflict(String),
}

/// Migrates all older files of a folder.
///
/// # Errors
/// Those of the file system, and `damaged` where what was written does not read back. Then no
/// file is renamed, what this run made is removed, and the older files are all as they were: the
/// caller goes on with them.
pub fn migrate(folder: &Folder) -> Result<Migration> {
    let mut migration = Migration::default();
    if older_files(folder)?.is_empty() {
        return Ok(migration);
    }
    // Two at once would give each other's files other names, and take each other's lines back.
    let _lock = folder.hold_all()?;
    let mut steps: Vec<Step> = Vec::new();
    for path in older_files(folder)? {
        let bytes = match read_file(folder.disk(), &path) {
            Ok(Some(bytes)) => bytes,
            // It was moved away meanwhile.
            Ok(None) => continue,
            Err(error) => {
                migration.skipped.push((path, error.to_string()));
                continue;
            }
        };
        match legacy::parse(&String::from_utf8_lossy(&bytes)) {
            Err(problem) => migration.skipped.push((path, problem)),
            Ok(legacy) => match rewrite(folder, &path, hash(&bytes), legacy, &mut steps) {
                Ok(None) => {}
                Ok(Some(conflict)) => migration.skipped.push((path, conflict)),
                Err(error) => {
                    take_back(folder, &steps);
                    return Err(error);
                }
            },
        }
    }
    for step in steps {
        let Step { path, key, messages, seen, .. } = step;
        // Who goes on with the older file holds the conversation while he writes.
        let _held = folder.hold(&key)?;
        let now =
            read_file(folder.disk(), &path).map_err(|error| Error::io(&path, "read", error))?;
        if now.is_none_or(|bytes| hash(&bytes) != seen) {
            let problem = "another program changed it meanwhile; the next run takes it";
            migration.skipped.push((path, problem.to_owned()));
            continue;
        }
        let kept = keep(folder, &path)?;
        migration.migrated.push(Migrated { path, kept, key, messages });
    }
    Ok(migration)
}

/// The older files, by name.
fn older_files(folder: &Folder) -> Result<Vec<PathBuf>> {
    let mut names = match folder.disk().names(folder.path()) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io(folder.path(), "read", error)),
    };
    names.sort();
    let older = names.into_iter().filter(|name| {
        let name = name.to_string_lossy();
        name.ends_with(".json") && !name.ends_with(".meta.json")
    });
    let file = |path: &PathBuf| {
        let kind = folder.disk().meta(path).map(|meta| meta.kind);
        kind.is_ok_and(|kind| kind == forkwood::storage::disk::NodeKind::File)
    };
    Ok(older.map(|name| folder.path().join(name)).filter(file).collect())
}

/// Writes the lines of one file and reads them back. A reason, where it must not.
fn rewrite(
    folder: &Folder,
    path: &Path,
    seen: String,
    legacy: Legacy,
    steps: &mut Vec<Step>,
) -> Result<Option<String>> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let key = if legacy.key.is_empty() { stem } else { legacy.key.clone() };
    if steps.iter().any(|step| folder.base(&step.key).ok() == folder.base(&key).ok()) {
        return Ok(Some(format!("another older file is of the conversation {key}, too")));
    }
    let shown: Vec<&ConversationMessage> = legacy
        .messages
        .iter()
        .filter(|one| !forkwood::conversation::is_transient_thought(&one.message))
        .collect();
    let mut content = Vec::new();
    for one in &shown {
        content.extend_from_slice(checked_line(one)?.as_bytes());
        content.push(b'\n');
    }
    let held = match folder.hold(&key) {
        Err(Error::Invalid { message }) => return Ok(Some(message)),
        other => other?,
    };
    let there = held.bytes()?;
    let after = legacy.own.as_ref().map(|own| own.after.as_str());
    let goes_on = after.is_some_and(|after| after == after_hash(there.as_deref()));
    let plan = match goes_on {
        // Whoever wrote it had these very lines before him.
        true => Plan::Write(there.is_none()),
        false => plan(there.as_deref(), &held.read_meta(&key)?, &content),
    };
    let made = match plan {
        Plan::Conflict(problem) => return Ok(Some(problem)),
        Plan::There => None,
        Plan::Write(new) => {
            let before = held.read_meta(&key)?;
            let created = match time::is_zero(&before.created_at) {
                true => legacy.created.clone(),
                false => before.created_at.clone(),
            };
            let summary = match legacy.summary.is_empty() && !goes_on {
                true => before.summary.clone(),
                false => legacy.summary.clone(),
            };
            let count = shown.len() as i64;
            let mut meta = Meta { skip: 0, count, created_at: created, summary, ..before };
            if let Some(own) = legacy.own.filter(|own| own.scope.is_some()) {
                meta.scope = own.scope;
                meta.aliases = own.aliases;
            }
            // What it makes is taken back where it fails half way, so it is noted first.
            let made = new.then(|| hash(&content));
            let (path, key) = (path.to_path_buf(), key.clone());
            steps.push(Step { path, key, messages: 0, seen: seen.clone(), made: made.clone() });
            held.replace(meta, content.clone())?;
            steps.pop();
            made
        }
    };
    let messages = shown.len();
    steps.push(Step { path: path.to_path_buf(), key: key.clone(), messages, seen, made });
    let again = held.bytes()?.unwrap_or_default();
    if !again.starts_with(&content) && !holds_lines(&again, &content) {
        let problem = format!("holds other lines than were written for {key}");
        return Err(Error::Damaged { path: held.jsonl.clone(), problem });
    }
    Ok(None)
}

/// Whether these lines are there, in this order, from the first on.
fn holds_lines(bytes: &[u8], content: &[u8]) -> bool {
    let mut there = lines::spans(bytes).map(|(_, span)| &bytes[span]);
    lines::spans(content).all(|(_, span)| there.next() == Some(&content[span]))
}

/// What a file of ours says of the newer lines that it goes on from.
pub(super) fn after_hash(there: Option<&[u8]>) -> String {
    there.map(hash).unwrap_or_default()
}

fn plan(there: Option<&[u8]>, meta: &Meta, content: &[u8]) -> Plan {
    let untouched = meta.count == 0 && meta.skip <= 0;
    match there {
        None | Some(b"") if untouched => Plan::Write(there.is_none()),
        Some(bytes) if !content.is_empty() && holds_lines(bytes, content) => Plan::There,
        Some(bytes) if !bytes.is_empty() && meta.skip <= 0 && holds_lines(content, bytes) => {
            // An interrupted run made them, and the older file was gone on with.
            Plan::Write(false)
        }
        Some(_) if content.is_empty() => Plan::There,
        _ => Plan::Conflict(
            "there are newer lines of the conversation that hold other messages; nothing was \
             overwritten: look at both, and move one away"
                .to_owned(),
        ),
    }
}

/// Takes back what a run made, as long as nobody added to it. The older files say the same.
fn take_back(folder: &Folder, steps: &[Step]) {
    for step in steps {
        let Some(made) = &step.made else { continue };
        let Ok(base) = folder.base(&step.key) else { continue };
        let Ok(_lock) = folder.lock(&with_ending(&base, ".jsonl")) else { continue };
        match read_file(folder.disk(), &with_ending(&base, ".jsonl")) {
            Ok(Some(bytes)) if hash(&bytes) != *made => continue,
            Err(_) => continue,
            Ok(_) => {}
        }
        for ending in [".jsonl", ".meta.json"] {
            // The error that led here is the one to tell; what stays says what the older file says.
            let _ = folder.disk().remove(&with_ending(&base, ending));
        }
        let _ = super::pending::forget(folder.disk(), &with_ending(&base, ".jsonl"));
    }
}

/// Gives an older file the name under which PicoClaw does not look at it again.
pub(super) fn keep(folder: &Folder, path: &Path) -> Result<PathBuf> {
    let disk = folder.disk();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for n in 1..1000 {
        let ending = if n == 1 { String::new() } else { format!(".{n}") };
        let kept = path.with_file_name(format!("{name}.migrated{ending}"));
        let done = disk.link(path, &kept).and_then(|()| {
            disk.sync_folder(folder.path())?;
            disk.remove(path)?;
            disk.sync_folder(folder.path())
        });
        match done {
            Ok(()) => return Ok(kept),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // A run that stopped between the two steps left both names.
                let same = |a: &Path| disk.meta(a).ok().map(|meta| meta.identity);
                if same(path).is_some_and(|id| id != 0) && same(path) == same(&kept) {
                    disk.remove(path)
                        .and_then(|()| disk.sync_folder(folder.path()))
                        .map_err(|error| Error::write(path, "rename", error))?;
                    return Ok(kept);
                }
            }
            Err(error) => return Err(Error::write(path, "rename", error)),
        }
    }
    Err(Error::invalid(format!("{}: a thousand kept names are taken", path.display())))
}
