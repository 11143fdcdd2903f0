//! What crashed rewrites left in the folders of a storage.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::disk::{Disk, TEMP_SUFFIX};

/// The temporary files of each folder, as it was when it was first written to. A folder of very
/// many sessions is listed once, and not for each of them.
#[derive(Debug, Default)]
pub(super) struct Leftovers(Mutex<HashMap<PathBuf, Vec<String>>>);

impl Leftovers {
    /// Whether there was nothing of a session file.
    pub(super) fn none_of(&self, disk: &dyn Disk, path: &Path) -> bool {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return true };
        let mut folders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = folders.entry(folder.to_path_buf()).or_insert_with(|| {
            let names = disk.names(folder).unwrap_or_default();
            let names = names.into_iter().filter_map(|name| name.into_string().ok());
            names.filter(|name| name.starts_with('.') && name.ends_with(TEMP_SUFFIX)).collect()
        });
        let prefix = format!(".{}.", name.to_string_lossy());
        !found.iter().any(|name| name.starts_with(&prefix))
    }
}
