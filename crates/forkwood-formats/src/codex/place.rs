//! Where Codex keeps its rollouts. Pure: home and environment are passed in.

use std::path::{Path, PathBuf};

use forkwood_core::Timestamp;

/// The folder of Codex: `codex_home` (`CODEX_HOME`) where it is set, else `~/.codex`.
pub fn home_dir(home: &Path, codex_home: Option<&str>) -> PathBuf {
    match codex_home.filter(|dir| !dir.is_empty()) {
        Some(dir) => PathBuf::from(dir),
        None => home.join(".codex"),
    }
}

/// The folders of rollouts in the folder of Codex: those in use, by day, and those put away.
pub fn sessions_dirs(codex_home: &Path) -> [PathBuf; 2] {
    [codex_home.join("sessions"), codex_home.join("archived_sessions")]
}

/// The file in which names that people gave to sessions are kept, one line a change.
pub fn names_file(codex_home: &Path) -> PathBuf {
    codex_home.join("session_index.jsonl")
}

/// Where a new rollout lies in the folder of Codex: by its day, its time and its id. Codex takes
/// the local time; this is UTC.
pub fn rollout_file(codex_home: &Path, id: &str, created: Timestamp) -> PathBuf {
    let time = crate::time::iso(created);
    let (day, clock) = time.split_once('T').unwrap_or((&time, ""));
    let clock = clock.split('.').next().unwrap_or_default().replace(':', "-");
    let mut path = codex_home.join("sessions");
    path.extend(day.split('-'));
    path.join(format!("rollout-{day}T{clock}-{id}.jsonl"))
}

/// The id in the name of a rollout, `rollout-<time>-<uuid>.jsonl`.
pub fn id_in_name(name: &str) -> Option<String> {
    let stem = name.strip_prefix("rollout-")?.split(".jsonl").next()?;
    let id = stem.get(stem.len().checked_sub(36)?..)?;
    crate::claude_code::place::is_uuid(id).then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{home_dir, id_in_name, rollout_file, sessions_dirs};
    use forkwood_core::Timestamp;
    use std::path::Path;

    #[test]
    fn where_they_are() {
        let home = Path::new("/home/me");
        assert_eq!(home_dir(home, None), Path::new("/home/me/.codex"));
        assert_eq!(home_dir(home, Some("/c")), Path::new("/c"));
        assert_eq!(sessions_dirs(Path::new("/c"))[1], Path::new("/c/archived_sessions"));
        let id = "0199aaaa-0000-7000-8000-000000000001";
        let path = rollout_file(Path::new("/c"), id, Timestamp::from_millis(1_772_355_600_123));
        let name = format!("/c/sessions/2026/03/01/rollout-2026-03-01T09-00-00-{id}.jsonl");
        assert_eq!(path, Path::new(&name));
        let name = path.file_name().unwrap().to_str().unwrap();
        assert_eq!(id_in_name(name).as_deref(), Some(id));
        assert_eq!(id_in_name(&format!("{name}.zst")).as_deref(), Some(id));
        assert_eq!(id_in_name("rollout-x.jsonl"), None);
        assert_eq!(id_in_name("rollout-\u{e4}0199aaaa-0000-7000-8000-00000000001.jsonl"), None);
    }
}
