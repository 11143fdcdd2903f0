//! Where Pi keeps its sessions. Pure: home and environment are passed in.

use std::path::{Path, PathBuf};

/// The folder of Pi's sessions: `session_dir` (`PI_CODING_AGENT_SESSION_DIR`) where it is set,
/// else `sessions` in `agent_dir` (`PI_CODING_AGENT_DIR`), else in `~/.pi/agent`. An empty value
/// counts as not set; `~` stands for `home`.
///
/// With `session_dir`, Pi puts the files of every working folder right into it; see [`is_flat`].
pub fn default_sessions_dir(
    home: &Path,
    agent_dir: Option<&str>,
    session_dir: Option<&str>,
) -> PathBuf {
    match (set(session_dir), set(agent_dir)) {
        (Some(sessions), _) => expand(home, sessions),
        (None, Some(agent)) => expand(home, agent).join("sessions"),
        (None, None) => home.join(".pi").join("agent").join("sessions"),
    }
}

/// Whether the sessions of all working folders lie in one folder, without one for each.
pub fn is_flat(session_dir: Option<&str>) -> bool {
    set(session_dir).is_some()
}

/// The name of the folder for a working folder: `/home/me/app` is `--home-me-app--`. Different
/// working folders may have the same one; the header of a file tells.
pub fn folder_for_cwd(cwd: &str) -> String {
    let inner = cwd.strip_prefix(['/', '\\']).unwrap_or(cwd);
    format!("--{}--", inner.replace(['/', '\\', ':'], "-"))
}

/// The working folder that the name of a folder stands for. Where the name has several readings,
/// the one whose folders are there (`is_folder`), and else the one with the most folders in it.
pub fn cwd_of_folder(name: &str, is_folder: &dyn Fn(&Path) -> bool) -> Option<String> {
    let inner = name.strip_prefix("--")?.strip_suffix("--")?;
    // A drive, or a name of its own with a dash at its edge: no reading is likely enough.
    if inner.is_empty() || inner.split('-').any(str::is_empty) {
        return None;
    }
    let parts: Vec<&str> = inner.split('-').collect();
    let mut path = PathBuf::from("/");
    let mut at = 0;
    while at < parts.len() {
        let there = (at + 1..=parts.len())
            .rev()
            .find(|end| is_folder(&path.join(parts[at..*end].join("-"))));
        let end = there.unwrap_or(at + 1);
        path.push(parts[at..end].join("-"));
        at = end;
    }
    path.to_str().map(str::to_owned)
}

/// The name of a session file: its time, then its id.
pub fn file_name(session_id: &str, created: forkwood_core::Timestamp) -> String {
    format!("{}_{session_id}.jsonl", crate::time::iso(created).replace([':', '.'], "-"))
}

fn set(value: Option<&str>) -> Option<&str> {
    value.map(str::trim).filter(|value| !value.is_empty())
}

fn expand(home: &Path, path: &str) -> PathBuf {
    match path.strip_prefix('~') {
        Some("") => home.to_path_buf(),
        Some(rest) if rest.starts_with(['/', '\\']) => home.join(&rest[1..]),
        _ => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests {
    use super::{cwd_of_folder, default_sessions_dir, file_name, folder_for_cwd, is_flat};
    use forkwood_core::Timestamp;
    use std::path::Path;

    #[test]
    fn finds_the_folder() {
        let home = Path::new("/home/me");
        let dir = |agent, sessions| default_sessions_dir(home, agent, sessions);
        assert_eq!(dir(None, None), Path::new("/home/me/.pi/agent/sessions"));
        assert_eq!(dir(Some(""), Some(" ")), Path::new("/home/me/.pi/agent/sessions"));
        assert_eq!(dir(Some("~/pi"), None), Path::new("/home/me/pi/sessions"));
        assert_eq!(dir(Some("/a"), Some("~")), Path::new("/home/me"));
        assert_eq!(dir(None, Some("~other/x")), Path::new("~other/x"));
        assert!(is_flat(Some("/s")) && !is_flat(Some("")) && !is_flat(None));
    }

    #[test]
    fn reads_folders_back() {
        let there =
            |path: &Path| ["/home", "/home/my-app"].iter().any(|dir| path == Path::new(dir));
        for (name, cwd) in [
            ("--home-my-app-src--", Some("/home/my-app/src")),
            ("--home-me-app--", Some("/home/me/app")),
            ("--x--", Some("/x")),
            ("--C--Users-me--", None),
            ("----", None),
            ("sessions", None),
        ] {
            let found = cwd_of_folder(name, &there);
            assert_eq!(found.as_deref(), cwd, "{name}");
            assert!(found.is_none_or(|cwd| folder_for_cwd(&cwd) == name));
        }
    }

    #[test]
    fn encodes_folders_as_pi_does() {
        for (cwd, folder) in [
            ("/a/b-c", "--a-b-c--"),
            ("/a/b/c", "--a-b-c--"),
            ("/", "----"),
            ("C:\\Users\\me", "--C--Users-me--"),
            ("/a b/\u{e9}", "--a b-\u{e9}--"),
            ("//x", "---x--"),
        ] {
            assert_eq!(folder_for_cwd(cwd), folder);
        }
        let created = Timestamp::from_millis(1_796_022_604_186);
        assert_eq!(file_name("s1", created), "2026-11-30T07-10-04-186Z_s1.jsonl");
    }
}
