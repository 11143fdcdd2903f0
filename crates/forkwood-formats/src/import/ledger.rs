//! Which units were taken, as they were then, so that an unchanged one costs a look.
//!
//! A file of JSON lines in the store. It is a shortcut only: the metadata of the sessions tell
//! the same, and without it every unit is read once more, and nothing is taken twice.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use forkwood::core::json::{Object, ObjectWriter, text_of};
use forkwood::storage::disk::{Disk, read_from, write_whole};
use forkwood::{Error, Result, SessionId};

use super::origin::{FileStamp, Origin};

/// What became of a unit: the session that each of its sessions was taken into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) session: SessionId,
    pub(crate) path: Option<PathBuf>,
    pub(crate) origin: Origin,
}

/// The units that were taken, by tool and path.
#[derive(Debug)]
pub(crate) struct Ledger {
    file: Option<PathBuf>,
    units: HashMap<(String, PathBuf), Vec<Taken>>,
    changed: bool,
}

impl Ledger {
    /// Reads the ledger. One that is not there or cannot be read is an empty one.
    pub(crate) fn open(disk: &dyn Disk, file: Option<PathBuf>) -> Ledger {
        let mut ledger = Ledger { file, units: HashMap::new(), changed: false };
        let read = |path: &Path| -> std::io::Result<Vec<u8>> {
            let file = disk.open_read(path)?;
            let len = file.meta()?.len;
            read_from(file.as_ref(), 0, len)
        };
        let bytes = ledger.file.as_deref().and_then(|path| read(path).ok()).unwrap_or_default();
        for line in String::from_utf8_lossy(&bytes).lines() {
            if let Some(taken) = parse(line) {
                ledger.add(taken);
            }
        }
        ledger.changed = false;
        ledger
    }

    /// What was taken of a unit.
    pub(crate) fn of(&self, tool: &str, path: &Path) -> &[Taken] {
        self.units.get(&(tool.to_owned(), path.to_path_buf())).map_or(&[], Vec::as_slice)
    }

    /// Every session that something was taken into.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = SessionId> {
        self.units.values().flatten().map(|taken| taken.session.clone())
    }

    /// Whether a unit is as it was when all of it was taken.
    pub(crate) fn is_current(&self, tool: &str, path: &Path, files: &[FileStamp]) -> bool {
        let taken = self.of(tool, path);
        !taken.is_empty() && taken.iter().all(|taken| taken.origin.files == files)
    }

    pub(crate) fn add(&mut self, taken: Taken) {
        let key = (taken.origin.format.clone(), taken.origin.path.clone());
        let of_unit = self.units.entry(key).or_default();
        of_unit.retain(|other| other.origin.source_id != taken.origin.source_id);
        of_unit.push(taken);
        self.changed = true;
    }

    /// Writes it, whole, if it changed.
    pub(crate) fn save(&mut self, disk: &dyn Disk) -> Result<()> {
        let Some(file) = self.file.as_deref().filter(|_| self.changed) else { return Ok(()) };
        let mut all: Vec<&Taken> = self.units.values().flatten().collect();
        all.sort_by(|a, b| (&a.origin.path, &a.session).cmp(&(&b.origin.path, &b.session)));
        let mut text = String::new();
        for taken in all {
            text.push_str(&line(taken));
            text.push('\n');
        }
        write_whole(disk, file, text.as_bytes(), true)
            .map_err(|error| Error::write(file, "write", error))?;
        self.changed = false;
        Ok(())
    }
}

fn parse(line: &str) -> Option<Taken> {
    let object = Object::parse(line).ok()?;
    let session = object.text("session")?;
    Some(Taken {
        session: SessionId::new(session.as_str()?).ok()?,
        path: object
            .get("file")
            .and_then(text_of)
            .map(|path| PathBuf::from(path.to_string_lossy().into_owned())),
        origin: Origin::parse(object.get("origin")?)?,
    })
}

fn line(taken: &Taken) -> String {
    let mut out = ObjectWriter::new();
    out.str("session", taken.session.as_str());
    if let Some(path) = &taken.path {
        out.str("file", &path.to_string_lossy());
    }
    out.raw("origin", &taken.origin.to_json());
    out.finish()
}
