//! Which workspace a folder belongs to. Looks at the file system, never at the environment.

use std::path::{Path, PathBuf};

/// The folder of a workspace in which its store lies.
pub const FOLDER: &str = ".forkwood";

/// The workspace of a folder: the nearest ancestor with a `.forkwood` folder, else the nearest
/// with a `.git`, else the folder itself. Links are resolved.
pub fn find(folder: &Path) -> PathBuf {
    let start = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    let with = |name: &str| {
        start.ancestors().find(|ancestor| ancestor.join(name).symlink_metadata().is_ok())
    };
    let store = start.ancestors().find(|ancestor| ancestor.join(FOLDER).is_dir());
    store.or_else(|| with(".git")).map_or_else(|| start.clone(), Path::to_path_buf)
}

/// Whether two folders are the same place, links resolved.
pub fn same_folder(a: &Path, b: &Path) -> bool {
    let clean = |path: &Path| path.components().collect::<PathBuf>();
    clean(a) == clean(b) || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

#[cfg(test)]
mod tests {
    use super::{find, same_folder};

    #[test]
    fn the_nearest_store_wins_over_git() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let deep = top.join("a/b/c");
        std::fs::create_dir_all(&deep).unwrap();
        assert_eq!(find(&deep), deep);
        std::fs::create_dir(top.join("a/b/.git")).unwrap();
        assert_eq!(find(&deep), top.join("a/b"));
        std::fs::create_dir(top.join("a/.forkwood")).unwrap();
        assert_eq!(find(&deep), top.join("a"));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_resolved() {
        let top = tempfile::tempdir().unwrap();
        let real = top.path().join("real");
        std::fs::create_dir(&real).unwrap();
        let link = top.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert_eq!(find(&link), find(&real));
        assert!(same_folder(&link, &real));
        assert!(same_folder("/proj/demo".as_ref(), "/proj/demo/".as_ref()));
        assert!(!same_folder("/proj/a/b-c".as_ref(), "/proj/a-b/c".as_ref()));
    }
}
