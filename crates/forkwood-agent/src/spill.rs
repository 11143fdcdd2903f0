//! Files for outputs of tools that are too long for a request.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use forkwood::{Session, SessionId};
use forkwood_context::{Spill, SpillItem};

/// The folder of one session: `<store>/tool-results/<session id>/`. It goes with the session.
#[derive(Clone, Debug)]
pub struct SpillFolder {
    folder: PathBuf,
    shown: PathBuf,
}

impl SpillFolder {
    /// The folder of a session of a workspace. The model is told paths relative to the workspace.
    pub fn of_workspace(workspace: &Path, session: &SessionId) -> SpillFolder {
        let inner =
            Path::new(forkwood::workspace::FOLDER).join("tool-results").join(session.as_str());
        SpillFolder { folder: workspace.join(&inner), shown: inner }
    }

    /// The folder of a session of a store: where the store looks for it when the session goes.
    /// `None` where the session is no file, and what it says leaves nothing on disk.
    pub fn of_session(workspace: &Path, session: &Session) -> Option<SpillFolder> {
        let path = session.facts().path.as_deref()?;
        let sessions = path.parent()?;
        if sessions.file_name()? != "sessions" {
            return Some(SpillFolder::of_workspace(workspace, session.id()));
        }
        let folder = sessions.parent()?.join("tool-results").join(session.id().as_str());
        let shown = folder.strip_prefix(workspace).unwrap_or(&folder).to_path_buf();
        Some(SpillFolder { folder, shown })
    }

    /// The folder of a sub-agent: within that of its parent, with whose session its own goes.
    #[must_use]
    pub fn of_subagent(&self, session: &SessionId) -> SpillFolder {
        SpillFolder {
            folder: self.folder.join(session.as_str()),
            shown: self.shown.join(session.as_str()),
        }
    }

    /// Any folder.
    pub fn at(folder: &Path) -> SpillFolder {
        SpillFolder { folder: folder.to_path_buf(), shown: folder.to_path_buf() }
    }

    /// Removes it with all it holds.
    ///
    /// # Errors
    /// Where the file system refuses. A folder that is not there is no error.
    pub fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Writes a file whole, or leaves one that says the same. False where another says other.
    fn put_file(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        let path = self.folder.join(name);
        match fs::read(&path) {
            Ok(there) => return Ok(there == bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let unfinished = self.folder.join(format!(".{name}.tmp"));
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&unfinished)?;
        file.write_all(bytes)?;
        drop(file);
        fs::rename(&unfinished, &path)?;
        Ok(true)
    }
}

impl Spill for SpillFolder {
    fn put(&self, item: &SpillItem<'_>) -> io::Result<String> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.folder)?;
        let bytes = item.text.as_wtf8();
        for name in [item.name, item.other_name] {
            let plain = Path::new(name).file_name().is_some_and(|file| file == name);
            if plain && self.put_file(name, bytes)? {
                return Ok(self.shown.join(name).to_string_lossy().into_owned());
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "both names are taken"))
    }
}
