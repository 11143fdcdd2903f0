//! Where sessions are looked for.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forkwood::storage::MemoryStorage;
use forkwood::storage::jsonl::{JsonlOptions, JsonlStorage};
use forkwood::{SessionStore, workspace};

use crate::ctx::Ctx;
use crate::error::{CliError, Result};
use crate::foreign;

/// A place with sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A store of Forkwood.
    Store(PathBuf),
    /// A folder with session files of any format.
    Folder(PathBuf),
    /// The folder of another tool.
    Tool(&'static str, PathBuf),
}

impl Place {
    /// The place that the arguments name.
    pub(crate) fn of(ctx: &Ctx) -> Result<Place> {
        if let Some(dir) = &ctx.globals.dir {
            return Ok(Place::Folder(ctx.absolute(dir)));
        }
        if let Some(tool) = ctx.globals.from {
            let folder = foreign::sessions_of(ctx, tool.name())?;
            return Ok(Place::Tool(tool.name(), folder));
        }
        Ok(Place::Store(store_root(ctx)))
    }

    /// How the place is called in messages.
    pub(crate) fn shown(&self) -> String {
        match self {
            Place::Store(path) | Place::Folder(path) => path.display().to_string(),
            Place::Tool("pi", path) => format!("Pi's folder {}", path.display()),
            Place::Tool(name, path) => format!("the folder of {name}, {}", path.display()),
        }
    }

    /// Opens the place. Makes nothing.
    pub(crate) fn open(&self, ctx: &Ctx, recursive: bool, bridge: bool) -> Result<SessionStore> {
        let storage = match self {
            Place::Store(root) => JsonlStorage::store(root, options(bridge))?,
            Place::Folder(path) | Place::Tool(_, path) => {
                if path.symlink_metadata().is_err() {
                    let message = format!("{}: there is no such folder", path.display());
                    return Err(CliError::new(forkwood::ErrorKind::NotFound, message));
                }
                if let Place::Tool(name, _) = self
                    && !foreign::tool(name)?.in_place()
                {
                    // The engine would find nothing there, and look through all of it.
                    return Ok(SessionStore::new(Arc::new(MemoryStorage::new()?)));
                }
                let recursive = recursive || matches!(self, Place::Tool(..));
                JsonlStorage::folder(path, recursive, options(bridge))?
            }
        };
        let cwd = workspace::find(&ctx.folder).to_string_lossy().into_owned();
        Ok(SessionStore::new(Arc::new(storage)).with_cwd(cwd.into()))
    }
}

/// The store of the workspace, whatever place the arguments name: what is made goes there.
pub(crate) fn own_store(ctx: &Ctx) -> Result<SessionStore> {
    Place::Store(store_root(ctx)).open(ctx, false, true)
}

/// `--store`, else `FORKWOOD_DIR`, else `.forkwood` of the workspace.
pub(crate) fn store_root(ctx: &Ctx) -> PathBuf {
    match &ctx.globals.store {
        Some(store) => ctx.absolute(store),
        None => root_at(&ctx.folder),
    }
}

/// The store of a command that is run here without switches.
pub(crate) fn default_root() -> PathBuf {
    root_at(&std::env::current_dir().unwrap_or_default())
}

fn root_at(folder: &Path) -> PathBuf {
    match std::env::var_os("FORKWOOD_DIR").filter(|dir| !dir.is_empty()) {
        Some(dir) => std::path::absolute(&dir).unwrap_or_else(|_| dir.into()),
        None => workspace::find(folder).join(workspace::FOLDER),
    }
}

/// How files are read.
pub(crate) fn options(bridge: bool) -> JsonlOptions {
    JsonlOptions::default().with_formats(&foreign::formats()).with_bridges(bridge)
}

/// Writes a file, and the folders that it lies in: whole and on disk, or not at all. One that is
/// there is replaced only with `force`.
pub(crate) fn put(path: &Path, bytes: &[u8], force: bool) -> Result {
    if let Some(folder) = path.parent().filter(|folder| !folder.is_dir()) {
        let mut folders = std::fs::DirBuilder::new();
        folders.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut folders, 0o700);
        folders.create(folder).map_err(|error| CliError::io("make", folder, &error))?;
    }
    if !force || path.symlink_metadata().is_err() {
        return write_new(path, bytes);
    }
    // Under another name first, so that the old one is there until the new one is whole.
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".new-{}", std::process::id()));
    let beside = path.with_file_name(name);
    write_new(&beside, bytes)?;
    std::fs::rename(&beside, path).map_err(|error| {
        let _ = std::fs::remove_file(&beside);
        CliError::io("write", path, &error)
    })
}

/// Writes a file that is not there yet: whole and on disk, or not at all.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> Result {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let temporary = path.with_extension(format!("jsonl.tmp-{}", std::process::id()));
    let fail = |error: &std::io::Error| CliError::io("write", path, error);
    let written = options.open(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    // A rename would replace a file of that name; a link never does.
    let placed = written.and_then(|()| match std::fs::hard_link(&temporary, path) {
        // File systems without links: the name holds a fresh id, so nothing is there to replace.
        Err(_) if path.symlink_metadata().is_err() => std::fs::rename(&temporary, path),
        linked => linked,
    });
    let _ = std::fs::remove_file(&temporary);
    placed.map_err(|error| fail(&error))?;
    if let Some(folder) = path.parent()
        && let Ok(folder) = File::open(folder)
    {
        // Not every system can sync a folder; the file itself is on disk.
        let _ = folder.sync_all();
    }
    Ok(())
}
