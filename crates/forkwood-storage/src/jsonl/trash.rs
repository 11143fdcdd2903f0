//! Deletion: to a trash, with a log, and back.
//!
//! `trash/<microseconds>-<id>/` holds the file under its own name, what lies beside it (torn
//! tails, a pointer, the sub-agents' sessions, long outputs of its tools), and `origin`, which
//! says where it was.

use std::path::{Component, Path, PathBuf};

use forkwood_core::json::{Object, ObjectWriter};
use forkwood_core::{SessionId, Timestamp};

use super::append::{lock_path, run_lock_path};
use super::place::Place;
use super::pointer;
use crate::disk::{Disk, NodeKind, read_from, write_whole};
use crate::{ErrorKind, Result, StorageError, Trashed};

/// The folder of a store in which each session has one for long outputs of its tools.
const TOOL_RESULTS: &str = "tool-results";
const ORIGIN: &str = "origin";
const LOG: &str = "deletions.log";

/// A session in the trash.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub folder: PathBuf,
    pub id: SessionId,
    /// Where the file was.
    pub origin: PathBuf,
    pub at: Timestamp,
}

impl Item {
    pub(super) fn file(&self) -> PathBuf {
        self.folder.join(self.origin.file_name().unwrap_or_default())
    }

    pub(super) fn trashed(&self) -> Trashed {
        Trashed { id: self.id.clone(), path: Some(self.file()), at: self.at }
    }
}

/// What went wrong in writing.
fn io<'p>(path: &'p Path, doing: &'static str) -> impl FnOnce(std::io::Error) -> StorageError + 'p {
    move |error| StorageError::write(path, doing, error)
}

/// Every session below one: the sub-agents of its sub-agents and so on, each once.
pub(super) fn below(
    disk: &dyn Disk,
    place: &Place,
    id: &SessionId,
    id_of: impl Fn(&Path) -> Option<SessionId>,
) -> Vec<SessionId> {
    let mut found: Vec<SessionId> = Vec::new();
    let mut next = vec![id.clone()];
    while let Some(parent) = next.pop() {
        for file in place.subagent_files(disk, Some(&parent)) {
            let Some(child) = id_of(&file) else { continue };
            // A copy may have the id of a session that stays; that one keeps its own.
            let stays = disk.meta(&place.sessions().join(format!("{child}.jsonl"))).is_ok();
            if !stays && child != *id && !found.contains(&child) {
                found.push(child.clone());
                next.push(child);
            }
        }
    }
    found
}

/// Moves a session file and what belongs to it to the trash, with the folders of the sessions
/// below it.
pub(super) fn put(
    disk: &dyn Disk,
    place: &Place,
    path: &Path,
    id: &SessionId,
    below: &[SessionId],
    at: Timestamp,
) -> Result<Item> {
    let gone = || StorageError::Gone { path: path.to_path_buf() };
    // Who waited for the lock may find that another was first.
    match disk.meta(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            // Taking the lock has made it anew.
            let _ = disk.remove(&lock_path(path));
            return Err(gone());
        }
        Err(error) => return Err(StorageError::io(path, "look at", error)),
        Ok(_) => {}
    }
    let item = new_item(disk, place, path, id, at)?;
    let moved = log(disk, place, "delete", &item).and_then(|()| {
        disk.rename(path, &item.file()).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => gone(),
            _ => StorageError::write(path, "move to the trash", error),
        })
    });
    if let Err(error) = moved {
        // What holds nothing shall not stay.
        tidy(disk, &item);
        return Err(error);
    }
    for beside in belongings(disk, path) {
        let name = beside.file_name().unwrap_or_default().to_owned();
        disk.rename(&beside, &item.folder.join(name)).map_err(io(&beside, "move to the trash"))?;
    }
    let is_folder = |path: &Path| disk.meta(path).is_ok_and(|meta| meta.kind == NodeKind::Folder);
    let mut folders = vec![item.folder.clone()];
    for kind in kinds(place) {
        // From the deepest up: what a crash leaves is still found below its parent.
        let kept = item.folder.join(kind.below);
        for id in below.iter().rev() {
            let folder = kind.live.join(id.as_str());
            if is_folder(&folder) {
                disk.create_folders(&kept).map_err(io(&kept, "make"))?;
                disk.rename(&folder, &kept.join(id.as_str()))
                    .map_err(io(&folder, "move to the trash"))?;
            }
        }
        let own = kind.live.join(id.as_str());
        if is_folder(&own) {
            disk.rename(&own, &item.folder.join(kind.own))
                .map_err(io(&own, "move to the trash"))?;
        }
        // First where it is now, then where it was: between the two it has both names.
        folders.extend([kept, kind.live].into_iter().filter(|folder| is_folder(folder)));
    }
    // The lock of a file that is gone guards nothing; whoever waits for it sees `gone`.
    let _ = disk.remove(&lock_path(path));
    let _ = disk.remove(&run_lock_path(path));
    if let Some(was_there) = path.parent().map(Path::to_path_buf)
        && !folders.contains(&was_there)
    {
        folders.push(was_there);
    }
    for folder in &folders {
        disk.sync_folder(folder).map_err(io(folder, "sync"))?;
    }
    Ok(item)
}

/// Keeps a session file as it is in the trash, and leaves it where it is: for a reset.
pub(super) fn keep(
    disk: &dyn Disk,
    place: &Place,
    path: &Path,
    id: &SessionId,
    at: Timestamp,
) -> Result<Item> {
    let item = new_item(disk, place, path, id, at)?;
    log(disk, place, "reset", &item)?;
    let kept = item.file();
    if let Err(error) = disk.link(path, &kept) {
        tidy(disk, &item);
        return Err(StorageError::write(kept, "keep the old log as", error));
    }
    disk.sync_folder(&item.folder).map_err(io(&item.folder, "sync"))?;
    Ok(item)
}

/// Removes the folder of an item that holds nothing any more.
fn tidy(disk: &dyn Disk, item: &Item) {
    let _ = disk.remove(&item.folder.join(ORIGIN));
    let _ = disk.remove_folder(&item.folder);
}

/// A folder in the trash that says where its content comes from.
fn new_item(
    disk: &dyn Disk,
    place: &Place,
    path: &Path,
    id: &SessionId,
    at: Timestamp,
) -> Result<Item> {
    let folder = free_folder(disk, place, &format!("{}-{id}", at.as_micros()))?;
    let item = Item { folder, id: id.clone(), origin: path.to_path_buf(), at };
    let mut origin = ObjectWriter::new();
    origin
        .raw("version", "1")
        .str("id", id.as_str())
        .str("path", &path.strip_prefix(place.sessions()).unwrap_or(path).to_string_lossy())
        .raw("deletedAt", &at.to_string());
    let origin_file = item.folder.join(ORIGIN);
    write_whole(disk, &origin_file, format!("{}\n", origin.finish()).as_bytes(), true)
        .map_err(io(&origin_file, "write"))?;
    Ok(item)
}

/// A new folder in the trash; of things put there at the same time each has its own.
fn free_folder(disk: &dyn Disk, place: &Place, name: &str) -> Result<PathBuf> {
    let trash = place.trash();
    let mut folder = trash.join(name);
    for n in 2.. {
        if disk.meta(&folder).is_err() {
            break;
        }
        folder = trash.join(format!("{name}~{n}"));
    }
    disk.create_folders(&folder).map_err(io(&folder, "make the trash"))?;
    Ok(folder)
}

/// Folders that a store has for its sessions, each under the session's id.
struct Kind {
    /// Where they are.
    live: PathBuf,
    /// What that of the session itself is called in the trash.
    own: &'static str,
    /// What holds those of its sub-agents and of theirs there, each under its id.
    below: &'static str,
}

/// The sessions of sub-agents, and long outputs of tools that an agent put into files.
fn kinds(place: &Place) -> Vec<Kind> {
    let Place::Store(root) = place else { return Vec::new() };
    vec![
        Kind { live: place.sessions(), own: "subagents-of", below: "subagents-below" },
        Kind { live: root.join(TOOL_RESULTS), own: "tool-results-of", below: "tool-results-below" },
    ]
}

/// Torn tails, backups and the pointer of a file.
fn belongings(disk: &dyn Disk, path: &Path) -> Vec<PathBuf> {
    let Some(folder) = path.parent() else { return Vec::new() };
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let ours = |other: &str| {
        other.strip_prefix(&name).is_some_and(|rest| {
            rest.starts_with(".torn-") || (rest.starts_with('.') && rest.ends_with(".bak"))
        })
    };
    let mut found: Vec<PathBuf> = disk
        .names(folder)
        .unwrap_or_default()
        .into_iter()
        .filter(|other| ours(&other.to_string_lossy()))
        .map(|other| folder.join(other))
        .collect();
    let pointer = pointer::path_of(path);
    if disk.meta(&pointer).is_ok() {
        found.push(pointer);
    }
    found
}

/// One line in the log of the trash.
fn log(disk: &dyn Disk, place: &Place, what: &str, item: &Item) -> Result<()> {
    let path = place.trash().join(LOG);
    let mut line = ObjectWriter::new();
    line.raw("at", &item.at.to_string())
        .str("what", what)
        .str("id", item.id.as_str())
        .str("path", &item.origin.to_string_lossy());
    let line = format!("{}\n", line.finish());
    let file = match disk.create_new(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => disk.open_append(&path),
        other => other,
    }
    .map_err(io(&path, "open"))?;
    file.append(line.as_bytes()).and_then(|_| file.sync()).map_err(io(&path, "write"))
}

/// What lies in the trash, newest first.
pub(super) fn list(disk: &dyn Disk, place: &Place) -> Result<Vec<Item>> {
    let trash = place.trash();
    let names = match disk.names(&trash) {
        Ok(names) => names,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StorageError::io(trash, "read", error)),
    };
    let mut items: Vec<Item> =
        names.into_iter().filter_map(|name| read_item(disk, place, &trash.join(name))).collect();
    items.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.id.cmp(&b.id)));
    Ok(items)
}

/// What a folder of the trash holds; `None` where the file is not in it (any more): a deletion
/// that a crash kept from being done, or a purge that it cut short.
fn read_item(disk: &dyn Disk, place: &Place, folder: &Path) -> Option<Item> {
    let file = disk.open_read(&folder.join(ORIGIN)).ok()?;
    let bytes = read_from(file.as_ref(), 0, file.meta().ok()?.len.min(64 * 1024)).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let object = Object::parse(text.trim_end()).ok()?;
    let item = Item {
        folder: folder.to_path_buf(),
        id: SessionId::new(object.text("id")?.as_str()?).ok()?,
        // The store may have moved since: the path is one below its sessions.
        origin: place.sessions().join(object.text("path")?.as_str()?),
        at: Timestamp::parse_seconds(object.get("deletedAt")?)?,
    };
    disk.meta(&item.file()).is_ok_and(|meta| meta.kind == NodeKind::File).then_some(item)
}

/// Brings a session back to where it was.
pub(super) fn restore(disk: &dyn Disk, place: &Place, item: &Item) -> Result<PathBuf> {
    let target = &item.origin;
    let folder = target.parent().unwrap_or(Path::new("."));
    // The trash only ever gives back to the place it took from.
    let climbs = target.components().any(|part| part == Component::ParentDir);
    if climbs || !folder.starts_with(place.sessions()) {
        return Err(StorageError::invalid(format!(
            "{}: the trash says it was in {}, which is not in this store",
            item.folder.display(),
            folder.display()
        )));
    }
    disk.create_folders(folder).map_err(io(folder, "make"))?;
    if disk.meta(target).is_ok() {
        return Err(StorageError::SessionExists { session: item.id.clone() });
    }
    let kinds = kinds(place);
    // What belongs to it comes first: the item is one of the trash as long as its file is there.
    for name in
        disk.names(&item.folder).map_err(|error| StorageError::io(&item.folder, "read", error))?
    {
        let from = item.folder.join(&name);
        let to = match name.to_str() {
            Some(ORIGIN) => continue,
            _ if from == item.file() => continue,
            Some(name) => {
                if let Some(kind) = kinds.iter().find(|kind| kind.below == name) {
                    restore_below(disk, kind, &from)?;
                    continue;
                }
                let own = kinds.iter().find(|kind| kind.own == name);
                own.map_or(folder, |kind| &kind.live).join(own.map_or(name, |_| item.id.as_str()))
            }
            None => folder.join(&name),
        };
        if disk.meta(&to).is_err() {
            if let Some(above) = to.parent() {
                disk.create_folders(above).map_err(io(above, "make"))?;
            }
            disk.rename(&from, &to).map_err(io(&from, "restore"))?;
        }
    }
    match disk.link(&item.file(), target) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(StorageError::SessionExists { session: item.id.clone() });
        }
        Err(error) => return Err(StorageError::write(target, "restore", error)),
    }
    disk.sync_folder(folder).map_err(io(folder, "sync"))?;
    disk.remove(&item.file()).map_err(io(&item.folder, "tidy"))?;
    tidy(disk, item);
    log(disk, place, "restore", item)?;
    Ok(target.clone())
}

/// Brings the folders of the sessions below a session back.
fn restore_below(disk: &dyn Disk, kind: &Kind, folder: &Path) -> Result<()> {
    let reading = |error| StorageError::io(folder, "read", error);
    disk.create_folders(&kind.live).map_err(io(&kind.live, "make"))?;
    for name in disk.names(folder).map_err(reading)? {
        // Whatever else stands there is none of ours.
        let Some(id) = name.to_str().and_then(|name| SessionId::new(name).ok()) else { continue };
        let (from, to) = (folder.join(&name), kind.live.join(id.as_str()));
        if disk.meta(&to).is_err() {
            disk.rename(&from, &to).map_err(io(&from, "restore"))?;
        }
    }
    disk.sync_folder(&kind.live).map_err(io(&kind.live, "sync"))?;
    // One whose place was taken stays in it.
    let _ = disk.remove_folder(folder);
    Ok(())
}

/// Removes from the trash, for good.
pub(super) fn purge(disk: &dyn Disk, place: &Place, item: &Item) -> Result<()> {
    match log(disk, place, "purge", item) {
        // Where the disk is full, purging is what helps.
        Err(error) if error.kind() == ErrorKind::NoSpace => {
            remove_all(disk, &item.folder).map_err(io(&item.folder, "purge"))?;
            let _ = log(disk, place, "purge", item);
            Ok(())
        }
        Err(error) => Err(error),
        Ok(()) => remove_all(disk, &item.folder).map_err(io(&item.folder, "purge")),
    }
}

/// Removes what is no session any more from before a time, for good: the logs that resets put
/// aside, and what crashes left.
pub(super) fn purge_rest(disk: &dyn Disk, place: &Place, before: Timestamp) -> Result<()> {
    let trash = place.trash();
    let names = match disk.names(&trash) {
        Ok(names) => names,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(StorageError::io(trash, "read", error)),
    };
    for name in names {
        let folder = trash.join(&name);
        let old = put_at(&name.to_string_lossy()).is_some_and(|at| at < before.as_micros());
        let is_folder = || disk.meta(&folder).is_ok_and(|meta| meta.kind == NodeKind::Folder);
        if old && is_folder() && read_item(disk, place, &folder).is_none() {
            remove_all(disk, &folder).map_err(io(&folder, "purge"))?;
        }
    }
    Ok(())
}

/// When a folder of the trash was made, by its name: `<micros>-<id>` or `<id>.reset-<micros>`.
fn put_at(name: &str) -> Option<i64> {
    let name = name.split('~').next()?;
    match name.rsplit_once(".reset-") {
        Some((_, micros)) => micros.parse().ok(),
        None => name.split('-').next()?.parse().ok(),
    }
}

/// Removes a folder of the trash and what is in it. Links are removed, never followed.
fn remove_all(disk: &dyn Disk, folder: &Path) -> std::io::Result<()> {
    let mut folders = vec![folder.to_path_buf()];
    let mut order = Vec::new();
    while let Some(next) = folders.pop() {
        for name in disk.names(&next)? {
            let path = next.join(name);
            match disk.meta(&path)?.kind {
                NodeKind::Folder => folders.push(path),
                _ => disk.remove(&path)?,
            }
        }
        order.push(next);
    }
    order.iter().rev().try_for_each(|folder| disk.remove_folder(folder))
}
